#ifndef NFG_TRACE_USERSTACK_H
#define NFG_TRACE_USERSTACK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/row.h"

/* The user stacks of a trace, with names, by the numbers that events carry (call_values.ustack). */
struct userstacks;

/*
 * userstacks_new - @max: keep only so many, the newest; 0: all. Return: 0 or -ENOMEM. Caller frees with
 * userstacks_free.
 */
int userstacks_new(struct userstacks **out, uint32_t max);
void userstacks_free(struct userstacks *us);

/*
 * userstacks_limit - keep only so many bytes, of the newest stacks: at least the last one. Frames share their texts, which
 * count once. 0, as at first: no limit.
 */
void userstacks_limit(struct userstacks *us, uint64_t bytes);

/* userstacks_add - keep a copy. Return: its number, never 0; 0: no memory. */
uint32_t userstacks_add(struct userstacks *us, const struct user_stack *stack);

/* userstacks_put - keep a copy as number @nr; a number that is known keeps its stack. Return: 0 or -ENOMEM. */
int userstacks_put(struct userstacks *us, uint32_t nr, const struct user_stack *stack);

/* userstacks_has - whether stack number @nr is still kept. */
bool userstacks_has(const struct userstacks *us, uint64_t nr);

/*
 * userstacks_show - the stack of number @nr, which is counted as shown. Return: never NULL: for one that is not known a
 * stack that says so. Valid until another is kept.
 */
const struct user_stack *userstacks_show(struct userstacks *us, uint64_t nr);

/*
 * userstacks_get_new - as userstacks_show, for a caller that writes each stack once: NULL for one that it had before,
 * which is counted all the same, and for one that is not known.
 */
const struct user_stack *userstacks_get_new(struct userstacks *us, uint64_t nr);

/* userstacks_cnt - how many stacks in that state were shown; userstacks_lacking_cnt: how many of all lack a file. */
uint64_t userstacks_cnt(const struct userstacks *us, enum user_stack_state state);
uint64_t userstacks_lacking_cnt(const struct userstacks *us);

/* userstacks_forget_given - let userstacks_get_new return each stack once more. */
void userstacks_forget_given(struct userstacks *us);

/* user_stack_note - what to say about a stack's names in that state. Return: NULL: nothing. */
const char *user_stack_note(enum user_stack_state state);

#endif
