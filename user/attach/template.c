#include "attach/template.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "base/log.h"
#include "filter/pcapfilter.h"
#include "kernel/probe.h"

/* Set the operand of every instruction with operation @code and operand @patch. Return: how many. */
static unsigned int patch_insns(struct bpf_insn *insns, uint32_t insn_cnt, uint8_t code, int patch,
				int value)
{
	unsigned int cnt = 0;

	for (uint32_t i = 0; i < insn_cnt; i++) {
		if (insns[i].code != code || insns[i].src_reg || insns[i].imm != patch)
			continue;
		insns[i].imm = value;
		cnt++;
	}
	return cnt;
}

/* Replace the object's small array in the template by the real one. Return: how many instructions. */
static unsigned int patch_array(struct bpf_insn *insns, uint32_t insn_cnt, int small_fd, int fd)
{
	unsigned int cnt = 0;

	for (uint32_t i = 0; i < insn_cnt; i++) {
		if (insns[i].code != (BPF_LD | BPF_DW | BPF_IMM) ||
		    insns[i].src_reg != BPF_PSEUDO_MAP_VALUE || insns[i].imm != small_fd)
			continue;
		insns[i].imm = fd;
		cnt++;
	}
	return cnt;
}

/* The instruction that decides whether the program runs at a return: bpf_session_is_return(), or a constant. */
static struct bpf_insn is_return(const struct template_spec *spec, uint32_t kfunc_btf_id)
{
	if (spec->ends != TEMPLATE_BOTH)
		return (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K,
					  .dst_reg = BPF_REG_0,
					  .imm = spec->ends == TEMPLATE_EXIT };
	return (struct bpf_insn){ .code = BPF_JMP | BPF_CALL,
				  .src_reg = NFG_BPF_PSEUDO_KFUNC_CALL,
				  .imm = (int)kfunc_btf_id };
}

/* Replace @helper by @answer. */
static unsigned int patch_session(struct bpf_insn *insns, uint32_t insn_cnt, int helper,
				  struct bpf_insn answer)
{
	unsigned int cnt = 0;

	for (uint32_t i = 0; i < insn_cnt; i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg ||
		    insns[i].imm != helper)
			continue;
		insns[i] = answer;
		cnt++;
	}
	return cnt;
}

/*
 * Append code after the program's @insn_cnt instructions; the template calls it at @patch. Return: the new number of
 * instructions.
 */
static uint32_t append_code(struct bpf_insn *insns, uint32_t insn_cnt, int patch,
			    const struct bpf_insn *code, uint32_t code_cnt)
{
	bool is_called = false;

	for (uint32_t i = 0; i < insn_cnt; i++) {
		if (insns[i].code != (BPF_ALU64 | BPF_MOV | BPF_K) || insns[i].dst_reg ||
		    insns[i].imm != patch)
			continue;
		insns[i] = (struct bpf_insn){
			.code = BPF_JMP | BPF_CALL,
			.src_reg = BPF_PSEUDO_CALL,
			.imm = (int)(insn_cnt - i - 1),
		};
		is_called = true;
	}
	if (!is_called)
		return insn_cnt;
	memcpy(insns + insn_cnt, code, code_cnt * sizeof(*insns));
	return insn_cnt + code_cnt;
}

/* The position of the packet argument; a template that does not read it lacks these instructions. */
static void patch_arg(struct bpf_insn *insns, uint32_t insn_cnt, const struct template_spec *spec)
{
	const uint8_t mov_code = BPF_ALU64 | BPF_MOV | BPF_K;
	/* without such an argument the program loads a value and ignores it */
	unsigned int skb_idx = spec->skb_arg ? spec->skb_arg - 1u : spec->arg_idx;
	unsigned int msg_idx = spec->msg_arg ? spec->msg_arg - 1u : spec->arg_idx;
	const bool has_reason = spec->drop_arg && spec->drop_arg != NFG_DROP_WITHOUT_REASON;
	unsigned int reason_idx = has_reason ? spec->drop_arg - 1u : spec->arg_idx;

	for (uint32_t i = 0; i + 1 < insn_cnt; i++) {
		if (insns[i].code == mov_code && insns[i].imm == NFG_PATCH_SKB_LOAD)
			insns[i + 1].off = (int16_t)(skb_idx * sizeof(__u64));
		if (insns[i].code == mov_code && insns[i].imm == NFG_PATCH_MSG_LOAD)
			insns[i + 1].off = (int16_t)(msg_idx * sizeof(__u64));
		if (insns[i].code == mov_code && insns[i].imm == NFG_PATCH_DROP_LOAD)
			insns[i + 1].off = (int16_t)(reason_idx * sizeof(__u64));
		if (insns[i].code == mov_code && insns[i].imm == NFG_PATCH_ARG_LOAD)
			insns[i + 1].off = (int16_t)(spec->arg_idx * sizeof(__u64));
		/* the return value follows the arguments */
		if (insns[i].code == mov_code && insns[i].imm == NFG_PATCH_RET_LOAD)
			insns[i + 1].off =
				(int16_t)((spec->ret_kind ? spec->arg_cnt : 0) * sizeof(__u64));
	}
	patch_insns(insns, insn_cnt, mov_code, NFG_PATCH_SKB_ARG, spec->skb_arg != 0);
	patch_insns(insns, insn_cnt, mov_code, NFG_PATCH_MSG_ARG, spec->msg_arg != 0);
	patch_insns(insns, insn_cnt, mov_code, NFG_PATCH_DROP_ARG, spec->drop_arg);
	patch_insns(insns, insn_cnt, mov_code, NFG_PATCH_ARG_KIND, spec->arg_kind);
	patch_insns(insns, insn_cnt, mov_code, NFG_PATCH_RET_KIND, spec->ret_kind);
	patch_insns(insns, insn_cnt, mov_code, NFG_PATCH_VAL_CNT, spec->arg_cnt);
	patch_insns(insns, insn_cnt, mov_code, NFG_PATCH_VAL_RET, spec->has_ret);
	patch_insns(insns, insn_cnt, mov_code, NFG_PATCH_SHOW_CNT, (int)spec->shown_cnt);
}

