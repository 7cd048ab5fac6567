#include "attach/loader.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "kernel/probe.h"
#include "netfgraph.skel.h"
#include "nfg_abi.h"

#define REG_CNT      11
#define CALLER_SAVED 6 /* r0 to r5, which a call overwrites */

enum kind {
	ANYTHING,
	CONSTANT,
	IN_DATA, /* an address, as an offset in the data */
};

struct value {
	enum kind kind;
	uint64_t number;
};

/* Facts that hold before an instruction on every path to it. */
struct state {
	bool is_live;
	struct value regs[REG_CNT];
};

/* The possible results of a conditional jump. */
enum fate {
	OPEN,
	NEVER,
	TAKEN,
};

struct walk {
	const struct bpf_insn *insns;
	uint32_t cnt;
	const struct livecode_data *data;
	struct state *states; /* one for each instruction */
	uint32_t *todo;       /* instructions whose state has changed */
	bool *is_todo;
	uint32_t todo_cnt;
};

static bool loader_is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool is_pseudo_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

static uint8_t class_of(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code);
}

static bool is_jump(const struct bpf_insn *insn)
{
	const uint8_t op = BPF_OP(insn->code);

	return (class_of(insn) == BPF_JMP || class_of(insn) == BPF_JMP32) && op != BPF_CALL &&
	       op != BPF_EXIT;
}

static bool is_conditional(const struct bpf_insn *insn)
{
	return is_jump(insn) && BPF_OP(insn->code) != BPF_JA;
}

/* Our programs never use function pointers, packet filter loads, 32-bit jump offsets, or jumps of later kernels. */
static bool loader_is_known(const struct bpf_insn *insn)
{
	if (class_of(insn) == BPF_LD)
		return loader_is_wide(insn) && insn->src_reg != BPF_PSEUDO_FUNC;
	if (is_jump(insn) && BPF_OP(insn->code) > BPF_JSLE)
		return false;
	return insn->code != (BPF_JMP32 | BPF_JA);
}

/* The target of a jump or a call; it may be outside the program. */
static int64_t loader_target_of(const struct bpf_insn *insns, uint32_t at)
{
	return (int64_t)at + 1 + (is_pseudo_call(&insns[at]) ? insns[at].imm : insns[at].off);
}

static struct value meet(struct value a, struct value b)
{
	if (a.kind == b.kind && a.number == b.number)
		return a;
	return (struct value){ .kind = ANYTHING };
}

/* Record that the instruction @at is reached with @regs. Return: whether there is one. */
static bool loader_reach(struct walk *walk, int64_t at, const struct value *regs)
{
	struct state *state;
	bool is_news;

	if (at < 0 || at >= walk->cnt)
		return false;
	state = &walk->states[at];
	is_news = !state->is_live;
	for (int i = 0; i < REG_CNT; i++) {
		const struct value met = state->is_live ? meet(state->regs[i], regs[i]) : regs[i];

		is_news |= met.kind != state->regs[i].kind;
		state->regs[i] = met;
	}
	state->is_live = true;
	if (is_news && !walk->is_todo[at]) {
		walk->is_todo[at] = true;
		walk->todo[walk->todo_cnt++] = (uint32_t)at;
	}
	return true;
}

/* Load the data at @offset; little-endian, as on all our targets. */
static struct value load(const struct livecode_data *data, uint64_t offset, uint8_t size)
{
	static const uint8_t bytes[] = {
		[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8
	};
	const uint8_t len = bytes[size >> 3];
	struct value value = { .kind = CONSTANT };

	if (offset > data->size || data->size - offset < len)
		return (struct value){ .kind = ANYTHING };
	memcpy(&value.number, (const uint8_t *)data->bytes + offset, len);
	return value;
}

static struct value loader_compute(const struct bpf_insn *insn, struct value dst, struct value src)
{
	const bool is_short = class_of(insn) == BPF_ALU;
	struct value result = dst;

