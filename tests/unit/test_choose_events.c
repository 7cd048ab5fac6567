/* What of a recording is shown. */
#include "report/choose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "base/log.h"
#include "options/opttab.h"
#include "kernel/proto.h"
#include "script.h"

#define NAME(str)                              \
	{                                      \
		(char *)(str), sizeof(str) - 1 \
	}

enum { F_CONNECT, F_SEND, F_XMIT, F_CLOSE, F_CNT };

static struct func funcs[F_CNT] = {
	{ .name = NAME("tcp_v4_connect") },
	{ .name = NAME("tcp_sendmsg") },
	{ .name = NAME("veth_xmit"), .module = NAME("veth") },
	{ .name = NAME("tcp_close") },
};
static const struct functab functab = { .funcs = funcs, .cnt = F_CNT };

/* Two tasks on two CPUs: connect { send { xmit } } and close, that is e. */
static const char events[] = "100 c{ 110 s{ 120 cpu1 tid9 e{ 130 cpu0 tid7 x{ 140 } 150 cpu1 lost3 "
			     "160 cpu0 } 900 } 910 cpu1 tid9 }";
static const char lossless[] = "100 c{ 110 s{ 120 cpu1 tid9 e{ 130 cpu0 tid7 x{ 140 } 160 } 900 } "
			       "910 cpu1 tid9 }";

static struct text comm_of(void *ctx, uint32_t tid, uint64_t time_ns)
{
	(void)ctx;
	(void)time_ns;
	return tid == 7 ? (struct text)NAME("curl") : (struct text)NAME("nginx: worker p");
}

static struct choose_events *choose(const struct opts *opts, const struct details *details)
{
	const struct choose_events_config config = { .opts = opts,
						     .functab = &functab,
						     .details = details,
						     .path = "rec",
						     .comm = comm_of };
	struct choose_events *ch;

	script_funcs = "csxe";
	CHECK(selector_of(opts, 0));
	CHECK(!choose_events_new(&ch, &config));
	return ch;
}

/* What is shown of @from. EVENT_SURE: a point that no call spans. */
static void check_events(struct choose_events *ch, const struct event *from, size_t cnt,
			 const char *want)
{
	const struct event *out;

	CHECK(!choose_events_feed(ch, from, cnt, &out, &cnt));
	CHECK_STR(script_text(out, cnt), want);
}

static void check_calls(const struct opts *opts, const struct details *details,
			const struct event *calls, size_t cnt, const char *want)
{
	struct choose_events *ch = choose(opts, details);

	check_events(ch, calls, cnt, want);
	choose_events_free(ch);
}

static void check_script(const struct opts *opts, const char *script, const char *want)
{
	struct event from[16];

	script_begin("csxe");
	check_calls(opts, NULL, from, script_events(script, from, 16), want);
}

static void check_choice(const struct opts *opts, const char *want)
{
	check_script(opts, events, want);
}

/* One string in a list of the options. */
#define LIST(str)                                          \
	{                                                  \
		.items = (const char *[]){ str }, .cnt = 1 \
	}

TEST(choice_by_function)
{
	check_choice(&(struct opts){ .trace_funcs = LIST("tcp_*") }, "c{ s{ e{ lost3 }s }c }e");
	check_choice(&(struct opts){ .trace_funcs = LIST("*_xmit [veth]") }, "x{ }x lost3");
	check_choice(&(struct opts){ .notrace_funcs = LIST("tcp_sendmsg") },
		     "c{ e{ x{ }x lost3 }c }e");
	check_choice(&(struct opts){ .trace_funcs = LIST("tcp_*"), .notrace_funcs = LIST("*se*") },
		     "c{ lost3 }c");
	/* that this one was not recorded is as good as left out */
	check_choice(&(struct opts){ .notrace_funcs = LIST("udp_*") },
		     "c{ s{ e{ x{ }x lost3 }s }c }e");
}

TEST(choice_by_cpu_and_task)
{
	static uint64_t tid = 9;

	check_choice(&(struct opts){ .has_cpus = true, .cpus = { { 1u << 1 } } },
		     "sure e{ lost3 }e");
	check_choice(&(struct opts){ .tids = { .items = &tid, .cnt = 1 } }, "e{ lost3 }e");
	check_choice(&(struct opts){ .comms = LIST("cur?") }, "c{ s{ x{ }x lost3 }s }c");
	check_choice(&(struct opts){ .comms = LIST("nginx: w*"), .trace_funcs = LIST("tcp_v4_*") },
		     "lost3");
	/* the kernel cut that name */
	check_choice(&(struct opts){ .comms = LIST("nginx: worker process") }, "e{ lost3 }e");
	check_choice(&(struct opts){ .comms = LIST("nginx: worker") }, "lost3");
}

