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
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "kernel/elfsyms.h"
#include "nfg_abi.h"

/* Limits of memory; beyond them things are forgotten, and read again when they are needed. */
#define PROCESS_CNT_MAX 256u
#define TAKEN_CNT_MAX   65536u
#define FILE_CNT_MAX    512u
/* A process can have no more than vm.max_map_count, 65530 unless changed. */
#define MAP_CNT_MAX 65536u

#define NO_FILE     UINT32_MAX

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
	uint64_t mm;
	struct user_map *maps; /* by address */
	size_t map_cnt;
	size_t map_cap;
	struct strbuf paths; /* each ends with a NUL */
};

/* A stack that is known. */
struct taken {
	uint64_t key; /* NFG_USTACK() */
	uint64_t mm;
	uint32_t nr; /* for userstacks_get */
	enum user_stack_state state;
};

struct usersyms {
	struct usersyms_config config;
	struct process processes[PROCESS_CNT_MAX];
	size_t process_cnt;
	struct user_file *files;
	size_t file_cnt;
	size_t file_cap;
	struct elfsyms *vdso; /* our own: all processes of 64 bits have the same */
	struct taken *takens;
	size_t taken_cnt;
	size_t taken_cap;
	struct hash by_key; /* of takens */
	uint64_t cnts[USER_STACK_STATE_CNT];
	struct strbuf texts; /* of the stack at hand */
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

int usersyms_new(struct usersyms **out, const struct usersyms_config *config)
{
	struct usersyms *us = calloc(1, sizeof(*us));

	if (!us)
		return -ENOMEM;
	us->config = *config;
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

static void forget_processes(struct usersyms *us)
{
	for (size_t i = 0; i < us->process_cnt; i++)
		process_release(&us->processes[i]);
	us->process_cnt = 0;
}

static void forget_files(struct usersyms *us)
{
	for (size_t i = 0; i < us->file_cnt; i++)
		elfsyms_free(us->files[i].syms);
	us->file_cnt = 0;
}

void usersyms_free(struct usersyms *us)
{
	if (!us)
		return;
	forget_processes(us);
	forget_files(us);
	free(us->files);
	elfsyms_free(us->vdso);
	free(us->takens);
	hash_release(&us->by_key);
	strbuf_release(&us->texts);
	free(us);
}

uint64_t usersyms_cnt(const struct usersyms *us, enum user_stack_state state)
{
	return us->cnts[state];
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
	if (proc->map_cnt >= MAP_CNT_MAX)
		return 0;
	if (VEC_RESERVE(proc->maps, proc->map_cap, proc->map_cnt + 1))
		return -ENOMEM;
	map->path = (uint32_t)proc->paths.len;
	strbuf_add(&proc->paths, path, strlen(path) + 1);
	if (!strbuf_ok(&proc->paths))
		return -ENOMEM;
	proc->maps[proc->map_cnt++] = *map;
	return 0;
}

static FILE *proc_open(const struct usersyms *us, uint32_t pid, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%u/%s", us->config.proc, pid, name);
	return fopen(path, "re");
}

/* Return: 0 or -errno; a process that has ended has none. */
static int read_maps(const struct usersyms *us, struct process *proc, uint32_t pid)
{
	FILE *file = proc_open(us, pid, "maps");
	char *line = NULL;
	size_t cap = 0;
	int err = 0;

	if (!file)
		return -errno;
	while (!err && getline(&line, &cap, file) > 0) {
		const char *path;
		struct user_map map;

		if (parse_map(line, &map, &path))
			err = add_map(proc, &map, path);
	}
	free(line);
	fclose(file);
	return err;
}

#define STAT_START_STACK 28 /* proc(5); the name, which is 2, may contain anything */

/* Where the process's stack began: what the kernel has as mm->start_stack. 0: it has ended, or may not be read. */
static uint64_t read_start_stack(const struct usersyms *us, uint32_t pid)
{
	FILE *file = proc_open(us, pid, "stat");
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

static uint32_t pid_of(const struct usersyms *us, uint32_t tgid)
{
	return us->config.proc_id ? us->config.proc_id(us->config.proc_id_ctx, tgid) : tgid;
}

static struct process *process_find(struct usersyms *us, uint32_t tgid, uint64_t mm)
{
	for (size_t i = us->process_cnt; i; i--) {
		if (us->processes[i - 1].tgid == tgid && us->processes[i - 1].mm == mm)
			return &us->processes[i - 1];
	}
	return NULL;
}

/*
 * Read what the process has mapped now. That was not so before, if it has called exec or dlopen, so each new stack asks
 * again; if the process has ended, what is known of it still holds.
 */
static enum user_stack_state process_look(struct usersyms *us, uint32_t tgid, uint64_t mm,
					  struct process **out)
{
	const uint32_t pid = pid_of(us, tgid);
	struct process proc = { .tgid = tgid, .mm = mm };
	int err = pid ? read_maps(us, &proc, pid) : -ENOENT;

	*out = process_find(us, tgid, mm);
	/* asked afterwards, so that the maps are not those of the next program */
	if (err || !proc.map_cnt || read_start_stack(us, pid) != mm) {
		process_release(&proc);
		if (*out)
			return USER_STACK_NAMED;
		return err == -EACCES || err == -EPERM ? USER_STACK_DENIED : USER_STACK_ENDED;
	}
	if (*out) {
		process_release(*out);
	} else {
		if (us->process_cnt == PROCESS_CNT_MAX)
			forget_processes(us);
		*out = &us->processes[us->process_cnt++];
	}
	**out = proc;
	return USER_STACK_NAMED;
}

/* ---- its files ---- */

static bool is_regular(int fd, const struct user_map *map, struct stat *st)
{
	return !fstat(fd, st) && S_ISREG(st->st_mode) && st->st_ino == map->ino;
}

/*
 * Open the mapped file at @path, if it still is that. Looking at it first has no effect on it: it may be replaced by
 * a device or a pipe. Return: -1: not there.
 */
static int open_mapped(const struct user_map *map, const char *path, struct stat *st)
{
	int look = open(path, O_PATH | O_CLOEXEC);
	char again[64];
	int fd = -1;

	if (look < 0)
		return -1;
	if (is_regular(look, map, st)) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", look);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	close(look);
	return fd;
}

static bool is_on_dev(const struct user_map *map, const struct stat *st)
{
	return map->dev == ((uint64_t)major(st->st_dev) << 32 | minor(st->st_dev));
}

/*
 * Open the mapped file: at its path in the process's mount namespace; what it runs by its own link, which still works
 * when the file was removed; or at its path here, for a process that has ended or whose root is elsewhere (chroot).
 */
static int open_file(const struct usersyms *us, const struct process *proc,
		     const struct user_map *map, struct stat *st)
{
	const uint32_t pid = pid_of(us, proc->tgid);
	const char *name = proc->paths.ptr + map->path;
	char path[PATH_MAX];
	int fd = -1;

	if (pid) {
		snprintf(path, sizeof(path), "%s/%u/root%s", us->config.proc, pid, name);
		fd = open_mapped(map, path, st);
	}
	if (fd < 0 && pid) {
		snprintf(path, sizeof(path), "%s/%u/exe", us->config.proc, pid);
		fd = open_mapped(map, path, st);
	}
	if (fd >= 0)
		return fd;
	fd = open_mapped(map, name, st);
	if (fd < 0 || is_on_dev(map, st))
		return fd;
	close(fd);
	return -1;
}

static bool is_same_file(const struct user_file *file, const struct stat *st)
{
	return file->dev == st->st_dev && file->ino == st->st_ino &&
	       file->size_bytes == st->st_size && file->changed.tv_sec == st->st_mtim.tv_sec &&
	       file->changed.tv_nsec == st->st_mtim.tv_nsec;
}

/* Return: the file's number, or NO_FILE. */
static uint32_t file_get(struct usersyms *us, const struct process *proc,
			 const struct user_map *map)
{
	struct user_file *file;
	struct stat st;
	int fd = open_file(us, proc, map, &st);
	uint32_t nr = 0;

	if (fd < 0)
		return NO_FILE;
	while (nr < us->file_cnt && !is_same_file(&us->files[nr], &st))
		nr++;
	if (nr == us->file_cnt && VEC_RESERVE(us->files, us->file_cap, us->file_cnt + 1)) {
		nr = NO_FILE;
	} else if (nr == us->file_cnt) {
		file = &us->files[us->file_cnt++];
		*file = (struct user_file){ .dev = st.st_dev,
					    .ino = st.st_ino,
					    .size_bytes = st.st_size,
					    .changed = st.st_mtim };
		if (elfsyms_new(&file->syms, fd))
			file->syms = NULL;
	}
	close(fd);
	return nr;
}

/* The symbols of what is mapped there. NULL: none. */
static const struct elfsyms *syms_of(struct usersyms *us, struct process *proc,
				     struct user_map *map)
{
	if (!strcmp(proc->paths.ptr + map->path, "[vdso]"))
		return map->begin > UINT32_MAX ? us->vdso : NULL;
	if (!map->ino)
		return NULL;
	if (!map->is_looked) {
		map->file = file_get(us, proc, map);
		map->is_looked = true;
	}
	return map->file == NO_FILE ? NULL : us->files[map->file].syms;
}

/* ---- a stack ---- */

static struct user_map *map_at(struct process *proc, uint64_t ip)
{
	size_t cnt = VEC_BISECT(i, proc->map_cnt, proc->maps[i].begin <= ip);
	struct user_map *map = cnt ? &proc->maps[cnt - 1] : NULL;

	return map && ip < map->end ? map : NULL;
}

/* A place in texts, which moves while it grows: with ptr as an offset until all are there. */
static struct text put_name(struct usersyms *us, const char *ptr, size_t len)
{
	struct text put = { (const char *)(uintptr_t)us->texts.len, 0 };

	strbuf_add(&us->texts, ptr, len);
	put.len = len;
	return put;
}

/* A file that was removed is mapped under its name and this. */
static size_t path_len(const char *path)
{
	static const char removed[] = " (deleted)";
	const size_t len = strlen(path);
	const size_t tail = sizeof(removed) - 1;

	return len > tail && !strcmp(path + len - tail, removed) ? len - tail : len;
}

static void name_frame(struct usersyms *us, struct process *proc, struct user_map *map,
		       struct user_frame *frame, bool is_return)
{
	const struct elfsyms *syms = syms_of(us, proc, map);
	const char *path = proc->paths.ptr + map->path;
	struct elfsym sym;

	if (!map->ino && !syms)
		return; /* made at run time, or the vdso of 32 bits */
	frame->file = put_name(us, path, path_len(path));
	frame->offset = frame->ip - map->begin + map->offset;
	if (!syms)
		return;
	frame->build_id = put_name(us, elfsyms_build_id(syms).ptr, elfsyms_build_id(syms).len);
	if (!elfsyms_find(syms, frame->offset, is_return, &sym))
		return;
	frame->symbol = put_name(us, sym.name.ptr, sym.name.len);
	frame->offset = sym.offset;
	frame->size_bytes = sym.size_bytes;
}

static void settle_text(const struct usersyms *us, struct text *text)
{
	text->ptr = text->len ? us->texts.ptr + (uintptr_t)text->ptr : NULL;
}

static uint32_t keep_stack(struct usersyms *us, struct user_frame *frames, uint32_t cnt,
			   enum user_stack_state state)
{
	const struct user_stack stack = { frames, cnt, state };

	if (!strbuf_ok(&us->texts))
		return 0;
	for (uint32_t i = 0; i < cnt; i++) {
		settle_text(us, &frames[i].symbol);
		settle_text(us, &frames[i].file);
		settle_text(us, &frames[i].build_id);
	}
	return userstacks_add(us->config.stacks, &stack);
}

/*
 * Name the frames. Functions without a frame pointer may leave anything where the kernel looks for the next one, so the
 * stack ends where an address is not that of code. Return: how many frames are left.
 */
static uint32_t name_frames(struct usersyms *us, struct process *proc, struct user_frame *frames,
			    uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		struct user_map *map = map_at(proc, frames[i].ip - (i != 0));

		if (!map && i)
			return i;
		if (map)
			name_frame(us, proc, map, &frames[i], i != 0);
	}
	return cnt;
}

static struct taken name_stack(struct usersyms *us, uint64_t key, uint64_t mm)
{
	struct user_frame frames[NFG_STACK_FRAMES] = { { 0 } };
	struct taken taken = { .key = key, .mm = mm, .state = USER_STACK_LOST };
	uint64_t addrs[NFG_STACK_FRAMES];
	struct process *proc = NULL;
	uint32_t cnt = 0;

	if ((uint32_t)key)
		cnt = us->config.stack(us->config.stack_ctx, (uint32_t)key - 1, addrs);
	if (cnt)
		taken.state = process_look(us, (uint32_t)(key >> 32), mm, &proc);
	if (us->file_cnt >= FILE_CNT_MAX) {
		forget_processes(us);
		forget_files(us);
		if (proc)
			taken.state = process_look(us, (uint32_t)(key >> 32), mm, &proc);
	}
	strbuf_reset(&us->texts);
	for (uint32_t i = 0; i < cnt; i++)
		frames[i].ip = addrs[i];
	if (proc)
		cnt = name_frames(us, proc, frames, cnt);
	taken.nr = keep_stack(us, frames, cnt, taken.state);
	return taken;
}

static const struct taken *taken_find(const struct usersyms *us, uint64_t key, uint64_t mm)
{
	for (uint32_t at = 0, item; hash_next(&us->by_key, hash_u64(key), &at, &item);) {
		const struct taken *taken = &us->takens[item];

		if (taken->key == key && taken->mm == mm &&
		    userstacks_get(us->config.stacks, taken->nr))
			return taken;
	}
	return NULL;
}

uint64_t usersyms_take(struct usersyms *us, uint64_t key, uint64_t mm)
{
	const struct taken *known = taken_find(us, key, mm);
	struct taken taken;

	if (known) {
		us->cnts[known->state]++;
		return known->nr;
	}
	taken = name_stack(us, key, mm);
	us->cnts[taken.state]++;
	if (us->taken_cnt == TAKEN_CNT_MAX) {
		hash_clear(&us->by_key);
		us->taken_cnt = 0;
	}
	if (taken.nr && !VEC_RESERVE(us->takens, us->taken_cap, us->taken_cnt + 1) &&
	    !hash_add(&us->by_key, hash_u64(key), (uint32_t)us->taken_cnt))
		us->takens[us->taken_cnt++] = taken;
	return taken.nr;
}
