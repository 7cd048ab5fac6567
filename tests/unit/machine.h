#ifndef NFG_TEST_MACHINE_H
#define NFG_TEST_MACHINE_H

/* An interpreter of the eBPF that filters consist of, as strict as the verifier. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/bpf.h>

#include "nfg_abi.h"

/*
 * Run a filter on a packet of @len bytes. @view holds the first @valid_cnt of them and ends there, so that a
 * sanitizer sees a read beyond. @lacks: NFG_LACKS_*. Return: whether the packet matches.
 */
bool run_filter(const struct bpf_insn *insns, uint32_t cnt, const uint8_t *view, uint32_t valid_cnt,
		uint32_t len, uint8_t lacks);

/* Memory that run_call() reads members from; elsewhere is 0. */
void machine_memory(const void *begin, size_t bytes);

/* What a filter of calls returns for one with that context, which has room for 14 words. */
uint64_t run_call(const struct bpf_insn *insns, uint32_t cnt, const uint64_t *ctx);

/*
 * Run code of --show for a call with that context: it has to fill @word_cnt words of @words. What is not in the memory cannot
 * be read.
 */
void run_shown(const struct bpf_insn *insns, uint32_t cnt, const uint64_t *ctx, uint64_t *words,
	       uint32_t word_cnt);

/*
 * Run code of a tracepoint for one with that context: it has to fill @value_cnt values behind @rec. A load from an argument that is
 * not in the memory fails the test, unless the argument was cast, or such a load @may_fail, as on kernels before 6.2.
 */
void run_point(const struct bpf_insn *insns, uint32_t cnt, const uint64_t *ctx, bool may_fail,
	       struct nfg_value *rec, uint32_t value_cnt);

/* Fails the test when an instruction cannot be reached: the verifier refuses such programs. */
void check_reached(const struct bpf_insn *insns, uint32_t cnt);

#endif
