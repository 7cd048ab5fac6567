#include "format/stages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "format/calltree.h"
#include "format/stagecost.h"
#include "format/stagefunc.h"
#include "format/stamps.h"

#define BIT(stage) (uint8_t)(1u << (stage))

/* The way of a packet. Each address of an skb has one packet at a time. */
struct way {
	uint64_t skb;
	uint64_t nr; /* the packet's number (--track), which its copies have, too; 0: not known */
	uint64_t begin_ns;
	uint64_t mark_ns; /* since when it is in @stage */
	uint64_t
		wake_ns; /* in WAKEUP: the previous mark, in case no reader is woken for this packet */
	struct stretch spent[STAGE_CNT];
	struct stretch before_wake; /* in WAKEUP: what was in spent[STAGE_PROTOCOL] at wake_ns */
	struct entry {
		uint64_t at_ns;       /* when it came there last; 0: never */
		uint64_t before_ns;   /* the time before; 0: it was the first */
		struct stretch spent; /* there, until then */
		bool was_seen;        /* in @seen then */
	} entries[STAGE_CNT];
	uint64_t beside_ns[STAGES_BESIDE_CNT];
	uint32_t reader_track; /* of its task */
	uint32_t reader_depth;
	uint8_t beside; /* bits of those in beside_ns that are known */
	uint8_t stage;
	uint8_t begin;
	uint8_t level;                             /* of the last function */
	uint8_t seen;                              /* bits of stages that ended */
	uint8_t mixed;                             /* bits of stages whose time is not known */
	uint16_t mixed_cnts[STAGE_CNT][STAGE_CNT]; /* for stages_sums */
	bool is_local;
	bool is_away;    /* the driver has returned */
	bool is_freed;   /* unless a call around that has it continues with it */
	bool is_reading; /* until the reader returns */
	bool is_done;
	bool has_start;   /* the start of its first stage is known */
	bool has_copies;  /* which have its times, and go on */
	bool waits;       /* for other fragments */
	bool is_merged;   /* they have come */
	bool is_chosen;   /* by --packet, or that cannot be known */
	bool is_other;    /* STAGES_OTHER */
	bool is_card_off; /* see stages_sums */
	bool is_doubtful; /* events were lost meanwhile, and it goes on */
};

/* What an application does with a connection. */
struct stages_conn {
	uint64_t sk;
	uint64_t read_ns; /* when a call that took bytes from it returned; 0: it has sent since */
	bool is_taken;    /* a call that reads has taken bytes, and has not returned */
};

struct stages {
	struct calltree *tree;
	const struct pcapfilter *filter; /* NULL: none */
	const struct nfg_packet *packet; /* of the row; NULL: not known */
	uint64_t real_offset_ns;         /* stages_set_clock */
	struct stages_sums sums;
	struct stagecost cost;
	uint32_t track; /* of the call's task */
	struct way *ways;
	size_t way_cnt;
	size_t way_cap;
	struct hash index;   /* of ways, by skb */
	struct hash numbers; /* of those with a number, by it */
	uint64_t nr;         /* of the call's packet; 0: not known */
	uint32_t *reading;   /* ways whose readers have not returned */
	size_t reading_cnt;
	size_t reading_cap;
	struct stages_conn *conns;
	size_t conn_cnt;
	size_t conn_cap;
	struct hash conn_index; /* by sk */
	struct stagefuncs known;
	uint64_t lost_cnt;   /* of the trace: stages_lost */
	uint64_t placed_cnt; /* of its rows */
	bool failed;
};

/* ---- calls ---- */

static void stages_fail(struct stages *st, int err)
{
	st->failed |= err != 0;
}

/* Count the time, and what it is without the cost of tracing, where that is known. */
static void count_time(struct stages *st, struct stage_times *times, const struct stretch *spent)
{
	const struct net_time its = stagecost_net(&st->cost, spent);

	stages_fail(st, hist_add(&times->gross, spent->ns));
	if (!its.is_known)
		return;
	stages_fail(st, hist_add(&times->net, its.ns));
	times->net_error_sum_ns += its.error_ns;
}

/* What frees a packet is in many traces that have nothing else of a stage. */
static bool is_of_stage(const struct stagefunc *func)
{
	return func->step != STEP_NONE && func->step != STEP_FREE;
}

bool stages_has_func(struct text name)
{
	return is_of_stage(stagefunc_of(name));
}

static const struct stagefunc *func_of(struct stages *st, const struct callsym *sym)
{
	const struct stagefunc *func = stagefuncs_of(&st->known, sym);

	st->failed |= !func;
	return func ? func : stagefunc_of(text_from(""));
}

