#include "synth.h"

#define TEMPLATE_CNT 50000u /* records of one CPU, about */

/*
 * A script: one call a line, as deep as it is indented; a call returns when its task makes
 * one that is not deeper. "@N" switches to task N, "." only returns, "&" stands for to_tcp.
 */
static const char to_tcp[] = "@0\n"
			     "ip_rcv\n"
			     " ip_rcv_core\n"
			     " ip_rcv_finish_core\n"
			     " ip_local_deliver\n"
			     "  ip_local_deliver_finish\n"
			     "   ip_protocol_deliver_rcu\n"
			     "    raw_local_deliver\n"
			     "    tcp_v4_rcv\n";

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
				  "&\n"
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
				     "&\n"
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

void *synth_must(void *ptr)
{
	if (!ptr) {
		fputs("out of memory\n", stderr);
		exit(2);
	}
	return ptr;
}

/* ---- the template ---- */

static uint16_t func_id(struct synth *b, const char *name, size_t len)
{
	size_t id = 0;

	while (id < b->functab.cnt &&
	       (b->funcs[id].name.len != len || memcmp(b->funcs[id].name.ptr, name, len) != 0))
		id++;
	if (id == FUNC_MAX_CNT)
		exit(2);
	if (id == b->functab.cnt)
		func_set_name(&b->funcs[b->functab.cnt++], (struct text){ name, len },
			      (struct text){ 0 });
	return (uint16_t)id;
}

static uint64_t random_below(struct synth_source *src, uint64_t limit)
{
	src->random = src->random * 6364136223846793005u + 1442695040888963407u;
	return (src->random >> 33) % limit;
}

static void add_rec(struct synth_source *src, uint32_t tid, uint32_t flags, uint16_t func)
{
	uint32_t stack = tid % STACK_CNT;
	uint32_t place = stack * CPU_CNT + src->cpu;

	if (src->cnt == src->cap) {
		src->cap = src->cap ? src->cap * 2 : TEMPLATE_CNT;
		src->recs = synth_must(realloc(src->recs, src->cap * sizeof(*src->recs)));
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

static void return_to(struct synth_source *src, uint32_t tid, uint32_t depth)
{
	uint32_t stack = tid % STACK_CNT;

	while (src->stacks[stack].depth > depth) {
		src->stacks[stack].depth--;
		add_rec(src, tid, NFG_TASK_EXIT,
			src->stacks[stack].funcs[src->stacks[stack].depth]);
	}
}

static void play(struct synth *b, struct synth_source *src, const char *script)
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
		if (*word == '&') {
			play(b, src, to_tcp);
			tid = 0;
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

void synth_init(struct synth *b)
{
	b->functab.funcs = b->funcs;
	for (uint32_t cpu = 0; cpu < CPU_CNT; cpu++) {
		struct synth_source *src = &b->sources[cpu];

		*src = (struct synth_source){ .cpu = cpu, .random = 4711 + cpu };
		while (src->cnt < TEMPLATE_CNT)
			play(b, src, random_below(src, 2) ? send_script : receive_script);
		src->base_ns = 1000000000;
		if (src->clock_ns > b->period_ns)
			b->period_ns = src->clock_ns;
	}
}

/* ---- the stream ---- */

void synth_events(struct synth *b, struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		struct synth_source *one = &b->sources[0];
		struct synth_source *two = &b->sources[1];
		uint64_t one_ns = one->base_ns + one->recs[one->at].time_ns;
		uint64_t two_ns = two->base_ns + two->recs[two->at].time_ns;
		struct synth_source *src = one_ns <= two_ns ? one : two;
		const struct nfg_rec *rec = &src->recs[src->at];

		events[i] = (struct event){
			.time_ns = src->base_ns + rec->time_ns,
			.tid = rec->task & NFG_TASK_TID,
			.func_id = rec->func_id,
			.frame = rec->frame,
			.cpu = src->cpu,
			.kind = rec->task & NFG_TASK_EXIT ? EVENT_EXIT : EVENT_ENTRY,
		};
		if (++src->at == src->cnt) {
			src->at = 0;
			src->base_ns += b->period_ns;
		}
	}
}

bool synth_comm(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last)
{
	static const char *const comms[] = { "iperf3", "nginx", "systemd-resolve" };
	const char *comm = comms[(tid - 1) % STACK_CNT % 3];

	(void)ctx;
	(void)time_ns;
	*is_last = true;
	*name = (struct text){ comm, strlen(comm) };
	return true;
}

void synth_release(struct synth *b)
{
	for (uint32_t cpu = 0; cpu < CPU_CNT; cpu++)
		free(b->sources[cpu].recs);
}
