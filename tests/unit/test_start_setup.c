/* Which functions open the graph. */
#include "report/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "nfg_abi.h"
#include "options/opttab.h"

static struct func funcs[] = {
	{ .name = { "__sys_sendto", 12 }, .arg_kind = NFG_ARG_NONE },
	{ .name = { "udp_sendmsg", 11 }, .arg_kind = NFG_ARG_SK },
	{ .name = { "ip_rcv", 6 }, .arg_kind = NFG_ARG_SKB },
	{ .name = { "ip_output", 9 }, .arg_kind = NFG_ARG_SK },
};
static struct functab functab = { funcs, sizeof(funcs) / sizeof(funcs[0]) };

/* Each function's kind as a letter: p plain, o open, c close; "": no start function was given. */
static const char *kinds_of(int argc, const char *const *argv)
{
	static char word[8];
	struct starts *starts = NULL;
	uint8_t *kinds = NULL;
	struct opts opts;

	CHECK(!opts_parse(&opts, argc, (char **)argv));
	CHECK(!start_setup_check(&opts, &functab));
	CHECK(!start_setup_new(&starts, &kinds, &opts, &functab));
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

#define KINDS(...)                                                                        \
	kinds_of(sizeof((const char *[]){ "netfgraph", ##__VA_ARGS__ }) / sizeof(char *), \
		 (const char *[]){ "netfgraph", ##__VA_ARGS__, NULL })

TEST(names_open_and_close)
{
	CHECK_STR(KINDS(), "");
	CHECK_STR(KINDS("-G", "ip_*"), "ppoo");
	CHECK_STR(KINDS("-G", "__sys_sendto", "-g", "ip_output"), "oppc");
	CHECK_STR(KINDS("--slower-than", "1ms"), "pppp");
}

/* Where a packet or a socket is; of those that are named, when some are. */
TEST(packets_open_where_they_are)
{
	CHECK_STR(KINDS("--packet", "udp"), "pooo");
	CHECK_STR(KINDS("--packet", "udp", "-g", "ip_rcv"), "poco");
	CHECK_STR(KINDS("--packet", "udp", "-G", "ip_rcv"), "ppop");
	CHECK_STR(KINDS("--packet", "udp", "-G", "*s*"), "popp");
	CHECK_STR(KINDS("--packet", "udp", "--preset", "rx"), "ppop");
}

static struct nfg_cfg configured(int argc, const char *const *argv)
{
	struct nfg_cfg cfg = { 0 };
	struct opts opts;

	CHECK(!opts_parse(&opts, argc, (char **)argv));
	start_setup_configure(&opts, &cfg);
	opts_release(&opts);
	return cfg;
}

#define CONFIGURED(...)                                                                     \
	configured(sizeof((const char *[]){ "netfgraph", ##__VA_ARGS__ }) / sizeof(char *), \
		   (const char *[]){ "netfgraph", ##__VA_ARGS__, NULL })

TEST(programs_learn_the_conditions)
{
	struct nfg_cfg cfg = CONFIGURED();

	CHECK(!cfg.by_starts && !cfg.by_packet && !cfg.marks);
	cfg = CONFIGURED("-G", "ip_rcv");
	CHECK(cfg.by_starts && !cfg.by_packet && !cfg.marks);
	cfg = CONFIGURED("--packet", "udp", "--errors-only");
	CHECK(cfg.by_starts && cfg.by_packet && cfg.marks == NFG_MARK_ERRORS);
	cfg = CONFIGURED("--filter", "ret < 0");
	CHECK(cfg.by_starts && !cfg.by_packet && cfg.marks == NFG_MARK_FILTER);
}

static int check_of(int argc, const char *const *argv)
{
	struct opts opts;
	int err;

	CHECK(!opts_parse(&opts, argc, (char **)argv));
	err = start_setup_check(&opts, &functab);
	opts_release(&opts);
	return err;
}

TEST(a_packet_must_be_found_somewhere)
{
	const char *const without[] = {
		"netfgraph", "--packet", "udp", "-G", "__sys_sendto", NULL
	};
	const char *const all_shut[] = { "netfgraph", "--packet", "udp", "-g", "*", NULL };
	const char *const plain[] = { "netfgraph", "-G", "__sys_sendto", NULL };

	CHECK(check_of(5, without) == VERDICT_NOTHING);
	CHECK(check_of(5, all_shut) == VERDICT_NOTHING);
	CHECK(!check_of(3, plain));
}
