/* What the fuzzers of files share: bytes to a file, and the program's own way from there to the output. */
#ifndef FUZZ_REPLAY_H
#define FUZZ_REPLAY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "options/opts.h"
#include "session/verbs.h"

#define REPLAY_WORDS 12

/* A command line without the file and where its output goes. */
struct replay_mode {
	const char *words[REPLAY_WORDS];
};

static const struct replay_mode replay_modes[] = {
	{ { "report" } },
	{ { "report", "--format", "json" } },
	{ { "report", "--format", "chrome" } },
	{ { "report", "--format", "perfetto" } },
	{ { "report", "--format", "folded" } },
	{ { "report", "--format", "trace.dat" } },
	{ { "report", "--format", "trace.dat.v7" } },
	{ { "profile", "--callers", "--callees=tcp_*" } },
	{ { "latency", "tcp_v4_rcv", "--callees", "-i", "1s" } },
	{ { "report", "-G", "tcp_*", "-g", "ip_rcv", "--slower-than", "1us" } },
	{ { "report", "-T", "*", "-N", "sock_*", "--comm", "curl", "-C", "0-1" } },
	{ { "report", "--graph-opts", "abstime,proc,tail", "-D", "3", "--tid", "5" } },
	{ { "info" } }, /* of recordings and trace.dat */
	{ { "info", "--json" } },
	/* of recordings alone */
	{ { "report", "--graph-opts", "args,retval,retaddr" } },
	{ { "report", "--format", "json", "--graph-opts", "args,retval-hex,retaddr" } },
	{ { "report", "--filter", "retval < 0 || skb != 0 || e >= B" } },
	{ { "report", "--errors-only", "-G", "*" } },
	{ { "profile", "-i", "10ms", "--callers" } },
	{ { "diff" } },
	{ { "diff", "--json" } },
	{ { "report", "--format", "otlp" } },
	{ { "report", "--graph-opts", "noargs,noretval", "-e", "*" } },
	{ { "profile", "--by", "reason" } },
	{ { "profile", "--by", "flow", "--format", "csv" } },
	{ { "profile", "--by", "program", "--format", "openmetrics" } },
	{ { "latency", "--by", "stage" } }, /* of texts, too */
};

#define REPLAY_MODE_CNT (sizeof(replay_modes) / sizeof(*replay_modes))
#define REPLAY_TEXT_CNT 12u
#define REPLAY_DAT_CNT  14u

static inline void replay_die(const char *what)
{
	perror(what);
	abort();
}

/* The same file for every input: its path. */
static inline const char *replay_file(const uint8_t *data, size_t len)
{
	static int fd = -1;
	static char path[64];

	if (fd < 0) {
		fd = memfd_create("input", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		setenv("TMPDIR", "/dev/shm", 1); /* pages of a trace.dat */
	}
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, len, 0) != (ssize_t)len)
		replay_die("memfd");
	return path;
}

/* Bytes through the program in one of the modes; @source: words that say what the bytes are, or NULL. */
static inline void replay_run(const uint8_t *data, size_t len, size_t mode,
			      const char *const source[2])
{
	static struct opts opts[REPLAY_MODE_CNT];
	static char *argv[REPLAY_MODE_CNT][REPLAY_WORDS + 8];
	const char *path = replay_file(data, len);
	int argc = 0;

	mode %= REPLAY_MODE_CNT;
	if (!argv[mode][0]) {
		char **word = argv[mode];

		word[argc++] = "netfgraph";
		for (size_t i = 0; i < REPLAY_WORDS && replay_modes[mode].words[i]; i++)
			word[argc++] = (char *)replay_modes[mode].words[i];
		for (size_t i = 0; source && i < 2; i++)
			word[argc++] = (char *)source[i];
		if (strcmp(word[1], "info") != 0) {
			word[argc++] = "-o";
			word[argc++] = "/dev/null";
		}
		if (!strcmp(word[1], "profile") || !strcmp(word[1], "latency"))
			word[argc++] = "--input";
		if (!strcmp(word[1], "diff"))
			word[argc++] = (char *)path;
		word[argc++] = (char *)path;
		if (opts_parse(&opts[mode], argc, word))
			abort();
	}
	if (opts[mode].verb == VERB_INFO)
		verbs_info(&opts[mode]);
	else if (opts[mode].verb == VERB_DIFF)
		verbs_diff(&opts[mode]);
	else
		verbs_report(&opts[mode]);
}

#endif
