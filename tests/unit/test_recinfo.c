/* What a recording says of itself. */
#include "report/report.h"
#include "report/recinfo.h"
#include "harness.h"
#include "recordings.h"

BEFORE(new_path);

/* Two tasks, three calls of two functions, one of which does not return. */
static const struct event calls[] = {
	{ .time_ns = 2000, .tid = 7, .frame = 90 },
	{ .time_ns = 2100, .tid = 7, .frame = 90, .kind = EVENT_EXIT },
	{ .time_ns = 2200, .tid = 7, .frame = 90, .func_id = 2 },
	{ .time_ns = 2300, .kind = EVENT_LOST, .lost_cnt = 4 },
	{ .time_ns = 2400, .tid = 8, .cpu = 1, .frame = 80, .func_id = 2 },
	{ .time_ns = 2500, .tid = 8, .cpu = 1, .frame = 80, .func_id = 2, .kind = EVENT_EXIT },
};
#define CALLS_CNT (CNT_OF(calls))

static void write_calls(const struct recfile_made *made, const struct recfile_summary *summary)
{
	const struct functab few = { .funcs = funcs, .cnt = 3 };
	struct recfile_writer *w;

	w = open_writer(path, 2);
	CHECK(!made || !recfile_writer_made(w, made));
	CHECK(!recfile_writer_funcs(w, &few) && !recfile_writer_events(w, calls, CALLS_CNT));
	CHECK(!summary || !recfile_writer_summary(w, summary));
	CHECK(!recfile_writer_close(w));
}

static struct strbuf text_of(struct recinfo *info, uint32_t row_max)
{
	struct strbuf text = { 0 };

	CHECK(!recinfo_text(info, PROFILE_BY_COUNT, row_max, &text));
	strbuf_char(&text, '\0');
	return text;
}

TEST(a_recording_says_what_it_has)
{
	const struct recfile_made made = { .shown = RECFILE_SHOWS_ARGS,
					   .node = "web1",
					   .attach = "by hand",
					   .options = "netfgraph record -o \x1b[x" };
	struct recfile_summary summary = { .lost_cnts[LOSS_RING_FULL] = 4,
					   .traced_share = 35,
					   .others_share = 124 };
	struct strbuf text;
	struct recinfo info;

	summary.end_mono_ns = UINT64_MAX;
	write_calls(&made, &summary);
	CHECK(!recinfo_read(&info, path, NULL));
	CHECK(info.has_made && info.stats.is_closed && info.bytes == file_bytes());
	CHECK(info.entry_cnt == 3 && info.exit_cnt == 2 && info.task_cnt == 2);
	CHECK(info.first_ns == 2000 && info.last_ns == 2500);
	CHECK(info.func_cnt == 3 && info.entry_cnts[0] == 1 && info.entry_cnts[2] == 2);
	CHECK(recinfo_end_ns(&info) == UINT64_MAX && report_has_losses(&info.stats));
	text = text_of(&info, 1);
	CHECK(strstr(text.ptr, "options     netfgraph record -o \\x1b[x\n"));
	CHECK(strstr(text.ptr, "host        web1, Linux "));
	CHECK(strstr(text.ptr, "attached    by hand\n") && strstr(text.ptr, "values      args\n"));
	CHECK(strstr(text.ptr, "losses      4 events were lost: a ring was full\n"));
	CHECK(strstr(text.ptr,
		     "cost        tracing 3.4 % of a CPU's time, calls not traced up to 12.3 %\n"));
	CHECK(strstr(text.ptr, "functions   3 traced, 2 called\n"));
	CHECK(strstr(text.ptr, "         2  tcp_func_2.isra.0\n"));
	CHECK(strstr(text.ptr, "and 1 more (--rows 2)\n"));
	strbuf_release(&text);
	recinfo_release(&info);
}

/* A file of a recorder may begin after functions were left out. */
TEST(a_recording_says_what_was_left_out_before_it)
{
	const struct functab few = { .funcs = funcs, .cnt = 3 };
	const uint32_t ids[] = { 1, 2 };
	struct leftout lo = { .limit = LEFTOUT_OVERHEAD,
			      .max = 25,
			      .is_earlier = true,
			      .func_ids = ids,
			      .func_cnt = 1 };
	struct strbuf text;
	struct recinfo info;
	struct recfile_writer *w = open_writer(path, 2);

	CHECK(!recfile_writer_funcs(w, &few) && !recfile_writer_leftout(w, &lo));
	lo.limit = LEFTOUT_EVENTS;
	CHECK(!recfile_writer_leftout(w, &lo));
	lo.is_earlier = false;
	lo.func_cnt = 2;
	CHECK(!recfile_writer_leftout(w, &lo) && !recfile_writer_close(w));
	CHECK(!recinfo_read(&info, path, NULL));
	text = text_of(&info, 1);
	CHECK(strstr(text.ptr,
		     "left out    1 function: --max-overhead, before this recording begins\n"));
	CHECK(strstr(
		text.ptr,
		"left out    3 functions: --max-events, 1 of them before this recording begins\n"));
	strbuf_release(&text);
	recinfo_release(&info);
}

TEST(one_lost_event_is_not_many)
{
	struct report_stats stats = { .is_closed = true };
	struct losses_reason losses[LOSSES_CNT];

	stats.summary.lost_cnts[LOSS_RING_FULL] = 1;
	stats.summary.unwritten_cnt = 1;
	stats.summary.lost_cnts[LOSS_LATE] = 2;
	losses_list(&stats, losses);
	for (size_t i = 0; i < LOSSES_CNT; i++) {
		const char *name = losses[i].name;
		const char *many = !strcmp(name, "scope")        ? "changes "
				   : !strcmp(name, "ftrace_off") ? "seconds "
				   : !strcmp(name, "packets")    ? "packets "
								 : "events ";

		if (losses[i].cnt == 1)
			CHECK(!strncmp(losses[i].text, "event ", 6));
		else
			CHECK(strstr(losses[i].text, losses[i].is_name ? "names " : many));
	}
	CHECK_STR(losses[2].text, "event was lost: a ring was full");
	CHECK_STR(losses[1].text, "event did not fit in the file");
}

