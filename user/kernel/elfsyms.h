#ifndef NFG_KERNEL_ELFSYMS_H
#define NFG_KERNEL_ELFSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * The functions of a program's or a library's file, by .symtab and .dynsym. The file is another user's: every number in
 * it is checked, and what is read of it is limited, in bytes and in time.
 */
struct elfsyms;

#define ELFSYM_NAME_MAX 1023u /* bytes; longer names are cut */

struct elfsym {
	struct text name;
	uint64_t offset;     /* of the place asked for */
	uint64_t size_bytes; /* of the function; 0: unknown */
};

/*
 * elfsyms_new - read the file @fd, which stays open and the caller's.
 *
 * Return: 0; -ENOEXEC: not an ELF file for a process; -ENOMEM. Caller frees with elfsyms_free.
 */
int elfsyms_new(struct elfsyms **out, int fd);

/* elfsyms_new_memory - the same for an image in memory, such as the vdso. It is not kept. */
int elfsyms_new_memory(struct elfsyms **out, const void *image, size_t bytes);
void elfsyms_free(struct elfsyms *es);

/* elfsyms_bytes - the memory that it takes. */
size_t elfsyms_bytes(const struct elfsyms *es);

/*
 * elfsyms_find - the function at @offset of the file, where its segments are mapped from.
 *
 * A symbol without a size reaches to the next one, or to the end of its section. @is_return: a call returns there,
 * perhaps as the last thing that its function does.
 * Return: whether there is one; *sym is valid until elfsyms_free.
 */
bool elfsyms_find(const struct elfsyms *es, uint64_t offset, bool is_return, struct elfsym *sym);

/* elfsyms_build_id - in hexadecimal; len 0: it has none. */
struct text elfsyms_build_id(const struct elfsyms *es);

#endif
