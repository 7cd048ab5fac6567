#ifndef NFG_ATTACH_DETACH_H
#define NFG_ATTACH_DETACH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fdlist.h"

/*
 * detach_all - close @links, wait until tasks have left the programs, close @progs; the lists are empty then.
 *
 * The only descriptors of both. A task that was preempted in a trampoline may still call a program
 * whose link is gone (fixed in 7.2.10): on other kernels the programs go a second after the last link, also when
 * a background process does it. So no program that was ever linked may be closed before.
 * Programs at kprobes are called by no trampoline: where all are such, nothing waits.
 *
 * Kernels before 7.0 wait for a grace period at each link, and nothing can interrupt that; so a process of
 * its own does it. After a third of a second it is left to itself, and a line says so and how long it will take.
 *
 * @func_cnt: how many functions that are, for the message.
 * @waits: return only when all is gone, and show until then how far it is (--wait-detach).
 * @stop_cnt: when it grows, @waits no longer holds.
 */
void detach_all(struct fd_list *links, struct fd_list *progs, size_t func_cnt, bool waits,
		const volatile int *stop_cnt);

/*
 * detach_aside - close @cnt links while the trace goes on: a process of its own waits for the grace periods, and a
 * second longer, until which it keeps the programs open.
 *
 * @links: those of the trace that goes on, and @out_fd: its output, -1: none; the process lets go of them at once.
 */
void detach_aside(const int *fds, size_t cnt, const struct fd_list *links, int out_fd);

#endif
