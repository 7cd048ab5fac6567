#include "format/keytable.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/calltree.h"
#include "format/flow.h"
#include "format/stagefunc.h"

#define PART_CNT (ROWKEYS_MAX * ROWKEY_PART_CNT)

/* What tells a row of the table from others: the parts of its keys, the function and its module. */
#define ID_FUNC   PART_CNT
#define ID_MODULE (PART_CNT + 1)
#define ID_CNT    (PART_CNT + 2)

struct id {
	struct text texts[ID_CNT];
};

struct entry {
	char *bytes; /* of id */
	struct id id;
	uint64_t call_cnt;
	uint64_t total_ns;    /* time inside a recursion once */
	struct net_time net;  /* the same without the cost of tracing; known if netless_cnt is 0 */
	uint64_t netless_cnt; /* calls in total_ns of which that is not known */
	uint64_t byte_cnt;
	uint64_t sized_cnt; /* calls whose bytes are known */
	uint64_t open_cnt;  /* calls that have begun */
	bool is_point;      /* of a tracepoint, which is no function */
	struct hist hist;   /* of durations */
};

#define NO_ENTRY    0u
#define OTHER_ENTRY UINT32_MAX
#define UNSIZED     UINT64_MAX /* in place of bytes that are not known */
#define IS_NUMBER   "#"        /* in place of the second part of a member that is a number */

struct keytable {
	struct keytable_config config;
	struct calltree *tree;
	struct entry *entries;
	size_t entry_cnt;
	size_t entry_cap;
	struct hash by_id;
	uint32_t *free_nrs; /* as entry_nr; of entries without bytes */
	size_t free_cnt;
	size_t free_cap;
	struct entry other;
	uint16_t *counts; /* by callsym.id: config.counts of the function, plus one; 0: not asked */
	size_t counts_cap;
	struct strbuf id;    /* of the row that is looked up */
	struct strbuf point; /* its name with its system */
	struct keytable_stats stats;
	const struct row *row; /* the current one */
	bool failed;
};

/* ---- entries ---- */

static void id_pack(struct strbuf *out, const struct id *id)
{
	strbuf_reset(out);
	for (int i = 0; i < ID_CNT; i++) {
		strbuf_add(out, &id->texts[i].len, sizeof(id->texts[i].len));
		strbuf_add(out, id->texts[i].ptr, id->texts[i].len);
	}
}

static bool id_equal(const struct id *a, const struct id *b)
{
	for (int i = 0; i < ID_CNT; i++) {
		if (!text_equal(a->texts[i], b->texts[i]))
			return false;
	}
	return true;
}

/* Return: a number, of an entry that is free or behind the last one; NO_ENTRY: no memory. */
static uint32_t entry_new(struct keytable *kt)
{
	if (kt->free_cnt)
		return kt->free_nrs[--kt->free_cnt];
	if (VEC_RESERVE(kt->entries, kt->entry_cap, kt->entry_cnt + 1))
		return NO_ENTRY;
	kt->entries[kt->entry_cnt++] = (struct entry){ 0 };
	return (uint32_t)kt->entry_cnt;
}

static uint32_t entry_add(struct keytable *kt, const struct id *id, uint64_t hash)
{
	const uint32_t nr = entry_new(kt);
	struct entry *entry = nr ? &kt->entries[nr - 1] : NULL;
	size_t at = 0;

	if (!entry)
		return NO_ENTRY;
	entry->bytes = malloc(kt->id.len);
	if (!entry->bytes || hash_add(&kt->by_id, hash, nr - 1))
		return NO_ENTRY;
	for (int i = 0; i < ID_CNT; i++) {
		entry->id.texts[i] = text_keep(entry->bytes + at, id->texts[i]);
		at += id->texts[i].len;
	}
	return nr;
}

/* The number of an entry for entry_at; it is added if new. */
static uint32_t entry_nr(struct keytable *kt, const struct id *id)
{
	uint64_t hash;
	uint32_t nr;

	id_pack(&kt->id, id);
	if (!strbuf_ok(&kt->id)) {
		kt->failed = true;
		return NO_ENTRY;
	}
	hash = hash_bytes(kt->id.ptr, kt->id.len);
	for (uint32_t at = 0, item; hash_next(&kt->by_id, hash, &at, &item);) {
		if (id_equal(&kt->entries[item].id, id))
			return item + 1;
	}
	if (kt->entry_cnt - kt->free_cnt >= kt->config.row_max)
		return OTHER_ENTRY;
	nr = entry_add(kt, id, hash);
	if (nr == NO_ENTRY)
		kt->failed = true;
	return nr;
}

static struct entry *entry_at(struct keytable *kt, uint32_t nr)
{
	return nr == OTHER_ENTRY ? &kt->other : &kt->entries[nr - 1];
}

