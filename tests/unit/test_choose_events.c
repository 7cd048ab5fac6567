/* What of a recording is shown. */
#include "report/choose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "base/log.h"
#include "kernel/proto.h"

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

/* Two tasks on two CPUs: connect { send { xmit } } and close. */
static const struct event events[] = {
	{ .time_ns = 100, .tid = 7, .frame = 90, .func_id = F_CONNECT },
	{ .time_ns = 110, .tid = 7, .frame = 80, .func_id = F_SEND },
	{ .time_ns = 120, .tid = 9, .frame = 90, .func_id = F_CLOSE, .cpu = 1 },
	{ .time_ns = 130, .tid = 7, .frame = 70, .func_id = F_XMIT },
	{ .time_ns = 140, .tid = 7, .frame = 70, .func_id = F_XMIT, .kind = EVENT_EXIT },
	{ .time_ns = 150, .lost_cnt = 3, .kind = EVENT_LOST, .cpu = 1 },
	{ .time_ns = 160, .tid = 7, .frame = 80, .func_id = F_SEND, .kind = EVENT_EXIT },
	{ .time_ns = 900, .tid = 7, .frame = 90, .func_id = F_CONNECT, .kind = EVENT_EXIT },
	{ .time_ns = 910, .tid = 9, .frame = 90, .func_id = F_CLOSE, .kind = EVENT_EXIT, .cpu = 1 },
};

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

	CHECK(choose_events_is_made(opts));
	CHECK(!choose_events_new(&ch, &config));
	return ch;
}

/*
 * The events as text: "+0 -0" are entry and exit of function 0, "!" is a loss, "|" a point that no
 * call spans.
 */
static void check_events(struct choose_events *ch, const struct event *from, size_t cnt,
			 const char *want)
{
	const struct event *out;
	char got[256] = "";
	size_t out_cnt;

	CHECK(!choose_events_feed(ch, from, cnt, &out, &out_cnt));
	for (size_t i = 0; i < out_cnt; i++) {
		char word[16] = "!";

		if (out[i].kind == EVENT_SURE)
			strcpy(word, "|");
		else if (out[i].kind != EVENT_LOST)
			snprintf(word, sizeof(word), "%c%u", out[i].kind == EVENT_ENTRY ? '+' : '-',
				 out[i].func_id);
		strcat(got, got[0] ? " " : "");
		strcat(got, word);
	}
	CHECK_STR(got, want);
}

static void check_choice(const struct opts *opts, const char *want)
{
	struct choose_events *ch = choose(opts, NULL);

	check_events(ch, events, sizeof(events) / sizeof(events[0]), want);
	choose_events_free(ch);
}

/* One string in a list of the options. */
#define LIST(str)                                          \
	{                                                  \
		.items = (const char *[]){ str }, .cnt = 1 \
	}

TEST(choice_by_function)
{
	check_choice(&(struct opts){ .trace_funcs = LIST("tcp_*") }, "+0 +1 +3 ! -1 -0 -3");
	check_choice(&(struct opts){ .trace_funcs = LIST("*_xmit [veth]") }, "+2 -2 !");
	check_choice(&(struct opts){ .notrace_funcs = LIST("tcp_sendmsg") }, "+0 +3 +2 -2 ! -0 -3");
	check_choice(&(struct opts){ .trace_funcs = LIST("tcp_*"), .notrace_funcs = LIST("*se*") },
		     "+0 ! -0");
	/* that this one was not recorded is as good as left out */
	check_choice(&(struct opts){ .notrace_funcs = LIST("udp_*") }, "+0 +1 +3 +2 -2 ! -1 -0 -3");
}

TEST(choice_by_cpu_and_task)
{
	static uint64_t tid = 9;

	check_choice(&(struct opts){ .has_cpus = true, .cpus = { { 1u << 1 } } }, "| +3 ! -3");
	check_choice(&(struct opts){ .tids = { .items = &tid, .cnt = 1 } }, "+3 ! -3");
	check_choice(&(struct opts){ .comms = LIST("cur?") }, "+0 +1 +2 -2 ! -1 -0");
	check_choice(&(struct opts){ .comms = LIST("nginx: w*"), .trace_funcs = LIST("tcp_v4_*") },
		     "!");
	/* the kernel cut that name */
	check_choice(&(struct opts){ .comms = LIST("nginx: worker process") }, "+3 ! -3");
	check_choice(&(struct opts){ .comms = LIST("nginx: worker") }, "!");
}

