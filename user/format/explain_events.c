/* Tracepoints in slow calls, as text: what happened, and which rules or locks were why. */
#include <inttypes.h>

#include "base/cleantext.h"
#include "base/parse.h"
#include "format/droprules.h"
#include "format/explain_parts.h"

/* "skb:kfree_skb" */
static void put_event_name(struct explain *ex, uint32_t func)
{
	const struct text system = slowcalls_module(ex->sc, func);

	if (system.len) {
		clean_add(ex->out, system.ptr, system.len, CLEAN_WORD);
		strbuf_char(ex->out, ':');
	}
	explain_put_name(ex, func);
}

static bool is_lock(const struct explain *ex, const struct cause_key *key)
{
	return key->state != SLOWCALLS_NONE && explain_name_is(ex, key->func, "contention_begin");
}

/* " a mutex was held by another task (lock:contention_begin)" */
static void put_lock(struct explain *ex, const struct cause_key *key)
{
	strbuf_char(ex->out, ' ');
	explain_put_name(ex, key->state);
	strbuf_str(ex->out, " was held by another task (");
	put_event_name(ex, key->func);
	strbuf_char(ex->out, ')');
}

/* " by nft table causes, chain out": whose rules dropped the packet, where that is known. */
static void put_rules(struct explain *ex, const struct detail_key *detail)
{
	const struct rules_key *rules = slowcalls_rules(ex->sc, detail->rules);
	const char *whose = rules ? droprules_whose(slowcalls_name(ex->sc, rules->func)) : NULL;

	if (!whose)
		return;
	strbuf_printf(ex->out, " by %s table ", whose);
	explain_put_name(ex, rules->table);
	if (rules->chain != SLOWCALLS_NONE) {
		strbuf_str(ex->out, ", chain ");
		explain_put_name(ex, rules->chain);
	}
}

/* What happened: to packets and locks in plain words, since that is the cause, and not that the kernel said so. */
static void put_happened(struct explain *ex, const struct cause *cause)
{
	static const char *const words[] = { [FREED_PARTS] = " packets' fragments were freed",
					     [FREED_PACKET] = " packets were dropped" };
	const struct cause_key *key = explain_key(ex, cause);
	const enum explain_freed freed = explain_freed(ex, cause);
	const bool is_likely = explain_is_likely_event(ex, cause);

	if (!freed && !is_lock(ex, key)) {
		strbuf_str(ex->out, is_likely ? "Likely because of " : "Seen: ");
		put_event_name(ex, key->func);
		return;
	}
	strbuf_str(ex->out, is_likely ? "Likely because" : "Seen:");
	if (!freed) {
		put_lock(ex, key);
		return;
	}
	if (key->path != SLOWCALLS_NONE) {
		strbuf_char(ex->out, ' ');
		explain_put_name(ex, key->path);
	}
	strbuf_str(ex->out, words[freed]);
	put_rules(ex, slowcalls_detail(ex->sc, cause->details[0].key));
	strbuf_str(ex->out, " (");
	put_event_name(ex, key->func);
	strbuf_char(ex->out, ')');
}

/* Events take no time, so that they cause anything is never seen. */
static void put_event(struct explain *ex, const struct cause *cause)
{
	const struct cause_key *key = explain_key(ex, cause);
	const struct detail_key *detail = slowcalls_detail(ex->sc, cause->details[0].key);
	const size_t other_cnt = ex->causes->other_cnt;

	put_happened(ex, cause);
	if (key->state != SLOWCALLS_NONE && !is_lock(ex, key)) {
		strbuf_str(ex->out, " reason=");
		explain_put_name(ex, key->state);
	}
	if (detail->rules == SLOWCALLS_NONE && explain_name_is(ex, key->state, "NETFILTER_DROP"))
		strbuf_printf(
			ex->out, " (by a firewall rule or connection tracking%s)",
			slowcalls_rules(ex->sc, 0) ? ""
			: ex->view->input
				? "; recorded with --show rules --graph-opts retval, it names the table"
				: "; --show rules names the table");
	if (detail->from != SLOWCALLS_NONE) {
		strbuf_str(ex->out, " in ");
		explain_put_name(ex, detail->from);
	}
	if (explain_freed(ex, cause) == FREED_PARTS)
		strbuf_str(ex->out, ", which is no drop by itself");
	strbuf_printf(ex->out, ": in %" PRIu64 " of %zu slow %s", cause->sums.seen_cnt,
		      ex->causes->slow_cnt, plural(ex->causes->slow_cnt, "call", "calls"));
	if (other_cnt)
		strbuf_printf(ex->out, ", and in %" PRIu64 " of %zu others.\n",
			      cause->sums.other_seen_cnt, other_cnt);
	else
		strbuf_str(ex->out, "; there are no others to compare with.\n");
}

void explain_put_events(struct explain *ex, bool are_likely)
{
	size_t cnt = 0;

	for (size_t i = ex->timed_cnt; i < ex->causes->cnt && cnt < EVENTS_SHOWN_MAX; i++) {
		if (!explain_shows_event(ex, i))
			continue;
		if (explain_is_likely_event(ex, &ex->causes->items[i]) == are_likely)
			put_event(ex, &ex->causes->items[i]);
		cnt++;
	}
}
