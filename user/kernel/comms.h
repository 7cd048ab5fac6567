#ifndef NFG_KERNEL_COMMS_H
#define NFG_KERNEL_COMMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "nfg_abi.h"
#include "trace/row.h"

/*
 * Names and processes of tasks over time: tids are reused and tasks rename themselves while earlier rows wait to be
 * printed.
 *
 * The current name of a task is read from /proc when the first row asks for it; its other names come from records of
 * its start, renamings and end. The last 262,144 outdated names are kept, or past_max; for older rows the name is
 * unknown.
 */
struct comms;

#define COMMS_BYTES 16 /* the kernel's TASK_COMM_LEN; a name that fills it has no NUL */

/* Sources for names that no record contains; all may be NULL: then only records are used. */
struct comms_source {
	/* The name of @tid now. Return: its length; 0: no such task. */
	size_t (*read)(void *ctx, uint32_t tid, char comm[COMMS_BYTES]);
	/* The process of @tid now; 0: no such task. NULL: only records are used. */
	uint32_t (*read_process)(void *ctx, uint32_t tid);
	/* Called after the above: hands all records so far to comms_take. */
	void (*refill)(void *ctx);
	void *ctx;
	uint32_t past_max; /* number of outdated names to keep; 0: 262,144 */
};

/* comms_new - Return: 0 or -ENOMEM. Caller frees with comms_free. */
int comms_new(struct comms **out, const struct comms_source *source);
void comms_free(struct comms *comms);

/* comms_read_proc - read() of a comms_source: /proc of this host. */
size_t comms_read_proc(void *ctx, uint32_t tid, char comm[COMMS_BYTES]);

/* comms_read_proc_process - read_process() of a comms_source: Tgid in /proc/TID/status. */
uint32_t comms_read_proc_process(void *ctx, uint32_t tid);

/*
 * comms_take - take the next record; a task's records come in order of time. The first known name of a tid is valid
 * from the beginning.
 */
void comms_take(struct comms *comms, const struct nfg_task_rec *rec);

/*
 * comms_take_seen - comms_take, and record the task's place. @changed: called for each task whose place or name may
 * have changed; if a whole process moves, for all its threads.
 */
void comms_take_seen(struct comms *comms, const struct nfg_task_seen *seen,
		     void (*changed)(void *ctx, uint32_t tid), void *ctx);

/* comms_get - the name of @tid at @time_ns; len 0: unknown. Borrowed until comms_trim. */
struct text comms_get(struct comms *comms, uint32_t tid, uint64_t time_ns);

/*
 * comms_take_place - record that @tid is at @place from @since_ns on; the first known place is valid from the
 * beginning.
 */
void comms_take_place(struct comms *comms, uint32_t tid, uint64_t since_ns,
		      struct task_place place);

/* comms_place - the place of @tid at @time_ns; 0: unknown. */
struct task_place comms_place(struct comms *comms, uint32_t tid, uint64_t time_ns);

/*
 * comms_take_process - record that @tid belongs to process @tgid from @since_ns on; the first known process is valid
 * from the beginning.
 */
void comms_take_process(struct comms *comms, uint32_t tid, uint64_t since_ns, uint32_t tgid);

/* comms_process - the process id (tid of the first thread) of @tid at @time_ns; 0: unknown. */
uint32_t comms_process(struct comms *comms, uint32_t tid, uint64_t time_ns);

/*
 * comms_tell - comms_get for a caller that writes each name only once.
 *
 * @is_last: the name is valid until the task's next record.
 * Return: false if comms_tell has returned this name before.
 */
bool comms_tell(struct comms *comms, uint32_t tid, uint64_t time_ns, struct text *name,
		bool *is_last);

/* comms_untell - make comms_tell return all names once more. */
void comms_untell(struct comms *comms);

/* comms_trim - forget the oldest names if there are too many. Invalidates borrowed names. */
void comms_trim(struct comms *comms);

#endif
