#ifndef NFG_SESSION_LIVE_H
#define NFG_SESSION_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "annotate/details.h"
#include "attach/attach.h"
#include "attach/bpfobj.h"
#include "attach/kprofile.h"
#include "attach/switches.h"
#include "base/output.h"
#include "kernel/comms.h"
#include "kernel/facts.h"
#include "limits/throttle.h"
#include "options/opts.h"
#include "process/child.h"
#include "process/runas.h"
#include "recording/recorder.h"
#include "session/loss_report.h"
#include "session/overhead.h"
#include "session/taskscope.h"
#include "session/view.h"
#include "trace/graph.h"
#include "trace/packet_hold.h"
#include "trace/starts.h"

/* A live trace. Only for the files that session.c is cut into. */
struct session {
	const struct opts *opts;
	struct facts facts;
	struct functab functab;
	struct bpfobj bpfobj;
	struct attach *attach;
	struct switches switches;
	struct taskscope *scope;
	struct packet_hold *trees;
	struct starts *roots;
	uint8_t *root_kinds; /* enum starts_kind by func_id */
	struct graph *graph;
	struct comms *names;
	struct details details;
	struct view *view;
	struct kprofile kprofile; /* instead of events, with sums_up */
	struct kprofile_stats kprofile_stats;
	bool sums_up;
	struct recorder recorder; /* instead of graph and view */
	struct output output;
	struct runas runas; /* empty without --user */
	struct child child;
	struct event *events;
	char release[65]; /* uname -r */
	int cpu_cnt;
	bool has_child;
	int fail_status; /* what to exit with when a step fails */
	unsigned int sleep_us;
	uint64_t event_cnt;
	uint64_t lost_name_cnt; /* of a recording that nobody read */
	bool has_begun;         /* the output is written to */
	struct overhead overhead;
	struct throttle throttle; /* empty without --max-events */
	bool is_tracing;          /* what a pass brings may be too much */
	struct loss_report account;
};

/* session_load - the BPF programs as the options ask for them. Return: 0 or -errno. */
int session_load(struct session *ses);

/* session_task - a task got a name, ended or moved. @ctx: the session. */
void session_task(void *ctx, const struct nfg_task_rec *rec);

#endif
