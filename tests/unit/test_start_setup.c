/* Which functions open the graph. */
#include "report/pipeline.h"
#include "harness.h"
#include "nfg_abi.h"
#include "options/opttab.h"
#include "scratch.h"
#include "session/plan.h"
#include "words.h"

static struct func funcs[] = {
	{ .name = { "__sys_sendto", 12 }, .arg_kind = NFG_ARG_NONE },
	{ .name = { "udp_sendmsg", 11 }, .arg_kind = NFG_ARG_SK },
	{ .name = { "ip_rcv", 6 }, .arg_kind = NFG_ARG_SKB },
	{ .name = { "ip_output", 9 }, .arg_kind = NFG_ARG_SK },
};
static struct functab functab = { .funcs = funcs, .cnt = CNT_OF(funcs) };

/* Each function's kind as a letter: p plain, o open, c close; "": no start function was given. */
static const char *kinds_of(const char *line)
{
	static char word[8];
	struct starts *starts = NULL;
	uint8_t *kinds = NULL;
	struct opts opts = opts_of(line);

	CHECK(!start_setup_check(&opts, &functab));
	CHECK(!start_setup_new(&starts, &kinds, &opts, &functab, NULL));
	memset(word, 0, sizeof(word));
	for (size_t i = 0; kinds && i < functab.cnt; i++) {
		word[i] = "poc"[kinds[i]];
		CHECK(funcs[i].is_start == (word[i] == 'o') ||
		      !selector_of(&opts, SELECTS_BY_STARTS));
	}
	starts_free(starts);
	free(kinds);
	opts_release(&opts);
	return word;
}

TEST(names_open_and_close)
{
	CHECK_STR(kinds_of(""), "");
	CHECK_STR(kinds_of("-G ip_*"), "ppoo");
	CHECK_STR(kinds_of("-G __sys_sendto -g ip_output"), "oppc");
	CHECK_STR(kinds_of("--slower-than 1ms"), "pppp");
}

/* Where a packet or a socket is; of those that are named, when some are. */
TEST(packets_open_where_they_are)
{
	CHECK_STR(kinds_of("--packet udp"), "pooo");
	CHECK_STR(kinds_of("--packet udp -g ip_rcv"), "poco");
	CHECK_STR(kinds_of("--packet udp -G ip_rcv"), "ppop");
	CHECK_STR(kinds_of("--packet udp -G *s*"), "popp");
	CHECK_STR(kinds_of("--packet udp --preset rx"), "ppop");
}

static struct nfg_cfg configured(const char *line)
{
	struct nfg_cfg cfg = { 0 };
	struct opts opts = opts_of(line);

	start_setup_configure(&opts, &cfg);
	opts_release(&opts);
	return cfg;
}

/* "d": only drops count, of each function. */
static const char *drops_of(const char *line)
{
	static struct func dropping[] = {
		{ .name = { "kfree_skb", 9 }, .skb_arg = 1 },
		{ .name = { "sk_skb_reason_drop", 18 }, .skb_arg = 2, .reason_arg = 3 },
		{ .name = { "consume_skb", 11 }, .skb_arg = 1 },
	};
	static char word[CNT_OF(dropping) + 1];
	struct functab tab = { .funcs = dropping, .cnt = CNT_OF(dropping) };
	struct starts *starts = NULL;
	uint8_t *kinds = NULL;
	struct opts opts = opts_of(line);

	CHECK(!start_setup_new(&starts, &kinds, &opts, &tab, NULL));
	for (size_t i = 0; i < tab.cnt; i++)
		word[i] = dropping[i].only_drops ? 'd' : '-';
	starts_free(starts);
	free(kinds);
	opts_release(&opts);
	return word;
}

/* Who names the function wants all its calls, and so does another preset that has it. */
TEST(of_what_drops_only_drops_are_wanted)
{
	CHECK_STR(drops_of("--preset drop"), "dd-");
	CHECK_STR(drops_of("--preset drop -G consume_skb"), "dd-");
	CHECK_STR(drops_of("--preset drop -G kfree_skb"), "-d-");
	CHECK_STR(drops_of("--preset drop --preset stages"), "---");
	CHECK_STR(drops_of("--preset drop -g kfree_skb"), "-d-");
	CHECK_STR(drops_of("-G sk_skb_reason_drop"), "---");
	CHECK_STR(drops_of("-T kfree_skb"), "---");
}

