#ifndef NFG_FORMAT_DETAILS_H
#define NFG_FORMAT_DETAILS_H

#include "filter/shown.h"
#include "kernel/kbtf.h"
#include "kernel/ktext.h"
#include "kernel/proto.h"
#include "kernel/srcline.h"
#include "trace/event.h"
#include "trace/functab.h"
#include "trace/row.h"
#include "trace/userstack.h"
#include "trace/values.h"

/*
 * The values that rows show beyond names and times: arguments, the return address, the result (funcgraph-args,
 * funcgraph-retaddr, funcgraph-retval).
 */
struct notes;

/* All borrowed. */
struct notes_config {
	struct values *values;
	const struct proto_table *protos;
	const struct proto_table *points;  /* types of tracepoints' fields; NULL: none */
	const struct proto_table *members; /* types of functions' members (--show); NULL: none */
	struct retaddr *callers;
	struct userstacks *ustacks; /* NULL: none */
	struct srcline *srcline;    /* NULL: callers have no source lines */
	struct proto_style style;
	bool has_caller;
	bool has_packet;
	bool has_pkt;
	bool has_stack;
	bool has_ustack;
};

/* notes_new - Return: 0 or -ENOMEM. Caller frees with notes_free. */
int notes_new(struct notes **out, const struct notes_config *config);
void notes_free(struct notes *nt);

/*
 * notes_fill - set args, caller, ret and is_named of @row.
 *
 * Return: the number of comment rows that go before @row; @comments has room for NOTES_COMMENT_MAX. One has the
 * kernel stack of a tree's caller, and the next the stack of the process that called the kernel. One describes the
 * packet or socket: at the first call of a tree that has one, and again when it changes or the packet is dropped.
 * Values are valid until the next call, the texts in them as long as the prototypes and callers, but for those that
 * is_brief.
 */
#define NOTES_COMMENT_MAX 3u
uint32_t notes_fill(struct notes *nt, struct row *row, struct row *comments);

/* Data about calls beyond names and times, and how rows show it. Zeroed: none. */
struct details {
	struct values *values;
	struct proto_table *protos;
	struct proto_table *points; /* types of tracepoints' fields, by EVENT_POINT's func_id */
	struct proto_table
		*members;    /* types of members (--show), by the function's id; NULL: none */
	struct shown *shown; /* which these are; NULL: none, or of a recording. Borrowed */
	struct retaddr *callers;
	struct userstacks *ustacks; /* NULL: no user stacks are wanted */
	struct notes *notes;
};

/* What rows show about calls, and the data this needs. Zeroed: nothing. */
struct details_want {
	uint32_t values;  /* NFG_WANT_* */
	bool has_points;  /* there are tracepoints between calls (-e) */
	bool has_members; /* calls have members (--show) ... */
	struct shown
		*shown; /* ... found in functions by details_funcs; NULL: recorded ones. Borrowed */
	bool has_filter;         /* --filter chooses calls: prototypes are always needed */
	bool has_caller;         /* rows have the return address */
	bool has_packet;         /* trees begin with their packet */
	bool has_pkt;            /* packets have numbers (--track), which are shown as arguments */
	bool has_stack;          /* trees begin with the kernel stack of their caller */
	bool has_ustack;         /* and with the stack of the process that called the kernel */
	struct srcline *srcline; /* source lines of callers; NULL: none. Borrowed */
	struct proto_style
		style; /* hides_pointers: unless the kernel shows them to us; hash_key is ours */
};

/*
 * details_is_no_drop - whether the arguments of the call @ev begins, of a function that drops packets, say that it drops none: no packet
 * (NULL), or a reason that is none (SKB_CONSUMED, SKB_NOT_DROPPED_YET). Without arguments nothing is known: false.
 */
bool details_is_no_drop(const struct details *details, const struct func *func,
			const struct event *ev);

/*
 * details_init - create the members that @want needs: none if it is empty, only protos for has_filter alone.
 *
 * Pointers are written unchanged without hides_pointers, or for root if kernel.kptr_restrict allows it. Otherwise
 * they are hashed with a key of this run.
 * @ks: symbols of callers; NULL: details of a recording. Borrowed until details_release.
 * Return: 0 or -ENOMEM. Call details_release in both cases.
 */
int details_init(struct details *dt, const struct details_want *want, const struct ksyms *ks);
void details_release(struct details *dt);

/* details_kfunc - @func as the kernel's types know it; borrows its names. */
struct kbtf_func details_kfunc(const struct func *func);

/*
 * details_funcs - read the prototypes of @tab's functions, but for those read before, and find their members. Return: 0 or
 * -ENOMEM.
 */
int details_funcs(struct details *dt, const struct functab *tab, const struct kbtf *kb);

/* details_row - fill in the row's values; see notes_fill. */
static inline uint32_t details_row(struct details *dt, struct row *row, struct row *comments)
{
	return dt->notes ? notes_fill(dt->notes, row, comments) : 0;
}

#endif