/* A sum of what a recording says stops at the limit of its type: it may be damaged. */
static void sum_up(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

static void entry_count(struct keytable *kt, uint32_t nr, uint64_t bytes)
{
	struct entry *entry = entry_at(kt, nr);

	entry->call_cnt++;
	if (bytes != UNSIZED)
		sum_up(&entry->byte_cnt, bytes);
	entry->sized_cnt += bytes != UNSIZED;
	kt->stats.counted_cnt++;
	kt->stats.other_cnt += nr == OTHER_ENTRY;
}

/* ---- rows ---- */

/* kfree_skb_list_reason frees many packets, each by a call of its own. */
static bool frees_many(const struct callsym *sym)
{
	static const char word[] = "_list";

	return sym && memmem(sym->name.ptr, sym->name.len, word, sizeof(word) - 1);
}

/*
 * Whether something is dropped in this call, which is its place where tracing hides the address. Calls that are counted as drops
 * themselves only pass it on.
 */
static bool is_dropping(const struct call *call)
{
	return call->user == NO_ENTRY && !stagefunc_frees(call->sym->name);
}

/* Whether to count a row with these keys. With reasons, only drops count, which the other key says nothing of. */
static bool is_counted(const struct rowkeys *keys, const bool *has)
{
	for (uint32_t i = 0; i < keys->cnt; i++) {
		if (keys->by[i] == ROWKEY_REASON)
			return has[i];
	}
	return has[0] || has[1];
}

/* Set all parts of @id that a key has; @key must last as long. */
static void id_take_key(struct text *parts, enum rowkey_by by, const struct rowkey *key)
{
	for (int i = 0; i < ROWKEY_PART_CNT; i++)
		parts[i] = key->parts[i];
	if (by == ROWKEY_FLOW)
		parts[0] = (struct text){ (const char *)&key->flow, sizeof(key->flow) };
	if (by == ROWKEY_CONTAINER)
		parts[0] = (struct text){ (const char *)&key->cgroup_id, sizeof(key->cgroup_id) };
	if (key->is_number)
		parts[1] = text_from(IS_NUMBER);
}

/* Drops without a place. Around a call that is reached by a jump there is one of this trace, which may be what hides it. */
static void count_placeless(struct keytable *kt, uint32_t depth)
{
	if (!rowkey_place_is_hidden(kt->row))
		return;
	if (kt->row->kind == ROW_POINT)
		kt->stats.placeless_cnt++;
	else
		kt->stats.placeless_call_cnt += !depth;
}

/* Where tracing hides the place, or it only frees what was dropped. @depth: of the call that drops. */
static void find_place(struct keytable *kt, struct rowkey *drop, const struct calltask *task,
		       uint32_t depth)
{
	struct text *place = &drop->parts[1];
	const struct call *call;

	if (place->len && !drop->frees_list)
		return;
	/* a list may be freed in the innermost call itself */
	if (drop->frees_list && kt->row->kind == ROW_POINT)
		depth = task->call_cnt;
	call = calltree_innermost(task, depth, is_dropping);
	if (call && call->sym->name.len)
		*place = call->sym->name;
	else if (drop->instead.len)
		*place = drop->instead;
	if (!place->len)
		count_placeless(kt, depth);
}

/*
 * The entry of the current row; NO_ENTRY: it has no key. @depth: as find_place. @func: in whose rows it is, unless it is a
 * tracepoint's.
 */
static uint32_t current_entry(struct keytable *kt, const struct calltask *task, uint32_t depth,
			      struct text func)
{
	const struct rowkeys *keys = &kt->config.keys;
	const struct row *row = kt->row;
	struct rowkey found[ROWKEYS_MAX];
	bool has[ROWKEYS_MAX] = { false };
	struct id id = { 0 };

	for (uint32_t i = 0; i < keys->cnt; i++) {
		has[i] = rowkey_of(&found[i], keys, i, row, task->comm);
		if (has[i] && keys->by[i] == ROWKEY_REASON)
			find_place(kt, &found[i], task, depth);
		if (has[i])
			id_take_key(&id.texts[i * ROWKEY_PART_CNT], keys->by[i], &found[i]);
	}
	if (!is_counted(keys, has)) {
		if (rowkeys_has(keys, ROWKEY_REASON) && rowkey_is_no_drop(row))
			kt->stats.no_drop_cnt++;
		else
			kt->stats.keyless_cnt++;
		return NO_ENTRY;
	}
	for (uint32_t i = 0; i < keys->cnt; i++)
		kt->stats.lacking_cnts[i] += !has[i];
	id.texts[ID_FUNC] = func;
	id.texts[ID_MODULE] = row->module;
	if (row->kind == ROW_POINT) {
		strbuf_reset(&kt->point);
		strbuf_add(&kt->point, row->module.ptr, row->module.len);
		strbuf_str(&kt->point, row->module.len ? ":" : "");
		strbuf_add(&kt->point, row->name.ptr, row->name.len);
		id.texts[ID_FUNC] = (struct text){ kt->point.ptr, kt->point.len };
		id.texts[ID_MODULE] = (struct text){ 0 };
	}
	return entry_nr(kt, &id);
}

static uint64_t current_bytes(const struct keytable *kt)
{
	uint64_t bytes;

	return rowkey_bytes(kt->row, &bytes) ? bytes : UNSIZED;
}

static uint8_t counts_of(struct keytable *kt, const struct callsym *sym)
{
	if (!kt->config.counts || !sym)
		return KEYTABLE_EACH;
	if (VEC_RESERVE_ZEROED(kt->counts, kt->counts_cap, sym->id + 1)) {
		kt->failed = true;
		return KEYTABLE_NEVER;
	}
	if (!kt->counts[sym->id])
		kt->counts[sym->id] = kt->config.counts(kt->config.ctx, sym->name, sym->module) + 1;
	return (uint8_t)(kt->counts[sym->id] - 1);
}

/* Whether the call is part of one that is counted: functions pass a drop and its reason on. @counts: of its function. */
static bool is_same_thing(struct keytable *kt, const struct calltask *task, const struct call *call,
			  uint8_t counts)
{
	const bool is_drop = rowkeys_has(&kt->config.keys, ROWKEY_REASON);

	for (uint32_t i = call->depth; (is_drop || counts != KEYTABLE_EACH) && i-- > 0;) {
		const struct call *outer = &task->calls[i];

		if (outer->user != NO_ENTRY && !frees_many(outer->sym) &&
		    (is_drop || counts_of(kt, outer->sym) == counts))
			return true;
	}
	return false;
}

static struct text counts_as(const struct keytable *kt, uint8_t counts)
{
	const struct keytable_config *config = &kt->config;

	return counts == KEYTABLE_EACH || !config->counts_as
		       ? kt->row->name
		       : config->counts_as(config->ctx, kt->row->name);
}

/* At an entry: what the call will be counted by, and its bytes, which are known by now. */
static void keytable_on_begin(void *ctx, struct calltask *task, struct call *call)
{
	struct keytable *kt = ctx;
	const uint8_t counts = counts_of(kt, call->sym);

	if (counts == KEYTABLE_NEVER || is_same_thing(kt, task, call, counts))
		return;
	call->user = current_entry(kt, task, call->depth, counts_as(kt, counts));
	call->user_ns = current_bytes(kt);
	if (call->user != NO_ENTRY)
		entry_at(kt, call->user)->open_cnt++;
}

static bool is_recursion(const struct calltask *task, const struct call *call)
{
	for (uint32_t i = call->depth; i-- > 0;) {
		if (task->calls[i].user == call->user && task->calls[i].sym == call->sym)
			return true;
	}
	return false;
}

static void add_call(struct keytable *kt, const struct calltask *task, const struct call *call)
{
	struct entry *entry = entry_at(kt, call->user);

	entry_count(kt, call->user, call->user_ns);
	if (!call->has_duration)
		return;
	if (hist_add(&entry->hist, call->duration_ns))
		kt->failed = true;
	if (is_recursion(task, call))
		return;
	sum_up(&entry->total_ns, call->duration_ns);
	sum_up(&entry->net.ns, call->net.ns);
	sum_up(&entry->net.error_ns, call->net.error_ns);
	entry->netless_cnt += !call->net.is_known;
}

static void keytable_on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct keytable *kt = ctx;

	if (call->is_leaf)
		keytable_on_begin(ctx, task, call);
	if (call->has_entry && call->user != NO_ENTRY)
		entry_at(kt, call->user)->open_cnt--;
	if (!call->has_entry)
		kt->stats.stray_cnt++;
	else if (call->user == NO_ENTRY)
		return;
	else if (!call->has_return || (!call->has_duration && !call->is_untimed))
		kt->stats.partial_cnt++;
	else
		add_call(kt, task, call);
}