/* The outermost caller that sends by the same socket; NULL: none. */
static const struct call *sender_of(struct stages *st, const struct calltask *task,
				    const struct call *call)
{
	uint64_t sk = call_object(call, "sk");
	const struct call *sender = NULL;

	for (uint32_t i = call->depth; i-- > 0;) {
		const struct call *caller = &task->calls[i];
		const enum stagefunc_step step = func_of(st, caller->sym)->step;
		const uint64_t its = call_object(caller, "sk");

		if (step == STEP_RECEIVE || (sk && its && sk != its))
			break;
		sk = its ? its : sk;
		if (step == STEP_SENDER)
			sender = caller;
	}
	return sender;
}

/* ---- between a call that reads and one that sends ---- */

/* The connection at @sk; NULL: none. */
static struct stages_conn *conn_of(const struct stages *st, uint64_t sk)
{
	for (uint32_t at = 0, item; sk && hash_next(&st->conn_index, hash_u64(sk), &at, &item);) {
		if (st->conns[item].sk == sk)
			return &st->conns[item];
	}
	return NULL;
}

/* The same, and if there is none, a new one. NULL: no memory, or no @sk. */
static struct stages_conn *conn_add(struct stages *st, uint64_t sk)
{
	struct stages_conn *conn = conn_of(st, sk);

	if (conn || !sk)
		return conn;
	if (VEC_RESERVE(st->conns, st->conn_cap, st->conn_cnt + 1) ||
	    hash_add(&st->conn_index, hash_u64(sk), (uint32_t)st->conn_cnt)) {
		st->failed = true;
		return NULL;
	}
	st->conns[st->conn_cnt] = (struct stages_conn){ .sk = sk };
	return &st->conns[st->conn_cnt++];
}

/* Bytes are copied from a packet to the reader. */
static void conn_take(struct stages *st, const struct calltask *task, const struct call *call)
{
	for (uint32_t i = call->depth; i-- > 0;) {
		const struct call *caller = &task->calls[i];
		const struct stagefunc *func = func_of(st, caller->sym);
		struct stages_conn *conn = NULL;

		if (func->step == STEP_READER && func->is_stream)
			conn = conn_add(st, call_object(caller, "sk"));
		if (conn)
			conn->is_taken = true;
	}
}

/* A call that reads ends. */
static void conn_read(struct stages *st, const struct call *call)
{
	struct stages_conn *conn = conn_of(st, call_object(call, "sk"));

	if (!conn)
		return;
	if (conn->is_taken)
		conn->read_ns = call->has_return ? call->end_ns : 0;
	conn->is_taken = false;
}

/* A call that sends begins; or one that connects or closes, and that is no answer. */
static void conn_send(struct stages *st, const struct call *call, bool is_answer)
{
	struct stages_conn *conn = conn_of(st, call_object(call, "sk"));

	if (!conn)
		return;
	if (is_answer && conn->read_ns && call->begin_ns >= conn->read_ns) {
		const struct stretch spent =
			stagecost_stretch(&st->cost, st->track, conn->read_ns, call->begin_ns);

		count_time(st, &st->sums.application, &spent);
	}
	conn->read_ns = 0;
}

static void conns_forget(struct stages *st)
{
	hash_clear(&st->conn_index);
	st->conn_cnt = 0;
}

/* ---- ways ---- */

static struct way *way_of(const struct stages *st, uint64_t skb)
{
	for (uint32_t at = 0, item; skb && hash_next(&st->index, hash_u64(skb), &at, &item);) {
		if (st->ways[item].skb == skb)
			return &st->ways[item];
	}
	return NULL;
}

/* Whether the call's packet is @way's, by its number. Copies have it, too, but each at its own address. */
static bool has_number_of(const struct stages *st, const struct way *way)
{
	return st->nr && way->nr == st->nr;
}

/* Whether the call's packet is certainly @way's, which has the same address. */
static bool is_same(const struct stages *st, const struct way *way, const struct calltask *task,
		    const struct call *call)
{
	return way && (has_number_of(st, way) || stagefunc_is_inside(task, call));
}

/* The packet of this call, if it can be the one that was seen before; NULL: none was, or it is another. */
static struct way *live_way(struct stages *st, const struct calltask *task, const struct call *call)
{
	struct way *way = way_of(st, call->user_ns);

	if (!way || way->is_done)
		return NULL;
	if (way->is_freed && !stagefunc_is_inside(task, call))
		return NULL;   /* its copies have its number, and may get its memory */
	way->is_freed = false; /* it had another user, too */
	way->is_merged = false;
	return way;
}

/*
 * Whether an event that was lost may be one that would tell another end. The return of a reader or a driver is known, and so is the packet
 * that a fragment became.
 */
static bool end_may_be_other(enum stages_end end)
{
	return end == STAGES_FREED || end == STAGES_UNSEEN || end == STAGES_OPEN;
}

/* The stages' cost is the way's; also of those whose times cannot be separated. */
static struct stretch total_of(const struct way *way)
{
	struct stretch total = { 0 };

