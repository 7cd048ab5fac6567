#ifndef NFG_TRACE_FUNCTAB_H
#define NFG_TRACE_FUNCTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleantext.h"
#include "trace/row.h"

/* A traced function. Its index in the table is the func_id of events. */
struct func {
	struct text name;   /* borrowed from the kbtf or ksyms that contains it; NUL-terminated */
	struct text module; /* len 0: built in */
	uint64_t addr;      /* 0: unknown */
	uint32_t btf_id;
	int btf_fd;
	uint32_t
		prog_id; /* of the BPF program that it is, or is part of; 0: a function of the kernel */
	uint8_t owner;      /* enum kbtf_owner */
	uint8_t arg_kind;   /* enum nfg_arg_kind: its first sk_buff or sock argument ... */
	uint8_t arg_idx;    /* ... and its index */
	uint8_t skb_arg;    /* index of its first sk_buff argument, plus one; 0: none */
	uint8_t msg_arg;    /* the same of a msghdr */
	uint8_t reason_arg; /* of the reason of a drop */
	uint8_t arg_cnt;
	uint8_t ret_kind; /* enum nfg_ret_kind */
	bool has_ret;     /* it returns something */
	bool fits_filter; /* it has every argument and result that --filter names */
	bool is_start;    /* it opens the graph (-G, --preset) */
	bool only_drops;  /* ... with calls that drop a packet, not with others */
	bool is_named;    /* requested by name, not by a pattern: a refusal is worth a warning */
	bool is_extra;    /* not on a packet's path; included because attaching it costs no time */
	bool runs_around; /* the kernel calls it around every program (deny_runs_around) */
	bool goes_last; /* asked for by what it tells: a limit leaves it out when nothing else is left */
	bool is_attached;
	bool has_clean_name; /* set by func_set_name */
	bool is_left_out; /* must not be attached again: it cost too much (--max-overhead, --max-events) */
};

/* func_set_name - both names are borrowed. Checks once whether they can be printed unescaped. */
static inline void func_set_name(struct func *func, struct text name, struct text module)
{
	func->name = name;
	func->module = module;
	func->has_clean_name = clean_is(name.ptr, name.len, CLEAN_SYMBOL) &&
			       clean_is(module.ptr, module.len, CLEAN_SYMBOL);
}

struct functab {
	struct func *funcs;
	size_t cnt;
	size_t room; /* functions may be added up to this number while they are traced; 0: none */
};

/* functab_max - how many functions there may ever be: the size of arrays by func_id. */
static inline size_t functab_max(const struct functab *tab)
{
	return tab->cnt > tab->room ? tab->cnt : tab->room;
}

/* A tracepoint that is shown between calls. Its index in the table is the func_id of an EVENT_POINT. */
struct point {
	struct text name;   /* borrowed */
	struct text system; /* "skb" of skb:kfree_skb; len 0: unknown. Borrowed */
};

struct pointtab {
	struct point *points;
	size_t cnt;
};

/* functab_extra_cnt - how many of @tab are func.is_extra. */
static inline size_t functab_extra_cnt(const struct functab *tab)
{
	size_t cnt = 0;

	for (size_t i = 0; i < tab->cnt; i++)
		cnt += tab->funcs[i].is_extra;
	return cnt;
}

/* functab_prog_cnt - how many of @tab are functions of BPF programs. */
static inline size_t functab_prog_cnt(const struct functab *tab)
{
	size_t cnt = 0;

	for (size_t i = 0; i < tab->cnt; i++)
		cnt += tab->funcs[i].prog_id != 0;
	return cnt;
}

#endif
