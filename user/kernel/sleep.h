#ifndef NFG_KERNEL_SLEEP_H
#define NFG_KERNEL_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/ksyms.h"
#include "kernel/proto.h"
#include "nfg_abi.h"
#include "trace/functab.h"

/*
 * Sleeps inside traced calls (--graph-opts sleep), which bpf/sleep.bpf.h records. They are tracepoints of our own: to
 * all outputs and in recordings they are like those of -e.
 */

#define SLEEP_SYSTEM "sched"

/* sleep_point - the point of the enum nfg_sleep_kind @kind. */
struct point sleep_point(uint32_t kind);

/* sleep_is_point - whether a point of a recording is one of these. */
bool sleep_is_point(const struct point *point);

/* sleep_is_text - whether a comment in a text is one of these: "slept: us=...". */
bool sleep_is_text(struct text comment);

/* sleep_fields - add the types of the fields of all kinds to @types, in their order. Return: 0, -ENOMEM or -E2BIG. */
int sleep_fields(struct proto_table *types);

/*
 * sleep_ranges - where the functions are that say nothing about a sleep, those of the scheduler and of wait queues, and those that
 * tell whose softirq it is.
 *
 * @ranges: NFG_SLEEP_SKIP_CNT of them, @softirqs: NFG_SOFTIRQ_FUNC_CNT, both by address as nfg_range_at wants them; the rest stays
 * zero. Without addresses there are none. Return: 0 or -ENOMEM.
 */
int sleep_ranges(const struct ksyms *ks, struct nfg_range *ranges,
		 struct nfg_softirq_range *softirqs);

#endif
