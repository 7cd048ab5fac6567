#ifndef NFG_TEST_FAKEKERNEL_H
#define NFG_TEST_FAKEKERNEL_H

/*
 * A hand-made kernel: types, symbols and text in files, read by the code that reads real ones. Each
 * function is 64 bytes: the place for a probe, then calls.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "harness.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"
#include "base/strbuf.h"

#define FAKE_BASE       0xffffffff81000000ull
#define FAKE_FUNC_BYTES 64
#define FAKE_FUNC_MAX   128

/* What a function's prototype is. */
enum fake_type {
	FAKE_PLAIN,    /* int f(int) */
	FAKE_SKB,      /* int f(struct sk_buff *) */
	FAKE_XMIT,     /* netdev_tx_t f(struct sk_buff *, struct net_device *) */
	FAKE_VARARGS,  /* int f(int, ...) */
	FAKE_BY_VALUE, /* int f(struct sk_buff) */
	FAKE_UNTYPED,  /* not in BTF */
};

struct fake_kernel {
	struct btf *btf;
	int protos[FAKE_UNTYPED];
	struct strbuf syms;
	uint8_t text[FAKE_FUNC_MAX * FAKE_FUNC_BYTES];
	size_t used[FAKE_FUNC_MAX];
	size_t cnt;
	struct kbtf *kb;
	struct ksyms *ks;
	struct ktext *kt;
};

static struct fake_kernel fake;

static void fake_begin(void)
{
	int number, skb, dev, ptr, ret;

	fake.btf = btf__new_empty();
	CHECK(fake.btf);
	number = btf__add_int(fake.btf, "int", 4, BTF_INT_SIGNED);
	skb = btf__add_struct(fake.btf, "sk_buff", 4);
	btf__add_field(fake.btf, "len", number, 0, 0);
	dev = btf__add_ptr(fake.btf, btf__add_struct(fake.btf, "net_device", 0));
	ptr = btf__add_ptr(fake.btf, skb);
	ret = btf__add_typedef(fake.btf, "netdev_tx_t", number);
	fake.protos[FAKE_PLAIN] = btf__add_func_proto(fake.btf, number);
	btf__add_func_param(fake.btf, "a", number);
	fake.protos[FAKE_SKB] = btf__add_func_proto(fake.btf, number);
	btf__add_func_param(fake.btf, "skb", ptr);
	fake.protos[FAKE_XMIT] = btf__add_func_proto(fake.btf, ret);
	btf__add_func_param(fake.btf, "skb", ptr);
	btf__add_func_param(fake.btf, "dev", dev);
	fake.protos[FAKE_VARARGS] = btf__add_func_proto(fake.btf, number);
	btf__add_func_param(fake.btf, "a", number);
	btf__add_func_param(fake.btf, NULL, 0);
	fake.protos[FAKE_BY_VALUE] = btf__add_func_proto(fake.btf, number);
	btf__add_func_param(fake.btf, "skb", skb);
}

static uint32_t fake_func(const char *name, enum fake_type type)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	uint32_t idx = (uint32_t)fake.cnt++;
	uint8_t *text = fake.text + idx * FAKE_FUNC_BYTES;

	memset(text, 0x90, FAKE_FUNC_BYTES);
	memcpy(text, nop5, sizeof(nop5));
	fake.used[idx] = sizeof(nop5);
	strbuf_printf(&fake.syms, "%016llx t %s\n", FAKE_BASE + idx * FAKE_FUNC_BYTES, name);
	if (type != FAKE_UNTYPED)
		CHECK(btf__add_func(fake.btf, name, BTF_FUNC_GLOBAL, fake.protos[type]) > 0);
	return idx;
}

/* A line of kallsyms alone. */
static inline void fake_line(const char *name)
{
	strbuf_printf(&fake.syms, "%016llx t %s\n", FAKE_BASE + fake.cnt * FAKE_FUNC_BYTES, name);
}

static inline void fake_call(uint32_t from, uint32_t to)
{
	size_t at = from * FAKE_FUNC_BYTES + fake.used[from];
	int32_t rel = (int32_t)(to * FAKE_FUNC_BYTES - (at + 5));

	fake.text[at] = 0xe8;
	memcpy(fake.text + at + 1, &rel, sizeof(rel));
	fake.used[from] += 5;
}

static inline void fake_no_probe_site(uint32_t func)
{
	memset(fake.text + func * FAKE_FUNC_BYTES, 0x90, 5);
}

static void fake_write(char *path, const void *bytes, size_t len, const void *more, size_t more_len)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK(write(fd, bytes, len) == (ssize_t)len);
	CHECK(write(fd, more, more_len) == (ssize_t)more_len);
	close(fd);
}

static void fake_text_open(void)
{
	char path[] = "/tmp/nfg-text.XXXXXX";
	struct {
		Elf64_Ehdr ehdr;
		Elf64_Phdr phdr;
	} head = {
		.ehdr = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				       ELFDATA2LSB },
			  .e_machine = EM_X86_64,
			  .e_phoff = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1 },
		.phdr = { .p_type = PT_LOAD,
			  .p_vaddr = FAKE_BASE,
			  .p_offset = sizeof(head),
			  .p_filesz = sizeof(fake.text) },
	};

	fake_write(path, &head, sizeof(head), fake.text, sizeof(fake.text));
	CHECK(!ktext_new(&fake.kt, path));
	unlink(path);
}

/* All is said: from here on the kernel can be asked. */
static void fake_end(void)
{
	char btf_path[] = "/tmp/nfg-btf.XXXXXX";
	char syms_path[] = "/tmp/nfg-syms.XXXXXX";
	const void *raw;
	__u32 raw_len;

	raw = btf__raw_data(fake.btf, &raw_len);
	CHECK(raw);
	fake_write(btf_path, raw, raw_len, "", 0);
	CHECK(!kbtf_new_at(&fake.kb, btf_path));
	unlink(btf_path);
	fake_write(syms_path, fake.syms.ptr, fake.syms.len, "", 0);
	CHECK(!ksyms_new_at(&fake.ks, syms_path));
	unlink(syms_path);
	fake_text_open();
}

static void fake_release(void)
{
	kbtf_free(fake.kb);
	ksyms_free(fake.ks);
	ktext_free(fake.kt);
	btf__free(fake.btf);
	strbuf_release(&fake.syms);
}

#endif
