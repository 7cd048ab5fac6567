#ifndef NFG_ATTACH_DETACH_H
#define NFG_ATTACH_DETACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct detach_config {
	size_t func_cnt;      /* for the message */
	uint64_t expected_ns; /* expected duration; 0: unknown */
	bool waits; /* return only when all are detached, and show progress (--wait-detach) */
	const volatile int *stop_cnt; /* when it grows, @waits is ignored */
	const char *seen_path;        /* for detaching_others; NULL: nobody is to know */
};

/*
 * detach_all - close @links, wait until tasks have left the programs, close @progs; leaves both lists empty.
 *
 * The lists must have the only descriptors. A task that was preempted in a trampoline may still call a program whose
 * link is gone (fixed in 7.2.10): on older kernels the programs are closed a second after the last link, also by a
 * background process. So no program that was ever linked may be closed earlier. Trampolines never call programs at
 * kprobes: without other programs, it does not wait.
 *
 * Kernels before 7.0 wait for a grace period at each link, and nothing can interrupt this, so a separate process does
 * it. After a third of a second it continues in the background, and a message estimates how long it will take: once a day, or
 * with -v.
 */
void detach_all(struct fd_list *links, struct fd_list *progs, const struct detach_config *config);

/*
 * detach_aside - close @cnt links while the trace goes on: a separate process waits for the grace periods and one more
 * second, and keeps the programs open until then.
 *
 * @expected_ns: expected duration; 0: unknown.
 * @links: the links of the ongoing trace. The process closes its copies of them, and of the trace's output, at once.
 */
void detach_aside(const int *fds, size_t cnt, const struct fd_list *links, uint64_t expected_ns);

/*
 * detach_is_news - whether the user has not been told for a day, as the time of the file @path says, and is told now. Always
 * true for those who may not write it.
 */
bool detach_is_news(const char *path);

#endif