	if (BPF_SRC(insn->code) == BPF_X) {
		if (BPF_OP(insn->code) != BPF_MOV || insn->off)
			return (struct value){ .kind = ANYTHING };
		result = src;
	} else if (BPF_OP(insn->code) == BPF_AND && dst.kind == CONSTANT) {
		result.number &= (uint64_t)(int64_t)insn->imm;
	} else if (BPF_OP(insn->code) == BPF_RSH && dst.kind == CONSTANT) {
		if (is_short)
			result.number = (uint32_t)result.number;
		result.number >>= insn->imm & (is_short ? 31 : 63);
	} else {
		return (struct value){ .kind = ANYTHING };
	}
	if (!is_short)
		return result;
	result.number = (uint32_t)result.number;
	return result.kind == CONSTANT ? result : (struct value){ .kind = ANYTHING };
}

/* Apply the effect of @insn, which does not jump, to the registers. */
static void loader_run(const struct walk *walk, const struct bpf_insn *insn, struct value *regs)
{
	const struct value anything = { .kind = ANYTHING };
	struct value *dst = &regs[insn->dst_reg];
	const struct value src = regs[insn->src_reg];

	switch (class_of(insn)) {
	case BPF_LD:
		*dst = anything;
		if (loader_is_wide(insn) && insn->src_reg == BPF_PSEUDO_MAP_VALUE &&
		    insn->imm == walk->data->map_fd)
			*dst = (struct value){ .kind = IN_DATA, .number = (uint32_t)insn[1].imm };
		break;
	case BPF_LDX:
		*dst = anything;
		if (BPF_MODE(insn->code) == BPF_MEM && src.kind == IN_DATA)
			*dst = load(walk->data, src.number + (uint64_t)(int64_t)insn->off,
				    BPF_SIZE(insn->code));
		break;
	case BPF_STX: /* an atomic operation may load into any of them */
		if (BPF_MODE(insn->code) != BPF_MEM)
			regs[0] = regs[insn->src_reg] = *dst = anything;
		break;
	case BPF_ALU:
	case BPF_ALU64:
		*dst = loader_compute(insn, *dst, src);
		break;
	case BPF_JMP:
		for (int i = 0; i < CALLER_SAVED; i++)
			regs[i] = anything;
		break;
	}
}

static bool loader_compare(uint8_t op, uint64_t a, uint64_t b, int64_t sa, int64_t sb)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	}
	return a & b; /* BPF_JSET */
}

/* The result of a conditional jump. */
static enum fate fate_of(const struct bpf_insn *insn, const struct value *regs)
{
	const struct value a = regs[insn->dst_reg];
	struct value b = { .kind = CONSTANT, .number = (uint64_t)(int64_t)insn->imm };
	bool is_taken;

	if (BPF_SRC(insn->code) == BPF_X)
		b = regs[insn->src_reg];
	if (a.kind != CONSTANT || b.kind != CONSTANT)
		return OPEN;
	if (class_of(insn) == BPF_JMP32)
		is_taken = loader_compare(BPF_OP(insn->code), (uint32_t)a.number,
					  (uint32_t)b.number, (int32_t)a.number, (int32_t)b.number);
	else
		is_taken = loader_compare(BPF_OP(insn->code), a.number, b.number, (int64_t)a.number,
					  (int64_t)b.number);
	return is_taken ? TAKEN : NEVER;
}

/* Continue from one instruction. Return: whether its successors exist. */
static bool step(struct walk *walk, uint32_t at)
{
	static const struct value unknown[REG_CNT];
	const struct bpf_insn *insn = &walk->insns[at];
	struct value regs[REG_CNT];
	enum fate fate = TAKEN;

	memcpy(regs, walk->states[at].regs, sizeof(regs));
	if (!loader_is_known(insn) || insn->dst_reg >= REG_CNT || insn->src_reg >= REG_CNT)
		return false;
	if (is_jump(insn)) {
		if (is_conditional(insn))
			fate = fate_of(insn, regs);
		return (fate == NEVER ||
			loader_reach(walk, loader_target_of(walk->insns, at), regs)) &&
		       (fate == TAKEN || loader_reach(walk, (int64_t)at + 1, regs));
	}
	if (insn->code == (BPF_JMP | BPF_EXIT))
		return true;
	if (is_pseudo_call(insn) && !loader_reach(walk, loader_target_of(walk->insns, at), unknown))
		return false;
	if (loader_is_wide(insn) && at + 1 >= walk->cnt)
		return false;
	loader_run(walk, insn, regs);
	return loader_reach(walk, (int64_t)at + 1 + loader_is_wide(insn), regs);
}

/* Return: whether every instruction was understood. */
static bool walk_all(struct walk *walk)
{
	static const struct value unknown[REG_CNT];

	if (!loader_reach(walk, 0, unknown))
		return false;
	while (walk->todo_cnt) {
		const uint32_t at = walk->todo[--walk->todo_cnt];

		walk->is_todo[at] = false;
		if (!step(walk, at))
			return false;
	}
	return true;
}

