#include "formatted.h"
#include "format/text_parse.h"
#include "harness.h"

static void feed(struct format *f, const struct row *rows, size_t cnt)
{
	struct text_values values = { 0 };

	for (size_t i = 0; i < cnt; i++) {
		struct row row = rows[i];

		/* a row of an event has its values */
		if (row_is_call(&row) && !row.arg_cnt)
			CHECK(!text_values_take(&values, &row));
		CHECK(!format_row(f, &row));
	}
	text_values_release(&values);
}

static void finish(struct format *f)
{
	int more;

	do {
		more = format_finish(f);
		CHECK(more >= 0);
	} while (more);
	format_free(f);
}

struct strbuf made_lossy(const struct format_config *config, const struct row *rows, size_t cnt,
			 uint64_t lost_cnt)
{
	struct strbuf out = { 0 };
	struct format *f;

	CHECK(!format_new(&f, config, &out));
	feed(f, rows, cnt);
	format_set_lost(f, lost_cnt);
	finish(f);
	strbuf_char(&out, '\0');
	CHECK(strbuf_ok(&out));
	return out;
}

struct strbuf made(const struct format_config *config, const struct row *rows, size_t cnt)
{
	return made_lossy(config, rows, cnt, 0);
}

void check_made(const struct format_config *config, const struct row *rows, size_t cnt,
		const char *want)
{
	struct strbuf out = made(config, rows, cnt);

	CHECK_STR(out.ptr, want);
	strbuf_release(&out);
}

void small_trace(struct row rows[6])
{
	rows[0] = call_row(ROW_ENTRY, 0, 1000, 0, "send");
	rows[1] = call_row(ROW_LEAF, 1, 1200, 300, "copy");
	rows[1].module = TEXT("mod");
	rows[1].args_text = TEXT("len=5");
	rows[1].note = TEXT("<-send+0x1/0x2 ret=-22");
	rows[2] = (struct row){ .kind = ROW_COMMENT,
				.cpu = 1,
				.time_ns = 1600,
				.task = CURL,
				.text = TEXT("a \"b\"") };
	rows[3] = call_row(ROW_RETURN, 0, 2500, 1500, "send");
	rows[3].cpu = 0;
	rows[3].note = TEXT("= 0x5");
	rows[4] = (struct row){ .kind = ROW_LOST, .cpu = 1, .time_ns = 2600, .lost_cnt = 17 };
	rows[5] = call_row(ROW_ENTRY, 0, 3000, 0, "recv");
}

void unsure_trace(struct row rows[3])
{
	rows[0] = call_row(ROW_ENTRY, 0, 1000, 0, "send");
	rows[1] = call_row(ROW_LEAF, 1, 1200, 300, "copy");
	rows[2] = call_row(ROW_RETURN, 0, 9000, 0, "send");
	rows[2].lacks_duration = rows[2].is_named = true;
}

struct row stack_row(const struct caller *frames, uint32_t cnt)
{
	return (struct row){
		.kind = ROW_COMMENT,
		.cpu = 1,
		.time_ns = 900,
		.task = CURL,
		.frames = frames,
		.frame_cnt = cnt,
	};
}
