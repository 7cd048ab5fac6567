/* Outermost calls, and what the time of each went into. */
#include "format/slowcalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "format/droprules.h"
#include "format/flow.h"
#include "format/rowkey.h"
#include "format/stagefunc.h"
#include "kernel/ktext.h"
#include "kernel/sleep.h"

/* What a packet is of, in words: by each of what packets are told apart by. */
struct packet_names {
	uint32_t
		by[PACKETS_BY_CNT]; /* SLOWCALLS_NONE: it is not among the first PACKET_NAMES_MAX */
};

/* A name of packets. */
struct packet_name {
	struct nfg_packet packet; /* with nothing but its ends */
	uint32_t name;
};

/* Whoever makes up addresses must not fill the memory. */
#define PACKET_NAMES_MAX 8192

/* An outermost call that has not ended: its parts so far, the first merged_cnt of them in order and each once. */
struct opencall {
	struct callpart *parts;
	size_t cnt;
	size_t cap;
	size_t merged_cnt;
	struct slowtree tree;
	uint32_t slept; /* the detail of the sleep that the last point was, plus 1 */
	uint32_t
		dropped_by; /* the rules that had the verdict to drop a packet, until it is dropped; SLOWCALLS_NONE: none */
	uint32_t in;    /* the function's name that ran when its last traced call began or ended, */
	uint64_t in_ns; /* and when that was; 0: none was seen */
	uint32_t
		packet_in; /* the depth of the outermost call in an interrupt that has a packet, plus 1; 0: none */
	struct packet_names packet; /* of that call */
	uint32_t next_free;
};

/* What tells a cause of running or of interrupts from others. */
struct wording {
	uint32_t kind;
	uint32_t func;   /* without its module, */
	uint32_t caller; /* as the one right above; SLOWCALLS_NONE: none */
	uint32_t cause;  /* the first one */
};

struct slowcalls {
	struct calltree *tree;
	struct startfunc *starts;
	size_t start_cnt;
	size_t start_cap;
	struct hash start_idx;
	struct callpart *parts;
	size_t part_cnt;
	size_t part_cap;
	struct callpath *paths;
	size_t path_cnt;
	size_t path_cap;
	struct hash path_idx;
	struct cause_key *causes;
	size_t cause_cnt;
	size_t cause_cap;
	struct hash cause_idx;
	uint32_t *told; /* by cause: slowcalls_told */
	size_t told_cap;
	struct wording *wordings;
	size_t wording_cnt;
	size_t wording_cap;
	struct hash wording_idx;
	struct detail_key *details;
	size_t detail_cnt;
	size_t detail_cap;
	struct hash detail_idx;
	struct rules_key *rules;
	size_t rules_cnt;
	size_t rules_cap;
	struct hash rules_idx;
	struct packet_name *packets;
	size_t packet_cnt;
	size_t packet_cap;
	struct hash packet_idx;
	struct strbuf packet_text;
	struct opencall *opens;
	size_t open_cnt;
	size_t open_cap;
	uint32_t free_open;       /* SLOWCALLS_NONE: none */
	struct render render;     /* of trees */
	const struct row *row;    /* the current one; NULL: none */
	uint32_t point_causes[2]; /* what the time of the last point went into */
	uint64_t seen_ns;         /* the latest time of all rows; 0: they have none */
	bool lacks_time;
	struct slowgaps gaps;
	bool keeps_trees;
	bool has_sleeps;
	bool is_ending;
	int err;
};

/* ---- numbers for names, places, causes ---- */

static uint32_t name_add(struct slowcalls *sc, struct text name, struct text module)
{
	const struct callsym *sym = calltree_intern(sc->tree, name, module);

	if (sym)
		return sym->id;
	sc->err = -ENOMEM;
	return SLOWCALLS_NONE;
}

static uint32_t name_known(struct slowcalls *sc, struct text name)
{
	return name.len ? name_add(sc, name, (struct text){ "", 0 }) : SLOWCALLS_NONE;
}

/* The number of an item in a list without doubles: it is added if it is new. Keys are the first @key_bytes of items. */
#define KEY_ADD(sc, items, cnt, cap, idx, new, key_bytes)                                         \
	({                                                                                        \
		const uint64_t key_hash_ = hash_bytes(&(new), key_bytes);                         \
		uint32_t key_found_ = SLOWCALLS_NONE;                                             \
		for (uint32_t at_ = 0, item_;                                                     \
		     key_found_ == SLOWCALLS_NONE && hash_next(&(idx), key_hash_, &at_, &item_);) \
			if (!memcmp(&(items)[item_], &(new), key_bytes))                          \
				key_found_ = item_;                                               \
		if (key_found_ == SLOWCALLS_NONE) {                                               \
			if (VEC_RESERVE(items, cap, (cnt) + 1) ||                                 \
			    hash_add(&(idx), key_hash_, (uint32_t)(cnt))) {                       \
				(sc)->err = -ENOMEM;                                              \
			} else {                                                                  \
				(items)[cnt] = (new);                                             \
				key_found_ = (uint32_t)(cnt)++;                                   \
			}                                                                         \
		}                                                                                 \
		key_found_;                                                                       \
	})

static const struct detail_key no_detail = {
	SLOWCALLS_NONE, SLOWCALLS_NONE, SLOWCALLS_NONE, SLOWCALLS_NONE, 0, SLOWCALLS_NONE
};

/* A cause without names. */
static struct cause_key cause_of(enum cause_kind kind)
{
	return (struct cause_key){ kind, SLOWCALLS_NONE, SLOWCALLS_NONE, SLOWCALLS_NONE, 0 };
}

