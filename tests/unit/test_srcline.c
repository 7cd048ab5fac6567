/* Source lines of places in the kernel: this program is the vmlinux, and its functions at the end of this file are known. */
#include "kernel/srcline.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "harness.h"
#include "scratch.h"

#define SELF "/proc/self/exe"

/* ---- texts ---- */

static const struct {
	const char *text;
	const char *func; /* NULL: none */
	uint64_t offset;
	uint64_t size;
} places[] = {
	{ "tcp_v4_connect+0x1f5/0x4a0", "tcp_v4_connect", 0x1f5, 0x4a0 },
	{ "f.constprop.0+0x0/0x1", "f.constprop.0", 0, 1 },
	{ "f+0x1", "f", 1, 0 },
	{ "f+0xffffffffffffffff/0xffffffffffffffff", "f", UINT64_MAX, UINT64_MAX },
	{ "f+0x10000000000000000/0x1", NULL, 0, 0 },
	{ "veth_xmit+0x4b/0x4f [veth]", NULL, 0, 0 },
	{ "bpf_trampoline", NULL, 0, 0 },
	{ "?", NULL, 0, 0 },
	{ "", NULL, 0, 0 },
	{ "+0x1/0x2", NULL, 0, 0 },
	{ "f+", NULL, 0, 0 },
	{ "f+0x", NULL, 0, 0 },
	{ "f+0x1/", NULL, 0, 0 },
	{ "f+0x1/0x", NULL, 0, 0 },
	{ "f+0x1/0x2 ", NULL, 0, 0 },
	{ "f+1/2", NULL, 0, 0 },
};

TEST(a_place_is_a_function_an_offset_and_a_size)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct vmlinux_place place;
		const char *func = places[i].func;
		const struct text text = { places[i].text, strlen(places[i].text) };

		CHECK(vmlinux_parse_place(text, &place) == (func != NULL));
		if (func)
			CHECK(text_equal(place.func, (struct text){ func, strlen(func) }) &&
			      place.offset == places[i].offset && place.size == places[i].size);
	}
}

TEST(the_build_id_is_found_among_notes)
{
	static const unsigned char notes[] = {
		/* 5 bytes of a name, 2 of another note */
		5, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 'L', 'i', 'n', 'u', 'x',  0,    0,    0,
		9, 9, 0, 0, /**/
		4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0,   0xab, 0xcd, 0xef, 0
	};
	struct vmlinux_id id = vmlinux_parse_notes(notes, sizeof(notes));

	CHECK(id.len == 3 && !memcmp(id.bytes, "\xab\xcd\xef", 3));
	/* wherever it is cut, nothing behind it is read */
	for (size_t len = 0; len < sizeof(notes) - 1; len++) {
		unsigned char *copy = malloc(len ? len : 1);

		CHECK(copy);
		memcpy(copy, notes, len);
		CHECK(!vmlinux_parse_notes(copy, len).len);
		free(copy);
	}
}

/* ---- the image ---- */

/* addr2line has another /proc/self */
static const char *self_path(void)
{
	static char path[PATH_MAX];
	ssize_t len = readlink(SELF, path, sizeof(path) - 1);

	CHECK(len > 0);
	path[len] = 0;
	return path;
}

static struct vmlinux *open_self(void)
{
	struct vmlinux *vm;
	int err = vmlinux_open(&vm, SELF);

	if (err == -ENODATA)
		SKIP("this program was built without -g");
	CHECK(!err);
	return vm;
}

static int find(const struct vmlinux *vm, const char *text, uint64_t *addr)
{
	struct vmlinux_place place;

	CHECK(vmlinux_parse_place((struct text){ text, strlen(text) }, &place));
	return vmlinux_find(vm, &place, addr);
}

