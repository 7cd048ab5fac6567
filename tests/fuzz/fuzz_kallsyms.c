/* /proc/kallsyms, or behind a zero byte what the iterator's program writes, and what is asked of it. */
#include "fuzz.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"

static void check_texts(const struct ksyms *ks)
{
	struct ksym_text *texts;
	size_t cnt;

	if (ksyms_texts(ks, &texts, &cnt))
		return;
	for (size_t i = 0; i < cnt; i++) {
		CHECK(*texts[i].name && (!i || texts[i].addr >= texts[i - 1].addr));
		CHECK(ksyms_count(ks, texts[i].name) >= 1 || !strncmp(texts[i].name, "__pfx_", 6));
		ksyms_is_init(ks, texts[i].name);
		ksyms_is_tracer_entry(ks, texts[i].addr);
	}
	free(texts);
}

static void check_callers(const struct ksyms *ks, struct fuzz_input in)
{
	struct retaddr *cs;

	if (retaddr_new(&cs, ks))
		return;
	while (in.at < in.end) {
		/* nobody returns to 0, and a place in a stack that there is not has no name */
		uint64_t addr = fuzz_take(&in, 8) | 1;
		struct text name = retaddr_get(cs, addr);

		CHECK(name.len || addr >> 62 == 1);
		CHECK(!name.len || !memchr(name.ptr, '\n', name.len));
	}
	retaddr_free(cs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct ksyms *ks;

	if (len && !*data ? ksyms_new_written(&ks, data + 1, len - 1)
			  : ksyms_new_at(&ks, fuzz_file(data, len)))
		return 0;
	check_texts(ks);
	check_callers(ks, (struct fuzz_input){ data, data + (len < 128 ? len : 128) });
	ksyms_addr(ks, "_stext");
	ksyms_free(ks);
	return 0;
}