/* Whether an open call that is counted has dropped the packet of the current row, which is a tracepoint. */
static bool is_drop_of_call(const struct keytable *kt, const struct calltask *task)
{
	if (!rowkeys_has(&kt->config.keys, ROWKEY_REASON))
		return false;
	for (uint32_t i = task->call_cnt; i-- > 0;) {
		const struct call *call = &task->calls[i];

		if (call->user != NO_ENTRY)
			return !frees_many(call->sym);
	}
	return false;
}

static void count_point(struct keytable *kt)
{
	const struct calltask *task = calltree_task(kt->tree, kt->row);
	uint32_t nr = NO_ENTRY;

	if (task && is_drop_of_call(kt, task))
		return;
	/* whose return address is hidden from it is the innermost call itself */
	if (task)
		nr = current_entry(kt, task, task->call_cnt ? task->call_cnt - 1 : 0,
				   kt->row->name);
	else
		kt->failed = true;
	if (nr == NO_ENTRY)
		return;
	entry_count(kt, nr, current_bytes(kt));
	if (nr != OTHER_ENTRY)
		entry_at(kt, nr)->is_point = true;
}

int keytable_row(struct keytable *kt, const struct row *row)
{
	int err = 0;

	kt->row = row;
	kt->stats.gap_cnt += row->kind == ROW_LOST;
	if (row->kind == ROW_POINT)
		count_point(kt);
	else
		err = calltree_row(kt->tree, row);
	return kt->failed ? -ENOMEM : err;
}

