#include "attach/progs.h"

#include <bpf/libbpf.h>

#include "nfg_abi.h"
#include "netfgraph.skel.h"
#include "kernel/probe.h"

/* How a program finds its slot and its function. Each family of programs does the same in each of these ways. */
enum way {
	WAY_NESTED, /* the first three are those of enum slot_mode in bpf/hot.bpf.h */
	WAY_LOOKUP,
	WAY_FLAT,
	WAY_INLINE,  /* flat; asking for the CPU is no call */
	WAY_MULTI,   /* flat; the function is in the cookie */
	WAY_SESSION, /* flat; one program for both ends */
	WAY_CNT,
};

struct pair {
	struct bpf_program *entry;
	struct bpf_program *exit;
};

static enum way way_of(const struct progs_want *want)
{
	if (want->mode == ATTACH_MULTI)
		return WAY_MULTI;
	if (want->mode == ATTACH_SESSION)
		return WAY_SESSION;
	if (want->is_flat)
		return probe_inlined_cpu_id() ? WAY_INLINE : WAY_FLAT;
	return probe_fetching_atomics() ? WAY_LOOKUP : WAY_NESTED;
}

/* The programs PREFIXentry_WAY and PREFIXexit_WAY; one for both ends. */
#define PAIR(prefix, way)                                                       \
	{                                                                       \
		skel->progs.prefix##entry_##way, skel->progs.prefix##exit_##way \
	}
#define BOTH(name)                     \
	{                              \
		skel->progs.name, NULL \
	}

/* A family in the ways in which each function has programs of its own, one for each end. */
#define PAIRS(prefix)                                                             \
	[WAY_NESTED] = PAIR(prefix, nested), [WAY_LOOKUP] = PAIR(prefix, lookup), \
	[WAY_FLAT] = PAIR(prefix, flat), [WAY_INLINE] = PAIR(prefix, flat)

/* Those that sum up have no slot to find: what differs is how they raise a maximum. */
#define SUMS_PAIR(root, way)                                                                     \
	{                                                                                        \
		skel->progs.kprofile_##root##entry_pair, skel->progs.kprofile_##root##exit_##way \
	}
#define SUMS(root)                                                                      \
	[WAY_NESTED] = SUMS_PAIR(root, nested), [WAY_LOOKUP] = SUMS_PAIR(root, atomic), \
	[WAY_FLAT] = SUMS_PAIR(root, atomic), [WAY_INLINE] = SUMS_PAIR(root, atomic)

static struct pair call_pair(const struct netfgraph_bpf *skel, const struct progs_want *want,
			     enum way way)
{
	const struct pair plain[WAY_CNT] = {
		[WAY_NESTED] = PAIR(, nested), [WAY_LOOKUP] = PAIR(, lookup),
		[WAY_FLAT] = PAIR(, flat),     [WAY_INLINE] = PAIR(, inline),
		[WAY_MULTI] = PAIR(, multi),   [WAY_SESSION] = BOTH(both_session),
	};
	const struct pair packet[WAY_CNT] = {
		PAIRS(packet_),
		[WAY_MULTI] = PAIR(, multi), /* can do both */
		[WAY_SESSION] = BOTH(packet_both_session),
	};
	const struct pair values[WAY_CNT] = {
		PAIRS(values_),
		[WAY_MULTI] = PAIR(values_, multi),
	};

	const struct pair sums[WAY_CNT] = {
		SUMS(),
		[WAY_MULTI] = PAIR(kprofile_, multi),
	};

	if (want->sums_up)
		return sums[way];
	if (want->has_values)
		return values[way];
	return want->looks_at_packets ? packet[way] : plain[way];
}

static struct pair root_pair(const struct netfgraph_bpf *skel, const struct progs_want *want,
			     enum way way)
{
	const struct pair plain[WAY_CNT] = {
		PAIRS(root_),
		[WAY_MULTI] = PAIR(root_, multi),
		[WAY_SESSION] = BOTH(root_both_session),
	};
	const struct pair values[WAY_CNT] = {
		PAIRS(values_root_),
		[WAY_MULTI] = PAIR(values_root_, multi),
	};

	const struct pair sums[WAY_CNT] = {
		SUMS(root_),
		[WAY_MULTI] = PAIR(kprofile_root_, multi),
	};

	if (!want->by_roots)
		return (struct pair){ NULL, NULL };
	if (want->sums_up)
		return sums[way];
	return want->has_values ? values[way] : plain[way];
}

static struct pair switch_progs(const struct netfgraph_bpf *skel, enum way way)
{
	switch (way) {
	case WAY_NESTED:
		return (struct pair){ skel->progs.task_switch_nested, skel->progs.switch_nested };
	case WAY_LOOKUP:
		return (struct pair){ skel->progs.task_switch_lookup, skel->progs.switch_lookup };
	default:
		return (struct pair){ skel->progs.task_switch_flat, skel->progs.switch_flat };
	}
}

const char *const progs_irq_tracepoints[PROGS_IRQ_CNT] = {
	"softirq_entry",
	"softirq_exit",
	"irq_handler_entry",
	"irq_handler_exit",
};

/* Before 5.12 no program is skipped that an interrupt comes into. */
static void choose_irqs(struct progs *progs, const struct netfgraph_bpf *skel, enum way way)
{
	if (way == WAY_NESTED)
		return;
	if (way == WAY_LOOKUP) {
		progs->irqs[0] = skel->progs.softirq_lookup_begins;
		progs->irqs[1] = skel->progs.softirq_lookup_ends;
		progs->irqs[2] = skel->progs.hardirq_lookup_begins;
		progs->irqs[3] = skel->progs.hardirq_lookup_ends;
		return;
	}
	progs->irqs[0] = skel->progs.softirq_flat_begins;
	progs->irqs[1] = skel->progs.softirq_flat_ends;
	progs->irqs[2] = skel->progs.hardirq_flat_begins;
	progs->irqs[3] = skel->progs.hardirq_flat_ends;
}

struct progs progs_choose(const struct netfgraph_bpf *skel, const struct progs_want *want)
{
	const enum way way = way_of(want);
	const struct pair call = call_pair(skel, want, way);
	const struct pair root = root_pair(skel, want, way);
	const struct pair at_switch = switch_progs(skel, way);

	struct progs progs = {
		.entry = call.entry,
		.exit = call.exit,
		.root_entry = root.entry,
		.root_exit = root.exit,
		.task_switch = at_switch.entry,
		.sched = want->has_switches ? at_switch.exit : NULL,
	};

	if (want->follows_irqs)
		choose_irqs(&progs, skel, way);
	return progs;
}
