#ifndef NFG_KERNEL_USERSYMS_H
#define NFG_KERNEL_USERSYMS_H

#include <stdint.h>

#include "kernel/ktext.h"
#include "trace/userstack.h"

/*
 * Names for user stacks: from the files that a process has mapped, as it sees them (/proc/PID/maps, /proc/PID/root).
 *
 * A process is asked when its stack is read for the first time, so it should still live then. Each file is read once;
 * its identity is its device and inode, and those of the mapping must be the same.
 */
struct usersyms;

struct usersyms_config {
	struct userstacks *stacks; /* receives the stacks; borrowed */
	const char *proc;          /* "/proc" */
	/* reads the addresses of a stack, as for kernel stacks */
	retaddr_stack stack;
	void *stack_ctx;
	/* the process id in @proc of one in the initial pid namespace; 0: not there. NULL: the same */
	uint32_t (*proc_id)(void *ctx, uint32_t tgid);
	void *proc_id_ctx;
};

/* usersyms_new - Return: 0 or -ENOMEM. Caller frees with usersyms_free. */
int usersyms_new(struct usersyms **out, const struct usersyms_config *config);
void usersyms_free(struct usersyms *us);

/*
 * usersyms_take - find the names of a stack that was recorded just now.
 *
 * @taken: NFG_USTACK(); @mm: NFG_VALUE_USTACK_MM. Return: its number for userstacks_get; 0: no memory.
 */
uint64_t usersyms_take(struct usersyms *us, uint64_t taken, uint64_t mm);

/* usersyms_cnt - how many trees have a stack in that state so far. */
uint64_t usersyms_cnt(const struct usersyms *us, enum user_stack_state state);

#endif