bool keytable_has_calls(const struct keytable *kt)
{
	for (size_t i = 0; i < kt->entry_cnt; i++) {
		if (kt->entries[i].call_cnt)
			return true;
	}
	return kt->other.call_cnt;
}

static void entry_clear(struct entry *entry)
{
	entry->call_cnt = entry->total_ns = entry->byte_cnt = entry->sized_cnt = 0;
	entry->net = (struct net_time){ 0 };
	entry->netless_cnt = 0;
	hist_release(&entry->hist);
}

/* Rows of which nothing came, and nothing is open, make room for others. */
static bool entry_is_idle(const struct entry *entry)
{
	return entry->bytes && !entry->call_cnt && !entry->open_cnt;
}

int keytable_restart(struct keytable *kt)
{
	if (VEC_RESERVE(kt->free_nrs, kt->free_cap, kt->entry_cnt))
		return -ENOMEM;
	hash_clear(&kt->by_id);
	for (size_t i = 0; i < kt->entry_cnt; i++) {
		struct entry *entry = &kt->entries[i];

		if (entry_is_idle(entry)) {
			free(entry->bytes);
			*entry = (struct entry){ 0 };
			kt->free_nrs[kt->free_cnt++] = (uint32_t)i + 1;
		}
		entry_clear(entry);
		if (!entry->bytes)
			continue;
		id_pack(&kt->id, &entry->id);
		if (!strbuf_ok(&kt->id) ||
		    hash_add(&kt->by_id, hash_bytes(kt->id.ptr, kt->id.len), (uint32_t)i))
			return -ENOMEM;
	}
	entry_clear(&kt->other);
	return 0;
}

void keytable_finish(struct keytable *kt)
{
	calltree_finish(kt->tree);
}

int keytable_new(struct keytable **out, const struct keytable_config *config)
{
	struct keytable *kt = calloc(1, sizeof(*kt));
	const struct calltree_config tree = {
		.lacks_time = config->lacks_time,
		.lacks_task = config->lacks_task,
		.forgets_tasks = true,
		.begin = keytable_on_begin,
		.end = keytable_on_end,
		.ctx = kt,
	};

	if (!kt)
		return -ENOMEM;
	kt->config = *config;
	kt->other.id.texts[0] = text_from("(other)");
	if (calltree_new(&kt->tree, &tree)) {
		free(kt);
		return -ENOMEM;
	}
	*out = kt;
	return 0;
}

void keytable_free(struct keytable *kt)
{
	if (!kt)
		return;
	calltree_free(kt->tree);
	for (size_t i = 0; i < kt->entry_cnt; i++) {
		hist_release(&kt->entries[i].hist);
		free(kt->entries[i].bytes);
	}
	hist_release(&kt->other.hist);
	free(kt->entries);
	free(kt->free_nrs);
	free(kt->counts);
	hash_release(&kt->by_id);
	strbuf_release(&kt->id);
	strbuf_release(&kt->point);
	free(kt);
}

const struct keytable_stats *keytable_stats(const struct keytable *kt)
{
	return &kt->stats;
}

bool keytable_has_reason(const struct keytable *kt, const char *word)
{
	const struct rowkeys *keys = &kt->config.keys;

	for (uint32_t nr = 0; nr < keys->cnt; nr++) {
		for (size_t i = 0; i < kt->entry_cnt && keys->by[nr] == ROWKEY_REASON; i++) {
			const struct text reason = kt->entries[i].id.texts[nr * ROWKEY_PART_CNT];

			if (reason.len && memmem(reason.ptr, reason.len, word, strlen(word)))
				return true;
		}
	}
	return false;
}

bool keytable_has_funcs(const struct keytable *kt)
{
	const struct entry *first = NULL;

	for (size_t i = 0; i < kt->entry_cnt; i++) {
		const struct entry *entry = &kt->entries[i];

		if (!entry->call_cnt || entry->is_point) /* its calls are still open */
			continue;
		if (first && !text_equal(entry->id.texts[ID_FUNC], first->id.texts[ID_FUNC]))
			return true;
		first = first ? first : entry;
	}
	return false;
}

/* ---- the rows to print, and their order ---- */

struct key_row {
	uint64_t begin_ns; /* since 1970; 0: unknown */
	uint64_t end_ns;
	uint64_t call_cnt;
	uint64_t timed_cnt; /* of these, those with a duration */
	uint64_t total_ns;
	uint64_t avg_ns;
	uint64_t p50_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
	uint64_t net_total_ns;
	uint64_t net_error_ns; /* 0: the net time is not known */
	uint64_t has_net;      /* it is known, and not below its error */
	uint64_t byte_cnt;
	uint64_t sized_cnt;
	struct text parts[PART_CNT];
	struct text func; /* of a tracepoint: SYSTEM:NAME */
	struct text module;
	bool is_number[ROWKEYS_MAX];
	bool is_left_out;
	char bytes[ROWKEYS_MAX][160]; /* of a flow, or of the number of a cgroup */
};

