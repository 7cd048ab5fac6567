#ifndef NFG_KERNEL_COMMS_H
#define NFG_KERNEL_COMMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfg_abi.h"
#include "base/text.h"

/*
 * What tasks are called and which process they belong to, and since when: tids are used again, and tasks rename themselves, while rows of
 * an earlier time wait to be printed.
 *
 * What a task is called now is read from /proc when the first row asks for it; everything else is known from
 * the records of its birth, its renamings and its end. The last 262,144 names that no longer hold are
 * kept; for rows older than that a name is unknown.
 */
struct comms;

/* Where names come from that no record contains; all may be NULL: only records count. */
struct comms_source {
	/* What @tid is called at this moment. Return: the length, 0: there is no such task. */
	size_t (*read)(void *ctx, uint32_t tid, char comm[16]);
	/* The process of @tid at this moment; 0: there is no such task. NULL: only records count. */
	uint32_t (*read_process)(void *ctx, uint32_t tid);
	/* Called after them: hands all records of what happened until now to comms_take. */
	void (*refill)(void *ctx);
	void *ctx;
};

/* comms_new - Return: 0 or -ENOMEM. Caller frees with comms_free. */
int comms_new(struct comms **out, const struct comms_source *source);
void comms_free(struct comms *ns);

/* comms_read_proc - the read of a comms_source: /proc of this host. */
size_t comms_read_proc(void *ctx, uint32_t tid, char comm[16]);

/* comms_read_proc_process - the read_process of a comms_source: Tgid in /proc/TID/status. */
uint32_t comms_read_proc_process(void *ctx, uint32_t tid);

/*
 * comms_take - the next record. Those of a task come in the order in which things happened. The first name
 * known of a tid holds from the beginning.
 */
void comms_take(struct comms *ns, const struct nfg_task_rec *rec);

/* comms_get - the name of @tid at @time_ns; len 0: unknown. Borrowed until comms_trim. */
struct text comms_get(struct comms *ns, uint32_t tid, uint64_t time_ns);

/* comms_take_process - @tid belongs to process @tgid from @since_ns on; what is known first holds from the beginning. */
void comms_take_process(struct comms *ns, uint32_t tid, uint64_t since_ns, uint32_t tgid);

/* comms_process - the process of @tid at @time_ns, which is the tid of its first thread; 0: unknown. */
uint32_t comms_process(struct comms *ns, uint32_t tid, uint64_t time_ns);

/*
 * comms_tell - as comms_get, for a caller that writes each name once.
 *
 * @is_last: the name holds until there is another record of the task.
 * Return: false when comms_tell has returned this name already.
 */
bool comms_tell(struct comms *ns, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last);

/* comms_untell - from now on comms_tell returns all names once more. */
void comms_untell(struct comms *ns);

/* comms_trim - forget the oldest names if there are too many. What was borrowed is gone. */
void comms_trim(struct comms *ns);

#endif