/* The function's id, in instructions that load it and that store it. Return: how many. */
static unsigned int patch_func_id(struct bpf_insn *insns, uint32_t insn_cnt, uint16_t func_id)
{
	return patch_insns(insns, insn_cnt, BPF_ALU64 | BPF_MOV | BPF_K, NFG_PATCH_FUNC_ID,
			   func_id) +
	       patch_insns(insns, insn_cnt, BPF_ST | BPF_MEM | BPF_H, NFG_PATCH_FUNC_ID, func_id);
}

/* Limits a CPU's number; the compiler chooses the width. */
static bool is_cpu_mask(const struct bpf_insn *insn)
{
	const uint8_t op = BPF_AND | BPF_K;

	return (insn->code == (BPF_ALU64 | op) || insn->code == (BPF_ALU | op)) && !insn->src_reg &&
	       insn->imm == (int)NFG_CPU_CNT - 1;
}

/* If the verifier knows the bound of bpf_get_smp_processor_id(), remove the limit. */
static void drop_cpu_mask(struct bpf_insn *insns, uint32_t insn_cnt)
{
	const struct bpf_insn *call = NULL;

	for (uint32_t i = 0; i < insn_cnt; i++) {
		if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg &&
		    insns[i].imm == BPF_FUNC_get_smp_processor_id)
			call = insns + i;
		if (is_cpu_mask(insns + i) && insns[i].dst_reg == BPF_REG_0 && call &&
		    insns + i - call <= 2)
			insns[i] = (struct bpf_insn){ .code = BPF_JMP | BPF_JA };
	}
}

/* Otherwise limit it to the rings; there is one ring for each CPU, and their number is rounded up. */
static void patch_cpu_mask(struct bpf_insn *insns, uint32_t insn_cnt, uint32_t ring_cnt)
{
	for (uint32_t i = 0; i < insn_cnt; i++) {
		if (is_cpu_mask(insns + i))
			insns[i].imm = (int)ring_cnt - 1;
	}
}

/* The shift from an offset among struct nfg_cpu to an offset among rings of @ring_bytes, a power of two. */
static int ring_shift(size_t ring_bytes)
{
	return __builtin_ctzl(ring_bytes / sizeof(struct nfg_cpu));
}

static bool is_kprobe(const struct template_spec *spec)
{
	return spec->way && spec->way->is_by_site;
}

static enum bpf_attach_type attach_type(const struct template_spec *spec)
{
	if (!spec->way)
		return BPF_TRACE_RAW_TP;
	return (enum bpf_attach_type)(spec->ends == TEMPLATE_EXIT ? spec->way->exit_type
								  : spec->way->entry_type);
}

/* @cnt: a power of two. */
static int rec_mask(uint32_t cnt)
{
	return (int)(NFG_REC_BYTES * (cnt - 1));
}

/* Return: 0; -ENOENT: the compiler's output for the template has an unknown form. */
static int patch_all(const struct bpfobj *obj, struct bpf_insn *insns, uint32_t insn_cnt,
		     const struct template_spec *spec)
{
	const struct bpf_insn answer = is_return(spec, obj->config.want.ids.session_kfunc);
	bool is_session = spec->way && spec->way->has_both_ends && !is_kprobe(spec);
	const uint8_t and_code = BPF_ALU64 | BPF_AND | BPF_K;
	unsigned int cnt;

	if (spec->btf_id && !patch_func_id(insns, insn_cnt, spec->func_id))
		return -ENOENT;
	patch_arg(insns, insn_cnt, spec);
	if (obj->plan.has_bounded_cpu_id)
		drop_cpu_mask(insns, insn_cnt);
	if (is_session && !patch_session(insns, insn_cnt, BPF_FUNC_get_func_ip, answer))
		return -ENOENT;
	if (is_kprobe(spec)) /* record_kprobe does not ask */
		patch_session(insns, insn_cnt, BPF_FUNC_get_attach_cookie, answer);
	if (is_kprobe(spec) && (!patch_insns(insns, insn_cnt, and_code, NFG_PATCH_SITE_MASK,
					     2 * ((int)NFG_SITE_CNT - 1)) ||
				!patch_array(insns, insn_cnt, obj->sites.small_fd, obj->sites.fd)))
		return -ENOENT;
	if (obj->config.cfg.sum_up)
		return 0; /* there is no ring */
	if (!patch_insns(insns, insn_cnt, and_code, NFG_PATCH_RING_MASK, rec_mask(obj->rec_cnt)))
		return -ENOENT;
	if (!obj->plan.is_flat)
		return 0;
	patch_cpu_mask(insns, insn_cnt, obj->all_cnt / obj->rec_cnt);
	cnt = patch_insns(insns, insn_cnt, and_code, NFG_PATCH_ALL_MASK, rec_mask(obj->all_cnt));
	cnt += patch_insns(insns, insn_cnt, BPF_ALU64 | BPF_LSH | BPF_K, NFG_PATCH_RING_SHIFT,
			   ring_shift(obj->rec_cnt * sizeof(struct nfg_rec)));
	if (!cnt || !patch_array(insns, insn_cnt, obj->small_flat_fd, obj->flat_fd))
		return -ENOENT;
	return 0;
}

