#ifndef NFG_FORMAT_CALLTREE_H
#define NFG_FORMAT_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "trace/row.h"

/*
 * Rows in, calls out: rebuilds the stack of every task from the rows alone, for consumers that need a call's entry
 * and return together. Pure: no clock, no I/O; no allocation once all tasks, functions and depths of a trace were
 * seen, except for tasks that were forgotten.
 *
 * A row that contradicts the stack wins: deeper calls end without a return; callers it implies appear without a name
 * until their return names them. ROW_LOST ends all open calls, unless the row keeps_open. Times of one task never run
 * backwards, so its calls nest; for trace text, with its clock of microseconds, times are adjusted by less than one.
 * Rows deeper than CALLTREE_DEPTH_MAX are left out.
 */
struct calltree;

#define CALLTREE_DEPTH_MAX   4096
#define CALLTREE_CPU_MAX     65536    /* rows of this CPU number or above are left out, too */
#define CALLTREE_TRACK_GROUP 4194304u /* PID_MAX_LIMIT: above every tid, and no track's number */
#define CALLTREE_COMM_MAX    32

/* A function, unique by name and module. */
struct callsym {
	struct text name;
	struct text module; /* len 0: built in */
	uint32_t id;        /* 0, 1, 2 ... in order of appearance */
};

struct call {
	const struct callsym *sym; /* NULL: an unnamed } without its entry */
	uint32_t cpu;              /* of the entry; of the return when there is no entry */
	uint32_t end_cpu;          /* of the return; equals cpu if there is none */
	uint32_t depth;
	uint32_t user;          /* for the callback's owner; 0 when the call begins */
	uint64_t user_ns;       /* the same */
	bool has_entry;         /* the trace has its entry, or it is a leaf */
	bool has_return;        /* the trace has its return, or it is a leaf */
	bool has_duration;      /* duration_ns is known */
	bool is_untimed;        /* it is not, because the trace has no durations: that is no loss */
	bool is_leaf;           /* nothing was traced inside; begin is not called for it */
	uint64_t begin_ns;      /* without entry: end_ns - duration_ns, but not after its callees */
	uint64_t end_ns;        /* without return: the last time it is known to have run */
	uint64_t duration_ns;   /* as the tracer measured it */
	struct net_time net;    /* the same without the cost of tracing */
	uint64_t child_ns;      /* durations of the calls directly inside */
	uint64_t child_cost_ns; /* part of child_ns that tracing added */
	uint64_t child_end_ns;  /* end of the last of them */
	/* Of the entry; valid until the call's end returns. */
	const struct value *args; /* arg_cnt of them */
	struct text
		args_text; /* as a text has them; len 0: they are not from a text, or there are none */
	const struct caller *caller; /* NULL: unknown */
	uint32_t arg_cnt;
	const struct value *ret; /* of the return; NULL: unknown */
};

enum calltask_kind {
	CALLTASK_NORMAL,
	CALLTASK_IDLE,    /* tid 0: one for each CPU */
	CALLTASK_UNKNOWN, /* text without tasks, before the first banner: one for each CPU */
};

struct calltask {
	enum calltask_kind kind;
	uint32_t tid;
	uint32_t cpu;            /* IDLE and UNKNOWN */
	uint32_t id;             /* 0, 1, 2 ... in order of appearance */
	uint32_t track;          /* unique number: the tid, or above all tids */
	uint32_t tgid;           /* its process; 0: not known */
	struct text process;     /* name of its first thread at its first row, or later */
	struct task_place place; /* at its last row that says so */
	uint32_t renames;        /* counts changes of comm and process */
	uint32_t user;           /* for the callback's owner; 0 at first */
	uint32_t user_renames;   /* for the owner; 0 at first */
	struct text comm;        /* never empty: "<idle>" and "<...>" as in the text */
	struct call *calls;
	uint32_t call_cnt; /* open calls; calls[i] has depth i */
	/* private to calltree.c from here on */
	uint32_t key;
	size_t call_cap;
	size_t store_cap;
	uint64_t last_ns;
	uint64_t lost_cnt;        /* of the calltree, at the task's last row */
	uint64_t outer_end_ns;    /* end of the last outermost call */
	struct callstore *stores; /* the values of the entries of calls[i] */
	char comm_bytes[CALLTREE_COMM_MAX];
	char process_bytes[CALLTREE_COMM_MAX];
};

