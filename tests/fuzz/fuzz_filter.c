/* --filter, --show: any text is refused with a reason, or its instructions say what filter_eval says, or fit. */
#include "fuzz.h"
#include "filter/shown.h"
#include "../unit/machine.c"
#include "../unit/random.c"
#include "../unit/test_filter.c"

static void check_calls(const struct filter *filter, uint32_t func_id, struct fuzz_input in)
{
	/* a side of || that reads members has the other side tested at the entry, also where the function lacks it */
	static const enum filter_end ends[] = { FILTER_AT_ENTRY, FILTER_AT_EXIT };
	struct bpf_insn insns[2][FILTER_INSN_MAX];
	const uint32_t arg_cnt = proto_table_get(table, func_id)->arg_cnt;
	uint32_t cnts[2];

	for (int end = 0; end < 2; end++) {
		cnts[end] =
			filter_code(filter, table, func_id, ends[end], arg_cnt, true, insns[end]);
		CHECK(cnts[end] <= FILTER_INSN_MAX);
	}
	for (int i = 0; i < 4; i++) {
		uint64_t ctx[8];

		for (int j = 0; j < 8; j++)
			ctx[j] = i ? fuzz_take(&in, 8) - (uint64_t)i : call[j];
		CHECK(filter_eval(filter, table, func_id, ctx, NULL) ==
		      (run_call(insns[0], cnts[0], ctx) && run_call(insns[1], cnts[1], ctx)));
	}
}

static void check_shown(const char *text)
{
	struct shown *shown = NULL;
	const char *wrong = shown_parse(&shown, text, "--show");

	CHECK(!wrong || (*wrong && !strchr(wrong, '\n')));
	CHECK(wrong || shown->cnt || shown->has_facts[SHOWN_RULES] ||
	      shown->has_facts[SHOWN_STAMPS]);
	CHECK(wrong || shown->cnt <= SHOWN_MEMBER_MAX);
	for (uint32_t i = 0; !wrong && i < shown->cnt; i++) {
		const struct shown_name *name = &shown->names[i];

		CHECK(name->name.len && name->path.len);
		CHECK(name->name.len + name->path.len == name->text.len);
		CHECK(memmem(text, strlen(text), name->text.ptr, name->text.len));
	}
	shown_free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = fuzz_string(data, len);
	struct filter *filter;
	const char *wrong;

	if (!table)
		begin();
	wrong = filter_parse(&filter, text);
	for (uint32_t id = 0; !wrong && id < F_CNT; id++) {
		struct text missing;

		if (filter_fits(filter, table, id, &missing)) {
			filter_needs(filter);
			check_calls(filter, id, (struct fuzz_input){ data, data + len });
		} else {
			CHECK(missing.len && memmem(text, len, missing.ptr, missing.len));
		}
	}
	CHECK(!wrong || (*wrong && !strchr(wrong, '\n')));
	if (!wrong)
		filter_free(filter);
	check_shown(text);
	free(text);
	return 0;
}
