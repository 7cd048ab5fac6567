#include "format/rowkey.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/flow.h"
#include "kernel/ktext.h"
#include "kernel/member.h"

static const struct {
	const char *name;
	const char *parts[ROWKEY_PART_CNT];
	const char *what;
	const char *hint;
	uint32_t needs; /* ROWKEY_NEEDS_* */
} rowkeys[ROWKEY_CNT] = {
	[ROWKEY_REASON] = { "reason",
			    { "reason", "place" },
			    "a drop reason",
			    "record -T sk_skb_reason_drop (before 6.11 kfree_skb_reason) "
			    "--graph-opts args,retaddr, or -e skb:kfree_skb, keeps them",
			    ROWKEY_NEEDS_ARGS | ROWKEY_NEEDS_CALLER },
	[ROWKEY_FLOW] = { "flow",
			  { "flow", NULL },
			  "the addresses of a packet or a socket",
			  "record --graph-opts packet keeps them; a text has none",
			  ROWKEY_NEEDS_ARGS | ROWKEY_NEEDS_PACKET | ROWKEY_NEEDS_LENGTH },
	[ROWKEY_DEVICE] = { "device",
			    { "device", NULL },
			    "the device of a packet",
			    "record --graph-opts packet keeps it; a text has none",
			    ROWKEY_NEEDS_PACKET | ROWKEY_NEEDS_LENGTH },
	[ROWKEY_CALLER] = { "caller",
			    { "caller", NULL },
			    "a known caller",
			    "record --graph-opts retaddr keeps it; function_graph prints it with "
			    "funcgraph-retaddr",
			    ROWKEY_NEEDS_CALLER },
	[ROWKEY_CONTAINER] = { "container",
			       { "container", "cgroup" },
			       "the cgroup of its task",
			       "recordings have it since format 1.6; a text has none",
			       ROWKEY_NEEDS_COMM | ROWKEY_NEEDS_PLACE },
	[ROWKEY_PROGRAM] = { "program",
			     { "program", NULL },
			     "the name of its task",
			     "recordings have it; function_graph prints it with funcgraph-proc",
			     ROWKEY_NEEDS_COMM },
	[ROWKEY_MEMBER] = { .needs = ROWKEY_NEEDS_LENGTH },
};

uint32_t rowkey_needs(enum rowkey_by by)
{
	return rowkeys[by].needs;
}

uint32_t rowkeys_find(const struct rowkeys *keys, enum rowkey_by by)
{
	uint32_t nr = 0;

	while (nr < keys->cnt && keys->by[nr] != by)
		nr++;
	return nr;
}

bool rowkeys_has(const struct rowkeys *keys, enum rowkey_by by)
{
	return rowkeys_find(keys, by) < keys->cnt;
}

uint32_t rowkeys_needs(const struct rowkeys *keys)
{
	uint32_t needs = 0;

	for (uint32_t i = 0; i < keys->cnt; i++)
		needs |= rowkey_needs(keys->by[i]);
	return needs;
}

void rowkeys_put_name(struct strbuf *out, const struct rowkeys *keys, char separator)
{
	for (uint32_t i = 0; i < keys->cnt; i++) {
		if (i)
			strbuf_char(out, separator);
		strbuf_str(out, rowkeys_name(keys, i));
	}
}

const char *rowkey_name(enum rowkey_by by)
{
	return rowkeys[by].name;
}

const char *rowkeys_name(const struct rowkeys *keys, uint32_t nr)
{
	return keys->by[nr] == ROWKEY_MEMBER ? keys->members[nr] : rowkey_name(keys->by[nr]);
}

const char *rowkeys_part_name(const struct rowkeys *keys, uint32_t nr, int part)
{
	if (keys->by[nr] == ROWKEY_MEMBER)
		return part ? NULL : keys->members[nr];
	return rowkeys[keys->by[nr]].parts[part];
}

