#include "kernel/srcline.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <gelf.h>
#include <linux/capability.h>

#include "base/child.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/log.h"
#include "base/privdrop.h"
#include "base/vec.h"

/* Limit for alignment plus the space for call depth thunks before the next function (CONFIG_CALL_PADDING). */
#define PADDING_MAX 128u
/* ... and for the last function in front of a page that begins something else. */
#define LAST_PADDING_MAX 4096u

struct symbol {
	uint64_t addr;
	uint64_t size;    /* 0: unknown, as for labels in assembly */
	const char *name; /* points into the ELF file */
};

struct vmlinux {
	int fd;
	Elf *elf;
	struct symbol *symbols;
	size_t symbol_cnt;
	size_t symbol_cap;
	struct hash by_name;
	struct vmlinux_id id;
};

/* ---- texts ---- */

/* Parse a hexadecimal number with 0x. Return: its end, or NULL. */
static const char *parse_hex(const char *at, const char *end, uint64_t *number)
{
	const char *digits = at + 2;

	*number = 0;
	if (end - at < 3 || at[0] != '0' || at[1] != 'x')
		return NULL;
	for (at = digits; at < end && at - digits < 16; at++) {
		if (*at >= '0' && *at <= '9')
			*number = *number << 4 | (uint64_t)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			*number = *number << 4 | (uint64_t)(*at - 'a' + 10);
		else
			break;
	}
	return at > digits ? at : NULL;
}

bool vmlinux_parse_place(struct text text, struct vmlinux_place *place)
{
	const char *end = text.ptr + text.len;
	const char *plus = text.len ? memchr(text.ptr, '+', text.len) : NULL;
	const char *at;

	if (!plus || plus == text.ptr)
		return false;
	*place = (struct vmlinux_place){ .func = { text.ptr, (size_t)(plus - text.ptr) } };
	at = parse_hex(plus + 1, end, &place->offset);
	if (at && at < end && *at == '/')
		at = parse_hex(at + 1, end, &place->size);
	return at == end;
}

struct vmlinux_id vmlinux_parse_notes(const void *notes, size_t len, size_t align_bytes)
{
	struct vmlinux_id id = { 0 };
	const size_t mask = align_bytes - 1;
	const char *bytes = notes;
	Elf64_Nhdr head;

	for (size_t at = 0; at + sizeof(head) <= len;) {
		size_t name_at = at + sizeof(head);
		size_t desc_at;

		memcpy(&head, bytes + at, sizeof(head));
		desc_at = (name_at + head.n_namesz + mask) & ~mask;
		at = (desc_at + head.n_descsz + mask) & ~mask;
		if (desc_at + head.n_descsz > len)
			break;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
		    !memcmp(bytes + name_at, "GNU", 4) && head.n_descsz <= sizeof(id.bytes)) {
			memcpy(id.bytes, bytes + desc_at, head.n_descsz);
			id.len = head.n_descsz;
			break;
		}
	}
	return id;
}

struct vmlinux_id vmlinux_running_id(void)
{
	char notes[8192];
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, notes, sizeof(notes));

	if (fd >= 0)
		close(fd);
	return vmlinux_parse_notes(notes, len > 0 ? (size_t)len : 0, 4);
}

/* ---- the image ---- */

static int read_symbols(struct vmlinux *vm, Elf_Scn *section, const GElf_Shdr *head)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t cnt = head->sh_entsize ? head->sh_size / head->sh_entsize : 0;

	if (!data || cnt > INT_MAX)
		return -ENODATA;
	for (size_t i = 0; i < cnt; i++) {
		const char *name;
		GElf_Sym sym;
		int type;

		if (!gelf_getsym(data, (int)i, &sym))
			return -ENODATA;
		type = GELF_ST_TYPE(sym.st_info);
		name = elf_strptr(vm->elf, head->sh_link, sym.st_name);
		if ((type != STT_FUNC && type != STT_NOTYPE) || sym.st_shndx == SHN_UNDEF ||
		    !name || !*name)
			continue;
		if (*name == '$') /* "$x" marks the start of code on arm64, ten thousand times */
			continue;
		if (VEC_RESERVE(vm->symbols, vm->symbol_cap, vm->symbol_cnt + 1) ||
		    hash_add(&vm->by_name, hash_bytes(name, strlen(name)),
			     (uint32_t)vm->symbol_cnt))
			return -ENOMEM;
		vm->symbols[vm->symbol_cnt++] =
			(struct symbol){ .addr = sym.st_value, .size = sym.st_size, .name = name };
	}
	return 0;
}