/* On a CPU outside --cpu, a task may have ended its calls and begun others with the same frames. */
TEST(choice_by_cpu_pairs_nothing_across_another)
{
	const struct opts opts = { .has_cpus = true, .cpus = { { 1u << 1 } } };

	check_script(&opts, "100 cpu1 c90{ cpu0 }c90 c90{ cpu1 }c90 cpu0 c90{", "c{ sure }c sure");
}

/* Its name at the beginning of a call counts; its name while its calls are in doubt does not matter. */
TEST(choice_by_name_knows_what_may_be_missing)
{
	const struct opts opts = { .comms = LIST("curl") };

	check_script(&opts, "tid9 c{ doubt sure tid7 }c", "doubt sure }c");
}

/* A loss ends all open calls: any of them may have returned. */
TEST(choice_by_root)
{
	check_script(&(struct opts){ .graph_funcs = LIST("tcp_sendmsg") }, lossless, "s{ x{ }x }s");
	check_script(&(struct opts){ .starts.slower_ns = 795 }, lossless, "c{ s{ x{ }x }s }c");
	check_script(&(struct opts){ .nograph_funcs = LIST("tcp_sendmsg") }, lossless,
		     "c{ e{ }c }e");
	check_choice(&(struct opts){ .graph_funcs = LIST("tcp_v4_connect") },
		     "c{ s{ x{ }x lost3 }s }c");
	check_choice(&(struct opts){ .graph_funcs = LIST("*_xmit [veth]") }, "x{ }x lost3");
	check_choice(&(struct opts){ .nograph_funcs = LIST("*_xmit [veth]") },
		     "c{ s{ e{ lost3 }s }c }e");
	/* a root need not be named by -T */
	check_script(&(struct opts){ .graph_funcs = LIST("tcp_v4_*"),
				     .trace_funcs = LIST("veth_xmit") },
		     lossless, "c{ x{ }x }c");
	CHECK(!funcs[F_CONNECT].is_start); /* nothing is written to the recording's table */
}

TEST(choice_by_what_is_not_there)
{
	const struct opts bad[] = {
		{ .trace_funcs = LIST("udp_sendmsg") },
		{ .trace_funcs = LIST("udp_*") },
		{ .graph_funcs = LIST("udp_sendmsg") },
		{ .trace_funcs = LIST("tcp_* [veth]") },
	};
	struct choose_events *ch;

	quiet();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct choose_events_config config = {
			.opts = &bad[i], .functab = &functab, .path = "rec", .comm = comm_of
		};

		CHECK(choose_events_new(&ch, &config) == VERDICT_NOTHING);
	}
	CHECK(!selector_of(&(struct opts){ .graph_depth = 3 }, 0));
}

/* -g and -N may name what another kernel calls. */
TEST(nothing_to_leave_out)
{
	const struct opts opts = {
		.notrace_funcs = LIST("udp_*"),
		.nograph_funcs = LIST("udp_sendmsg"),
	};

	quiet();
	check_choice(&opts, "c{ s{ e{ x{ }x lost3 }s }c }e");
}

static struct details details;

static void begin_values(void)
{
	CHECK(!values_new(&details.values, 1024) && !proto_table_new(&details.protos));
}

static void end_values(void)
{
	proto_table_free(details.protos);
	values_free(details.values);
}

static void add_proto(struct proto_table *table, enum proto_kind kind, uint8_t bytes)
{
	const struct proto proto = { .ret = { .kind = (uint8_t)kind, .bytes = bytes } };

	CHECK(!prototab_add(table, &proto));
}

/* A call of each function with that result, for the types int, u8, void and long. */
static void check_results(struct choose_events *ch, struct values *values, const uint64_t *results,
			  const char *want)
{
	struct event calls[F_CNT * 2];

	for (uint16_t i = 0; i < F_CNT; i++) {
		const struct call_values call = { .ret = results[i], .has_ret = true };

		calls[i * 2] = (struct event){ .tid = 7, .frame = 9, .func_id = i };
		calls[i * 2 + 1] = calls[i * 2];
		calls[i * 2 + 1].kind = EVENT_EXIT;
		calls[i * 2 + 1].values = values_put(values, &call);
	}
	check_events(ch, calls, F_CNT * 2, want);
}

