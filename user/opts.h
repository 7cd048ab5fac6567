/* layer 25: view */
#ifndef NFG_OPTS_H
#define NFG_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attachmode.h"
#include "parse.h"
#include "render.h"

/* What the program ends with; the manual lists them from the same numbers. */
enum exit_status {
	EXIT_STATUS_OK = 0,
	EXIT_STATUS_FAILED = 1,
	EXIT_STATUS_USAGE = 2,
	EXIT_STATUS_NOTHING = 3,
	EXIT_STATUS_LOSSES = 4,
	EXIT_STATUS_NOT_RUN = 126,
	EXIT_STATUS_NOT_FOUND = 127,
};

struct str_list {
	const char **items; /* the strings are argv's */
	size_t cnt;
};

/* The command line, checked. */
struct opts {
	struct str_list trace_funcs;
	struct str_list notrace_funcs;
	struct num_list pids;
	struct num_list tids;
	struct str_list cgroups;
	struct str_list containers;
	struct str_list netns;
	struct str_list comms;
	struct cpu_set_list cpus;
	bool has_cpus;
	struct render_columns columns;
	bool irqs;
	uint32_t max_funcs;    /* 0: no limit of our own */
	uint32_t graph_depth;  /* 0: no limit */
	uint64_t buffer_bytes; /* per CPU; 0: by the number of CPUs */
	uint64_t timeout_ns;   /* 0: none */
	const char *output_path;
	enum attach_mode attach_mode;
	bool strict;
	char **command; /* NULL: none */
	bool is_done;   /* --help and its like: all is said */
};

/*
 * opts_parse - read the command line.
 *
 * Return: 0, or EXIT_STATUS_USAGE after one line on stderr that names what was wrong
 * and a hint. opts_release afterwards in every case.
 */
int opts_parse(struct opts *opts, int argc, char **argv);
void opts_release(struct opts *opts);

#endif
