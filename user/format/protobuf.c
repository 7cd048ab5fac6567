#include "format/protobuf.h"

#include "base/cleantext.h"

enum {
	WIRE_VARINT = 0,
	WIRE_64 = 1,
	WIRE_BYTES = 2,
};

static void put_varint(struct strbuf *out, uint64_t value)
{
	char bytes[10];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (char)(value | 0x80);
	bytes[len++] = (char)value;
	strbuf_add(out, bytes, len);
}

void protobuf_uint(struct strbuf *out, unsigned int field, uint64_t value)
{
	put_varint(out, field << 3 | WIRE_VARINT);
	put_varint(out, value);
}

void protobuf_int(struct strbuf *out, unsigned int field, int64_t value)
{
	protobuf_uint(out, field, (uint64_t)value);
}

void protobuf_fixed64(struct strbuf *out, unsigned int field, uint64_t value)
{
	char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (char)(value >> 8 * i);
	put_varint(out, field << 3 | WIRE_64);
	strbuf_add(out, bytes, sizeof(bytes));
}

size_t protobuf_begin(struct strbuf *out, unsigned int field)
{
	put_varint(out, field << 3 | WIRE_BYTES);
	strbuf_char(out, 0);
	return out->len;
}

void protobuf_end(struct strbuf *out, size_t mark)
{
	size_t len = out->len - mark;
	size_t more = 0;

	if (!strbuf_ok(out))
		return;
	for (size_t rest = len >> 7; rest; rest >>= 7)
		more++;
	strbuf_fill(out, 0, more);
	if (!strbuf_ok(out))
		return;
	if (more)
		memmove(out->ptr + mark + more, out->ptr + mark, len);
	for (size_t i = 0; i < more; i++, len >>= 7)
		out->ptr[mark - 1 + i] = (char)(len | 0x80);
	out->ptr[mark - 1 + more] = (char)len;
}

void protobuf_string(struct strbuf *out, unsigned int field, struct text text)
{
	size_t mark = protobuf_begin(out, field);

	clean_add(out, text.ptr, text.len, CLEAN_WORD);
	protobuf_end(out, mark);
}
