/* Source lines of places in the kernel: this program is the vmlinux, and its functions at the end of this file are known. */
#include "kernel/srcline.h"

#include <elf.h>
#include <limits.h>
#include <time.h>

#include "harness.h"
#include "scratch.h"

#define SELF "/proc/self/exe"

/* ---- texts ---- */

static const struct {
	const char *text;
	const char *func;
	uint64_t offset;
	uint64_t size;
} places[] = {
	{ "tcp_v4_connect+0x1f5/0x4a0", "tcp_v4_connect", 0x1f5, 0x4a0 },
	{ "f.constprop.0+0x0/0x1", "f.constprop.0", 0, 1 },
	{ "f+0x1", "f", 1, 0 },
	{ "f+0xffffffffffffffff/0xffffffffffffffff", "f", UINT64_MAX, UINT64_MAX },
};

TEST(a_place_is_a_function_an_offset_and_a_size)
{
	struct vmlinux_place place;

	EACH(p, places) {
		in_case("'%s'", p->text);
		CHECK(vmlinux_parse_place(text_from(p->text), &place));
		CHECK_TEXT(place.func, p->func);
		CHECK(place.offset == p->offset && place.size == p->size);
	}
	EACH_PART(none, "f+0x10000000000000000/0x1; veth_xmit+0x4b/0x4f [veth]; bpf_trampoline; ?; "
			"; +0x1/0x2; f+; f+0x; f+0x1/; f+0x1/0x; f+0x1/0x2 ; f+1/2")
		CHECK(!vmlinux_parse_place(text_from(none), &place));
}

