/* What is likely behind a cause. */
#include "format/likely.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define MS 1000000

/* The first SYN is sent again after a second (tcp_timeout_init). */
#define SYN_AGAIN_NS (990ll * MS)

/* Kernels name the same sleep differently. */
#define OPENS  "__inet_stream_connect inet_stream_connect"
#define READS  "sk_wait_data tcp_recvmsg_locked tcp_recvmsg"
#define WRITES "sk_stream_wait_memory"
#define ERRORS "tcp_v4_err tcp_v6_err ip_icmp_error ipv6_icmp_error"
#define POLLS \
	"ep_poll do_epoll_wait do_poll do_sys_poll do_select poll_schedule_timeout io_cqring_wait"

#define TIMEOUT      "call_timer_fn process_timeout"
#define GAVE_UP      "tcp_write_err tcp_retransmit_timer tcp_write_timer_handler tcp_write_timer"
#define LOST_SYN     "a SYN or the answer to it was lost, and sent again"
#define OR_FULL(how) ", the accept queue of a listener was full (" how "), or nobody is there"
#define BY_LIVE      "explain without FILE reads the kernel's counter"
#define BY_TASKS \
	"the kernel's counter was not read: -p and --cgroup read it, --netns alone does not"
#define NO_ANSWER   "no answer came before the socket's time limit: SYNs were dropped"
#define NO_SYN_ACK  "no SYN was answered, and the kernel gave up: they were dropped"
#define READ_SLOWLY "the receiver read slowly, until its window was closed"

#define NO_MEMORY   "memory was short, and the kernel had to free some first"

#define CPU_MAX     "cpu.max" /* in place of a counter: how often it held tasks back */

/*
 * The first rule that applies is the best. One with a counter applies if that went up at least once for every fourth of the
 * calls: less is what others had.
 */
