/*
 * Recordings as many hosts would have made them, through the program's own writer.
 *
 *	hosts DIR HOSTS HOURS TREES
 *
 * Writes DIR/host-NNNN.HH.nfg for each host and hour from 2026-11-16 22:00 UTC on, with TREES trees of calls in each: tasks that
 * connect and send. What hosts have in common and where they differ is in vary(). The same words give the same files.
 */

#include "kernel/proto.h"
#include "recording/recfile.h"
#include "synth.h"
#include "trace/values.h"

#define START_NS    UINT64_C(1794866400000000000) /* 2026-11-16 22:00 UTC */
#define HOUR_NS     UINT64_C(3600000000000)
#define CHANGE_HOUR 2 /* from here on tcp_connect takes longer */
#define RET_NONE    INT64_MAX

/* A script: the calls of a tree, callers first. */
struct step {
	uint32_t depth;
	const char *name;
	uint64_t time_ns; /* of its own, about */
};

static const struct step connect_script[] = {
	{ 0, "__sys_connect", 400 },       { 1, "inet_stream_connect", 900 },
	{ 2, "tcp_v4_connect", 2500 },     { 3, "ip_route_output_flow", 1200 },
	{ 3, "inet_hash_connect", 1800 },  { 3, "tcp_connect", 3000 },
	{ 4, "__tcp_transmit_skb", 2000 }, { 5, "ip_queue_xmit", 5000 },
};
static const struct step send_script[] = {
	{ 0, "tcp_sendmsg", 700 },
	{ 1, "tcp_sendmsg_locked", 1500 },
	{ 2, "tcp_push", 300 },
	{ 3, "tcp_write_xmit", 900 },
	{ 4, "__tcp_transmit_skb", 1900 },
	{ 5, "ip_queue_xmit", 4800 },
	{ 1, "tcp_release_cb", 120 },
};
static const struct step nft_script[] = {
	{ 0, "nf_hook_slow", 300 },
	{ 1, "nft_do_chain", 2600 },
};

static const char *const names[] = {
	"__sys_connect",     "inet_stream_connect", "tcp_v4_connect",     "ip_route_output_flow",
	"inet_hash_connect", "tcp_connect",         "__tcp_transmit_skb", "ip_queue_xmit",
	"tcp_sendmsg",       "tcp_sendmsg_locked",  "tcp_push",           "tcp_write_xmit",
	"tcp_release_cb",    "nf_hook_slow",        "nft_do_chain",
};
#define NAME_CNT (sizeof(names) / sizeof(names[0]))
static struct func funcs[NAME_CNT];
static const struct functab functab = { .funcs = funcs, .cnt = NAME_CNT };

static struct {
	struct recfile_writer *w;
	struct values *values;
	uint64_t random;
	uint64_t now_ns; /* since the boot */
	uint32_t host;
	uint32_t hour;
} at;

static uint64_t random_below(uint64_t limit)
{
	at.random = at.random * 6364136223846793005u + 1442695040888963407u;
	return (at.random >> 33) % limit;
}

static uint16_t func_id(const char *name)
{
	uint16_t id = 0;

	while (strcmp(names[id], name) != 0)
		id++;
	return id;
}

static void put(struct event ev)
{
	ev.time_ns = at.now_ns;
	if (recfile_writer_events(at.w, &ev, 1))
		exit(2);
}

/* Every seventh host is slow in ip_queue_xmit; since CHANGE_HOUR tcp_connect is slow everywhere; rarely, anything is. */
static uint64_t vary(const struct step *step)
{
	uint64_t time_ns = step->time_ns * (80 + random_below(60)) / 100;

	if (!strcmp(step->name, "ip_queue_xmit") && at.host % 7 == 3)
		time_ns *= 4;
	if (!strcmp(step->name, "tcp_connect") && at.hour >= CHANGE_HOUR)
		time_ns *= 3;
	return random_below(400) ? time_ns : time_ns * (50 + random_below(1000));
}

static void end_call(const struct step *step, uint32_t tid, uint32_t cpu, int64_t ret)
{
	struct call_values values = { .ret = (uint64_t)ret, .has_ret = true };

	at.now_ns += 40 + random_below(60);
	if (at.host % 5 == 1 && !random_below(300))
		put((struct event){ .kind = EVENT_LOST,
				    .cpu = (uint16_t)cpu,
				    .lost_cnt = 1 + random_below(900) });
	put((struct event){ .kind = EVENT_EXIT,
			    .tid = tid,
			    .cpu = (uint16_t)cpu,
			    .func_id = func_id(step->name),
			    .frame = (uint16_t)(2000 - 24 * step->depth),
			    .values = ret != RET_NONE ? values_put(at.values, &values) : 0 });
}

