#ifndef NFG_SESSION_SILENCE_H
#define NFG_SESSION_SILENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "session/taskscope.h"

/* For how long the tasks of a scope ran on a processor: what does not run calls nothing. Zeroed: unknown. */
struct silence {
	uint64_t run_ns;
	size_t task_cnt; /* 0: unknown, or too many to ask */
};

/* silence_begin - note how long the tasks of -p, --tid, --cgroup, --container and --pod have run. A command has none. */
void silence_begin(struct silence *silence, const struct taskscope *sc);

/*
 * silence_why - append why no task of the scope can call anything now: "process 12 has ended", "cgroup /web has no task
 * now". Return: whether such a reason is known.
 */
bool silence_why(const struct taskscope *sc, struct strbuf *out);

/*
 * silence_likely - append why none may have: "process 12 did not run in that time", "no task is named 'web*' now".
 * Return: whether such a reason is known.
 */
bool silence_likely(const struct silence *silence, const struct taskscope *sc, struct strbuf *out);

/*
 * silence_nat - with --track on a kernel that translates addresses (@has_nat): append that no start function has a packet
 * before that, and what does, if it is so. Return: the same.
 */
bool silence_nat(const struct opts *opts, const struct functab *tab, bool has_nat,
		 struct strbuf *out);

/* silence_points - append which tracepoints had no event: "tracepoint 'skb:kfree_skb' was not hit". */
void silence_points(const struct pointtab *points, struct strbuf *out);

#endif
