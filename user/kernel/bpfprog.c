#include "kernel/bpfprog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/bpf.h>

#include "base/log.h"
#include "base/vec.h"
#include "kernel/probe.h"
#include "kernel/release.h"

/* Types that older headers lack. */
#define TYPE_SK_LOOKUP 30 /* BPF_PROG_TYPE_SK_LOOKUP, 5.9 */
#define TYPE_NETFILTER 32 /* BPF_PROG_TYPE_NETFILTER, 6.4 */

enum kbtf_owner bpfprog_owner(uint32_t type)
{
	switch (type) {
	case BPF_PROG_TYPE_XDP:
		return KBTF_PROG_XDP;
	case BPF_PROG_TYPE_SCHED_CLS:
	case BPF_PROG_TYPE_SCHED_ACT:
		return KBTF_PROG_TC;
	case BPF_PROG_TYPE_SK_MSG:
	case BPF_PROG_TYPE_SK_SKB:
	case BPF_PROG_TYPE_SK_REUSEPORT:
	case TYPE_SK_LOOKUP:
		return KBTF_PROG_SK;
	case BPF_PROG_TYPE_CGROUP_SOCK:
		return KBTF_PROG_SOCK;
	case BPF_PROG_TYPE_CGROUP_SKB:
	case BPF_PROG_TYPE_CGROUP_SOCK_ADDR:
	case BPF_PROG_TYPE_CGROUP_SOCKOPT:
		return KBTF_PROG_CGROUP;
	case BPF_PROG_TYPE_SOCK_OPS:
	case BPF_PROG_TYPE_SOCKET_FILTER:
	case BPF_PROG_TYPE_STRUCT_OPS:
		return KBTF_PROG;
	case TYPE_NETFILTER:
		return KBTF_PROG_NF;
	case BPF_PROG_TYPE_FLOW_DISSECTOR:
		return KBTF_PROG_FLOW;
	case BPF_PROG_TYPE_LWT_IN:
	case BPF_PROG_TYPE_LWT_OUT:
	case BPF_PROG_TYPE_LWT_XMIT:
	case BPF_PROG_TYPE_LWT_SEG6LOCAL:
		return KBTF_PROG_RET;
	default:
		return KBTF_KERNEL;
	}
}

/* ---- results ---- */

struct result {
	int value;
	const char *name;
};

static const struct result xdp_results[] = {
	{ 0, "XDP_ABORTED" }, { 1, "XDP_DROP" },     { 2, "XDP_PASS" },
	{ 3, "XDP_TX" },      { 4, "XDP_REDIRECT" }, { 0, NULL },
};

/* TCX_NEXT, TCX_PASS, TCX_DROP and TCX_REDIRECT have the same values. */
static const struct result tc_results[] = {
	{ 0, "TC_ACT_OK" },
	{ 1, "TC_ACT_RECLASSIFY" },
	{ 2, "TC_ACT_SHOT" },
	{ 3, "TC_ACT_PIPE" },
	{ 4, "TC_ACT_STOLEN" },
	{ 5, "TC_ACT_QUEUED" },
	{ 6, "TC_ACT_REPEAT" },
	{ 7, "TC_ACT_REDIRECT" },
	{ 8, "TC_ACT_TRAP" },
	{ -1, "TC_ACT_UNSPEC" },
	{ 0, NULL },
};

static const struct result sk_results[] = { { 0, "SK_DROP" }, { 1, "SK_PASS" }, { 0, NULL } };
static const struct result nf_results[] = { { 0, "NF_DROP" }, { 1, "NF_ACCEPT" }, { 0, NULL } };

/* The kernel's words, which no type has. A program may set more bits, whose meaning depends on its kind. */
static const struct result cgroup_results[] = { { 0, "deny" }, { 1, "allow" }, { 0, NULL } };

static const struct result *const all_results[KBTF_OWNER_CNT] = {
	[KBTF_PROG_XDP] = xdp_results,       [KBTF_PROG_TC] = tc_results,
	[KBTF_PROG_SK] = sk_results,         [KBTF_PROG_NF] = nf_results,
	[KBTF_PROG_CGROUP] = cgroup_results, [KBTF_PROG_SOCK] = cgroup_results,
};

const char *bpfprog_result(enum kbtf_owner owner, size_t i, int *value)
{
	if (!all_results[owner])
		return NULL;
	*value = all_results[owner][i].value;
	return all_results[owner][i].name;
}

/* ---- the programs ---- */

/* Keep @name until bpfprogs_release. Return: NULL without memory. */
static const char *keep_name(struct bpfprogs *progs, const char *name)
{
	char *copy = strdup(name);

	if (!copy || VEC_RESERVE(progs->names, progs->name_cap, progs->name_cnt + 1)) {
		free(copy);
		return NULL;
	}
	return progs->names[progs->name_cnt++] = copy;
}

