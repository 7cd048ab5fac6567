/* Whose rules dropped the packets of slow calls. */
#include "base/strbuf.h"
#include "base/vec.h"
#include "format/droprules.h"
#include "format/explain.h"
#include "harness.h"
#include "rows.h"
#include "slowcalled.h"

BEFORE(calls_begin);
AFTER(calls_free);

static const struct value nft_args[] = { FIELD_TEXT("nf_table", "causes"),
					 FIELD_TEXT("nf_chain", "out") };
static const struct value ipt_args[] = { FIELD_TEXT("nf_table", "filter") };
static const struct value dropped = { .text = TEXT("NF_DROP"), .form = FORM_HEX };
static const struct value dropped_by_errno = { .number = 0xffff0000, .form = FORM_HEX };
static const struct value dropped_itself = { .text = TEXT("NF_DROP_REASON"),
					     .number = 0x10002,
					     .form = FORM_HEX };
static const struct value accepted = { .text = TEXT("NF_ACCEPT"), .number = 1, .form = FORM_HEX };

#define DROP(at, reason, place)                                                         \
	do {                                                                            \
		static const struct value fields_[] = { FIELD_TEXT("location", place),  \
							FIELD_TEXT("reason", reason) }; \
		put_point(at, "skb", "kfree_skb", fields_, 2);                          \
	} while (0)

/* A call of rules, in a call of nf_hook_slow. @ret: NULL: results were not recorded. */
static void put_rules(uint64_t at_us, const char *func, const struct value *args, uint32_t arg_cnt,
		      const struct value *ret)
{
	struct row row = call_row(ROW_LEAF, 2, at_us * US, 5 * US, func);

	row.args = args;
	row.arg_cnt = arg_cnt;
	row.ret = ret;
	CHECK(!slowcalls_row(sc, &row));
}

/* Slow calls of f, in each of which @put puts what f calls. */
static void put_slow_calls(void (*put_inside)(uint64_t at_us))
{
	uint64_t at = put_usuals(1000, 30);

	for (int i = 0; i < 2; i++, at += 9000) {
		put(ROW_ENTRY, 0, at, 0, "f");
		put(ROW_ENTRY, 1, at + 10, 0, "nf_hook_slow");
		put_inside(at + 20);
		put(ROW_RETURN, 1, at + 100, 90, "nf_hook_slow");
		put(ROW_RETURN, 0, at + 5000, 5000, "f");
	}
}

static void check_drop(void (*put_inside)(uint64_t at_us), const char *want)
{
	put_slow_calls(put_inside);
	check_has(NULL, want, true);
	calls_free();
	calls_begin();
}

static void nft_verdict(uint64_t at)
{
	put_rules(at, "nft_do_chain", ipt_args, 1, &accepted);
	put_rules(at + 10, "nft_do_chain", nft_args, 2, &dropped);
	DROP(at + 20, "NETFILTER_DROP", "nf_hook_slow+0x9/0x20");
}

static void ipt_verdict(uint64_t at)
{
	put_rules(at, "ipt_do_table", ipt_args, 1, &dropped_by_errno);
	DROP(at + 10, "NETFILTER_DROP", "nf_hook_slow+0x9/0x20");
}

/* At a hook, which is that of the chain. */
static void ipt_at_hook(uint64_t at)
{
	static const struct value args[] = { FIELD_TEXT("nf_table", "filter"),
					     { .name = TEXT("nf_hook"), .number = 1 } };

	put_rules(at, "ipt_do_table", args, 2, &dropped);
	DROP(at + 10, "NETFILTER_DROP", "nf_hook_slow+0x9/0x20");
}

/* Where there is no such chain. */
static void ip6t_at_another_hook(uint64_t at)
{
	static const struct value args[] = { FIELD_TEXT("nf_table", "filter"),
					     { .name = TEXT("nf_hook"), .number = 5 } };

	put_rules(at, "ip6t_do_table", args, 2, &dropped);
	DROP(at + 10, "NETFILTER_DROP", "nf_hook_slow+0x9/0x20");
}

/* Before 5.17 there are no reasons. */
static void ip6t_verdict(uint64_t at)
{
	static const struct value place = FIELD_TEXT("location", "nf_hook_slow+0x9/0x20");

	put_rules(at, "ip6t_do_table", ipt_args, 1, &dropped);
	put_point(at + 10, "skb", "kfree_skb", &place, 1);
}

/* From 6.9 on. */
static void drops_itself(uint64_t at, const char *freeing)
{
	struct row row = call_row(ROW_ENTRY, 2, at * US, 0, "nft_do_chain");

	row.args = nft_args;
	row.arg_cnt = 2;
	CHECK(!slowcalls_row(sc, &row));
	if (freeing)
		put(ROW_ENTRY, 3, at + 1, 0, freeing);
	if (freeing)
		DROP(at + 2, "NETFILTER_DROP", "return_to_handler+0x0/0x50");
	else
		DROP(at + 2, "NETFILTER_DROP", "nft_do_chain+0x1/0x50");
	if (freeing)
		put(ROW_RETURN, 3, at + 3, 2, freeing);
	row = call_row(ROW_RETURN, 2, (at + 5) * US, 5 * US, "nft_do_chain");
	row.ret = &dropped_itself;
	CHECK(!slowcalls_row(sc, &row));
}

static void nft_itself(uint64_t at)
{
	drops_itself(at, NULL);
}

static void nft_frees(uint64_t at)
{
	drops_itself(at, "sk_skb_reason_drop");
}