/* On a CPU outside --cpu, a task may have ended its calls and begun others with the same frames. */
TEST(choice_by_cpu_pairs_nothing_across_another)
{
	const struct event from[] = {
		{ .time_ns = 100, .tid = 7, .frame = 90, .cpu = 1 },
		{ .time_ns = 110, .tid = 7, .frame = 90, .kind = EVENT_EXIT },
		{ .time_ns = 120, .tid = 7, .frame = 90 },
		{ .time_ns = 130, .tid = 7, .frame = 90, .kind = EVENT_EXIT, .cpu = 1 },
		{ .time_ns = 140, .tid = 7, .frame = 90 },
	};
	const struct opts opts = { .has_cpus = true, .cpus = { { 1u << 1 } } };
	struct choose_events *ch = choose(&opts, NULL);

	check_events(ch, from, 5, "+0 | -0 |");
	choose_events_free(ch);
}

/* Its name at the beginning of a call counts; its name while its calls are in doubt does not matter. */
TEST(choice_by_name_knows_what_may_be_missing)
{
	const struct event from[] = {
		{ .time_ns = 100, .tid = 9, .frame = 90 },
		{ .time_ns = 110, .tid = 9, .kind = EVENT_DOUBT },
		{ .time_ns = 120, .tid = 9, .kind = EVENT_SURE },
		{ .time_ns = 130, .tid = 7, .frame = 90, .kind = EVENT_EXIT },
	};
	const struct opts opts = { .comms = LIST("curl") };
	const struct event *out;
	struct choose_events *ch = choose(&opts, NULL);
	size_t cnt;

	CHECK(!choose_events_feed(ch, from, 4, &out, &cnt) && cnt == 3);
	CHECK(out[0].kind == EVENT_DOUBT && out[1].kind == EVENT_SURE && out[2].tid == 7);
	choose_events_free(ch);
}

/* A loss ends all open calls: any of them may have returned. */
TEST(choice_by_root)
{
	const struct event whole[] = { events[0], events[1], events[2], events[3],
				       events[4], events[6], events[7], events[8] };
	struct opts opts = { .graph_funcs = LIST("tcp_sendmsg") };
	struct choose_events *ch = choose(&opts, NULL);

	check_events(ch, whole, 8, "+1 +2 -2 -1");
	choose_events_free(ch);
	opts = (struct opts){ .slower_ns = 795 };
	ch = choose(&opts, NULL);
	check_events(ch, whole, 8, "+0 +1 +2 -2 -1 -0");
	choose_events_free(ch);
	opts = (struct opts){ .nograph_funcs = LIST("tcp_sendmsg") };
	ch = choose(&opts, NULL);
	check_events(ch, whole, 8, "+0 +3 -0 -3");
	choose_events_free(ch);
	check_choice(&(struct opts){ .graph_funcs = LIST("tcp_v4_connect") },
		     "+0 +1 +2 -2 ! -1 -0");
	check_choice(&(struct opts){ .graph_funcs = LIST("*_xmit [veth]") }, "+2 -2 !");
	check_choice(&(struct opts){ .nograph_funcs = LIST("*_xmit [veth]") },
		     "+0 +1 +3 ! -1 -0 -3");
	/* a root need not be named by -T */
	opts = (struct opts){ .graph_funcs = LIST("tcp_v4_*"), .trace_funcs = LIST("veth_xmit") };
	ch = choose(&opts, NULL);
	check_events(ch, whole, 8, "+0 +2 -2 -0");
	choose_events_free(ch);
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

		CHECK(choose_events_new(&ch, &config) == -ENOMSG);
	}
	CHECK(!choose_events_is_made(&(struct opts){ .graph_depth = 3 }));
}

