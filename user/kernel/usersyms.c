#include "kernel/usersyms.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/magic.h>
#include <linux/openat2.h>

#include "base/host.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "kernel/elfsyms.h"
#include "nfg_abi.h"

/* Limits of memory; beyond them things are forgotten, and read again when they are needed. */
#define PROCESS_CNT_MAX     256u
#define PROCESSES_BYTES_MAX (32u << 20)
#define FILE_CNT_MAX        512u
#define FILES_BYTES_MAX     (96u << 20)
/* Of one process; further maps are not known. A Java program with tens of thousands has some 6 MB, which take 20 ms. */
#define MAPS_BYTES_MAX (8u << 20)

/* How long maps count as current, while they have all addresses: a library may have taken the place of another. */
#define MAPS_NS 1000000000u

#define NO_FILE UINT32_MAX

/* A file that was read. Its contents are assumed to change only with its size or time. */
struct user_file {
	dev_t dev;
	ino_t ino;
	off_t size_bytes;
	struct timespec changed;
	struct elfsyms *syms; /* NULL: not an ELF file */
};

/* A part of a process's memory that it may execute. */
struct user_map {
	uint64_t begin;
	uint64_t end;
	uint64_t offset; /* in the file */
	uint64_t ino;    /* 0: no file */
	uint64_t dev;    /* major << 32 | minor */
	uint32_t path;   /* of process.paths */
	uint32_t file;   /* of files; NO_FILE: none that could be read */
	bool is_looked;  /* file is known */
};

struct process {
	uint32_t tgid;
	uint32_t pid;
	uint64_t mm;
	uint64_t read_ns;
	struct user_map *maps; /* by address */
	size_t map_cnt;
	size_t map_cap;
	struct strbuf paths; /* each ends with a NUL */
	bool is_whole;       /* there are no other maps */
	bool is_beside;      /* in our mount namespace: its paths are ours */
};

struct usersyms {
	const char *proc;
	struct process processes[PROCESS_CNT_MAX];
	size_t process_cnt;
	size_t processes_bytes;
	struct user_file *files;
	size_t file_cnt;
	size_t file_cap;
	size_t files_bytes;
	int task_fd;          /* /proc/PID, while its stack is at hand; -1: not opened */
	bool is_theirs;       /* task_fd is of the program that the stack is of */
	bool is_short;        /* of memory */
	struct elfsyms *vdso; /* our own: all processes of 64 bits have the same */
	struct user_frame frames[NFG_STACK_FRAMES]; /* of the stack at hand */
	struct strbuf texts;                        /* the same */
	bool lacks_files;                           /* the same */
};

/* ---- beginning and end ---- */

/* The vdso's size is not told; it has a handful of pages, which its section headers end. */
static struct elfsyms *read_vdso(void)
{
	const Elf64_Ehdr *head = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct elfsyms *syms = NULL;

	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_ident[EI_CLASS] != ELFCLASS64)
		return NULL;
	if (elfsyms_new_memory(&syms, head,
			       head->e_shoff + (size_t)head->e_shnum * head->e_shentsize))
		return NULL;
	return syms;
}

int usersyms_new(struct usersyms **out, const char *proc)
{
	struct usersyms *us = calloc(1, sizeof(*us));

	if (!us)
		return -ENOMEM;
	us->proc = proc;
	us->task_fd = -1;
	us->vdso = read_vdso();
	*out = us;
	return 0;
}

static void process_release(struct process *proc)
{
	free(proc->maps);
	strbuf_release(&proc->paths);
	*proc = (struct process){ 0 };
}

static size_t process_bytes(const struct process *proc)
{
	return proc->map_cap * sizeof(*proc->maps) + proc->paths.cap;
}

static void forget_processes(struct usersyms *us)
{
	for (size_t i = 0; i < us->process_cnt; i++)
		process_release(&us->processes[i]);
	us->process_cnt = 0;
	us->processes_bytes = 0;
}

/* The maps of processes stay, because these may have ended. */
static void forget_files(struct usersyms *us)
{
	for (size_t i = 0; i < us->file_cnt; i++)
		elfsyms_free(us->files[i].syms);
	us->file_cnt = 0;
	us->files_bytes = 0;
	for (size_t i = 0; i < us->process_cnt; i++) {
		for (size_t m = 0; m < us->processes[i].map_cnt; m++)
			us->processes[i].maps[m].is_looked = false;
	}
}

void usersyms_free(struct usersyms *us)
{
	if (!us)
		return;
	forget_files(us);
	forget_processes(us);
	free(us->files);
	elfsyms_free(us->vdso);
	strbuf_release(&us->texts);
	free(us);
}

