#include "report/keycheck.h"

#include <string.h>

#include "base/log.h"
#include "base/verdict.h"
#include "kernel/tracepoint.h"
#include "trace/trigger.h"

static const struct proto_type *type_of(const struct proto *proto, const char *name)
{
	for (uint32_t i = 0; proto && i < proto->arg_cnt; i++) {
		if (text_equal(proto->args[i].name, text_from(name)))
			return &proto->args[i].type;
	}
	return NULL;
}

static void note_drop_reason(void *ctx, struct text name)
{
	bool *is_drop = ctx;

	*is_drop |= name.len > 4 && !memcmp(name.ptr, "SKB_", 4);
}

/* An enum of reasons is one of drops if its enumerators say so: sockets are reset for reasons, too. */
static bool has_drop_reason(const struct proto_table *protos, const struct proto *proto)
{
	const struct proto_type *type = type_of(proto, "reason");
	bool is_drop = false;

	if (type)
		proto_enumerators(protos, type, note_drop_reason, &is_drop);
	return is_drop;
}

static bool func_may_have(const struct keycheck *check, uint32_t id, const struct rowkeys *keys,
			  uint32_t nr)
{
	const struct func *func = &check->functab->funcs[id];
	const struct proto *proto = check->protos ? proto_table_get(check->protos, id) : NULL;
	uint32_t word;

	switch (keys->by[nr]) {
	case ROWKEY_REASON:
		return !check->protos || has_drop_reason(check->protos, proto) ||
		       text_equal(func->name, text_from("kfree_skb"));
	case ROWKEY_FLOW:
		return func->arg_kind != NFG_ARG_NONE;
	case ROWKEY_DEVICE:
		return func->skb_arg != 0;
	case ROWKEY_MEMBER:
		return check->members &&
		       proto_field_type(check->members, id, text_from(keys->members[nr]), &word);
	default:
		return true;
	}
}

static bool point_may_have(const struct keycheck *check, uint32_t id, const struct rowkeys *keys,
			   uint32_t nr)
{
	const struct point *point = &check->points->points[id];
	const struct proto *proto =
		check->point_protos ? proto_table_get(check->point_protos, id) : NULL;

	switch (keys->by[nr]) {
	case ROWKEY_REASON:
		return text_equal(point->name, text_from("kfree_skb"));
	case ROWKEY_FLOW:
		return text_equal(point->system, text_from("tcp")) &&
		       (!proto || type_of(proto, "saddr") || type_of(proto, "saddrv6"));
	case ROWKEY_DEVICE:
		return !proto || type_of(proto, "dev");
	case ROWKEY_CALLER:
		return !proto || type_of(proto, "location");
	case ROWKEY_MEMBER:
		return false;
	default:
		return true;
	}
}

typedef bool (*may_have_fn)(const struct keycheck *check, uint32_t id, const struct rowkeys *keys,
			    uint32_t nr);

/* Whether one of @cnt functions or tracepoints may have key @nr, and is one that counts. */
static bool one_may_have(const struct keycheck *check, size_t cnt, may_have_fn may_have,
			 const struct rowkeys *keys, uint32_t nr)
{
	const uint32_t reason = rowkeys_find(keys, ROWKEY_REASON);

	for (uint32_t i = 0; i < cnt; i++) {
		if (may_have(check, i, keys, nr) &&
		    (reason == keys->cnt || may_have(check, i, keys, reason)))
			return true;
	}
	return false;
}

static bool is_missing(const struct keycheck *check, const struct rowkeys *keys, uint32_t nr)
{
	const size_t func_cnt = check->counts_points ? 0 : check->functab->cnt;

	return !one_may_have(check, func_cnt, func_may_have, keys, nr) &&
	       !one_may_have(check, check->points->cnt, point_may_have, keys, nr);
}

