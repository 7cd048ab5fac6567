/* A kernel image as somebody gives it: an ELF file, and the places for probes in it. */
#include "fuzz.h"
#include "kernel/ktext.h"

static struct ksyms *symbols(void)
{
	static const char text[] = "ffffffff81000000 T _stext\nffffffff81000000 T __fentry__\n"
				   "ffffffff81000040 T f\nffffffff81100000 T _etext\n";
	struct ksyms *ks;

	CHECK(!ksyms_new_at(&ks, fuzz_file((const uint8_t *)text, sizeof(text) - 1)));
	return ks;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct ksyms *ks;
	uint8_t buf[64];
	struct ktext *kt;

	if (!ks)
		ks = symbols();
	if (ktext_new(&kt, fuzz_file(data, len)))
		return 0;
	for (uint64_t addr = 0xffffffff81000000; addr < 0xffffffff81000100; addr += 32) {
		ktext_read(kt, addr, buf, sizeof(buf));
		ktext_has_probe_site(kt, ks, addr);
	}
	ktext_read(kt, UINT64_MAX - 8, buf, sizeof(buf));
	ktext_read(kt, 0, buf, sizeof(buf));
	ktext_free(kt);
	return 0;
}