static const struct rule {
	uint32_t kind;           /* QUEUED: or PREEMPTED */
	const char *in;          /* asleep in one of these, or called by slow calls alone */
	const char *from;        /* woken by one of these; NULL: whoever */
	const char *counter;     /* that went up; NULL: whatever did */
	const char *needless[2]; /* how often that was for nothing; NULL: never */
	int64_t least_ns;
	int64_t most_ns;   /* 0: no limit */
	double least_part; /* of the excess */
	const char *words;
	const char *live_words; /* the same where the kernel traces; NULL: those words */
	bool waits;             /* only if wakers waited, too, as far as that is known */
	bool busy;    /* only if they are not known to have waited for input for most of the time */
	bool inside;  /* not if a softirq woke it that was on no task's way */
	bool once;    /* one time is enough for any number of calls */
	bool away;    /* only if they are known to have done something else for most of the time */
	bool unknown; /* only if nothing is known of what they did */
	bool outside; /* only if a softirq woke it that was on no task's way */
	bool longer;  /* also if it was not called more often */
	bool uncounted; /* only where counters are not known */
	bool dropped;   /* only if a drop is said to be likely, too, */
	bool undropped; /* or only if none is */
	bool last;      /* it explains what later rules would name */
} rules[] = {
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .counter = "ConntrackDrop",
	  .words =
		  "the first packet was dropped because its connection could not be tracked: is the table full?" },
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .counter = "TcpExtListenOverflows",
	  .words = "the accept queue of a listener was full, so that it did not answer" },
	/* what was sent again until then had no answer either */
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .from = "complete_signal signal_wake_up_state",
	  .last = true,
	  .words = "a signal ended the wait, before the SYN was answered" },
	/* beside the drop that is said behind these */
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .from = TIMEOUT,
	  .dropped = true,
	  .last = true,
	  .words = "no answer came before the socket's time limit" },
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .from = GAVE_UP,
	  .dropped = true,
	  .last = true,
	  .words = "no SYN was answered, and the kernel gave up" },
	/* a file does not have the counter that would tell, nor has a namespace without a process */
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .from = TIMEOUT,
	  .uncounted = true,
	  .last = true,
	  .words = NO_ANSWER OR_FULL(BY_LIVE),
	  .live_words = NO_ANSWER OR_FULL(BY_TASKS) },
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .from = GAVE_UP,
	  .uncounted = true,
	  .last = true,
	  .words = NO_SYN_ACK OR_FULL(BY_LIVE),
	  .live_words = NO_SYN_ACK OR_FULL(BY_TASKS) },
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .from = TIMEOUT,
	  .last = true,
	  .words = NO_ANSWER ", or nobody is there" },
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .from = GAVE_UP,
	  .last = true,
	  .words = NO_SYN_ACK ", or nobody is there" },
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .from = ERRORS,
	  .counter = "NeighResFailed",
	  .once = true, /* for all that wait for it */
	  .words = "the neighbour does not answer: its address was not found" },
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .from = ERRORS,
	  .counter = "TcpExtTCPSynRetrans",
	  .last = true,
	  .words =
		  "an ICMP message ended the wait: a rule that rejects, or a router without a way" },
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .from = ERRORS,
	  .last = true,
	  .words =
		  "an error ended the wait, and no SYN was sent again: the neighbour does not answer, or there is no route" },
	{ .kind = CAUSE_ASLEEP, .in = OPENS, .counter = "TcpExtTCPSynRetrans", .words = LOST_SYN },
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .least_ns = SYN_AGAIN_NS,
	  .uncounted = true,
	  .undropped = true,
	  .words = LOST_SYN
	  ", or the accept queue of a listener was full: only the kernel's counters tell, which a file lacks and explain without FILE reads",
	  .live_words = LOST_SYN
	  ", or the accept queue of a listener was full: only the kernel's counters tell, which were not read: -p and --cgroup read them, --netns alone does not" },
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .from = "tcp_reset",
	  .words = "the other side refused the connection, with a reset" },
	{ .kind = CAUSE_ASLEEP,
	  .in = OPENS,
	  .outside = true,
	  .undropped = true,
	  .words =
		  "the answer came late: from another host, or held up on its way (a queue, a delay); 'netfgraph latency --by stage' shows where" },
	{ .kind = CAUSE_ASLEEP,
	  .in = WRITES,
	  .counter = "TcpExtTCPToZeroWindowAdv",
	  .inside = true,
	  .busy = true,
	  .last = true,
	  .words = READ_SLOWLY },
	/* the same of a receiver elsewhere, whose window the sender asks for */
	{ .kind = CAUSE_ASLEEP,
	  .in = WRITES,
	  .counter = "TcpExtTCPWinProbe",
	  .busy = true,
	  .words = READ_SLOWLY },
	{ .kind = CAUSE_ASLEEP,
	  .in = READS " " WRITES,
	  .from = "tcp_reset",
	  .words = "the other side reset the connection" },
	/* which makes senders send again, too */
	{ .kind = CAUSE_ASLEEP,
	  .in = READS " " WRITES,
	  .counter = "TcpExtTCPSACKReorder",
	  .words = "segments came out of order, and those before them had to be waited for" },
	{ .kind = CAUSE_ASLEEP,
	  .in = READS " " WRITES,
	  .counter = "TcpRetransSegs",
	  /* on a slow path, where an acknowledgement comes later than ever before, and into a closed window */
	  .needless = { "TcpExtTCPDSACKRecv", "TcpExtTCPWinProbe" },
	  .words = "segments were lost, and sent again" },
	{ .kind = CAUSE_ASLEEP, .in = WRITES, .away = true, .words = "the receiver read late" },
	{ .kind = CAUSE_ASLEEP, .in = READS, .away = true, .words = "the sender was late" },
	/* what a sender may hold back until then is Nagle's; the longest that Linux puts one off is 200 ms */
	{ .kind = CAUSE_ASLEEP,
	  .in = READS,
	  .counter = "TcpExtDelayedACKs",
	  .least_ns = 15 * MS,
	  .most_ns = 210 * MS,
	  .waits = true,
	  .words =
		  "a sender waited for an acknowledgement that the receiver put off (Nagle's algorithm; TCP_NODELAY, or a single write)" },
	{ .kind = CAUSE_ASLEEP,
	  .in = WRITES,
	  .words =
		  "what was sent before has not been acknowledged: a slow path (a delay, a limit of its rate)" },
	{ .kind = CAUSE_ASLEEP,
	  .in = READS,
	  .outside = true,
	  .words =
		  "the data came late: from another host, or held up on its way (a queue, a delay); 'netfgraph latency --by stage' shows where" },
	{ .kind = CAUSE_ASLEEP, .in = READS, .unknown = true, .words = "the data came late" },
	{ .kind = CAUSE_ASLEEP,
	  .in = "__skb_wait_for_more_packets",
	  .from = TIMEOUT,
	  .counter = "UdpRcvbufErrors",
	  .words =
		  "datagrams were dropped at a full receive buffer, and the socket's time limit ended the wait" },
	{ .kind = CAUSE_ASLEEP,
	  .in = "__skb_wait_for_more_packets",
	  .from = TIMEOUT,
	  .words = "no datagram came before the socket's time limit" },
	{ .kind = CAUSE_ASLEEP,
	  .in = "sock_alloc_send_pskb",
	  .words =
		  "the socket's send buffer was full: what was sent before has not left this host" },
	{ .kind = CAUSE_ASLEEP,
	  .in = "__lock_sock",
	  .words = "another task had locked the socket: it was in a call on it" },
	{ .kind = CAUSE_ASLEEP,
	  .in = "reclaim_throttle throttle_direct_reclaim wait_iff_congested congestion_wait",
	  .words = NO_MEMORY },
	/* a part of a period, not an ordinary wait */
	{ .kind = CAUSE_QUEUED,
	  .counter = CPU_MAX,
	  .least_ns = MS,
	  .words = "the cgroup had used up its cpu.max" },
	{ .kind = CAUSE_RUNNING,
	  .in = "ip_do_fragment ip6_fragment",
	  .words = "packets were longer than the MTU, and were sent in fragments" },
	{ .kind = CAUSE_RUNNING,
	  .in = "nft_do_chain ipt_do_table ip6t_do_table nf_conntrack_in nf_hook_slow",
	  .words =
		  "packets came through firewall rules (nftables, iptables) or connection tracking" },
	{ .kind = CAUSE_RUNNING,
	  .in = "inet_hash_connect __inet_hash_connect inet_csk_get_port udp_lib_get_port",
	  .least_part = 0.5,
	  .longer = true,
	  .words =
		  "a free local port had to be searched for: nearly all of ip_local_port_range are taken" },
	{ .kind = CAUSE_RUNNING,
	  .in = "tcp_collapse tcp_prune_ofo_queue",
	  .words = "room had to be made in a receive buffer" },
	{ .kind = CAUSE_RUNNING,
	  .in = "try_to_free_pages try_to_free_mem_cgroup_pages",
	  .words = NO_MEMORY },
	{ .kind = CAUSE_RUNNING,
	  .in = "tcp_retransmit_skb __tcp_retransmit_skb",
	  .words = "segments were sent again" },
	/*
	 * Not neigh_resolve_output, which also sends the first packet to a neighbour that is known, or needs no address as
	 * over loopback: all that the packet does then is in it.
	 */
	{ .kind = CAUSE_RUNNING,
	  .in = "__neigh_event_send",
	  .least_part = 0.25,
	  .words = "the neighbour's address was not known yet" },
};

