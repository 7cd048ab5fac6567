/* Patterns of --comm, followed by bits, select what the patterns themselves do. */
#include "options/opts.h"
#include "harness.h"
#include "random.h"

/* As bpf/comm.bpf.h follows it. */
static bool bits_match(const struct nfg_comm_glob *glob, const char *comm)
{
	uint64_t state = glob->begin;

	for (int i = 0; i < NFG_COMM_BYTES; i++)
		state = nfg_comm_next(glob, state, (uint8_t)comm[i]);
	return state & glob->match;
}

/* Whether --comm selects a task called @name, as exec leaves it: with the rest of an older name behind it. */
static bool is_selected(const char *pattern, const char *name, const char *older)
{
	struct nfg_comm_glob glob;
	char comm[NFG_COMM_BYTES] = "";

	snprintf(comm, sizeof(comm), "%s", older);
	snprintf(comm, sizeof(comm), "%s", name);
	commglob_make(&glob, pattern);
	return bits_match(&glob, comm);
}

/* By the rule that reports and the tasks of /proc go by. */
static bool is_wanted(const char *pattern, const char *name)
{
	struct opts opts = { .comms = { .items = &pattern, .cnt = 1 } };
	size_t len = strlen(name);

	if (len > TASKFILTER_COMM_BYTES)
		len = TASKFILTER_COMM_BYTES;
	return taskfilter_has_comm(&opts, (struct text){ name, len }, TASKFILTER_COMM_BYTES);
}

static void check_same(const char *pattern, const char *name, const char *older)
{
	in_case("'%s' and a task '%s'", pattern, name);
	CHECK(is_selected(pattern, name, older) == is_wanted(pattern, name));
}

TEST(names_and_patterns)
{
	CHECK(is_selected("curl", "curl", "") && !is_selected("curl", "curl2", ""));
	CHECK(!is_selected("curl", "cur", "") && !is_selected("curl", "xcurl", ""));
	CHECK(is_selected("*", "curl", "") && is_selected("*", "", ""));
	CHECK(is_selected("worker-*", "worker-", ""));
	CHECK(is_selected("*:*/1", "kworker:0/1", ""));
	CHECK(is_selected("kworker/[0-9]*", "kworker/7:1H", ""));
	CHECK(!is_selected("kworker/[!0-9]*", "kworker/7:1H", ""));
	CHECK(is_selected("\\*x", "*x", "") && is_selected("???", "a b", ""));
	CHECK(is_selected("[x", "[x", "")); /* closed by nothing */
	CHECK(is_selected("n\xc3\xa4he", "n\xc3\xa4he", ""));
}

TEST(what_an_older_name_left_is_not_read)
{
	CHECK(!is_selected("a*name", "ab", "an_old_name"));
	CHECK(!is_selected("?????", "ab", "older"));
	CHECK(is_selected("ab", "ab", "an_old_name"));
	CHECK(is_selected("*b", "ab", "an_old_name"));
}

TEST(the_kernel_keeps_15_bytes)
{
	CHECK(is_selected("worker-with-a-long-name", "worker-with-a-long-name", ""));
	CHECK(is_selected("worker-with-a-l", "worker-with-a-long-name", ""));
	CHECK(!is_selected("worker-with-a-", "worker-with-a-long-name", ""));
	CHECK(!is_selected("worker-with-a-long-[n]ame", "worker-with-a-long-name", ""));
	CHECK(is_selected("*-*-*-*l*", "worker-with-a-long-name", ""));
	CHECK(is_selected("*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*", "123456789012345", ""));
	CHECK(!is_selected("*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*", "12345678901234", ""));
	CHECK(!is_selected("*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*", "123456789012345", ""));
}

static void random_text(char *out, const char *from, uint32_t most)
{
	uint32_t len = random_below(most + 1);

	for (uint32_t i = 0; i < len; i++)
		out[i] = from[random_below((uint32_t)strlen(from))];
	out[len] = '\0';
}

/* Without "[": what has no "]" is one more character for glibc, unless it ends with "-" or "\\". */
TEST(as_the_pattern_itself_whatever_it_is)
{
	static const char letters[] = "ab-]\\[:x";
	char pattern[24];
	char name[20];
	char older[20];
	uint32_t match_cnt = 0;

	for (int i = 0; i < 60000; i++) {
		random_text(pattern, i % 2 ? "ab*?" : "ab*?]!^-\\:x", 12);
		random_text(name, letters, 17);
		random_text(older, letters, 15);
		check_same(pattern, name, older);
		match_cnt += is_wanted(pattern, name);
	}
	CHECK(match_cnt > 2000);
}

TEST(classes_of_characters)
{
	static const char *const parts[] = {
		"[[:alpha:]]", "[[:digit:]-]", "[^[:space:]]", "[a-c]", "[]x]", "[!]]", "*", "a",
		"?",           "[[.-.]a]",     "[[=a=]]",      "[[:x]", "[a[]", "[\\]]"
	};
	char name[20];

	for (int i = 0; i < 20000; i++) {
		char pattern[80] = "";

		for (uint32_t cnt = random_below(5); cnt; cnt--)
			strcat(pattern, parts[random_below(CNT_OF(parts))]);
		random_text(name, "ab1 x]-", 6);
		check_same(pattern, name, "older");
	}
}
