/*
 * How fast records become text: a synthetic stream goes the way of a recorded one, from the rings
 * through the graph and the renderer to a sink.
 *
 *	textspeed [--min-meps X] [--fd FD] [EVENTS]
 *
 * Two CPUs send and receive over TCP, call for call as the scripts below say. A template of
 * some 100,000 records is made once; feeding it again and again with new times is not counted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "trace/graph.h"
#include "kernel/comms.h"
#include "format/render.h"
#include "attach/rings.h"

#define CPU_CNT      2
#define REC_CNT      65536u /* a ring: 1 MiB */
#define BATCH_CNT    4096   /* as the program reads */
#define FLUSH_BYTES  65536  /* as the program writes */
#define TEMPLATE_CNT 50000u /* records of one CPU, about */
#define FUNC_MAX_CNT 128
#define DEPTH_MAX    32
#define STACK_CNT    8

/*
 * A script: one call a line, as deep as it is indented; a call returns when its task makes
 * one that is not deeper. "@N" switches to task N, "." only returns.
 */
static const char send_script[] = "@1201\n"
				  "tcp_sendmsg\n"
				  " lock_sock_nested\n"
				  " tcp_sendmsg_locked\n"
				  "  tcp_rate_check_app_limited\n"
				  "  sk_stream_wait_connect\n"
				  "  tcp_send_mss\n"
				  "   tcp_current_mss\n"
				  "    tcp_established_options\n"
				  "  tcp_stream_alloc_skb\n"
				  "  tcp_skb_entail\n"
				  "  sk_page_frag_refill\n"
				  "  __sk_mem_schedule\n"
				  "  tcp_tx_timestamp\n"
				  "  tcp_push\n"
				  "   __tcp_push_pending_frames\n"
				  "    tcp_write_xmit\n"
				  "     tcp_init_tso_segs\n"
				  "     tcp_pacing_check\n"
				  "     tcp_small_queue_check\n"
				  "     tcp_tso_segs\n"
				  "     __tcp_transmit_skb\n"
				  "      tcp_established_options\n"
				  "      __tcp_select_window\n"
				  "      tcp_update_skb_after_send\n"
				  "      tcp_v4_send_check\n"
				  "       __tcp_v4_send_check\n"
				  "      ip_queue_xmit\n"
				  "       __ip_queue_xmit\n"
				  "        ipv4_dst_check\n"
				  "        ip_copy_addrs\n"
				  "        ip_options_build\n"
				  "        ip_local_out\n"
				  "         __ip_local_out\n"
				  "         ip_output\n"
				  "          ip_finish_output\n"
				  "           __ip_finish_output\n"
				  "            ip_finish_output2\n"
				  "             __dev_queue_xmit\n"
				  "              netdev_core_pick_tx\n"
				  "              skb_clone_tx_timestamp\n"
				  "              qdisc_pkt_len_init\n"
				  "              validate_xmit_skb\n"
				  "               netif_skb_features\n"
				  "              dev_hard_start_xmit\n"
				  "               loopback_xmit\n"
				  "                sock_wfree\n"
				  "                eth_type_trans\n"
				  "                skb_orphan_partial\n"
				  "                __netif_rx\n"
				  "                 enqueue_to_backlog\n"
				  "     tcp_event_new_data_sent\n"
				  "      tcp_rbtree_insert\n"
				  "      tcp_rearm_rto\n"
				  "      tcp_schedule_loss_probe\n"
				  "      tcp_check_space\n"
				  "     tcp_options_write\n"
				  " release_sock\n"
				  "  tcp_release_cb\n"
				  ".\n"
				  "@0\n"
				  "ip_rcv\n"
				  " ip_rcv_core\n"
				  " ip_rcv_finish_core\n"
				  " ip_local_deliver\n"
				  "  ip_local_deliver_finish\n"
				  "   ip_protocol_deliver_rcu\n"
				  "    raw_local_deliver\n"
				  "    tcp_v4_rcv\n"
				  "     tcp_v4_fill_cb\n"
				  "     tcp_v4_do_rcv\n"
				  "      ipv4_dst_check\n"
				  "      tcp_rcv_established\n"
				  "       tcp_ack\n"
				  "        tcp_clean_rtx_queue\n"
				  "        tcp_rearm_rto\n"
				  "        tcp_rack_update_reo_wnd\n"
				  "        tcp_xmit_recovery\n"
				  "        cubictcp_acked\n"
				  "        tcp_update_pacing_rate\n"
				  ".\n";