uint32_t keycheck_missing(const struct keycheck *check, const struct rowkeys *keys)
{
	const uint32_t reason = rowkeys_find(keys, ROWKEY_REASON);
	uint32_t nr = 0;

	/* without reasons the other key is missing, too */
	if (reason < keys->cnt && is_missing(check, keys, reason))
		return reason;
	while (nr < keys->cnt && !is_missing(check, keys, nr))
		nr++;
	return nr;
}

/* The function that frees what is dropped. */
static const char *drop_func(const struct ksyms *ksyms)
{
	const struct trigger_cond drops = { .what = TRIGGER_DROPS };
	const char *rule = trigger_wants(&drops, ksyms_has, (void *)ksyms);

	return rule ? rule + 1 : "kfree_skb"; /* the rule is for -T: +NAME */
}

static bool counts_retransmits(const struct opts *opts)
{
	for (size_t i = 0; i < opts->events.cnt; i++) {
		if (tracepoint_matches(opts->events.items[i], "tcp", "tcp_retransmit_skb"))
			return true;
	}
	return false;
}

static void hint_source(const struct opts *opts, enum rowkey_by missing, const char *func)
{
	if (missing == ROWKEY_REASON)
		log_hint("-T %s or -e skb:kfree_skb counts what is dropped", func);
	else if (missing != ROWKEY_CALLER && opts_counts_drops(opts))
		log_hint(
			"--preset drop counts what is dropped, and has the packet, which skb:kfree_skb lacks");
	else if (missing == ROWKEY_FLOW)
		log_hint(
			"functions with a packet or a socket have them (-T ip_rcv, -T tcp_sendmsg), and tracepoints of tcp:* with addresses (-e tcp:tcp_retransmit_skb)");
	else if (missing == ROWKEY_DEVICE)
		log_hint(
			"functions with a packet have it (-T ip_rcv, -T dev_hard_start_xmit), and tracepoints with a field dev (-e net:net_dev_queue)");
	else if (missing == ROWKEY_MEMBER)
		log_hint("tracepoints have no members: -T FUNC counts the calls of a function");
	else if (counts_retransmits(opts))
		log_hint("--preset retransmit counts the same packets, and has their callers");
	else
		log_hint("functions have one, and of tracepoints skb:kfree_skb");
}

bool keycheck_is_address(const struct keycheck *check, const char *member)
{
	uint32_t word;

	for (uint32_t i = 0; check->members && i < check->functab->cnt; i++) {
		const struct proto_type *type =
			proto_field_type(check->members, i, text_from(member), &word);

		if (type)
			return type->kind == PROTO_POINTER;
	}
	return false;
}

static bool is_device(const char *member)
{
	const char *dot = strrchr(member, '.');

	return dot && !strcmp(dot, ".dev");
}

/* A row for each address is seldom what was meant. */
static void hint_addresses(const struct keycheck *check, const struct rowkeys *keys)
{
	for (uint32_t i = 0; i < keys->cnt; i++) {
		const char *member = keys->members[i];

		if (keys->by[i] == ROWKEY_MEMBER && keycheck_is_address(check, member))
			log_hint("%s is an address; %s.%s is behind it", member, member,
				 is_device(member) ? "name" : "MEMBER");
	}
}

int keycheck_say(const struct keycheck *check, const struct opts *opts, const struct ksyms *ksyms)
{
	struct strbuf by = { 0 };
	uint32_t missing;

	if (opts->by != BY_KEY)
		return 0;
	missing = keycheck_missing(check, &opts->keys);
	if (missing == opts->keys.cnt) {
		hint_addresses(check, &opts->keys);
		return 0;
	}
	rowkeys_put_name(&by, &opts->keys, ',');
	log_error("nothing that is traced has %s, which --by %s counts by",
		  rowkeys_what(&opts->keys, missing), strbuf_cstr(&by));
	hint_source(opts, opts->keys.by[missing], drop_func(ksyms));
	strbuf_release(&by);
	return VERDICT_NOTHING;
}
