/* layer 34: view */
#ifndef NFG_CHOICE_H
#define NFG_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "details.h"
#include "event.h"
#include "functab.h"
#include "opts.h"

/*
 * What of a recording is to be shown: by functions (-T, -N), CPUs (-C), tasks (--tid, --comm), roots (-G, -g,
 * --preset, --slower-than, --errors-only). As if nothing else had been recorded.
 */
struct choice;

struct choice_config {
	const struct opts *opts;
	const struct functab *functab; /* of the recording */
	const struct details *details; /* where results are, for --errors-only; may be NULL */
	const char *path;              /* of the recording, for what is said */
	/* The name of a task at that time, for --comm. */
	struct text (*comm)(void *ctx, uint32_t tid, uint64_t time_ns);
	void *comm_ctx;
};

/* choice_is_made - whether the options leave out anything at all. */
bool choice_is_made(const struct opts *opts);

/*
 * choice_new - all of @config is borrowed.
 *
 * Return: 0, -ENOMEM, or -ENOMSG when a rule names no function of the recording; said on stderr. Caller frees
 * with choice_free.
 */
int choice_new(struct choice **out, const struct choice_config *config);
void choice_free(struct choice *ch);

/*
 * choice_feed - of @cnt events those that are chosen; losses always are.
 *
 * @out, @out_cnt: borrowed until the next call. Return: 0 or -ENOMEM, after which it may only be freed.
 */
int choice_feed(struct choice *ch, const struct event *events, size_t cnt, const struct event **out,
		size_t *out_cnt);

/* choice_account - say on stderr what could not be chosen for want of facts, and with -v how many were. */
void choice_account(const struct choice *ch);

#endif
