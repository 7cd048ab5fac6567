#include "kernel/proto.h"

#include <arpa/inet.h>
#include <bpf/btf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "kernel/enumprefix.h"
#include "kernel/bpfprog.h"

static void prototab_shrink(struct proto_table *table, uint32_t cnt, uint32_t enum_cnt);

/* ---- the table: functions by id, enums, and a pool of names ---- */

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

/* prototab_is_name - whether the table can hold the name: 1 to 255 bytes, each from 0x21 to 0x7e. */
static bool prototab_is_name(struct text name)
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
	struct proto_enum *en = &table->enums[table->enum_cnt];

	en->prefix = enumprefix_of(en);
	table->enumerator_cnt += table->enums[table->enum_cnt++].cnt;
}

static bool has_names(uint8_t kind)
{
	return kind == PROTO_ENUM || kind == PROTO_FLAGS;
}

/* prototab_enum - the enum of a type; NULL: unknown. */
static const struct proto_enum *prototab_enum(const struct proto_table *table,
					      const struct proto_type *type)
{
	if (!has_names(type->kind) || !type->enum_id || type->enum_id > table->enum_cnt)
		return NULL;
	return &table->enums[type->enum_id - 1];
}

/* The name without the prefix; len 0: it does not have it. */
static struct text enum_short_name(const struct proto_enum *en, uint32_t i)
{
	const struct text name = en->enumerators[i].name;
	const size_t len = en->prefix.len;

	return len && enumprefix_begins(name, en->prefix)
		       ? (struct text){ name.ptr + len, name.len - len }
		       : (struct text){ "", 0 };
}

void proto_enumerators(const struct proto_table *table, const struct proto_type *type,
		       void (*visit)(void *ctx, struct text name), void *ctx)
{
	const struct proto_enum *en = prototab_enum(table, type);

	for (uint32_t i = 0; en && i < en->cnt; i++) {
		const struct text name = enum_short_name(en, i);

		visit(ctx, en->enumerators[i].name);
		if (name.len)
			visit(ctx, name);
	}
}

/* The index of the enumerator with this short name; cnt: there is none. */
static uint32_t enum_find_short(const struct proto_enum *en, struct text symbol)
{
	uint32_t at = 0;

	while (at < en->cnt && !(symbol.len && text_equal(symbol, enum_short_name(en, at))))
		at++;
	return at;
}

bool proto_enumerator(const struct proto_table *table, const struct proto_type *type,
		      struct text symbol, int64_t *value)
{
	const struct proto_enum *en = prototab_enum(table, type);
	uint32_t at = 0;

