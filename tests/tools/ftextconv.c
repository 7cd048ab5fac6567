/*
 * Converts function_graph text to any format, so that formats can be tested, and old traces
 * looked at, without a kernel: ftextconv --format json <trace.txt
 */
#include "format/format.h"
#include "format/text_parse.h"
#include "format/profile_table.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_BYTES 65536

enum mode {
	MODE_FORMAT,
	MODE_PROFILE,
	MODE_LATENCY,
};

static struct {
	enum mode mode;
	struct format_config format;
	enum profile_sort sort;
	bool has_callers;
	const char *latency;
	const char *path;
	unsigned int repeat;
} opt = { .repeat = 1 };

struct conv {
	struct text_parse ft;
	struct format *format;
	struct profile *profile;
	struct strbuf out;
	struct text_values values;
	uint64_t row_cnt;
	uint64_t call_cnt;
	uint64_t bad_cnt;
};

__attribute__((noreturn)) static void die(const char *what, int err)
{
	fprintf(stderr, "ftextconv: %s: %s\n", what, strerror(err));
	exit(2);
}

static void check(int err)
{
	if (err < 0)
		die("convert", -err);
}

static void flush(struct conv *c)
{
	if (!strbuf_ok(&c->out))
		die("output", ENOMEM);
	if (c->out.len && fwrite(c->out.ptr, 1, c->out.len, stdout) != c->out.len)
		die("write", errno);
	strbuf_reset(&c->out);
}

static char *read_all(const char *path, size_t *out_len)
{
	FILE *f = path ? fopen(path, "r") : stdin;
	char *bytes = NULL;
	size_t cap = 0;
	size_t len = 0;
	size_t got;

	if (!f)
		die(path, errno);
	do {
		if (cap - len < 65536) {
			cap = cap * 2 + 131072;
			bytes = realloc(bytes, cap);
			if (!bytes)
				die("read", ENOMEM);
		}
		got = fread(bytes + len, 1, cap - len, f);
		len += got;
	} while (got);
	if (ferror(f))
		die(path ? path : "stdin", errno);
	if (path)
		fclose(f);
	*out_len = len;
	return bytes;
}

/* What the rows bring is known at the first of them. */
static void start(struct conv *c)
{
	struct format_config config = opt.format;
	const struct profile_config profile = {
		.has_callers = opt.has_callers,
		.lacks_time = !c->ft.columns.abstime,
		.lacks_task = !c->ft.columns.proc,
	};

	config.columns = c->ft.has_columns ? &c->ft.columns : NULL;
	config.cpu_width = c->ft.cpu_width;
	config.lacks_time = profile.lacks_time;
	config.lacks_task = profile.lacks_task;
	if (opt.mode == MODE_FORMAT)
		check(format_new(&c->format, &config, &c->out));
	else
		check(profile_new(&c->profile, &profile));
}

static void on_row(struct conv *c, struct row *row)
{
	if (!c->format && !c->profile)
		start(c);
	c->row_cnt++;
	c->call_cnt += row->kind == ROW_ENTRY || row->kind == ROW_LEAF;
	if (c->format) {
		format_set_columns(c->format, &c->ft.columns, c->ft.cpu_width);
		if (row_is_call(row))
			check(text_values_take(&c->values, row));
		check(format_row(c->format, row));
	} else {
		check(profile_row(c->profile, row));
	}
	if (c->out.len >= FLUSH_BYTES)
		flush(c);
}

static void convert(struct conv *c, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	for (const char *p = bytes; p < end;) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		const char *next = eol ? eol + 1 : end;
		struct row row;

		switch (text_parse_line(&c->ft, p, (size_t)(next - p), &row)) {
		case TEXT_PARSE_ROW:
			on_row(c, &row);
			break;
		case TEXT_PARSE_BAD:
			fprintf(stderr, "ftextconv: bad line: %s\n", c->ft.reason);
			c->bad_cnt++;
			break;
		default:
			break;
		}
		p = next;
	}
}

static void finish(struct conv *c)
{
	if (!c->format && !c->profile)
		start(c);
	if (c->profile)
		profile_finish(c->profile);
	if (c->format) {
		int more;

		do {
			more = format_finish(c->format);
			check(more);
			flush(c);
		} while (more);
	} else if (opt.mode == MODE_PROFILE) {
		check(profile_put_table(c->profile,
					&(struct profile_view){ .sort = opt.sort,
								.row_max = 0,
								.has_callers = true },
					&(struct profile_origin){ 0 },
					&(struct tablew){ .out = &c->out }));
	} else {
		check(profile_print_latency(c->profile, opt.latency,
					    &(struct profile_view){ .sort = PROFILE_BY_NAME },
					    &c->out));
	}
	flush(c);
	if (fflush(stdout))
		die("write", errno);
	format_free(c->format);
	profile_free(c->profile);
	strbuf_release(&c->out);
	text_values_release(&c->values);
}

__attribute__((noreturn)) static void usage(void)
{
	fputs("usage: ftextconv [--format text|json|chrome|perfetto|folded|trace.dat|trace.dat.v7] [--total]\n"
	      "                 [--profile total|self|count|avg|p50|p99|max|name] [--callers]\n"
	      "                 [--latency GLOB] [--repeat N] [FILE]\n"
	      "--repeat reads the text N times over and tells the speed on standard error.\n",
	      stderr);
	exit(2);
}

static void parse_options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "format", required_argument, NULL, 'f' },
		{ "total", no_argument, NULL, 't' },
		{ "profile", required_argument, NULL, 'p' },
		{ "callers", no_argument, NULL, 'c' },
		{ "latency", required_argument, NULL, 'l' },
		{ "repeat", required_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};

	opt.format.release = "0.0.0-text";
	for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
		if (c == 'f' && !format_by_name(optarg, &opt.format.kind)) {
			opt.mode = MODE_FORMAT;
		} else if (c == 't') {
			opt.format.is_total_time = true;
		} else if (c == 'p' && !profile_sort_by_name(optarg, &opt.sort)) {
			opt.mode = MODE_PROFILE;
		} else if (c == 'c') {
			opt.has_callers = true;
		} else if (c == 'l') {
			opt.mode = MODE_LATENCY;
			opt.latency = optarg;
		} else if (c == 'r' && atoi(optarg) > 0) {
			opt.repeat = (unsigned int)atoi(optarg);
		} else {
			usage();
		}
	}
	if (argc - optind > 1)
		usage();
	opt.path = optind < argc ? argv[optind] : NULL;
}

static double cpu_time_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct conv c = { 0 };
	size_t len;
	char *bytes;
	double begin_s;

	parse_options(argc, argv);
	bytes = read_all(opt.path, &len);
	text_parse_init(&c.ft);
	begin_s = cpu_time_s();
	for (unsigned int i = 0; i < opt.repeat; i++)
		convert(&c, bytes, len);
	finish(&c);
	free(bytes);
	if (opt.repeat > 1)
		fprintf(stderr, "ftextconv: %llu rows, %llu calls, %.2f million rows/s\n",
			(unsigned long long)c.row_cnt, (unsigned long long)c.call_cnt,
			(double)c.row_cnt / 1e6 / (cpu_time_s() - begin_s));
	return c.bad_cnt > 0;
}
