#ifndef NFG_KERNEL_STACKNAMER_H
#define NFG_KERNEL_STACKNAMER_H

#include <stdint.h>

#include "kernel/ktext.h"
#include "trace/userstack.h"

/*
 * Names for user stacks, which a process of our own looks up (usersyms.h): it reads files of others, so it has no more
 * than it needs for that, and the tracer waits for it only so long. Its answers are checked.
 */
struct stacknamer;

struct stacknamer_config {
	struct userstacks *stacks; /* receives the stacks; borrowed */
	const char *proc;          /* "/proc" */
	uint32_t timeout_ms;       /* for one stack; 0: as for a trace */
	/* reads the addresses of a stack, as for kernel stacks */
	retaddr_stack stack;
	void *stack_ctx;
	/* the process id in @proc of one in the initial pid namespace; 0: not there. NULL: the same */
	uint32_t (*proc_id)(void *ctx, uint32_t tgid);
	void *proc_id_ctx;
};

/*
 * stacknamer_new - start the process, which keeps CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH if we have them, and others that
 * take over when it fails: later we lack the privileges to start them. Return: 0; -errno: not one could be started. Caller frees with stacknamer_free.
 */
int stacknamer_new(struct stacknamer **out, const struct stacknamer_config *config);
void stacknamer_free(struct stacknamer *sn);

/*
 * stacknamer_take - find the names of a stack that was recorded just now. This takes a tenth of the time at most, apart
 * from a second; beyond that stacks stay without names.
 *
 * @taken: NFG_USTACK(); @mm: NFG_VALUE_USTACK_MM. Return: its number for userstacks_show; 0: no memory.
 */
uint64_t stacknamer_take(struct stacknamer *sn, uint64_t taken, uint64_t mm);

#endif