/* The number of a function's name, whatever its module. */
static uint32_t bare_name(struct slowcalls *sc, uint32_t func)
{
	const struct callsym *sym = calltree_sym(sc->tree, func);

	return sym && sym->module.len ? name_add(sc, sym->name, (struct text){ "", 0 }) : func;
}

/* The first cause that has the words of the new cause @i. */
static uint32_t told_by(struct slowcalls *sc, uint32_t i)
{
	const struct cause_key *key = &sc->causes[i];
	struct wording new = { key->kind, SLOWCALLS_NONE, SLOWCALLS_NONE, i };
	uint32_t at;

	if (key->kind != CAUSE_RUNNING && key->kind != CAUSE_INTERRUPTED)
		return i;
	new.func = bare_name(sc, key->func);
	if (key->kind == CAUSE_RUNNING && sc->paths[key->path].parent != SLOWCALLS_NONE)
		new.caller = bare_name(sc, sc->paths[sc->paths[key->path].parent].func);
	at = KEY_ADD(sc, sc->wordings, sc->wording_cnt, sc->wording_cap, sc->wording_idx, new,
		     offsetof(struct wording, cause));
	return at == SLOWCALLS_NONE ? i : sc->wordings[at].cause;
}

static uint32_t cause_add(struct slowcalls *sc, const struct cause_key *key)
{
	const struct cause_key new = *key;
	const size_t before_cnt = sc->cause_cnt;
	const uint32_t i = KEY_ADD(sc, sc->causes, sc->cause_cnt, sc->cause_cap, sc->cause_idx, new,
				   sizeof(new));

	if (sc->cause_cnt == before_cnt)
		return i;
	if (VEC_RESERVE(sc->told, sc->told_cap, sc->cause_cnt)) {
		sc->err = -ENOMEM;
		return SLOWCALLS_NONE;
	}
	sc->told[i] = told_by(sc, i);
	return i;
}

static uint32_t detail_add(struct slowcalls *sc, const struct detail_key *key)
{
	const struct detail_key new = *key;

	return KEY_ADD(sc, sc->details, sc->detail_cnt, sc->detail_cap, sc->detail_idx, new,
		       sizeof(new));
}

/* The number of the rules that @call evaluates; SLOWCALLS_NONE: none that are known. */
static uint32_t rules_add(struct slowcalls *sc, const struct call *call)
{
	struct droprules rules;
	struct rules_key new;

	if (!droprules_of(&rules, call))
		return SLOWCALLS_NONE;
	new = (struct rules_key){ .func = name_known(sc, rules.func),
				  .table = name_known(sc, rules.table),
				  .chain = name_known(sc, rules.chain) };
	return KEY_ADD(sc, sc->rules, sc->rules_cnt, sc->rules_cap, sc->rules_idx, new,
		       sizeof(new));
}

/* The number of the name of packets with these ends; SLOWCALLS_NONE: there are too many. */
static uint32_t packet_name(struct slowcalls *sc, const struct nfg_packet *packet)
{
	struct packet_name new = { .packet = *packet };
	const uint64_t hash = hash_bytes(&new.packet, sizeof(new.packet));
	uint32_t i;

	for (uint32_t at = 0; hash_next(&sc->packet_idx, hash, &at, &i);) {
		if (!memcmp(&sc->packets[i].packet, packet, sizeof(*packet)))
			return sc->packets[i].name;
	}
	if (sc->packet_cnt == PACKET_NAMES_MAX)
		return SLOWCALLS_NONE;
	strbuf_reset(&sc->packet_text);
	flow_put_ends(&sc->packet_text, packet, FLOW_FROM_TO);
	new.name = name_known(sc, text_from(strbuf_cstr(&sc->packet_text)));
	i = KEY_ADD(sc, sc->packets, sc->packet_cnt, sc->packet_cap, sc->packet_idx, new,
		    sizeof(new.packet));
	return i == SLOWCALLS_NONE || !strbuf_ok(&sc->packet_text) ? SLOWCALLS_NONE : new.name;
}

static struct packet_names packet_names(struct slowcalls *sc, const struct nfg_packet *packet)
{
	struct packet_names names;
	struct nfg_packet ends;

	memset(&ends, 0, sizeof(ends));
	ends.family = packet->family;
	ends.proto = packet->proto;
	memcpy(ends.saddr, packet->saddr, sizeof(ends.saddr));
	memcpy(ends.daddr, packet->daddr, sizeof(ends.daddr));
	names.by[PACKETS_BY_HOSTS] = packet_name(sc, &ends);
	ends.sport = packet->sport;
	ends.dport = packet->dport;
	names.by[PACKETS_BY_ENDS] = packet_name(sc, &ends);
	return names;
}

/* The place of @func below the place @parent. */
static uint32_t path_add(struct slowcalls *sc, uint32_t parent, const struct callsym *sym)
{
	struct callpath new = { .parent = parent, .irq = SLOWCALLS_NONE };
	uint32_t context;
	uint32_t path;

	new.func = sym ? sym->id : name_add(sc, (struct text){ "", 0 }, (struct text){ "", 0 });
	path = KEY_ADD(sc, sc->paths, sc->path_cnt, sc->path_cap, sc->path_idx, new,
		       offsetof(struct callpath, irq));
	if (path == SLOWCALLS_NONE)
		return path;
	context = sym ? call_context_entered(sym->name) : CALL_CONTEXT_TASK;
	if (parent != SLOWCALLS_NONE) {
		const struct callpath *above = &sc->paths[parent];

		sc->paths[path].irq = above->irq != SLOWCALLS_NONE || context <= above->context
					      ? above->irq
					      : path;
		context = context > above->context ? context : above->context;
	}
	sc->paths[path].context = context;
	return path;
}