/* How often that was counted; @out: the number of the counter, NETSTAT_CNT if it is none of the network's. */
static uint64_t counted_of(const struct netstat *counted, const char *counter, size_t *out)
{
	*out = NETSTAT_CNT;
	if (!strcmp(counter, CPU_MAX))
		return counted ? counted->throttled_cnt : 0;
	*out = netstat_find(counter);
	return counted && counted->has_net ? counted->values[*out] : 0;
}

static uint64_t times_of(const struct rule *rule, const struct netstat *counted, size_t *counter)
{
	uint64_t needless_cnt = 0;
	uint64_t cnt;

	for (size_t i = 0; i < 2 && rule->needless[i]; i++)
		needless_cnt += counted_of(counted, rule->needless[i], counter);
	cnt = counted_of(counted, rule->counter, counter);
	return cnt > needless_cnt ? cnt - needless_cnt : 0;
}

bool did_is_busy(const struct did *did)
{
	if (did->kind != CAUSE_WAKER_ASLEEP)
		return true;
	return did->in.len && !text_has_word(READS, did->in) && !text_has_word(POLLS, did->in);
}

/*
 * How long wakers waited for input, and how long they are known to have done something else. What waits for several things,
 * or for a time (ep_poll), may be either.
 */
static void waker_times(const struct symptom *symptom, int64_t *waited_ns, int64_t *busy_ns)
{
	*waited_ns = 0;
	*busy_ns = 0;
	for (size_t i = 0; i < symptom->did_cnt; i++) {
		const struct did *did = &symptom->dids[i];
		const bool slept = did->kind == CAUSE_WAKER_ASLEEP;

		if (slept && text_has_word(READS, did->in))
			sum_add(waited_ns, did->ns);
		else if (did_is_busy(did))
			sum_add(busy_ns, did->ns);
	}
}