TEST(programs_learn_the_conditions)
{
	struct nfg_cfg cfg = configured("");

	CHECK(!cfg.by_starts && !cfg.by_packet && !cfg.marks);
	cfg = configured("-G ip_rcv");
	CHECK(cfg.by_starts && !cfg.by_packet && !cfg.marks);
	cfg = configured("--packet udp --errors-only");
	CHECK(cfg.by_starts && cfg.by_packet && cfg.marks == NFG_MARK_ERRORS);
	cfg = configured("--filter 'ret < 0'");
	CHECK(cfg.by_starts && !cfg.by_packet && cfg.marks == NFG_MARK_FILTER);
}

/* Each option that selects at the return is named: any of them may be what no call matched. */
TEST(no_match_names_each_option)
{
	static const struct {
		const char *line;
		const char *want;
	} rows[] = {
		{ "--filter 'ret < 0'", "no call matched --filter (of 0 that returned)" },
		{ "--filter 'ret < 0' --slower-than 10s",
		  "no call matched --slower-than, --filter (of 0 that returned)" },
		{ "--errors-only --filter 'ret < 0' --packet udp",
		  "no call matched --errors-only, --filter (of 0 that returned)" },
		{ "-G ip_rcv", "" },
	};

	for (size_t i = 0; i < CNT_OF(rows); i++) {
		struct opts opts = opts_of(rows[i].line);
		struct starts *starts = NULL;
		uint8_t *kinds = NULL;

		CHECK(!start_setup_new(&starts, &kinds, &opts, &functab, NULL));
		listen_begin();
		start_setup_say_unmatched(&opts, starts);
		listen_end();
		in_case("%s: \"%s\"", rows[i].line, said);
		CHECK(rows[i].want[0] ? !!strstr(said, rows[i].want) : !said[0]);
		starts_free(starts);
		free(kinds);
		opts_release(&opts);
	}
}

static int check_of(const char *line)
{
	struct opts opts = opts_of(line);
	int err = start_setup_check(&opts, &functab);

	opts_release(&opts);
	return err;
}

TEST_ONE(a_packet_must_be_found_somewhere,
	 CHECK(check_of("--packet udp -G __sys_sendto") == VERDICT_NOTHING),
	 CHECK(check_of("--packet udp -g *") == VERDICT_NOTHING),
	 CHECK(!check_of("-G __sys_sendto")));

TEST_ONE(a_start_function_must_be_left, CHECK(check_of("-G ip_rcv -g ip_rcv") == VERDICT_NOTHING),
	 CHECK(check_of("-G tcp_rcv -N tcp_rcv") == VERDICT_NOTHING),
	 CHECK(!check_of("-G ip_* -g ip_rcv")), CHECK(!check_of("-G tcp_rcv")),
	 CHECK(!check_of("-G 'x [bpf]' -N ip_rcv")), CHECK(!check_of("-g ip_rcv")));

/* A function that --filter and --show want counts once, whether it is named or not; a BPF program for neither. */
TEST(functions_have_programs_of_their_own_for_one_reason)
{
	static struct shown_read reads[] = {
		{ .func_id = 1, .kind = PROTO_DECIMAL },
		{ .func_id = 2, .kind = PROTO_DECIMAL },
		{ .func_id = 3, .kind = PROTO_DECIMAL },
	};
	static const struct {
		const char *line;
		size_t filter_cnt, member_cnt;
	} rows[] = {
		{ "--show skb.len", 0, 3 },
		{ "--filter 'skb.len > 3' --show skb.len", 2, 1 },
		{ "-G ip_rcv --filter 'skb.len > 3' --show skb.len", 1, 2 },
		{ "-G udp_sendmsg --filter 'skb.len > 3' --show skb.len", 0, 3 },
		{ "-g ip_rcv --filter 'skb.len > 3' --show skb.len", 1, 2 },
		{ "--filter 'skb.len > 3'", 2, 0 },
	};

	funcs[2].fits_filter = funcs[3].fits_filter = funcs[0].fits_filter = true;
	funcs[0].prog_id = 7;
	EACH(row, rows) {
		struct opts opts = opts_of(row->line);

		in_case("%s", row->line);
		if (opts.shown) {
			opts.shown->reads = reads;
			opts.shown->read_cnt = CNT_OF(reads);
		}
		CHECK(plan_filter_cnt(&opts, &functab) == row->filter_cnt);
		CHECK(plan_member_cnt(&opts, &functab) == row->member_cnt);
		if (opts.shown)
			opts.shown->reads = NULL;
		opts_release(&opts);
	}
}
