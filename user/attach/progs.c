#include "attach/progs.h"

#include <bpf/libbpf.h>

#include "kernel/probe.h"
#include "nfg_abi.h"
#include "nfg_progs.h"
#include "netfgraph.skel.h"

struct pair {
	struct bpf_program *entry; /* or of both ends */
	struct bpf_program *exit;
};

/* All programs of an object. */
struct table {
	struct pair pairs[NFG_JOB_CNT][NFG_WAY_CNT];
	struct bpf_program *task_switch[NFG_WAY_CNT];
	struct bpf_program *record_switch[NFG_WAY_CNT];
	struct bpf_program
		*irqs[NFG_WAY_CNT][PROGS_IRQ_CNT]; /* in the order of progs_irq_tracepoints */
};

const char *const progs_irq_tracepoints[PROGS_IRQ_CNT] = {
	"softirq_entry",
	"softirq_exit",
	"irq_handler_entry",
	"irq_handler_exit",
};

static void table_fill(struct table *tab, const struct netfgraph_bpf *skel)
{
	*tab = (struct table){ 0 };
#define PAIR(job, way)                                            \
	tab->pairs[NFG_JOB_##job][NFG_WAY_##way] = (struct pair){ \
		.entry = skel->progs.job##_entry_##way,           \
		.exit = skel->progs.job##_exit_##way,             \
	};
#define SITE(job) tab->pairs[NFG_JOB_##job][NFG_WAY_kprobe].entry = skel->progs.job##_kprobe;
#define BOTH(job) tab->pairs[NFG_JOB_##job][NFG_WAY_session].entry = skel->progs.job##_session;
#define SWITCHES(way)                                                    \
	tab->task_switch[NFG_WAY_##way] = skel->progs.task_switch_##way; \
	tab->record_switch[NFG_WAY_##way] = skel->progs.record_switch_##way;
#define IRQ(level, tracepoint, way)                                                       \
	tab->irqs[NFG_WAY_##way][2 * NFG_IRQ_##level] = skel->progs.level##_begins_##way; \
	tab->irqs[NFG_WAY_##way][2 * NFG_IRQ_##level + 1] = skel->progs.level##_ends_##way;

	NFG_PAIRS(PAIR)
	NFG_BOTHS(BOTH)
	NFG_SITES(SITE)
	NFG_SWITCHES(SWITCHES)
	NFG_IRQS(IRQ)
}

static enum nfg_way way_of(const struct progs_want *want)
{
	if (want->mode == ATTACH_MULTI)
		return NFG_WAY_multi;
	if (attach_is_by_site(want->mode))
		return NFG_WAY_kprobe;
	if (want->mode == ATTACH_SESSION)
		return NFG_WAY_session;
	if (want->is_flat)
		return NFG_WAY_flat;
	return probe_fetching_atomics() ? NFG_WAY_lookup : NFG_WAY_nested;
}

static enum nfg_job job_of(const struct progs_want *want)
{
	if (want->sums_up)
		return NFG_JOB_sums;
	if (want->has_values)
		return NFG_JOB_values;
	if (want->mode == ATTACH_KPROBES) /* its ends are programs of their own, and known */
		return NFG_JOB_packet;
	if (attach_is_by_site(want->mode) ||
	    want->mode == ATTACH_MULTI) /* these look at packets if packets decide */
		return want->has_marks ? NFG_JOB_packet : NFG_JOB_record;
	return want->looks_at_packets || want->has_marks ? NFG_JOB_packet : NFG_JOB_record;
}

static enum nfg_job start_job_of(const struct progs_want *want)
{
	if (want->sums_up)
		return NFG_JOB_sums_start;
	return want->starts_have_values ? NFG_JOB_values_start : NFG_JOB_start;
}

/* Jobs without programs for a flat ring use those of the previous way. */
static struct pair pair_of(const struct table *tab, enum nfg_job job, enum nfg_way way)
{
	if (!tab->pairs[job][way].entry && way == NFG_WAY_flat)
		way = NFG_WAY_lookup;
	return tab->pairs[job][way];
}

/* How a switch finds its slot, which is one of this CPU's own. */
static enum nfg_way switch_way(enum nfg_way way)
{
	return way == NFG_WAY_nested || way == NFG_WAY_lookup ? way : NFG_WAY_flat;
}

struct progs progs_choose(const struct netfgraph_bpf *skel, const struct progs_want *want)
{
	const enum nfg_way way = way_of(want);
	const enum nfg_way at_switch = switch_way(way);
	struct pair start = { 0 };
	struct table tab;
	struct pair call;
	struct progs progs;

	table_fill(&tab, skel);
	call = pair_of(&tab, job_of(want), way);
	if (want->by_starts)
		start = pair_of(&tab, start_job_of(want), way);
	progs = (struct progs){
		.entry = call.entry,
		.exit = call.exit,
		.start_entry = start.entry,
		.start_exit = start.exit,
		.task_switch = tab.task_switch[at_switch],
		.record_switch = want->has_switches ? tab.record_switch[at_switch] : NULL,
	};
	for (uint32_t i = 0; i < PROGS_IRQ_CNT && want->follows_irqs; i++)
		progs.irqs[i] = tab.irqs[at_switch][i];
	return progs;
}

void progs_copies(const struct netfgraph_bpf *skel, enum progs_copied which,
		  struct bpf_program *out[NFG_COPY_CNT])
{
	struct bpf_program *const all[PROGS_COPIED_CNT][NFG_COPY_CNT] = {
#define COPIED(name, section)         \
	[PROGS_COPIED_##name] = {     \
		skel->progs.name##_1, \
		skel->progs.name##_2, \
		skel->progs.name##_3, \
	},
		NFG_COPIED(COPIED)
#undef COPIED
	};

	for (size_t i = 0; i < NFG_COPY_CNT; i++)
		out[i] = all[which][i];
}