static int prog_func_add(struct bpfprogs *progs, const struct bpfprog_func *func)
{
	if (VEC_RESERVE(progs->funcs, progs->cap, progs->cnt + 1))
		return -ENOMEM;
	progs->funcs[progs->cnt++] = *func;
	return 0;
}

/* Add a program only to say why it is not traced. */
static int refused_add(struct bpfprogs *progs, const struct bpf_prog_info *info, const char *module,
		       const char *reason)
{
	const struct bpfprog_func func = {
		.func = { .name = keep_name(progs, *info->name ? info->name : "?"),
			  .module = keep_name(progs, module),
			  .owner = (uint8_t)bpfprog_owner(info->type) },
		.reason = reason,
		.prog_id = info->id,
	};

	return func.func.name && func.func.module && reason ? prog_func_add(progs, &func) : -ENOMEM;
}

static void note_parser(void *ctx, const struct bpfprog_held *held)
{
	struct bpfprog_held *wanted = ctx;

	if (held->prog_id == wanted->prog_id)
		*wanted = *held;
}

/* Whether an sk_skb program was loaded to be a stream parser. Its type does not tell, nor what the kernel says of it. */
static bool is_parser(const struct kbtf *kb, uint32_t prog_id)
{
	struct bpfprog_held held = { .prog_id = prog_id };
	const int holders_fd = bpfprog_holders_open(kb);

	if (holders_fd < 0)
		return false;
	(void)bpfprog_holders_read(holders_fd, note_parser, &held);
	close(holders_fd);
	return held.attach_type == BPF_SK_SKB_STREAM_PARSER;
}

/* A parser's result is a length, that of other sk_skb programs a verdict. */
static enum kbtf_owner owner_of(const struct kbtf *kb, const struct bpf_prog_info *info)
{
	if (info->type == BPF_PROG_TYPE_SK_SKB && is_parser(kb, info->id))
		return KBTF_PROG;
	return bpfprog_owner(info->type);
}

static int funcs_add(struct bpfprogs *progs, const struct kbtf *kb,
		     const struct bpf_prog_info *info, const struct kbtf_prog *prog, int fd)
{
	const enum kbtf_owner owner = owner_of(kb, info);
	const enum kbtf_owner sub_owner =
		owner == KBTF_PROG_FLOW ? KBTF_SUBPROG_FLOW : KBTF_SUBPROG;
	const char *at = (const char *)(uintptr_t)info->func_info;
	int err = 0;

	for (uint32_t i = 0; i < info->nr_func_info && !err; i++, at += info->func_info_rec_size) {
		const struct bpf_func_info *rec = (const void *)at;
		const struct btf_type *type = btf__type_by_id(prog->btf, rec->type_id);
		const char *name = type && btf_is_func(type)
					   ? btf__name_by_offset(prog->btf, type->name_off)
					   : NULL;
		const struct bpfprog_func func = {
			.func = { .name = name,
				  .module = prog->module,
				  .btf_id = rec->type_id,
				  .btf_fd = fd,
				  .owner = (uint8_t)(i ? sub_owner : owner) },
			.prog_id = info->id,
		};

		if (name && *name)
			err = prog_func_add(progs, &func);
	}
	return err;
}

/* Get the records that tell which types the program's functions have; *recs: freed by the caller. */
static int func_info_read(int fd, struct bpf_prog_info *info, void **recs)
{
	struct bpf_prog_info again = {
		.nr_func_info = info->nr_func_info,
		.func_info_rec_size = info->func_info_rec_size,
	};
	__u32 len = sizeof(again);
	int err;

	*recs = calloc(info->nr_func_info, info->func_info_rec_size);
	if (!*recs)
		return -ENOMEM;
	again.func_info = (uintptr_t)*recs;
	err = bpf_obj_get_info_by_fd(fd, &again, &len);
	if (!err)
		*info = again;
	return err;
}