/* ---- a process ---- */

/* Parse "55d0-55e0 r-xp 00001000 08:01 1234   /usr/bin/x". Return: whether it is memory to execute. */
static bool parse_map(char *line, struct user_map *map, const char **path)
{
	unsigned int major;
	unsigned int minor;
	char perms[5];
	int at = 0;

	*map = (struct user_map){ .file = NO_FILE };
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &map->begin, &map->end, perms, &map->offset, &major, &minor, &map->ino,
		   &at) < 7 ||
	    !at)
		return false;
	line[strcspn(line, "\n")] = '\0';
	map->dev = (uint64_t)major << 32 | minor;
	*path = line + at;
	return perms[2] == 'x';
}

static int add_map(struct process *proc, struct user_map *map, const char *path)
{
	const struct user_map *last;

	if (VEC_RESERVE(proc->maps, proc->map_cap, proc->map_cnt + 1))
		return -ENOMEM;
	last = proc->map_cnt ? &proc->maps[proc->map_cnt - 1] : NULL;
	map->path = (uint32_t)proc->paths.len;
	/* code that is made at run time can have thousands of maps, one after the other */
	if (last && !strcmp(proc->paths.ptr + last->path, path))
		map->path = last->path;
	else
		strbuf_add(&proc->paths, path, strlen(path) + 1);
	if (!strbuf_ok(&proc->paths))
		return -ENOMEM;
	proc->maps[proc->map_cnt++] = *map;
	return 0;
}

/* Asked by its number, which needs no rights. */
static bool is_running(uint32_t pid)
{
	const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	const bool is_running = fd >= 0;

	if (is_running)
		close(fd);
	return is_running;
}

/* Open /proc/PID for this stack. When the process has ended, nothing is found in it, even if another one has its number. */
static int task_open(struct usersyms *us, uint32_t pid)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%u", us->proc, pid);
	if (us->task_fd < 0)
		us->task_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (us->task_fd >= 0)
		return 0;
	/* with hidepid=2 processes of others look as if they had ended */
	return errno == ENOENT && is_running(pid) ? -EACCES : -errno;
}

static void task_close(struct usersyms *us)
{
	if (us->task_fd >= 0)
		close(us->task_fd);
	us->task_fd = -1;
	us->is_theirs = false;
}

static FILE *task_file(const struct usersyms *us, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", us->task_fd, name);
	return fopen(path, "re");
}

/* Return: 0 or -errno; a process that has ended has none. */
static int read_maps(const struct usersyms *us, struct process *proc)
{
	FILE *file = task_file(us, "maps");
	size_t bytes = 0;
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int err = 0;

	if (!file)
		return -errno;
	while (!err && bytes < MAPS_BYTES_MAX && (len = getline(&line, &cap, file)) > 0) {
		const char *path;
		struct user_map map;

		bytes += (size_t)len;
		if (parse_map(line, &map, &path))
			err = add_map(proc, &map, path);
	}
	if (!err && ferror(file))
		err = -EIO;
	proc->is_whole = bytes < MAPS_BYTES_MAX;
	free(line);
	fclose(file);
	/* a task without memory, such as one that is ending */
	return err || proc->map_cnt ? err : -ESRCH;
}

#define STAT_START_STACK 28 /* proc(5); the name, which is 2, may contain anything */