const char *rowkeys_what(const struct rowkeys *keys, uint32_t nr)
{
	return keys->by[nr] == ROWKEY_MEMBER ? keys->members[nr] : rowkeys[keys->by[nr]].what;
}

const char *rowkeys_hint(const struct rowkeys *keys, uint32_t nr)
{
	static char hint[ROWKEY_MEMBER_BYTES + 40];

	if (keys->by[nr] != ROWKEY_MEMBER)
		return rowkeys[keys->by[nr]].hint;
	snprintf(hint, sizeof(hint), "record --show %s keeps it", keys->members[nr]);
	return hint;
}

static const struct value *value_named(const struct row *row, const char *name)
{
	for (uint32_t i = 0; i < row->arg_cnt; i++) {
		if (text_equal(row->args[i].name, text_from(name)))
			return &row->args[i];
	}
	return NULL;
}

static bool is_number(const struct value *value)
{
	return value->form != FORM_TEXT &&
	       (value->kind == VALUE_INT || value->kind == VALUE_POINTER);
}

/* A number as text has it: 1500, 0x5dc, 0x5 [ENUMERATOR]. */
static bool number_of(const struct value *value, uint64_t *number)
{
	char digits[24];
	char *end;

	if (value->form != FORM_TEXT) {
		*number = value->number;
		return is_number(value);
	}
	if (!value->text.len || value->text.len >= sizeof(digits))
		return false;
	memcpy(digits, value->text.ptr, value->text.len);
	digits[value->text.len] = '\0';
	*number = strtoull(digits, &end, 0);
	return !*end;
}

/* ---- drops ---- */

#define REASON_PREFIX "SKB_DROP_REASON_"

static bool begins_with(struct text text, const char *prefix)
{
	const size_t len = strlen(prefix);

	return text.len >= len && !memcmp(text.ptr, prefix, len);
}

/* The first word of @text that begins with a capital letter: an enumerator, also in "0x2 [SKB_DROP_REASON_NO_SOCKET]". */
static struct text enumerator_in(struct text text)
{
	size_t at = 0;
	size_t len = 0;

	while (at < text.len && (text.ptr[at] < 'A' || text.ptr[at] > 'Z'))
		at++;
	while (at + len < text.len && text.ptr[at + len] != ']' && text.ptr[at + len] != ' ')
		len++;
	return (struct text){ text.ptr + at, len };
}

/* Without what all reasons begin with, as the tracepoint has them. */
static bool reason_of(const struct row *row, struct text *out)
{
	const struct value *value = value_named(row, "reason");
	struct text name;

	if (!value || !value->text.len)
		return false;
	name = enumerator_in(value->text);
	if (row->kind == ROW_POINT) {
		*out = name.len ? name : value->text;
		return text_equal(row->name, text_from("kfree_skb"));
	}
	/* other enums have reasons, too: SK_RST_REASON_... */
	if (!begins_with(name, "SKB_"))
		return false;
	if (begins_with(name, REASON_PREFIX))
		name = (struct text){ name.ptr + strlen(REASON_PREFIX),
				      name.len - strlen(REASON_PREFIX) };
	*out = name;
	return name.len;
}

/*
 * A place without the length of its function: "tcp_v4_rcv+0x4b". None outside of functions, and where tracing hides who called.
 */
static struct text place_in(struct text text)
{
	const char *slash = text.len ? memchr(text.ptr, '/', text.len) : NULL;

	return slash && !retaddr_is_tracing(text)
		       ? (struct text){ text.ptr, (size_t)(slash - text.ptr) }
		       : (struct text){ 0 };
}

static struct text place_of(const struct row *row)
{
	const struct value *location = value_named(row, "location");

	if (row->kind == ROW_POINT)
		return location ? place_in(location->text) : (struct text){ 0 };
	return row->caller ? place_in(row->caller->place) : (struct text){ 0 };
}

static bool is_one_of(struct text func, const char *const *names, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if (text_equal(func, text_from(names[i])))
			return true;
	}
	return false;
}

