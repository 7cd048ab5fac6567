/* What of a recording is shown. */
#include "report/choose.h"
#include "harness.h"
#include "base/log.h"
#include "options/opttab.h"
#include "kernel/proto.h"
#include "script.h"
#include "words.h"

#define NAME(str) ((struct text){ str, sizeof(str) - 1 })

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
	return tid == 7 ? NAME("curl") : NAME("nginx: worker p");
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

/* The first two functions are known at first, the others before tcp_sendmsg returns. Return: choose_events_finish. */
static int choose_grown(const char *line, const struct details *values, const char *before,
			const char *after)
{
	struct opts opts = opts_of(line);
	struct functab growing = { .funcs = malloc(2 * sizeof(*funcs)), .cnt = 2 };
	const struct choose_events_config config = { .opts = &opts,
						     .functab = &growing,
						     .may_grow = true,
						     .details = values,
						     .path = "rec",
						     .comm = comm_of };
	struct choose_events *ch;
	struct event from[16];
	int err;

	in_case("%s", line);
	memcpy(growing.funcs, funcs, 2 * sizeof(*funcs));
	script_begin("csxe");
	CHECK(!choose_events_new(&ch, &config));
	check_events(ch, from, script_events("100 c{ 110 s{", from, 16), before);
	free(growing.funcs);
	growing = (struct functab){ .funcs = funcs, .cnt = F_CNT };
	check_events(ch, from, script_events("120 x{ 130 } 140 } 150 e{ 900 }", from, 16), after);
	err = choose_events_finish(ch);
	choose_events_free(ch);
	opts_release(&opts);
	return err;
}

TEST(functions_that_come_later_are_chosen)
{
	quiet();
	CHECK(!choose_grown("-T veth_xmit", NULL, "", "x{ }x"));
	CHECK(!choose_grown("-T 'veth* [veth]' -T tcp_sendmsg", NULL, "s{", "x{ }x }s"));
	CHECK(!choose_grown("-G veth_xmit", NULL, "", "x{ }x"));
	CHECK(!choose_grown("-G tcp_close -G tcp_sendmsg", NULL, "s{", "x{ }x }s e{ }e"));
	CHECK(!choose_grown("-g veth_xmit", NULL, "c{ s{", "}s e{ }e"));
	CHECK(!choose_grown("-N veth_xmit", NULL, "c{ s{", "}s e{ }e"));
	CHECK(!choose_grown("-G tcp_close --slower-than 700ns", NULL, "", "e{ }e"));
	CHECK(choose_grown("-T udp_sendmsg", NULL, "", "") == VERDICT_NOTHING);
	CHECK(choose_grown("-T tcp_sendmsg -G udp_*", NULL, "", "") == VERDICT_NOTHING);
	CHECK(!funcs[F_CLOSE].is_start);
}

static void check_calls(const struct opts *opts, const struct details *details,
			const struct event *calls, size_t cnt, const char *want)
{
	struct choose_events *ch = choose(opts, details);

	check_events(ch, calls, cnt, want);
	choose_events_free(ch);
}

static void check_script(const char *line, const char *script, const char *want)
{
	struct opts opts = opts_of(line);
	struct event from[16];

	script_begin("csxe");
	check_calls(&opts, NULL, from, script_events(script, from, 16), want);
	opts_release(&opts);
}

static void check_choice(const char *line, const char *want)
{
	check_script(line, events, want);
}

TEST(choice_by_function)
{
	check_choice("-T tcp_*", "c{ s{ e{ lost3 }s }c }e");
	check_choice("-T '*_xmit [veth]'", "x{ }x lost3");
	check_choice("-N tcp_sendmsg", "c{ e{ x{ }x lost3 }c }e");
	check_choice("-T tcp_* -N *se*", "c{ lost3 }c");
	/* that this one was not recorded is as good as left out */
	check_choice("-N udp_*", "c{ s{ e{ x{ }x lost3 }s }c }e");
}

TEST(choice_by_cpu_and_task)
{
	check_choice("-C 1", "sure e{ lost3 }e");
	check_choice("--tid 9", "e{ lost3 }e");
	check_choice("--comm cur?", "c{ s{ x{ }x lost3 }s }c");
	check_choice("--comm 'nginx: w*' -T tcp_v4_*", "lost3");
	/* the kernel cut that name */
	check_choice("--comm 'nginx: worker process'", "e{ lost3 }e");
	check_choice("--comm 'nginx: worker'", "lost3");
}

/* On a CPU outside --cpu, a task may have ended its calls and begun others with the same frames. */
TEST_ONE(choice_by_cpu_pairs_nothing_across_another,
	 check_script("-C 1", "100 cpu1 c90{ cpu0 }c90 c90{ cpu1 }c90 cpu0 c90{",
		      "c{ sure }c sure"));

/* Its name at the beginning of a call counts; its name while its calls are in doubt does not matter. */
TEST_ONE(choice_by_name_knows_what_may_be_missing,
	 check_script("--comm curl", "tid9 c{ doubt sure tid7 }c", "doubt sure }c"));