static struct startfunc *start_add(struct slowcalls *sc, uint32_t func)
{
	struct startfunc new = { .func = func };
	const uint32_t i = KEY_ADD(sc, sc->starts, sc->start_cnt, sc->start_cap, sc->start_idx, new,
				   sizeof(new.func));

	return i == SLOWCALLS_NONE ? NULL : &sc->starts[i];
}

/* ---- parts of open calls ---- */

static int part_cmp(const void *a, const void *b)
{
	const struct callpart *x = a;
	const struct callpart *y = b;

	return (x->detail > y->detail) - (x->detail < y->detail);
}

static void parts_merge(struct opencall *open)
{
	size_t cnt = 0;

	if (open->cnt)
		qsort(open->parts, open->cnt, sizeof(*open->parts), part_cmp);
	for (size_t i = 0; i < open->cnt; i++) {
		const struct callpart *part = &open->parts[i];

		if (!cnt || open->parts[cnt - 1].detail != part->detail) {
			open->parts[cnt++] = *part;
			continue;
		}
		cnt_add(&open->parts[cnt - 1].cnt, part->cnt);
		sum_add(&open->parts[cnt - 1].ns, part->ns);
	}
	open->cnt = open->merged_cnt = cnt;
}

#define MERGE_CNT 1024

static void part_put(struct slowcalls *sc, struct opencall *open, const struct detail_key *key,
		     uint32_t cnt, int64_t ns)
{
	const uint32_t detail = key->cause == SLOWCALLS_NONE ? SLOWCALLS_NONE : detail_add(sc, key);

	if (sc->err)
		return;
	if (open->cnt >= MERGE_CNT && open->cnt >= 2 * open->merged_cnt)
		parts_merge(open);
	if (VEC_RESERVE(open->parts, open->cap, open->cnt + 1)) {
		sc->err = -ENOMEM;
		return;
	}
	open->parts[open->cnt++] = (struct callpart){ detail, cnt, ns };
}

/* The parts of the task's outermost call; NULL: no memory. */
static struct opencall *open_of(struct slowcalls *sc, struct calltask *task)
{
	uint32_t i = sc->free_open;

	if (task->user)
		return &sc->opens[task->user - 1];
	if (i != SLOWCALLS_NONE) {
		sc->free_open = sc->opens[i].next_free;
	} else {
		if (VEC_RESERVE_ZEROED(sc->opens, sc->open_cap, sc->open_cnt + 1)) {
			sc->err = -ENOMEM;
			return NULL;
		}
		i = (uint32_t)sc->open_cnt++;
	}
	task->user = i + 1;
	sc->opens[i].dropped_by = SLOWCALLS_NONE;
	return &sc->opens[i];
}

static void open_free(struct slowcalls *sc, struct calltask *task)
{
	struct opencall *open = &sc->opens[task->user - 1];

	/* one huge call does not keep its memory until the end */
	if (open->cap > MERGE_CNT || open->tree.cap > MERGE_CNT) {
		free(open->parts);
		slowtree_release(&open->tree);
		*open = (struct opencall){ 0 };
	}
	slowtree_reset(&open->tree);
	open->cnt = open->merged_cnt = 0;
	open->slept = 0;
	open->in_ns = 0;
	open->packet_in = 0;
	open->next_free = sc->free_open;
	sc->free_open = task->user - 1;
	task->user = 0;
}

/* ---- calls ---- */

/* Limits keep the sums of one call exact whatever a file says: 52 days, of which a call has at most 2^10. */
static int64_t bounded_ns(uint64_t ns)
{
	return ns < 1ull << 52 ? (int64_t)ns : (int64_t)(1ull << 52);
}

static int64_t net_or_gross_ns(const struct call *call)
{
	return bounded_ns(call->net.is_known ? call->net.ns : call->duration_ns);
}

static uint32_t call_path(struct slowcalls *sc, const struct calltask *task, struct call *call)
{
	uint32_t parent = SLOWCALLS_NONE;

	if (call->user)
		return call->user - 1;
	/* callers that the rows imply have no place yet */
	for (uint32_t i = 0; i < call->depth; i++) {
		if (!task->calls[i].user)
			task->calls[i].user = path_add(sc, parent, task->calls[i].sym) + 1;
		parent = task->calls[i].user - 1;
	}
	call->user = path_add(sc, parent, call->sym) + 1;
	return call->user - 1;
}

/* Keep the current row for the tree of the task's outermost call. */
static void tree_add(struct slowcalls *sc, struct calltask *task, uint32_t depth,
		     const uint32_t causes[2])
{
	struct opencall *open = sc->err ? NULL : open_of(sc, task);

	if (open && slowtree_add(&open->tree, &sc->render, sc->row, depth, causes))
		sc->err = -ENOMEM;
}

static const uint32_t no_causes[2] = { SLOWTREE_NONE, SLOWTREE_NONE };

/* From @ns on the task's outermost call is in the function at @path. */
static void is_in(struct slowcalls *sc, struct calltask *task, uint32_t path, uint64_t ns)
{
	struct opencall *open = sc->err || sc->is_ending ? NULL : open_of(sc, task);

	if (!open || path == SLOWCALLS_NONE)
		return;
	open->in = sc->paths[path].func;
	open->in_ns = ns;
}

/* In an interrupt, the outermost call with a packet has what was done for the packet in it. A socket is of no packet. */
static void note_packet(struct slowcalls *sc, struct opencall *open, const struct call *call,
			uint32_t path)
{
	const struct nfg_packet *packet = sc->row ? sc->row->packet : NULL;

	if (!packet || !packet->family || packet->from_sock || open->packet_in || sc->err ||
	    sc->paths[path].irq == SLOWCALLS_NONE)
		return;
	open->packet_in = call->depth + 1;
	open->packet = packet_names(sc, packet);
}