struct calltree_config {
	bool lacks_time; /* rows have no time: durations replace it */
	bool lacks_task; /* rows have no task: banners show which task runs on a CPU */
	/*
	 * Forget tasks once their calls have ended: a host creates thousands per minute, and memory must not grow
	 * with them. A task can reappear as a new one.
	 */
	bool forgets_tasks;
	/*
	 * begin is called at each ENTRY, end once for each call that began or ended. At end the
	 * call is still task->calls[call->depth], the callers below it. Either may be NULL.
	 */
	void (*begin)(void *ctx, struct calltask *task, struct call *call);
	void (*end)(void *ctx, struct calltask *task, struct call *call);
	void *ctx;
};

/* calltree_new - Return: 0 or -ENOMEM. Caller frees with calltree_free. */
int calltree_new(struct calltree **out, const struct calltree_config *config);
void calltree_free(struct calltree *ct);

/* calltree_row - take the next row. Return: 0, or -ENOMEM, after which only free is allowed. */
int calltree_row(struct calltree *ct, const struct row *row);

/* calltree_cut - end the calls that are open now, without return: nothing was traced after them. */
void calltree_cut(struct calltree *ct);

/* calltree_finish - end the calls still open, without return, innermost first. */
void calltree_finish(struct calltree *ct);

/* calltree_task - the task of a row; NULL: no memory. */
struct calltask *calltree_task(struct calltree *ct, const struct row *row);

/*
 * calltree_task_before_entry - the same for a row that belongs to the task's next entry, as the stack above it does: the
 * open calls that this entry, at row->depth, will end have ended.
 */
struct calltask *calltree_task_before_entry(struct calltree *ct, const struct row *row);

/* calltree_innermost - of the @depth outermost open calls, the innermost one of a known function for which @is_it holds; NULL: none. */
const struct call *calltree_innermost(const struct calltask *task, uint32_t depth,
				      bool (*is_it)(const struct call *call));

/* calltree_time - the time to show for a row that is not a call; call it after calltree_row. */
uint64_t calltree_time(const struct calltree *ct, const struct row *row);

/* calltree_sym - the function or, with @id beyond the last, NULL. */
const struct callsym *calltree_sym(const struct calltree *ct, uint32_t id);

/* calltree_intern - the function of that name, added if new; NULL: no memory. */
const struct callsym *calltree_intern(struct calltree *ct, struct text name, struct text module);

/* calltree_task_at - the task or, with @id beyond the last, NULL. */
const struct calltask *calltree_task_at(const struct calltree *ct, uint32_t id);

static inline uint64_t call_self_ns(const struct call *call)
{
	return call->duration_ns > call->child_ns ? call->duration_ns - call->child_ns : 0;
}

/* The kernel context of a call: the task that is shown with it, or an interrupt of that task. */
enum call_context {
	CALL_CONTEXT_TASK,
	CALL_CONTEXT_SOFTIRQ,
	CALL_CONTEXT_HARDIRQ,
};

/*
 * call_context_entered - the context in which the function @name always runs. From a table of the functions by which
 * the kernel enters softirqs and hard interrupts, and of those that receive packets, which run in a softirq or with
 * softirqs disabled (net/core/dev.c). CALL_CONTEXT_TASK: it runs in its caller's context.
 */
enum call_context call_context_entered(struct text name);

/*
 * call_context_outermost - the context of @call as far as its task, @task, tells: outermost calls of the idle task
 * and of ksoftirqd are softirqs where the trace lacks the function that enters them, except for the functions that
 * these tasks run themselves.
 */
enum call_context call_context_outermost(const struct calltask *task, const struct call *call);

/* call_arg - the argument @name. Return: NULL: there is none; valid as long as the call's other values. */
const struct value *call_arg(const struct call *call, const char *name);

/* call_packet - the number of its packet (--track), as the argument pkt; 0: none. */
uint64_t call_packet(const struct call *call);

/* call_object - a number for the object that the argument @name points to; 0: no such argument, or NULL. */
uint64_t call_object(const struct call *call, const char *name);

#endif