/* A loss ends all open calls: any of them may have returned. */
TEST(choice_by_root)
{
	check_script("-G tcp_sendmsg", lossless, "s{ x{ }x }s");
	check_script("--slower-than 795ns", lossless, "c{ s{ x{ }x }s }c");
	check_script("-g tcp_sendmsg", lossless, "c{ e{ }c }e");
	check_choice("-G tcp_v4_connect", "c{ s{ x{ }x lost3 }s }c");
	check_choice("-G '*_xmit [veth]'", "x{ }x lost3");
	check_choice("-g '*_xmit [veth]'", "c{ s{ e{ lost3 }s }c }e");
	/* a root need not be named by -T */
	check_script("-G tcp_v4_* -T veth_xmit", lossless, "c{ x{ }x }c");
	CHECK(!funcs[F_CONNECT].is_start); /* nothing is written to the recording's table */
}

TEST(choice_by_what_is_not_there)
{
	quiet();
	EACH_PART(line, "-T udp_sendmsg; -T udp_*; -G udp_sendmsg; -T 'tcp_* [veth]'") {
		struct opts opts = opts_of(line);
		const struct choose_events_config config = {
			.opts = &opts, .functab = &functab, .path = "rec", .comm = comm_of
		};
		struct choose_events *ch;

		CHECK(choose_events_new(&ch, &config) == VERDICT_NOTHING);
		opts_release(&opts);
	}
	CHECK(!selector_of(&(struct opts){ .graph_depth = 3 }, 0));
}

/* -g and -N may name what another kernel calls. */
TEST_ONE(nothing_to_leave_out, quiet(),
	 check_choice("-N udp_* -g udp_sendmsg", "c{ s{ e{ x{ }x lost3 }s }c }e"));

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

static uint32_t packet_put(uint16_t dport)
{
	const struct call_values call = {
		.packet = { .family = 4,
			    .proto = 17,
			    .dport = (uint16_t)(dport << 8 | dport >> 8) },
		.has_packet = true,
	};

	return values_put(details.values, &call);
}

/* A tree begins at the outermost call whose packet matches, and ends with it. */
static void check_packets(const char *line, const char *want)
{
	static const char script[] =
		"100 c{ 110 s{ 120 x{ 130 } 140 } 150 s{ 160 } 900 } 910 e{ 920 }";
	struct opts opts = opts_of(line);
	struct event calls[16];
	size_t entry_cnt = 0;
	size_t cnt;

	opts.input_path = "rec";
	begin_values();
	script_begin("csxe");
	cnt = script_events(script, calls, 16);
	/* the packets of connect, of send with xmit in it, of another send, and close, which has none */
	for (size_t i = 0; i < cnt; i++) {
		const uint32_t values[] = { packet_put(1), packet_put(53), packet_put(53),
					    packet_put(7), 0 };

		if (calls[i].kind == EVENT_ENTRY)
			calls[i].values = values[entry_cnt++];
	}
	check_calls(&opts, &details, calls, cnt, want);
	opts_release(&opts);
	end_values();
}

TEST(choice_by_packet)
{
	check_packets("--packet 'udp port 53'", "s{ x{ }x }s");
	check_packets("--packet 'udp port 7 or port 1'", "c{ s{ x{ }x }s s{ }s }c");
	check_packets("--packet 'udp port 7'", "s{ }s");
	check_packets("--packet 'udp port 53' -G '*_xmit [veth]'", "x{ }x");
	check_packets("--packet 'udp port 53 or port 7' -G tcp_sendmsg --slower-than 20ns",
		      "s{ x{ }x }s");
	check_packets("--packet tcp", "");
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
	struct opts opts = opts_of(filter);

	check_calls(&opts, &details, calls, cnt, want);
	opts_release(&opts);
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
	CHECK(!prototab_keep(details.protos, NAME("len"), &proto.args[0].name));
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
	check_filter("--filter 'len == 5'", calls, cnt, "c{ }c s{ }s");
	check_filter("--filter 'retval < 0 && len > 4'", calls, cnt, "c{ }c");
	check_filter("--filter 'retval == 0'", calls, cnt, "c{ }c");
	end_values();
}

/* None that is known at the beginning has a result, or the only one that has may come. */
TEST(functions_that_come_later_fit_the_filter)
{
	quiet();
	for (int has = 0; has <= 1; has++) {
		begin_values();
		for (int i = 0; i < F_CNT; i++)
			add_proto(details.protos, has && i == F_XMIT ? PROTO_SIGNED : PROTO_VOID,
				  has && i == F_XMIT ? 4 : 8);
		CHECK(choose_grown("--filter 'retval < 0'", &details, "", "") ==
		      (has ? 0 : VERDICT_NOTHING));
		end_values();
	}
}

/* Without values, without functions' types, and where no function has a result. */
static void check_needs(const char *line, bool needs_result)
{
	struct opts opts = opts_of(line);
	struct choose_events_config config = {
		.functab = &functab, .path = "rec", .comm = comm_of, .opts = &opts
	};
	struct choose_events *ch;

	quiet();
	CHECK(choose_events_new(&ch, &config) == VERDICT_NOTHING);
	begin_values();
	config.details = &details;
	CHECK(choose_events_new(&ch, &config) == VERDICT_NOTHING);
	add_proto(details.protos, PROTO_VOID, 8);
	if (needs_result)
		CHECK(choose_events_new(&ch, &config) == VERDICT_NOTHING);
	end_values();
	opts_release(&opts);
}

TEST_ONE(choice_by_result_needs_values, check_needs("--errors-only", false));
TEST_ONE(choice_by_filter_needs_values, check_needs("--filter 'retval < 0'", true));
