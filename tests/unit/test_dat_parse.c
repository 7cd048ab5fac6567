/* trace.dat is read: events in order, names, and damage at any place. What our own writer makes is the input. */
#include <stdlib.h>
#include <string.h>

#include "format/dat_parse.h"
#include "format/format.h"
#include "formatted.h"
#include "harness.h"

static struct strbuf file;

AT_END(strbuf_release(&file));

/* send() { copy [mod](); } on CPUs 1 and 0, a loss and recv() { on CPU 1. */
static void write_small(enum format_kind kind)
{
	const struct format_config config = {
		.kind = kind, .cpu_cnt = 3, .release = "6.1.0-test", .spool_dir = "/tmp"
	};
	struct row rows[6];

	small_trace(rows);
	strbuf_release(&file);
	file = made(&config, rows, 6);
}

/* All events, in a copy of exactly @len bytes. Return: their number, or -1: refused. */
static int count_all(const char *bytes, size_t len)
{
	const char *error = NULL;
	struct dat_event event;
	struct dat *dat = NULL;
	char *copy = malloc(len ? len : 1);
	int cnt = 0;
	int ret;

	CHECK(copy);
	memcpy(copy, bytes, len);
	ret = dat_new(&dat, copy, len, &error);
	if (!ret)
		ret = dat_open(dat, &error);
	if (!ret)
		for (ret = 1; ret > 0; cnt += ret > 0)
			ret = dat_next(dat, &event, &error);
	CHECK(!ret || *error);
	if (dat)
		dat_free(dat);
	free(copy);
	return ret ? -1 : cnt;
}

static void check_small(void)
{
	const char *error;
	struct dat_event event;
	struct dat *dat;

	CHECK(!dat_new(&dat, file.ptr, file.len - 1, &error) && !dat_open(dat, &error));
	CHECK(dat_facts_get(dat)->cpu_cnt >= 2);
	CHECK_STR(dat_facts_get(dat)->release, "6.1.0-test");
	CHECK_STR(dat_facts_get(dat)->node, "");
	CHECK(dat_next(dat, &event, &error) == 1 && event.kind == DAT_ENTRY &&
	      event.time_ns == 1000);
	CHECK(event.cpu == 1 && event.tid == 77 && !event.depth && !event.has_loss);
	CHECK(text_equal(dat_comm(dat, 77), text_from("curl")) && !dat_comm(dat, 78).len);
	CHECK(text_equal(dat_symbol(dat, event.func).name, text_from("send")));
	CHECK(dat_symbol(dat, event.func + 3).offset == 3 && !dat_symbol(dat, 1).name.len);
	CHECK(!dat_symbol(dat, event.func + (1ull << 40)).name.len);

	/* the leaf: its exit is the CPU's next event */
	CHECK(dat_next(dat, &event, &error) == 1 && event.kind == DAT_ENTRY && event.depth == 1);
	CHECK(text_equal(dat_symbol(dat, event.func).module, text_from("mod")));
	CHECK(dat_peek(dat, 1) && dat_peek(dat, 1)->kind == DAT_EXIT && !dat_peek(dat, 99));
	CHECK(dat_peek(dat, 1)->return_ns - dat_peek(dat, 1)->call_ns == 300);
	CHECK(dat_skip(dat, 1, &error) == 1);

	/* what our writer has for values, and for a comment */
	CHECK(dat_next(dat, &event, &error) == 1 && event.kind == DAT_OTHER &&
	      event.time_ns == 1500);
	CHECK(dat_next(dat, &event, &error) == 1 && event.kind == DAT_OTHER &&
	      event.time_ns == 1600);
	CHECK(text_equal(dat_type_name(dat, event.type).name, text_from("print")));
	CHECK(dat_next(dat, &event, &error) == 1 && event.kind == DAT_EXIT && !event.cpu);
	CHECK(event.has_times && event.return_ns - event.call_ns == 1500);
	CHECK(dat_next(dat, &event, &error) == 1 && event.kind == DAT_OTHER && !event.cpu);
	CHECK(dat_next(dat, &event, &error) == 1 && event.kind == DAT_ENTRY &&
	      event.time_ns == 3000);
	CHECK(event.has_loss && event.lost_cnt == 17);
	CHECK(!dat_next(dat, &event, &error) && !dat_peek(dat, 0) && !dat_skip(dat, 0, &error));
	CHECK(!dat_stats_get(dat)->bad_cnt && !dat_stats_get(dat)->page_cnt);
	dat_free(dat);
}

