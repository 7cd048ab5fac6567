#ifndef NFG_KERNEL_PROTOTAB_H
#define NFG_KERNEL_PROTOTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfg_abi.h"
#include "kernel/proto.h"

/* The inside of the table of prototypes. Private to user/kernel/. */

#define PROTOTAB_NAME_MAX       255 /* bytes */
#define PROTOTAB_ENUM_MAX       UINT16_MAX
#define PROTOTAB_ENUMERATOR_MAX (1u << 20) /* of all enums; a kernel has less than a tenth */

struct enumerator {
	uint64_t value; /* the low bytes of its enum's width; zeros above */
	struct text name;
};

struct proto_enum {
	const void *key; /* BTF type, to find it again; NULL: unpacked */
	uint8_t bytes;   /* 1, 2, 4 or 8 */
	bool is_signed;
	uint32_t cnt;
	struct enumerator *enumerators; /* by value, each value once */
};

struct name_block;

struct proto_table {
	struct proto *protos;
	uint32_t cnt;
	size_t cap;
	struct proto_enum *enums;
	uint32_t enum_cnt;
	size_t enum_cap;
	uint32_t enumerator_cnt; /* of all enums */
	struct name_block *names;
};

/* prototab_has_width - whether values can have @bytes bytes. */
static inline bool prototab_has_width(uint64_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* prototab_cut - the lowest @bytes of @value, zeros above. */
static inline uint64_t prototab_cut(uint64_t value, uint8_t bytes)
{
	unsigned int shift = 64 - 8u * bytes;

	return value << shift >> shift;
}

/* prototab_is_name - whether the table can hold the name: 1 to 255 bytes, all 0x21 to 0x7e. */
bool prototab_is_name(struct text name);

/* prototab_keep - copy @name for the life of the table. Return: 0 or -ENOMEM. */
int prototab_keep(struct proto_table *table, struct text name, struct text *out);

/*
 * prototab_enum_begin - a new enum with room for @cnt enumerators, which the caller fills in.
 *
 * It joins the table with prototab_enum_end.
 * Return: NULL when there is no memory. Borrowed; valid until the next one.
 */
struct proto_enum *prototab_enum_begin(struct proto_table *table, uint32_t cnt);
void prototab_enum_end(struct proto_table *table);

/* prototab_enum - the enum of a type; NULL: not known. */
const struct proto_enum *prototab_enum(const struct proto_table *table,
				       const struct proto_type *type);

/* prototab_add - add the next function; the table must own its names already. Return: 0 or -errno. */
int prototab_add(struct proto_table *table, const struct proto *proto);

/* prototab_shrink - forget all but the first @cnt functions and @enum_cnt enums. */
void prototab_shrink(struct proto_table *table, uint32_t cnt, uint32_t enum_cnt);

#endif
