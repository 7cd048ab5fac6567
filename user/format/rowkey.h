#ifndef NFG_FORMAT_ROWKEY_H
#define NFG_FORMAT_ROWKEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "format/render.h"
#include "nfg_abi.h"
#include "trace/row.h"

/* What a call or a tracepoint is counted by in the tables of profile --by. */
enum rowkey_by {
	ROWKEY_REASON,    /* of a drop, and the place that drops */
	ROWKEY_FLOW,      /* the ends of its packet or socket: format/flow.h */
	ROWKEY_DEVICE,    /* of its packet */
	ROWKEY_CALLER,    /* the function that it returns to */
	ROWKEY_CONTAINER, /* of its task, and the cgroup */
	ROWKEY_PROGRAM,
	ROWKEY_MEMBER, /* of a struct behind an argument: rowkeys.members. The last, as it has no name */
	ROWKEY_CNT,
};

#define ROWKEY_PART_CNT 2

/* What the rows of one table are counted by: one of these, or two, in the order in which they are printed. */
#define ROWKEYS_MAX         2

#define ROWKEY_MEMBER_BYTES 121 /* of a path, with its NUL */

struct rowkeys {
	enum rowkey_by by[ROWKEYS_MAX];
	uint32_t cnt;
	char members[ROWKEYS_MAX][ROWKEY_MEMBER_BYTES]; /* ROWKEY_MEMBER: its path, without "->" */
};

struct rowkey {
	struct text parts[ROWKEY_PART_CNT]; /* len 0: unknown, or there is none. Borrowed */
	/* ROWKEY_REASON: the place only frees a list of what was dropped before; a better word than its name, len 0: none */
	bool frees_list;
	struct text instead;
	/* in place of the parts: */
	struct nfg_packet flow;     /* ROWKEY_FLOW */
	uint64_t cgroup_id;         /* ROWKEY_CONTAINER */
	bool is_number;             /* ROWKEY_MEMBER: parts[0] is a number in decimal */
	char bytes[VALUE_TEXT_MAX]; /* of parts[0], if no one else has them */
};

/* rowkey_name - "reason", ...: --by, and in data; NULL: ROWKEY_MEMBER. */
const char *rowkey_name(enum rowkey_by by);

/* rowkeys_name - the same of key @nr; of a member its path. */
const char *rowkeys_name(const struct rowkeys *keys, uint32_t nr);

/* rowkeys_part_name - the name of a part of key @nr; NULL: there is none. */
const char *rowkeys_part_name(const struct rowkeys *keys, uint32_t nr, int part);

/* What rows must have for it, in a trace; but for the first also from recordings. */
#define ROWKEY_NEEDS_LENGTH 1u /* skb.len */
#define ROWKEY_NEEDS_ARGS   2u
#define ROWKEY_NEEDS_CALLER 4u
#define ROWKEY_NEEDS_PACKET 8u
#define ROWKEY_NEEDS_COMM   16u
#define ROWKEY_NEEDS_PLACE  32u

uint32_t rowkey_needs(enum rowkey_by by);

/* rowkeys_find - the number of the key @by; keys->cnt: it is none of them. rowkeys_has - whether it is one. */
uint32_t rowkeys_find(const struct rowkeys *keys, enum rowkey_by by);
bool rowkeys_has(const struct rowkeys *keys, enum rowkey_by by);

/* rowkeys_needs - what all of them need. */
uint32_t rowkeys_needs(const struct rowkeys *keys);

/* rowkeys_put_name - append their names with @separator between them: "reason,flow". */
void rowkeys_put_name(struct strbuf *out, const struct rowkeys *keys, char separator);

/* rowkeys_what - what a row must have to be counted by key @nr: "a packet or a socket". */
const char *rowkeys_what(const struct rowkeys *keys, uint32_t nr);

/* rowkeys_hint - how a recording gets it. Valid until the next call. */
const char *rowkeys_hint(const struct rowkeys *keys, uint32_t nr);

/*
 * rowkey_of - key @nr of a call, at its ENTRY or LEAF, or of a POINT.
 *
 * @comm: of its task; "<...>": unknown. Return: false: it has none.
 */
bool rowkey_of(struct rowkey *key, const struct rowkeys *keys, uint32_t nr, const struct row *row,
	       struct text comm);

/* rowkey_member - the member @path that a call shows; NULL: it shows no such member. */
const struct value *rowkey_member(const struct row *row, struct text path);

/*
 * rowkey_only_releases - whether @func has a reason, too, but also frees what was used, and what another function has dropped: its reason is
 * none of a drop, and since 6.11 always NOT_SPECIFIED.
 */
bool rowkey_only_releases(struct text func);

/*
 * rowkey_place_frees_list - whether the function of a place, "kfree_skb_list_reason+0x4b", frees lists of packets that its callers,
 * as queues, have dropped.
 */
bool rowkey_place_frees_list(struct text place);

/*
 * rowkey_is_no_drop - whether the call is of a function that drops packets, but drops none: it has no packet (NULL), a reason that is none
 * (SKB_CONSUMED, SKB_NOT_DROPPED_YET), or only releases what others have dropped or used.
 */
bool rowkey_is_no_drop(const struct row *row);

/* rowkey_place_is_hidden - whether tracing hides the place of a drop: there is an address, but of a tracer. */
bool rowkey_place_is_hidden(const struct row *row);

/*
 * rowkey_bytes - how many bytes it is about: the member skb.len of a call, what a function sends (..._sendmsg), or the
 * length of a packet in a tracepoint. Return: whether that is known.
 */
bool rowkey_bytes(const struct row *row, uint64_t *bytes);

#endif
