#include "showing.h"

#include <linux/bpf.h>

#include "filter/shown.h"
#include "harness.h"
#include "machine.h"

const char *showing(const struct kbtf *kb, const char *name, const char *list,
		    const struct kbtf_func *other, const uint64_t *ctx, uint64_t *states)
{
	const struct kbtf_func *func = kbtf_next(kb, name, NULL);

	static struct bpf_insn insns[SHOWN_INSN_MAX];
	static char text[500];
	uint64_t words[1 + NFG_SHOWN_WORDS] = { 0 };
	struct value values[PROTO_ARG_MAX];
	const struct proto_style style = { 0 };
	struct proto_table *types = NULL;
	struct shown *shown = NULL;
	struct proto_texts texts;
	uint32_t cnt;
	int len = 0;

	CHECK(func && !shown_parse(&shown, list, "--show") && !proto_table_new(&types));
	CHECK(!shown_resolve(shown, types, kb, func, 0));
	CHECK(!shown_resolve(shown, types, kb, other, 1));
	CHECK(!shown_unfound(shown) && !shown_word_cnt(shown, 1));
	for (int is_direct = 0; is_direct < 2; is_direct++) {
		uint64_t before[1 + NFG_SHOWN_WORDS];

		memcpy(before, words, sizeof(words));
		cnt = shown_code(shown, 0, is_direct, insns);
		CHECK(cnt <= SHOWN_INSN_MAX);
		check_reached(insns, cnt);
		run_shown(insns, cnt, ctx, words, shown_word_cnt(shown, 0));
		CHECK(!is_direct || !memcmp(before, words, 8 * shown_word_cnt(shown, 0)));
	}
	*states = words[0];
	cnt = proto_fields(types, 0, words + 1, shown_word_cnt(shown, 0) - 1, &style, NULL, NULL,
			   &texts, values);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct value *value = &values[i];

		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%.*s=", i ? " " : "",
				(int)value->name.len, value->name.ptr);
		if (value->form == FORM_TEXT)
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%.*s",
					(int)value->text.len, value->text.ptr);
		else
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%lld",
					(long long)value->number);
	}
	proto_table_free(types);
	shown_free(shown);
	return text;
}