/* The sums in the row's columns by which it can be sorted, and their names in metrics. */
static const struct {
	enum profile_sort sort;
	size_t offset;
} sorts[] = {
	{ PROFILE_BY_COUNT, offsetof(struct key_row, call_cnt) },
	{ PROFILE_BY_TOTAL, offsetof(struct key_row, total_ns) },
	{ PROFILE_BY_AVG, offsetof(struct key_row, avg_ns) },
	{ PROFILE_BY_P50, offsetof(struct key_row, p50_ns) },
	{ PROFILE_BY_P99, offsetof(struct key_row, p99_ns) },
	{ PROFILE_BY_MAX, offsetof(struct key_row, max_ns) },
	{ PROFILE_BY_BYTES, offsetof(struct key_row, byte_cnt) },
	{ PROFILE_BY_NET, offsetof(struct key_row, net_total_ns) },
	{ PROFILE_BY_NAME, 0 },
};

bool keytable_sorts(enum profile_sort sort)
{
	for (size_t i = 0; i < ARRAY_SIZE(sorts); i++) {
		if (sorts[i].sort == sort)
			return true;
	}
	return false;
}

/* The parts of key number @nr, from the bytes that its entry has. */
static void put_flow(struct key_row *row, uint32_t nr, struct text id)
{
	struct nfg_packet flow;
	struct strbuf text = { 0 };

	memcpy(&flow, id.ptr, sizeof(flow));
	flow_put_ends(&text, &flow, FLOW_BETWEEN);
	if (text.len <= sizeof(row->bytes[nr]))
		row->parts[nr * ROWKEY_PART_CNT] =
			text_keep(row->bytes[nr], (struct text){ text.ptr, text.len });
	strbuf_release(&text);
}

/* A cgroup without a name has its number. */
static void put_cgroup(const struct keytable *kt, struct key_row *row, uint32_t nr, struct text id)
{
	struct text *container = &row->parts[nr * ROWKEY_PART_CNT];
	struct text *path = container + 1;
	uint64_t number;

	memcpy(&number, id.ptr, sizeof(number));
	*container = *path = (struct text){ 0 };
	if (kt->config.cgroup)
		kt->config.cgroup(kt->config.ctx, number, path, container);
	if (path->len)
		return;
	snprintf(row->bytes[nr], sizeof(row->bytes[nr]), "%" PRIu64, number);
	*path = text_from(row->bytes[nr]);
}

static void put_parts(const struct keytable *kt, const struct entry *entry, struct key_row *row)
{
	const struct rowkeys *keys = &kt->config.keys;

	memcpy(row->parts, entry->id.texts, sizeof(row->parts));
	for (uint32_t i = 0; i < keys->cnt && entry != &kt->other; i++) {
		const struct text id = entry->id.texts[i * ROWKEY_PART_CNT];

		if (!id.len)
			continue;
		if (keys->by[i] == ROWKEY_FLOW)
			put_flow(row, i, id);
		else if (keys->by[i] == ROWKEY_CONTAINER)
			put_cgroup(kt, row, i, id);
		else if (keys->by[i] == ROWKEY_MEMBER)
			row->is_number[i] = entry->id.texts[i * ROWKEY_PART_CNT + 1].len;
	}
}

static void row_fill(const struct keytable *kt, const struct entry *entry,
		     const struct keytable_view *view, struct key_row *row)
{
	const struct hist *hist = &entry->hist;
	const bool has_time = view->real_offset_ns && view->end_ns;

	*row = (struct key_row){
		.begin_ns = has_time ? view->begin_ns + view->real_offset_ns : 0,
		.end_ns = has_time ? view->end_ns + view->real_offset_ns : 0,
		.call_cnt = entry->call_cnt,
		.timed_cnt = hist->cnt,
		.total_ns = entry->total_ns,
		.avg_ns = hist->cnt ? hist->sum / hist->cnt : 0,
		.p50_ns = hist_percentile(hist, 50),
		.p99_ns = hist_percentile(hist, 99),
		.max_ns = hist->max,
		.byte_cnt = entry->byte_cnt,
		.sized_cnt = entry->sized_cnt,
		.func = entry->id.texts[ID_FUNC],
		.module = entry->id.texts[ID_MODULE],
	};
	if (hist->cnt && !entry->netless_cnt) {
		row->net_total_ns = entry->net.ns;
		row->net_error_ns = entry->net.error_ns;
		row->has_net = !net_is_small(&entry->net);
	}
	put_parts(kt, entry, row);
}

static int64_t number_in(struct text text)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%.*s", (int)text.len, text.ptr);
	return strtoll(digits, NULL, 10);
}

static uint64_t number_at(const struct key_row *row, size_t offset)
{
	return offset ? *(const uint64_t *)((const char *)row + offset) : 0;
}