static void end_packet(struct slowcalls *sc, struct opencall *open, const struct call *call,
		       uint32_t path, int64_t ns)
{
	if (open->packet_in != call->depth + 1)
		return;
	open->packet_in = 0;
	for (uint32_t by = 0; by < PACKETS_BY_CNT; by++) {
		struct cause_key cause = cause_of(CAUSE_IRQ_PACKET);
		struct detail_key detail = no_detail;

		cause.path = open->packet.by[by];
		cause.func = sc->paths[sc->paths[path].irq].func;
		cause.tid = by;
		detail.cause = cause_add(sc, &cause);
		part_put(sc, open, &detail, 1, ns);
	}
}

static void on_begin(void *ctx, struct calltask *task, struct call *call)
{
	struct slowcalls *sc = ctx;
	const uint32_t path = call_path(sc, task, call);
	struct opencall *open = sc->err ? NULL : open_of(sc, task);

	is_in(sc, task, path, call->begin_ns);
	if (open && path != SLOWCALLS_NONE)
		note_packet(sc, open, call, path);
	if (sc->keeps_trees)
		tree_add(sc, task, call->depth, no_causes);
}

/* Of calls that end without a row of theirs there is none. */
static bool is_own_row(const struct slowcalls *sc, const struct call *call)
{
	return sc->keeps_trees && sc->row && call->has_return && sc->row->depth == call->depth &&
	       sc->row->kind == (call->is_leaf ? ROW_LEAF : ROW_RETURN);
}

/* The slowest call's tree changes places with the one before. */
static void tree_keep(struct slowcalls *sc, struct startfunc *start, struct opencall *open,
		      int64_t ns)
{
	const struct slowtree tree = start->tree;

	if (!sc->keeps_trees || (start->call_cnt > 1 && ns < start->tree_ns))
		return;
	start->tree = open->tree;
	start->tree_ns = ns;
	open->tree = tree;
}

/* A call that lacks its entry or its return. */
static void start_cut(struct slowcalls *sc, struct startfunc *start, const struct call *call)
{
	if (!call->has_entry && slowgap_takes_stray(&start->gaps))
		return;
	start->cut_cnt++;
	start->stray_cnt += !call->has_entry;
	if (slowgaps_ended(&sc->gaps, call))
		slowgaps_count(&sc->gaps, call, &start->gaps);
}

static void start_end(struct slowcalls *sc, struct calltask *task, const struct call *call,
		      uint32_t func)
{
	struct startfunc *start = start_add(sc, func);
	struct opencall *open = open_of(sc, task);

	if (!start || !open)
		return;
	if (call->is_untimed) {
		start->untimed_cnt++;
	} else if (sc->is_ending && call->has_entry && !call->has_return &&
		   !slowgaps_ended(&sc->gaps, call)) {
		const uint64_t end_ns = call->end_ns > sc->seen_ns ? call->end_ns : sc->seen_ns;

		start->open_cnt++;
		if (end_ns - call->begin_ns > start->open_ns) {
			start->open_ns = end_ns - call->begin_ns;
			start->open_in = open->in;
			start->open_in_ns =
				open->in_ns && end_ns > open->in_ns ? end_ns - open->in_ns : 0;
		}
	} else if (!call->has_entry || !call->has_return || !call->has_duration) {
		start_cut(sc, start, call);
	} else {
		parts_merge(open);
		if (VEC_RESERVE(start->calls, start->call_cap, start->call_cnt + 1) ||
		    VEC_RESERVE(sc->parts, sc->part_cap, sc->part_cnt + open->cnt)) {
			sc->err = -ENOMEM;
			return;
		}
		start->calls[start->call_cnt++] = (struct slowcall){
			.begin_ns = sc->lacks_time ? 0 : call->begin_ns,
			.duration_ns = net_or_gross_ns(call),
			.is_net = call->net.is_known,
			.tid = task->tid,
			.cpu = call->cpu,
			.comm = name_known(sc, task->comm),
			.part_cnt = (uint32_t)open->cnt,
			.part_at = sc->part_cnt,
		};
		if (open->cnt)
			memcpy(sc->parts + sc->part_cnt, open->parts,
			       open->cnt * sizeof(*open->parts));
		sc->part_cnt += open->cnt;
		tree_keep(sc, start, open, net_or_gross_ns(call));
	}
	open_free(sc, task);
}

/* What leaves it to its caller to drop a packet returns right before that. */
static void note_verdict(struct slowcalls *sc, struct opencall *open, const struct call *call)
{
	const uint32_t rules = call->ret ? rules_add(sc, call) : SLOWCALLS_NONE;

	if (rules != SLOWCALLS_NONE)
		open->dropped_by = droprules_is_drop(call->ret) ? rules : SLOWCALLS_NONE;
}