/* What wakers did for most of the time, as far as that is known. */
struct wakers {
	bool have_waited; /* for input */
	bool were_away;   /* did something else */
};

static struct wakers wakers_of(const struct symptom *symptom)
{
	int64_t waited_ns, busy_ns;

	waker_times(symptom, &waited_ns, &busy_ns);
	return (struct wakers){ .have_waited = waited_ns > symptom->slept_ns / 2,
				.were_away = busy_ns > symptom->slept_ns / 2 };
}

static bool applies(const struct rule *rule, const struct symptom *symptom,
		    const struct wakers *wakers)
{
	const uint32_t kind = symptom->kind == CAUSE_PREEMPTED ? CAUSE_QUEUED : symptom->kind;

	return rule->kind == kind && (!rule->in || text_has_word(rule->in, symptom->in)) &&
	       (!rule->from || text_has_word(rule->from, symptom->from)) &&
	       symptom->ns >= rule->least_ns && symptom->part >= rule->least_part &&
	       (!rule->most_ns || symptom->ns <= rule->most_ns) &&
	       (!rule->dropped || symptom->has_drop) && !(rule->undropped && symptom->has_drop) &&
	       (!rule->outside || symptom->is_outside) && !(rule->inside && symptom->is_outside) &&
	       (rule->longer || !symptom->is_as_often) && (!rule->away || wakers->were_away) &&
	       (!rule->unknown || (symptom->is_by_task && !symptom->did_cnt)) &&
	       !(rule->waits && wakers->were_away) && !(rule->busy && wakers->have_waited);
}

bool likely_is_of_drop(const struct symptom *symptom, bool has_reason)
{
	return symptom->kind == CAUSE_ASLEEP && text_has_word(OPENS, symptom->in) &&
	       (has_reason || symptom->ns >= SYN_AGAIN_NS);
}

size_t likely_add(struct likely out[LIKELY_MAX], size_t cnt, const struct symptom *symptom,
		  const struct netstat *counted)
{
	const struct wakers wakers = wakers_of(symptom);

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules) && cnt < LIKELY_MAX; i++) {
		const struct rule *rule = &rules[i];
		const char *words =
			symptom->is_live && rule->live_words ? rule->live_words : rule->words;
		size_t counter = NETSTAT_CNT;

		if (!applies(rule, symptom, &wakers) ||
		    (rule->uncounted && counted && counted->has_net))
			continue;
		if (rule->counter) {
			const uint64_t times = times_of(rule, counted, &counter);

			if (!times || (!rule->once && times < (symptom->call_cnt + 3) / 4))
				continue;
		} else if (cnt && (rule->kind == CAUSE_ASLEEP || out[cnt - 1].words == words)) {
			continue; /* what is said of any such sleep is no news beside a reason */
		}
		out[cnt++] = (struct likely){ .words = words,
					      .counter = counter,
					      .waker = rule->away      ? LIKELY_BUSY_WAKER
						       : rule->unknown ? LIKELY_ANY_WAKER
								       : LIKELY_NO_WAKER };
		if (rule->last)
			break;
	}
	return cnt;
}

