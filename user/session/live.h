#ifndef NFG_SESSION_LIVE_H
#define NFG_SESSION_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/attach.h"
#include "attach/bpfobj.h"
#include "attach/kprofile.h"
#include "base/host.h"
#include "base/child.h"
#include "base/interval.h"
#include "base/output.h"
#include "base/privdrop.h"
#include "format/details.h"
#include "kernel/comms.h"
#include "kernel/netstat.h"
#include "kernel/stacknamer.h"
#include "options/opts.h"
#include "report/pipeline.h"
#include "session/loss_report.h"
#include "session/overhead.h"
#include "session/plan.h"
#include "session/progwatch.h"
#include "session/ready.h"
#include "session/silence.h"
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
 * A live trace: its parts, in the order in which setup.c makes them. Private to session.c, setup.c and status.c;
 * session.h is for others.
 */
struct session {
	const struct opts *opts;
	struct opts lean_opts; /* a copy without what costs calls; borrows all that it points to */
	int cpu_cnt;
	char release[65]; /* uname -r */
	char node[128];   /* wants_host */
	struct ready ready;
	struct runas runas;   /* empty without --user */
	struct output output; /* not for a recording, which opens its file itself */
	struct child child;
	bool has_child;
	struct taskscope *scope;
	struct facts facts;
	struct functab functab;
	struct tracepoint_list tracepoints; /* of -e */
	struct pointtab points;             /* the same */
	struct reach_graph *graph;          /* of calls, with --learn; else NULL */
	struct srcline *srcline;            /* NULL: no --source */
	struct details details;
	struct stacknamer *stacknamer; /* NULL: no user stacks are wanted */
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
	struct point_links point_links;
	struct kprofile kprofile; /* instead of events, with sums_up */
	struct kprofile_stats kprofile_stats;
	bool sums_up;
	struct interval interval;  /* of -i */
	uint64_t end_ns;           /* when tracing ended */
	struct fd_list cost_progs; /* with which the cost of calls was measured */
	struct attach *attach;
	struct overhead overhead;
	struct netstat counted; /* by the kernel, before tracing began, */
	bool has_counted;       /* if the sink wants that */
	struct silence silence; /* when tracing began */
	struct progwatch progwatch;
	struct learner learner;   /* empty without --learn */
	struct windows windows;   /* without --duty only the time when links were made anew */
	struct throttle throttle; /* empty without --max-events */
	struct stackwatch stackwatch;
	/* how it goes */
	unsigned int sleep_us;
	uint64_t
		waited_ns; /* for a CPU until then, if the sink wants to know when the host stood still */
	uint64_t waited_at_ns; /* when that was read; 0: not yet */
	uint64_t event_cnt;
	struct host_memory memory; /* what was left of it at first */
	uint64_t find_begin_ns;    /* when reading the kernel began */
	struct recfile_made made;  /* of a recording */
	bool owes_gap;             /* an EVENT_GAP, once the output's reader is no longer behind */
	bool has_begun;            /* the output was begun */
	bool is_tracing;           /* the governor judges each pass */
	struct loss_report loss_report;
	struct status status;
};

/*
 * session_setup - do everything up to, but not including, bpfobj_arm.
 *
 * Return: 0, -errno or a verdict; already logged, unless it is -ENOMEM or -EINTR.
 */
int session_setup(struct session *ses);

/* session_drop_privileges - give up what a running trace does not need, once the output has its name. */
void session_drop_privileges(struct session *ses);

/* session_start_command - let the command run. Return: the same. */
int session_start_command(struct session *ses);

/* session_loss_sources - where the losses of @ses are counted, which borrows all of it. Return: every source is set. */
struct loss_report_sources session_loss_sources(const struct session *ses);

#endif