/* The call's own time is a part: what is left of its duration, which may be less than nothing where clocks are coarse. */
static void on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct slowcalls *sc = ctx;
	struct cause_key cause = cause_of(CAUSE_RUNNING);
	struct detail_key detail = no_detail;
	const int64_t ns = call->has_duration ? net_or_gross_ns(call) : (int64_t)call->user_ns;
	const int64_t own_ns = ns - (int64_t)call->user_ns;
	struct opencall *open = sc->err ? NULL : open_of(sc, task);
	const uint32_t path = open ? call_path(sc, task, call) : SLOWCALLS_NONE;
	uint32_t cnt = 1;

	if (path == SLOWCALLS_NONE)
		return;
	if (sc->paths[path].irq != SLOWCALLS_NONE) {
		const uint32_t irq = sc->paths[path].irq;

		cause = cause_of(CAUSE_IRQ_PLACE);
		cause.path = irq;
		detail.cause = cause_add(sc, &cause);
		cnt = irq == path;
		part_put(sc, open, &detail, cnt, own_ns);
		cause = cause_of(CAUSE_INTERRUPTED);
		cause.func = sc->paths[irq].func;
		detail.from = sc->paths[path].func;
	} else {
		cause.path = path;
		cause.func = sc->paths[path].func;
	}
	detail.cause = cause_add(sc, &cause);
	part_put(sc, open, &detail, cnt, own_ns);
	note_verdict(sc, open, call);
	if (call->is_leaf)
		note_packet(sc, open, call, path);
	end_packet(sc, open, call, path, ns);
	if (is_own_row(sc, call))
		tree_add(sc, task, call->depth,
			 (uint32_t[2]){ slowcalls_told(sc, detail.cause), SLOWTREE_NONE });
	if (call->depth) {
		task->calls[call->depth - 1].user_ns += (uint64_t)ns;
		is_in(sc, task, sc->paths[path].parent, call->end_ns);
	} else if (!sc->err) {
		/* of a call that the rows implied, only its return has a name */
		start_end(sc, task, call, call->sym ? call->sym->id : sc->paths[path].func);
	}
}

/* ---- tracepoints ---- */

/* The fields of a tracepoint in a row of a recording, or in the comment that it is in a text. */
struct fields {
	const struct row *row;
	struct text name;
	struct text rest; /* of a comment: what follows the name */
};

/* Return: whether it is a tracepoint. */
static bool fields_of(struct fields *f, const struct row *row)
{
	const char *colon;

	*f = (struct fields){ .row = row, .name = row->name };
	if (row->kind == ROW_POINT)
		return true;
	if (row->kind != ROW_COMMENT || !sleep_is_text(row->text))
		return false;
	colon = memchr(row->text.ptr, ':', row->text.len);
	f->name = (struct text){ row->text.ptr, (size_t)(colon - row->text.ptr) };
	f->rest = (struct text){ colon + 1, row->text.len - f->name.len - 1 };
	return true;
}

/* Where in @text the next " NAME=" begins, from @at on; its end if there is none. */
static size_t next_field(struct text text, size_t at)
{
	for (; at < text.len; at++) {
		size_t end = at + 1;

		if (text.ptr[at] != ' ')
			continue;
		while (end < text.len &&
		       ((text.ptr[end] >= 'a' && text.ptr[end] <= 'z') || text.ptr[end] == '_'))
			end++;
		if (end > at + 1 && end < text.len && text.ptr[end] == '=')
			return at;
	}
	return text.len;
}

static const struct value *field_value(const struct fields *f, const char *name)
{
	for (uint32_t i = 0; i < f->row->arg_cnt; i++) {
		if (text_equal(f->row->args[i].name, text_from(name)))
			return &f->row->args[i];
	}
	return NULL;
}

/* The text of a field; len 0: it has none. */
static struct text field_text(const struct fields *f, const char *name)
{
	const struct value *value = field_value(f, name);
	const size_t len = strlen(name);

	if (value)
		return value->text;
	for (size_t at = next_field(f->rest, 0); at < f->rest.len;) {
		const size_t end = next_field(f->rest, at + 1);
		const char *field = f->rest.ptr + at + 1;

		if (end - at > len + 1 && !memcmp(field, name, len) && field[len] == '=')
			return (struct text){ field + len + 1, end - at - len - 2 };
		at = end;
	}
	return (struct text){ "", 0 };
}

static bool field_is(const struct fields *f, const char *name)
{
	return field_text(f, name).len || field_value(f, name);
}

static uint64_t field_number(const struct fields *f, const char *name)
{
	const struct value *value = field_value(f, name);
	const struct text digits = value ? value->text : field_text(f, name);
	uint64_t number = 0;

	if (value && value->form != FORM_TEXT)
		return value->number;
	for (size_t i = 0; i < digits.len && digits.ptr[i] >= '0' && digits.ptr[i] <= '9' &&
			   number < UINT64_MAX / 16;
	     i++)
		number = number * 10 + (uint64_t)(digits.ptr[i] - '0');
	return number;
}

/* A function's name in "NAME+0x13d/0x1a0 [MODULE]". */
static uint32_t field_func(struct slowcalls *sc, const struct fields *f, const char *name)
{
	struct text place = field_text(f, name);
	const char *plus = place.len ? memchr(place.ptr, '+', place.len) : NULL;

	if (plus)
		place.len = (size_t)(plus - place.ptr);
	return name_known(sc, place);
}

/* The idle tasks are swapper/0, swapper/1 ...: which one says nothing. */
static uint32_t field_comm(struct slowcalls *sc, const struct fields *f, const char *name)
{
	static const char idle[] = "swapper/";
	const struct text comm = field_text(f, name);

	if (comm.len >= sizeof(idle) && !memcmp(comm.ptr, idle, sizeof(idle) - 1))
		return SLOWCALLS_NONE;
	return name_known(sc, comm);
}

/* The number of the task whose name is @comm; an idle task has none of its own. */
static uint32_t field_tid(const struct fields *f, const char *name, uint32_t comm)
{
	const uint64_t tid = field_number(f, name);

	return comm != SLOWCALLS_NONE && tid < CALLTREE_TRACK_GROUP ? (uint32_t)tid : 0;
}