/* ---- what wakers did ---- */

static int did_by_thing(const void *a, const void *b)
{
	const struct did *x = a;
	const struct did *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->state > y->state) - (x->state < y->state);
}

static int did_by_ns(const void *a, const void *b)
{
	const struct did *x = a;
	const struct did *y = b;

	return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : did_by_thing(a, b);
}

static int did_add(struct dids *dids, const struct slowcalls *sc, const struct doing *doing)
{
	const struct cause_key *key = slowcalls_cause(sc, doing->key);

	if (key->kind == CAUSE_WAKER_FAULTS) {
		dids->fault_cnt += doing->slow_cnt;
		return 0;
	}
	if (VEC_RESERVE(dids->items, dids->cap, dids->cnt + 1))
		return -ENOMEM;
	sum_add(&dids->known_ns, doing->slow_ns);
	dids->items[dids->cnt++] = (struct did){ .kind = key->kind,
						 .func = key->func,
						 .state = key->state,
						 .tid = key->tid,
						 .ns = doing->slow_ns,
						 .in = slowcalls_name(sc, key->func) };
	return 0;
}

/* Whether only their tasks differ. */
static bool is_alike(const struct detail_key *a, const struct detail_key *b)
{
	return a->cause == b->cause && a->waker == b->waker && a->comm == b->comm &&
	       a->from == b->from;
}

int dids_add(struct dids *dids, const struct slowcalls *sc, const struct causes *causes,
	     const struct cause_detail *detail)
{
	const struct detail_key *key = slowcalls_detail(sc, detail->key);
	const struct doing *doings = causes->doings;
	size_t at = 0;
	int err = 0;

	if (!detail->task_cnt)
		at = VEC_BISECT(i, causes->doing_cnt, doings[i].detail < detail->key);
	for (; !err && at < causes->doing_cnt; at++) {
		if (!detail->task_cnt && doings[at].detail != detail->key)
			break;
		if (!detail->task_cnt || is_alike(slowcalls_detail(sc, doings[at].detail), key))
			err = did_add(dids, sc, &doings[at]);
	}
	return err;
}

/* Of many tasks of one name that had the CPU each is a small part: they are one. */
static void dids_merge_tasks(struct dids *dids)
{
	size_t cnt = 0;

	for (size_t i = 0, end; i < dids->cnt; i = end) {
		struct did *did = &dids->items[i];

		for (end = i + 1; end < dids->cnt && did->kind == CAUSE_WAKER_QUEUED &&
				  dids->items[end].kind == did->kind &&
				  dids->items[end].func == did->func;)
			end++;
		if (end - i <= CAUSE_TASKS_TOLD) {
			end = i + 1;
		} else {
			did->tid = 0;
			did->task_cnt = (uint32_t)(end - i);
		}
		for (size_t k = i + 1; k < end; k++)
			sum_add(&did->ns, dids->items[k].ns);
		dids->items[cnt++] = *did;
	}
	dids->cnt = cnt;
}

void dids_sort(struct dids *dids)
{
	size_t cnt = 0;

	if (!dids->cnt)
		return;
	qsort(dids->items, dids->cnt, sizeof(*dids->items), did_by_thing);
	for (size_t i = 0; i < dids->cnt; i++) {
		if (cnt && !did_by_thing(&dids->items[cnt - 1], &dids->items[i]))
			sum_add(&dids->items[cnt - 1].ns, dids->items[i].ns);
		else
			dids->items[cnt++] = dids->items[i];
	}
	dids->cnt = cnt;
	dids_merge_tasks(dids);
	qsort(dids->items, dids->cnt, sizeof(*dids->items), did_by_ns);
}