TEST(rules_that_dropped_a_packet_are_named)
{
	check_drop(
		nft_verdict,
		"Likely because packets were dropped by nft table causes, chain out (skb:kfree_skb) reason=NETFILTER_DROP in nf_hook_slow: in 2 of 2 slow calls, and in 0 of 30 others.\n");
	check_drop(
		ipt_verdict,
		"packets were dropped by iptables table filter (skb:kfree_skb) reason=NETFILTER_DROP in nf_hook_slow: ");
	check_drop(ipt_at_hook,
		   "packets were dropped by iptables table filter, chain INPUT (skb:kfree_skb) ");
	check_drop(ip6t_at_another_hook,
		   "packets were dropped by ip6tables table filter (skb:kfree_skb) ");
	check_drop(
		ip6t_verdict,
		"packets were dropped by ip6tables table filter (skb:kfree_skb) in nf_hook_slow: ");
	check_drop(
		nft_itself,
		"packets were dropped by nft table causes, chain out (skb:kfree_skb) reason=NETFILTER_DROP in nft_do_chain: ");
	check_drop(
		nft_frees,
		"packets were dropped by nft table causes, chain out (skb:kfree_skb) reason=NETFILTER_DROP in nft_do_chain: ");
}

/* As connection tracking drops it. */
static void accepted_before(uint64_t at)
{
	put_rules(at, "nft_do_chain", nft_args, 2, &dropped);
	put_rules(at + 10, "nft_do_chain", nft_args, 2, &accepted);
	DROP(at + 20, "NETFILTER_DROP", "nf_hook_slow+0x9/0x20");
}

static void no_results(uint64_t at)
{
	put_rules(at, "nft_do_chain", nft_args, 2, NULL);
	DROP(at + 10, "NETFILTER_DROP", "nf_hook_slow+0x9/0x20");
}

static void no_table(uint64_t at)
{
	static const struct value null = FIELD_TEXT("nf_table", "(null)");

	put_rules(at, "nft_do_chain", NULL, 0, &dropped);
	DROP(at + 10, "NETFILTER_DROP", "nf_hook_slow+0x9/0x20");
	put_rules(at + 20, "nft_do_chain", &null, 1, &dropped);
	DROP(at + 30, "NETFILTER_DROP", "nf_hook_slow+0x9/0x20");
}

/* The packet of the verdict is dropped once. */
static void another_drop(uint64_t at)
{
	put_rules(at, "nft_do_chain", nft_args, 2, &dropped);
	put_point(at + 10, "skb", "kfree_skb", NULL, 0);
	DROP(at + 20, "NO_SOCKET", "udp_rcv+0x9/0x20");
}

TEST(rules_that_did_not_drop_a_packet_are_not_named)
{
	static const char nobody[] =
		"packets were dropped (skb:kfree_skb) reason=NETFILTER_DROP (by a firewall rule or connection tracking; recorded with --show rules --graph-opts retval, it names the table) in nf_hook_slow: in 2 of 2";

	check_drop(
		accepted_before,
		"reason=NETFILTER_DROP (by a firewall rule or connection tracking) in nf_hook_slow: in 2 of 2");
	check_drop(no_results, nobody);
	check_drop(no_table, nobody);
	check_drop(another_drop,
		   "packets were dropped (skb:kfree_skb) reason=NO_SOCKET in udp_rcv: in 2 of 2");
}

static void dropped_twice(uint64_t at)
{
	nft_verdict(at);
	DROP(at + 40, "NETFILTER_DROP", "nf_hook_slow+0x9/0x20");
}

/* A verdict is of one packet, and of the call in which it came. */
TEST(a_verdict_drops_one_packet)
{
	put_slow_calls(dropped_twice);
	find(0);
	CHECK_INT(causes.items[causes.cnt - 1].sums.slow_cnt, 4);
	CHECK_INT(causes.items[causes.cnt - 1].detail_cnt, 2);
}

TEST(rules_are_in_json)
{
	const struct explain_view view = { .start_max = 3, .has_sleeps = true };
	struct explain_result result;
	struct strbuf out = { 0 };

	put_slow_calls(nft_verdict);
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_JSON, &out, &result));
	CHECK(strstr(
		strbuf_cstr(&out),
		"\"reason\":\"NETFILTER_DROP\",\"location\":\"nf_hook_slow\",\"rules\":{\"func\":\"nft_do_chain\",\"table\":\"causes\",\"chain\":\"out\"},"));
	strbuf_release(&out);
	calls_free();
	calls_begin();
	put_slow_calls(no_results);
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_JSON, &out, &result));
	CHECK(strstr(strbuf_cstr(&out), "\"location\":\"nf_hook_slow\",\"rules\":null,"));
	strbuf_release(&out);
}

/* A text writes the name alone, and one without names the number. */
TEST(what_is_a_verdict_to_drop)
{
	static const struct value text = { .text = TEXT("NF_DROP") };
	static const struct value other = { .text = TEXT("NF_DROP_REASON") };
	static const struct value queued = { .number = 0x10003, .form = FORM_HEX };

	CHECK(droprules_is_drop(&text));
	CHECK(droprules_is_drop(&dropped));
	CHECK(droprules_is_drop(&dropped_by_errno));
	CHECK(!droprules_is_drop(&other));
	CHECK(!droprules_is_drop(&dropped_itself));
	CHECK(!droprules_is_drop(&queued));
	CHECK(!droprules_is_drop(&accepted));
	CHECK(!droprules_is_drop(NULL));
	CHECK(!droprules_whose(TEXT("nft_immediate_eval")));
}
