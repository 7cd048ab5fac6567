/*
 * How fast records become text: a synthetic stream goes the way of a recorded one, from the rings
 * through the graph and the renderer to a sink.
 *
 *	textspeed [--min-meps X] [--fd FD] [EVENTS]
 *
 * Two CPUs send and receive over TCP, call for call as synth.h has them; feeding the rings is
 * not counted.
 */
#include <sys/resource.h>

#include "trace/graph.h"
#include "kernel/comms.h"
#include "format/render.h"
#include "attach/rings.h"
#include "synth.h"

#define REC_CNT     65536u /* a ring: 1 MiB */
#define BATCH_CNT   4096   /* as the program reads */
#define FLUSH_BYTES 65536  /* as the program writes */

struct bench {
	struct synth synth;
	struct rings_memory mem;
	struct rings rings;
	struct graph *graph;
	struct comms *comms;
	struct render render;
	struct strbuf out;
	int fd; /* -1: discard */
	uint64_t row_cnt;
	uint64_t byte_cnt;
	uint64_t fill_ns; /* CPU time that went into feeding */
};

static uint64_t cpu_time_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Write the next @cnt records of @src into its ring, as its CPU would. */
static void fill_ring(struct bench *b, struct synth_source *src, uint64_t cnt)
{
	struct nfg_rec *ring = b->mem.recs + (size_t)src->cpu * REC_CNT;
	struct nfg_cpu *cpu = &b->mem.cpus[src->cpu];

	for (; cnt && cpu->head_bytes < cpu->limit_bytes; cnt--) {
		ring[cpu->head_bytes / NFG_REC_BYTES & (REC_CNT - 1)] = synth_next(&b->synth, src);
		cpu->head_bytes += NFG_REC_BYTES;
	}
}

/* Fill the rings. Return: until when every ring's events are known. */
static uint64_t fill(struct bench *b, uint64_t cnt)
{
	uint64_t begin_ns = cpu_time_ns();
	uint64_t known_ns = UINT64_MAX;

	for (uint32_t cpu = 0; cpu < CPU_CNT; cpu++) {
		struct synth_source *src = &b->synth.sources[cpu];
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
		row->prev.comm = comms_get(b->comms, row->prev.tid, row->prev_ns);
		row->task.comm = comms_get(b->comms, row->task.tid, row->time_ns);
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
			synth_must(NULL);
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
	comms_take(b->comms, &rec);
}

static void start(struct bench *b)
{
	const struct comms_source none = { 0 };
	const struct graph_config config = {
		.functab = &b->synth.functab, .cpu_cnt = CPU_CNT, .emit = on_row, .ctx = b
	};

	synth_init(&b->synth);
	b->mem = (struct rings_memory){
		.recs = synth_must(calloc((size_t)CPU_CNT * REC_CNT, sizeof(struct nfg_rec))),
		.gaps = synth_must(calloc(CPU_CNT, sizeof(struct nfg_gaps))),
		.cpus = synth_must(aligned_alloc(64, CPU_CNT * sizeof(struct nfg_cpu))),
		.cpu_cnt = CPU_CNT,
		.rec_cnt = REC_CNT,
	};
	memset(b->mem.cpus, 0, CPU_CNT * sizeof(struct nfg_cpu));
	if (rings_init(&b->rings, &b->mem) || graph_new(&b->graph, &config) ||
	    comms_new(&b->comms, &none) || render_init(&b->render, &render_columns_default, 1))
		synth_must(NULL);
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
	comms_free(b->comms);
	render_release(&b->render);
	strbuf_release(&b->out);
	synth_release(&b->synth);
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