	for (int i = 0; i < STAGE_CNT; i++)
		stretch_add(&total, &way->spent[i]);
	total.ns = way->mark_ns - way->begin_ns;
	return total;
}

static void stages_settle(struct stages *st, struct way *way, enum stages_end end)
{
	const uint8_t known = way->seen & (uint8_t)~way->mixed;
	const bool is_part = way->begin == STAGES_COPY;

	way->is_done = true;
	if (way->is_other)
		return;
	for (int i = 0; i < STAGE_CNT * STAGE_CNT; i++)
		st->sums.mixed_cnts[i / STAGE_CNT][i % STAGE_CNT] +=
			way->mixed_cnts[i / STAGE_CNT][i % STAGE_CNT];
	if (way->has_copies &&
	    (end == STAGES_FREED || end == STAGES_UNSEEN || end == STAGES_MERGED)) {
		st->sums.end_cnts[STAGES_COPIED][way->stage]++;
		return;
	}
	if (way->is_doubtful && end_may_be_other(end))
		end = STAGES_LOST;
	st->sums.end_cnts[end][way->stage]++;
	for (int i = 0; i < STAGE_CNT; i++) {
		if (!(known & BIT(i)))
			continue;
		count_time(st, &st->sums.stages[i], &way->spent[i]);
		st->sums.part_cnts[i] += is_part;
	}
	for (int i = 0; i < STAGES_BESIDE_CNT; i++) {
		if (way->beside & BIT(i))
			stages_fail(st, hist_add(&st->sums.beside[i].gross, way->beside_ns[i]));
	}
	st->sums.card_off_cnt += way->is_card_off;
	if ((end == STAGES_READ || end == STAGES_LEFT) && way->has_start) {
		const struct stretch total = total_of(way);

		count_time(st, &st->sums.total, &total);
		st->sums.part_cnts[STAGE_CNT] += is_part;
	}
}

/* Settle a packet that is not seen again: as left, merged or freed if that is known, else as @end. */
static void settle_as(struct stages *st, struct way *way, enum stages_end end)
{
	if (!way->is_done)
		stages_settle(st, way,
			      way->is_away     ? STAGES_LEFT
			      : way->is_merged ? STAGES_MERGED
			      : way->is_freed  ? STAGES_FREED
					       : end);
}

/* Whether @next follows @stage if every function between them was traced. */
static bool stages_follows(enum stage stage, enum stage next)
{
	static const uint8_t nexts[STAGE_CNT] = {
		[STAGE_SOCKET] = BIT(STAGE_QDISC),
		[STAGE_QDISC] = BIT(STAGE_DRIVER),
		[STAGE_DRIVER] = BIT(STAGE_QDISC) | BIT(STAGE_SOFTIRQ) | BIT(STAGE_PROTOCOL),
		[STAGE_SOFTIRQ] = BIT(STAGE_PROTOCOL),
		[STAGE_PROTOCOL] = BIT(STAGE_QDISC) | BIT(STAGE_SOFTIRQ) | BIT(STAGE_WAKEUP),
	};

	return nexts[stage] & BIT(next);
}

/* The time since the last mark was spent in all stages from the packet's to the one before @next. */
static void stages_mix(struct way *way, enum stage next)
{
	const enum stage last = next > way->stage ? next - 1 : (enum stage)way->stage;

	for (int i = way->stage; i <= (int)last; i++)
		way->mixed |= BIT(i);
	way->mixed_cnts[way->stage][last]++;
}

static void spend(const struct stages *st, struct way *way, enum stage stage, uint64_t now_ns)
{
	if (now_ns > way->mark_ns) {
		const struct stretch more =
			stagecost_stretch(&st->cost, st->track, way->mark_ns, now_ns);

		stretch_add(&way->spent[stage], &more);
		way->mark_ns = now_ns;
	}
	way->seen |= BIT(stage);
}

static void enter(const struct stages *st, struct way *way, enum stage next, uint64_t now_ns)
{
	if (!stages_follows(way->stage, next))
		stages_mix(way, next);
	spend(st, way, way->stage, now_ns);
	way->stage = (uint8_t)next;
	way->level = 0;
	way->entries[next] = (struct entry){
		.at_ns = now_ns,
		.before_ns = way->entries[next].at_ns,
		.spent = way->spent[next],
		.was_seen = way->seen & BIT(next),
	};
}

/* The ways of a number are found by it. */
static void number_way(struct stages *st, struct way *way, uint64_t nr)
{
	const uint32_t item = (uint32_t)(way - st->ways);

	if (way->nr == nr)
		return;
	if (way->nr)
		hash_remove(&st->numbers, hash_u64(way->nr), item);
	way->nr = nr;
	if (nr)
		stages_fail(st, hash_add(&st->numbers, hash_u64(nr), item));
}

/* ---- time stamps ---- */

