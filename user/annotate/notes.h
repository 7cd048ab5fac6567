#ifndef NFG_ANNOTATE_NOTES_H
#define NFG_ANNOTATE_NOTES_H

#include "kernel/retaddr.h"
#include "kernel/proto.h"
#include "kernel/srcline.h"
#include "trace/row.h"
#include "trace/values.h"

/*
 * What rows show beyond names and times: arguments, the return address, the result, in the kernel's
 * format (funcgraph-args, funcgraph-retaddr, funcgraph-retval).
 */
struct notes;

/* All borrowed. */
struct notes_config {
	struct values *values;
	const struct proto_table *protos;
	struct retaddr *callers;
	struct srcline *srcline; /* NULL: callers have no source lines */
	struct proto_style style;
	bool has_caller;
	bool has_packet;
	bool has_stack;
};

/* notes_new - Return: 0 or -ENOMEM. Caller frees with notes_free. */
int notes_new(struct notes **out, const struct notes_config *config);
void notes_free(struct notes *nt);

/*
 * notes_fill - set args, note and is_named of @row.
 *
 * Return: the number of comment rows that go before @row; @comments has room for NOTES_COMMENT_MAX. One has the
 * kernel stack above a tree. One describes the packet or socket: at the first call of a tree that has one, and again
 * when it changes or the packet is dropped. All texts are valid until the next call.
 */
#define NOTES_COMMENT_MAX 2u
uint32_t notes_fill(struct notes *nt, struct row *row, struct row *comments);

#endif
