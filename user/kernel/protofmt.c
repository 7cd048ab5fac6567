/* Values as text. */
#include "kernel/proto.h"

#include <string.h>

#include "base/digits.h"
#include "kernel/prototab.h"

#define ERRNO_MAX 4095 /* MAX_ERRNO */

static bool is_errno(int64_t value)
{
	return value < 0 && value >= -ERRNO_MAX;
}

static bool is_signed(const struct proto_table *table, const struct proto_type *type)
{
	const struct proto_enum *en = prototab_enum(table, type);

	return type->kind == PROTO_SIGNED || (en && en->is_signed);
}

/* What is left of a register, by its type: zeros or copies of the sign above. */
static int64_t value_of(const struct proto_table *table, const struct proto_type *type,
			uint64_t value)
{
	unsigned int shift = 64 - 8u * type->bytes;

	if (is_signed(table, type))
		return (int64_t)(value << shift) >> shift;
	return (int64_t)prototab_cut(value, type->bytes);
}

static void put_i64(struct strbuf *out, int64_t value)
{
	if (value < 0)
		strbuf_char(out, '-');
	strbuf_u64(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Multiplications mix upwards, shifts downwards; the key comes in twice, so that no half of it cancels out. */
static uint32_t pointer_hash(uint64_t value, uint64_t key)
{
	value ^= key;
	value = (value ^ value >> 33) * 0xff51afd7ed558ccdu;
	value ^= key << 32 | key >> 32;
	value = (value ^ value >> 29) * 0xc4ceb9fe1a85ec53u;
	value = (value ^ value >> 32) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(value >> 32);
}

static void put_pointer(struct strbuf *out, uint64_t value, const struct proto_style *style)
{
	uint32_t hash;

	if (!style->hides_pointers || !value || is_errno((int64_t)value)) {
		strbuf_hex(out, value);
		return;
	}
	hash = pointer_hash(value, style->hash_key);
	strbuf_add(out, "0x", 2);
	for (int shift = 28; shift >= 0; shift -= 4)
		strbuf_char(out, digit_hex[hash >> shift & 15]);
}

/* The enumerator of that value, len 0 where there is none. */
static struct text enumerator_of(const struct proto_table *table, const struct proto_type *type,
				 uint64_t value)
{
	const struct proto_enum *en = prototab_enum(table, type);
	uint64_t wanted = prototab_cut(value, type->bytes);
	uint32_t low = 0;
	uint32_t high = en ? en->cnt : 0;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (en->enumerators[mid].value < wanted)
			low = mid + 1;
		else
			high = mid;
	}
	if (!en || low == en->cnt || en->enumerators[low].value != wanted)
		return (struct text){ 0 };
	return en->enumerators[low].name;
}

/* " [ENUMERATOR]", where there is one of that value. */
static void put_enumerator(struct strbuf *out, const struct proto_table *table,
			   const struct proto_type *type, uint64_t value)
{
	struct text name = enumerator_of(table, type, value);

	if (!name.len)
		return;
	strbuf_add(out, " [", 2);
	strbuf_add(out, name.ptr, name.len);
	strbuf_char(out, ']');
}

/* ---- arguments ---- */

static void put_arg(struct strbuf *out, const struct proto_table *table,
		    const struct proto_type *type, uint64_t value, const struct proto_style *style)
{
	switch (type->kind) {
	case PROTO_POINTER:
		put_pointer(out, value, style);
		break;
	case PROTO_SIGNED:
		put_i64(out, value_of(table, type, value));
		break;
	case PROTO_UNSIGNED:
	case PROTO_BOOL:
		strbuf_hex(out, prototab_cut(value, type->bytes));
		break;
	case PROTO_ENUM:
		if (is_signed(table, type))
			put_i64(out, value_of(table, type, value));
		else
			strbuf_u64(out, prototab_cut(value, type->bytes));
		put_enumerator(out, table, type, value);
		break;
	default:
		strbuf_char(out, '?');
		strbuf_hex(out, value);
	}
}

void proto_args(const struct proto_table *table, uint32_t func_id, const uint64_t *values,
		size_t cnt, const struct proto_style *style, struct strbuf *out)
{
	const struct proto *proto = proto_table_get(table, func_id);

	if (!proto || !style->has_args)
		return;
	for (size_t i = 0; i < proto->arg_cnt; i++) {
		const struct proto_arg *arg = &proto->args[i];

		if (i)
			strbuf_add(out, ", ", 2);
		if (i == cnt) {
			strbuf_add(out, "...", 3);
			return;
		}
		/* the kernel writes the sign also for a parameter that has no name */
		strbuf_add(out, arg->name.ptr, arg->name.len);
		strbuf_char(out, '=');
		put_arg(out, table, &arg->type, values[i], style);
	}
}

void proto_named_enum(const struct proto_table *table, uint32_t func_id, const char *name,
		      const uint64_t *values, size_t cnt, struct strbuf *out)
{
	const struct proto *proto = proto_table_get(table, func_id);

	for (size_t i = 0; proto && i < proto->arg_cnt && i < cnt; i++) {
		const struct proto_arg *arg = &proto->args[i];
		struct text value;

		if (arg->type.kind != PROTO_ENUM || arg->name.len != strlen(name) ||
		    memcmp(arg->name.ptr, name, arg->name.len) != 0)
			continue;
		value = enumerator_of(table, &arg->type, values[i]);
		if (!value.len)
			continue;
		strbuf_char(out, ' ');
		strbuf_str(out, name);
		strbuf_char(out, '=');
		strbuf_add(out, value.ptr, value.len);
	}
}

/* ---- the result ---- */

/* Whether print_graph_retval writes it in decimal; @error is what then. */
static bool is_error(const struct proto_table *table, const struct proto_type *type, uint64_t value,
		     int64_t *error)
{
	*error = value_of(table, type, value);
	if (is_errno(*error))
		return true;
	if (type->kind == PROTO_POINTER || is_signed(table, type) || *error >> 32)
		return false;
	/* an int that was made unsigned on its way, and grew */
	*error = (int32_t)*error;
	return is_errno(*error);
}

static void put_ret(struct strbuf *out, const struct proto_table *table,
		    const struct proto_type *type, uint64_t value, const struct proto_style *style)
{
	uint64_t cut = prototab_cut(value, type->bytes);
	int64_t error;

	if (type->kind == PROTO_BOOL && !style->is_ret_hex) {
		if (style->is_old_dialect)
			strbuf_hex(out, cut != 0);
		else
			strbuf_str(out, cut ? "true" : "false");
	} else if (!style->is_ret_hex && is_error(table, type, value, &error)) {
		put_i64(out, error);
	} else if (type->kind == PROTO_POINTER) {
		put_pointer(out, value, style);
	} else {
		strbuf_hex(out, cut);
	}
	if (type->kind == PROTO_ENUM && !style->is_ret_hex && !style->is_old_dialect)
		put_enumerator(out, table, type, value);
}

void proto_ret(const struct proto_table *table, uint32_t func_id, uint64_t value,
	       const struct proto_style *style, struct strbuf *out)
{
	const struct proto *proto = proto_table_get(table, func_id);

	if (!proto || proto->ret.kind == PROTO_VOID || !style->has_ret)
		return;
	strbuf_str(out, style->is_old_dialect ? "= " : "ret=");
	put_ret(out, table, &proto->ret, value, style);
}
