/* layer 13: facts */
#ifndef NFG_NAMES_H
#define NFG_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfg_abi.h"
#include "row.h"

/*
 * What tasks are called, and since when: tids are used again, and tasks rename themselves, while rows of
 * an earlier time wait to be printed.
 *
 * What a task is called now is read from /proc when the first row asks for it; everything else is known from
 * the records of its birth, its renamings and its end. The last 262,144 names that no longer hold are
 * kept; for rows older than that a name is unknown.
 */
struct names;

/* Where a name comes from that no record told; all may be NULL: records are all there is. */
struct names_source {
	/* What @tid is called at this moment. Return: the length, 0: there is no such task. */
	size_t (*read)(void *ctx, uint32_t tid, char comm[16]);
	/* Called after it: hands all records of what happened until now to names_take. */
	void (*refill)(void *ctx);
	void *ctx;
};

/* names_new - Return: 0 or -ENOMEM. Caller frees with names_free. */
int names_new(struct names **out, const struct names_source *source);
void names_free(struct names *ns);

/* names_read_proc - the read of a names_source: /proc of this host. */
size_t names_read_proc(void *ctx, uint32_t tid, char comm[16]);

/*
 * names_take - the next record. Those of a task come in the order in which things happened. The first name
 * that is known of a tid holds from the beginning.
 */
void names_take(struct names *ns, const struct nfg_task_rec *rec);

/* names_get - the name of @tid at @time_ns; len 0 when nobody knows. Borrowed until names_trim. */
struct text names_get(struct names *ns, uint32_t tid, uint64_t time_ns);

/*
 * names_tell - the same, for somebody who writes down when names change.
 *
 * @is_last: the name holds until there is another record of the task.
 * Return: false when this was told before.
 */
bool names_tell(struct names *ns, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last);

/* names_untell - tell all of them again. */
void names_untell(struct names *ns);

/* names_trim - forget the oldest names if there are too many. What was borrowed is gone. */
void names_trim(struct names *ns);

#endif