bool rowkey_place_frees_list(struct text place)
{
	static const char *const funcs[] = { "__tcf_kfree_skb_list", "tcf_kfree_skb_list",
					     "kfree_skb_list_reason", "kfree_skb_list" };
	const char *plus = place.len ? memchr(place.ptr, '+', place.len) : NULL;
	const struct text func = { place.ptr, plus ? (size_t)(plus - place.ptr) : place.len };

	return is_one_of(func, funcs, ARRAY_SIZE(funcs));
}

/* Others than queues free lists, too: the frames of a packet that was merged. */
static bool is_of_queue(const struct rowkey *key)
{
	static const char func[] = "tcf_";
	static const char reason[] = "QDISC";

	return memmem(key->parts[1].ptr, key->parts[1].len, func, strlen(func)) ||
	       (key->parts[0].len &&
		memmem(key->parts[0].ptr, key->parts[0].len, reason, strlen(reason)));
}

bool rowkey_place_is_hidden(const struct row *row)
{
	const struct value *location = value_named(row, "location");

	if (row->kind == ROW_POINT)
		return location && retaddr_is_tracing(location->text);
	return row->caller && retaddr_is_tracing(row->caller->place);
}

/* Kernels before 5.17 have no reasons: what drops is known by its name. */
static bool is_drop(const struct row *row)
{
	return text_equal(row->name, text_from("kfree_skb")) &&
	       value_named(row, row->kind == ROW_POINT ? "skbaddr" : "skb");
}

bool rowkey_only_releases(struct text func)
{
	static const char *const names[] = { "__kfree_skb", "skb_release_all", "skb_release_data" };

	return is_one_of(func, names, ARRAY_SIZE(names));
}

bool rowkey_is_no_drop(const struct row *row)
{
	const struct value *skb = value_named(row, "skb");
	struct text reason = { 0 };
	uint64_t address;

	if (row->kind == ROW_POINT)
		return false;
	if (rowkey_only_releases(row->name))
		return true;
	if (!reason_of(row, &reason) && !is_drop(row))
		return false;
	if (!skb)
		skb = value_named(row, "segs");
	return (skb && number_of(skb, &address) && !address) ||
	       text_equal(reason, text_from("SKB_CONSUMED")) ||
	       text_equal(reason, text_from("SKB_NOT_DROPPED_YET"));
}

static bool take_drop(struct rowkey *key, const struct row *row)
{
	if (rowkey_is_no_drop(row) || (!reason_of(row, &key->parts[0]) && !is_drop(row)))
		return false;
	key->parts[1] = place_of(row);
	key->frees_list = rowkey_place_frees_list(key->parts[1]);
	if (key->frees_list && is_of_queue(key))
		key->instead = text_from("(qdisc)");
	return true;
}

/* ---- flows ---- */

static bool take_end(const struct row *row, const char *name, int family, uint8_t *addr)
{
	const struct value *value = value_named(row, name);
	char text[INET6_ADDRSTRLEN];

	if (!value || !value->text.len || value->text.len >= sizeof(text))
		return false;
	memcpy(text, value->text.ptr, value->text.len);
	text[value->text.len] = '\0';
	return inet_pton(family, text, addr) == 1;
}

static uint16_t port_in(const struct row *row, const char *name)
{
	const struct value *value = value_named(row, name);
	uint64_t number = 0;

	return value && number_of(value, &number) ? htons((uint16_t)number) : 0;
}