/* Whether to keep an instruction; the second half of a wide one goes with the first. */
static bool is_kept(const struct walk *walk, uint32_t at)
{
	const struct bpf_insn *insn = &walk->insns[at];
	const struct state *state = &walk->states[at];

	if (at && walk->states[at - 1].is_live && loader_is_wide(insn - 1))
		return true;
	if (!state->is_live)
		return false;
	return !is_conditional(insn) || fate_of(insn, state->regs) != NEVER;
}

/* The moved instruction. @places: the new position of each instruction, or of the next one that is kept. */
static struct bpf_insn moved(const struct walk *walk, uint32_t at, const uint32_t *places)
{
	struct bpf_insn insn = walk->insns[at];
	int32_t distance;

	if (at && loader_is_wide(&walk->insns[at - 1]))
		return insn;
	if (!is_jump(&insn) && !is_pseudo_call(&insn))
		return insn;
	distance = (int32_t)places[loader_target_of(walk->insns, at)] - (int32_t)places[at] - 1;
	if (is_pseudo_call(&insn)) {
		insn.imm = distance;
		return insn;
	}
	if (is_conditional(&insn) && fate_of(&insn, walk->states[at].regs) == TAKEN)
		insn = (struct bpf_insn){ .code = BPF_JMP | BPF_JA };
	insn.off = (int16_t)distance;
	return insn;
}

/* Return: the number of instructions kept. @places: room for one number each. */
static uint32_t compact(const struct walk *walk, struct bpf_insn *out, uint32_t *places)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < walk->cnt; i++) {
		places[i] = cnt;
		cnt += is_kept(walk, i);
	}
	for (uint32_t i = 0; i < walk->cnt; i++) {
		if (is_kept(walk, i))
			out[places[i]] = moved(walk, i, places);
	}
	return cnt;
}

int livecode_keep(struct bpf_insn *insns, uint32_t cnt, const struct livecode_data *data)
{
	struct walk walk = { .insns = insns, .cnt = cnt, .data = data };
	struct bpf_insn *kept = calloc(cnt, sizeof(*kept));
	int result = -ENOMEM;

	walk.states = calloc(cnt, sizeof(*walk.states));
	walk.todo = calloc(cnt, sizeof(*walk.todo));
	walk.is_todo = calloc(cnt, sizeof(*walk.is_todo));
	if (kept && walk.states && walk.todo && walk.is_todo) {
		result = (int)cnt;
		if (walk_all(&walk)) {
			result = (int)compact(&walk, kept, walk.todo);
			memcpy(insns, kept, (size_t)result * sizeof(*insns));
		}
	}
	free(kept);
	free(walk.states);
	free(walk.todo);
	free(walk.is_todo);
	return result;
}

/*
 * Tracing programs are typed: they attach to an id in vmlinux. Until they are loaded they have another type, so that
 * libbpf does not look up the id.
 */
static const struct section {
	const char *name;
	enum bpf_prog_type prog_type;
	enum bpf_attach_type type;
} sections[LOADER_SECTION_CNT] = {
	{ "fentry", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_FENTRY },
	{ "fexit", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_FEXIT },
	{ "tp_btf+", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_RAW_TP },
	{ "kprobe.multi", BPF_PROG_TYPE_KPROBE, 0 },
	{ "func+", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_FENTRY }, /* an entry by function name */
	{ "iter+", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_ITER },
	{ "syscall", BPF_PROG_TYPE_SYSCALL, 0 },
};

/* Replace a placeholder in one instruction by a value from @ids. */
static void use_ids(struct bpf_insn *insn, const struct kernel_ids *ids)
{
	const uint8_t mov = BPF_MOV | BPF_K;

	if (insn->code == (BPF_LD | BPF_DW | BPF_IMM) && !insn->src_reg && !insn->off &&
	    insn->imm == NFG_PATCH_PREEMPT_VAR && ids->preempt_var) {
		insn->src_reg = BPF_PSEUDO_BTF_ID;
		insn->imm = (int)ids->preempt_var;
	} else if (insn->code == (BPF_LD | BPF_DW | BPF_IMM) && !insn->src_reg && !insn->off &&
		   insn->imm == NFG_PATCH_ACTIVE_VAR && ids->active_var) {
		insn->src_reg = BPF_PSEUDO_BTF_ID;
		insn->imm = (int)ids->active_var;
	} else if (insn->code == (BPF_LDX | BPF_MEM | BPF_W) &&
		   insn->off == NFG_PATCH_PREEMPT_OFFSET) {
		insn->off = (int16_t)ids->preempt_var_offset;
	} else if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
		   insn->imm == NFG_PATCH_RDONLY_CAST && ids->rdonly_cast) {
		insn->src_reg = NFG_BPF_PSEUDO_KFUNC_CALL;
		insn->imm = (int)ids->rdonly_cast;
	} else if (insn->code == (BPF_ALU64 | mov) || insn->code == (BPF_ALU | mov)) {
		if (insn->imm == NFG_PATCH_SKB_TYPE)
			insn->imm = (int)ids->skb_type;
		else if (insn->imm == NFG_PATCH_SOCK_TYPE)
			insn->imm = (int)ids->sock_type;
	}
}