TEST(a_function_of_another_size_is_another_kernels)
{
	struct vmlinux *vm = open_self();
	uint64_t entry;
	uint64_t addr;

	CHECK(!find(vm, "start_kernel+0x0", &entry) && entry);
	CHECK(!find(vm, "start_kernel+0x1/0x60", &addr) && addr == entry + 1);
	CHECK(find(vm, "start_kernel+0x0/0x1", &addr) == -EMSGSIZE);
	CHECK(find(vm, "start_kernel+0x0/0x100000", &addr) == -EMSGSIZE);
	CHECK(find(vm, "start_kernel+0xfff", &addr) == -ENOENT);
	CHECK(find(vm, "no_such_function+0x0/0x10", &addr) == -ENOENT);
	vmlinux_free(vm);
}

TEST(what_is_no_image_with_debug_info_is_refused)
{
	struct vmlinux *vm;
	FILE *file;

	CHECK(vmlinux_open(&vm, "/no/such/file") == -ENOENT);
	CHECK(vmlinux_open(&vm, "/dev/null") == -ENODATA);
	CHECK(vmlinux_open(&vm, "/") < 0);
	new_dir();
	file = fopen(file_path, "w");
	CHECK(file && fputs("\177ELF\2\1\1 and no more", file) >= 0 && !fclose(file));
	CHECK(vmlinux_open(&vm, file_path) == -ENODATA);
	remove_dir();
}

/* Whatever is changed or missing in an image, nothing outside it is read. */
TEST(a_damaged_image_does_no_harm)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	static unsigned char bytes[1 << 22];
	FILE *file = fopen(SELF, "r");
	const size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	uint32_t seed = 1;

	CHECK(file && size > 4096 && !fclose(file));
	if (size == sizeof(bytes))
		SKIP("this program is too large");
	new_dir();
	for (int i = 0; i < 400; i++) {
		Elf64_Ehdr head;
		unsigned char *at;
		unsigned char old;
		struct vmlinux *vm;
		uint64_t addr;
		size_t end;

		seed = seed * 1664525 + 1013904223;
		memcpy(&head, bytes, sizeof(head));
		/* the head, the sections' heads, or cut anywhere */
		end = i % 8 ? size : seed % size;
		at = i % 4 ? bytes + head.e_shoff + (seed >> 8) % (size - head.e_shoff)
			   : bytes + 4 + (seed >> 8) % (sizeof(head) - 4);
		old = *at;
		*at = values[(seed >> 4) % sizeof(values)];
		file = fopen(file_path, "w");
		CHECK(file && fwrite(bytes, 1, end, file) == end && !fclose(file));
		*at = old;
		if (vmlinux_open(&vm, file_path))
			continue;
		find(vm, "start_kernel+0x0", &addr);
		find(vm, "no_such_function+0x0/0x10", &addr);
		vmlinux_free(vm);
	}
	remove_dir();
}

static void link_self(const char *root, const char *path, bool makes)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *at = whole + strlen(root) + 1; makes && (at = strchr(at, '/')) != NULL; at++) {
		*at = 0;
		mkdir(whole, 0755);
		*at = '/';
	}
	CHECK(makes ? !symlink(self_path(), whole) : !unlink(whole));
	for (char *at; !makes && (at = strrchr(whole, '/')) - whole > (ptrdiff_t)strlen(root);) {
		*at = 0;
		CHECK(!rmdir(whole));
	}
}

