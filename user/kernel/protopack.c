/* Prototypes as bytes of a recording, both ways. The bytes are described in include/recording.md. */
#include "kernel/prototab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct piece_head {
	uint32_t first_enum;
	uint32_t enum_cnt;
	uint32_t first_id;
	uint32_t cnt;
};

#define TYPE_BYTES_MAX 3 /* kind and width, and an enum's number */
#define ENUM_HEAD      4
#define FUNC_MAX \
	(TYPE_BYTES_MAX + 1 + PROTO_ARG_MAX * (TYPE_BYTES_MAX + 1 + (size_t)PROTOTAB_NAME_MAX))

_Static_assert(sizeof(struct piece_head) + FUNC_MAX <= PROTO_PIECE_MIN, "any function has room");
_Static_assert(PROTO_OTHER < 16, "four bits hold a kind");

/* ---- packing ---- */

struct packer {
	struct piece_head head;
	struct strbuf body;
	size_t max_bytes; /* of the body */
	struct strbuf out;
	int (*piece)(void *ctx, const void *bytes, size_t len);
	void *ctx;
};

/* Hand out the current piece and begin the next one. */
static int flush(struct packer *pk)
{
	int err;

	if (!pk->head.enum_cnt && !pk->head.cnt)
		return 0;
	strbuf_reset(&pk->out);
	strbuf_add(&pk->out, &pk->head, sizeof(pk->head));
	strbuf_add(&pk->out, pk->body.ptr, pk->body.len);
	if (!strbuf_ok(&pk->body) || !strbuf_ok(&pk->out))
		return -ENOMEM;
	err = pk->piece(pk->ctx, pk->out.ptr, pk->out.len);
	pk->head.first_enum += pk->head.enum_cnt;
	pk->head.first_id += pk->head.cnt;
	pk->head.enum_cnt = 0;
	pk->head.cnt = 0;
	strbuf_reset(&pk->body);
	return err;
}

static int make_room(struct packer *pk, size_t bytes)
{
	return pk->max_bytes - pk->body.len < bytes ? flush(pk) : 0;
}