/*
 * Replace placeholders by the values that libbpf would use for __ksym and CO-RE. Placeholders for things that this
 * kernel lacks remain in programs that are not loaded, or in code that a setting disables.
 */
static void use_kernel_ids(void *elf, size_t bytes, const struct kernel_ids *ids)
{
	struct bpf_insn *insns = elf;

	for (size_t i = 0; i < bytes / sizeof(*insns); i++)
		use_ids(&insns[i], ids);
}

/* Patches the ELF file itself, because libbpf does not expose the instructions of functions that programs call. */
static int open_skel(struct netfgraph_bpf **out, const struct kernel_ids *ids,
		     const struct bpf_object_open_opts *opts)
{
	size_t bytes;
	const void *elf = netfgraph_bpf__elf_bytes(&bytes);
	struct netfgraph_bpf *skel = calloc(1, sizeof(*skel));
	void *copy = malloc(bytes);
	int err = -ENOMEM;

	if (skel && copy)
		err = netfgraph_bpf__create_skeleton(skel);
	if (!err) {
		memcpy(copy, elf, bytes);
		use_kernel_ids(copy, bytes, ids);
		skel->skeleton->data = copy;
		err = bpf_object__open_skeleton(skel->skeleton, opts);
	}
	free(copy);
	if (err)
		netfgraph_bpf__destroy(skel);
	else
		*out = skel;
	return err;
}

static struct loader_template *template_find(const struct loader *loader,
					     const struct bpf_program *prog)
{
	for (size_t i = 0; i < loader->template_cnt; i++) {
		if (loader->templates[i].prog == prog)
			return &loader->templates[i];
	}
	return NULL;
}

/* The program's debug information (func_info, line_info) no longer matches, so it is removed. */
static int empty_program(struct bpf_program *prog, struct bpf_prog_load_opts *opts)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	opts->prog_btf_fd = 0;
	opts->func_info = NULL;
	opts->func_info_cnt = 0;
	opts->line_info = NULL;
	opts->line_info_cnt = 0;
	return bpf_program__set_insns(prog, insns, sizeof(insns) / sizeof(insns[0]));
}

/* Keep only the instructions that the settings need; the settings are in the kernel now and no longer change. */
static int keep_insns(struct loader_template *tmpl, const struct bpf_map *settings)
{
	const size_t cnt = bpf_program__insn_cnt(tmpl->prog);
	struct livecode_data data = { .map_fd = bpf_map__fd(settings) };
	int kept;

	data.bytes = bpf_map__initial_value((struct bpf_map *)settings, &data.size);
	tmpl->insns = malloc(cnt * sizeof(*tmpl->insns));
	if (!tmpl->insns)
		return -ENOMEM;
	memcpy(tmpl->insns, bpf_program__insns(tmpl->prog), cnt * sizeof(*tmpl->insns));
	kept = livecode_keep(tmpl->insns, (uint32_t)cnt, &data);
	if (kept < 0)
		return kept;
	tmpl->insn_cnt = (uint32_t)kept;
	log_debug("%s: %d of %zu instructions", bpf_program__name(tmpl->prog), kept, cnt);
	return 0;
}

static uint32_t attach_id(const struct loader *loader, const char *section)
{
	const char *name = strchr(section, '/');

	if (!name)
		return loader->ids.template_func;
	if (!strncmp(section, "func/", 5))
		return kbtf_func_id(loader->kb, name + 1);
	if (strcmp(section, "iter/task"))
		return kbtf_tracepoint_id(loader->kb, name + 1);
	return kbtf_func_id(loader->kb, "bpf_iter_task");
}