/* The socket of a tracepoint of TCP: its fields are addresses and ports. */
static bool take_point(struct nfg_packet *packet, const struct row *row)
{
	static const uint8_t none[4];

	if (!text_equal(row->module, text_from("tcp")))
		return false;
	*packet = (struct nfg_packet){
		.family = 4,
		.proto = IPPROTO_TCP,
		.from_sock = 1,
		.sport = port_in(row, "sport"),
		.dport = port_in(row, "dport"),
	};
	if (take_end(row, "saddr", AF_INET, packet->saddr) &&
	    take_end(row, "daddr", AF_INET, packet->daddr) &&
	    (memcmp(packet->saddr, none, 4) || memcmp(packet->daddr, none, 4)))
		return true;
	packet->family = 6;
	return take_end(row, "saddrv6", AF_INET6, packet->saddr) &&
	       take_end(row, "daddrv6", AF_INET6, packet->daddr);
}

static bool take_flow(struct rowkey *key, const struct row *row)
{
	struct nfg_packet packet;

	if (row->kind == ROW_POINT)
		return take_point(&packet, row) && flow_of(&key->flow, &packet);
	return row->packet && flow_of(&key->flow, row->packet);
}

/* ---- devices, callers ---- */

static bool take_device(struct rowkey *key, const struct row *row)
{
	const struct value *dev = row->kind == ROW_POINT ? value_named(row, "dev") : NULL;

	if (dev)
		key->parts[0] = dev->text;
	else if (row->packet)
		key->parts[0] =
			(struct text){ row->packet->dev,
				       strnlen(row->packet->dev, sizeof(row->packet->dev)) };
	return key->parts[0].len;
}

/* The function in "veth_xmit+0x4b/0x4f [veth]". */
static bool take_caller(struct rowkey *key, const struct row *row)
{
	const struct text place = place_of(row);
	const char *plus = place.len ? memchr(place.ptr, '+', place.len) : NULL;

	if (plus)
		key->parts[0] = (struct text){ place.ptr, (size_t)(plus - place.ptr) };
	return plus;
}

/* ---- members ---- */

const struct value *rowkey_member(const struct row *row, struct text path)
{
	for (uint32_t i = 0; i < row->arg_cnt && row->kind != ROW_POINT; i++) {
		if (member_is_same(row->args[i].name, path))
			return &row->args[i];
	}
	return NULL;
}

static bool take_member(struct rowkey *key, const struct row *row, const char *path)
{
	const struct value *value = rowkey_member(row, text_from(path));

	if (!value)
		return false;
	key->is_number = value->kind == VALUE_INT;
	if (key->is_number)
		snprintf(key->bytes, sizeof(key->bytes), "%" PRId64, (int64_t)value->number);
	key->parts[0] = key->is_number ? text_from(key->bytes) : value_text(value, key->bytes);
	return key->parts[0].len;
}

/* ---- all ---- */

bool rowkey_of(struct rowkey *key, const struct rowkeys *keys, uint32_t nr, const struct row *row,
	       struct text comm)
{
	memset(key, 0, offsetof(struct rowkey, bytes));
	switch (keys->by[nr]) {
	case ROWKEY_MEMBER:
		return take_member(key, row, keys->members[nr]);
	case ROWKEY_REASON:
		return take_drop(key, row);
	case ROWKEY_FLOW:
		return take_flow(key, row);
	case ROWKEY_DEVICE:
		return take_device(key, row);
	case ROWKEY_CALLER:
		return take_caller(key, row);
	case ROWKEY_CONTAINER:
		key->cgroup_id = row->place.cgroup_id;
		return key->cgroup_id;
	default:
		key->parts[0] = comm;
		return !text_equal(comm, text_from("<...>"));
	}
}

bool rowkey_bytes(const struct row *row, uint64_t *bytes)
{
	const struct value *value = NULL;

	if (row->kind == ROW_POINT) {
		if (text_equal(row->module, text_from("net")))
			value = value_named(row, "len");
		return value && number_of(value, bytes);
	}
	value = rowkey_member(row, text_from("skb.len"));
	if (!value && text_ends_with(row->name, "_sendmsg"))
		value = value_named(row, "size");
	if (!value && text_ends_with(row->name, "_sendmsg"))
		value = value_named(row, "len");
	return value && number_of(value, bytes);
}