/* Text as text_compare has it, then numbers by their value. */
static int part_order(const struct key_row *a, const struct key_row *b, int part)
{
	const int nr = part / ROWKEY_PART_CNT;
	int64_t first;
	int64_t second;

	if (a->is_number[nr] != b->is_number[nr])
		return a->is_number[nr] ? 1 : -1;
	if (part % ROWKEY_PART_CNT || !a->is_number[nr])
		return text_compare(a->parts[part], b->parts[part]);
	first = number_in(a->parts[part]);
	second = number_in(b->parts[part]);
	return (first > second) - (first < second);
}

/* The largest first; equal ones by name. @ctx: where the number is; 0: nowhere. */
static int row_order(const void *a, const void *b, void *ctx)
{
	const struct key_row *ra = *(const struct key_row *const *)a;
	const struct key_row *rb = *(const struct key_row *const *)b;
	const size_t offset = *(const size_t *)ctx;
	int diff = 0;

	if (number_at(ra, offset) != number_at(rb, offset))
		return number_at(ra, offset) > number_at(rb, offset) ? -1 : 1;
	for (int i = 0; i < PART_CNT && !diff; i++)
		diff = part_order(ra, rb, i);
	diff = diff ? diff : text_compare(ra->func, rb->func);
	return diff ? diff : text_compare(ra->module, rb->module);
}

/* In order; (other) is the last one. */
struct key_rows {
	struct key_row *rows;
	struct key_row **sorted; /* cnt of them */
	size_t cnt;
};

static void rows_end(struct key_rows *rows)
{
	free(rows->rows);
	free(rows->sorted);
}

/* Return: 0 or -ENOMEM; call rows_end in both cases. */
static int rows_begin(struct key_rows *rows, const struct keytable *kt,
		      const struct keytable_view *view)
{
	size_t offset = 0;

	*rows = (struct key_rows){
		.rows = malloc((kt->entry_cnt + 1) * sizeof(*rows->rows)),
		.sorted = malloc((kt->entry_cnt + 1) * sizeof(struct key_row *)),
	};
	if (!rows->rows || !rows->sorted)
		return -ENOMEM;
	for (size_t i = 0; i <= kt->entry_cnt; i++) {
		const struct entry *entry = i < kt->entry_cnt ? &kt->entries[i] : &kt->other;

		if (!entry->call_cnt) /* its calls are still open */
			continue;
		row_fill(kt, entry, view, &rows->rows[rows->cnt]);
		rows->sorted[rows->cnt] = &rows->rows[rows->cnt];
		rows->cnt++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sorts); i++)
		offset = sorts[i].sort == view->sort ? sorts[i].offset : offset;
	qsort_r(rows->sorted, rows->cnt - (kt->other.call_cnt != 0), sizeof(struct key_row *),
		row_order, &offset);
	return 0;
}

/* ---- the table ---- */

#define CELL(member) COLUMN_AT(struct key_row, member)
#define TIME(member) COLUMN_AS(CELL_NS, struct key_row, member)
#define OF_CALLS     .needs = offsetof(struct key_row, timed_cnt)
#define OF_SIZES     .needs = offsetof(struct key_row, sized_cnt)

static void func_put(struct strbuf *out, const void *data)
{
	const struct key_row *row = data;

	clean_func(out, row->func.len ? row->func : text_from("-"), row->module, CLEAN_WORD);
	if (row->is_left_out)
		leftfuncs_put_mark(out);
}

static const struct column first_columns[] = {
	{ "host", .cell = CELL_HOST },
	{ "begin", COLUMN_AS(CELL_TIME, struct key_row, begin_ns) },
	{ "end", COLUMN_AS(CELL_TIME, struct key_row, end_ns) },
};

static const struct column last_columns[] = {
	{ "func", CELL(func) },
	{ "module", CELL(module) },
	{ "count", "COUNT", CELL(call_cnt), 10 },
	{ "total_ns", "TOTAL us", TIME(total_ns), 14, OF_CALLS },
	{ "avg_ns", TIME(avg_ns), OF_CALLS },
	{ "p50_ns", TIME(p50_ns), OF_CALLS },
	{ "p99_ns", "P99 us", TIME(p99_ns), 12, OF_CALLS },
	{ "max_ns", "MAX us", TIME(max_ns), 12, OF_CALLS },
	{ "bytes", "BYTES", CELL(byte_cnt), 12, OF_SIZES },
	{ "net_total_ns", TIME(net_total_ns), .needs = offsetof(struct key_row, has_net) },
	{ "net_total_error_ns", TIME(net_error_ns),
	  .needs = offsetof(struct key_row, net_error_ns) },
};

static void net_put(struct strbuf *out, const void *data)
{
	const struct key_row *row = data;

	profile_net_put(out, row->net_total_ns, row->net_error_ns);
}

/* Text has this column only if its rows are sorted by it. */
static const struct column net_column = { .title = "NET us", .width = 20, .put = net_put };

static const struct column func_column = { .title = "FUNCTION", .put = func_put };

#define COLUMN_CNT_MAX (ARRAY_SIZE(first_columns) + 2 * PART_CNT + ARRAY_SIZE(last_columns) + 2)

/* A table of what it is counted by. */
struct key_columns {
	struct table table;
	struct column columns[COLUMN_CNT_MAX];
	char name[2 * ROWKEY_MEMBER_BYTES + 16];
	char titles[PART_CNT][ROWKEY_MEMBER_BYTES];
};

