#ifndef NFG_ATTACH_TEMPLATE_H
#define NFG_ATTACH_TEMPLATE_H

#include "attach/bpfobj.h"

/* The ends of a call that a copy handles. */
enum template_ends { TEMPLATE_BOTH, TEMPLATE_ENTRY, TEMPLATE_EXIT };

/* The purpose of a template's copy. */
struct template_spec {
	const struct attach_way *way; /* NULL: not at functions, but at a tracepoint */
	uint32_t btf_id;              /* of the function or tracepoint; 0: a shared program */
	int btf_fd;                   /* of the function's module; 0: vmlinux */
	uint32_t func_id;             /* for its records, if it serves one function */
	uint8_t arg_kind;             /* enum nfg_arg_kind, if it serves one function */
	uint8_t arg_idx;
	uint8_t skb_arg;
	uint8_t msg_arg;
	uint8_t drop_arg; /* NFG_COOKIE_DROP_ARG */
	uint8_t arg_cnt;
	uint8_t ret_kind; /* enum nfg_ret_kind */
	bool has_ret;
	uint8_t ends;                /* enum template_ends */
	bool logs_verifier;          /* print the verifier's log, with -vv */
	const struct bpf_insn *code; /* the function that NFG_PATCH_MARK calls; borrowed */
	uint32_t code_cnt;
	const struct bpf_insn *show; /* the one that NFG_PATCH_SHOW calls; borrowed */
	uint32_t show_cnt;
	uint32_t shown_cnt; /* the words that it fills; 0: there is none */
};

/* template_drop_arg - NFG_COOKIE_DROP_ARG of @func. */
static inline uint8_t template_drop_arg(const struct func *func)
{
	if (!func->only_drops || !func->skb_arg)
		return 0;
	return func->reason_arg ? func->reason_arg : NFG_DROP_WITHOUT_REASON;
}

/* template_cookie - the cookie of funcs[@func_id] for a program that serves many functions. */
static inline uint64_t template_cookie(const struct func *func, uint32_t func_id)
{
	return NFG_COOKIE(func_id, func->arg_kind, func->arg_idx, func->skb_arg, func->msg_arg,
			  func->arg_cnt, func->has_ret, func->ret_kind) |
	       NFG_COOKIE_DROP(template_drop_arg(func));
}

/*
 * template_load - load a copy of @tmpl with its constants patched in (nfg_abi.h, NFG_PATCH_*).
 *
 * Return: the program's descriptor, owned by the caller, or -errno.
 */
int template_load(const struct bpfobj *obj, const struct loader_template *tmpl,
		  const struct template_spec *spec);

/*
 * template_check - whether the kernel accepts the programs of plan.mode, including those at start functions. With -vv it
 * prints the verifier's log for a program that is refused.
 *
 * Return: 0 or the kernel's -errno.
 */
int template_check(const struct bpfobj *obj);

#endif
