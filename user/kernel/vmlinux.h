#ifndef NFG_KERNEL_VMLINUX_H
#define NFG_KERNEL_VMLINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/text.h"

/* The symbols of an uncompressed kernel image with debug info, by name. */
struct vmlinux;

/* A place in the kernel as kallsyms and stacks write it: "tcp_v4_connect+0x1f5/0x4a0". */
struct vmlinux_place {
	struct text func;
	uint64_t offset;
	uint64_t size; /* of the function, to the next symbol; 0: not known */
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
	size_t len; /* 0: not known */
};

/* vmlinux_parse_notes - the build id in ELF notes of the host's byte order, such as /sys/kernel/notes. */
struct vmlinux_id vmlinux_parse_notes(const void *notes, size_t len);

/* vmlinux_running_id - the running kernel's build id. */
struct vmlinux_id vmlinux_running_id(void);

/*
 * vmlinux_open - Return: 0; -ENODATA: not an ELF file with symbols and DWARF (.debug_line); or another -errno. Caller
 * frees with vmlinux_free.
 */
int vmlinux_open(struct vmlinux **out, const char *path);
void vmlinux_free(struct vmlinux *vm);

/* vmlinux_fd - the image's file; borrowed. */
int vmlinux_fd(const struct vmlinux *vm);

/* vmlinux_id - the image's build id. */
struct vmlinux_id vmlinux_id(const struct vmlinux *vm);

/* vmlinux_may_be - whether it may be the image of the kernel with build id @id; either id may be unknown. */
bool vmlinux_may_be(const struct vmlinux *vm, const struct vmlinux_id *id);

/*
 * vmlinux_find - the address of @place in the image; a kernel with KASLR has it elsewhere.
 *
 * Among functions of the same name it takes the one of the place's size, give or take padding.
 * Return: 0; -ENOENT: no such function, or several candidates; -EMSGSIZE: it is larger or much smaller in the image,
 * so this is not the image of that kernel.
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

#endif
