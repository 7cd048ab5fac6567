#include "kernel/srcline.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/host.h"
#include "base/log.h"
#include "base/vec.h"
#include "kernel/vmlinux.h"
#include "process/addr2line.h"
#include "process/privdrop.h"

/* The first answer comes after addr2line has read the file, perhaps from a cold disk. */
#define FIRST_MS  60000u
#define ANSWER_MS 5000u
#define SHOWN_MAX 512u /* of the shown part of a path */
#define ROOT_FUNC "start_kernel"
#define ROOT_FILE "init/main.c:"

struct answer {
	char *place;
	char *line; /* "": none */
	size_t place_len;
};

struct srcline {
	struct vmlinux *vm; /* NULL: none yet */
	struct addr2line addr2line;
	struct answer *answers;
	size_t answer_cnt;
	size_t answer_cap;
	struct hash by_place;
	char root[SHOWN_MAX]; /* the directory in which the kernel was built, with a slash, or "" */
	bool is_inherited;    /* the file is open in addr2line's process already */
	bool is_begun;
	bool is_over; /* with a warning, or none was found */
	char path[PATH_MAX];
};

/* ---- what is missing ---- */

/* Which package has a kernel's vmlinux, by ID or ID_LIKE in os-release. */
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

/* Return: whether os-release has @id among its ids. */
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

static void say_missing(const char *release, const struct strbuf *looked)
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
	addr2line_end(&sl->addr2line);
}

static void say_ended(struct srcline *sl, int err)
{
	const char *what = err == -ETIMEDOUT ? "takes too long for"
			   : err == -EPROTO  ? "prints more than lines of"
					     : "ended while it read";

	if (err != -EINTR)
		log_warn("--source: addr2line %s '%s': no more source lines", what, sl->path);
	end(sl);
}

/* ---- lines ---- */

/*
 * "/build/linux-6.1/net/socket.c:2104 (discriminator 3)" becomes "net/socket.c:2104". The path is from a file: blanks,
 * brackets and what no terminal should get become '?'.
 */
static void clean(const struct srcline *sl, char *line)
{
	char *rest = strstr(line, " (discriminator");
	const char *colon;
	char *to = line;

	if (rest)
		*rest = '\0';
	colon = strrchr(line, ':');
	/* "??:0", "file.c:?" */
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

/* Return: whether a process without capabilities can open @path, or we can if we have none. */
static bool is_readable(const char *path)
{
	if (!privdrop_has(CAP_DAC_OVERRIDE) && !privdrop_has(CAP_DAC_READ_SEARCH))
		return true;
	return privdrop_works(can_open, (void *)path);
}

/* Paths begin with the directory in which the kernel was built: the part before the file of a known function. */
static void begin(struct srcline *sl)
{
	const struct vmlinux_place root = { .func = text_from(ROOT_FUNC) };
	char line[SHOWN_MAX];
	const char *file;
	int err;

	if (!sl->is_inherited && !is_readable(sl->path)) {
		log_warn("--source: '%s' cannot be read without capabilities: no source lines",
			 sl->path);
		if (!getauxval(AT_SECURE))
			log_hint("'--vmlinux %s' reads it", sl->path);
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

/* NULL: no memory */
static const struct answer *keep(struct srcline *sl, struct text place, const char *line)
{
	struct answer answer = {
		.place = strndup(place.ptr, place.len),
		.line = strdup(line),
		.place_len = place.len,
	};

	if (!answer.place || !answer.line ||
	    VEC_RESERVE(sl->answers, sl->answer_cap, sl->answer_cnt + 1) ||
	    hash_add(&sl->by_place, hash_bytes(place.ptr, place.len), (uint32_t)sl->answer_cnt)) {
		free(answer.place);
		free(answer.line);
		return NULL;
	}
	sl->answers[sl->answer_cnt] = answer;
	return &sl->answers[sl->answer_cnt++];
}

/* @key: under which the answer is kept */
static struct text look_up(struct srcline *sl, struct text key, const struct vmlinux_place *place)
{
	const uint64_t hash = hash_bytes(key.ptr, key.len);
	const struct answer *answer = NULL;
	char line[SHOWN_MAX];

	for (uint32_t at = 0, item; hash_next(&sl->by_place, hash, &at, &item);) {
		if (text_equal(key, (struct text){ sl->answers[item].place,
						   sl->answers[item].place_len }))
			answer = &sl->answers[item];
	}
	if (!answer && !sl->is_over) {
		if (ask(sl, place, ANSWER_MS, line))
			return (struct text){ 0 };
		clean(sl, line);
		answer = keep(sl, key, line);
	}
	return text_from(answer ? answer->line : NULL);
}

/* ---- the outside ---- */

struct text srcline_return(struct srcline *sl, struct text text)
{
	struct vmlinux_place place;

	if (!sl || !sl->is_begun || !vmlinux_parse_place(text, &place))
		return (struct text){ 0 };
	/* what follows the call may be on another line */
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
		say_missing(release, &looked);
	strbuf_release(&looked);
	if (err)
		end(sl);
	else
		begin(sl);
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
	/* a program file with capabilities (setcap) reads nothing that its user may not */
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
	sl->addr2line = (struct addr2line){ .ask_fd = -1, .answer_fd = -1 };
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
		err = addr2line_fork(&sl->addr2line, path ? vmlinux_fd(sl->vm) : -1);
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
	addr2line_end(&sl->addr2line);
	vmlinux_free(sl->vm);
	for (size_t i = 0; i < sl->answer_cnt; i++) {
		free(sl->answers[i].place);
		free(sl->answers[i].line);
	}
	free(sl->answers);
	hash_release(&sl->by_place);
	free(sl);
}