TEST(the_build_id_is_found_among_notes)
{
	static const unsigned char notes[] = {
		/* 5 bytes of a name, 2 of another note */
		5, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 'L', 'i', 'n', 'u', 'x',  0,    0,    0,
		9, 9, 0, 0, /**/
		4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0,   0xab, 0xcd, 0xef, 0
	};
	struct vmlinux_id id = vmlinux_parse_notes(notes, sizeof(notes), 4);

	CHECK(id.len == 3 && !memcmp(id.bytes, "\xab\xcd\xef", 3));
	/* wherever it is cut, nothing behind it is read */
	for (size_t len = 0; len < sizeof(notes) - 1; len++) {
		unsigned char *copy = malloc(len ? len : 1);

		CHECK(copy);
		memcpy(copy, notes, len);
		CHECK(!vmlinux_parse_notes(copy, len, 4).len);
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

	CHECK(vmlinux_parse_place(text_from(text), &place));
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

	CHECK(vmlinux_open(&vm, "/no/such/file") == -ENOENT);
	CHECK(vmlinux_open(&vm, "/dev/null") == -ENODATA && vmlinux_open(&vm, "/") < 0);
	CHECK(vmlinux_open(&vm, temp_file("\177ELF\2\1\1 and no more", 19)) == -ENODATA);
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
	for (size_t i = 0; i < CNT_OF(places_of); i++) {
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

	path = path ? path : strdup(getenv("PATH"));
	new_dir();
	snprintf(file_path, sizeof(file_path), "%s/llvm-addr2line", scratch_dir);
	snprintf(with_fake, sizeof(with_fake), "#!/bin/sh\n%s\n", script);
	file_put(file_path, with_fake);
	CHECK(!chmod(file_path, 0755));
	snprintf(with_fake, sizeof(with_fake), "%s:%s", scratch_dir, path);
	setenv("PATH", with_fake, 1);
}

static int ask(struct helper *al, unsigned int timeout_ms, char *line, size_t size)
{
	CHECK(!addr2line_fork(al, -1) && !addr2line_open(al, "/a file"));
	return addr2line_ask(al, 0x12ab, timeout_ms, line, size);
}

TEST(addr2line_is_asked_line_by_line)
{
	struct helper al;
	char line[32];

	fake("while read -r addr; do echo \"$1$2 $addr\"; done");
	CHECK(!addr2line_find() && !ask(&al, 20000, line, sizeof(line)));
	CHECK_STR(line, "-e/a file 0x12ab");
	CHECK(!addr2line_ask(&al, UINT64_MAX, 20000, line, 12));
	CHECK_STR(line, "-e/a file 0");
	CHECK(!addr2line_ask(&al, 7, 20000, line, sizeof(line)));
	CHECK_STR(line, "-e/a file 0x7");
	helper_end(&al);
	remove_dir();
}

/* What comes of asking a program that is no addr2line. */
static void check_asked(const char *script, unsigned int timeout_ms, int want)
{
	struct helper al;
	char line[32];

	fake(script);
	CHECK(ask(&al, timeout_ms, line, sizeof(line)) == want);
	CHECK(want != -EPIPE || addr2line_ask(&al, 1, timeout_ms, line, sizeof(line)) == want);
	helper_end(&al);
	remove_dir();
}

TEST(addr2line_that_ends_or_is_silent_keeps_nobody)
{
	time_t begun = time(NULL);

	check_asked("read -r addr; printf half; exit 3", 20000, -EPIPE);
	check_asked("printf no-end; exec sleep 100", 100, -ETIMEDOUT);
	CHECK(time(NULL) - begun < 20);
}

/* What it prints is no answer, or more than one: nothing of it is taken for the next. */
TEST_ONE(addr2line_that_prints_too_much_keeps_nobody,
	 check_asked("exec cat /dev/zero", 300, -ETIMEDOUT),
	 check_asked("while read -r addr; do printf 'a\\nb.c:23\\n'; done", 20000, -EPROTO));

/* Nobody opened anything: it ends with us, or when told. */
TEST(addr2line_without_a_file_ends)
{
	struct helper al;

	CHECK(!addr2line_fork(&al, -1));
	helper_end(&al);
	CHECK(!al.pid);
}

/* ---- all of it ---- */

static struct srcline *of_self(void)
{
	struct srcline *sl;

	vmlinux_free(open_self());
	CHECK(!srcline_new(&sl, self_path()));
	return sl;
}

TEST(lines_are_below_the_kernels_directory)
{
	struct srcline *sl;

	if (addr2line_find())
		SKIP("no addr2line");
	sl = of_self();
	CHECK_TEXT(srcline_return(sl, text_from("tcp_known+0x1")), ""); /* of which kernel? */
	srcline_of(sl, "6.1.0-x");
	CHECK_TEXT(srcline_entry(sl, "tcp_known"), "net/ipv4/known.c:23");
	CHECK_TEXT(srcline_entry(sl, "tcp_known"), "net/ipv4/known.c:23");
	/* a return right behind the entry is from the entry's own line */
	CHECK_TEXT(srcline_return(sl, text_from("tcp_known+0x1")), "net/ipv4/known.c:23");
	CHECK_TEXT(srcline_return(sl, text_from("tcp_elsewhere+0x1")), "/else?where/?b?.c:7");
	CHECK_TEXT(srcline_return(sl, text_from("tcp_known+0x1/0x20 [veth]")), "");
	CHECK_TEXT(srcline_return(sl, text_from("bpf_trampoline")), "");
	CHECK_TEXT(srcline_return(sl, text_from("nobody+0x1/0x20")), "");
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
	CHECK_TEXT(srcline_return(sl, text_from("tcp_known+0x1/0x2")), "");
	CHECK_TEXT(srcline_return(sl, text_from("start_kernel+0x1")), "");
	srcline_free(sl);
	sl = of_self();
	srcline_running(sl); /* which this program is not */
	CHECK_TEXT(srcline_entry(sl, "tcp_known"),
		   vmlinux_running_id().len ? "" : "net/ipv4/known.c:23");
	srcline_free(sl);
}

/* The second prints no line, and lines that are none. */
TEST(an_addr2line_that_fails_costs_lines_and_no_more)
{
	static const char *const scripts[] = { "exit 1",
					       "while read -r addr; do echo '??:0'; done" };

	quiet();
	EACH(script, scripts) {
		struct srcline *sl;

		fake(*script);
		sl = of_self();
		srcline_of(sl, "6.1.0-x");
		CHECK_TEXT(srcline_entry(sl, "tcp_known"), "");
		srcline_free(sl);
		remove_dir();
	}
}

TEST(without_source_nothing_is_asked)
{
	srcline_running(NULL);
	srcline_of(NULL, "6.1.0-x");
	CHECK_TEXT(srcline_entry(NULL, "tcp_known"), "");
	CHECK_TEXT(srcline_return(NULL, text_from("tcp_known+0x1")), "");
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
