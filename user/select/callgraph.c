#include "select/callgraph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "select/callgraph_hops.h"

#define CALL_BYTES  5
#define JCC_BYTES   6
#define ENDBR_BYTES 4
/* sarq $5, %gs:x86_call_depth before a function; one more before kernel 6.9 */
#define DEPTH_COUNT_BYTES 9
#define FUNC_MAX_BYTES    (64u << 10) /* nothing in the network stack comes near */
#define TAIL_BYTES        (4u << 10)  /* read of a symbol with nothing near behind it */
#define COLD_PART_MAX_CNT 8

enum {
	NODE_IGNORED = 1 << 0, /* padding before a function, not one */
	NODE_COLD = 1 << 1,    /* part of another function */
	NODE_DECODED = 1 << 2,
	NODE_INDIRECT = 1 << 3,
	NODE_HOP = 1 << 4,   /* end of a hop: of the network stack, wherever it lies */
	NODE_THUNK = 1 << 5, /* a call of it is a call through a pointer */
	NODE_TRAMPOLINE = 1 << 6,
	NODE_GLUE = 1 << 7, /* tracepoint code that the compiler made */
};

struct node {
	uint32_t edge_first;
	uint32_t edge_cnt;
	uint16_t module; /* index in modules; 0: built in */
	uint8_t flags;
	int err; /* why the text could not be read */
};

struct hop {
	uint32_t from;
	uint32_t to;
};

enum module_verdict { MODULE_UNKNOWN, MODULE_NET, MODULE_OTHER };

struct module {
	const char *name;
	enum module_verdict verdict;
};

struct callgraph {
	const struct callgraph_sym *syms;
	struct node *nodes;
	uint32_t cnt;
	callgraph_read_fn read;
	void *read_ctx;
	uint32_t *slots; /* names: index + 1, 0 free */
	uint32_t slot_cnt;
	uint32_t *edges;
	size_t edge_cnt;
	size_t edge_cap;
	struct hop *hops; /* in ascending order of from */
	size_t hop_cnt;
	size_t hop_cap;
	bool hops_sorted;
	struct module *modules; /* the first is the kernel itself */
	size_t module_cnt;
	uint64_t net_begin; /* both 0: not known */
	uint64_t net_end;
	struct callgraph_stats stats;
	uint8_t text[FUNC_MAX_BYTES];
};

/* ---- symbols ---- */

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static uint8_t name_flags(const char *name)
{
	static const struct {
		const char *prefix;
		uint8_t flag;
	} rules[] = {
		{ "__pfx_", NODE_IGNORED },
		{ "__cfi_", NODE_IGNORED },
		{ "__x86_indirect_thunk", NODE_THUNK },
		{ "__pi___x86_indirect_thunk", NODE_THUNK },
		{ "__x86_indirect_call_thunk", NODE_THUNK },
		{ "__x86_indirect_jump_thunk", NODE_THUNK },
		{ "__SCT__", NODE_TRAMPOLINE },
		{ "__traceiter_", NODE_GLUE },
		{ "__probestub_", NODE_GLUE },
		{ "__bpf_trace_", NODE_GLUE },
		{ "perf_trace_", NODE_GLUE },
		{ "trace_event_", NODE_GLUE },
		{ "trace_raw_output_", NODE_GLUE },
	};
	const char *cold;

	cold = strstr(name, ".cold");
	if (cold && (!cold[5] || cold[5] == '.'))
		return NODE_COLD;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (has_prefix(name, rules[i].prefix))
			return rules[i].flag;
	}
	return 0;
}

/* Of a name without its suffix: the compiler's copies (.isra.0) fall in one place. */
static uint32_t name_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name && *name != '.'; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

static int names_index(struct callgraph *cg)
{
	cg->slot_cnt = 64;
	while (cg->slot_cnt < 2 * cg->cnt)
		cg->slot_cnt *= 2;
	cg->slots = calloc(cg->slot_cnt, sizeof(*cg->slots));
	if (!cg->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < cg->cnt; i++) {
		uint32_t slot;

		if (cg->nodes[i].flags & (NODE_IGNORED | NODE_COLD))
			continue;
		slot = name_hash(cg->syms[i].name) & (cg->slot_cnt - 1);
		while (cg->slots[slot])
			slot = (slot + 1) & (cg->slot_cnt - 1);
		cg->slots[slot] = i + 1;
	}
	return 0;
}

/*
 * The next function of this name, or a copy of one, at or behind *slot, which starts at the
 * name's hash.
 */
