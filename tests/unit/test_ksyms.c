/* Which functions have no text any longer, told by their place in /proc/kallsyms. */
#include "kernel/ksyms.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/strbuf.h"
#include "harness.h"

/* Newest module first; then what ftrace kept of them, likewise, its trampolines, programs. */
static const char kallsyms[] = "ffffffff81000000 T _stext\n"
			       "ffffffff81000100 T tcp_v4_connect\n"
			       "ffffffff82000000 T _sinittext\n"
			       "ffffffff82000100 t tcp_init\n"
			       "ffffffff82000200 T _einittext\n"
			       "ffffffffc0300000 t filter_hook\t[iptable_filter]\n"
			       "ffffffffc0300100 t cleanup_module\t[iptable_filter]\n"
			       "ffffffffc0200000 T xt_find_match\t[x_tables]\n"
			       "ffffffffc0200040 t cleanup_module\t[x_tables]\n"
			       "ffffffffc0100000 t veth_xmit\t[veth]\n"
			       "ffffffffc0304000 T iptable_filter_init\t[iptable_filter]\n"
			       "ffffffffc0304100 T filter_setup\t[iptable_filter]\n"
			       "ffffffffc0204000 T xt_init\t[x_tables]\n"
			       "ffffffffc0400000 t ftrace_trampoline\t[__builtin__ftrace]\n"
			       "ffffffffc0500000 t bpf_prog_6deef7357e7b4530\t[bpf]\n";

static struct ksyms *read_bytes(const char *text, size_t len)
{
	char path[] = "/tmp/nfg-syms.XXXXXX";
	struct ksyms *ks;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK(write(fd, text, len) == (ssize_t)len);
	close(fd);
	CHECK(!ksyms_new_at(&ks, path));
	unlink(path);
	return ks;
}

static struct ksyms *read_syms(const char *text)
{
	return read_bytes(text, strlen(text));
}

static void check_init(const struct ksyms *ks)
{
	static const char *const gone[] = { "tcp_init", "iptable_filter_init", "filter_setup",
					    "xt_init" };
	static const char *const there[] = { "_stext",           "tcp_v4_connect", "filter_hook",
					     "cleanup_module",   "xt_find_match",  "veth_xmit",
					     "ftrace_trampoline" };

	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		CHECK(ksyms_is_init(ks, gone[i]));
	for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		CHECK(!ksyms_is_init(ks, there[i]));
	CHECK(!ksyms_is_init(ks, "no_such_function"));
}

TEST(freed_code_of_kernel_and_modules_is_told)
{
	struct ksyms *ks = read_syms(kallsyms);

	check_init(ks);
	ksyms_free(ks);
}

TEST(it_is_where_addresses_are_hidden)
{
	char hidden[sizeof(kallsyms)];
	struct ksyms *ks;

	memcpy(hidden, kallsyms, sizeof(hidden));
	for (char *line = hidden; line && *line; line = strchr(line, '\n'), line += line != NULL)
		memset(line, '0', 16);
	ks = read_syms(hidden);
	CHECK(!ksyms_addr(ks, "xt_init"));
	check_init(ks);
	ksyms_free(ks);
}

TEST(freed_code_is_no_text)
{
	struct ksyms *ks = read_syms(kallsyms);
	struct ksym_text *texts;
	size_t cnt;

	CHECK(!ksyms_texts(ks, &texts, &cnt));
	for (size_t i = 0; i < cnt; i++)
		CHECK(!strstr(texts[i].name, "_init") && strcmp(texts[i].name, "filter_setup"));
	CHECK(cnt == 2 + 2 + 2 + 1 + 1); /* _stext to veth_xmit, _einittext */
	free(texts);
	ksyms_free(ks);
}

/* ---- damaged copies: what is no symbol is none ---- */

TEST(lines_that_are_no_symbols)
{
	static const struct {
		const char *text;
		size_t len; /* 0: the text's */
		size_t want;
	} cases[] = {
		{ "ffffffff81000000 T f\n", 0, 1 },
		{ "ffffffff81000000 T f", 0, 1 },
		{ "ffffffff81000000 D data\n", 0, 0 },
		{ "", 0, 0 },
		{ "\n\n\n", 0, 0 },
		{ "ffffffff81000000", 0, 0 },
		{ "ffffffff81000000 T", 0, 0 },
		{ "ffffffff81000000 T ", 0, 0 },
		{ "ffffffff81000000 T \t[m]\n", 0, 0 },
		{ "ffffffff81000000  T f\n", 0, 0 },
		{ " T f\n", 0, 0 },
		{ "ffffffff81000000 \0 f\n", 21, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = cases[i].len ? cases[i].len : strlen(cases[i].text);
		struct ksyms *ks = read_bytes(cases[i].text, len);
		struct ksym_text *texts;
		size_t cnt;

		CHECK(!ksyms_texts(ks, &texts, &cnt));
		if (cnt != cases[i].want)
			printf("  case %zu: %zu symbols\n", i, cnt);
		CHECK(cnt == cases[i].want);
		free(texts);
		ksyms_free(ks);
	}
}

/* Every listed name can be found. */
TEST(a_name_ends_at_a_zero_byte)
{
	static const char text[] = "ffffffff81000000 T ip_r\0xyz\nffffffff81000100 t ip_r\n";
	struct ksyms *ks = read_bytes(text, sizeof(text) - 1);
	struct ksym_text *texts;
	size_t cnt;

	CHECK(ksyms_count(ks, "ip_r") == 2);
	CHECK(!ksyms_texts(ks, &texts, &cnt) && cnt == 2);
	CHECK_STR(texts[0].name, "ip_r");
	free(texts);
	ksyms_free(ks);
}

/* Each function that someone traces already is such a call: thousands, on a host with a hundred modules. */
TEST(calls_of_tracers_are_told_fast)
{
	struct strbuf text = { 0 };
	struct ksyms *ks;
	clock_t start;

	strbuf_printf(&text, "ffffffff81000000 T _stext\nffffffff82000000 T _etext\n");
	for (uint32_t i = 0; i < 100000; i++)
		strbuf_printf(&text, "ffffffffc%07x t func_%u\t[mod]\n", 0x100000 + i * 16, i);
	ks = read_bytes(text.ptr, text.len);
	strbuf_release(&text);
	start = clock();
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t func = 0xffffffffc0100000 + i * 16;

		CHECK(!ksyms_is_tracer_entry(ks, func) && !ksyms_is_tracer_entry(ks, func + 4));
		CHECK(ksyms_is_tracer_entry(ks, func + 8));
	}
	CHECK((clock() - start) / CLOCKS_PER_SEC < 2);
	ksyms_free(ks);
}