static int64_t field_us(const struct fields *f, const char *name)
{
	const uint64_t us = field_number(f, name);

	return bounded_ns(us < UINT64_MAX / 1000 ? us * 1000 : UINT64_MAX);
}

/* A time without the CPU, which is not the call's own time. */
static void put_off(struct slowcalls *sc, struct calltask *task, const struct cause_key *cause,
		    struct detail_key *detail, int64_t ns)
{
	struct opencall *open = open_of(sc, task);

	detail->cause = cause_add(sc, cause);
	if (!open || sc->err)
		return;
	part_put(sc, open, detail, 1, ns);
	sc->point_causes[1] = sc->point_causes[0];
	sc->point_causes[0] = detail->cause;
	task->calls[task->call_cnt - 1].user_ns += (uint64_t)ns;
}

static void put_slept(struct slowcalls *sc, struct calltask *task, const struct fields *f)
{
	const int64_t ns = field_us(f, "us");
	int64_t queued_ns = field_us(f, "queued_us");
	struct cause_key cause = cause_of(CAUSE_QUEUED);
	struct detail_key detail = no_detail;

	queued_ns = queued_ns < ns ? queued_ns : ns;
	detail.comm = field_comm(sc, f, "prev_comm");
	detail.tid = field_tid(f, "prev_pid", detail.comm);
	if (queued_ns)
		put_off(sc, task, &cause, &detail, queued_ns);
	cause.kind = CAUSE_ASLEEP;
	cause.func = field_func(sc, f, "in");
	cause.state = name_known(sc, field_text(f, "state"));
	detail.waker = name_known(sc, field_text(f, "waker"));
	detail.comm = field_comm(sc, f, "waker_comm");
	detail.tid = field_tid(f, "waker_pid", detail.comm);
	detail.from = field_func(sc, f, "from");
	put_off(sc, task, &cause, &detail, ns - queued_ns);
	if (!sc->err)
		open_of(sc, task)->slept = detail_add(sc, &detail) + 1;
}

/* What the waker did in the sleep whose detail is @slept. */
static void put_did(struct slowcalls *sc, struct opencall *open, struct cause_key cause,
		    uint32_t cnt, int64_t ns)
{
	struct detail_key detail = no_detail;

	if (!cnt || sc->err)
		return;
	detail.cause = cause_add(sc, &cause);
	part_put(sc, open, &detail, cnt, ns);
}

/* How long the waker of @cause waited for a CPU: while the task had one that had it longest, and else. */
static void put_queued(struct slowcalls *sc, struct opencall *open, struct cause_key cause,
		       const struct fields *f)
{
	const int64_t queued_ns = field_us(f, "queued_us");
	int64_t had_ns = queued_ns; /* of a recording that does not tell how much it was */

	cause.kind = CAUSE_WAKER_QUEUED;
	if (field_is(f, "prev_us"))
		had_ns = field_us(f, "prev_us");
	if (had_ns > queued_ns)
		had_ns = queued_ns;
	cause.func = field_comm(sc, f, "prev_comm");
	cause.tid = field_tid(f, "prev_pid", cause.func);
	put_did(sc, open, cause, had_ns > 0, had_ns);
	cause.func = SLOWCALLS_NONE;
	cause.tid = 0;
	put_did(sc, open, cause, queued_ns > had_ns, queued_ns - had_ns);
}

static void put_waker_did(struct slowcalls *sc, struct calltask *task, const struct fields *f)
{
	const int64_t asleep_ns = field_us(f, "asleep_us");
	const int64_t longest_ns = field_us(f, "longest_us");
	const int64_t ran_ns = field_us(f, "ran_us");
	const uint64_t fault_cnt = field_number(f, "faults");
	struct opencall *open = open_of(sc, task);
	struct cause_key cause;

	if (!open || !open->slept)
		return;
	cause = cause_of(CAUSE_WAKER_ASLEEP);
	cause.path = open->slept - 1;
	put_did(sc, open, cause, asleep_ns > longest_ns, asleep_ns - longest_ns);
	cause.func = field_func(sc, f, "in");
	cause.state = name_known(sc, field_text(f, "state"));
	put_did(sc, open, cause, longest_ns > 0, longest_ns);
	cause.func = cause.state = SLOWCALLS_NONE;
	put_queued(sc, open, cause, f);
	cause.kind = CAUSE_WAKER_RAN;
	put_did(sc, open, cause, ran_ns > 0, ran_ns);
	cause.kind = CAUSE_WAKER_FAULTS;
	put_did(sc, open, cause, fault_cnt < UINT32_MAX ? (uint32_t)fault_cnt : UINT32_MAX, 0);
	open->slept = 0;
}

/* The name of the packet's protocol (ETH_P_IP and others): it tells requests for a neighbour's address from what waits for it. */
static uint32_t field_protocol(struct slowcalls *sc, const struct fields *f)
{
	switch (field_number(f, "protocol")) {
	case 0x0800:
		return name_known(sc, text_from("IPv4"));
	case 0x86dd:
		return name_known(sc, text_from("IPv6"));
	case 0x0806:
		return name_known(sc, text_from("ARP"));
	default:
		return SLOWCALLS_NONE;
	}
}

/* Whether the name of a bit is among @names, with "|" between. */
static bool has_bit(struct text names, const char *bit)
{
	size_t begin = 0;

	for (size_t at = 0; names.len && at <= names.len; at++) {
		if (at < names.len && names.ptr[at] != '|')
			continue;
		if (text_equal((struct text){ names.ptr + begin, at - begin }, text_from(bit)))
			return true;
		begin = at + 1;
	}
	return false;
}