/* libbpf calls this for each program before it loads it. */
static int prepare(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct loader *loader = (const struct loader *)cookie;
	struct loader_template *tmpl = template_find(loader, prog);
	int err = tmpl ? keep_insns(tmpl, loader->skel->maps.rodata) : 0;

	if (!err && tmpl)
		err = empty_program(prog, opts);
	if (bpf_program__type(prog) == BPF_PROG_TYPE_SYSCALL)
		opts->prog_flags |= BPF_F_SLEEPABLE; /* the kernel accepts no others */
	if (err || bpf_program__type(prog) != BPF_PROG_TYPE_RAW_TRACEPOINT)
		return err;
	opts->attach_btf_id = attach_id(loader, bpf_program__section_name(prog));
	return opts->attach_btf_id ? bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING) : -ESRCH;
}

static int handlers_add(struct loader *loader)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)loader,
		    .prog_prepare_load_fn = prepare);

	for (size_t i = 0; i < LOADER_SECTION_CNT; i++) {
		const struct section *section = &sections[i];
		int id = libbpf_register_prog_handler(section->name, section->prog_type,
						      section->type, &opts);

		if (id < 0)
			return id;
		loader->handlers[i] = id;
	}
	return 0;
}

/* @path: BTF file with the kernel's types; NULL: the kernel's own. */
static int open_with(struct loader *loader, const char *path)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);

	return open_skel(&loader->skel, &loader->ids, &opts);
}

/* libbpf reads the file when it loads the object. */
static int open_with_types(struct loader *loader)
{
	int err = coretypes_open(&loader->types);

	if (!err)
		err = open_with(loader, loader->types.path);
	if (err)
		return err;
	err = coretypes_write(&loader->types, kbtf_base(loader->kb),
			      bpf_object__btf(loader->skel->obj));
	if (err) {
		netfgraph_bpf__destroy(loader->skel);
		loader->skel = NULL;
	}
	return err;
}

int loader_open(struct loader *loader, const struct kbtf *kb, const struct kernel_ids *ids)
{
	int err;

	*loader = (struct loader){ .kb = kb, .ids = *ids };
	err = handlers_add(loader);
	if (err)
		return err;
	err = open_with_types(loader);
	if (err) {
		log_debug("libbpf reads the types of vmlinux on its own: %s", strerror(-err));
		err = open_with(loader, NULL);
	}
	return err;
}

int loader_keep(struct loader *loader, struct bpf_program *prog)
{
	if (template_find(loader, prog))
		return 0;
	if (VEC_RESERVE(loader->templates, loader->template_cap, loader->template_cnt + 1))
		return -ENOMEM;
	loader->templates[loader->template_cnt++] = (struct loader_template){ .prog = prog };
	bpf_program__set_autoattach(prog, false);
	return bpf_program__set_autoload(prog, true);
}

struct loader_template loader_kept(const struct loader *loader, const struct bpf_program *prog)
{
	const struct loader_template *tmpl = prog ? template_find(loader, prog) : NULL;

	return tmpl ? *tmpl : (struct loader_template){ 0 };
}

int loader_load(struct loader *loader)
{
	int err = netfgraph_bpf__load(loader->skel);

	coretypes_close(&loader->types);
	/* the first error about a program need not be why the kernel refuses all of them */
	if (err && err != -EPERM && probe_tracing_is_refused(loader->ids.template_func))
		err = -EPERM;
	return err;
}

int loader_attach(struct loader *loader)
{
	const struct bpf_object_skeleton *progs = loader->skel->skeleton;

	for (int i = 0; i < progs->prog_cnt; i++) {
		struct bpf_program *prog = *progs->progs[i].prog;
		struct bpf_link **link = progs->progs[i].link;

		if (!bpf_program__autoload(prog) || !bpf_program__autoattach(prog))
			continue;
		*link = bpf_program__attach_trace(prog);
		if (!*link)
			return -errno;
	}
	return 0;
}

uint64_t loader_missed(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &len) ? 0 : info.recursion_misses;
}

void loader_close(struct loader *loader)
{
	netfgraph_bpf__destroy(loader->skel);
	for (size_t i = 0; i < LOADER_SECTION_CNT; i++) {
		if (loader->handlers[i] > 0)
			libbpf_unregister_prog_handler(loader->handlers[i]);
	}
	coretypes_close(&loader->types);
	for (size_t i = 0; i < loader->template_cnt; i++)
		free(loader->templates[i].insns);
	free(loader->templates);
	*loader = (struct loader){ 0 };
}
