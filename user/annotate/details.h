#ifndef NFG_ANNOTATE_DETAILS_H
#define NFG_ANNOTATE_DETAILS_H

#include "kernel/retaddr.h"
#include "trace/functab.h"
#include "kernel/kbtf.h"
#include "annotate/notes.h"
#include "options/opts.h"
#include "kernel/proto.h"
#include "trace/values.h"

/* What is known of calls beyond names and times, and how rows come to show it. Zeroed: nothing is. */
struct details {
	struct values *values;
	struct proto_table *protos;
	struct retaddr *callers;
	struct notes *notes;
};

/* details_wanted - NFG_WANT_*: what the options ask for. */
uint32_t details_wanted(const struct opts *opts);

/*
 * details_init - make room for what the options ask for; nothing is made when that is nothing, for --filter alone
 * only protos.
 *
 * Pointers are written as they are with --pointers, or for root where kernel.kptr_restrict allows it; else
 * hashed with a key of this run.
 * @ks: where callers are looked up; NULL: details of a recording. Borrowed for our life.
 * Return: 0 or -ENOMEM. details_release afterwards in every case.
 */
int details_init(struct details *dt, const struct opts *opts, const struct ksyms *ks);
void details_release(struct details *dt);

/* details_funcs - the prototypes of these functions. Return: 0 or -ENOMEM. */
int details_funcs(struct details *dt, const struct functab *tab, const struct kbtf *kb);

/* details_row - let the row say what it shall; see notes_fill. */
static inline bool details_row(struct details *dt, struct row *row, struct row *comment)
{
	return dt->notes && notes_fill(dt->notes, row, comment);
}

#endif