/* 0: none */
static int64_t stamp_of(const struct call *call, const char *name)
{
	const struct value *arg = call_arg(call, name);

	return arg && arg->kind == VALUE_INT ? (int64_t)arg->number : 0;
}

/* A packet is received, and the call is the first with it. */
static void take_stamps(const struct stages *st, struct way *way, const struct call *call)
{
	static const struct {
		const char *name;
		enum stages_beside beside;
	} stamps[] = { { "hwtstamp", STAGES_CARD }, { "tstamp", STAGES_STAMP } };

	for (size_t i = 0; i < sizeof(stamps) / sizeof(stamps[0]); i++) {
		const enum stages_beside beside = stamps[i].beside;
		const int64_t stamp = stamp_of(call, stamps[i].name);

		if (stamp_wait(stamp, beside == STAGES_CARD, st->real_offset_ns, call->begin_ns,
			       &way->beside_ns[beside]))
			way->beside |= BIT(beside);
		else if (beside == STAGES_CARD)
			way->is_card_off = stamp > 0 && st->real_offset_ns;
	}
}

/* The packet leaves its queue: a part of the time there was before its time of departure. */
static void take_departure(const struct stages *st, struct way *way, const struct call *call)
{
	const uint64_t since_ns = way->entries[STAGE_QDISC].at_ns;
	const uint64_t due_ns = way->stage != STAGE_QDISC
					? 0
					: stamp_due(stamp_of(call, "tstamp"), st->real_offset_ns,
						    since_ns, call->begin_ns);

	if (!due_ns)
		return;
	way->beside_ns[STAGES_DEPARTURE] += due_ns - since_ns;
	way->beside |= BIT(STAGES_DEPARTURE);
}

/* The way for the call's skb, without anything in it; NULL: no memory. */
static struct way *fresh_way(struct stages *st, const struct call *call)
{
	struct way *way = way_of(st, call->user_ns);

	if (way) {
		settle_as(st, way, STAGES_UNSEEN);
		number_way(st, way, 0);
	} else {
		if (VEC_RESERVE(st->ways, st->way_cap, st->way_cnt + 1) ||
		    hash_add(&st->index, hash_u64(call->user_ns), (uint32_t)st->way_cnt)) {
			st->failed = true;
			return NULL;
		}
		way = &st->ways[st->way_cnt++];
	}
	*way = (struct way){ .skb = call->user_ns };
	return way;
}

/* NULL: no memory */
static struct way *open_way(struct stages *st, const struct call *call, enum stages_begin begin,
			    enum stage stage, uint64_t begin_ns)
{
	struct way *way = fresh_way(st, call);

	if (!way)
		return NULL;
	way->begin_ns = begin_ns;
	way->mark_ns = begin_ns;
	way->stage = (uint8_t)stage;
	way->begin = (uint8_t)begin;
	way->entries[stage].at_ns = begin_ns;
	way->has_start = begin == STAGES_SENT || begin == STAGES_RECEIVED;
	if (begin == STAGES_UNCALLED)
		way->mixed = BIT(STAGE_SOCKET);
	if (begin == STAGES_RECEIVED)
		take_stamps(st, way, call);
	number_way(st, way, st->nr);
	st->sums.packet_cnt++;
	st->sums.begin_cnts[begin]++;
	return way;
}

/* Undo that @way is and was in @stage since it came there last. */
static void leave_out(struct way *way, enum stage stage)
{
	const struct entry *entry = &way->entries[stage];

	way->spent[stage] = entry->spent;
	if (!entry->was_seen) {
		way->seen &= (uint8_t)~BIT(stage);
		way->mixed &= (uint8_t)~BIT(stage);
	}
}

/*
 * What a copy of @origin, which comes to @stage now, has of its way. The origin may have gone on meanwhile, in any case
 * if it came to that stage after @since_ns: then it is what the origin had before. Return: false: that is not known.
 */
static bool way_until(const struct way *origin, enum stage stage, uint64_t since_ns,
		      struct way *copy)
{
	const struct entry *entries = origin->entries;
	int last = -1;

	*copy = *origin;
	if (!origin->is_away && (!entries[stage].at_ns || entries[stage].at_ns < since_ns) &&
	    (origin->stage == stage || stages_follows(origin->stage, stage)))
		return true;
	for (int i = 0; i < STAGE_CNT; i++) {
		if (i != (int)stage && entries[i].at_ns &&
		    entries[i].at_ns <= entries[stage].at_ns &&
		    (last < 0 || entries[i].at_ns >= entries[last].at_ns))
			last = i;
	}
	if (last < 0 || !stages_follows((enum stage)last, stage))
		return false;
	for (int i = 0; i < STAGE_CNT; i++) {
		if (i != (int)stage && i != last && entries[i].at_ns <= entries[last].at_ns)
			continue;
		if (i != last && entries[i].before_ns > entries[last].at_ns)
			return false; /* there twice since */
		leave_out(copy, (enum stage)i);
		if (i != last)
			copy->entries[i] = (struct entry){ .at_ns = entries[i].before_ns };
	}
	copy->stage = (uint8_t)last;
	copy->mark_ns = entries[last].at_ns;
	return true;
}

