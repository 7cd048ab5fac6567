#ifndef NFG_TEST_MACHINE_H
#define NFG_TEST_MACHINE_H

/* An interpreter of eBPF, for as much of it as filters are made of, and as strict as the verifier. */
#include <stdbool.h>
#include <stdint.h>
#include <linux/bpf.h>

/* @view: exactly as long as valid, so that a sanitizer sees who reads further. */
bool run_filter(const struct bpf_insn *insns, uint32_t cnt, const uint8_t *view, uint32_t valid_cnt,
		uint32_t len);

/* Every instruction can be reached, as the verifier demands. */
void check_reached(const struct bpf_insn *insns, uint32_t cnt);

#endif