static const char receive_script[] = "@1202\n"
				     "tcp_recvmsg\n"
				     " lock_sock_nested\n"
				     " tcp_recvmsg_locked\n"
				     "  sk_wait_data\n"
				     "   release_sock\n"
				     "    tcp_release_cb\n"
				     "@0\n"
				     "ip_rcv\n"
				     " ip_rcv_core\n"
				     " ip_rcv_finish_core\n"
				     " ip_local_deliver\n"
				     "  ip_local_deliver_finish\n"
				     "   ip_protocol_deliver_rcu\n"
				     "    raw_local_deliver\n"
				     "    tcp_v4_rcv\n"
				     "     __inet_lookup_established\n"
				     "     tcp_inbound_hash\n"
				     "     tcp_filter\n"
				     "      sk_filter_trim_cap\n"
				     "     tcp_v4_fill_cb\n"
				     "     tcp_parse_md5sig_option\n"
				     "     tcp_v4_do_rcv\n"
				     "      ipv4_dst_check\n"
				     "      tcp_rcv_established\n"
				     "       tcp_mstamp_refresh\n"
				     "       tcp_store_ts_recent\n"
				     "       tcp_rcv_rtt_measure_ts\n"
				     "       tcp_queue_rcv\n"
				     "       tcp_event_data_recv\n"
				     "       tcp_grow_window\n"
				     "       tcp_ack\n"
				     "        tcp_rate_skb_delivered\n"
				     "        tcp_rate_gen\n"
				     "        tcp_newly_delivered\n"
				     "        tcp_clean_rtx_queue\n"
				     "         tcp_ack_update_rtt\n"
				     "         tcp_rtt_estimator\n"
				     "         tcp_set_rto\n"
				     "       tcp_data_ready\n"
				     "        sock_def_readable\n"
				     ".\n"
				     "@1202\n"
				     "   lock_sock_nested\n"
				     "  skb_copy_datagram_iter\n"
				     "   __skb_datagram_iter\n"
				     "    simple_copy_to_iter\n"
				     "  tcp_rcv_space_adjust\n"
				     "  tcp_update_recv_tstamps\n"
				     "  tcp_eat_recv_skb\n"
				     "  tcp_cleanup_rbuf\n"
				     "   __tcp_select_window\n"
				     "   __tcp_send_ack\n"
				     "    __alloc_skb\n"
				     "    skb_set_owner_w\n"
				     "    __tcp_transmit_skb\n"
				     "     ip_queue_xmit\n"
				     " release_sock\n"
				     ".\n"
				     "@1203\n"
				     "tcp_poll\n"
				     " tcp_stream_memory_free\n"
				     " tcp_stream_is_readable\n"
				     "tcp_ioctl\n"
				     ".\n";

/* One CPU's records and what it takes to make them. */
struct source {
	struct nfg_rec *recs;
	uint32_t cnt;
	uint32_t cap;
	uint32_t cpu;
	uint32_t at;       /* next record to feed */
	uint64_t base_ns;  /* time of the round that is fed */
	uint64_t clock_ns; /* while the template is made */
	uint64_t random;
	struct {
		uint16_t funcs[DEPTH_MAX];
		uint32_t depth;
	} stacks[STACK_CNT]; /* one for each task */
};

struct bench {
	struct func funcs[FUNC_MAX_CNT];
	struct functab functab;
	struct source sources[CPU_CNT];
	uint64_t period_ns; /* how long the template takes */
	struct rings_memory mem;
	struct rings rings;
	struct graph *graph;
	struct comms *names;
	struct render render;
	struct strbuf out;
	int fd; /* -1: discard */
	uint64_t row_cnt;
	uint64_t byte_cnt;
	uint64_t fill_ns; /* CPU time that went into feeding */
};

static void *must(void *ptr)
{
	if (!ptr) {
		fputs("textspeed: out of memory\n", stderr);
		exit(2);
	}
	return ptr;
}

static uint64_t cpu_time_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- the template ---- */

static uint16_t func_id(struct bench *b, const char *name, size_t len)
{
	size_t id = 0;

	while (id < b->functab.cnt &&
	       (b->funcs[id].name.len != len || memcmp(b->funcs[id].name.ptr, name, len) != 0))
		id++;
	if (id == FUNC_MAX_CNT)
		exit(2);
	if (id == b->functab.cnt)
		b->funcs[b->functab.cnt++].name = (struct text){ name, len };
	return (uint16_t)id;
}

static uint64_t random_below(struct source *src, uint64_t limit)
{
	src->random = src->random * 6364136223846793005u + 1442695040888963407u;
	return (src->random >> 33) % limit;
}

