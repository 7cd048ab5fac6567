#include "slowcalled.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "format/explain.h"
#include "harness.h"
#include "rows.h"

struct slowcalls *sc;
struct causes_groups groups;
struct causes causes;

void check_int(int line, int64_t got, int64_t want)
{
	if (got == want)
		return;
	printf("line %d: %lld, not %lld\n", line, (long long)got, (long long)want);
	CHECK(got == want);
}

void calls_begin(void)
{
	CHECK(!slowcalls_new(&sc, false, false));
}

void calls_free(void)
{
	causes_release(&groups);
	slowcalls_free(sc);
}

void put(enum row_kind kind, uint32_t depth, uint64_t at_us, uint64_t took_us, const char *name)
{
	const struct row row = call_row(kind, depth, at_us * US, took_us * US, name);

	CHECK(!slowcalls_row(sc, &row));
}

/* What --graph-opts sleep adds, as a text has it. */
void put_note(uint64_t at_us, const char *text)
{
	struct row row = call_row(ROW_COMMENT, 1, at_us * US, 0, "");

	row.text = text_from(text);
	CHECK(!slowcalls_row(sc, &row));
}

void put_point(uint64_t at_us, const char *system, const char *name, const struct value *fields,
	       uint32_t cnt)
{
	struct row row = call_row(ROW_POINT, 1, at_us * US, 0, name);

	row.module = text_from(system);
	row.args = fields;
	row.arg_cnt = cnt;
	CHECK(!slowcalls_row(sc, &row));
}

/* A usual call of f: 100 us, 40 of which in g. Return: when the next one may begin. */
uint64_t put_usual(uint64_t at_us)
{
	put(ROW_ENTRY, 0, at_us, 0, "f");
	put(ROW_LEAF, 1, at_us + 10, 40, "g");
	put(ROW_RETURN, 0, at_us + 100, 100, "f");
	return at_us + 1000;
}

uint64_t put_usuals(uint64_t at_us, int cnt)
{
	while (cnt--)
		at_us = put_usual(at_us);
	return at_us;
}

/* A slow one, which has a note inside and takes so much longer. */
uint64_t put_slow(uint64_t at_us, uint64_t more_us, const char *note)
{
	put(ROW_ENTRY, 0, at_us, 0, "f");
	put(ROW_LEAF, 1, at_us + 10, 40, "g");
	if (note)
		put_note(at_us + 60 + more_us, note);
	put(ROW_RETURN, 0, at_us + 100 + more_us, 100 + more_us, "f");
	return at_us + 1000 + more_us;
}

void find_again(uint64_t slower_us)
{
	const struct slowness what = { .slower_ns = slower_us * US };

	CHECK(!causes_find(&groups, sc, slowcalls_start(sc, 0), &what));
	causes = groups.items[0];
}

void find(uint64_t slower_us)
{
	CHECK(!slowcalls_finish(sc));
	CHECK(slowcalls_start(sc, 0) != NULL);
	find_again(slower_us);
}

const char *name_at(uint32_t name)
{
	static char names[4][64];
	static int at;
	const struct text text = slowcalls_name(sc, name);

	at = (at + 1) % 4;
	snprintf(names[at], sizeof(names[at]), "%.*s", (int)text.len, text.ptr);
	return names[at];
}

/* Cause @i: its kind and function, and its excess. */
void check_cause(size_t i, enum cause_kind kind, const char *func, int64_t excess_us)
{
	const struct cause_key *key;

	CHECK(i < causes.cnt);
	key = slowcalls_cause(sc, causes.items[i].key);
	CHECK_INT(key->kind, kind);
	CHECK_STR(name_at(key->func), func);
	CHECK_INT(causes.items[i].sums.excess_ns, excess_us * (int64_t)US);
}

/* All of the excess is in the causes, or said to be in none. */
void check_whole(void)
{
	int64_t sum = causes.unexplained_ns;

	for (size_t i = 0; i < causes.cnt; i++)
		sum += causes.items[i].sums.excess_ns;
	CHECK_INT(sum, causes.excess_ns);
}

uint64_t put_slow_did(uint64_t at_us, const char *const notes[], size_t cnt)
{
	put(ROW_ENTRY, 0, at_us, 0, "f");
	put(ROW_LEAF, 1, at_us + 10, 40, "g");
	for (size_t i = 0; i < cnt; i++)
		put_note(at_us + 60 + 50000 * (i + 1), notes[i]);
	put(ROW_RETURN, 0, at_us + 50100, 50100, "f");
	return at_us + 60000;
}

void check_has(const struct netstat *counted, const char *want, bool has)
{
	check_slower_has(0, counted, want, has);
}

void check_slower_has(uint64_t slower_us, const struct netstat *counted, const char *want, bool has)
{
	const struct explain_view view = { .input = "x",
					   .slower_ns = slower_us * US,
					   .start_max = 3,
					   .has_sleeps = true,
					   .counted = counted };
	struct explain_result result;
	struct strbuf out = { 0 };

	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	if (!strstr(strbuf_cstr(&out), want) == has)
		printf("%s", strbuf_cstr(&out));
	CHECK(!strstr(strbuf_cstr(&out), want) == !has);
	strbuf_release(&out);
}
