/* layer 52: kernel */
#ifndef NFG_ATTACH_H
#define NFG_ATTACH_H

#include <stddef.h>
#include <stdint.h>

#include "bpfobj.h"
#include "functab.h"

/* The links to the traced functions. */
struct attach;

/*
 * attach_new - attach every function of @tab at both ends.
 *
 * A function the kernel refuses is left out, with the reason (a warning, or at -vv
 * when others were attached); is_attached says which are in.
 * @should_stop: polled between functions; nonzero ends early with -EINTR.
 * Return: 0 when at least one function is attached; else -errno, said on stderr.
 */
int attach_new(struct attach **out, const struct bpfobj *obj, struct functab *tab,
	       const volatile int *should_stop);

/* attach_cnt - how many functions are attached. */
size_t attach_cnt(const struct attach *at);

/*
 * attach_free - detach, in the order that is safe before 7.2.10 too: links first, then
 * time for tasks inside our trampolines to leave, then the programs.
 */
void attach_free(struct attach *at);

/* attach_missed - calls that the kernel's recursion guard kept from our programs (5.12+). */
uint64_t attach_missed(const struct attach *at);

#endif
