/* Where prototypes are kept: functions by id, enums, and a pool of names. */
#include "kernel/prototab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define BLOCK_BYTES 32768u

struct name_block {
	struct name_block *next;
	size_t used;
	char bytes[BLOCK_BYTES];
};

_Static_assert(PROTOTAB_NAME_MAX <= BLOCK_BYTES, "a block has room for any name");

int proto_table_new(struct proto_table **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void proto_table_free(struct proto_table *table)
{
	struct name_block *next;

	if (!table)
		return;
	prototab_shrink(table, 0, 0);
	for (struct name_block *block = table->names; block; block = next) {
		next = block->next;
		free(block);
	}
	free(table->protos);
	free(table->enums);
	free(table);
}

const struct proto *proto_table_get(const struct proto_table *table, uint32_t func_id)
{
	return func_id < table->cnt ? &table->protos[func_id] : NULL;
}

bool prototab_is_name(struct text name)
{
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] < 0x21 || name.ptr[i] > 0x7e)
			return false;
	}
	return name.len && name.len <= PROTOTAB_NAME_MAX;
}

int prototab_keep(struct proto_table *table, struct text name, struct text *out)
{
	struct name_block *block = table->names;

	*out = (struct text){ "", 0 };
	if (!name.len)
		return 0;
	if (!block || BLOCK_BYTES - block->used < name.len) {
		block = malloc(sizeof(*block));
		if (!block)
			return -ENOMEM;
		block->used = 0;
		block->next = table->names;
		table->names = block;
	}
	*out = (struct text){ block->bytes + block->used, name.len };
	memcpy(block->bytes + block->used, name.ptr, name.len);
	block->used += name.len;
	return 0;
}

struct proto_enum *prototab_enum_begin(struct proto_table *table, uint32_t cnt)
{
	struct proto_enum *en;

	if (VEC_RESERVE(table->enums, table->enum_cap, table->enum_cnt + 1u))
		return NULL;
	en = &table->enums[table->enum_cnt];
	*en = (struct proto_enum){ .enumerators = calloc(cnt ? cnt : 1, sizeof(*en->enumerators)) };
	return en->enumerators ? en : NULL;
}

void prototab_enum_end(struct proto_table *table)
{
	table->enumerator_cnt += table->enums[table->enum_cnt++].cnt;
}

const struct proto_enum *prototab_enum(const struct proto_table *table,
				       const struct proto_type *type)
{
	if (type->kind != PROTO_ENUM || !type->enum_id || type->enum_id > table->enum_cnt)
		return NULL;
	return &table->enums[type->enum_id - 1];
}

void proto_enumerators(const struct proto_table *table, const struct proto_type *type,
		       void (*visit)(void *ctx, struct text name), void *ctx)
{
	const struct proto_enum *en = prototab_enum(table, type);

	for (uint32_t i = 0; en && i < en->cnt; i++)
		visit(ctx, en->enumerators[i].name);
}

bool proto_enumerator(const struct proto_table *table, const struct proto_type *type,
		      struct text symbol, int64_t *value)
{
	const struct proto_enum *en = prototab_enum(table, type);

	for (uint32_t i = 0; en && i < en->cnt; i++) {
		if (!text_equal(symbol, en->enumerators[i].name))
			continue;
		*value = (int64_t)en->enumerators[i].value;
		if (en->is_signed && en->bytes == 4)
			*value = (int32_t)*value;
		return true;
	}
	return false;
}

int prototab_add(struct proto_table *table, const struct proto *proto)
{
	if (table->cnt >= NFG_FUNC_CNT)
		return -E2BIG;
	if (VEC_RESERVE(table->protos, table->cap, table->cnt + 1u))
		return -ENOMEM;
	table->protos[table->cnt++] = *proto;
	return 0;
}

void prototab_shrink(struct proto_table *table, uint32_t cnt, uint32_t enum_cnt)
{
	table->cnt = cnt;
	while (table->enum_cnt > enum_cnt) {
		const struct proto_enum *en = &table->enums[--table->enum_cnt];

		table->enumerator_cnt -= en->cnt;
		free(en->enumerators);
	}
}