/* What kind of lock it is that lock:contention_begin found taken (LCB_F_SPIN and others, include/trace/events/lock.h). */
static const char *lock_words(const struct fields *f)
{
	enum { SPIN = 1, RT = 8, MUTEX = 32 };
	const struct text names = field_text(f, "flags");
	const uint64_t flags =
		field_number(f, "flags"); /* of recordings whose bits have no names */

	if (flags & (MUTEX | RT) || has_bit(names, "MUTEX") || has_bit(names, "RT"))
		return "a mutex";
	return flags & SPIN || has_bit(names, "SPIN") ? "a spinlock" : "a semaphore";
}

/* Whether it does more than free what others drop. */
static bool is_dropping(const struct call *call)
{
	return call->sym->name.len && !stagefunc_passes_drop(call->sym->name);
}

static const struct call *dropping_call(const struct calltask *task)
{
	return calltree_innermost(task, task->call_cnt, is_dropping);
}

static uint32_t dropping_func(struct slowcalls *sc, const struct calltask *task)
{
	const struct call *call = dropping_call(task);

	return call ? bare_name(sc, call->sym->id) : SLOWCALLS_NONE;
}

/* Where a tracepoint says that it was: as in tables by reason, the traced function around it where that is hidden. */
static uint32_t event_place(struct slowcalls *sc, const struct calltask *task,
			    const struct fields *f)
{
	const struct text place = field_text(f, "location");
	const bool is_hidden = place.len && retaddr_is_tracing(place);
	uint32_t func = SLOWCALLS_NONE;

	if (is_hidden || rowkey_place_frees_list(place))
		func = dropping_func(sc, task);
	return is_hidden || func != SLOWCALLS_NONE ? func : field_func(sc, f, "location");
}

/*
 * Whose rules dropped the packet, in the function @place: what evaluates them drops it itself, or its caller does for a verdict.
 * What drops a packet for another reason, as in an interrupt in between, is no such caller.
 */
static uint32_t event_rules(struct slowcalls *sc, const struct calltask *task,
			    struct opencall *open, const struct fields *f, uint32_t place)
{
	const struct call *call = dropping_call(task);
	const uint32_t by = open->dropped_by;

	if (!text_equal(f->name, text_from("kfree_skb")))
		return SLOWCALLS_NONE;
	if (call && place == bare_name(sc, call->sym->id) && droprules_whose(call->sym->name))
		return rules_add(sc, call);
	if (!text_equal(field_text(f, "reason"), text_from("NETFILTER_DROP")) &&
	    !text_equal(slowcalls_name(sc, place), text_from("nf_hook_slow")))
		return SLOWCALLS_NONE;
	open->dropped_by = SLOWCALLS_NONE;
	return by;
}

/* Why, and where: of skb:kfree_skb and others that have such fields; of locks, which, and in which traced call. */
static void put_event(struct slowcalls *sc, struct calltask *task, const struct fields *f)
{
	struct cause_key cause = cause_of(CAUSE_EVENT);
	struct detail_key detail = no_detail;
	struct opencall *open = open_of(sc, task);
	const struct callsym *sym = task->calls[task->call_cnt - 1].sym;

	cause.func = name_add(sc, f->name, f->row->module);
	cause.state = name_known(sc, field_text(f, "reason"));
	cause.path = field_protocol(sc, f);
	if (text_equal(f->name, text_from("contention_begin"))) {
		cause.state = name_known(sc, text_from(lock_words(f)));
		detail.from = sym ? sym->id : SLOWCALLS_NONE;
	} else {
		detail.from = event_place(sc, task, f);
		if (open)
			detail.rules = event_rules(sc, task, open, f, detail.from);
	}
	detail.cause = cause_add(sc, &cause);
	if (open && !sc->err)
		part_put(sc, open, &detail, 1, 0);
}

static int on_point(struct slowcalls *sc, const struct fields *f)
{
	const struct point point = { .name = f->name,
				     .system = f->row->kind == ROW_POINT
						       ? f->row->module
						       : text_from(SLEEP_SYSTEM) };
	struct cause_key cause = cause_of(CAUSE_UNSEEN);
	struct detail_key detail = no_detail;
	struct calltask *task = calltree_task(sc->tree, f->row);

	if (!task)
		return -ENOMEM;
	if (!task->call_cnt)
		return 0;
	if (!sleep_is_point(&point)) {
		put_event(sc, task, f);
		return sc->err;
	}
	sc->has_sleeps = true;
	if (text_equal(f->name, text_from("waker_did"))) {
		put_waker_did(sc, task, f);
		return sc->err;
	}
	if (task->user)
		open_of(sc, task)->slept = 0;
	if (text_equal(f->name, text_from("slept"))) {
		put_slept(sc, task, f);
	} else if (text_equal(f->name, text_from("preempted"))) {
		cause.kind = CAUSE_PREEMPTED;
		detail.comm = field_comm(sc, f, "prev_comm");
		detail.tid = field_tid(f, "prev_pid", detail.comm);
		put_off(sc, task, &cause, &detail, field_us(f, "us"));
	} else {
		cause.func = field_func(sc, f, "in");
		put_off(sc, task, &cause, &detail, field_us(f, "us"));
	}
	return sc->err;
}

/* ---- public ---- */

int slowcalls_new(struct slowcalls **out, bool lacks_time, bool lacks_task)
{
	struct slowcalls *sc = calloc(1, sizeof(*sc));
	const struct calltree_config config = {
		.lacks_time = lacks_time,
		.lacks_task = lacks_task,
		.forgets_tasks = true,
		.begin = on_begin,
		.end = on_end,
		.ctx = sc,
	};
	int err = sc ? calltree_new(&sc->tree, &config) : -ENOMEM;

	if (err) {
		free(sc);
		return err;
	}
	sc->free_open = SLOWCALLS_NONE;
	sc->lacks_time = lacks_time;
	*out = sc;
	return 0;
}