TEST(dat_of_version_6_is_read)
{
	write_small(FORMAT_TRACEDAT);
	check_small();
}

TEST(dat_of_version_7_is_read)
{
	write_small(FORMAT_TRACEDAT7);
	check_small();
}

/* Return: the events lost before events of @cpu and behind its last one. */
static uint64_t lost_of(uint32_t cpu)
{
	const char *error;
	struct dat_event event;
	uint64_t at_end;
	uint64_t lost_cnt = 0;
	struct dat *dat;

	CHECK(!dat_new(&dat, file.ptr, file.len - 1, &error) && !dat_open(dat, &error));
	while (dat_next(dat, &event, &error) == 1) {
		if (event.cpu == cpu && event.has_loss)
			lost_cnt += event.lost_cnt;
	}
	/* our writer has an event behind each loss, which other readers need */
	CHECK(!dat_lost_at_end(dat, cpu, &at_end) && !at_end);
	dat_free(dat);
	return lost_cnt;
}

TEST(dat_has_the_losses_of_the_end)
{
	static const enum format_kind kinds[] = { FORMAT_TRACEDAT, FORMAT_TRACEDAT7 };

	for (size_t kind = 0; kind < 2; kind++) {
		const struct format_config config = { .kind = kinds[kind],
						      .cpu_cnt = 3,
						      .spool_dir = "/tmp" };
		struct row rows[8];

		small_trace(rows);
		rows[6] = (struct row){
			.kind = ROW_LOST, .cpu = 0, .time_ns = 4000, .lost_cnt = 100
		};
		rows[7] = rows[6];
		rows[7].cpu = 2; /* which has no event */
		strbuf_release(&file);
		file = made_lossy(&config, rows, 8, 0);
		CHECK(lost_of(0) == 100 && lost_of(1) == 17 && lost_of(2) == 100);
		/* 5 have no place: they are where the last row is */
		strbuf_release(&file);
		file = made_lossy(&config, rows, 8, 222);
		CHECK(lost_of(0) == 100 && lost_of(1) == 17 && lost_of(2) == 105);
		strbuf_release(&file);
		file = made_lossy(&config, rows, 0, 5);
		CHECK(lost_of(0) == 5);
	}
}

/* Up to the pages a cut file is refused; from there on it has at most as many events. */
TEST(dat_may_be_cut_anywhere)
{
	static const enum format_kind kinds[] = { FORMAT_TRACEDAT, FORMAT_TRACEDAT7 };

	for (size_t kind = 0; kind < 2; kind++) {
		int last = -1;

		write_small(kinds[kind]);
		for (size_t len = 0; len < file.len; len += len < 4096 ? 1 : 61) {
			const int cnt = count_all(file.ptr, len);

			CHECK(cnt >= last && cnt <= 8);
			last = cnt;
		}
		CHECK(count_all(file.ptr, file.len - 1) == 8);
	}
}

TEST(dat_may_be_damaged_anywhere)
{
	write_small(FORMAT_TRACEDAT7);
	for (size_t at = 0; at < file.len; at += at < 4096 ? 1 : 5) {
		const char was = file.ptr[at];

		for (int bit = 0; bit < 8; bit += 7) {
			file.ptr[at] = (char)(was ^ 1 << bit);
			CHECK(count_all(file.ptr, file.len - 1) <= 2000);
		}
		file.ptr[at] = was;
	}
}

TEST(dat_is_known_by_its_first_bytes)
{
	CHECK(dat_is_known("\x17\x08\x44tracing6", 12));
	CHECK(!dat_is_known("\x17\x08\x44tracin", 9) && !dat_is_known("PERFILE2PERFILE2", 16));
}