/*
 * The packet that the call's packet, which is in @stage, is a copy or a part of: the same number at another address. A
 * caller has it, or it was the last to come so far. NULL: none that was seen. @copy: see way_until.
 */
static struct way *origin_of(const struct stages *st, const struct calltask *task,
			     const struct call *call, enum stage stage, struct way *copy)
{
	struct way *best = NULL;
	struct way tried;

	for (uint32_t i = call->depth; st->nr && i-- > 0;) {
		struct way *way = way_of(st, task->calls[i].user_ns);

		if (way && !way->is_done && has_number_of(st, way) && way->skb != call->user_ns)
			return way_until(way, stage, task->calls[i].begin_ns, copy) ? way : NULL;
	}
	for (uint32_t at = 0, item;
	     st->nr && hash_next(&st->numbers, hash_u64(st->nr), &at, &item);) {
		struct way *way = &st->ways[item];

		if (way->is_done || way->is_away || !has_number_of(st, way) ||
		    way->skb == call->user_ns || (best && way->mark_ns <= best->mark_ns) ||
		    !way_until(way, stage, UINT64_MAX, &tried))
			continue;
		best = way;
		*copy = tried;
	}
	return best;
}

/* Return: the way of the call's packet, which comes to @stage and is a copy; NULL: it is none, or no memory. */
static struct way *arrive_copy(struct stages *st, const struct calltask *task,
			       const struct call *call, enum stage stage)
{
	struct way copy;
	struct way *way = origin_of(st, task, call, stage, &copy);

	if (!way)
		return NULL;
	way->has_copies = true;
	way = open_way(st, call, STAGES_COPY, stage, call->begin_ns);
	if (!way)
		return NULL;
	copy.skb = way->skb;
	copy.begin = STAGES_COPY;
	copy.is_local = copy.is_away = copy.is_freed = copy.is_reading = copy.has_copies =
		copy.waits = copy.is_merged = copy.is_chosen = copy.is_other = copy.is_doubtful =
			false;
	memset(copy.mixed_cnts, 0, sizeof(copy.mixed_cnts));
	*way = copy;
	if (way->stage != stage)
		enter(st, way, stage, call->begin_ns);
	return way;
}

/* A packet where it was not before, in @stage: a copy, if its number tells, or one that begins here, as @begin. */
static struct way *arrive(struct stages *st, const struct calltask *task, const struct call *call,
			  enum stages_begin begin, enum stage stage)
{
	struct way *way = arrive_copy(st, task, call, stage);

	return way || st->failed ? way : open_way(st, call, begin, stage, call->begin_ns);
}

/* ---- steps ---- */

static void step_send(struct stages *st, const struct calltask *task, const struct call *call,
		      const struct stagefunc *func)
{
	struct way *way = live_way(st, task, call);
	const struct call *sender;

	if (way && stagefunc_is_inside(task, call))
		return;
	if (!way || way->stage != STAGE_SOCKET || func->level <= way->level) {
		sender = sender_of(st, task, call);
		way = open_way(st, call, sender ? STAGES_SENT : STAGES_UNCALLED, STAGE_SOCKET,
			       sender ? sender->begin_ns : call->begin_ns);
	}
	if (way)
		way->level = func->level;
}

static void step_queue(struct stages *st, const struct calltask *task, const struct call *call)
{
	struct way *way = live_way(st, task, call);
	const struct call *sender;

	if (way && (way->stage == STAGE_SOCKET || is_same(st, way, task, call))) {
		way->is_away = false;
		if (way->stage != STAGE_QDISC)
			enter(st, way, STAGE_QDISC, call->begin_ns);
		return;
	}
	if (arrive_copy(st, task, call, STAGE_QDISC))
		return;
	sender = sender_of(st, task, call);
	way = open_way(st, call, sender ? STAGES_SENT : STAGES_MIDDLE,
		       sender ? STAGE_SOCKET : STAGE_QDISC,
		       sender ? sender->begin_ns : call->begin_ns);
	if (way && sender)
		enter(st, way, STAGE_QDISC, call->begin_ns);
}

static void step_drive(struct stages *st, const struct calltask *task, const struct call *call,
		       const struct stagefunc *func)
{
	struct way *way = live_way(st, task, call);
	const bool inside = is_same(st, way, task, call);

	if (way && way->is_away) { /* the driver had no room: it was queued again */
		spend(st, way, STAGE_QDISC, call->begin_ns);
		way->is_away = false;
	} else if (way && (way->stage <= STAGE_QDISC || (inside && way->stage > STAGE_DRIVER))) {
		way->is_local = false; /* as the device that it came from may have been */
		take_departure(st, way, call);
		enter(st, way, STAGE_DRIVER, call->begin_ns);
	} else if (!inside) {
		way = arrive(st, task, call, STAGES_MIDDLE, STAGE_DRIVER);
	}
	if (way)
		way->is_local |= func->is_local;
}