/* Plays the calls from @step on at its depth and below. Return: the call behind them. */
static const struct step *play(const struct step *step, const struct step *end, uint32_t tid,
			       uint32_t cpu, int64_t ret)
{
	const struct step *next = step + 1;

	put((struct event){ .kind = EVENT_ENTRY,
			    .tid = tid,
			    .cpu = (uint16_t)cpu,
			    .func_id = func_id(step->name),
			    .frame = (uint16_t)(2000 - 24 * step->depth) });
	at.now_ns += 20 + vary(step);
	while (next < end && next->depth > step->depth)
		next = play(next, end, tid, cpu, ret);
	end_call(step, tid, cpu, step->depth < 3 ? ret : RET_NONE);
	return next;
}

static void play_all(const struct step *script, size_t cnt, uint32_t tid, int64_t ret)
{
	const uint32_t cpu = (uint32_t)random_below(CPU_CNT);

	for (const struct step *step = script; step < script + cnt;)
		step = play(step, script + cnt, tid, cpu, ret);
}

#define PLAY(script, tid, ret) play_all(script, sizeof(script) / sizeof((script)[0]), tid, ret)

/* Every fifth host loses events, every second has nftables. One connect of thirty is refused. */
static void play_tree(uint64_t between_ns)
{
	at.now_ns += between_ns / 2 + random_below(between_ns);
	if (random_below(3))
		PLAY(send_script, 1201, (int64_t)(100 + random_below(1400)));
	else
		PLAY(connect_script, 1202, random_below(30) ? 0 : -111);
	if (at.host % 2 && !random_below(4))
		PLAY(nft_script, 1203, 1);
}

/* All return int. */
static int write_piece(void *ctx, const void *bytes, size_t len)
{
	(void)ctx;
	return recfile_writer_types(at.w, bytes, len);
}

static void write_types(void)
{
	const struct proto proto = { .ret = { .kind = PROTO_SIGNED, .bytes = 4 } };
	struct proto_table *table;
	int err = proto_table_new(&table);

	for (size_t i = 0; i < NAME_CNT && !err; i++)
		err = prototab_add(table, &proto);
	if (!err)
		err = proto_table_pack(table, 65536, write_piece, NULL);
	if (err)
		exit(2);
	proto_table_free(table);
}

static uint32_t process_of(void *ctx, uint32_t tid, uint64_t time_ns)
{
	(void)ctx;
	(void)time_ns;
	return tid;
}

static void write_host(const char *dir, uint32_t tree_cnt)
{
	struct recfile_summary summary = { 0 };
	struct recfile_made made = { .shown = RECFILE_SHOWS_RET };
	struct recfile_host host;
	struct recfile_config config = {
		.host = &host, .comm = synth_comm, .process = process_of, .values = at.values
	};
	char path[512];

	at.random = at.host * 1000 + at.hour + 1;
	snprintf(path, sizeof(path), "%s/host-%04u.%02u.nfg", dir, at.host, at.hour);
	snprintf(made.node, sizeof(made.node), "host-%04u", at.host);
	config.path = path;
	recfile_host_read(&host, CPU_CNT, "hosts", NULL);
	host.start_mono_ns = at.now_ns = 1000000000;
	host.start_real_ns = START_NS + at.hour * HOUR_NS;
	if (recfile_writer_new(&at.w, &config) || recfile_writer_made(at.w, &made) ||
	    recfile_writer_funcs(at.w, &functab))
		exit(2);
	write_types();
	for (uint32_t i = 0; i < tree_cnt; i++)
		play_tree(HOUR_NS / (tree_cnt + 1));
	summary.end_mono_ns = at.now_ns;
	summary.end_real_ns = at.now_ns - host.start_mono_ns + host.start_real_ns;
	recfile_writer_summary(at.w, &summary);
	if (recfile_writer_close(at.w))
		exit(2);
}

int main(int argc, char **argv)
{
	uint32_t host_cnt;
	uint32_t hour_cnt;

	if (argc != 5) {
		fputs("usage: hosts DIR HOSTS HOURS TREES\n", stderr);
		return 2;
	}
	host_cnt = (uint32_t)strtoul(argv[2], NULL, 10);
	hour_cnt = (uint32_t)strtoul(argv[3], NULL, 10);
	for (size_t i = 0; i < NAME_CNT; i++)
		funcs[i].name = (struct text){ names[i], strlen(names[i]) };
	funcs[func_id("nft_do_chain")].module = (struct text){ "nf_tables", 9 };
	if (values_new(&at.values, 1u << 16))
		return 2;
	for (at.host = 0; at.host < host_cnt; at.host++) {
		for (at.hour = 0; at.hour < hour_cnt; at.hour++)
			write_host(argv[1], (uint32_t)strtoul(argv[4], NULL, 10));
	}
	values_free(at.values);
	return 0;
}
