#ifndef NFG_SESSION_LIVE_H
#define NFG_SESSION_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/attach.h"
#include "attach/bpfobj.h"
#include "attach/kprofile.h"
#include "base/interval.h"
#include "base/output.h"
#include "format/details.h"
#include "kernel/comms.h"
#include "options/opts.h"
#include "process/child.h"
#include "process/privdrop.h"
#include "report/pipeline.h"
#include "session/loss_report.h"
#include "session/overhead.h"
#include "session/plan.h"
#include "session/status.h"
#include "session/taskscope.h"
#include "trace/callstack.h"
#include "trace/learner.h"
#include "trace/limits.h"
#include "trace/starts.h"

/* Events read from the rings at a time. */
#define BATCH_CNT 4096
/* A store by another CPU is visible long before this. */
#define SLACK_NS 50000

/*
 * A live trace: its parts, in the order in which setup.c makes them. Only for the files that session.c is split into.
 */
struct session {
	const struct opts *opts;
	int cpu_cnt;
	char release[65];     /* uname -r */
	char node[128];       /* wants_host */
	struct runas runas;   /* empty without --user */
	struct output output; /* not for a recording, which opens its file itself */
	struct child child;
	bool has_child;
	struct taskscope *scope;
	struct facts facts;
	struct functab functab;
	struct reach_graph *graph; /* of calls, with --learn; else NULL */
	struct srcline *srcline;   /* NULL: no --source */
	struct details details;
	/* the path of an event, from the rings to the sink */
	struct event *events;  /* BATCH_CNT */
	struct starts *starts; /* NULL: everything is shown */
	uint8_t *start_kinds;  /* enum starts_kind by func_id */
	struct comms *comms;
	struct trace_facts trace_facts;
	struct sink *sink;
	struct pipeline *pipeline;
	/* the kernel's side */
	struct bpfobj bpfobj;
	struct switches switches;
	struct kprofile kprofile; /* instead of events, with sums_up */
	struct kprofile_stats kprofile_stats;
	bool sums_up;
	struct interval interval; /* of -i */
	uint64_t end_ns;          /* when tracing ended */
	struct attach *attach;
	struct overhead overhead;
	struct learner learner;   /* empty without --learn */
	struct windows windows;   /* empty without --duty */
	struct throttle throttle; /* empty without --max-events */
	struct stackwatch stackwatch;
	/* how it goes */
	unsigned int sleep_us;
	uint64_t event_cnt;
	struct recfile_made made; /* of a recording */
	bool owes_gap;            /* an EVENT_GAP, once the output's reader is no longer behind */
	bool has_begun;           /* the output was begun */
	bool is_tracing;          /* the governor judges each pass */
	struct loss_report loss_report;
	struct status status;
};

/* Every function here returns 0, -errno or a verdict, as docs/design.md says under "Errors". */

/* session_setup - do everything up to, but not including, bpfobj_arm. */
int session_setup(struct session *ses);

/* session_load - load the BPF programs that the options require. */
int session_load(struct session *ses);

/* session_task - take the record of a task that was found, got a name, ended or moved. @ctx: the session. */
void session_task(void *ctx, const struct nfg_task_seen *seen);

/* session_drop_privileges - drop those that a running trace does not need. */
void session_drop_privileges(struct session *ses);

/* session_find_command - check that the command exists. */
int session_find_command(struct session *ses);

/* session_find_user - find the user to run the command as. */
int session_find_user(struct session *ses);

/* session_fork_command - call it before any BPF descriptor exists: a child with one would keep the probes alive. */
int session_fork_command(struct session *ses);

/* session_start_command - let the command run. */
int session_start_command(struct session *ses);

/* session_run_loop - trace until Ctrl-C, the command's end, --timeout, --max-size, or an error. */
int session_run_loop(struct session *ses);

/* session_pass - read all rings once. *seen: the number of events. */
int session_pass(struct session *ses, uint64_t now_ns, uint64_t slack_ns, size_t *seen);

/* session_feed - feed @cnt of our events to the pipeline, as many as --max-events lets through. */
int session_feed(struct session *ses, size_t cnt);

/* session_govern - after each pass: leave out functions that cost too much. VERDICT_OVERHEAD: the trace ends. */
int session_govern(struct session *ses);

/*
 * Tracing in windows (--duty).
 *
 * session_check_windows - whether the attach mode allows it. Return: also -EOPNOTSUPP, already logged.
 * session_begin_windows - tracing has begun.
 * session_windows - after each pass: detach at the end of a window, attach for the next one.
 * session_end_windows - tracing has ended: also a row if nothing is attached; session_say_windows - log how much of the time was
 * traced.
 */
int session_check_windows(struct session *ses);
void session_begin_windows(struct session *ses);
int session_windows(struct session *ses);
int session_end_windows(struct session *ses);
void session_say_windows(const struct session *ses);

/* session_read_sums - add the kernel's new sums to the table. */
int session_read_sums(struct session *ses);

/* session_interval - if an interval of -i has ended at @now_ns, write its table. */
int session_interval(struct session *ses, uint64_t now_ns);

/* session_drain - after disarming: read what running programs still write, count losses, and end the output. */
int session_drain(struct session *ses);

#endif