/* The driver returns. */
static void step_driven(struct stages *st, const struct call *call)
{
	struct way *way = way_of(st, call->user_ns);

	if (!way || way->is_done || way->is_freed || way->is_away || way->stage != STAGE_DRIVER ||
	    !call->has_return)
		return;
	if (way->is_local) {
		enter(st, way, STAGE_SOFTIRQ, call->end_ns);
		return;
	}
	spend(st, way, STAGE_DRIVER, call->end_ns);
	way->is_away = true;
}

static void step_backlog(struct stages *st, const struct calltask *task, const struct call *call)
{
	struct way *way = live_way(st, task, call);

	if (is_same(st, way, task, call)) {
		way->is_away = false;
		if (way->stage != STAGE_SOFTIRQ)
			enter(st, way, STAGE_SOFTIRQ, call->begin_ns);
		return;
	}
	arrive(st, task, call, STAGES_RECEIVED, STAGE_SOFTIRQ);
}

/* The wake-up was of others, such as those that watch the device: the packet is still in the stack. */
static void step_back(struct way *way)
{
	way->spent[STAGE_PROTOCOL] = way->before_wake;
	way->mark_ns = way->wake_ns;
	way->stage = STAGE_PROTOCOL;
}

static void step_receive(struct stages *st, const struct calltask *task, const struct call *call,
			 const struct stagefunc *func)
{
	struct way *way = live_way(st, task, call);
	const bool inside = is_same(st, way, task, call);

	if (inside && way->is_away) { /* its device handed it to this host after all */
		way->is_away = false;
		way->stage = STAGE_SOFTIRQ;
	}
	if (way && (way->stage == STAGE_SOFTIRQ || (inside && way->stage == STAGE_DRIVER)))
		enter(st, way, STAGE_PROTOCOL, call->begin_ns);
	else if (inside && way->stage == STAGE_WAKEUP && func->level > way->level)
		step_back(way);
	else if (way && has_number_of(st, way) && way->stage < STAGE_DRIVER)
		enter(st, way, STAGE_PROTOCOL, call->begin_ns);
	else if (!inside && (!way || way->stage != STAGE_PROTOCOL || func->level <= way->level))
		way = arrive(st, task, call, STAGES_RECEIVED, STAGE_PROTOCOL);
	if (way && func->level > way->level)
		way->level = func->level;
}

static void step_defrag(struct stages *st, const struct calltask *task, const struct call *call)
{
	struct way *way = live_way(st, task, call);

	if (way && way->stage == STAGE_PROTOCOL)
		way->waits = true;
}

/* The packet @way, which was the last fragment to come, goes on: those of its number that wait are in it. */
static void join_fragments(struct stages *st, struct way *way)
{
	way->waits = false;
	for (uint32_t at = 0, item;
	     way->nr && hash_next(&st->numbers, hash_u64(way->nr), &at, &item);) {
		struct way *other = &st->ways[item];

		if (other->nr != way->nr || !other->waits || other->is_done)
			continue;
		other->waits = false;
		other->is_merged = true;
	}
}

/* The reader of the socket is woken, because of the innermost packet that the callers have. */
static void step_wake(struct stages *st, const struct calltask *task, const struct call *call)
{
	struct way *way = NULL;
	uint8_t level;

	for (uint32_t i = call->depth; i-- > 0 && !way;)
		way = way_of(st, task->calls[i].user_ns);
	if (!way || way->is_done || way->is_freed || way->stage != STAGE_PROTOCOL)
		return;
	level = way->level;
	way->wake_ns = way->mark_ns;
	way->before_wake = way->spent[STAGE_PROTOCOL];
	enter(st, way, STAGE_WAKEUP, call->begin_ns);
	way->level = level;
}

static void step_copy(struct stages *st, const struct calltask *task, const struct call *call)
{
	struct way *way = live_way(st, task, call);

	if (!way || way->is_reading || way->stage < STAGE_PROTOCOL)
		return;
	if (VEC_RESERVE(st->reading, st->reading_cap, st->reading_cnt + 1)) {
		st->failed = true;
		return;
	}
	if (way->stage == STAGE_PROTOCOL) {
		stages_mix(way, STAGE_CNT);
		way->stage = STAGE_WAKEUP;
	}
	way->is_reading = true;
	way->reader_track = task->track;
	way->reader_depth = call->depth;
	for (uint32_t i = call->depth; i-- > 0;) {
		if (func_of(st, task->calls[i].sym)->step == STEP_READER)
			way->reader_depth = i;
	}
	st->reading[st->reading_cnt++] = (uint32_t)(way - st->ways);
}