static void put_u16(struct strbuf *out, uint16_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void put_value(struct strbuf *out, uint64_t value, uint8_t bytes)
{
	uint32_t four = (uint32_t)value;

	if (bytes == 1)
		strbuf_char(out, (char)value);
	else if (bytes == 2)
		put_u16(out, (uint16_t)value);
	else if (bytes == 4)
		strbuf_add(out, &four, sizeof(four));
	else
		strbuf_add(out, &value, sizeof(value));
}

static void put_name(struct strbuf *out, struct text name)
{
	strbuf_char(out, (char)name.len);
	strbuf_add(out, name.ptr, name.len);
}

/* How many enumerators fit in @max_bytes, and how many bytes they take. */
static uint32_t enum_fit(const struct proto_enum *en, size_t max_bytes, size_t *bytes)
{
	uint32_t cnt = 0;

	*bytes = ENUM_HEAD;
	for (; cnt < en->cnt; cnt++) {
		size_t more = (size_t)en->bytes + 1 + en->enumerators[cnt].name.len;

		if (max_bytes - *bytes < more)
			break;
		*bytes += more;
	}
	return cnt;
}

static int pack_enum(struct packer *pk, const struct proto_enum *en)
{
	size_t bytes;
	uint32_t cnt = enum_fit(en, pk->max_bytes, &bytes);
	int err = make_room(pk, bytes);

	if (err)
		return err;
	strbuf_char(&pk->body, (char)en->bytes);
	strbuf_char(&pk->body, (char)en->is_signed);
	put_u16(&pk->body, (uint16_t)cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		put_value(&pk->body, en->enumerators[i].value, en->bytes);
		put_name(&pk->body, en->enumerators[i].name);
	}
	pk->head.enum_cnt++;
	return 0;
}

static void put_type(struct strbuf *out, const struct proto_type *type)
{
	strbuf_char(out, (char)(type->kind | type->bytes << 4));
	if (type->kind == PROTO_ENUM)
		put_u16(out, type->enum_id);
}

static int pack_func(struct packer *pk, const struct proto *proto)
{
	int err = make_room(pk, FUNC_MAX);

	if (err)
		return err;
	put_type(&pk->body, &proto->ret);
	strbuf_char(&pk->body, (char)proto->arg_cnt);
	for (uint8_t i = 0; i < proto->arg_cnt; i++) {
		put_type(&pk->body, &proto->args[i].type);
		put_name(&pk->body, proto->args[i].name);
	}
	pk->head.cnt++;
	return 0;
}

int proto_table_pack(const struct proto_table *table, size_t max_bytes,
		     int (*piece)(void *ctx, const void *bytes, size_t len), void *ctx)
{
	struct packer pk = { .piece = piece, .ctx = ctx };
	int err = 0;

	if (max_bytes < PROTO_PIECE_MIN)
		return -EINVAL;
	pk.max_bytes = max_bytes - sizeof(pk.head);
	for (uint32_t i = 0; i < table->enum_cnt && !err; i++)
		err = pack_enum(&pk, &table->enums[i]);
	for (uint32_t i = 0; i < table->cnt && !err; i++)
		err = pack_func(&pk, &table->protos[i]);
	if (!err)
		err = flush(&pk);
	strbuf_release(&pk.body);
	strbuf_release(&pk.out);
	return err;
}

/* ---- unpacking: nothing is believed ---- */

struct cursor {
	const uint8_t *at;
	size_t left;
};

static bool take(struct cursor *c, void *out, size_t len)
{
	if (c->left < len)
		return false;
	memcpy(out, c->at, len);
	c->at += len;
	c->left -= len;
	return true;
}

static bool take_value(struct cursor *c, uint64_t *value, uint8_t bytes)
{
	uint8_t one = 0;
	uint16_t two = 0;
	uint32_t four = 0;
	bool is_there;

	if (bytes == 8)
		return take(c, value, sizeof(*value));
	if (bytes == 1)
		is_there = take(c, &one, sizeof(one));
	else if (bytes == 2)
		is_there = take(c, &two, sizeof(two));
	else
		is_there = take(c, &four, sizeof(four));
	*value = (uint64_t)one | two | four;
	return is_there;
}

/* A name may be missing, but not be none. */
static int take_name(struct cursor *c, struct proto_table *table, struct text *out)
{
	struct text name;
	uint8_t len;

	if (!take(c, &len, sizeof(len)) || c->left < len)
		return -EBADMSG;
	name = (struct text){ (const char *)c->at, len };
	if (len && !prototab_is_name(name))
		return -EBADMSG;
	c->at += len;
	c->left -= len;
	return prototab_keep(table, name, out);
}

static int take_enumerators(struct cursor *c, struct proto_table *table, struct proto_enum *en,
			    uint32_t cnt)
{
	for (; en->cnt < cnt; en->cnt++) {
		struct enumerator *item = &en->enumerators[en->cnt];
		int err;

		if (!take_value(c, &item->value, en->bytes) ||
		    (en->cnt && item->value <= item[-1].value))
			return -EBADMSG;
		err = take_name(c, table, &item->name);
		if (err || !item->name.len)
			return err ? err : -EBADMSG;
	}
	return 0;
}

static int unpack_enum(struct cursor *c, struct proto_table *table)
{
	struct proto_enum *en;
	uint8_t head[2];
	uint16_t cnt;
	int err;

	if (!take(c, head, sizeof(head)) || !take(c, &cnt, sizeof(cnt)) ||
	    !prototab_has_width(head[0]) || head[1] > 1 || c->left / (head[0] + 2u) < cnt ||
	    PROTOTAB_ENUMERATOR_MAX - table->enumerator_cnt < cnt)
		return -EBADMSG;
	en = prototab_enum_begin(table, cnt);
	if (!en)
		return -ENOMEM;
	en->bytes = head[0];
	en->is_signed = head[1];
	err = take_enumerators(c, table, en, cnt);
	if (err)
		free(en->enumerators);
	else
		prototab_enum_end(table);
	return err;
}

static bool take_type(struct cursor *c, const struct proto_table *table, struct proto_type *type)
{
	const struct proto_enum *en;
	uint8_t byte;

	if (!take(c, &byte, sizeof(byte)))
		return false;
	*type = (struct proto_type){ .kind = byte & 15, .bytes = byte >> 4 };
	if (type->kind > PROTO_OTHER || !prototab_has_width(type->bytes))
		return false;
	if (type->kind != PROTO_ENUM)
		return true;
	if (!take(c, &type->enum_id, sizeof(type->enum_id)))
		return false;
	en = prototab_enum(table, type);
	return en ? en->bytes == type->bytes : !type->enum_id;
}

static int unpack_func(struct cursor *c, struct proto_table *table)
{
	struct proto proto = { 0 };
	int err;

	if (!take_type(c, table, &proto.ret) || !take(c, &proto.arg_cnt, sizeof(proto.arg_cnt)) ||
	    proto.arg_cnt > PROTO_ARG_MAX)
		return -EBADMSG;
	for (uint8_t i = 0; i < proto.arg_cnt; i++) {
		struct proto_arg *arg = &proto.args[i];

		if (!take_type(c, table, &arg->type) || arg->type.kind == PROTO_VOID)
			return -EBADMSG;
		err = take_name(c, table, &arg->name);
		if (err)
			return err;
	}
	return prototab_add(table, &proto);
}

int proto_table_unpack(struct proto_table *table, const void *bytes, size_t len)
{
	struct cursor c = { bytes, len };
	uint32_t enum_cnt = table->enum_cnt;
	uint32_t cnt = table->cnt;
	struct piece_head head;
	int err = 0;

	if (!take(&c, &head, sizeof(head)) || head.first_enum != enum_cnt || head.first_id != cnt ||
	    head.enum_cnt > PROTOTAB_ENUM_MAX - enum_cnt || head.cnt > NFG_FUNC_CNT - cnt)
		return -EBADMSG;
	for (uint32_t i = 0; i < head.enum_cnt && !err; i++)
		err = unpack_enum(&c, table);
	for (uint32_t i = 0; i < head.cnt && !err; i++)
		err = unpack_func(&c, table);
	if (err)
		prototab_shrink(table, cnt, enum_cnt);
	return err;
}
