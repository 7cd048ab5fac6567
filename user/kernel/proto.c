/* Prototypes from BTF. */
#include "kernel/proto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "kernel/prototab.h"

#define NO_WIDTH 8 /* bytes of a kind that has none, and of an address */

/* A name of BTF's, or none when it is not one. */
static struct text name_at(const struct btf *btf, uint32_t offset)
{
	const char *str = btf__name_by_offset(btf, offset);
	struct text name = { str, str ? strlen(str) : 0 };

	return prototab_is_name(name) ? name : (struct text){ "", 0 };
}

/* ---- enums ---- */

/*
 * Kept in order as they come, which they nearly always do already. Of two names for one value the
 * first stays, as the kernel prints it.
 */
static void put_enumerator(struct proto_enum *en, uint64_t value, struct text name)
{
	uint32_t at = en->cnt;

	while (at && en->enumerators[at - 1].value > value)
		at--;
	if (at && en->enumerators[at - 1].value == value)
		return;
	memmove(&en->enumerators[at + 1], &en->enumerators[at],
		(en->cnt - at) * sizeof(*en->enumerators));
	en->enumerators[at] = (struct enumerator){ value, name };
	en->cnt++;
}

static uint64_t enumerator_value(const struct btf_type *type, uint32_t idx)
{
	if (btf_is_enum64(type))
		return btf_enum64_value(btf_enum64(type) + idx);
	return (uint32_t)btf_enum(type)[idx].val;
}

static int enum_add(struct proto_table *table, const struct btf *btf, const struct btf_type *type)
{
	uint32_t cnt = btf_vlen(type);
	struct proto_enum *en = prototab_enum_begin(table, cnt);
	int err = en ? 0 : -ENOMEM;

	if (err)
		return err;
	en->key = type;
	en->bytes = (uint8_t)type->size;
	en->is_signed = btf_kflag(type);
	for (uint32_t i = 0; i < cnt && !err; i++) {
		uint32_t name_off = btf_is_enum64(type) ? btf_enum64(type)[i].name_off
							: btf_enum(type)[i].name_off;
		struct text name = name_at(btf, name_off);

		if (!name.len)
			continue;
		err = prototab_keep(table, name, &name);
		if (!err)
			put_enumerator(en, prototab_cut(enumerator_value(type, i), en->bytes),
				       name);
	}
	if (err)
		free(en->enumerators);
	else
		prototab_enum_end(table);
	return err;
}

/* Its number, added when it is new; 0 when the table is full. */
static int enum_id(struct proto_table *table, const struct btf *btf, const struct btf_type *type,
		   uint16_t *id)
{
	uint32_t place = 0;
	int err = 0;

	*id = 0;
	while (place < table->enum_cnt && table->enums[place].key != type)
		place++;
	if (place == table->enum_cnt) {
		if (table->enum_cnt >= PROTOTAB_ENUM_MAX ||
		    PROTOTAB_ENUMERATOR_MAX - table->enumerator_cnt < btf_vlen(type))
			return 0;
		err = enum_add(table, btf, type);
	}
	if (!err)
		*id = (uint16_t)(place + 1);
	return err;
}

/* ---- types ---- */

static int type_read(struct proto_table *table, const struct btf *btf, uint32_t type_id,
		     struct proto_type *out)
{
	int id = btf__resolve_type(btf, type_id);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	*out = (struct proto_type){ .kind = PROTO_OTHER, .bytes = NO_WIDTH };
	if (!type)
		return 0;
	if (btf_is_ptr(type)) {
		out->kind = PROTO_POINTER;
		return 0;
	}
	if ((!btf_is_int(type) && !btf_is_any_enum(type)) || !prototab_has_width(type->size))
		return 0;
	out->bytes = (uint8_t)type->size;
	if (btf_is_any_enum(type)) {
		out->kind = PROTO_ENUM;
		return enum_id(table, btf, type, &out->enum_id);
	}
	if (btf_int_encoding(type) & BTF_INT_BOOL)
		out->kind = PROTO_BOOL;
	else
		out->kind = btf_int_encoding(type) & BTF_INT_SIGNED ? PROTO_SIGNED : PROTO_UNSIGNED;
	return 0;
}

static int args_read(struct proto_table *table, const struct btf *btf, const struct btf_type *type,
		     struct proto *proto)
{
	const struct btf_param *params = btf_params(type);
	uint32_t cnt = btf_vlen(type) < PROTO_ARG_MAX ? btf_vlen(type) : PROTO_ARG_MAX;
	int err = 0;

	for (uint32_t i = 0; i < cnt && !err; i++) {
		struct proto_arg *arg = &proto->args[i];

		err = type_read(table, btf, params[i].type, &arg->type);
		if (!err)
			err = prototab_keep(table, name_at(btf, params[i].name_off), &arg->name);
	}
	proto->arg_cnt = (uint8_t)cnt;
	return err;
}

int proto_table_add(struct proto_table *table, const struct kbtf *kb, const struct kbtf_func *func)
{
	const struct btf *btf = NULL;
	const struct btf_type *type = func ? kbtf_proto(kb, func, &btf) : NULL;
	struct proto proto = { .ret = { .kind = PROTO_VOID, .bytes = NO_WIDTH } };
	int err = 0;

	if (type && type->type)
		err = type_read(table, btf, type->type, &proto.ret);
	if (type && !err)
		err = args_read(table, btf, type, &proto);
	return err ? err : prototab_add(table, &proto);
}