static void add_rec(struct source *src, uint32_t tid, uint32_t flags, uint16_t func)
{
	uint32_t stack = tid % STACK_CNT;
	uint32_t place = stack * CPU_CNT + src->cpu;

	if (src->cnt == src->cap) {
		src->cap = src->cap ? src->cap * 2 : TEMPLATE_CNT;
		src->recs = must(realloc(src->recs, src->cap * sizeof(*src->recs)));
	}
	/* mostly a quick step, now and then a long one */
	src->clock_ns += 60 + random_below(src, random_below(src, 50) ? 250 : 20000);
	src->recs[src->cnt++] = (struct nfg_rec){
		.time_ns = src->clock_ns,
		.task = (tid ? tid + src->cpu * 8 : 0) | flags,
		.func_id = func,
		.frame = (uint16_t)(place << 11 | (2000 - 24 * src->stacks[stack].depth)),
	};
}

static void return_to(struct source *src, uint32_t tid, uint32_t depth)
{
	uint32_t stack = tid % STACK_CNT;

	while (src->stacks[stack].depth > depth) {
		src->stacks[stack].depth--;
		add_rec(src, tid, NFG_TASK_EXIT,
			src->stacks[stack].funcs[src->stacks[stack].depth]);
	}
}

static void play(struct bench *b, struct source *src, const char *script)
{
	uint32_t tid = 0;

	for (const char *line = script; *line; line = strchr(line, '\n') + 1) {
		size_t indent = strspn(line, " ");
		const char *word = line + indent;
		uint32_t stack;
		uint16_t func;

		if (*word == '@') {
			tid = (uint32_t)strtoul(word + 1, NULL, 10);
			continue;
		}
		return_to(src, tid, (uint32_t)indent);
		if (*word == '.')
			continue;
		func = func_id(b, word, strcspn(word, "\n"));
		stack = tid % STACK_CNT;
		add_rec(src, tid, 0, func);
		src->stacks[stack].funcs[src->stacks[stack].depth++] = func;
	}
}

static void make_template(struct bench *b)
{
	b->functab.funcs = b->funcs;
	for (uint32_t cpu = 0; cpu < CPU_CNT; cpu++) {
		struct source *src = &b->sources[cpu];

		*src = (struct source){ .cpu = cpu, .random = 4711 + cpu };
		while (src->cnt < TEMPLATE_CNT)
			play(b, src, random_below(src, 2) ? send_script : receive_script);
		src->base_ns = 1000000000;
		if (src->clock_ns > b->period_ns)
			b->period_ns = src->clock_ns;
	}
}

/* ---- the stream ---- */

/* Write the next @cnt records of @src into its ring, as its CPU would. */
static void fill_ring(struct bench *b, struct source *src, uint64_t cnt)
{
	struct nfg_rec *ring = b->mem.recs + (size_t)src->cpu * REC_CNT;
	struct nfg_cpu *cpu = &b->mem.cpus[src->cpu];

	for (; cnt && cpu->head < cpu->limit; cnt--) {
		struct nfg_rec *slot = &ring[cpu->head++ & (REC_CNT - 1)];

		*slot = src->recs[src->at];
		slot->time_ns += src->base_ns;
		if (++src->at == src->cnt) {
			src->at = 0;
			src->base_ns += b->period_ns;
		}
	}
}

/* Fill the rings. Return: until when every ring's events are known. */
static uint64_t fill(struct bench *b, uint64_t cnt)
{
	uint64_t begin_ns = cpu_time_ns();
	uint64_t known_ns = UINT64_MAX;

	for (uint32_t cpu = 0; cpu < CPU_CNT; cpu++) {
		struct source *src = &b->sources[cpu];
		uint64_t next_ns;

		fill_ring(b, src, cnt);
		next_ns = src->base_ns + src->recs[src->at].time_ns;
		if (next_ns < known_ns)
			known_ns = next_ns;
	}
	b->fill_ns += cpu_time_ns() - begin_ns;
	return known_ns - 1;
}

static void sink(struct bench *b)
{
	size_t done = 0;

	b->byte_cnt += b->out.len;
	while (b->fd >= 0 && done < b->out.len) {
		ssize_t len = write(b->fd, b->out.ptr + done, b->out.len - done);

		if (len < 0 && errno != EINTR) {
			perror("textspeed: write");
			exit(2);
		}
		done += len > 0 ? (size_t)len : 0;
	}
	strbuf_reset(&b->out);
}

static void on_row(void *ctx, struct row *row)
{
	struct bench *b = ctx;

	if (row->kind == ROW_BANNER) {
		row->prev.comm = comms_get(b->names, row->prev.tid, row->prev_ns);
		row->task.comm = comms_get(b->names, row->task.tid, row->time_ns);
	}
	render_row(&b->render, row, &b->out);
	b->row_cnt++;
}