static int read_sections(struct vmlinux *vm)
{
	bool has_lines = false;
	Elf_Scn *section = NULL;
	size_t names;
	int err = 0;

	if (elf_getshdrstrndx(vm->elf, &names))
		return -ENODATA;
	while (!err && (section = elf_nextscn(vm->elf, section)) != NULL) {
		const Elf_Data *notes = NULL;
		const char *name;
		GElf_Shdr head;

		if (!gelf_getshdr(section, &head))
			return -ENODATA;
		name = elf_strptr(vm->elf, names, head.sh_name);
		if (name && head.sh_type != SHT_NOBITS &&
		    (!strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line")))
			has_lines = true;
		if (head.sh_type == SHT_NOTE)
			notes = elf_rawdata(section, NULL);
		if (notes && notes->d_buf && !vm->id.len)
			vm->id = vmlinux_parse_notes(notes->d_buf, notes->d_size, 4);
		if (head.sh_type == SHT_SYMTAB)
			err = read_symbols(vm, section, &head);
	}
	return err || (has_lines && vm->symbol_cnt) ? err : -ENODATA;
}

int vmlinux_open(struct vmlinux **out, const char *path)
{
	struct vmlinux *vm = calloc(1, sizeof(*vm));
	int err;

	if (!vm)
		return -ENOMEM;
	vm->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	err = vm->fd < 0 ? -errno : 0;
	if (!err) {
		elf_version(EV_CURRENT);
		/* not mapped: if the file is truncated, a mapping would raise SIGBUS */
		vm->elf = elf_begin(vm->fd, ELF_C_READ, NULL);
		err = vm->elf && elf_kind(vm->elf) == ELF_K_ELF ? read_sections(vm) : -ENODATA;
	}
	if (err) {
		vmlinux_free(vm);
		return err;
	}
	*out = vm;
	return 0;
}

void vmlinux_free(struct vmlinux *vm)
{
	if (!vm)
		return;
	elf_end(vm->elf);
	if (vm->fd >= 0)
		close(vm->fd);
	hash_release(&vm->by_name);
	free(vm->symbols);
	free(vm);
}

struct vmlinux_id vmlinux_id(const struct vmlinux *vm)
{
	return vm->id;
}

/* vmlinux_may_be - whether it can be the image of the kernel with build id @id; either id may be unknown. */
static bool vmlinux_may_be(const struct vmlinux *vm, const struct vmlinux_id *id)
{
	return !vm->id.len || !id->len ||
	       (vm->id.len == id->len && !memcmp(vm->id.bytes, id->bytes, id->len));
}

/* ---- places ---- */

/* Whether a function of @size bytes may end up to @padding bytes before the next symbol. */
static bool srcline_suits(const struct symbol *sym, const struct vmlinux_place *place,
			  uint64_t padding)
{
	if (!sym->size || !place->size)
		return true;
	return sym->size <= place->size && place->size - sym->size < padding;
}

int vmlinux_find(const struct vmlinux *vm, const struct vmlinux_place *place, uint64_t *addr)
{
	const uint64_t hash = hash_bytes(place->func.ptr, place->func.len);
	const struct symbol *only = NULL; /* with that name */
	const struct symbol *best = NULL; /* with that name and size */
	size_t best_cnt = 0;
	size_t cnt = 0;

	for (uint32_t at = 0, item; hash_next(&vm->by_name, hash, &at, &item);) {
		const struct symbol *sym = &vm->symbols[item];

		if (strlen(sym->name) != place->func.len ||
		    memcmp(sym->name, place->func.ptr, place->func.len) != 0)
			continue;
		/* the table lists one function twice */
		if (only && only->addr == sym->addr)
			continue;
		only = sym;
		cnt++;
		if (srcline_suits(sym, place, PADDING_MAX)) {
			best = sym;
			best_cnt++;
		}
	}
	if (cnt == 1 && !srcline_suits(only, place, LAST_PADDING_MAX))
		return -EMSGSIZE;
	if (cnt == 1)
		best = only;
	if (!cnt || (cnt > 1 && best_cnt != 1) || (best->size && place->offset > best->size))
		return -ENOENT;
	*addr = best->addr + place->offset;
	return 0;
}

/* ---- locating the image ---- */

/* Paths used by distributions and builds: the parts before and after the release. */
static const char *const by_release[][2] = {
	{ "/usr/lib/debug/boot/vmlinux-", "" },
	{ "/usr/lib/debug/lib/modules/", "/vmlinux" },
	{ "/usr/lib/debug/usr/lib/modules/", "/vmlinux" },
	{ "/lib/modules/", "/build/vmlinux" },
	{ "/boot/vmlinux-", "" },
};

/* Return: 0, -ENOENT or -ENOMEM. */
static int try_path(struct vmlinux **out, const char *path, const struct vmlinux_id *id,
		    struct strbuf *looked)
{
	int err = vmlinux_open(out, path);

	strbuf_printf(looked, "%s%s", looked->len ? ", " : "", path);
	if (!err && !vmlinux_may_be(*out, id)) {
		vmlinux_free(*out);
		err = -ENOENT;
	}
	return err && err != -ENOMEM ? -ENOENT : err;
}

/* The cache of debuginfod; false: there is no home directory. */
static bool cache_dir(char *dir, size_t size)
{
	const char *path = secure_getenv("DEBUGINFOD_CACHE_PATH");
	const char *cache = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");

	if (path && *path)
		snprintf(dir, size, "%s", path);
	else if (cache && *cache)
		snprintf(dir, size, "%s/debuginfod_client", cache);
	else if (home && *home)
		snprintf(dir, size, "%s/.cache/debuginfod_client", home);
	else
		return false;
	return true;
}

static int locate_by_id(struct vmlinux **out, const char *root, const struct vmlinux_id *id,
			char *path, struct strbuf *looked)
{
	char hex[2 * VMLINUX_ID_MAX + 1];
	char dir[PATH_MAX / 2];
	int err;

	for (size_t i = 0; i < id->len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
	snprintf(path, PATH_MAX, "%s/usr/lib/debug/.build-id/%.2s/%s.debug", root, hex, hex + 2);
	err = try_path(out, path, id, looked);
	if (err != -ENOENT || !cache_dir(dir, sizeof(dir)))
		return err;
	snprintf(path, PATH_MAX, "%s/%s/debuginfo", dir, hex);
	return try_path(out, path, id, looked);
}

int vmlinux_locate(struct vmlinux **out, const char *root, const char *release,
		   const struct vmlinux_id *id, char *path, struct strbuf *looked)
{
	int err = -ENOENT;

	/* a release from a file may be arbitrary text */
	if (!*release || strchr(release, '/') || strlen(release) > NAME_MAX)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(by_release) / sizeof(by_release[0]) && err == -ENOENT; i++) {
		snprintf(path, PATH_MAX, "%s%s%s%s", root, by_release[i][0], release,
			 by_release[i][1]);
		err = try_path(out, path, id, looked);
	}
	return err == -ENOENT && id->len ? locate_by_id(out, root, id, path, looked) : err;
}

/* Before the first answer addr2line reads the whole file, perhaps from a cold disk. */
#define FIRST_MS  60000u
#define ANSWER_MS 5000u
#define SHOWN_MAX 512u /* of the shown part of a path */
#define ROOT_FUNC "start_kernel"
#define ROOT_FILE "init/main.c:"

struct answer {
	struct text place; /* our copy */
	char *line;        /* "": none */
};

struct srcline {
	struct vmlinux *vm; /* NULL: none yet */
	struct helper addr2line;
	struct answer *answers;
	size_t answer_cnt;
	size_t answer_cap;
	struct hash by_place;
	char root[SHOWN_MAX]; /* the kernel's build directory, with a trailing slash, or "" */
	bool is_inherited;    /* addr2line's process has already inherited the open file */
	bool is_begun;
	bool is_over; /* no more lines: none were found, or a warning was given */
	char path[PATH_MAX];
};

/* ---- warnings ---- */

/* The package with a kernel's vmlinux, by ID or ID_LIKE in os-release. */
static const struct {
	const char *id;
	const char *before;
	const char *after;
} packages[] = {
	{ "ubuntu", "linux-image-", "-dbgsym" },
	{ "debian", "linux-image-", "-dbg" },
	{ "fedora", "kernel-debuginfo-", "" },
	{ "suse", "kernel-default-debuginfo of ", "" },
};

/* Return: whether os-release lists @id among its ids. */
static bool is_distribution(const char *id)
{
	FILE *file = fopen("/etc/os-release", "re");
	char line[256];
	bool is_it = false;

	while (file && fgets(line, sizeof(line), file))
		is_it |= (!strncmp(line, "ID=", 3) || !strncmp(line, "ID_LIKE=", 8)) &&
			 strstr(line, id);
	if (file)
		fclose(file);
	return is_it;
}

static void srcline_say_missing(const char *release, const struct strbuf *looked)
{
	const size_t cnt = sizeof(packages) / sizeof(packages[0]);
	size_t i = 0;

	while (i < cnt && !is_distribution(packages[i].id))
		i++;
	log_warn("--source: no vmlinux with debug info for kernel %s; looked for %.*s", release,
		 (int)looked->len, looked->ptr ? looked->ptr : "");
	if (i < cnt)
		log_hint("install %s%s%s, or name a file with --vmlinux", packages[i].before,
			 release, packages[i].after);
	else
		log_hint("install this kernel's debug symbols, or name a file with --vmlinux");
}

static void end(struct srcline *sl)
{
	sl->is_over = true;
	helper_end(&sl->addr2line);
}

static void say_ended(struct srcline *sl, int err)
{
	const char *what = err == -ETIMEDOUT ? "takes too long for"
			   : err == -EPROTO  ? "prints unexpected output for"
					     : "ended while it read";

	if (err != -EINTR)
		log_warn("--source: addr2line %s '%s': no more source lines", what, sl->path);
	end(sl);
}

/* ---- lines ---- */

/*
 * "/build/linux-6.1/net/socket.c:2104 (discriminator 3)" becomes "net/socket.c:2104". The path comes from a file:
 * blanks, brackets and characters unfit for a terminal become '?'.
 */
static void clean(const struct srcline *sl, char *line)
{
	char *rest = strstr(line, " (discriminator");
	const char *colon;
	char *to = line;

	if (rest)
		*rest = '\0';
	colon = strrchr(line, ':');
	/* unknown: "??:0", "file.c:?" */
	if (!strncmp(line, "??", 2) || !colon || colon[1] < '1' || colon[1] > '9') {
		*line = '\0';
		return;
	}
	rest = line + (strncmp(line, sl->root, strlen(sl->root)) ? 0 : strlen(sl->root));
	for (; *rest; rest++) {
		if (to == line && rest[0] == '.' && rest[1] == '/') {
			rest++;
			continue;
		}
		*to++ = (char)(*rest <= ' ' || *rest > '~' || strchr("()<*", *rest) ? '?' : *rest);
	}
	*to = '\0';
}

static int ask(struct srcline *sl, const struct vmlinux_place *place, unsigned int timeout_ms,
	       char *line)
{
	uint64_t addr;
	int err = vmlinux_find(sl->vm, place, &addr);

	*line = '\0';
	if (err == -EMSGSIZE) {
		log_warn(
			"--source: '%s' belongs to another kernel: %.*s has another size there; no more source lines",
			sl->path, (int)place->func.len, place->func.ptr);
		end(sl);
	}
	if (err)
		return 0;
	err = addr2line_ask(&sl->addr2line, addr, timeout_ms, line, SHOWN_MAX);
	if (err) {
		*line = '\0';
		say_ended(sl, err);
	}
	return err;
}

static bool can_open(void *ctx)
{
	int fd = open(ctx, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Return: whether a process without capabilities can open @path; if we have none, whether we can. */
static bool is_readable(const char *path)
{
	if (!privdrop_has(CAP_DAC_OVERRIDE) && !privdrop_has(CAP_DAC_READ_SEARCH))
		return true;
	return privdrop_works(can_open, (void *)path);
}

static void hint_vmlinux(const char *path)
{
	struct strbuf hint = { 0 };

	strbuf_str(&hint, "--vmlinux ");
	strbuf_shell(&hint, path);
	log_hint("%s reads it", strbuf_cstr(&hint));
	strbuf_release(&hint);
}

/* All paths begin with the directory in which the kernel was built: the part in front of a known function's file. */
static void srcline_begin(struct srcline *sl)
{
	const struct vmlinux_place root = { .func = text_from(ROOT_FUNC) };
	char line[SHOWN_MAX];
	const char *file;
	int err;

	if (!sl->is_inherited && !is_readable(sl->path)) {
		log_warn("--source: '%s' cannot be read without capabilities: no source lines",
			 sl->path);
		if (!getauxval(AT_SECURE))
			hint_vmlinux(sl->path);
		end(sl);
		return;
	}
	err = addr2line_open(&sl->addr2line, sl->is_inherited ? ADDR2LINE_INHERITED : sl->path);
	if (err) {
		say_ended(sl, err);
		return;
	}
	if (ask(sl, &root, FIRST_MS, line))
		return;
	file = strstr(line, ROOT_FILE);
	if (file)
		snprintf(sl->root, sizeof(sl->root), "%.*s", (int)(file - line), line);
	log_info("--source: lines from '%s'", sl->path);
}

/* @key: the key under which the answer is kept */
static struct text look_up(struct srcline *sl, struct text key, const struct vmlinux_place *place)
{
	const uint64_t hash = hash_bytes(key.ptr, key.len);
	char line[SHOWN_MAX];
	char *place_copy;
	char *line_copy;

	for (uint32_t at = 0, item; hash_next(&sl->by_place, hash, &at, &item);) {
		if (text_equal(key, sl->answers[item].place))
			return text_from(sl->answers[item].line);
	}
	if (sl->is_over || ask(sl, place, ANSWER_MS, line))
		return (struct text){ 0 };
	clean(sl, line);
	place_copy = strndup(key.ptr, key.len);
	line_copy = strdup(line);
	if (!place_copy || !line_copy ||
	    VEC_RESERVE(sl->answers, sl->answer_cap, sl->answer_cnt + 1) ||
	    hash_add(&sl->by_place, hash, (uint32_t)sl->answer_cnt)) {
		free(place_copy);
		free(line_copy);
		return (struct text){ 0 };
	}
	sl->answers[sl->answer_cnt++] = (struct answer){ { place_copy, key.len }, line_copy };
	return text_from(line_copy);
}

/* ---- public functions ---- */

struct text srcline_return(struct srcline *sl, struct text text)
{
	struct vmlinux_place place;

	if (!sl || !sl->is_begun || !vmlinux_parse_place(text, &place))
		return (struct text){ 0 };
	/* the instruction after the call may be on another line */
	if (place.offset)
		place.offset--;
	return look_up(sl, text, &place);
}

struct text srcline_entry(struct srcline *sl, const char *name)
{
	const struct vmlinux_place place = { .func = text_from(name) };

	if (!sl || !sl->is_begun)
		return (struct text){ 0 };
	return look_up(sl, place.func, &place);
}

static void find_for(struct srcline *sl, const char *release, const struct vmlinux_id *id)
{
	struct strbuf looked = { 0 };
	int err = 0;

	sl->is_begun = true;
	if (sl->is_over)
		return;
	if (!sl->vm)
		err = vmlinux_locate(&sl->vm, "", release, id, sl->path, &looked);
	else if (!vmlinux_may_be(sl->vm, id))
		err = -EXDEV;
	if (err == -EXDEV)
		log_warn(
			"--source: '%s' is not the running kernel's vmlinux (the build ids differ): no source lines",
			sl->path);
	else if (err)
		srcline_say_missing(release, &looked);
	strbuf_release(&looked);
	if (err)
		end(sl);
	else
		srcline_begin(sl);
}

void srcline_running(struct srcline *sl)
{
	struct vmlinux_id id;
	char release[128];

	if (!sl || sl->is_begun)
		return;
	id = vmlinux_running_id();
	host_release(release, sizeof(release));
	find_for(sl, release, &id);
}

void srcline_of(struct srcline *sl, const char *release)
{
	const struct vmlinux_id none = { 0 };

	if (sl && !sl->is_begun)
		find_for(sl, release, &none);
}

static int open_named(struct srcline *sl, const char *path)
{
	int err = 0;

	if (strlen(path) >= sizeof(sl->path))
		err = -ENAMETOOLONG;
	else
		snprintf(sl->path, sizeof(sl->path), "%s", path);
	/* a program file with capabilities (setcap) reads only files that its user may read */
	if (!err && getauxval(AT_SECURE) && !is_readable(path))
		err = -EACCES;
	if (!err)
		err = vmlinux_open(&sl->vm, path);
	if (err == -ENODATA) {
		log_error("--vmlinux '%s' has no debug info", path);
		log_hint(
			"a vmlinux with .symtab and .debug_line sections is needed, not a vmlinuz");
	} else if (err && err != -ENOMEM) {
		log_error("cannot read --vmlinux '%s': %s", path, strerror(-err));
	}
	return err;
}

int srcline_new(struct srcline **out, const char *path)
{
	struct srcline *sl = calloc(1, sizeof(*sl));
	int err = 0;

	if (!sl)
		return -ENOMEM;
	sl->addr2line = HELPER_NONE;
	if (path)
		err = open_named(sl, path);
	if (err) {
		srcline_free(sl);
		return err;
	}
	if (addr2line_find()) {
		log_warn(
			"--source: neither llvm-addr2line nor addr2line is in PATH: no source lines");
		log_hint("install llvm or binutils");
		sl->is_over = true;
	} else {
		sl->is_inherited = path != NULL;
		err = addr2line_fork(&sl->addr2line, path ? sl->vm->fd : -1);
		if (err) {
			log_warn("--source: cannot start addr2line: %s", strerror(-err));
			end(sl);
		}
	}
	*out = sl;
	return 0;
}

void srcline_free(struct srcline *sl)
{
	if (!sl)
		return;
	helper_end(&sl->addr2line);
	vmlinux_free(sl->vm);
	for (size_t i = 0; i < sl->answer_cnt; i++) {
		free((char *)sl->answers[i].place.ptr);
		free(sl->answers[i].line);
	}
	free(sl->answers);
	hash_release(&sl->by_place);
	free(sl);
}

/* ---- addr2line in a separate process ---- */

/* LLVM's reads only the needed parts of a vmlinux, binutils' reads everything in front of them. */
static const char *const programs[] = { "llvm-addr2line", "addr2line" };
#define PROGRAM_CNT (sizeof(programs) / sizeof(programs[0]))

int addr2line_find(void)
{
	for (size_t i = 0; i < PROGRAM_CNT; i++) {
		if (!child_find(programs[i]))
			return 0;
	}
	return -ENOENT;
}

/* ---- in that process ---- */

/* Reads byte by byte, because the bytes after the path are for the program. Return: whether there was a path. */
static bool read_path(char *path, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (read(STDIN_FILENO, &path[i], 1) != 1)
			return false;
		if (!path[i])
			return i > 0;
	}
	return false;
}

static void srcline_run(void *ctx)
{
	char path[PATH_MAX];

	(void)ctx;
	privdrop_all();
	/* do not wait for downloads of files that this host lacks */
	unsetenv("DEBUGINFOD_URLS");
	if (!read_path(path, sizeof(path)))
		return;
	for (size_t i = 0; i < PROGRAM_CNT; i++)
		execlp(programs[i], programs[i], "-e", path, (char *)NULL);
	_exit(127);
}

/* ---- in our process ---- */

int addr2line_fork(struct helper *al, int fd)
{
	return helper_fork(al, fd, srcline_run, NULL);
}

int addr2line_open(struct helper *al, const char *path)
{
	const size_t size = strlen(path) + 1;

	return size > PATH_MAX ? -ENAMETOOLONG : helper_ask(al, path, size);
}

int addr2line_ask(struct helper *al, uint64_t addr, unsigned int timeout_ms, char *line,
		  size_t size)
{
	const uint64_t end_ns = host_time_ns() + timeout_ms * 1000000ull;
	const int stop_cnt = *signals_stop_cnt;
	char question[24];
	size_t len = 0;
	char part[512];
	int err;

	snprintf(question, sizeof(question), "0x%" PRIx64 "\n", addr);
	err = helper_ask(al, question, strlen(question));
	while (!err) {
		ssize_t got;

		err = helper_wait(al, end_ns, stop_cnt);
		if (err)
			return err;
		got = read(al->answer_fd, part, sizeof(part));
		if (got <= 0)
			return -EPIPE;
		for (ssize_t i = 0; i < got; i++) {
			if (part[i] == '\n') {
				line[len] = '\0';
				/* the name contains a newline: the rest would be taken for the next answer */
				return i + 1 < got ? -EPROTO : 0;
			}
			if (len + 1 < size)
				line[len++] = part[i];
		}
		/* addr2line writes without end */
		if (host_time_ns() >= end_ns)
			err = -ETIMEDOUT;
	}
	return err;
}