/* -g and -N may name what another kernel calls. */
TEST(nothing_to_leave_out)
{
	const struct opts opts = {
		.notrace_funcs = LIST("udp_*"),
		.nograph_funcs = LIST("udp_sendmsg"),
	};

	quiet();
	check_choice(&opts, "+0 +1 +3 +2 -2 ! -1 -0 -3");
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
	struct details details = { 0 };
	struct choose_events *ch;

	CHECK(!values_new(&details.values, 1024) && !proto_table_new(&details.protos));
	add_proto(details.protos, PROTO_SIGNED, 4);
	add_proto(details.protos, PROTO_UNSIGNED, 1);
	add_proto(details.protos, PROTO_VOID, 8);
	add_proto(details.protos, PROTO_SIGNED, 8);
	ch = choose(&opts, &details);
	check_results(ch, details.values, refused, "+0 -0 +3 -3");
	check_results(ch, details.values, fine, "");
	/* not recorded: not known, and said in the end */
	check_events(ch, events, sizeof(events) / sizeof(events[0]), "!");
	choose_events_free(ch);
	proto_table_free(details.protos);
	values_free(details.values);
}

/* connect(len) returns -1 for 5 and 0 for others; send(len) has no result; the others have no len. */
TEST(choice_by_filter)
{
	static const uint64_t lens[] = { 5, 6, 5 };
	struct opts opts = { 0 };
	struct details details = { 0 };
	struct event calls[8];
	size_t cnt = 0;
	struct choose_events *ch;
	struct proto proto = { .ret = { PROTO_SIGNED, 4, 0 }, .arg_cnt = 1 };

	proto.args[0].type = (struct proto_type){ PROTO_UNSIGNED, 4, 0 };
	CHECK(!values_new(&details.values, 1024) && !proto_table_new(&details.protos));
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
	CHECK(!filter_parse(&opts.filter, "len == 5"));
	ch = choose(&opts, &details);
	check_events(ch, calls, cnt, "+0 -0 +1 -1");
	choose_events_free(ch);
	filter_free(opts.filter);
	CHECK(!filter_parse(&opts.filter, "retval < 0 && len > 4"));
	ch = choose(&opts, &details);
	check_events(ch, calls, cnt, "+0 -0");
	choose_events_free(ch);
	filter_free(opts.filter);
	CHECK(!filter_parse(&opts.filter, "retval == 0"));
	ch = choose(&opts, &details);
	check_events(ch, calls, cnt, "+0 -0");
	choose_events_free(ch);
	filter_free(opts.filter);
	proto_table_free(details.protos);
	values_free(details.values);
}

TEST(choice_by_result_needs_values)
{
	const struct opts opts = { .errors_only = true };
	struct details details = { 0 };
	struct choose_events_config config = {
		.functab = &functab, .path = "rec", .comm = comm_of, .opts = &opts
	};
	struct choose_events *ch;

	quiet();
	CHECK(choose_events_new(&ch, &config) == -ENOMSG);
	CHECK(!values_new(&details.values, 16) && !proto_table_new(&details.protos));
	config.details = &details;
	CHECK(choose_events_new(&ch, &config) == -ENOMSG);
	proto_table_free(details.protos);
	values_free(details.values);
}

TEST(choice_by_filter_needs_values)
{
	const struct choose_events_config config = { .functab = &functab,
						     .path = "rec",
						     .comm = comm_of };
	struct choose_events_config here = config;
	struct details details = { 0 };
	struct opts opts = { 0 };
	struct choose_events *ch;

	quiet();
	CHECK(!filter_parse(&opts.filter, "retval < 0"));
	here.opts = &opts;
	CHECK(choose_events_new(&ch, &here) == -ENOMSG);
	CHECK(!values_new(&details.values, 16) && !proto_table_new(&details.protos));
	here.details = &details;
	CHECK(choose_events_new(&ch, &here) == -ENOMSG);
	add_proto(details.protos, PROTO_VOID, 8);
	CHECK(choose_events_new(&ch, &here) == -ENOMSG); /* none of the functions has a result */
	filter_free(opts.filter);
	proto_table_free(details.protos);
	values_free(details.values);
}