static uint64_t pass(struct bench *b, uint64_t now_ns)
{
	static struct event events[BATCH_CNT];
	uint64_t seen = 0;
	size_t cnt;

	rings_begin(&b->rings, now_ns, 0);
	while ((cnt = rings_read(&b->rings, events, BATCH_CNT))) {
		if (graph_feed(b->graph, events, cnt) || !strbuf_ok(&b->out))
			must(NULL);
		if (b->out.len > FLUSH_BYTES)
			sink(b);
		seen += cnt;
	}
	return seen;
}

static void name_task(struct bench *b, uint32_t tid, const char *comm)
{
	struct nfg_task_rec rec = { .tid = tid, .kind = NFG_TASK_NAMED };

	snprintf((char *)rec.comm, sizeof(rec.comm), "%s", comm);
	comms_take(b->names, &rec);
}

static void start(struct bench *b)
{
	const struct comms_source none = { 0 };
	const struct graph_config config = {
		.functab = &b->functab, .cpu_cnt = CPU_CNT, .emit = on_row, .ctx = b
	};

	make_template(b);
	b->mem = (struct rings_memory){
		.recs = must(calloc((size_t)CPU_CNT * REC_CNT, sizeof(struct nfg_rec))),
		.gaps = must(calloc(CPU_CNT, sizeof(struct nfg_gaps))),
		.cpus = must(aligned_alloc(64, CPU_CNT * sizeof(struct nfg_cpu))),
		.cpu_cnt = CPU_CNT,
		.rec_cnt = REC_CNT,
	};
	memset(b->mem.cpus, 0, CPU_CNT * sizeof(struct nfg_cpu));
	if (rings_init(&b->rings, &b->mem) || graph_new(&b->graph, &config) ||
	    comms_new(&b->names, &none) || render_init(&b->render, &render_columns_default, 1))
		must(NULL);
	for (uint32_t cpu = 0; cpu < CPU_CNT; cpu++) {
		name_task(b, 1201 + cpu * 8, "iperf3");
		name_task(b, 1202 + cpu * 8, "nginx");
		name_task(b, 1203 + cpu * 8, "systemd-resolve");
	}
	render_header(&b->render, &b->out);
}

static void finish(struct bench *b)
{
	rings_release(&b->rings);
	graph_free(b->graph);
	comms_free(b->names);
	render_release(&b->render);
	strbuf_release(&b->out);
	for (uint32_t cpu = 0; cpu < CPU_CNT; cpu++)
		free(b->sources[cpu].recs);
	free(b->mem.recs);
	free(b->mem.gaps);
	free(b->mem.cpus);
}

/* Return: CPU time, feeding left out. */
static uint64_t run(struct bench *b, uint64_t event_cnt)
{
	uint64_t begin_ns = cpu_time_ns();
	uint64_t seen = 0;

	while (seen < event_cnt) {
		uint64_t want = (event_cnt - seen + CPU_CNT - 1) / CPU_CNT;

		seen += pass(b, fill(b, want < BATCH_CNT * 2 ? want : BATCH_CNT * 2));
	}
	seen += pass(b, UINT64_MAX);
	graph_finish(b->graph);
	sink(b);
	return cpu_time_ns() - begin_ns - b->fill_ns;
}

int main(int argc, char **argv)
{
	static struct bench b = { .fd = -1 };
	uint64_t event_cnt = 10000000;
	double min_meps = 0;
	uint64_t work_ns;
	struct rusage usage;
	double meps;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--min-meps") && i + 1 < argc)
			min_meps = strtod(argv[++i], NULL);
		else if (!strcmp(argv[i], "--fd") && i + 1 < argc)
			b.fd = atoi(argv[++i]);
		else
			event_cnt = strtoull(argv[i], NULL, 10);
	}
	start(&b);
	work_ns = run(&b, event_cnt);
	getrusage(RUSAGE_SELF, &usage);
	event_cnt = b.rings.cursors[0].tail + b.rings.cursors[1].tail;
	meps = (double)event_cnt * 1e3 / (double)work_ns;
	fprintf(stderr,
		"textspeed: %llu events in %.3f s: %.2f million events/s, %llu rows, %llu bytes, "
		"peak rss %ld KiB (feeding took %.3f s more)\n",
		(unsigned long long)event_cnt, (double)work_ns / 1e9, meps,
		(unsigned long long)b.row_cnt, (unsigned long long)b.byte_cnt, usage.ru_maxrss,
		(double)b.fill_ns / 1e9);
	finish(&b);
	return meps < min_meps;
}
