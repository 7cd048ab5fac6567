#ifndef NFG_ATTACH_PROGS_H
#define NFG_ATTACH_PROGS_H

#include <stdbool.h>

#include "kernel/attachmode.h"
#include "nfg_progs.h"

struct bpf_program;
struct netfgraph_bpf;

/* Programs that do the same (nfg_progs.h): PROGS_COPIED_NAME. */
enum progs_copied {
#define PROGS_COPIED(name, section) PROGS_COPIED_##name,
	NFG_COPIED(PROGS_COPIED)
#undef PROGS_COPIED
		PROGS_COPIED_CNT,
};

/* What decides which programs of the BPF object are used. */
struct progs_want {
	enum attach_mode mode;   /* not ATTACH_AUTO */
	bool is_flat;            /* the rings are one map element */
	bool looks_at_packets;   /* packets decide what is in scope */
	bool has_marks;          /* exits are marked by the call's result */
	bool has_values;         /* records have values; not ATTACH_SESSION */
	bool starts_have_values; /* those of start functions do; not ATTACH_SESSION */
	bool by_starts;          /* gates are open only below start functions */
	bool has_switches;       /* switches of tasks are recorded */
	bool sums_up;            /* calls are summed up, nothing is recorded; not ATTACH_SESSION */
	bool follows_irqs;       /* interrupts inside programs are recorded */
};

/* At interrupts, in the order of progs_irq_tracepoints. */
#define PROGS_IRQ_CNT 4u
extern const char *const progs_irq_tracepoints[PROGS_IRQ_CNT];

/* The programs to use; NULL: nothing to do there. An exit is also NULL if the entry serves both ends. */
struct progs {
	struct bpf_program *entry;
	struct bpf_program *exit;
	struct bpf_program *start_entry;
	struct bpf_program *start_exit;
	struct bpf_program *task_switch;         /* at sched_switch, always ... */
	struct bpf_program *record_switch;       /* ... and after it, with has_switches */
	struct bpf_program *irqs[PROGS_IRQ_CNT]; /* with follows_irqs; none before 5.12 */
};

/*
 * progs_choose - the programs of @skel that this kernel can load and that cost a call least.
 *
 * Probes the kernel once. @skel owns the programs.
 */
struct progs progs_choose(const struct netfgraph_bpf *skel, const struct progs_want *want);

/* progs_copies - the NFG_COPY_CNT programs of a group. @skel owns them. */
void progs_copies(const struct netfgraph_bpf *skel, enum progs_copied which,
		  struct bpf_program *out[NFG_COPY_CNT]);

#endif
