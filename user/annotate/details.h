#ifndef NFG_ANNOTATE_DETAILS_H
#define NFG_ANNOTATE_DETAILS_H

#include "kernel/retaddr.h"
#include "trace/functab.h"
#include "kernel/kbtf.h"
#include "annotate/notes.h"
#include "kernel/proto.h"
#include "trace/values.h"

/* What is known of calls beyond names and times, and how rows show it. Zeroed: nothing. */
struct details {
	struct values *values;
	struct proto_table *protos;
	struct retaddr *callers;
	struct notes *notes;
};

/* What rows show of calls, and what has to be known for that. Zeroed: nothing. */
struct details_want {
	uint32_t values; /* NFG_WANT_* */
	bool has_filter; /* calls are chosen by --filter: prototypes are needed in any case */
	bool has_caller; /* rows have the return address */
	bool has_packet; /* trees begin with their packet */
	bool has_stack;  /* ... and with the stack above them */
	struct srcline *
		srcline; /* where callers' source lines come from; NULL: they have none. Borrowed */
	struct proto_style
		style; /* hides_pointers: unless the kernel shows them to us; hash_key is ours */
};

/*
 * details_init - make what is wanted: nothing at all for an empty @want, only protos for has_filter alone.
 *
 * Pointers are written as they are without hides_pointers, or for root where kernel.kptr_restrict allows it; else
 * hashed with a key of this run.
 * @ks: where callers are looked up; NULL: details of a recording. Borrowed for our life.
 * Return: 0 or -ENOMEM. details_release afterwards in every case.
 */
int details_init(struct details *dt, const struct details_want *want, const struct ksyms *ks);
void details_release(struct details *dt);

/* details_funcs - the prototypes of these functions. Return: 0 or -ENOMEM. */
int details_funcs(struct details *dt, const struct functab *tab, const struct kbtf *kb);

/* details_row - add what is wanted to the row; see notes_fill. */
static inline uint32_t details_row(struct details *dt, struct row *row, struct row *comments)
{
	return dt->notes ? notes_fill(dt->notes, row, comments) : 0;
}

#endif