#define WORDS_BYTES (1u << 24) /* what is longer is cut at its end, where the reason stands */

/* Load again, for the end of the verifier's log. */
static void tell_verifier(bool is_kprobe, const struct bpf_insn *insns, uint32_t insn_cnt,
			  struct bpf_prog_load_opts *opts)
{
	char *words = calloc(1, WORDS_BYTES);
	int fd;

	if (!words)
		return;
	opts->log_buf = words;
	opts->log_size = WORDS_BYTES;
	opts->log_level = 1;
	fd = bpf_prog_load(is_kprobe ? BPF_PROG_TYPE_KPROBE : BPF_PROG_TYPE_TRACING, "netfgraph",
			   "GPL", insns, insn_cnt, opts);
	if (fd >= 0)
		close(fd);
	if (strlen(words) > 500)
		memmove(words, words + strlen(words) - 500, 501);
	log_debug("the verifier: %s", *words ? words : "nothing");
	free(words);
}

int template_load(const struct bpfobj *obj, const struct loader_template *tmpl,
		  const struct template_spec *spec)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type(spec),
		    .attach_btf_id = spec->btf_id, .attach_btf_obj_fd = (__u32)spec->btf_fd);
	const struct pcapfilter *filter = obj->config.packet_filter;
	uint32_t insn_cnt = tmpl->insn_cnt;
	struct bpf_insn *insns =
		calloc(insn_cnt + (filter ? filter->insn_cnt : 0) + spec->code_cnt + spec->show_cnt,
		       sizeof(*insns));
	int err;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, tmpl->insns, insn_cnt * sizeof(*insns));
	err = patch_all(obj, insns, insn_cnt, spec);
	if (!err && filter)
		insn_cnt = append_code(insns, insn_cnt, NFG_PATCH_FILTER, filter->insns,
				       filter->insn_cnt);
	if (!err && spec->code_cnt)
		insn_cnt = append_code(insns, insn_cnt, NFG_PATCH_MARK, spec->code, spec->code_cnt);
	if (!err && spec->show_cnt)
		insn_cnt = append_code(insns, insn_cnt, NFG_PATCH_SHOW, spec->show, spec->show_cnt);
	if (!err)
		err = bpf_prog_load(is_kprobe(spec) ? BPF_PROG_TYPE_KPROBE : BPF_PROG_TYPE_TRACING,
				    "netfgraph", "GPL", insns, insn_cnt, &opts);
	if (err < 0 && spec->logs_verifier && log_verbosity() > 1)
		tell_verifier(is_kprobe(spec), insns, insn_cnt, &opts);
	free(insns);
	return err;
}

static int check_one(const struct bpfobj *obj, const struct loader_template *tmpl,
		     struct template_spec spec)
{
	int fd;

	spec.logs_verifier = true;
	fd = tmpl->insn_cnt ? template_load(obj, tmpl, &spec) : 0;
	if (fd > 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* Check the programs of one end, including those at start functions. */
static int check_two(const struct bpfobj *obj, const struct loader_template *tmpl,
		     const struct loader_template *start, struct template_spec spec)
{
	int err = check_one(obj, tmpl, spec);

	return err ? err : check_one(obj, start, spec);
}

/* If one program serves both ends, it is the entry. */
int template_check(const struct bpfobj *obj)
{
	const struct attach_way *way = attach_way(obj->plan.mode);
	const struct bpfobj_ends *ends = &obj->ends;
	struct template_spec spec = { .way = way, .ends = TEMPLATE_EXIT };
	int err;

	if (!way->is_shared) { /* as a packet function, so that the verifier checks all uses */
		spec.btf_id = obj->config.want.ids.template_func;
		spec.arg_kind = NFG_ARG_SKB;
		spec.arg_cnt = 1;
		spec.has_ret = true;
	}
	err = check_two(obj, &ends->exit, &ends->start_exit, spec);
	spec.ends = way->has_both_ends ? TEMPLATE_BOTH : TEMPLATE_ENTRY;
	return err ? err : check_two(obj, &ends->entry, &ends->start_entry, spec);
}