/* Errors that all other programs would have, too. */
static bool is_out_of_room(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

/* Takes over @fd. */
static int traceable_add(struct bpfprogs *progs, struct kbtf *kb, struct bpf_prog_info *info,
			 const char *module, int fd)
{
	struct kbtf_prog prog;
	void *recs = NULL;
	char reason[96];
	int err = func_info_read(fd, info, &recs);

	if (!err)
		err = kbtf_add_prog(kb, info->btf_id, fd, module, &prog);
	if (err) {
		close(fd);
		free(recs);
		if (is_out_of_room(err))
			return err;
		snprintf(reason, sizeof(reason), "its types (BTF) cannot be read: %s",
			 strerror(-err));
		return refused_add(progs, info, module, keep_name(progs, reason));
	}
	err = funcs_add(progs, kb, info, &prog, fd);
	free(recs);
	return err;
}

/* Takes over @fd. */
static int prog_add(struct bpfprogs *progs, struct kbtf *kb, struct bpf_prog_info *info, int fd)
{
	const char *reason = NULL;
	char module[32];

	snprintf(module, sizeof(module), BPFPROG_MODULE ":%u", info->id);
	if (info->type == BPF_PROG_TYPE_STRUCT_OPS && !release_has(RELEASE_VERIFIES_AT_STRUCT_OPS))
		reason =
			"kernels before 5.18 crash when a tracing program is loaded for a struct_ops program";
	else if (info->ifindex)
		reason =
			"this BPF program runs on its network device (offload), not on this host's CPUs";
	else if (!info->jited_prog_len)
		reason = "the kernel interprets this BPF program (net.core.bpf_jit_enable)";
	else if (!info->btf_id || !info->nr_func_info ||
		 info->func_info_rec_size < sizeof(struct bpf_func_info))
		reason = "this BPF program has no type (BTF): it was built or loaded without";
	if (!reason)
		return traceable_add(progs, kb, info, module, fd);
	close(fd);
	return refused_add(progs, info, module, reason);
}

int bpfprogs_read_next(struct bpfprogs *progs, struct kbtf *kb)
{
	__u32 id = progs->last_id;

	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = { 0 };
		__u32 len = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);
		int err;

		if (is_out_of_room(fd))
			return fd;
		progs->last_id = id;
		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &len) ||
		    bpfprog_owner(info.type) == KBTF_KERNEL) {
			close(fd);
			continue;
		}
		err = prog_add(progs, kb, &info, fd);
		return err ? err : 1;
	}
	return 0;
}

int bpfprogs_read(struct bpfprogs *progs, struct kbtf *kb)
{
	int ret;

	do {
		ret = bpfprogs_read_next(progs, kb);
	} while (ret > 0);
	return ret;
}

void bpfprogs_give_up(struct bpfprogs *progs, struct kbtf *kb, const char *reason)
{
	for (size_t i = 0; i < progs->cnt; i++) {
		if (!progs->funcs[i].reason)
			progs->funcs[i].reason = reason;
	}
	kbtf_close_progs(kb);
}

void bpfprogs_forget(struct bpfprogs *progs)
{
	for (size_t i = 0; i < progs->name_cnt; i++)
		free(progs->names[i]);
	progs->name_cnt = 0;
	progs->cnt = 0;
}

void bpfprogs_release(struct bpfprogs *progs)
{
	bpfprogs_forget(progs);
	free(progs->names);
	free(progs->funcs);
	*progs = (struct bpfprogs){ 0 };
}

/* ---- probes ---- */

#define UNTRUSTED_ARG_CNT 5 /* MAX_BPF_FUNC_REG_ARGS of btf_distill_func_proto */

/* Load a program that reads the word after @arg_cnt arguments at the function's exit. Return: 0 or -errno. */
static int probe_exit(const struct kbtf_func *func, uint8_t arg_cnt)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LDX | BPF_MEM | BPF_DW,
		  .src_reg = BPF_REG_1,
		  .off = (int16_t)(arg_cnt * sizeof(uint64_t)) },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FEXIT,
		    .attach_btf_id = func->btf_id, .attach_prog_fd = (__u32)func->btf_fd);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "netfgraph", "GPL", insns, ARRAY_SIZE(insns),
			       &opts);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int bpfprog_arg_cnt(const struct kbtf_func *func, uint8_t arg_cnt)
{
	int err;

	/* only behind five arguments of any type is there a word that the verifier lets a program read */
	if (arg_cnt < UNTRUSTED_ARG_CNT && !probe_exit(func, UNTRUSTED_ARG_CNT))
		return UNTRUSTED_ARG_CNT;
	err = probe_exit(func, arg_cnt);
	return err ? err : arg_cnt;
}

const char *bpfprog_refusal(int err)
{
	switch (-err) {
	case EINVAL:
		return "the kernel allows no tracing program on it";
	case ENOTSUPP_KERNEL:
	case EOPNOTSUPP:
		return "arguments that this kernel's trampolines do not support";
	case EPERM:
		return "a tracing program on it is not permitted";
	case EMFILE:
	case ENFILE:
		return "no file descriptor is left for a tracing program on it";
	case ENOMEM:
		return "no memory is left for a tracing program on it";
	default:
		return "the kernel refuses a tracing program on it";
	}
}

/* ---- who holds a program ---- */

