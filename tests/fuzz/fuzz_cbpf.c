/* Any program of classic BPF is refused, or becomes one that the verifier takes and that says the same. */
#include "fuzz.h"
#include "../unit/test_pcapfilter.c"

#define INSN_MAX 128

/* Eight bytes an instruction; most operations are ones that exist. */
static struct cbpf_insn take_insn(struct fuzz_input *in)
{
	static const uint16_t codes[] = {
		BPF_LD | BPF_W | BPF_ABS,
		BPF_LD | BPF_H | BPF_ABS,
		BPF_LD | BPF_B | BPF_ABS,
		BPF_LD | BPF_W | BPF_IND,
		BPF_LD | BPF_H | BPF_IND,
		BPF_LD | BPF_B | BPF_IND,
		BPF_LD | BPF_IMM,
		BPF_LD | BPF_MEM,
		BPF_LD | BPF_W | BPF_LEN,
		BPF_LDX | BPF_IMM,
		BPF_LDX | BPF_MEM,
		BPF_LDX | BPF_W | BPF_LEN,
		BPF_LDX | BPF_B | BPF_MSH,
		BPF_ST,
		BPF_STX,
		BPF_JMP | BPF_JA,
		BPF_JMP | BPF_JEQ | BPF_K,
		BPF_JMP | BPF_JGT | BPF_K,
		BPF_JMP | BPF_JGE | BPF_K,
		BPF_JMP | BPF_JSET | BPF_K,
		BPF_JMP | BPF_JEQ | BPF_X,
		BPF_JMP | BPF_JGT | BPF_X,
		BPF_JMP | BPF_JGE | BPF_X,
		BPF_JMP | BPF_JSET | BPF_X,
		BPF_RET | BPF_K,
		BPF_RET | BPF_A,
		BPF_MISC | BPF_TAX,
		BPF_MISC | BPF_TXA,
		BPF_ALU | BPF_NEG,
	};
	uint64_t what = fuzz_take(in, 2);
	struct cbpf_insn insn = { .jt = (uint8_t)fuzz_take(in, 1),
				  .jf = (uint8_t)fuzz_take(in, 1) };

	insn.k = (uint32_t)fuzz_take(in, 4);
	if (what & 0x8000)
		insn.code = (uint16_t)(what & 0xff);
	else if (what & 0x4000)
		insn.code = BPF_ALU | (what & 0x80 ? BPF_X : BPF_K) | (what & 15) << 4;
	else
		insn.code = codes[what % (sizeof(codes) / sizeof(codes[0]))];
	if (what & 0x2000)
		insn.k &= 31;
	if (what & 0x1000) {
		insn.jt &= 3;
		insn.jf &= 3;
	}
	return insn;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input in = { data, data + len };
	struct cbpf_insn insns[INSN_MAX];
	struct bpf_insn *out = NULL;
	const char *why = NULL;
	uint32_t out_cnt = 0;
	size_t cnt = 0;
	int err;

	while (in.at < in.end && cnt < INSN_MAX)
		insns[cnt++] = take_insn(&in);
	err = cbpf_translate(&out, &out_cnt, insns, cnt, &why);
	CHECK(err ? err == -EOPNOTSUPP && why && !strchr(why, '\n') : out && out_cnt);
	if (!err) {
		check_reached(out, out_cnt);
		for (size_t i = 0; i < RECIPE_CNT; i += 5) {
			struct packet p = packet_made(&recipes[i]);
			struct pcapfilter filter = { out, out_cnt };

			run_ours(&filter, &p);
			check_lacking(&filter, &p);
		}
	}
	free(out);
	return 0;
}