/* A call that reads ends. */
static void step_read(struct stages *st, const struct calltask *task, const struct call *call)
{
	size_t kept_cnt = 0;

	for (size_t i = 0; i < st->reading_cnt; i++) {
		struct way *way = &st->ways[st->reading[i]];

		if (way->is_done || !way->is_reading)
			continue;
		if (way->reader_track != task->track || way->reader_depth != call->depth) {
			st->reading[kept_cnt++] = st->reading[i];
			continue;
		}
		if (call->has_return)
			spend(st, way, STAGE_WAKEUP, call->end_ns);
		stages_settle(st, way, call->has_return ? STAGES_READ : STAGES_UNSEEN);
	}
	st->reading_cnt = kept_cnt;
}

static void step_free(struct stages *st, const struct call *call)
{
	struct way *way = way_of(st, call->user_ns);

	if (way && !way->is_done && !way->is_reading)
		way->is_freed = true;
}

/*
 * Whether the call is of a driver. Functions of drivers have many names: one with "xmit" in its name counts if its
 * caller calls drivers.
 */
static bool is_driver(struct stages *st, const struct calltask *task, const struct call *call,
		      const struct stagefunc *func)
{
	const struct stagefunc *caller;

	if (func->step == STEP_DRIVE)
		return true;
	if (func->step != STEP_NONE || !call->depth || !call->sym)
		return false;
	caller = func_of(st, task->calls[call->depth - 1].sym);
	return caller->step == STEP_DRIVE && caller->level &&
	       memmem(call->sym->name.ptr, call->sym->name.len, "xmit", 4);
}

/*
 * The number of the call's packet, if the call tells it: the memory of the packet that was there, with another number,
 * has been used again.
 */
static void take_number(struct stages *st, struct way *way)
{
	if (!st->nr || !way || way->is_done)
		return;
	if (way->nr && way->nr != st->nr)
		settle_as(st, way, STAGES_UNSEEN);
	else
		number_way(st, way, st->nr);
}

/* ---- the packets of --packet ---- */

/* Whether the call's packet is none of IP: where packets come to devices, each of IP has its header. */
static bool is_foreign(const struct nfg_packet *packet, const struct stagefunc *func)
{
	return !packet->family && packet->dev[0] &&
	       (func->step == STEP_QUEUE || func->step == STEP_DRIVE ||
		func->step == STEP_BACKLOG || func->step == STEP_RECEIVE);
}

static void set_other(struct stages *st, struct way *way, bool is_other)
{
	if (way->is_other == is_other)
		return;
	way->is_other = is_other;
	st->sums.packet_cnt += is_other ? -1 : 1;
	st->sums.begin_cnts[way->begin] += is_other ? -1 : 1;
	st->sums.begin_cnts[STAGES_OTHER] += is_other ? 1 : -1;
}

/*
 * Whether --packet chooses the packet that the call has: as soon as one of its headers matches, as that in a tunnel may. One with a
 * number did before.
 */
static void judge(struct stages *st, struct way *way, const struct stagefunc *func)
{
	const struct nfg_packet *packet = st->packet;

	if (!st->filter || !packet || !way || way->is_done || way->is_chosen)
		return;
	if (!way->nr && is_foreign(packet, func)) {
		set_other(st, way, true);
		return;
	}
	if (!way->nr && (!packet->family || packet->from_sock))
		return;
	way->is_chosen = way->nr || !pcapfilter_refuses(st->filter, packet);
	set_other(st, way, !way->is_chosen);
}

static void take_step(struct stages *st, const struct calltask *task, const struct call *call,
		      const struct stagefunc *func)
{
	struct way *way;

	if (func->step == STEP_SEND)
		step_send(st, task, call, func);
	else if (func->step == STEP_QUEUE)
		step_queue(st, task, call);
	else if (func->step == STEP_BACKLOG)
		step_backlog(st, task, call);
	else if (func->step == STEP_RECEIVE)
		step_receive(st, task, call, func);
	else if (func->step == STEP_COPY)
		step_copy(st, task, call);
	else if (func->step == STEP_FREE)
		step_free(st, call);
	else if (func->step == STEP_DEFRAG)
		step_defrag(st, task, call);
	else if (is_driver(st, task, call, func))
		step_drive(st, task, call, func);
	way = way_of(st, call->user_ns);
	if (way && way->waits && func->step != STEP_DEFRAG && func->step != STEP_FREE)
		join_fragments(st, way);
	judge(st, way, func);
}