TEST(choice_by_result)
{
	const uint64_t refused[] = { 0xffffff91, (uint64_t)-111, (uint64_t)-111, (uint64_t)-111 };
	const uint64_t fine[] = { 0x1ffff0000, 0, 0, 0xffffff91 };
	const struct opts opts = { .errors_only = true };
	struct event whole[16];
	struct choose_events *ch;

	begin_values();
	add_proto(details.protos, PROTO_SIGNED, 4);
	add_proto(details.protos, PROTO_UNSIGNED, 1);
	add_proto(details.protos, PROTO_VOID, 8);
	add_proto(details.protos, PROTO_SIGNED, 8);
	ch = choose(&opts, &details);
	check_results(ch, details.values, refused, "c{ }c e{ }e");
	check_results(ch, details.values, fine, "");
	/* not recorded: not known, and said in the end */
	check_events(ch, whole, script_events(events, whole, 16), "lost3");
	choose_events_free(ch);
	end_values();
}

static void check_filter(const char *filter, const struct event *calls, size_t cnt,
			 const char *want)
{
	struct opts opts = { 0 };

	CHECK(!filter_parse(&opts.filter, filter));
	check_calls(&opts, &details, calls, cnt, want);
	filter_free(opts.filter);
}

/* connect(len) returns -1 for 5 and 0 for others; send(len) has no result; the others have no len. */
TEST(choice_by_filter)
{
	static const uint64_t lens[] = { 5, 6, 5 };
	struct event calls[8];
	size_t cnt = 0;
	struct proto proto = { .ret = { PROTO_SIGNED, 4, 0 }, .arg_cnt = 1 };

	proto.args[0].type = (struct proto_type){ PROTO_UNSIGNED, 4, 0 };
	begin_values();
	CHECK(!prototab_keep(details.protos, (struct text)NAME("len"), &proto.args[0].name));
	CHECK(!prototab_add(details.protos, &proto));
	proto.ret.kind = PROTO_VOID;
	CHECK(!prototab_add(details.protos, &proto));
	add_proto(details.protos, PROTO_SIGNED, 4);
	add_proto(details.protos, PROTO_SIGNED, 4);
	for (uint16_t i = 0; i < 3; i++) {
		const struct call_values entry = { .args = { 0xabcd00000000 | lens[i] },
						   .arg_cnt = 1 };
		const struct call_values exit = { .ret = lens[i] == 5 ? 0xffffffff : 0,
						  .has_ret = true };
		struct event ev = { .tid = 7, .frame = (uint16_t)(90 - i), .func_id = i / 2 };

		ev.values = values_put(details.values, &entry);
		calls[cnt++] = ev;
		ev.kind = EVENT_EXIT;
		ev.values = i < 2 ? values_put(details.values, &exit) : 0;
		calls[cnt++] = ev;
	}
	quiet();
	check_filter("len == 5", calls, cnt, "c{ }c s{ }s");
	check_filter("retval < 0 && len > 4", calls, cnt, "c{ }c");
	check_filter("retval == 0", calls, cnt, "c{ }c");
	end_values();
}

/* Without values, without functions' types, and where no function has a result. */
static void check_needs(const struct opts *opts, bool needs_result)
{
	struct choose_events_config config = {
		.functab = &functab, .path = "rec", .comm = comm_of, .opts = opts
	};
	struct choose_events *ch;

	CHECK(choose_events_new(&ch, &config) == VERDICT_NOTHING);
	begin_values();
	config.details = &details;
	CHECK(choose_events_new(&ch, &config) == VERDICT_NOTHING);
	add_proto(details.protos, PROTO_VOID, 8);
	if (needs_result)
		CHECK(choose_events_new(&ch, &config) == VERDICT_NOTHING);
	end_values();
}

TEST(choice_by_result_needs_values)
{
	quiet();
	check_needs(&(struct opts){ .errors_only = true }, false);
}

TEST(choice_by_filter_needs_values)
{
	struct opts opts = { 0 };

	quiet();
	CHECK(!filter_parse(&opts.filter, "retval < 0"));
	check_needs(&opts, true);
	filter_free(opts.filter);
}