static void columns_add(struct key_columns *to, const struct column *columns, size_t cnt)
{
	memcpy(&to->columns[to->table.column_cnt], columns, cnt * sizeof(*columns));
	to->table.column_cnt += cnt;
}

static struct column part_column(int part)
{
	return (struct column){ .cell = CELL_TEXT,
				.offset = offsetof(struct key_row, parts) +
					  (size_t)part * sizeof(struct text) };
}

/* The name of part @part of all keys; NULL: its key does not have it. */
static const char *part_name(const struct rowkeys *keys, int part)
{
	const uint32_t nr = (uint32_t)part / ROWKEY_PART_CNT;

	return nr < keys->cnt ? rowkeys_part_name(keys, nr, part % ROWKEY_PART_CNT) : NULL;
}

/* Make a member's path a word: "skb.cb[0]" is skb_cb_0. */
static void make_word(char *name)
{
	size_t len = 0;

	for (size_t i = 0; name[i]; i++) {
		if (isalnum((unsigned char)name[i]) || name[i] == '_')
			name[len++] = name[i];
		else if (name[i] != ']')
			name[len++] = '_';
	}
	name[len] = '\0';
}

static void name_make(struct key_columns *to, const struct rowkeys *keys)
{
	struct strbuf name = { 0 };

	strbuf_str(&name, "profile_by_");
	rowkeys_put_name(&name, keys, '_');
	snprintf(to->name, sizeof(to->name), "%s", strbuf_cstr(&name));
	strbuf_release(&name);
	make_word(to->name);
}

/* Titles are in capitals, but for names of the kernel. */
static void title_make(char *title, const struct rowkeys *keys, int part)
{
	const bool is_member = keys->by[part / ROWKEY_PART_CNT] == ROWKEY_MEMBER;
	const char *name = part_name(keys, part);

	snprintf(title, ROWKEY_MEMBER_BYTES, "%s", name);
	for (size_t i = 0; title[i] && !is_member; i++)
		title[i] = (char)toupper((unsigned char)title[i]);
}

/* In data the parts come before the numbers, in text behind. */
static void columns_make(struct key_columns *to, const struct rowkeys *keys,
			 const struct keytable_view *view)
{
	*to = (struct key_columns){ 0 };
	name_make(to, keys);
	to->table = (struct table){ .name = to->name, .schema = 1, .columns = to->columns };
	columns_add(to, first_columns, ARRAY_SIZE(first_columns));
	for (int i = 0; i < PART_CNT; i++) {
		struct column column = part_column(i);

		column.key = part_name(keys, i);
		column.is_bare = offsetof(struct key_row, is_number) +
				 (size_t)(i / ROWKEY_PART_CNT) * sizeof(bool);
		if (column.key)
			columns_add(to, &column, 1);
	}
	columns_add(to, last_columns, ARRAY_SIZE(last_columns));
	if (view->sort == PROFILE_BY_NET)
		columns_add(to, &net_column, 1);
	for (int i = 0; i < PART_CNT; i++) {
		struct column column = part_column(i);

		if (!part_name(keys, i))
			continue;
		title_make(to->titles[i], keys, i);
		column.title = to->titles[i];
		column.needs = offsetof(struct key_row, call_cnt); /* unknown: - */
		columns_add(to, &column, 1);
	}
	columns_add(to, &func_column, 1);
}

static void row_put(struct tablew *w, const struct table *table, const struct key_row *row)
{
	tablew_open(w, table->name, table->schema);
	for (size_t i = 0; i < table->column_cnt; i++)
		tablew_cell(w, &table->columns[i], row);
	leftfuncs_put_member(w, row->is_left_out);
	tablew_close(w);
}

int keytable_put(const struct keytable *kt, const struct keytable_view *view, struct tablew *w)
{
	struct key_columns columns;
	struct key_rows rows;
	int err = rows_begin(&rows, kt, view);
	size_t cnt = view->row_max && view->row_max < rows.cnt ? view->row_max : rows.cnt;

	columns_make(&columns, &kt->config.keys, view);
	for (size_t i = 0; !err && i < cnt; i++)
		rows.sorted[i]->is_left_out =
			leftfuncs_mark(view->left, rows.sorted[i]->func, rows.sorted[i]->module);
	for (size_t i = 0; !err && i < cnt; i++)
		tablew_measure(w, &columns.table, rows.sorted[i]);
	tablew_head(w, &columns.table);
	for (size_t i = 0; !err && i < cnt; i++)
		row_put(w, &columns.table, rows.sorted[i]);
	rows_end(&rows);
	return !err && strbuf_ok(w->out) ? 0 : -ENOMEM;
}

/* ---- metrics ---- */

