#ifndef NFG_KERNEL_SRCLINE_H
#define NFG_KERNEL_SRCLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/child.h"
#include "base/strbuf.h"

/*
 * Source lines of places in the kernel ("tcp_v4_connect+0x1f5/0x4a0"): the symbols of a vmlinux with debug info give
 * addresses, addr2line gives lines. If either is missing there are no lines, and one warning names it.
 */
struct srcline;

/*
 * srcline_new - start; forks, so call it before privileges are dropped.
 *
 * @path: the vmlinux; NULL: search for it once the kernel is known.
 * Return: 0; -ENOMEM; or another -errno after an error message: @path cannot be read or is not a vmlinux. Caller frees
 * with srcline_free.
 */
int srcline_new(struct srcline **out, const char *path);

/*
 * srcline_running - places are in the running kernel.
 * srcline_of - places are in a kernel @release, from a recording.
 *
 * Both search for that kernel's vmlinux unless @path was given, make addr2line read it, and warn on failure. NULL as
 * @sl: no effect.
 */
void srcline_running(struct srcline *sl);
void srcline_of(struct srcline *sl, const char *release);

/*
 * srcline_return - the line of the call that returns to @place: "net/ipv4/tcp_ipv4.c:320", below the kernel's
 * directory. srcline_entry - the line where the function @name begins.
 *
 * If addr2line takes more than 5 s, it is ended with a warning, which limits the delay of a trace.
 * Return: len 0: unknown. Borrowed until srcline_free. NULL as @sl: len 0.
 */
struct text srcline_return(struct srcline *sl, struct text place);
struct text srcline_entry(struct srcline *sl, const char *name);

/* srcline_free - NULL: no effect. */
void srcline_free(struct srcline *sl);

/* The symbols of an uncompressed kernel image with debug info, by name. */
struct vmlinux;

/* A place in the kernel as kallsyms and stacks write it: "tcp_v4_connect+0x1f5/0x4a0". */
struct vmlinux_place {
	struct text func;
	uint64_t offset;
	uint64_t size; /* of the function, up to the next symbol; 0: unknown */
};

/*
 * vmlinux_parse_place - parse @text. Return: whether it is a place in the kernel itself: not in a module ("[veth]"),
 * and not a name without an offset, such as a trampoline's.
 */
bool vmlinux_parse_place(struct text text, struct vmlinux_place *place);

/* The longest supported build id, bytes; the kernel's is a SHA-1. */
#define VMLINUX_ID_MAX 32

struct vmlinux_id {
	uint8_t bytes[VMLINUX_ID_MAX];
	size_t len; /* 0: unknown */
};

/*
 * vmlinux_parse_notes - the build id in ELF notes of the host's byte order, such as /sys/kernel/notes. @align_bytes: of
 * each note and its parts, 4 or 8. Return: len 0: none.
 */
struct vmlinux_id vmlinux_parse_notes(const void *notes, size_t len, size_t align_bytes);

/* vmlinux_running_id - the running kernel's build id. */
struct vmlinux_id vmlinux_running_id(void);

/*
 * vmlinux_open - Return: 0; -ENODATA: not an ELF file with symbols and DWARF (.debug_line); or another -errno. Caller
 * frees with vmlinux_free.
 */
int vmlinux_open(struct vmlinux **out, const char *path);
void vmlinux_free(struct vmlinux *vm);

/* vmlinux_id - the image's build id. */
struct vmlinux_id vmlinux_id(const struct vmlinux *vm);

/*
 * vmlinux_find - the address of @place in the image; a kernel with KASLR has another.
 *
 * Among functions of the same name it takes the one of the place's size, give or take padding.
 * Return: 0; -ENOENT: no such function, or several candidates; -EMSGSIZE: it is larger or much smaller in the image, so
 * this is not the image of that kernel.
 */
int vmlinux_find(const struct vmlinux *vm, const struct vmlinux_place *place, uint64_t *addr);

/*
 * vmlinux_locate - find the image of kernel @release where debug packages, debuginfod and builds put it.
 *
 * @root: prefix of absolute paths; "" except in tests. @id: of that kernel, if known: images with another id are
 * refused, and paths by build id are searched too. @looked: the paths tried, separated by ", ".
 * Return: 0 with *@out and @path (PATH_MAX bytes), or -ENOENT or -ENOMEM.
 */
int vmlinux_locate(struct vmlinux **out, const char *root, const char *release,
		   const struct vmlinux_id *id, char *path, struct strbuf *looked);

/* ---- addr2line in a separate process ---- */

/* addr2line_find - whether an addr2line is installed. Return: 0 or -ENOENT. */
int addr2line_find(void);

/* The path of the inherited file in that process (HELPER_FILE_FD). */
#define ADDR2LINE_INHERITED "/proc/self/fd/3"

/*
 * addr2line_fork - create a process that answers one address after the other, before privdrop forbids execve:
 * llvm-addr2line or, if that is not installed, the one from binutils. It has no capabilities, and waits for
 * addr2line_open.
 *
 * @fd: a file for it to inherit, needed if only capabilities give access to its directory; -1: none.
 * Return: 0 or -errno. Call helper_end in both cases.
 */
int addr2line_fork(struct helper *al, int fd);

/*
 * addr2line_open - let it read the object at @path. Return: 0 or -errno; an unusable file shows only in
 * addr2line_ask.
 */
int addr2line_open(struct helper *al, const char *path);

/*
 * addr2line_ask - the line for @addr, an address in the object: "net/socket.c:2104", "??:0".
 *
 * @line: room for @size bytes; a longer line is cut. Return: 0; -ETIMEDOUT: no whole line within @timeout_ms; -EPIPE:
 * the process has ended; -EPROTO: it printed more than a line; -EINTR: a signal that ends the trace arrived; or another
 * -errno. After an error it is unusable.
 */
int addr2line_ask(struct helper *al, uint64_t addr, unsigned int timeout_ms, char *line,
		  size_t size);

#endif