TEST(the_image_is_searched_by_release_and_build_id)
{
	static const char *const places_of[] = { "/usr/lib/debug/boot/vmlinux-6.1.0-x",
						 "/usr/lib/debug/lib/modules/6.1.0-x/vmlinux",
						 "/lib/modules/6.1.0-x/build/vmlinux" };
	struct vmlinux *vm = open_self();
	const struct vmlinux_id own = vmlinux_id(vm);
	const struct vmlinux_id none = { 0 };
	struct vmlinux_id other = own;
	struct strbuf looked = { 0 };
	char path[PATH_MAX];
	struct vmlinux *got;

	vmlinux_free(vm);
	new_dir();
	for (size_t i = 0; i < sizeof(places_of) / sizeof(places_of[0]); i++) {
		link_self(scratch_dir, places_of[i], true);
		CHECK(!vmlinux_locate(&got, scratch_dir, "6.1.0-x", &none, path, &looked));
		vmlinux_free(got);
		CHECK(!strncmp(path, scratch_dir, strlen(scratch_dir)));
		CHECK_STR(path + strlen(scratch_dir), places_of[i]);
		strbuf_reset(&looked);
		CHECK(vmlinux_locate(&got, scratch_dir, "6.1.0-y", &none, path, &looked) ==
		      -ENOENT);
		CHECK(memmem(looked.ptr, looked.len, "modules/6.1.0-y/build/vmlinux", 29));
		if (own.len) {
			other.bytes[0] ^= 1;
			CHECK(vmlinux_locate(&got, scratch_dir, "6.1.0-x", &other, path, &looked) ==
			      -ENOENT);
			other.bytes[0] ^= 1;
		}
		link_self(scratch_dir, places_of[i], false);
	}
	CHECK(vmlinux_locate(&got, "", "../x", &none, path, &looked) == -ENOENT);
	strbuf_release(&looked);
	remove_dir();
}

/* ---- addr2line ---- */

/* A program of that name that stands before all others in PATH. */
static void fake(const char *script)
{
	static const char *path;
	char with_fake[8192];
	FILE *file;

	path = path ? path : strdup(getenv("PATH"));
	new_dir();
	snprintf(file_path, sizeof(file_path), "%s/llvm-addr2line", scratch_dir);
	file = fopen(file_path, "w");
	CHECK(file && fprintf(file, "#!/bin/sh\n%s\n", script) > 0 && !fclose(file));
	CHECK(!chmod(file_path, 0755));
	snprintf(with_fake, sizeof(with_fake), "%s:%s", scratch_dir, path);
	setenv("PATH", with_fake, 1);
}

static int ask(struct addr2line *al, unsigned int timeout_ms, char *line, size_t size)
{
	CHECK(!addr2line_fork(al, -1));
	CHECK(!addr2line_open(al, "/a file"));
	return addr2line_ask(al, 0x12ab, timeout_ms, line, size);
}

TEST(addr2line_is_asked_line_by_line)
{
	struct addr2line al;
	char line[32];

	fake("while read -r addr; do echo \"$1$2 $addr\"; done");
	CHECK(!addr2line_find());
	CHECK(!ask(&al, 20000, line, sizeof(line)));
	CHECK_STR(line, "-e/a file 0x12ab");
	CHECK(!addr2line_ask(&al, UINT64_MAX, 20000, line, 12));
	CHECK_STR(line, "-e/a file 0");
	CHECK(!addr2line_ask(&al, 7, 20000, line, sizeof(line)));
	CHECK_STR(line, "-e/a file 0x7");
	addr2line_end(&al);
	remove_dir();
}

TEST(addr2line_that_ends_or_is_silent_keeps_nobody)
{
	struct timespec before;
	struct timespec after;
	struct addr2line al;
	char line[32];

	fake("read -r addr; printf half; exit 3");
	CHECK(ask(&al, 20000, line, sizeof(line)) == -EPIPE);
	CHECK(addr2line_ask(&al, 1, 20000, line, sizeof(line)) == -EPIPE);
	addr2line_end(&al);
	remove_dir();
	fake("printf no-end; exec sleep 100");
	CHECK(ask(&al, 100, line, sizeof(line)) == -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &before);
	addr2line_end(&al);
	clock_gettime(CLOCK_MONOTONIC, &after);
	CHECK(after.tv_sec - before.tv_sec < 20);
	remove_dir();
}

/* What it prints is no answer, or more than one: nothing of it is taken for the next. */
TEST(addr2line_that_prints_too_much_keeps_nobody)
{
	struct addr2line al;
	char line[32];

	fake("exec cat /dev/zero");
	CHECK(ask(&al, 300, line, sizeof(line)) == -ETIMEDOUT);
	addr2line_end(&al);
	remove_dir();
	fake("while read -r addr; do printf 'a\\nb.c:23\\n'; done");
	CHECK(ask(&al, 20000, line, sizeof(line)) == -EPROTO);
	addr2line_end(&al);
	remove_dir();
}

