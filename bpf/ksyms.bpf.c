// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's symbols as records (nfg_ksymrec), one a call. It is an object of its own because symbols are read before anybody
 * knows how to load the other programs, and because opening those takes a hundred times as long.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "nfg_abi.h"

char LICENSE[] SEC("license") = "GPL";

/* Most names end within these; the rest of a longer one is read and written as a whole. */
#define SHORT_WORDS  10
#define SHORT_BYTES  (SHORT_WORDS * NFG_KSYMREC_WORD)
#define MODULE_WORDS (sizeof(((struct kallsym_iter *)0)->module_name) / NFG_KSYMREC_WORD)

union piece {
	struct {
		struct nfg_ksymrec rec;
		__u64 name[SHORT_WORDS];
	};
	char rest[sizeof(((struct kallsym_iter *)0)->name) - SHORT_BYTES];
	__u64 module[MODULE_WORDS];
};

/* Return: how many words there are up to the one with a NUL; 0: there are more. */
static __always_inline __u32 copy_name(__u64 *to, const __u64 *name)
{
#pragma unroll
	for (__u32 i = 0; i < SHORT_WORDS; i++) {
		to[i] = name[i];
		if (nfg_has_nul(to[i]))
			return i + 1;
	}
	return 0;
}

static __always_inline void write_rest(union piece *out, const struct kallsym_iter *ksym,
				       struct seq_file *seq)
{
	const __u32 bytes = bpf_core_field_size(ksym->name) - SHORT_BYTES;

	bpf_probe_read_kernel(out->rest, bytes, ksym->name + SHORT_BYTES);
	bpf_seq_write(seq, out->rest, bytes);
}

static __always_inline void write_module(union piece *out, const struct kallsym_iter *ksym,
					 struct seq_file *seq)
{
	const __u64 *module = (const void *)ksym->module_name;

#pragma unroll
	for (__u32 i = 0; i < MODULE_WORDS; i++)
		out->module[i] = module[i];
	bpf_seq_write(seq, out->module, sizeof(out->module));
}

SEC("iter/ksym")
int nfg_ksyms(struct bpf_iter__ksym *ctx)
{
	const struct kallsym_iter *ksym = ctx->ksym;
	struct seq_file *seq = ctx->meta->seq;
	union piece out;
	__u32 short_words;

	out.rec = (struct nfg_ksymrec){ .link = ctx->meta->seq_num };
	if (!ksym) { /* after the last symbol; so far it is given once more instead (ksymiter_accept) */
		bpf_seq_write(seq, &out.rec, sizeof(out.rec));
		return 0;
	}
	out.rec.addr = ksym->show_value ? ksym->value : 0;
	out.rec.type = ksym->type;
	out.rec.flags = ksym->exported ? NFG_KSYMREC_EXPORTED : 0;
	out.rec.module_words = ksym->module_name[0] ? MODULE_WORDS : 0;
	short_words = copy_name(out.name, (const void *)ksym->name);
	out.rec.name_words = short_words ?: bpf_core_field_size(ksym->name) / NFG_KSYMREC_WORD;
	bpf_seq_write(seq, &out.rec,
		      sizeof(out.rec) + (short_words ?: SHORT_WORDS) * NFG_KSYMREC_WORD);
	if (!short_words)
		write_rest(&out, ksym, seq);
	if (ksym->module_name[0])
		write_module(&out, ksym, seq);
	return 0;
}
