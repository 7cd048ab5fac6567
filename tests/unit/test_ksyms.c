/* Which functions have no text any longer, told by their place in /proc/kallsyms; and both ways to read the symbols. */
#include "kernel/ksyms.h"

#include <time.h>

#include "base/strbuf.h"
#include "harness.h"
#include "scratch.h"

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
	struct ksyms *ks;

	CHECK(!ksyms_new_at(&ks, temp_file(text, len)));
	return ks;
}

static struct ksyms *read_syms(const char *text)
{
	return read_bytes(text, strlen(text));
}

/* The same without addresses. */
static const char *hidden(void)
{
	static char text[sizeof(kallsyms)];

	memcpy(text, kallsyms, sizeof(text));
	for (char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
		memset(line, '0', 16);
	return text;
}

static void check_init(const char *text)
{
	struct ksyms *ks = read_syms(text);

	CHECK(!ksyms_addr(ks, "xt_init") == (*text == '0'));
	EACH_PART(gone, "tcp_init; iptable_filter_init; filter_setup; xt_init")
		CHECK(ksyms_is_init(ks, gone));
	EACH_PART(there, "_stext; tcp_v4_connect; filter_hook; cleanup_module; xt_find_match; "
			 "veth_xmit; ftrace_trampoline; no_such_function")
		CHECK(!ksyms_is_init(ks, there));
	ksyms_free(ks);
}

TEST_ONE(freed_code_of_kernel_and_modules_is_told, check_init(kallsyms));
TEST_ONE(it_is_where_addresses_are_hidden, check_init(hidden()));

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

/* Of two files, each with a function of that name. */
TEST(names_that_lto_made)
{
	struct ksyms *ks = read_syms("ffffffff81000000 t tcp_ack.llvm.1234567890123456789\n"
				     "ffffffff81000100 t tcp_data.llvm.12\n"
				     "ffffffff81000200 t tcp_data.llvm.34\n"
				     "ffffffff81000300 t tcp_x.isra.0\n"
				     "ffffffff81000400 t tcp_y.cold.llvm.5\n"
				     "ffffffff81000500 t .llvm.6\n");

	CHECK(ksyms_addr(ks, "tcp_ack") == 0xffffffff81000000 && ksyms_count(ks, "tcp_ack") == 1);
	CHECK(ksyms_count(ks, "tcp_data") == 2 && !ksyms_count(ks, "tcp_data.llvm.12"));
	CHECK(ksyms_count(ks, "tcp_x.isra.0") == 1 && ksyms_count(ks, "tcp_y.cold") == 1);
	CHECK(ksyms_count(ks, ".llvm.6") == 1); /* a name is never empty */
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

	EACH(c, cases) {
		struct ksyms *ks = read_bytes(c->text, c->len ? c->len : strlen(c->text));
		struct ksym_text *texts;
		size_t cnt;

		in_case("'%s'", c->text);
		CHECK(!ksyms_texts(ks, &texts, &cnt) && cnt == c->want);
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

	CHECK(ksyms_count(ks, "ip_r") == 2 && !ksyms_texts(ks, &texts, &cnt) && cnt == 2);
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

/* ---- what the iterator's program writes ---- */

#define MODULE_BYTES 56
#define NAME_BYTES   512
#define SHORT_BYTES  80

/* Both names have what was there before behind their NUL, but in the last byte of the kernel's. */
static void write_name(struct strbuf *recs, const char *name, size_t room)
{
	size_t len = strlen(name);

	strbuf_add(recs, name, len + 1);
	strbuf_fill(recs, '~', room - len - 1);
	recs->ptr[recs->len - 1] = '\0';
}

static void write_rec(struct strbuf *recs, struct nfg_ksymrec rec, const char *name,
		      const char *module)
{
	size_t room = strlen(name) / 8 * 8 + 8;

	if (room > SHORT_BYTES)
		room = NAME_BYTES;
	rec.name_words = (uint8_t)(room / 8);
	rec.module_words = module ? MODULE_BYTES / 8 : 0;
	strbuf_add(recs, &rec, sizeof(rec));
	write_name(recs, name, room);
	if (module)
		write_name(recs, module, MODULE_BYTES);
}

/* For the end the program is called with what was there last, under the same number. */
static void write_end(struct strbuf *recs, uint32_t number)
{
	write_rec(recs, (struct nfg_ksymrec){ .addr = 7, .link = number, .type = 't' }, "last",
		  NULL);
}

/* Lines as the program writes them. */
static struct strbuf write_all(const char *text)
{
	struct strbuf recs = { 0 };
	uint32_t number = 0;

	for (; *text; text = strchr(text, '\n') + 1) {
		char name[NAME_BYTES], module[MODULE_BYTES] = "", type;
		unsigned long addr;

		CHECK(sscanf(text, "%lx %c %511[^\t\n]\t[%55[^]]]", &addr, &type, name, module) >=
		      3);
		write_rec(&recs,
			  (struct nfg_ksymrec){ .addr = addr, .link = number++, .type = type },
			  name, *module ? module : NULL);
	}
	write_end(&recs, number - 1);
	return recs;
}

static struct ksyms *read_written(const char *text)
{
	struct strbuf recs = write_all(text);
	struct ksyms *ks = NULL;

	CHECK(!ksyms_new_written(&ks, recs.ptr, recs.len));
	strbuf_release(&recs);
	return ks;
}

static void check_same_answers(const struct ksyms *a, const struct ksyms *b, const char *name)
{
	CHECK(ksyms_count(a, name) == ksyms_count(b, name));
	CHECK(ksyms_addr(a, name) == ksyms_addr(b, name));
	CHECK(ksyms_is_init(a, name) == ksyms_is_init(b, name));
}

static void check_same(const char *text)
{
	struct ksyms *a = read_syms(text);
	struct ksyms *b = read_written(text);
	struct ksym_text *of_a;
	struct ksym_text *of_b;
	size_t cnt_a, cnt_b;

	CHECK(!ksyms_texts(a, &of_a, &cnt_a) && !ksyms_texts(b, &of_b, &cnt_b));
	CHECK(cnt_a == cnt_b);
	for (size_t i = 0; i < cnt_a; i++) {
		CHECK(of_a[i].addr == of_b[i].addr);
		CHECK_STR(of_a[i].name, of_b[i].name);
		CHECK(!of_a[i].module == !of_b[i].module);
		if (of_a[i].module)
			CHECK_STR(of_a[i].module, of_b[i].module);
		CHECK(ksyms_is_tracer_entry(a, of_a[i].addr) ==
		      ksyms_is_tracer_entry(b, of_a[i].addr));
	}
	for (; *text; text = strchr(text, '\n') + 1) {
		char name[NAME_BYTES];

		CHECK(sscanf(text, "%*s %*c %511[^\t\n]", name) == 1);
		check_same_answers(a, b, name);
	}
	free(of_a);
	free(of_b);
	ksyms_free(a);
	ksyms_free(b);
}

TEST(both_sources_say_the_same)
{
	struct strbuf text = { 0 };

	check_same(kallsyms);
	check_same(hidden());
	/* every length, of names that occur up to three times */
	for (int i = 1; i < 512; i++) {
		for (int k = 0; k <= i % 3; k++)
			strbuf_printf(&text, "ffffffff81%06x %c %0*d%s\n", i * 4 + k,
				      "tTdWr"[i % 5], i, i, k ? "\t[veth]" : "");
		strbuf_printf(&text, "ffffffff81%06x t __pfx_%d\n", i * 4 + 3, i);
	}
	strbuf_char(&text, '\0');
	check_same(text.ptr);
	strbuf_release(&text);
}

/* As in kernel/kallsyms.c: a module's symbol is upper case if it is exported; one without a name is not shown. */
TEST(types_are_those_of_the_lines)
{
	static const struct {
		struct nfg_ksymrec rec;
		const char *name;
		const char *module;
		char want;
	} cases[] = {
		{ { .type = 'T' }, "a", NULL, 'T' },
		{ { .type = 't' }, "b", NULL, 't' },
		{ { .type = 't', .flags = NFG_KSYMREC_EXPORTED }, "c", "m", 'T' },
		{ { .type = 'T', .flags = NFG_KSYMREC_EXPORTED }, "d", "m", 'T' },
		{ { .type = 'T' }, "e", "m", 't' },
		{ { .type = '?' }, "f", "m", '?' },
		{ { .type = 't' }, "", NULL, 0 },
	};
	const uint32_t cnt = CNT_OF(cases);
	struct strbuf recs = { 0 };
	struct ksyms *ks;
	size_t at = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		struct nfg_ksymrec rec = cases[i].rec;

		rec.link = i;
		write_rec(&recs, rec, cases[i].name, cases[i].module);
	}
	write_end(&recs, cnt - 1);
	CHECK(!ksyms_new_written(&ks, recs.ptr, recs.len));
	CHECK(ksyms_count(ks, "a") == 1 && !ksyms_count(ks, ""));
	ksyms_free(ks);
	CHECK(!ksymiter_accept(&recs));
	for (uint32_t i = 0; i < cnt; i++) {
		const struct nfg_ksymrec *rec = (const struct nfg_ksymrec *)(recs.ptr + at);

		CHECK(rec->type == (uint8_t)cases[i].want);
		at += ksymrec_bytes(rec);
	}
	CHECK(at == recs.len);
	strbuf_release(&recs);
}

static bool is_accepted(const void *bytes, size_t len)
{
	struct ksyms *ks = NULL;
	int err = ksyms_new_written(&ks, bytes, len);

	CHECK(!err || err == -EIO);
	ksyms_free(ks);
	return !err;
}

TEST(what_was_read_in_part_is_refused)
{
	struct strbuf recs = write_all(kallsyms);
	const struct nfg_ksymrec more = { .link = 15, .type = 't' };
	size_t at = 0;

	CHECK(is_accepted(recs.ptr, recs.len));
	for (size_t len = 0; len < recs.len; len++)
		CHECK(!is_accepted(recs.ptr, len));
	/* each symbol is missing once */
	while (at < recs.len) {
		const struct nfg_ksymrec *rec = (const struct nfg_ksymrec *)(recs.ptr + at);
		size_t bytes = ksymrec_bytes(rec);
		struct strbuf rest = { 0 };

		strbuf_add(&rest, recs.ptr, at);
		strbuf_add(&rest, recs.ptr + at + bytes, recs.len - at - bytes);
		CHECK(!is_accepted(rest.ptr, rest.len));
		strbuf_release(&rest);
		at += bytes;
	}
	/* nothing comes behind the end */
	write_rec(&recs, more, "late", NULL);
	CHECK(!is_accepted(recs.ptr, recs.len));
	strbuf_release(&recs);
}

TEST(a_name_without_an_end_is_refused)
{
	for (int module = 0; module < 2; module++) {
		struct strbuf recs = { 0 };

		write_rec(&recs, (struct nfg_ksymrec){ .type = 't' }, "tcp_sendmsg", "veth");
		write_end(&recs, 0);
		CHECK(is_accepted(recs.ptr, recs.len));
		if (module)
			memset(recs.ptr + sizeof(struct nfg_ksymrec) + 16, 'x', MODULE_BYTES);
		else
			memset(recs.ptr + sizeof(struct nfg_ksymrec), 'x', 16);
		CHECK(!is_accepted(recs.ptr, recs.len));
		strbuf_release(&recs);
	}
}

/* All of them are at 0 then. */
TEST(modules_with_hidden_addresses_are_read_fast)
{
	struct strbuf text = { 0 };
	clock_t start = clock();
	struct ksyms *ks;

	for (uint32_t i = 0; i < 100000; i++)
		strbuf_printf(&text, "0000000000000000 t func_%u\t[mod]\n", i);
	ks = read_bytes(text.ptr, text.len);
	strbuf_release(&text);
	CHECK(ksyms_count(ks, "func_99999") == 1 && !ksyms_addr(ks, "func_7"));
	CHECK((clock() - start) / CLOCKS_PER_SEC < 2);
	ksyms_free(ks);
}