static void stages_on_begin(void *ctx, struct calltask *task, struct call *call)
{
	struct stages *st = ctx;
	const struct stagefunc *func = func_of(st, call->sym);

	st->track = task->track;
	stages_fail(st, stagecost_event(&st->cost, task->track, call->begin_ns));
	st->sums.has_funcs |= is_of_stage(func);
	call->user_ns = stagefunc_skb(call, func);
	st->nr = call_packet(call);
	if (func->step == STEP_WAKE)
		step_wake(st, task, call);
	else if (func->step == STEP_SENDER)
		conn_send(st, call, func->is_stream);
	else if (func->step == STEP_COPY)
		conn_take(st, task, call);
	if (!call->user_ns)
		return;
	take_number(st, way_of(st, call->user_ns));
	take_step(st, task, call, func);
}

static void stages_on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct stages *st = ctx;
	const struct stagefunc *func = func_of(st, call->sym);

	if (call->is_leaf)
		stages_on_begin(ctx, task, call);
	st->track = task->track;
	if (call->has_return)
		stages_fail(st, stagecost_event(&st->cost, task->track, call->end_ns));
	if (call->user_ns && is_driver(st, task, call, func))
		step_driven(st, call);
	if (st->reading_cnt && (func->step == STEP_READER || func->step == STEP_COPY))
		step_read(st, task, call);
	if (func->step == STEP_READER && func->is_stream)
		conn_read(st, call);
}

/* ---- from start to end ---- */

int stages_new(struct stages **out, bool lacks_task, const struct pcapfilter *filter)
{
	struct stages *st = calloc(1, sizeof(*st));
	const struct calltree_config config = {
		.lacks_task = lacks_task,
		.forgets_tasks = true,
		.begin = stages_on_begin,
		.end = stages_on_end,
		.ctx = st,
	};

	if (!st)
		return -ENOMEM;
	if (calltree_new(&st->tree, &config)) {
		stages_free(st);
		return -ENOMEM;
	}
	st->filter = filter;
	*out = st;
	return 0;
}

void stages_set_clock(struct stages *st, uint64_t real_offset_ns)
{
	st->real_offset_ns = real_offset_ns;
}

void stages_set_cost(struct stages *st, const struct netcost *cost)
{
	if (netcost_is_known(cost))
		st->cost.cost = *cost;
}

static void times_release(struct stage_times *times)
{
	hist_release(&times->gross);
	hist_release(&times->net);
}

void stages_free(struct stages *st)
{
	if (!st)
		return;
	for (int i = 0; i < STAGE_CNT; i++)
		times_release(&st->sums.stages[i]);
	for (int i = 0; i < STAGES_BESIDE_CNT; i++)
		times_release(&st->sums.beside[i]);
	times_release(&st->sums.total);
	times_release(&st->sums.application);
	stagecost_release(&st->cost);
	calltree_free(st->tree);
	hash_release(&st->index);
	hash_release(&st->numbers);
	hash_release(&st->conn_index);
	free(st->conns);
	free(st->ways);
	free(st->reading);
	free(st->known.funcs);
	free(st);
}

static void settle_all(struct stages *st, enum stages_end end)
{
	for (size_t i = 0; i < st->way_cnt; i++)
		settle_as(st, &st->ways[i], end);
	hash_clear(&st->index);
	hash_clear(&st->numbers);
	st->way_cnt = 0;
	st->reading_cnt = 0;
}

/* Of calls in interrupts, events are lost: packets that are under way may be elsewhere when they are seen again, or not be seen again. */
static void doubt_all(struct stages *st)
{
	for (size_t i = 0; i < st->way_cnt; i++)
		st->ways[i].is_doubtful |= !st->ways[i].is_freed;
}

static void take_loss(struct stages *st, const struct row *row)
{
	st->placed_cnt += row->lost_cnt;
	if (row->keeps_open) {
		doubt_all(st);
		return;
	}
	settle_all(st, STAGES_LOST);
	conns_forget(st);
}

void stages_lost(struct stages *st, uint64_t cnt)
{
	st->lost_cnt = cnt;
}

/* Events were lost that have no place in the trace: any packet may have been in one of them. */
static void doubt_ends(struct stages_sums *sums)
{
	for (enum stages_end end = 0; end < STAGES_END_CNT; end++) {
		for (int i = 0; end_may_be_other(end) && i < STAGE_CNT; i++) {
			sums->end_cnts[STAGES_LOST][i] += sums->end_cnts[end][i];
			sums->end_cnts[end][i] = 0;
		}
	}
}

int stages_row(struct stages *st, const struct row *row)
{
	if (row->kind == ROW_LOST)
		take_loss(st, row);
	st->packet = row->packet;
	stages_fail(st, calltree_row(st->tree, row));
	st->packet = NULL;
	return st->failed ? -ENOMEM : 0;
}

int stages_finish(struct stages *st)
{
	calltree_finish(st->tree);
	settle_all(st, STAGES_OPEN);
	if (st->lost_cnt > st->placed_cnt)
		doubt_ends(&st->sums);
	return st->failed ? -ENOMEM : 0;
}

const struct stages_sums *stages_sums(const struct stages *st)
{
	return &st->sums;
}
