/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_FGRAPH_BPF_H
#define NFG_FGRAPH_BPF_H

/*
 * The kernel's table of function graph users, which follow returns. Since 6.14 (4346ba160409) kprobe links that follow
 * returns are one of its 16 entries. The entry gets the next number in turn when the first such link is attached.
 */
#include "cpu.bpf.h"

#define FGRAPH_CNT 16 /* FGRAPH_ARRAY_SIZE, which is fixed by the bitmaps in frames */

static __always_inline bool read_symbol(void *to, __u32 bytes, const char *name, int name_bytes,
					__u64 offset)
{
	__u64 addr = 0;

	return !bpf_kallsyms_lookup_name(name, name_bytes, 0, &addr) &&
	       !bpf_probe_read_kernel(to, bytes, (void *)(addr + offset));
}

static const char lru_next[] = "fgraph_lru_next";
static const char lru_table[] = "fgraph_lru_table";

/* Return: the next number; FGRAPH_CNT: unknown, for example without CONFIG_KALLSYMS_ALL. Run by user space. */
SEC("?syscall")
int fgraph_number_due(void)
{
	__u32 number = FGRAPH_CNT;
	__u32 at = FGRAPH_CNT;

	if (!read_symbol(&at, sizeof(at), lru_next, sizeof(lru_next), 0) || at >= FGRAPH_CNT ||
	    !read_symbol(&number, sizeof(number), lru_table, sizeof(lru_table),
			 at * sizeof(number)))
		return FGRAPH_CNT;
	return number;
}

#endif