/* A number of each row. */
static const struct {
	const char *name;
	const char *help;
	size_t offset;
	size_t needs;
	bool is_ns;
} numbers[] = {
	{ "netfgraph_calls", "Calls and tracepoints.", offsetof(struct key_row, call_cnt),
	  offsetof(struct key_row, call_cnt), false },
	{ "netfgraph_call_seconds", "How long these calls took.",
	  offsetof(struct key_row, total_ns), offsetof(struct key_row, timed_cnt), true },
	{ "netfgraph_call_bytes", "What they were about.", offsetof(struct key_row, byte_cnt),
	  offsetof(struct key_row, sized_cnt), false },
};

struct labels {
	char names[PART_CNT][ROWKEY_MEMBER_BYTES + 2]; /* "": there is no such part */
};

static bool is_label(const struct labels *labels, const char *name)
{
	for (int i = 0; i < PART_CNT; i++) {
		if (!strcmp(labels->names[i], name))
			return true;
	}
	return false;
}

/* Two paths may differ only in what no label's name has. */
static void labels_make(struct labels *labels, const struct rowkeys *keys)
{
	char word[ROWKEY_MEMBER_BYTES];

	*labels = (struct labels){ 0 };
	for (int i = 0; i < PART_CNT; i++) {
		if (!part_name(keys, i))
			continue;
		snprintf(word, sizeof(word), "%s", part_name(keys, i));
		make_word(word);
		snprintf(labels->names[i], sizeof(labels->names[i]), "%s%s", word,
			 is_label(labels, word) ? "_2" : "");
	}
}

/* A label of all series does not come twice. */
static void put_labels(const struct labels *labels, const struct key_row *row,
		       struct metrics_label label, struct strbuf *out)
{
	strbuf_char(out, '{');
	for (int i = 0; i < PART_CNT; i++) {
		if (!*labels->names[i])
			continue;
		metrics_put_label(out, labels->names[i], row->parts[i]);
		strbuf_char(out, ',');
	}
	metrics_put_label(out, "func", row->func);
	if (row->module.len) {
		strbuf_char(out, ',');
		metrics_put_label(out, "module", row->module);
	}
	if (label.name && !is_label(labels, label.name)) {
		strbuf_char(out, ',');
		metrics_put_label(out, label.name, text_from(label.value));
	}
	strbuf_str(out, "} ");
}

/* Make the first of the rows from @first on, if there are any, one that stands for all of them. */
static void join_rows(struct key_rows *rows, size_t first)
{
	struct key_row *all = first < rows->cnt ? rows->sorted[first] : NULL;

	for (size_t i = first + 1; all && i < rows->cnt; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(numbers); k++) {
			uint64_t *sum = (uint64_t *)((char *)all + numbers[k].offset);

			*sum += number_at(rows->sorted[i], numbers[k].offset);
		}
		all->timed_cnt += rows->sorted[i]->timed_cnt;
		all->sized_cnt += rows->sorted[i]->sized_cnt;
	}
	if (!all)
		return;
	memset(all->parts, 0, sizeof(all->parts));
	all->parts[0] = text_from("(other)");
	all->func = all->module = (struct text){ 0 };
}

static void put_numbers(size_t nr, const struct labels *labels, struct key_row *const *rows,
			size_t cnt, struct metrics_label label, struct strbuf *out)
{
	metrics_put_head(out, numbers[nr].name, "gauge", numbers[nr].help);
	for (size_t i = 0; i < cnt; i++) {
		const uint64_t number = number_at(rows[i], numbers[nr].offset);

		if (!number_at(rows[i], numbers[nr].needs))
			continue;
		strbuf_str(out, numbers[nr].name);
		put_labels(labels, rows[i], label, out);
		if (numbers[nr].is_ns)
			metrics_put_seconds(out, number);
		else
			strbuf_u64(out, number);
		strbuf_char(out, '\n');
	}
}

int keytable_put_metrics(const struct keytable *kt, const struct keytable_view *view,
			 struct metrics_label label, struct strbuf *out)
{
	struct labels labels;
	struct key_rows rows;
	int err = rows_begin(&rows, kt, view);
	size_t own_cnt = rows.cnt - (kt->other.call_cnt != 0 && rows.cnt);
	size_t other_cnt = 0;

	if (err) {
		rows_end(&rows);
		return err;
	}
	if (view->row_max && own_cnt > view->row_max) {
		other_cnt = own_cnt - view->row_max;
		own_cnt = view->row_max;
	}
	labels_make(&labels, &kt->config.keys);
	join_rows(&rows, own_cnt);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		put_numbers(i, &labels, rows.sorted, own_cnt + (own_cnt < rows.cnt), label, out);
	metrics_put_number(out, "netfgraph_other_rows", "Rows that have no series of their own.",
			   other_cnt);
	metrics_put_number(out, "netfgraph_uncounted_calls",
			   "Calls whose beginning or end was not traced.",
			   kt->stats.partial_cnt + kt->stats.stray_cnt);
	metrics_put_number(out, "netfgraph_gaps", "Places in the trace where events were lost.",
			   kt->stats.gap_cnt);
	strbuf_str(out, "# EOF\n");
	rows_end(&rows);
	return strbuf_ok(out) ? 0 : -ENOMEM;
}