static uint32_t name_next(const struct callgraph *cg, const char *name, uint32_t *slot)
{
	size_t len = strcspn(name, ".");
	uint32_t found;

	for (*slot &= cg->slot_cnt - 1; cg->slots[*slot];
	     *slot = (*slot + 1) & (cg->slot_cnt - 1)) {
		found = cg->slots[*slot] - 1;
		if (strcspn(cg->syms[found].name, ".") == len &&
		    !memcmp(cg->syms[found].name, name, len)) {
			(*slot)++;
			return found;
		}
	}
	return CALLGRAPH_NO_FUNC;
}

uint32_t callgraph_find(const struct callgraph *cg, const char *name, const char *module)
{
	uint32_t slot = name_hash(name);
	uint32_t func;

	do {
		func = name_next(cg, name, &slot);
	} while (func != CALLGRAPH_NO_FUNC &&
		 (strcmp(cg->syms[func].name, name) ||
		  (module && (!cg->syms[func].module || strcmp(cg->syms[func].module, module)))));
	return func;
}

/* Modules' symbols stand together, so the last one is nearly always the right one. */
static int module_index(struct callgraph *cg, const char *name, uint16_t *idx)
{
	struct module *mods;

	*idx = 0;
	if (!name)
		return 0;
	for (size_t i = cg->module_cnt; i-- > 1;) {
		if (strcmp(cg->modules[i].name, name))
			continue;
		*idx = (uint16_t)i;
		return 0;
	}
	if (cg->module_cnt == UINT16_MAX)
		return -EINVAL;
	mods = realloc(cg->modules, (cg->module_cnt + 1) * sizeof(*mods));
	if (!mods)
		return -ENOMEM;
	cg->modules = mods;
	mods[cg->module_cnt] = (struct module){ .name = name };
	*idx = (uint16_t)cg->module_cnt++;
	return 0;
}

/* What an address is does not depend on which of its names comes first. */
static void aliases_agree(struct callgraph *cg)
{
	const uint8_t shared = NODE_THUNK | NODE_TRAMPOLINE;

	for (uint32_t i = 1; i < cg->cnt; i++) {
		if (cg->syms[i].addr == cg->syms[i - 1].addr)
			cg->nodes[i].flags |= cg->nodes[i - 1].flags & shared;
	}
	for (uint32_t i = cg->cnt; i-- > 1;) {
		if (cg->syms[i].addr == cg->syms[i - 1].addr)
			cg->nodes[i - 1].flags |= cg->nodes[i].flags & shared;
	}
}

static int nodes_init(struct callgraph *cg)
{
	int err = 0;

	cg->nodes = calloc(cg->cnt ? cg->cnt : 1, sizeof(*cg->nodes));
	cg->modules = calloc(1, sizeof(*cg->modules));
	if (!cg->nodes || !cg->modules)
		return -ENOMEM;
	cg->module_cnt = 1;
	for (uint32_t i = 0; i < cg->cnt && !err; i++) {
		if (!cg->syms[i].addr || (i && cg->syms[i].addr < cg->syms[i - 1].addr))
			return -EINVAL;
		cg->nodes[i].flags = name_flags(cg->syms[i].name);
		err = module_index(cg, cg->syms[i].module, &cg->nodes[i].module);
	}
	aliases_agree(cg);
	return err;
}

