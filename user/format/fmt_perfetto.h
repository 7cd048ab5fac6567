#ifndef NFG_FORMAT_FMT_PERFETTO_H
#define NFG_FORMAT_FMT_PERFETTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* The wire format of protocol buffers, appended to a strbuf. */

/* protobuf_uint - a varint field; protobuf_int - the same, negative numbers in ten bytes, as int64 has them. */
void protobuf_uint(struct strbuf *out, unsigned int field, uint64_t value);
void protobuf_int(struct strbuf *out, unsigned int field, int64_t value);

/* protobuf_begin - begin a message or string. Return: a mark for protobuf_end, which inserts the length before it. */
size_t protobuf_begin(struct strbuf *out, unsigned int field);
void protobuf_end(struct strbuf *out, size_t mark);

#endif