/* Nobody opened anything: it ends with us, or when told. */
TEST(addr2line_without_a_file_ends)
{
	struct addr2line al;

	CHECK(!addr2line_fork(&al, -1));
	addr2line_end(&al);
	CHECK(!al.pid);
}

/* ---- all of it ---- */

static void check_line(struct text line, const char *want)
{
	char got[600];

	snprintf(got, sizeof(got), "%.*s", (int)line.len, line.ptr ? line.ptr : "");
	CHECK_STR(got, want);
}

static struct srcline *of_self(void)
{
	struct srcline *sl;

	vmlinux_free(open_self());
	CHECK(!srcline_new(&sl, self_path()));
	return sl;
}

static struct text place_of(const char *text)
{
	return (struct text){ text, strlen(text) };
}

TEST(lines_are_below_the_kernels_directory)
{
	struct srcline *sl;

	if (addr2line_find())
		SKIP("no addr2line");
	sl = of_self();
	check_line(srcline_return(sl, place_of("tcp_known+0x1")), ""); /* of which kernel? */
	srcline_of(sl, "6.1.0-x");
	check_line(srcline_entry(sl, "tcp_known"), "net/ipv4/known.c:23");
	check_line(srcline_entry(sl, "tcp_known"), "net/ipv4/known.c:23");
	/* a return right behind the entry is from the entry's own line */
	check_line(srcline_return(sl, place_of("tcp_known+0x1")), "net/ipv4/known.c:23");
	check_line(srcline_return(sl, place_of("tcp_elsewhere+0x1")), "/else?where/?b?.c:7");
	check_line(srcline_return(sl, place_of("tcp_known+0x1/0x20 [veth]")), "");
	check_line(srcline_return(sl, place_of("bpf_trampoline")), "");
	check_line(srcline_return(sl, place_of("nobody+0x1/0x20")), "");
	srcline_free(sl);
}

TEST(an_image_of_another_kernel_tells_nothing_more)
{
	struct srcline *sl;

	if (addr2line_find())
		SKIP("no addr2line");
	quiet();
	sl = of_self();
	srcline_of(sl, "6.1.0-x");
	check_line(srcline_return(sl, place_of("tcp_known+0x1/0x2")), "");
	check_line(srcline_return(sl, place_of("start_kernel+0x1")), "");
	srcline_free(sl);
	sl = of_self();
	srcline_running(sl); /* which this program is not */
	check_line(srcline_entry(sl, "tcp_known"),
		   vmlinux_running_id().len ? "" : "net/ipv4/known.c:23");
	srcline_free(sl);
}

TEST(an_addr2line_that_fails_costs_lines_and_no_more)
{
	struct srcline *sl;

	quiet();
	fake("exit 1");
	sl = of_self();
	srcline_of(sl, "6.1.0-x");
	check_line(srcline_entry(sl, "tcp_known"), "");
	srcline_free(sl);
	remove_dir();
	/* no line, and lines that are none */
	fake("while read -r addr; do echo '??:0'; done");
	sl = of_self();
	srcline_of(sl, "6.1.0-x");
	check_line(srcline_entry(sl, "tcp_known"), "");
	srcline_free(sl);
	remove_dir();
}

TEST(without_source_nothing_is_asked)
{
	srcline_running(NULL);
	srcline_of(NULL, "6.1.0-x");
	check_line(srcline_entry(NULL, "tcp_known"), "");
	check_line(srcline_return(NULL, place_of("tcp_known+0x1")), "");
	srcline_free(NULL);
}

/* ---- the kernel; nothing may follow it ---- */

#define KERNEL static __attribute__((used, noinline)) int
static volatile int some;

/* each of them is one line */
/* clang-format off */
#line 4 "/build/linux/init/main.c"
KERNEL start_kernel(void) { return some + 1; }
#line 23 "/build/linux/./net/ipv4/known.c"
KERNEL tcp_known(void) { return some + 2; }
#line 7 "/else where/(b).c"
KERNEL tcp_elsewhere(void) { return some + 3; }