void slowcalls_free(struct slowcalls *sc)
{
	if (!sc)
		return;
	for (size_t i = 0; i < sc->start_cnt; i++) {
		free(sc->starts[i].calls);
		slowtree_release(&sc->starts[i].tree);
	}
	for (size_t i = 0; i < sc->open_cnt; i++) {
		free(sc->opens[i].parts);
		slowtree_release(&sc->opens[i].tree);
	}
	if (sc->keeps_trees)
		render_release(&sc->render);
	free(sc->starts);
	free(sc->opens);
	free(sc->parts);
	free(sc->paths);
	free(sc->causes);
	free(sc->told);
	free(sc->wordings);
	free(sc->details);
	free(sc->rules);
	free(sc->packets);
	strbuf_release(&sc->packet_text);
	hash_release(&sc->start_idx);
	hash_release(&sc->path_idx);
	hash_release(&sc->cause_idx);
	hash_release(&sc->wording_idx);
	hash_release(&sc->detail_idx);
	hash_release(&sc->rules_idx);
	hash_release(&sc->packet_idx);
	calltree_free(sc->tree);
	free(sc);
}

int slowcalls_keep_trees(struct slowcalls *sc, unsigned int cpu_width)
{
	sc->keeps_trees = true;
	return render_init(&sc->render, &render_columns_default, cpu_width);
}

/* A comment, of a tracepoint or not, belongs to the call that is open. */
static void on_comment(struct slowcalls *sc)
{
	struct calltask *task = calltree_task(sc->tree, sc->row);

	if (!task)
		sc->err = -ENOMEM;
	else if (task->call_cnt && task->user)
		tree_add(sc, task, task->call_cnt, sc->point_causes);
}

void slowcalls_left_out(struct slowcalls *sc, uint64_t time_ns)
{
	sc->gaps.left_ns = time_ns;
}

int slowcalls_gap(struct slowcalls *sc, enum slowgap kind, uint64_t from_ns)
{
	sc->gaps.kind = kind;
	sc->gaps.from_ns = from_ns;
	calltree_cut(sc->tree);
	sc->gaps.from_ns = 0;
	return sc->err;
}

int slowcalls_row(struct slowcalls *sc, const struct row *row)
{
	struct fields fields;
	int err;

	sc->row = row;
	if (row->time_ns > sc->seen_ns)
		sc->seen_ns = row->time_ns;
	memcpy(sc->point_causes, no_causes, sizeof(no_causes));
	err = fields_of(&fields, row) ? on_point(sc, &fields) : calltree_row(sc->tree, row);
	if (!err && sc->keeps_trees && (row->kind == ROW_POINT || row->kind == ROW_COMMENT))
		on_comment(sc);
	sc->row = NULL;
	return err ? err : sc->err;
}

int slowcalls_finish(struct slowcalls *sc)
{
	sc->is_ending = true;
	calltree_finish(sc->tree);
	return sc->err;
}

const struct startfunc *slowcalls_start(const struct slowcalls *sc, uint32_t i)
{
	return i < sc->start_cnt ? &sc->starts[i] : NULL;
}

struct slowtree *slowcalls_tree(struct slowcalls *sc, const struct startfunc *start)
{
	return &sc->starts[start - sc->starts].tree;
}

const struct callpart *slowcalls_parts(const struct slowcalls *sc)
{
	return sc->parts;
}

const struct cause_key *slowcalls_cause(const struct slowcalls *sc, uint32_t i)
{
	return i < sc->cause_cnt ? &sc->causes[i] : NULL;
}

uint32_t slowcalls_told(const struct slowcalls *sc, uint32_t i)
{
	return i < sc->cause_cnt ? sc->told[i] : SLOWCALLS_NONE;
}

const struct detail_key *slowcalls_detail(const struct slowcalls *sc, uint32_t i)
{
	return i < sc->detail_cnt ? &sc->details[i] : NULL;
}

const struct rules_key *slowcalls_rules(const struct slowcalls *sc, uint32_t i)
{
	return i < sc->rules_cnt ? &sc->rules[i] : NULL;
}

bool slowcalls_by_task(const struct slowcalls *sc, const struct detail_key *detail)
{
	return text_has_word("task own_softirq", slowcalls_name(sc, detail->waker));
}

const struct callpath *slowcalls_path(const struct slowcalls *sc, uint32_t i)
{
	return i < sc->path_cnt ? &sc->paths[i] : NULL;
}

bool slowcalls_has_func(const struct slowcalls *sc, struct text name)
{
	for (size_t i = 0; i < sc->path_cnt; i++) {
		if (text_equal(slowcalls_name(sc, sc->paths[i].func), name))
			return true;
	}
	return false;
}

struct text slowcalls_name(const struct slowcalls *sc, uint32_t name)
{
	const struct callsym *sym = calltree_sym(sc->tree, name);

	return sym ? sym->name : (struct text){ "", 0 };
}

struct text slowcalls_module(const struct slowcalls *sc, uint32_t name)
{
	const struct callsym *sym = calltree_sym(sc->tree, name);

	return sym ? sym->module : (struct text){ "", 0 };
}

uint32_t slowcalls_cause_cnt(const struct slowcalls *sc)
{
	return (uint32_t)sc->cause_cnt;
}

uint32_t slowcalls_detail_cnt(const struct slowcalls *sc)
{
	return (uint32_t)sc->detail_cnt;
}

bool slowcalls_has_sleeps(const struct slowcalls *sc)
{
	return sc->has_sleeps;
}