/* Where the process's stack began: what the kernel has as mm->start_stack. 0: it has ended, or may not be read. */
static uint64_t read_start_stack(const struct usersyms *us)
{
	FILE *file = task_file(us, "stat");
	char text[2048];
	size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	const char *at;

	if (file)
		fclose(file);
	text[len] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < STAT_START_STACK; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* Whether the process is in our mount namespace: then the maps have its paths as we see them, even with another root. */
static bool is_beside(const struct usersyms *us)
{
	char path[PATH_MAX];
	char theirs[64];
	char ours[64];
	ssize_t their_len;
	ssize_t our_len;

	their_len = readlinkat(us->task_fd, "ns/mnt", theirs, sizeof(theirs));
	snprintf(path, sizeof(path), "%s/self/ns/mnt", us->proc);
	our_len = readlink(path, ours, sizeof(ours));
	return our_len > 0 && our_len == their_len && !memcmp(ours, theirs, (size_t)our_len);
}

static struct process *process_find(struct usersyms *us, const struct usersyms_ask *ask)
{
	for (size_t i = us->process_cnt; i; i--) {
		if (us->processes[i - 1].tgid == ask->tgid && us->processes[i - 1].mm == ask->mm)
			return &us->processes[i - 1];
	}
	return NULL;
}

static struct user_map *map_at(struct process *proc, uint64_t ip)
{
	size_t cnt = VEC_BISECT(i, proc->map_cnt, proc->maps[i].begin <= ip);
	struct user_map *map = cnt ? &proc->maps[cnt - 1] : NULL;

	return map && ip < map->end ? map : NULL;
}

/* The map of frame @i of the stack, which is the address behind a call if it is not the innermost one. */
static struct user_map *map_of(struct process *proc, const struct usersyms_ask *ask, uint32_t i)
{
	return map_at(proc, ask->addrs[i] - (i != 0));
}

static bool has_all(struct process *proc, const struct usersyms_ask *ask)
{
	for (uint32_t i = 0; i < ask->addr_cnt; i++) {
		if (!map_of(proc, ask, i))
			return false;
	}
	return true;
}

static struct process *process_add(struct usersyms *us, struct process *known,
				   const struct process *proc)
{
	if (known) {
		us->processes_bytes -= process_bytes(known);
		process_release(known);
	}
	if (us->processes_bytes + process_bytes(proc) > PROCESSES_BYTES_MAX ||
	    (!known && us->process_cnt == PROCESS_CNT_MAX)) {
		forget_processes(us);
		known = NULL;
	}
	if (!known)
		known = &us->processes[us->process_cnt++];
	*known = *proc;
	us->processes_bytes += process_bytes(proc);
	return known;
}

static enum user_stack_state state_of(int err)
{
	switch (err) {
	case 0:
		return USER_STACK_NAMED;
	case -ENOENT:
	case -ESRCH:
		return USER_STACK_ENDED;
	case -EACCES:
	case -EPERM:
		return USER_STACK_DENIED;
	default:
		return USER_STACK_FAILED;
	}
}

/*
 * Find the process, and read what it has mapped unless that is known and has all addresses. If it has ended, what is
 * known of it still holds. @out: NULL: nothing is known.
 * Return: USER_STACK_NAMED: its maps were read just now, or have all addresses; else why they could not be read.
 */
static enum user_stack_state process_look(struct usersyms *us, const struct usersyms_ask *ask,
					  struct process **out)
{
	struct process proc = { .tgid = ask->tgid, .pid = ask->pid, .mm = ask->mm };
	struct process *known = process_find(us, ask);
	int err = -EACCES; /* in a pid namespace that we do not see */

	*out = known;
	proc.read_ns = host_time_ns();
	if (known && proc.read_ns - known->read_ns < MAPS_NS && has_all(known, ask))
		return USER_STACK_NAMED;
	if (ask->pid)
		err = task_open(us, ask->pid);
	if (!err)
		err = read_maps(us, &proc);
	/* asked afterwards, so that the maps are not those of the next program */
	us->is_theirs = !err && read_start_stack(us) == ask->mm;
	if (!err && !us->is_theirs)
		err = -ESRCH;
	if (err) {
		process_release(&proc);
		return state_of(err);
	}
	proc.is_beside = is_beside(us);
	*out = process_add(us, known, &proc);
	return USER_STACK_NAMED;
}

/* ---- its files ---- */

/* File systems whose answers come from another host or a process, or that have no programs: reading may never end. */
static bool is_foreign(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	switch ((uint32_t)fs.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case TRACEFS_MAGIC:
	case DEBUGFS_MAGIC:
	case SECURITYFS_MAGIC:
	case SELINUX_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case BPF_FS_MAGIC:
	case NSFS_MAGIC:
	case AUTOFS_SUPER_MAGIC:
	case FUSE_SUPER_MAGIC:
	case NFS_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case (uint32_t)SMB2_SUPER_MAGIC:
	case (uint32_t)CIFS_SUPER_MAGIC:
	case CEPH_SUPER_MAGIC:
	case AFS_SUPER_MAGIC:
	case AFS_FS_MAGIC:
	case CODA_SUPER_MAGIC:
	case NCP_SUPER_MAGIC:
	case V9FS_MAGIC:
		return true;
	default:
		return false;
	}
}

/* Our own map that begins at @begin, from the kernel's list. Return: whether there is one. */
static bool own_map(uint64_t begin, struct user_map *map)
{
	FILE *file = fopen("/proc/self/maps", "re");
	bool is_found = false;
	char *line = NULL;
	size_t cap = 0;

	while (file && !is_found && getline(&line, &cap, file) > 0) {
		const char *path;

		parse_map(line, map, &path);
		is_found = map->begin == begin;
	}
	free(line);
	if (file)
		fclose(file);
	return is_found;
}

/*
 * Whether it is the file of the map. stat() may tell another device and inode than a map has (btrfs, overlays), so they
 * are compared with those of a map of our own. The map is never read: the file's owner could cut the file.
 */
static bool is_mapped(const struct user_map *map, int fd)
{
	const size_t len = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	struct user_map own;
	bool is_same;

	if (page == MAP_FAILED)
		return false;
	is_same = own_map((uintptr_t)page, &own) && own.ino == map->ino && own.dev == map->dev;
	munmap(page, len);
	return is_same;
}

/* Open for reading what @look refers to, if it is the mapped file, and close @look. Return: -1: it is not. */
static int open_looked(const struct user_map *map, int look, struct stat *st)
{
	char again[64];
	int fd = -1;

	if (look < 0)
		return -1;
	if (!fstat(look, st) && S_ISREG(st->st_mode) && !is_foreign(look)) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", look);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	close(look);
	if (fd < 0 || is_mapped(map, fd))
		return fd;
	close(fd);
	return -1;
}

/* For the files of a process that was read earlier. Return: whether it is there, and runs the same program. */
static bool task_reopen(struct usersyms *us, const struct process *proc)
{
	if (!us->is_theirs)
		us->is_theirs =
			proc->pid && !task_open(us, proc->pid) && read_start_stack(us) == proc->mm;
	return us->is_theirs;
}

/*
 * A descriptor of the mapped path, which has no symbolic links, below the process's root. Looking has no effect on what
 * is there now, even if it is a device or a pipe. Where openat2() is refused, nothing is found.
 */
static int look_below(struct usersyms *us, const struct process *proc, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS };
	int root_fd = -1;
	int fd;

	if (proc->is_beside)
		root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	else if (task_reopen(us, proc))
		root_fd = openat(us->task_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	close(root_fd);
	return fd;
}

/* A file that was removed is mapped under its name and this. */
static size_t path_len(const char *path)
{
	static const char removed[] = " (deleted)";
	const size_t len = strlen(path);
	const size_t tail = sizeof(removed) - 1;

	return len > tail && !strcmp(path + len - tail, removed) ? len - tail : len;
}

/* Open the mapped file: at its path, or the program by its own link, which still works when the file was removed. */
static int open_file(struct usersyms *us, const struct process *proc, const struct user_map *map,
		     struct stat *st)
{
	const char *name = proc->paths.ptr + map->path;
	const int len = (int)path_len(name);
	char path[PATH_MAX];
	int fd = -1;

	if (*name == '/' && len < PATH_MAX) {
		snprintf(path, sizeof(path), "%.*s", len, name);
		fd = open_looked(map, look_below(us, proc, path), st);
	}
	if (fd >= 0)
		return fd;
	if (task_reopen(us, proc))
		fd = openat(us->task_fd, "exe", O_PATH | O_CLOEXEC);
	return open_looked(map, fd, st);
}

static bool is_same_file(const struct user_file *file, const struct stat *st)
{
	return file->dev == st->st_dev && file->ino == st->st_ino &&
	       file->size_bytes == st->st_size && file->changed.tv_sec == st->st_ctim.tv_sec &&
	       file->changed.tv_nsec == st->st_ctim.tv_nsec;
}

/* Read a file that is not known yet. Return: its number, or NO_FILE. */
static uint32_t file_add(struct usersyms *us, int fd, const struct stat *st)
{
	struct user_file file = { .dev = st->st_dev,
				  .ino = st->st_ino,
				  .size_bytes = st->st_size,
				  .changed = st->st_ctim };

	if (VEC_RESERVE(us->files, us->file_cap, us->file_cnt + 1) ||
	    elfsyms_new(&file.syms, fd) == -ENOMEM) {
		us->is_short = true;
		return NO_FILE;
	}
	us->files_bytes += file.syms ? elfsyms_bytes(file.syms) : 0;
	us->files[us->file_cnt] = file;
	return (uint32_t)us->file_cnt++;
}

/* Return: the file's number, or NO_FILE. */
static uint32_t file_get(struct usersyms *us, const struct process *proc,
			 const struct user_map *map)
{
	struct stat st;
	int fd = open_file(us, proc, map, &st);
	uint32_t nr = 0;

	if (fd < 0)
		return NO_FILE;
	while (nr < us->file_cnt && !is_same_file(&us->files[nr], &st))
		nr++;
	if (nr == us->file_cnt)
		nr = file_add(us, fd, &st);
	close(fd);
	return nr;
}

/* The symbols of what is mapped there. NULL: none. */
static const struct elfsyms *syms_of(struct usersyms *us, struct process *proc,
				     struct user_map *map)
{
	const struct elfsyms *syms = NULL;

	if (!strcmp(proc->paths.ptr + map->path, "[vdso]"))
		return map->begin > UINT32_MAX ? us->vdso : NULL;
	if (!map->ino)
		return NULL;
	if (!map->is_looked) {
		map->file = file_get(us, proc, map);
		map->is_looked = true;
	}
	if (map->file != NO_FILE)
		syms = us->files[map->file].syms;
	us->lacks_files |= !syms;
	return syms;
}

/* ---- a stack ---- */

/*
 * A place in texts, which moves while it grows: with ptr as an offset until all are there. Frames share what they have in
 * common, such as their file.
 */
static struct text put_name(struct usersyms *us, const char *ptr, size_t len)
{
	const char *same =
		us->texts.len && len ? memmem(us->texts.ptr, us->texts.len, ptr, len) : NULL;
	struct text put = { (const char *)(uintptr_t)us->texts.len, len };

	if (same)
		put.ptr = (const char *)(uintptr_t)(same - us->texts.ptr);
	else if (len > USERSYMS_TEXT_BYTES_MAX - us->texts.len)
		put.len = 0;
	else
		strbuf_add(&us->texts, ptr, len);
	return put;
}

static void name_frame(struct usersyms *us, struct process *proc, struct user_map *map,
		       struct user_frame *frame, bool is_return)
{
	const struct elfsyms *syms = syms_of(us, proc, map);
	const char *path = proc->paths.ptr + map->path;
	size_t len = path_len(path);
	struct elfsym sym;

	if (!map->ino && !syms)
		return; /* made at run time, or the vdso of 32 bits */
	frame->file = put_name(us, path, len < PATH_MAX ? len : PATH_MAX - 1);
	frame->offset = frame->ip - map->begin + map->offset;
	if (!syms)
		return;
	frame->build_id = put_name(us, elfsyms_build_id(syms).ptr, elfsyms_build_id(syms).len);
	if (!elfsyms_find(syms, frame->offset, is_return, &sym))
		return;
	frame->symbol = put_name(us, sym.name.ptr, sym.name.len);
	if (!frame->symbol.len)
		return;
	frame->offset = sym.offset;
	frame->size_bytes = sym.size_bytes;
}

/*
 * Name the frames. Functions without a frame pointer may leave anything where the kernel looks for the next one, so the
 * stack ends where an address is not that of code; but only maps that were read just now say so. @why: they were not.
 */
static void name_frames(struct usersyms *us, struct process *proc, enum user_stack_state why,
			const struct usersyms_ask *ask, struct user_stack *stack)
{
	stack->state = USER_STACK_NAMED;
	for (uint32_t i = 0; i < stack->frame_cnt; i++) {
		struct user_map *map = map_of(proc, ask, i);

		if (map)
			name_frame(us, proc, map, &us->frames[i], i != 0);
		else if (!proc->is_whole)
			stack->state = USER_STACK_FAILED;
		else if (why != USER_STACK_NAMED)
			stack->state = why;
		else if (i)
			stack->frame_cnt = i;
	}
}

static void settle_text(const struct usersyms *us, struct text *text)
{
	text->ptr = text->len ? us->texts.ptr + (uintptr_t)text->ptr : NULL;
}

struct text usersyms_look(struct usersyms *us, const struct usersyms_ask *ask,
			  struct user_stack *stack)
{
	struct process *proc;

	if (us->is_short || us->file_cnt >= FILE_CNT_MAX || us->files_bytes > FILES_BYTES_MAX)
		forget_files(us);
	us->is_short = false;
	us->lacks_files = false;
	strbuf_reset(&us->texts);
	*stack = (struct user_stack){ .frames = us->frames, .frame_cnt = ask->addr_cnt };
	for (uint32_t i = 0; i < ask->addr_cnt; i++)
		us->frames[i] = (struct user_frame){ .ip = ask->addrs[i] };
	stack->state = process_look(us, ask, &proc);
	if (proc)
		name_frames(us, proc, stack->state, ask, stack);
	task_close(us);
	stack->lacks_files = us->lacks_files;
	if (!strbuf_ok(&us->texts)) {
		stack->state = USER_STACK_FAILED;
		us->texts.len = 0;
	}
	for (uint32_t i = 0; i < stack->frame_cnt; i++) {
		struct user_frame *frame = &us->frames[i];

		if (!us->texts.len)
			*frame = (struct user_frame){ .ip = frame->ip };
		settle_text(us, &frame->symbol);
		settle_text(us, &frame->file);
		settle_text(us, &frame->build_id);
	}
	return (struct text){ us->texts.ptr, us->texts.len };
}
