#ifndef NFG_KERNEL_USERSYMS_H
#define NFG_KERNEL_USERSYMS_H

#include <stdint.h>

#include "trace/row.h"

/*
 * Names for user stacks: from the files that a process has mapped, as it sees them (/proc/PID/maps, /proc/PID/root).
 *
 * All of it is input from others, so it runs in a process of its own (stacknamer.h). A process is asked when its stack
 * is looked at for the first time, so it should still live then. Each file is read once; it must be a regular file with
 * the inode of the mapping, on a file system that answers by itself.
 */
struct usersyms;

/* usersyms_new - @proc: "/proc", which must outlive it. Return: 0 or -ENOMEM. Caller frees with usersyms_free. */
int usersyms_new(struct usersyms **out, const char *proc);
void usersyms_free(struct usersyms *us);

/* A stack that the kernel recorded just now. */
struct usersyms_ask {
	uint32_t tgid; /* in the initial pid namespace; with mm it tells programs apart */
	uint32_t pid;  /* the same process in @proc; 0: it is not there */
	uint32_t addr_cnt;
	uint64_t mm; /* NFG_VALUE_USTACK_MM */
	const uint64_t *addrs;
};

/* Of the texts of one stack together; those that do not fit are left out. */
#define USERSYMS_TEXT_BYTES_MAX (64u << 10)

/*
 * usersyms_look - find the names of a stack, of at most NFG_STACK_FRAMES addresses. It may end before the last one,
 * where there is no code.
 *
 * Return: the base of the texts of *@stack, USERSYMS_TEXT_BYTES_MAX at most; they and the frames are valid until the
 * next call.
 */
struct text usersyms_look(struct usersyms *us, const struct usersyms_ask *ask,
			  struct user_stack *stack);

#endif