	while (en && at < en->cnt && !text_equal(symbol, en->enumerators[at].name))
		at++;
	if (en && at == en->cnt)
		at = enum_find_short(en, symbol);
	if (!en || at == en->cnt)
		return false;
	*value = (int64_t)en->enumerators[at].value;
	if (en->is_signed && en->bytes == 4)
		*value = (int32_t)*value;
	return true;
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

/* prototab_shrink - forget all but the first @cnt functions and @enum_cnt enums. */
static void prototab_shrink(struct proto_table *table, uint32_t cnt, uint32_t enum_cnt)
{
	table->cnt = cnt;
	while (table->enum_cnt > enum_cnt) {
		const struct proto_enum *en = &table->enums[--table->enum_cnt];

		table->enumerator_cnt -= en->cnt;
		free(en->enumerators);
	}
}

/* ---- bytes of a recording, packed and unpacked (include/recording.md) ---- */

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
_Static_assert(PROTO_KIND_CNT <= 16, "four bits hold a kind");

/* ---- packing ---- */

struct packer {
	struct piece_head head;
	struct strbuf body;
	size_t max_bytes; /* of the body */
	struct strbuf out;
	int (*piece)(void *ctx, const void *bytes, size_t len);
	void *ctx;
};

/* Pass the current piece on and begin the next one. */
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

static int proto_make_room(struct packer *pk, size_t bytes)
{
	return pk->max_bytes - pk->body.len < bytes ? flush(pk) : 0;
}

static void proto_put_u16(struct strbuf *out, uint16_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void proto_put_value(struct strbuf *out, uint64_t value, uint8_t bytes)
{
	uint32_t four = (uint32_t)value;

	if (bytes == 1)
		strbuf_char(out, (char)value);
	else if (bytes == 2)
		proto_put_u16(out, (uint16_t)value);
	else if (bytes == 4)
		strbuf_add(out, &four, sizeof(four));
	else
		strbuf_add(out, &value, sizeof(value));
}

static void proto_put_name(struct strbuf *out, struct text name)
{
	strbuf_char(out, (char)name.len);
	strbuf_add(out, name.ptr, name.len);
}

/* The number of enumerators that fit in @max_bytes, and their size in bytes. */
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
	int err = proto_make_room(pk, bytes);

	if (err)
		return err;
	strbuf_char(&pk->body, (char)en->bytes);
	strbuf_char(&pk->body, (char)en->is_signed);
	proto_put_u16(&pk->body, (uint16_t)cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		proto_put_value(&pk->body, en->enumerators[i].value, en->bytes);
		proto_put_name(&pk->body, en->enumerators[i].name);
	}
	pk->head.enum_cnt++;
	return 0;
}

static void put_type(struct strbuf *out, const struct proto_type *type)
{
	strbuf_char(out, (char)(type->kind | type->bytes << 4));
	if (has_names(type->kind))
		proto_put_u16(out, type->enum_id);
}

static int pack_func(struct packer *pk, const struct proto *proto)
{
	int err = proto_make_room(pk, FUNC_MAX);

	if (err)
		return err;
	put_type(&pk->body, &proto->ret);
	strbuf_char(&pk->body, (char)proto->arg_cnt);
	for (uint8_t i = 0; i < proto->arg_cnt; i++) {
		put_type(&pk->body, &proto->args[i].type);
		proto_put_name(&pk->body, proto->args[i].name);
	}
	pk->head.cnt++;
	return 0;
}

int proto_table_pack_more(const struct proto_table *table, struct proto_packed *done,
			  size_t max_bytes, int (*piece)(void *ctx, const void *bytes, size_t len),
			  void *ctx)
{
	struct packer pk = { .piece = piece,
			     .ctx = ctx,
			     .head = { .first_enum = done->enum_cnt, .first_id = done->cnt } };
	int err = 0;

	if (max_bytes < PROTO_PIECE_MIN)
		return -EINVAL;
	pk.max_bytes = max_bytes - sizeof(pk.head);
	for (uint32_t i = done->enum_cnt; i < table->enum_cnt && !err; i++)
		err = pack_enum(&pk, &table->enums[i]);
	for (uint32_t i = done->cnt; i < table->cnt && !err; i++)
		err = pack_func(&pk, &table->protos[i]);
	if (!err)
		err = flush(&pk);
	if (!err)
		*done = (struct proto_packed){ .enum_cnt = table->enum_cnt, .cnt = table->cnt };
	strbuf_release(&pk.body);
	strbuf_release(&pk.out);
	return err;
}

int proto_table_pack(const struct proto_table *table, size_t max_bytes,
		     int (*piece)(void *ctx, const void *bytes, size_t len), void *ctx)
{
	struct proto_packed none = { 0 };

	return proto_table_pack_more(table, &none, max_bytes, piece, ctx);
}

/* ---- unpacking untrusted bytes ---- */

struct cursor {
	const uint8_t *at;
	size_t left;
};

static bool proto_take(struct cursor *c, void *out, size_t len)
{
	if (c->left < len)
		return false;
	memcpy(out, c->at, len);
	c->at += len;
	c->left -= len;
	return true;
}

static bool proto_take_value(struct cursor *c, uint64_t *value, uint8_t bytes)
{
	uint8_t one = 0;
	uint16_t two = 0;
	uint32_t four = 0;
	bool is_there;

	if (bytes == 8)
		return proto_take(c, value, sizeof(*value));
	if (bytes == 1)
		is_there = proto_take(c, &one, sizeof(one));
	else if (bytes == 2)
		is_there = proto_take(c, &two, sizeof(two));
	else
		is_there = proto_take(c, &four, sizeof(four));
	*value = (uint64_t)one | two | four;
	return is_there;
}

/* A name may be missing, but if present it must be valid. */
static int proto_take_name(struct cursor *c, struct proto_table *table, struct text *out)
{
	struct text name;
	uint8_t len;

	if (!proto_take(c, &len, sizeof(len)) || c->left < len)
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

		if (!proto_take_value(c, &item->value, en->bytes) ||
		    (en->cnt && item->value <= item[-1].value))
			return -EBADMSG;
		err = proto_take_name(c, table, &item->name);
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

	if (!proto_take(c, head, sizeof(head)) || !proto_take(c, &cnt, sizeof(cnt)) ||
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

	if (!proto_take(c, &byte, sizeof(byte)))
		return false;
	*type = (struct proto_type){ .kind = byte & 15, .bytes = byte >> 4 };
	if (!prototab_has_width(type->bytes))
		return false;
	if (!has_names(type->kind))
		return true;
	if (!proto_take(c, &type->enum_id, sizeof(type->enum_id)))
		return false;
	en = prototab_enum(table, type);
	return en ? en->bytes == type->bytes : !type->enum_id;
}

static int unpack_func(struct cursor *c, struct proto_table *table)
{
	struct proto proto = { 0 };
	int err;

	if (!take_type(c, table, &proto.ret) ||
	    !proto_take(c, &proto.arg_cnt, sizeof(proto.arg_cnt)) || proto.arg_cnt > PROTO_ARG_MAX)
		return -EBADMSG;
	for (uint8_t i = 0; i < proto.arg_cnt; i++) {
		struct proto_arg *arg = &proto.args[i];

		if (!take_type(c, table, &arg->type) || arg->type.kind == PROTO_VOID)
			return -EBADMSG;
		err = proto_take_name(c, table, &arg->name);
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

	if (!proto_take(&c, &head, sizeof(head)) || head.first_enum != enum_cnt ||
	    head.first_id != cnt || head.enum_cnt > PROTOTAB_ENUM_MAX - enum_cnt ||
	    head.cnt > NFG_FUNC_CNT - cnt)
		return -EBADMSG;
	for (uint32_t i = 0; i < head.enum_cnt && !err; i++)
		err = unpack_enum(&c, table);
	for (uint32_t i = 0; i < head.cnt && !err; i++)
		err = unpack_func(&c, table);
	if (err)
		prototab_shrink(table, cnt, enum_cnt);
	return err;
}

/* ---- values ---- */

#define ERRNO_MAX 4095 /* MAX_ERRNO */

static bool is_errno(int64_t value)
{
	return value < 0 && value >= -ERRNO_MAX;
}

static bool proto_is_signed(const struct proto_table *table, const struct proto_type *type)
{
	const struct proto_enum *en = prototab_enum(table, type);

	return type->kind == PROTO_SIGNED || (en && en->is_signed);
}

/* The value of a register, cut to its type and extended with zeros or its sign. */
static int64_t proto_value_of(const struct proto_table *table, const struct proto_type *type,
			      uint64_t value)
{
	unsigned int shift = 64 - 8u * type->bytes;

	if (proto_is_signed(table, type))
		return (int64_t)(value << shift) >> shift;
	return (int64_t)prototab_cut(value, type->bytes);
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

static void set_int(struct value *out, int64_t number)
{
	out->kind = VALUE_INT;
	out->form = FORM_DECIMAL;
	out->number = (uint64_t)number;
}

static void set_hex(struct value *out, uint64_t number)
{
	out->kind = VALUE_POINTER;
	out->form = FORM_HEX;
	out->number = number;
}

static void set_pointer(struct value *out, uint64_t value, const struct proto_style *style)
{
	set_hex(out, value);
	if (!style->hides_pointers || !value || is_errno((int64_t)value))
		return;
	out->form = FORM_HASH;
	out->number = pointer_hash(value, style->hash_key);
}

/* The enumerator with that value; len 0: none. */
static struct text enumerator_of(const struct proto_table *table, const struct proto_type *type,
				 uint64_t value)
{
	const struct proto_enum *en = prototab_enum(table, type);
	uint64_t wanted = prototab_cut(value, type->bytes);
	const size_t low = VEC_BISECT(i, en ? en->cnt : 0, en->enumerators[i].value < wanted);

	if (!en || low == en->cnt || en->enumerators[low].value != wanted)
		return (struct text){ 0 };
	return en->enumerators[low].name;
}

static void set_enumerator(struct value *out, const struct proto_table *table,
			   const struct proto_type *type, uint64_t value)
{
	out->text = enumerator_of(table, type, value);
	if (out->text.len)
		out->kind = VALUE_TEXT;
}

/* ---- arguments ---- */

static void set_enum(struct value *out, const struct proto_table *table,
		     const struct proto_type *type, uint64_t value)
{
	set_int(out, proto_value_of(table, type, value));
	if (!proto_is_signed(table, type) && (int64_t)out->number < 0) {
		out->kind = VALUE_TEXT;
		out->form = FORM_UNSIGNED;
	}
	set_enumerator(out, table, type, value);
}

static void set_arg(struct value *out, const struct proto_table *table,
		    const struct proto_type *type, uint64_t value, const struct proto_style *style)
{
	switch (type->kind) {
	case PROTO_POINTER:
		set_pointer(out, value, style);
		break;
	case PROTO_SIGNED:
		set_int(out, proto_value_of(table, type, value));
		break;
	case PROTO_UNSIGNED:
	case PROTO_BOOL:
		set_hex(out, prototab_cut(value, type->bytes));
		break;
	case PROTO_ENUM:
		set_enum(out, table, type, value);
		break;
	default:
		out->form = FORM_UNTYPED;
		out->number = value;
	}
}

uint32_t proto_args(const struct proto_table *table, uint32_t func_id, const uint64_t *values,
		    size_t cnt, const struct proto_style *style, struct value *out)
{
	const struct proto *proto = proto_table_get(table, func_id);

	if (!proto || !style->has_args)
		return 0;
	for (uint32_t i = 0; i < proto->arg_cnt; i++) {
		const struct proto_arg *arg = &proto->args[i];

		out[i] = (struct value){ .name = arg->name };
		if (i == cnt) {
			out[i] = (struct value){ .text = { "...", 3 } };
			return i + 1;
		}
		set_arg(&out[i], table, &arg->type, values[i], style);
		if (arg->name.len)
			continue;
		/* the kernel writes the sign also for a parameter that has no name */
		out[i].has_equals = true;
		out[i].kind = VALUE_TEXT;
	}
	return proto->arg_cnt;
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

/* ---- fields of tracepoints ---- */

/* The value of big-endian bytes. */
static uint64_t from_be(const struct proto_type *type, uint64_t word)
{
	return __builtin_bswap64(word << (64 - 8u * type->bytes));
}

static void set_unsigned(struct value *out, uint64_t number)
{
	set_int(out, (int64_t)number);
	if ((int64_t)number >= 0)
		return;
	out->kind = VALUE_TEXT;
	out->form = FORM_UNSIGNED;
}

static void set_text(struct value *out, const char *text, size_t len)
{
	out->kind = VALUE_TEXT;
	out->form = FORM_TEXT;
	out->text = (struct text){ text, len };
}

/* Bytes that end a row or a word become '_'. */
static void set_chars(struct value *out, const uint64_t words[2], char *text)
{
	size_t len;

	memcpy(text, words, 16);
	len = strnlen(text, 16);
	for (size_t i = 0; i < len; i++) {
		if (text[i] < 0x20 || text[i] > 0x7e)
			text[i] = '_';
	}
	set_text(out, text, len);
}

static void set_address(struct value *out, int family, const void *bytes, char *text)
{
	inet_ntop(family, bytes, text, PROTO_FIELD_TEXT);
	set_text(out, text, strlen(text));
}

/* As the kernel's __print_flags(): the names of the bits that are set, then the bits without a name as a number. */
static void set_flags(struct value *out, const struct proto_table *table,
		      const struct proto_type *type, uint64_t word, char *text)
{
	const struct proto_enum *en = prototab_enum(table, type);
	uint64_t left = prototab_cut(word, type->bytes);
	size_t len = 0;

	out->number = left;
	for (uint32_t i = 0; en && left && i < en->cnt && i < 64; i++) { /* bits of a word */
		const struct enumerator *bits = &en->enumerators[i];

		if (!bits->value || (left & bits->value) != bits->value ||
		    len + bits->name.len + sizeof("||0x0123456789abcdef") > PROTO_FIELD_TEXT)
			continue;
		len += (size_t)sprintf(text + len, "%s%.*s", len ? "|" : "", (int)bits->name.len,
				       bits->name.ptr);
		left &= ~bits->value;
	}
	if (left || !len)
		len += (size_t)sprintf(text + len, "%s0x%" PRIx64, len ? "|" : "", left);
	set_text(out, text, len);
	out->kind = VALUE_FLAGS;
}

/* @text: PROTO_FIELD_TEXT bytes. */
static void set_field(struct value *out, const struct proto_table *table,
		      const struct proto_type *type, const uint64_t *words,
		      const struct proto_style *style, char *text)
{
	switch (type->kind) {
	case PROTO_DECIMAL:
		set_unsigned(out, prototab_cut(words[0], type->bytes));
		break;
	case PROTO_BE:
		set_unsigned(out, from_be(type, words[0]));
		break;
	case PROTO_BE_HEX:
		set_hex(out, from_be(type, words[0]));
		break;
	case PROTO_IPV4:
		set_address(out, AF_INET, words, text);
		break;
	case PROTO_IPV6:
		set_address(out, AF_INET6, words, text);
		break;
	case PROTO_INET:
		set_address(out, words[1] || words[0] >> 32 ? AF_INET6 : AF_INET, words, text);
		break;
	case PROTO_CHARS:
		set_chars(out, words, text);
		break;
	case PROTO_CODE:
		set_pointer(out, words[0], style);
		break;
	case PROTO_FLAGS:
		set_flags(out, table, type, words[0], text);
		break;
	default:
		set_arg(out, table, type, words[0], style);
		if (type->kind == PROTO_ENUM && out->text.len)
			set_text(out, out->text.ptr, out->text.len);
	}
}

#define AF_INET_WORD 2

/*
 * Kernels show the IPv4 address of a socket that has no IPv6 address as one, in the fields that follow two IPv4 ones: saddr,
 * daddr, saddrv6, daddrv6. @words: of the fields @args, where @at[i] is the first of field i.
 */
static bool set_mapped(struct value *out, const struct proto_arg *args, const uint64_t *words,
		       const uint8_t *at, uint32_t i, char *text)
{
	uint8_t bytes[16] = { [10] = 0xff, [11] = 0xff };
	uint32_t family = 0;

	while (family < i && !text_equal(args[family].name, text_from("family")))
		family++;
	if (family == i ||
	    prototab_cut(words[at[family]], args[family].type.bytes) != AF_INET_WORD || i < 2 ||
	    args[i - 2].type.kind != PROTO_IPV4)
		return false;
	memcpy(bytes + 12, &words[at[i - 2]], 4);
	set_address(out, AF_INET6, bytes, text);
	return true;
}

uint32_t proto_fields(const struct proto_table *table, uint32_t id, const uint64_t *words,
		      size_t cnt, const struct proto_style *style,
		      struct text (*place)(void *ctx, uint64_t addr), void *ctx,
		      struct proto_texts *texts, struct value *out)
{
	const struct proto *proto = proto_table_get(table, id);
	uint8_t places[PROTO_ARG_MAX];
	size_t at = 0;
	uint32_t i;

	for (i = 0; proto && i < proto->arg_cnt; i++) {
		const struct proto_arg *arg = &proto->args[i];
		const uint32_t word_cnt = proto_kind_words(arg->type.kind);
		struct text name = { 0 };

		if (cnt - at < word_cnt)
			break;
		places[i] = (uint8_t)at;
		out[i] = (struct value){ .name = arg->name };
		if (arg->type.kind != PROTO_IPV6 ||
		    !set_mapped(&out[i], proto->args, words, places, i, texts->bytes[i]))
			set_field(&out[i], table, &arg->type, words + at, style, texts->bytes[i]);
		if (arg->type.kind == PROTO_CODE && place && words[at])
			name = place(ctx, words[at]);
		if (name.len && name.ptr[0] != '?')
			set_text(&out[i], name.ptr, name.len);
		at += word_cnt;
	}
	return i;
}

const struct proto_type *proto_field_type(const struct proto_table *table, uint32_t id,
					  struct text name, uint32_t *word)
{
	const struct proto *proto = proto_table_get(table, id);

	*word = 0;
	for (uint32_t i = 0; proto && i < proto->arg_cnt; i++) {
		if (text_equal(name, proto->args[i].name))
			return &proto->args[i].type;
		*word += proto_kind_words(proto->args[i].type.kind);
	}
	return NULL;
}

uint64_t proto_field_number(const struct proto_type *type, uint64_t word)
{
	switch (type->kind) {
	case PROTO_BE:
	case PROTO_BE_HEX:
	case PROTO_IPV4:
		return from_be(type, word);
	}
	return word;
}

void proto_code_fields(const struct proto_table *table, uint32_t id, const uint64_t *words,
		       size_t cnt, void (*visit)(void *ctx, uint64_t addr), void *ctx)
{
	const struct proto *proto = proto_table_get(table, id);
	size_t at = 0;

	for (uint32_t i = 0; proto && i < proto->arg_cnt; i++) {
		if (at < cnt && words[at] && proto->args[i].type.kind == PROTO_CODE)
			visit(ctx, words[at]);
		at += proto_kind_words(proto->args[i].type.kind);
	}
}

/* ---- the result ---- */

/* Whether print_graph_retval writes the value in decimal; @error is that decimal number. */
static bool proto_is_error(const struct proto_table *table, const struct proto_type *type,
			   uint64_t value, int64_t *error)
{
	*error = proto_value_of(table, type, value);
	if (is_errno(*error))
		return true;
	if (type->kind == PROTO_POINTER || proto_is_signed(table, type) || *error >> 32)
		return false;
	/* a negative int that was converted to unsigned and widened */
	*error = (int32_t)*error;
	return is_errno(*error);
}

static void set_ret(struct value *out, const struct proto_table *table,
		    const struct proto_type *type, uint64_t value, const struct proto_style *style)
{
	uint64_t cut = prototab_cut(value, type->bytes);
	int64_t error;

	if (type->kind == PROTO_BOOL && !style->is_ret_hex && style->is_old_dialect)
		set_hex(out, cut != 0);
	else if (type->kind == PROTO_BOOL && !style->is_ret_hex)
		*out = (struct value){ .number = cut != 0, .kind = VALUE_BOOL, .form = FORM_BOOL };
	else if (!style->is_ret_hex && proto_is_error(table, type, value, &error))
		set_int(out, error);
	else if (type->kind == PROTO_POINTER)
		set_pointer(out, value, style);
	else
		set_hex(out, cut);
	if (type->kind == PROTO_ENUM && !style->is_ret_hex && !style->is_old_dialect)
		set_enumerator(out, table, type, value);
}

bool proto_ret(const struct proto_table *table, uint32_t func_id, uint64_t value,
	       const struct proto_style *style, struct value *out)
{
	const struct proto *proto = proto_table_get(table, func_id);

	if (!proto || proto->ret.kind == PROTO_VOID || !style->has_ret)
		return false;
	*out = (struct value){ 0 };
	set_ret(out, table, &proto->ret, value, style);
	if (!style->is_old_dialect)
		out->name = (struct text){ "ret", 3 };
	return true;
}

/* ---- from BTF ---- */

#define NO_WIDTH 8 /* size of kinds without a width, and of addresses */

/* A name from BTF; empty if it is not valid. */
static struct text name_at(const struct btf *btf, uint32_t offset)
{
	const char *str = btf__name_by_offset(btf, offset);
	struct text name = { str, str ? strlen(str) : 0 };

	return prototab_is_name(name) ? name : (struct text){ "", 0 };
}

/* ---- enums ---- */

/*
 * Keeps enumerators sorted; they nearly always arrive in order. If two names have one value, the first stays, as the
 * kernel prints it.
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

/* The enumerators that an enum is made of. */
struct enum_source {
	const struct btf *btf; /* of @type ... */
	const struct btf_type *type;
	const char *
		prefix; /* ... whose names lose it, those that are longer; "": all names as they are */
	const struct proto_name *names; /* in place of @type */
};

static struct text source_name(const struct enum_source *src, uint32_t i)
{
	const size_t prefix_len = src->names ? 0 : strlen(src->prefix);
	struct text name;

	if (src->names)
		return text_from(src->names[i].name);
	name = name_at(src->btf, btf_is_enum64(src->type) ? btf_enum64(src->type)[i].name_off
							  : btf_enum(src->type)[i].name_off);
	if (name.len <= prefix_len)
		return (struct text){ "", 0 };
	if (!memcmp(name.ptr, src->prefix, prefix_len))
		name = (struct text){ name.ptr + prefix_len, name.len - prefix_len };
	return name;
}

/* Add an enum of @cnt enumerators: @head without them. Return: 0 or -ENOMEM. */
static int enum_add(struct proto_table *table, const struct proto_enum *head, uint32_t cnt,
		    const struct enum_source *src)
{
	struct proto_enum *en = prototab_enum_begin(table, cnt);
	int err = en ? 0 : -ENOMEM;

	if (err)
		return err;
	en->key = head->key;
	en->bytes = head->bytes;
	en->is_signed = head->is_signed;
	for (uint32_t i = 0; i < cnt && !err; i++) {
		const uint64_t value =
			src->names ? src->names[i].value
				   : prototab_cut(enumerator_value(src->type, i), en->bytes);
		struct text name = source_name(src, i);

		if (!name.len)
			continue;
		err = prototab_keep(table, name, &name);
		if (!err)
			put_enumerator(en, value, name);
	}
	if (err)
		free(en->enumerators);
	else
		prototab_enum_end(table);
	return err;
}

/* The place of the enum with this key; table->enum_cnt: it is new. */
static uint32_t enum_place(const struct proto_table *table, const void *key)
{
	uint32_t place = 0;

	while (place < table->enum_cnt && table->enums[place].key != key)
		place++;
	return place;
}

/* Find its number, adding it if it is new; 0: the table is full. Return: 0 or -ENOMEM. */
static int enum_find(struct proto_table *table, const struct proto_enum *head, uint32_t cnt,
		     const struct enum_source *src, uint16_t *id)
{
	const uint32_t place = enum_place(table, head->key);
	int err = 0;

	*id = 0;
	if (place == table->enum_cnt) {
		if (table->enum_cnt >= PROTOTAB_ENUM_MAX ||
		    PROTOTAB_ENUMERATOR_MAX - table->enumerator_cnt < cnt)
			return 0;
		err = enum_add(table, head, cnt, src);
	}
	if (!err)
		*id = (uint16_t)(place + 1);
	return err;
}

/* The enum of BTF, under @key. */
static int enum_id(struct proto_table *table, const void *key, const struct btf *btf,
		   const struct btf_type *type, const char *prefix, uint16_t *id)
{
	const struct proto_enum head = { .key = key,
					 .bytes = (uint8_t)type->size,
					 .is_signed = btf_kflag(type) };
	const struct enum_source src = { .btf = btf, .type = type, .prefix = prefix };

	return enum_find(table, &head, btf_vlen(type), &src, id);
}

#define RESULT_MAX 16u

/* Give the result of a BPF program its names, if it has any: its function returns an int. */
static int results_name(struct proto_table *table, enum kbtf_owner owner, struct proto_type *ret)
{
	static const char keys[KBTF_OWNER_CNT]; /* one for each kind */
	const struct proto_enum head = { .key = &keys[owner],
					 .bytes = sizeof(int),
					 .is_signed = true };
	struct proto_name names[RESULT_MAX];
	uint16_t id = 0;
	uint32_t cnt;
	int value;
	int err = 0;

	for (cnt = 0; cnt < RESULT_MAX; cnt++) {
		names[cnt].name = bpfprog_result(owner, cnt, &value);
		if (!names[cnt].name)
			break;
		names[cnt].value = (uint32_t)value;
	}
	if (cnt && ret->kind == PROTO_SIGNED && ret->bytes == sizeof(int))
		err = enum_find(table, &head, cnt, &(struct enum_source){ .names = names }, &id);
	if (id)
		*ret = (struct proto_type){ .kind = PROTO_ENUM,
					    .bytes = ret->bytes,
					    .enum_id = id };
	return err;
}

/* Give the result of a program the names of the kernel's enum, if its types have that. */
static int ret_code_name(struct proto_table *table, const struct kbtf *kb, struct proto_type *ret)
{
	const struct btf *btf = kbtf_base(kb);
	const int id = btf__find_by_name_kind(btf, "bpf_ret_code", BTF_KIND_ENUM);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	if (!type || ret->kind != PROTO_SIGNED || ret->bytes != type->size)
		return 0;
	ret->kind = PROTO_ENUM;
	return enum_id(table, type, btf, type, "", &ret->enum_id);
}

/* ---- types ---- */

static int type_read(struct proto_table *table, const struct btf *btf, uint32_t type_id,
		     struct proto_type *out)
{
	const struct btf_type *type = kbtf_type(btf, type_id, NULL);

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
		return enum_id(table, type, btf, type, "", &out->enum_id);
	}
	if (btf_int_encoding(type) & BTF_INT_BOOL)
		out->kind = PROTO_BOOL;
	else
		out->kind = btf_int_encoding(type) & BTF_INT_SIGNED ? PROTO_SIGNED : PROTO_UNSIGNED;
	return 0;
}

int prototab_type(struct proto_table *table, const struct btf *btf, uint32_t type_id,
		  struct proto_type *type)
{
	return type_read(table, btf, type_id, type);
}

int prototab_named(struct proto_table *table, const void *key, uint8_t bytes,
		   const struct proto_name *names, uint32_t cnt, struct proto_type *type)
{
	const struct proto_enum head = { .key = key, .bytes = bytes };

	*type = (struct proto_type){ .kind = PROTO_ENUM, .bytes = bytes };
	return enum_find(table, &head, cnt, &(struct enum_source){ .names = names },
			 &type->enum_id);
}

int prototab_stripped(struct proto_table *table, const struct btf *btf,
		      const struct btf_type *btf_type, const char *prefix, struct proto_type *type)
{
	const void *key = (const char *)btf_type + 1; /* not the key of the enum with whole names */

	*type = (struct proto_type){ .kind = PROTO_ENUM, .bytes = (uint8_t)btf_type->size };
	return enum_id(table, key, btf, btf_type, prefix, &type->enum_id);
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
	int err = type && type->type ? type_read(table, btf, type->type, &proto.ret) : 0;

	if (type && !err)
		err = func->owner == KBTF_PROG_RET || func->owner == KBTF_PROG_FLOW
			      ? ret_code_name(table, kb, &proto.ret)
			      : results_name(table, (enum kbtf_owner)func->owner, &proto.ret);
	if (type && !err)
		err = args_read(table, btf, type, &proto);
	return err ? err : prototab_add(table, &proto);
}
