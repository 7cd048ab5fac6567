/*
 * How fast a recording is written and reported, and in how much memory.
 *
 *	recspeed [--min-meps X] [--max-rss-kib N] [--keep FILE] [EVENTS]
 *
 * Writes EVENTS (10 million) synthetic events to a file, then reads them alone, then reports
 * them as text to /dev/null; reading and reporting are processes of their own, so that each one's
 * memory is known. Fails when reporting is slower than X million events a second of CPU time or
 * takes more memory.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "recording/recfile.h"
#include "report/report.h"
#include "synth.h"

#define BATCH_CNT 4096 /* as the program reads its rings */

struct bench {
	const char *path;
	uint64_t event_cnt;
	double min_meps;
	long max_rss_kib;
};

static uint64_t cpu_time_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Say what a step took. Return: 0, or 1 when that is too much. */
static int verdict(const struct bench *b, const char *step, uint64_t ns, bool is_limited)
{
	double meps = (double)b->event_cnt * 1e3 / (double)ns;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "recspeed: %s: %.3f s, %.1f million events/s, peak rss %ld KiB\n", step,
		(double)ns / 1e9, meps, usage.ru_maxrss);
	if (!is_limited)
		return 0;
	if (meps < b->min_meps)
		fprintf(stderr, "recspeed: slower than %.1f million events/s\n", b->min_meps);
	if (b->max_rss_kib && usage.ru_maxrss > b->max_rss_kib)
		fprintf(stderr, "recspeed: more than %ld KiB\n", b->max_rss_kib);
	return meps < b->min_meps || (b->max_rss_kib && usage.ru_maxrss > b->max_rss_kib);
}

static int write_all(const struct bench *b)
{
	static struct event events[BATCH_CNT];
	static struct synth synth;
	struct recfile_summary summary = { 0 };
	struct recfile_writer *w;
	struct recfile_host host;
	struct recfile_config config = { .path = b->path, .host = &host, .comm = synth_comm };
	uint64_t work_ns = 0;
	uint64_t bytes;
	int err;

	synth_init(&synth);
	recfile_host_read(&host, CPU_CNT, "recspeed", NULL);
	err = recfile_writer_new(&w, &config);
	if (err)
		return 2;
	recfile_writer_funcs(w, &synth.functab);
	for (uint64_t left = b->event_cnt; left && !err;) {
		size_t cnt = left < BATCH_CNT ? left : BATCH_CNT;
		uint64_t begin_ns;

		synth_events(&synth, events, cnt);
		begin_ns = cpu_time_ns();
		err = recfile_writer_events(w, events, cnt);
		work_ns += cpu_time_ns() - begin_ns;
		left -= cnt;
	}
	recfile_writer_summary(w, &summary);
	bytes = recfile_writer_bytes(w);
	err = recfile_writer_close(w);
	synth_release(&synth);
	fprintf(stderr, "recspeed: %llu events, %llu bytes, %.2f bytes an event\n",
		(unsigned long long)b->event_cnt, (unsigned long long)bytes,
		(double)bytes / (double)b->event_cnt);
	return err ? 2 : verdict(b, "write", work_ns, false);
}

static int read_all(const struct bench *b)
{
	uint64_t begin_ns = cpu_time_ns();
	struct recfile_reader *r;
	struct recfile_item item;
	uint64_t cnt = 0;
	int err = recfile_reader_new(&r, b->path);

	while (!err) {
		err = recfile_reader_next(r, &item);
		if (err || item.kind == RECFILE_END)
			break;
		cnt += item.kind == RECFILE_EVENTS ? item.cnt : 0;
	}
	if (err)
		fprintf(stderr, "recspeed: %s\n", recfile_reader_error(r));
	recfile_reader_free(r);
	if (err || cnt != b->event_cnt)
		return 2;
	return verdict(b, "read", cpu_time_ns() - begin_ns, false);
}

static int report_all(const struct bench *b)
{
	uint64_t begin_ns = cpu_time_ns();
	struct report_config config = { .path = b->path };
	struct report_stats stats;
	struct output output;
	int err = output_open(&output, "/dev/null", NULL);

	if (err)
		return 2;
	output.is_live = false;
	err = sink_format_new(&config.sink, FORMAT_TEXT, NULL, NULL, &output);
	if (!err)
		err = report_run(&config, &stats);
	if (!err)
		err = output_close(&output);
	sink_free(config.sink);
	if (err || stats.event_cnt != b->event_cnt)
		return 2;
	return verdict(b, "report", cpu_time_ns() - begin_ns, true);
}

/* Run a step in a process of its own. */
static int apart(const struct bench *b, int (*step)(const struct bench *b))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(step(b));
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return 2;
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct bench b = { .event_cnt = 10000000 };
	char path[] = "/tmp/recspeed.XXXXXX";
	int fd = -1;
	int status;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--min-meps") && i + 1 < argc)
			b.min_meps = strtod(argv[++i], NULL);
		else if (!strcmp(argv[i], "--max-rss-kib") && i + 1 < argc)
			b.max_rss_kib = strtol(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--keep") && i + 1 < argc)
			b.path = argv[++i];
		else
			b.event_cnt = strtoull(argv[i], NULL, 10);
	}
	if (!b.path) {
		fd = mkstemp(path);
		if (fd < 0) {
			perror("recspeed: mkstemp");
			return 2;
		}
		b.path = path;
	}
	status = apart(&b, write_all);
	if (!status)
		status = apart(&b, read_all);
	if (!status)
		status = apart(&b, report_all);
	if (fd >= 0)
		unlink(path);
	return status;
}