/* What the iterator writes for each program. */
struct holder_rec {
	uint64_t prog_id;
	uint64_t ref_cnt;
	uint64_t attach_type;
};

/* Where the iterator finds it. */
struct holder_members {
	struct kbtf_member aux, attach_type, id, refcnt;
};

#define LOAD(size, dst, src, offset)                            \
	((struct bpf_insn){ .code = BPF_LDX | BPF_MEM | (size), \
			    .dst_reg = (dst),                   \
			    .src_reg = (src),                   \
			    .off = (int16_t)(offset) })
#define STORE(dst, src, offset)                                 \
	((struct bpf_insn){ .code = BPF_STX | BPF_MEM | BPF_DW, \
			    .dst_reg = (dst),                   \
			    .src_reg = (src),                   \
			    .off = (int16_t)(offset) })
#define MOVE(dst, src)      \
	((struct bpf_insn){ \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (dst), .src_reg = (src) })
#define SET(dst, value) \
	((struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (dst), .imm = (value) })

/*
 * As instructions, because its two lines need no compiler: struct bpf_iter__bpf_prog has pointers to meta, whose first
 * member is the seq_file, and to the program, NULL after the last one.
 */
static int holders_load(const struct holder_members *at, uint32_t btf_id)
{
	const int rec = -(int)sizeof(struct holder_rec);
	const struct bpf_insn insns[] = {
		LOAD(BPF_DW, BPF_REG_6, BPF_REG_1, 0), /* ctx->meta */
		LOAD(BPF_DW, BPF_REG_7, BPF_REG_1, 8), /* ctx->prog */
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_7, .off = 12 },
		LOAD(BPF_W, BPF_REG_2, BPF_REG_7, at->attach_type.offset),
		STORE(BPF_REG_10, BPF_REG_2, rec + (int)offsetof(struct holder_rec, attach_type)),
		LOAD(BPF_DW, BPF_REG_7, BPF_REG_7, at->aux.offset),
		LOAD(BPF_W, BPF_REG_2, BPF_REG_7, at->id.offset),
		STORE(BPF_REG_10, BPF_REG_2, rec + (int)offsetof(struct holder_rec, prog_id)),
		LOAD(BPF_DW, BPF_REG_2, BPF_REG_7, at->refcnt.offset),
		STORE(BPF_REG_10, BPF_REG_2, rec + (int)offsetof(struct holder_rec, ref_cnt)),
		LOAD(BPF_DW, BPF_REG_1, BPF_REG_6, 0), /* meta->seq */
		MOVE(BPF_REG_2, BPF_REG_10),
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = rec },
		SET(BPF_REG_3, (int)sizeof(struct holder_rec)),
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_seq_write },
		SET(BPF_REG_0, 0),
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_ITER,
		    .attach_btf_id = btf_id);

	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "netfgraph", "GPL", insns, ARRAY_SIZE(insns),
			     &opts);
}

int bpfprog_holders_open(const struct kbtf *kb)
{
	const uint32_t btf_id = kbtf_func_id(kb, "bpf_iter_bpf_prog");
	struct holder_members at;
	int link_fd;
	int prog_fd;

	if (!btf_id || !kbtf_struct_member(kb, "bpf_prog", "aux", &at.aux) ||
	    !kbtf_struct_member(kb, "bpf_prog", "expected_attach_type", &at.attach_type) ||
	    !kbtf_struct_member(kb, "bpf_prog_aux", "id", &at.id) ||
	    !kbtf_struct_member(kb, "bpf_prog_aux", "refcnt", &at.refcnt) || at.refcnt.bytes != 8)
		return -EOPNOTSUPP;
	prog_fd = holders_load(&at, btf_id);
	if (prog_fd < 0)
		return prog_fd;
	link_fd = bpf_link_create(prog_fd, 0, BPF_TRACE_ITER, NULL);
	close(prog_fd);
	return link_fd;
}

int bpfprog_holders_read(int holders_fd, void (*found)(void *ctx, const struct bpfprog_held *held),
			 void *ctx)
{
	struct holder_rec recs[256];
	int fd = bpf_iter_create(holders_fd);
	ssize_t len;

	if (fd < 0)
		return fd;
	while ((len = read(fd, recs, sizeof(recs))) > 0) {
		for (size_t i = 0; i < (size_t)len / sizeof(*recs); i++) {
			const struct bpfprog_held held = {
				.prog_id = (uint32_t)recs[i].prog_id,
				.attach_type = (uint32_t)recs[i].attach_type,
				.ref_cnt = recs[i].ref_cnt - 1, /* the iterator's */
			};

			found(ctx, &held);
		}
	}
	len = len < 0 ? -errno : 0;
	close(fd);
	return (int)len;
}