/* A header and a row, with as many columns. */
static void check_columns(const char *csv)
{
	size_t commas[2] = { 0 };
	size_t line_cnt = 0;

	CHECK(!strncmp(csv, "file,bytes,format,closed,", 25));
	CHECK(strstr(csv, ",lost_unknown,lost_no_room,lost_ring_full,"));
	CHECK(strstr(
		csv,
		",left_out_max_overhead,left_out_max_events,left_out_learn,untraced_ns,traced_permille,others_permille\n"));
	for (; *csv && line_cnt < 2; csv++) {
		commas[line_cnt] += *csv == ',';
		line_cnt += *csv == '\n';
	}
	CHECK(line_cnt == 2 && !*csv);
	CHECK(commas[0] == commas[1]);
}

TEST(what_was_not_recorded_is_not_made_up)
{
	struct strbuf text;
	struct recinfo info;

	write_calls(NULL, NULL);
	CHECK(!recinfo_read(&info, path, NULL));
	CHECK(!info.has_made && info.stats.is_cut && recinfo_end_ns(&info) == 2500);
	text = text_of(&info, 0);
	CHECK(strstr(text.ptr, "not closed: its writer was killed, or still writes\n"));
	CHECK(strstr(text.ptr, "options     not recorded\n"));
	CHECK(strstr(text.ptr, "host        name not recorded, Linux "));
	CHECK(strstr(text.ptr, "values      not recorded\n"));
	CHECK(strstr(text.ptr, "losses      4 events were lost while recording\n"));
	strbuf_reset(&text);
	recinfo_put(&info, &(struct tablew){ .out = &text, .form = TABLE_JSON });
	strbuf_char(&text, '\0');
	CHECK(strstr(text.ptr, "\"options\":null,") && strstr(text.ptr, "\"values\":null,"));
	CHECK(strstr(text.ptr, "\"losses\":{\"unknown\":4,\"no_room\":0,"));
	CHECK(strstr(text.ptr, "{\"func\":\"tcp_func_2.isra.0\",\"module\":null,\"calls\":2}]}\n"));
	CHECK(strstr(text.ptr, "{\"table\":\"info\",\"schema\":1,\"file\":"));
	strbuf_reset(&text);
	recinfo_put(&info, &(struct tablew){ .out = &text, .form = TABLE_CSV });
	strbuf_char(&text, '\0');
	check_columns(text.ptr);
	strbuf_release(&text);
	recinfo_release(&info);
}

static const struct recfile_trigger connect_hangs = {
	.time_ns = 3300002200,
	.begin_ns = 2200,
	.tid = 7,
	.func_id = 2,
	.condition = "tcp_func_2* > 3300ms",
};
static const struct recfile_trigger drops = {
	.time_ns = 2450,
	.func_id = RECFILE_NO_FUNC,
	.condition = "drops > 100/s \x1b[2J*/",
};

static void write_triggers(void)
{
	const struct functab few = { .funcs = funcs, .cnt = 3 };
	struct recfile_writer *w;

	w = open_writer(path, 2);
	CHECK(!recfile_writer_funcs(w, &few) && !recfile_writer_events(w, calls, 3));
	CHECK(!recfile_writer_trigger(w, &drops) && !recfile_writer_trigger(w, &connect_hangs));
	CHECK(!recfile_writer_close(w));
}

TEST(a_flight_recording_knows_its_trigger)
{
	struct strbuf text;
	struct recinfo info;

	write_triggers();
	CHECK(!recinfo_read(&info, path, NULL) && info.trigger_cnt == 2);
	text = text_of(&info, 0);
	CHECK(strstr(text.ptr, ", 'drops > 100/s \\x1b[2J*?'\n            "));
	CHECK(strstr(
		text.ptr,
		", 'tcp_func_2* > 3300ms': tcp_func_2.isra.0 in task 7, which began 3.300000 s before\n"));
	strbuf_reset(&text);
	recinfo_put(&info, &(struct tablew){ .out = &text, .form = TABLE_JSON });
	strbuf_char(&text, '\0');
	CHECK(strstr(
		text.ptr,
		"\"triggers\":[{\"condition\":\"drops > 100/s \\u001b[2J*/\",\"time_ns\":2450,\"time_unix_ns\":"));
	CHECK(strstr(text.ptr, ",\"func\":null,\"begin_ns\":null,\"tid\":null},{"));
	CHECK(strstr(text.ptr, ",\"func\":\"tcp_func_2.isra.0\",\"begin_ns\":2200,\"tid\":7}],"));
	strbuf_release(&text);
	recinfo_release(&info);
}

TEST(what_comes_before_a_damage_is_known)
{
	struct recinfo info;

	write_calls(NULL, NULL);
	file_read();
	image.bytes[image.len - 1] ^= 1;
	file_write(image.bytes, image.len);
	quiet();
	CHECK(recinfo_read(&info, path, NULL) == -EBADMSG);
	CHECK(info.host.cpu_cnt == 2 && info.func_cnt == 3 && !info.stats.event_cnt);
	recinfo_release(&info);
	file_write(image.bytes, FILE_HEAD);
	CHECK(recinfo_read(&info, path, NULL) == -ENODATA && !info.host.cpu_cnt);
	recinfo_release(&info);
	CHECK(recinfo_read(&info, "/no/such", NULL) == -ENOENT);
	recinfo_release(&info);
}