/* The last symbol at or before @addr. */
static uint32_t sym_at(const struct callgraph *cg, uint64_t addr)
{
	uint32_t lo = 0;
	uint32_t hi = cg->cnt;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (cg->syms[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : CALLGRAPH_NO_FUNC;
}

/* Of several names for one address the first that is no padding stands for all. */
static uint32_t canonical(const struct callgraph *cg, uint32_t func)
{
	uint32_t best = func;

	for (uint32_t i = func + 1; i-- > 0 && cg->syms[i].addr == cg->syms[func].addr;) {
		if (!(cg->nodes[i].flags & NODE_IGNORED))
			best = i;
	}
	return best;
}

static uint32_t sym_bytes(const struct callgraph *cg, uint32_t func)
{
	uint64_t addr = cg->syms[func].addr;

	for (uint32_t i = func + 1; i < cg->cnt; i++) {
		if (cg->syms[i].addr == addr)
			continue;
		if (cg->syms[i].addr - addr > FUNC_MAX_BYTES)
			break;
		return (uint32_t)(cg->syms[i].addr - addr);
	}
	return TAIL_BYTES;
}

/* ---- text ---- */

static int edge_add(struct callgraph *cg, uint32_t func, uint32_t callee)
{
	struct node *node = &cg->nodes[func];
	uint32_t *edges;
	size_t cap = cg->edge_cap;

	for (size_t i = node->edge_first; i < cg->edge_cnt; i++) {
		if (cg->edges[i] == callee)
			return 0;
	}
	if (cg->edge_cnt == cap) {
		cap = cap ? cap * 2 : 4096;
		edges = realloc(cg->edges, cap * sizeof(*edges));
		if (!edges)
			return -ENOMEM;
		cg->edges = edges;
		cg->edge_cap = cap;
	}
	cg->edges[cg->edge_cnt++] = callee;
	return 0;
}

struct cold_parts {
	uint32_t syms[COLD_PART_MAX_CNT];
	size_t cnt;
};

static void cold_add(struct cold_parts *cold, uint32_t sym)
{
	for (size_t i = 0; i < cold->cnt; i++) {
		if (cold->syms[i] == sym)
			return;
	}
	if (cold->cnt < COLD_PART_MAX_CNT)
		cold->syms[cold->cnt++] = sym;
}

/*
 * The function that a call or jump to @addr enters: at its first byte, behind its endbr, or
 * in the padding before it, where call depth tracking counts.
 */
static uint32_t func_entered(const struct callgraph *cg, uint64_t addr)
{
	uint32_t sym = sym_at(cg, addr);
	uint64_t offset;

	if (sym == CALLGRAPH_NO_FUNC)
		return sym;
	offset = addr - cg->syms[sym].addr;
	sym = canonical(cg, sym);
	if ((cg->nodes[sym].flags & NODE_IGNORED) && sym + 1 < cg->cnt) {
		uint64_t before = cg->syms[sym + 1].addr - addr;

		return before == DEPTH_COUNT_BYTES || before == DEPTH_COUNT_BYTES + 1
			       ? canonical(cg, sym + 1)
			       : CALLGRAPH_NO_FUNC;
	}
	return !offset || offset == ENDBR_BYTES ? sym : CALLGRAPH_NO_FUNC;
}

/* Where a static call goes now: its trampoline is one jump. */
static uint32_t trampoline_target(const struct callgraph *cg, uint32_t sym)
{
	uint8_t insn[CALL_BYTES];
	int32_t rel;

	if (cg->read(cg->read_ctx, cg->syms[sym].addr, insn, sizeof(insn)) || insn[0] != 0xe9)
		return CALLGRAPH_NO_FUNC;
	memcpy(&rel, insn + 1, sizeof(rel));
	return func_entered(cg, cg->syms[sym].addr + CALL_BYTES + (uint64_t)(int64_t)rel);
}

static int target_add(struct callgraph *cg, uint32_t func, uint64_t addr, bool is_jump,
		      struct cold_parts *cold)
{
	uint32_t callee;

	if (addr < cg->syms[0].addr || addr - FUNC_MAX_BYTES > cg->syms[cg->cnt - 1].addr)
		return 0;
	callee = sym_at(cg, addr);
	if (is_jump && callee != CALLGRAPH_NO_FUNC && (cg->nodes[callee].flags & NODE_COLD)) {
		cold_add(cold, callee);
		return 0;
	}
	callee = func_entered(cg, addr);
	if (callee != CALLGRAPH_NO_FUNC && (cg->nodes[callee].flags & NODE_TRAMPOLINE))
		callee = trampoline_target(cg, callee);
	if (callee == CALLGRAPH_NO_FUNC || callee == func)
		return 0;
	if (cg->nodes[callee].flags & NODE_THUNK) {
		cg->nodes[func].flags |= NODE_INDIRECT;
		return 0;
	}
	if (cg->nodes[callee].flags & (NODE_IGNORED | NODE_COLD))
		return 0;
	return edge_add(cg, func, callee);
}

static bool in_own_text(int64_t offset, uint32_t len)
{
	return offset >= 0 && offset < (int64_t)len;
}

/*
 * Every byte is tried as the start of an instruction. A wrong one has to meet the start of a
 * function among four billion addresses: the scan was checked against a disassembler on whole
 * kernels, see tests/tools/callgraph.c.
 */
static int text_scan(struct callgraph *cg, uint32_t func, uint64_t base, uint32_t len,
		     struct cold_parts *cold)
{
	const uint8_t *text = cg->text;
	int err = 0;

	for (uint32_t i = 0; i + CALL_BYTES <= len && !err; i++) {
		bool is_jcc = text[i] == 0x0f && (text[i + 1] & 0xf0) == 0x80;
		uint32_t size = is_jcc ? JCC_BYTES : CALL_BYTES;
		int32_t rel;

		if (text[i] == 0xff &&
		    ((text[i + 1] & 0xf8) == 0xd0 || (text[i + 1] & 0xf8) == 0xe0))
			cg->nodes[func].flags |= NODE_INDIRECT;
		if ((!is_jcc && (text[i] & 0xfe) != 0xe8) || i + size > len)
			continue;
		memcpy(&rel, text + i + size - sizeof(rel), sizeof(rel));
		if (in_own_text((int64_t)i + size + rel, len))
			continue;
		err = target_add(cg, func, base + i + size + (uint64_t)(int64_t)rel,
				 text[i] != 0xe8, cold);
	}
	return err;
}

static int sym_scan(struct callgraph *cg, uint32_t func, uint32_t sym, struct cold_parts *cold)
{
	uint32_t len = sym_bytes(cg, sym);
	int err = cg->read(cg->read_ctx, cg->syms[sym].addr, cg->text, len);

	return err ? err : text_scan(cg, func, cg->syms[sym].addr, len, cold);
}

static int func_decode(struct callgraph *cg, uint32_t func)
{
	struct node *node = &cg->nodes[func];
	struct cold_parts cold = { .cnt = 0 };
	int err;

	if (node->flags & NODE_DECODED)
		return node->err;
	node->edge_first = (uint32_t)cg->edge_cnt;
	err = sym_scan(cg, func, func, &cold);
	for (size_t i = 0; i < cold.cnt && !err; i++)
		err = sym_scan(cg, func, cold.syms[i], &cold);
	if (err == -ENOMEM)
		return err;
	node->flags |= NODE_DECODED;
	node->edge_cnt = (uint32_t)cg->edge_cnt - node->edge_first;
	node->err = err;
	cg->stats.func_cnt += !err;
	cg->stats.unreadable_cnt += !!err;
	return err;
}

int callgraph_callees(struct callgraph *cg, uint32_t func, const uint32_t **callees, size_t *cnt)
{
	int err;

	func = canonical(cg, func);
	err = func_decode(cg, func);
	*cnt = err ? 0 : cg->nodes[func].edge_cnt;
	*callees = *cnt ? cg->edges + cg->nodes[func].edge_first : NULL;
	return err;
}

bool callgraph_calls_indirectly(const struct callgraph *cg, uint32_t func)
{
	return cg->nodes[canonical(cg, func)].flags & NODE_INDIRECT;
}

/* ---- calls through pointers ---- */

int callgraph_add_hop(struct callgraph *cg, uint32_t from, uint32_t to)
{
	struct hop *hops = cg->hops;
	size_t cap = cg->hop_cap;

	if (from >= cg->cnt || to >= cg->cnt)
		return -EINVAL;
	if (cg->hop_cnt == cap) {
		cap = cap ? cap * 2 : 256;
		hops = realloc(hops, cap * sizeof(*hops));
		if (!hops)
			return -ENOMEM;
		cg->hops = hops;
		cg->hop_cap = cap;
	}
	from = canonical(cg, from);
	to = canonical(cg, to);
	hops[cg->hop_cnt++] = (struct hop){ .from = from, .to = to };
	cg->hops_sorted = false;
	cg->nodes[to].flags |= NODE_HOP;
	cg->modules[cg->nodes[to].module].verdict = MODULE_NET;
	return 0;
}

struct func_list {
	uint32_t *funcs;
	size_t cnt;
	size_t cap;
};

static int list_add(struct func_list *list, uint32_t func)
{
	uint32_t *funcs = list->funcs;

	if (list->cnt == list->cap) {
		list->cap = list->cap ? list->cap * 2 : 64;
		funcs = realloc(funcs, list->cap * sizeof(*funcs));
		if (!funcs)
			return -ENOMEM;
		list->funcs = funcs;
	}
	list->funcs[list->cnt++] = func;
	return 0;
}

/* "nft_*_eval": the part before the star and the part behind it; constprop copies count. */
static bool pattern_match(const char *pattern, size_t len, const char *name)
{
	const char *star = memchr(pattern, '*', len);
	size_t head = (size_t)(star - pattern);
	size_t tail = len - head - 1;
	size_t name_len;

	if (strncmp(name, pattern, head))
		return false;
	name_len = strcspn(name, ".");
	return name_len >= head + tail && !memcmp(name + name_len - tail, star + 1, tail);
}

static bool in_net_range(const struct callgraph *cg, uint32_t func)
{
	uint64_t addr = cg->syms[func].addr;

	return addr >= cg->net_begin && addr < cg->net_end;
}

static int word_resolve(const struct callgraph *cg, const char *word, size_t len,
			struct func_list *out)
{
	char name[64];
	uint32_t slot;
	uint32_t func;
	int err = 0;

	if (memchr(word, '*', len)) {
		for (uint32_t i = 0; i < cg->cnt && !err; i++) {
			if (!(cg->nodes[i].flags & (NODE_IGNORED | NODE_COLD)) &&
			    (cg->nodes[i].module || in_net_range(cg, i)) &&
			    pattern_match(word, len, cg->syms[i].name))
				err = list_add(out, i);
		}
		return err;
	}
	if (len >= sizeof(name))
		return -EINVAL;
	memcpy(name, word, len);
	name[len] = '\0';
	slot = name_hash(name);
	while (!err && (func = name_next(cg, name, &slot)) != CALLGRAPH_NO_FUNC)
		err = list_add(out, func);
	return err;
}

/* The functions that bear the names in @words. */
static int words_resolve(const struct callgraph *cg, const char *words, struct func_list *out)
{
	int err = 0;

	out->cnt = 0;
	while (*words && !err) {
		size_t len = strcspn(words, " ");

		if (len)
			err = word_resolve(cg, words, len, out);
		words += len + (words[len] == ' ');
	}
	return err;
}

int callgraph_add_hops(struct callgraph *cg)
{
	struct func_list from = { 0 };
	struct func_list to = { 0 };
	size_t before = cg->hop_cnt;
	int err = 0;

	for (size_t i = 0; i < callgraph_hop_row_cnt && !err; i++) {
		err = words_resolve(cg, callgraph_hop_rows[i].from, &from);
		if (!err && from.cnt)
			err = words_resolve(cg, callgraph_hop_rows[i].to, &to);
		for (size_t k = 0; !err && k < from.cnt * to.cnt; k++)
			err = callgraph_add_hop(cg, from.funcs[k / to.cnt], to.funcs[k % to.cnt]);
		to.cnt = 0;
	}
	free(from.funcs);
	free(to.funcs);
	return err ? err : (int)(cg->hop_cnt - before);
}

static int hop_compare(const void *a, const void *b)
{
	const struct hop *x = a;
	const struct hop *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static size_t hops_of(struct callgraph *cg, uint32_t func)
{
	size_t lo = 0;
	size_t hi = cg->hop_cnt;

	if (!cg->hops_sorted && cg->hop_cnt)
		qsort(cg->hops, cg->hop_cnt, sizeof(*cg->hops), hop_compare);
	cg->hops_sorted = true;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (cg->hops[mid].from < func)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* ---- what is network ---- */

static uint64_t builtin_addr(const struct callgraph *cg, const char *name)
{
	uint32_t func = callgraph_find(cg, name, NULL);

	return func == CALLGRAPH_NO_FUNC || cg->nodes[func].module ? 0 : cg->syms[func].addr;
}

/* How many of @names lie in the range, and in *@known how many there are at all. */
static unsigned int range_count(const struct callgraph *cg, const char *const *names, size_t cnt,
				unsigned int *known)
{
	unsigned int inside = 0;

	*known = 0;
	for (size_t i = 0; i < cnt; i++) {
		uint64_t addr = builtin_addr(cg, names[i]);

		*known += !!addr;
		inside += addr && addr >= cg->net_begin && addr < cg->net_end;
	}
	return inside;
}

#define ARRAY_CNT(a) (sizeof(a) / sizeof((a)[0]))

static bool net_range_plausible(const struct callgraph *cg)
{
	static const char *const insides[] = {
		"__sys_sendto",
		"__sys_recvfrom",
		"sk_alloc",
		"release_sock",
		"__alloc_skb",
		"skb_release_data",
		"__dev_queue_xmit",
		"netif_rx",
		"neigh_lookup",
		"rtnl_lock",
		"eth_type_trans",
		"sch_direct_xmit",
		"netlink_unicast",
		"nf_hook_slow",
		"ip_rcv",
		"ip_output",
		"tcp_sendmsg",
		"tcp_v4_rcv",
		"udp_sendmsg",
		"inet_sendmsg",
		"fib_table_lookup",
		"xfrm_lookup",
		"unix_stream_sendmsg",
		"inet6_add_offload",
	};
	static const char *const outsides[] = {
		"schedule",
		"kfree",
		"vfs_write",
		"memcpy",
		"bpf_prog_free",
		"loopback_xmit",
		"security_socket_sendmsg",
		"strlen",
		"pci_read_config_byte",
		"kobject_put",
		"x86_pci_root_bus_node",
		"ktime_get",
	};
	unsigned int known;

	return range_count(cg, insides, ARRAY_CNT(insides), &known) == known && known >= 16 &&
	       !range_count(cg, outsides, ARRAY_CNT(outsides), &known) && known >= 6;
}

/* net/devres.o and net/socket.o come first. Behind net/ come arch/x86/pci, then lib/. */
static void net_range_find(struct callgraph *cg)
{
	static const char *const firsts[] = {
		"netdev_devres_match",  "devm_alloc_etherdev_mqs", "devm_free_netdev",
		"devm_register_netdev", "sock_show_fdinfo",        "sockfs_security_xattr_set",
		"sock_from_file",       "__sock_tx_timestamp",     "sock_mmap",
		"kernel_listen",        "sock_register",
	};
	static const char *const nexts[] = {
		"pcibios_align_resource", "pcibios_allocate_resources", "pci_mmcfg_read",
		"pci_conf1_read",         "pcibios_fixup_bus",          "argv_split",
		"bug_get_file_line",      "kobject_add_internal",
	};
	uint64_t socket = builtin_addr(cg, "sock_alloc_file");
	uint64_t inside = builtin_addr(cg, "inet_sendmsg");

	cg->net_begin = socket;
	cg->net_end = UINT64_MAX;
	for (size_t i = 0; i < ARRAY_CNT(firsts); i++) {
		uint64_t addr = builtin_addr(cg, firsts[i]);

		if (addr && addr < cg->net_begin && socket - addr < 2 * FUNC_MAX_BYTES)
			cg->net_begin = addr;
	}
	for (size_t i = 0; i < ARRAY_CNT(nexts); i++) {
		uint64_t addr = builtin_addr(cg, nexts[i]);

		if (addr > inside && addr < cg->net_end)
			cg->net_end = addr;
	}
	if (socket && inside > socket && cg->net_end != UINT64_MAX && net_range_plausible(cg))
		return;
	cg->net_begin = 0;
	cg->net_end = 0;
}

int callgraph_net_range(const struct callgraph *cg, uint64_t *begin, uint64_t *end)
{
	*begin = cg->net_begin;
	*end = cg->net_end;
	return cg->net_end ? 0 : -ENOENT;
}

/* Leading underscores do not count. */
static bool has_any_prefix(const char *name, const char *prefixes)
{
	name += strspn(name, "_");
	while (*prefixes) {
		size_t len = strcspn(prefixes, " ");

		if (!strncmp(name, prefixes, len))
			return true;
		prefixes += len + (prefixes[len] == ' ');
	}
	return false;
}

/* Drivers may be built in; they lie outside net/. */
static bool is_driver_name(const char *name)
{
	return has_any_prefix(name, "loopback_ veth_ virtnet_ vmxnet3_ e1000_ bond_ tun_ macvlan_ "
				    "ipvlan_ vxlan_ geneve_ dummy_ netvsc_ xennet_ ena_ gve_");
}

static bool is_stack_name(const char *name)
{
	return has_any_prefix(name, "sys_send sys_recv sys_conn sys_acc sock_ sk_ skb_ kfree_skb "
				    "consume_skb alloc_skb net_ netif_ netdev_ napi_ dev_queue "
				    "dev_hard_ dev_gro_ dev_qdisc qdisc_ sch_direct pfifo_ "
				    "fq_codel_ neigh_ arp_ eth_ ip_ ip4_ ip6_ ipv4_ ipv6_ inet_ "
				    "inet6_ icmp_ icmpv6_ tcp_ tcp4_ tcp6_ udp_ udp4_ udp6_ udpv6_ "
				    "raw_send raw_recv ping_ fib_ fib4_ fib6_ rt_ dst_ nf_ unix_ "
				    "netlink_ packet_ tpacket_ xfrm_ xfrm4_ br_ vlan_ tcf_ "
				    "enqueue_to_backlog process_backlog release_sock lock_sock");
}

static bool builtin_in_net(const struct callgraph *cg, uint32_t func)
{
	return in_net_range(cg, func) || is_driver_name(cg->syms[func].name) ||
	       (!cg->net_end && is_stack_name(cg->syms[func].name));
}

/* Whether one of its functions calls into net/. */
static bool module_calls_net(struct callgraph *cg, uint16_t module)
{
	for (uint32_t i = 0; i < cg->cnt; i++) {
		const uint32_t *callees;
		size_t cnt;

		if (cg->nodes[i].module != module || canonical(cg, i) != i ||
		    (cg->nodes[i].flags & (NODE_IGNORED | NODE_COLD)) ||
		    callgraph_callees(cg, i, &callees, &cnt))
			continue;
		for (size_t k = 0; k < cnt; k++) {
			if (!cg->nodes[callees[k]].module && builtin_in_net(cg, callees[k]))
				return true;
		}
	}
	return false;
}

static bool in_net(struct callgraph *cg, uint32_t func)
{
	const struct node *node = &cg->nodes[func];
	struct module *mod = &cg->modules[node->module];

	if (node->flags & NODE_HOP)
		return true;
	if (node->flags & (NODE_IGNORED | NODE_COLD | NODE_THUNK | NODE_TRAMPOLINE | NODE_GLUE))
		return false;
	if (!node->module)
		return builtin_in_net(cg, func);
	if (mod->verdict == MODULE_UNKNOWN)
		mod->verdict = module_calls_net(cg, node->module) ? MODULE_NET : MODULE_OTHER;
	return mod->verdict == MODULE_NET;
}

/* What a function of the network stack is for. */
static enum callgraph_kind kind_by_name(const char *name)
{
	static const char setup[] =
		"rtnl_ rtnetlink_ rtmsg_ nla_ nlmsg_ netlink_ genl dev_get_ dev_set_ dev_mc_ dev_uc_ "
		"dev_open dev_close dev_addr_ dev_change dev_ifconf dev_ioctl hw_addr_ "
		"register_netdev unregister_netdev netdev_name netdev_upper netdev_lower "
		"netdev_master netdev_adjacent netdev_state_change netdev_features netdev_notify "
		"netdev_update_f call_netdevice linkwatch_ ethtool_ ethnl_ devlink_ "
		"ip_mc_ ip_ma_ igmp_ igmp6_ ip6_mc_ ipv6_mc_ ipv6_sock_mc ipv6_sock_ac ipv6_dev_mc "
		"ipv6_dev_ac mld_ addrconf_ inetdev_ inet_set_ifa devinet_ inet_del_ifa "
		"inet_insert_ifa fib_table_insert fib_table_del fib_create_info fib_sync_ fib_flush "
		"fib_dump fib6_add fib6_del fib6_dump fib_nl_ fib6_nl_ inet_rtm_ inet6_rtm_ "
		"proc_ seq_ sock_diag_ inet_diag_ tcp_get_info tcp_diag_ netpoll_ sysctl_ "
		"page_pool_create page_pool_destroy page_pool_init page_pool_release "
		"page_pool_list page_pool_unlist page_pool_uninit netif_napi_add netif_napi_del "
		"netif_set_ tcf_block tcf_chain tcf_proto qdisc_create qdisc_destroy dev_graft "
		"dev_activate dev_deactivate dev_init_scheduler dev_shutdown neigh_table "
		"neigh_parms neigh_sysctl tcp_metrics_nl tcp_md5_do_ tcp_ao_ tcp_sigpool "
		"tcp_fastopen_reset tcp_fastopen_init";
	static const char seldom[] =
		"mptcp_ subflow_ xfrm_ xfrm4_ xfrm6_ seg6_ rpl_ ipv6_rpl ioam6_ lwtunnel_ lwt_ "
		"ipmr_ ip6mr_ ip_mr_ ip6_mr_ sk_msg_ sk_psock_ sock_map_ tcp_bpf_ udp_bpf_ "
		"unix_bpf_ xsk_ xdp_do_ cookie_v cipso_ calipso_ netlbl_ "
		"mpls_ pppoe_ bpf_prog_ bpf_skb_ bpf_xdp_ tls_ raw6_ rawv6_ ping_ ip_vs_ ip6_pol_route_in";

	/* these too begin so, and every packet meets them */
	static const char always[] =
		"xfrm_lookup xfrm_policy_check tcp_bpf_clone netlink_has_listeners "
		"dev_get_by_index_rcu dev_get_by_napi_id ip_mc_drop_socket ip_mc_output "
		"tcp_ao_connect tcp_ao_copy_all tcp_ao_established tcp_ao_finish "
		"tcp_ao_destroy_sock tcp_ao_time_wait";

	if (has_any_prefix(name, always))
		return CALLGRAPH_PACKET;
	if (has_any_prefix(name, setup))
		return CALLGRAPH_SETUP;
	if (has_any_prefix(name, seldom))
		return CALLGRAPH_SELDOM;
	return CALLGRAPH_PACKET;
}

enum callgraph_kind callgraph_kind(struct callgraph *cg, uint32_t func)
{
	func = canonical(cg, func);
	return in_net(cg, func) ? kind_by_name(cg->syms[func].name) : CALLGRAPH_OUTSIDE;
}

enum callgraph_kind callgraph_kind_guess(const char *name, const char *module)
{
	if (name_flags(name) || (!module && !is_driver_name(name) && !is_stack_name(name)))
		return CALLGRAPH_OUTSIDE;
	return kind_by_name(name);
}

/* ---- walk ---- */

struct walk_state {
	struct callgraph *cg;
	const struct callgraph_walk *walk;
	uint32_t *depths; /* + 1; 0: not seen */
	uint32_t *queue;
	size_t queued_cnt;
};

static void walk_push(struct walk_state *state, uint32_t func, uint32_t depth, bool is_root)
{
	const struct callgraph_walk *walk = state->walk;
	const struct callgraph *cg = state->cg;

	func = canonical(cg, func);
	if (state->depths[func] || (!is_root && walk->keep && !walk->keep(walk->ctx, func)))
		return;
	state->depths[func] = depth + 1;
	state->queue[state->queued_cnt++] = func;
	for (uint32_t i = func; i < cg->cnt && cg->syms[i].addr == cg->syms[func].addr; i++) {
		if (!(cg->nodes[i].flags & NODE_IGNORED))
			walk->visit(walk->ctx, i, depth);
	}
}

static int walk_expand(struct walk_state *state, uint32_t func)
{
	struct callgraph *cg = state->cg;
	uint32_t depth = state->depths[func];
	const uint32_t *callees;
	size_t cnt;
	int err;

	if (state->walk->depth_max && depth > state->walk->depth_max)
		return 0;
	err = callgraph_callees(cg, func, &callees, &cnt);
	/* keep may decode others and move the edges */
	for (size_t i = 0; i < cnt; i++)
		walk_push(state, cg->edges[cg->nodes[func].edge_first + i], depth, false);
	for (size_t i = hops_of(cg, func); i < cg->hop_cnt && cg->hops[i].from == func; i++)
		walk_push(state, cg->hops[i].to, depth, false);
	return err;
}

int callgraph_reach(struct callgraph *cg, const struct callgraph_walk *walk)
{
	struct walk_state state = { .cg = cg, .walk = walk };
	size_t root_cnt;
	size_t unread = 0;
	int first_err = 0;
	int err = 0;

	state.depths = calloc(cg->cnt ? cg->cnt : 1, sizeof(*state.depths));
	state.queue = calloc(cg->cnt ? cg->cnt : 1, sizeof(*state.queue));
	if (!state.depths || !state.queue)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < walk->root_cnt; i++)
		walk_push(&state, walk->roots[i], 0, true);
	root_cnt = state.queued_cnt;
	for (size_t i = 0; err != -ENOMEM && i < state.queued_cnt; i++) {
		err = walk_expand(&state, state.queue[i]);
		if (err && i < root_cnt)
			unread++;
		if (err && !first_err)
			first_err = err;
	}
	free(state.depths);
	free(state.queue);
	if (err == -ENOMEM)
		return err;
	return root_cnt && unread == root_cnt ? first_err : 0;
}

/* ---- life ---- */

int callgraph_new(struct callgraph **out, const struct callgraph_sym *syms, size_t cnt,
		  callgraph_read_fn read, void *read_ctx)
{
	struct callgraph *cg;
	int err;

	if (cnt >= CALLGRAPH_NO_FUNC / 4)
		return -EINVAL;
	cg = calloc(1, sizeof(*cg));
	if (!cg)
		return -ENOMEM;
	cg->syms = syms;
	cg->cnt = (uint32_t)cnt;
	cg->read = read;
	cg->read_ctx = read_ctx;
	err = nodes_init(cg);
	if (!err)
		err = names_index(cg);
	if (err) {
		callgraph_free(cg);
		return err;
	}
	net_range_find(cg);
	*out = cg;
	return 0;
}

void callgraph_free(struct callgraph *cg)
{
	if (!cg)
		return;
	free(cg->nodes);
	free(cg->slots);
	free(cg->edges);
	free(cg->hops);
	free(cg->modules);
	free(cg);
}

void callgraph_stats(const struct callgraph *cg, struct callgraph_stats *out)
{
	*out = cg->stats;
	out->edge_cnt = cg->edge_cnt;
	out->hop_cnt = cg->hop_cnt;
}
