#ifndef NFG_ATTACH_BPFOBJ_H
#define NFG_ATTACH_BPFOBJ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/attach_plan.h"
#include "attach/kprofile.h"
#include "attach/loader.h"
#include "attach/rings.h"
#include "filter/shown.h"
#include "kernel/attachmode.h"
#include "nfg_abi.h"
#include "nfg_progs.h"
#include "trace/functab.h"

/* Programs with the same code (nfg_progs.h): PROGS_COPIED_NAME. */
enum progs_copied {
#define PROGS_COPIED(name, section) PROGS_COPIED_##name,
	NFG_COPIED(PROGS_COPIED)
#undef PROGS_COPIED
		PROGS_COPIED_CNT,
};

/* progs_copies - the NFG_COPY_CNT programs of a group. @skel owns them. */
void progs_copies(const struct netfgraph_bpf *skel, enum progs_copied which,
		  struct bpf_program *out[NFG_COPY_CNT]);

struct bpf_insn;
struct netfgraph_bpf;
struct filter;
struct pcapfilter;
struct proto_table;
struct ring_buffer;

/* What to load. Stored in struct bpfobj, so borrowed members must outlive it. */
struct bpfobj_config {
	struct nfg_cfg cfg; /* for the programs; bpfobj_load sets self_tgid */
	struct attach_want want;
	const struct kbtf *kb;  /* borrowed until bpfobj_load returns */
	const struct ksyms *ks; /* the same; for NFG_WANT_PKT */
	uint64_t buffer_bytes;  /* per CPU; 0: depends on the number of CPUs */
	struct values
		*values; /* with cfg.want_values or has_points: receives the values. Borrowed */
	const struct filter *call_filter; /* with NFG_MARK_FILTER; borrowed */
	const struct shown *shown; /* with NFG_WANT_SHOWN: which members functions have; borrowed */
	const struct proto_table *protos;       /* for the functions; borrowed */
	const struct pcapfilter *packet_filter; /* with cfg.by_packet; borrowed */
	struct kprofile_plan sums;              /* with cfg.sum_up */
	bool want_switches;                     /* provide bpfobj.record_switch */
	bool follows_irqs;                      /* provide bpfobj.irqs */
	struct rings_ustack ustack;             /* with NFG_WANT_USTACK */
	bool has_points;     /* provide bpfobj.point; values receives its fields */
	bool begins_at_exec; /* tasks may have NFG_SCOPE_INHERIT alone */
	bool wants_places;   /* provide cgroups and network namespaces of tasks */
};

/* The templates of one mode. */
struct bpfobj_ends {
	struct loader_template entry; /* for both ends if the way has_both_ends or is_by_site */
	struct loader_template exit;
	struct loader_template start_entry; /* for start functions, with cfg.by_starts */
	struct loader_template start_exit;
};

/* Programs at interrupts, in the order of progs_irq_tracepoints. */
#define PROGS_IRQ_CNT 4u
extern const char *const progs_irq_tracepoints[PROGS_IRQ_CNT];

/*
 * Tables by which a shared program identifies a function from its address (bpf/site.bpf.h). Zeroed storage may be
 * closed.
 */
struct sites {
	uint16_t *func_ids; /* NFG_SITE_CNT ids, shared with the program; NULL: not open */
	uint64_t *cookies;  /* by func_id; NULL: programs ignore arguments */
	int fd;             /* the map of func_ids */
	int small_fd;       /* the small map that the templates were loaded with */
};

/* The loaded object: maps, settings, and the programs that follow tasks. */
struct bpfobj {
	struct loader loader;
	struct netfgraph_bpf *skel; /* loader's */
	struct bpfobj_config config;
	struct attach_plan plan;
	struct rings rings;
	struct bpfobj_ends ends;     /* for plan.mode */
	struct bpfobj_ends fallback; /* for plan.fallback and plan.progs; empty if there is none */
	struct bpfobj_ends extras;   /* for plan.extras */
	struct loader_template task_switch;   /* for switches_attach ... */
	struct loader_template record_switch; /* ... empty unless config.want_switches */
	struct loader_template point; /* for points_attach; empty unless config.has_points */
	struct loader_template irqs[PROGS_IRQ_CNT]; /* empty unless config.follows_irqs */
	uint32_t rec_cnt;                           /* per ring */
	uint32_t
		all_cnt; /* of all rings: rec_cnt times their number, rounded up to a power of two */
	int flat_fd;     /* with plan.is_flat: the map of all rings; else -1 */
	int fgraph_fd;   /* its program fgraph_number_due; 0 or less: none */
	int small_flat_fd;  /* the small map that the templates were loaded with */
	struct sites sites; /* with attach_uses_sites; else empty */
	void *rings_map;
	size_t rings_map_bytes;
	struct nfg_gaps *gaps;
	uint8_t *
		in_comms; /* NFG_SCOPE_COMM by tid, kept up to date by the programs; NULL: not needed */
	uint64_t *out_calls; /* by function, from the last outcalls_sample */
	struct ring_buffer *names;
	uint64_t early_missed_cnt; /* see bpfobj_count_missed */
	uint64_t early_missed_packet_cnt;
	void (*take_task)(void *ctx, const struct nfg_task_seen *seen);
	void *take_ctx;
};

/*
 * bpfobj_can_follow - whether this kernel has what --track needs. Return: false: no (logged, with a hint). It also logs which
 * packets are not followed, or may get a wrong number.
 */
bool bpfobj_can_follow(const struct kbtf *kb, const struct ksyms *ks);

/* bpfobj_follow_configure - for --track: set @cfg->past_end. */
void bpfobj_follow_configure(struct nfg_cfg *cfg, const struct functab *functab);

/* bpfobj_is_start - whether @func gets the programs of start functions. */
static inline bool bpfobj_is_start(const struct bpfobj *obj, const struct func *func)
{
	return obj->config.cfg.by_starts && func->is_start;
}

/*
 * bpfobj_needs_own - whether funcs[@func_id] shares no programs, because its own read its members. Of one that trampolines must not
 * serve (is_extra), members are not shown.
 */
static inline bool bpfobj_needs_own(const struct bpfobj *obj, const struct func *func,
				    size_t func_id)
{
	return obj->plan.members_by_pair && !func->is_extra &&
	       shown_word_cnt(obj->config.shown, (uint32_t)func_id) != 0;
}

/*
 * bpfobj_raise_limits - let this process have the descriptors and the locked memory that a trace takes, as far as it may.
 *
 * Each function takes four descriptors: two programs, two links. Up to 5.10 maps and programs are locked memory.
 */
void bpfobj_raise_limits(void);

/*
 * bpfobj_load - open, configure and load the object; attaches and arms nothing.
 *
 * If the kernel refuses, logs the responsible policy and a hint. attach_plan_choose decides how functions are attached.
 * Return: 0 or -errno. bpfobj_release undoes it, also after a failure.
 */
int bpfobj_load(struct bpfobj *obj, const struct bpfobj_config *config);
void bpfobj_release(struct bpfobj *obj);

/*
 * bpfobj_follow - attach the fork, exec and exit programs. switches_attach attaches the programs at context switches.
 *
 * @take gets every task record that bpfobj_names finds.
 * Return: 0 or -errno, already logged.
 */
int bpfobj_follow(struct bpfobj *obj, void (*take)(void *ctx, const struct nfg_task_seen *seen),
		  void *ctx);

/*
 * bpfobj_each_task - with config.wants_places or cfg.pid_ns: pass a record of each existing task to @take. The kernel
 * shows the tasks of our pid namespace and of the namespaces below it.
 *
 * Return: 0 or -errno, not logged; -EOPNOTSUPP: neither is set, or this kernel cannot iterate over tasks.
 */
int bpfobj_each_task(const struct bpfobj *obj,
		     void (*take)(void *ctx, const struct nfg_task_seen *seen), void *ctx);

/*
 * bpfobj_find_tasks - with config.wants_places or cfg.pid_ns: pass a record of each existing task to the callback of
 * bpfobj_follow, and follow tasks from here on. Needs privileges. Return: 0 or -ENOMEM; if the kernel refuses, that is
 * not an error.
 */
int bpfobj_find_tasks(struct bpfobj *obj);

/*
 * bpfobj_arm - the logical switch: start or stop recording calls.
 *
 * On return, the gate of every CPU is updated. Return: 0 or -errno, already logged.
 */
int bpfobj_arm(struct bpfobj *obj, bool on);

/*
 * bpfobj_scope - set and clear NFG_SCOPE_* bits of @tid, except its places, CGROUP and NETNS. COMM only with
 * comm_glob_cnt: the programs update the same byte.
 *
 * Takes effect when the task is next switched to, or with bpfobj_sync.
 */
void bpfobj_scope(struct bpfobj *obj, uint32_t tid, uint8_t set, uint8_t clear);

/*
 * bpfobj_is_fgraph_zero_due - whether the first link that follows returns by kprobes would get number 0 in the kernel's table
 * of function graph users, which includes such links since 6.14. false: it does not, or it is unknown.
 */
bool bpfobj_is_fgraph_zero_due(const struct bpfobj *obj);

/* bpfobj_sync - apply scope changes to every CPU's gate; bpfobj_sync_cpu: to one. Return: 0 or -errno. */
int bpfobj_sync(const struct bpfobj *obj);
int bpfobj_sync_cpu(const struct bpfobj *obj, uint32_t cpu);

/*
 * bpfobj_scope_cgroup - add cgroup @id, with all below it, to the scope; also any cgroup that is created at @path, from
 * the root of the tree. Return: 0 or -errno.
 */
int bpfobj_scope_cgroup(const struct bpfobj *obj, uint64_t id, const char *path);

/* bpfobj_has_cgroup - whether cgroup @id was added, or the programs have found it at such a path. */
bool bpfobj_has_cgroup(const struct bpfobj *obj, uint64_t id);

int bpfobj_scope_socket(const struct bpfobj *obj, uint64_t inode); /* ignore its packets */

/*
 * bpfobj_scope_netns - report news about the network namespace with that inode, as of @time_ns of CLOCK_MONOTONIC. With
 * scope_packets or scope_by_netns. Return: 0 or -errno.
 */
int bpfobj_scope_netns(const struct bpfobj *obj, uint32_t inum, enum nfg_netns_news news,
		       uint64_t time_ns);

/*
 * bpfobj_shared_netns - call @visit with each network namespace of the scope in which tasks out of scope may have
 * sockets, until it returns nonzero. Return: its last result; 0: there is no such namespace.
 */
int bpfobj_shared_netns(const struct bpfobj *obj, int (*visit)(void *ctx, uint32_t inum),
			void *ctx);

/* bpfobj_netns_news - a number that grows when tasks out of scope may have sockets in a namespace of the scope. */
uint64_t bpfobj_netns_news(const struct bpfobj *obj);

/* bpfobj_has_doubted - with sums: whether a task in scope has run while programs may have been skipped. */
bool bpfobj_has_doubted(const struct bpfobj *obj);

/*
 * bpfobj_gate_fits - whether the gate of @cpu matches its task: open if it is in scope (@is_in), else closed. Return:
 * false in a softirq, where this is unknown.
 */
bool bpfobj_gate_fits(const struct bpfobj *obj, uint32_t cpu, bool is_in);

/* bpfobj_scope_comm - add tasks whose new name matches @glob at exec; @nr: below cfg.comm_glob_cnt. */
int bpfobj_scope_comm(const struct bpfobj *obj, uint32_t nr, const struct nfg_comm_glob *glob);

/* bpfobj_scope_get - @tid's current NFG_SCOPE_* bits, except its places. */
uint8_t bpfobj_scope_get(const struct bpfobj *obj, uint32_t tid);

/* bpfobj_names - pass on the waiting task records. */
void bpfobj_names(struct bpfobj *obj);

/*
 * bpfobj_stack - the addresses of the kernel stack @nr (NFG_VALUE_STACK minus one), innermost first; a retaddr_stack.
 *
 * @ctx: the struct bpfobj. @addrs: room for NFG_STACK_FRAMES. Return: the number of addresses; 0: no such stack.
 */
uint32_t bpfobj_stack(void *ctx, uint32_t nr, uint64_t *addrs);

/* bpfobj_user_stack - the same for a user stack (NFG_USTACK). */
uint32_t bpfobj_user_stack(void *ctx, uint32_t nr, uint64_t *addrs);

/* bpfobj_missed_names - how often the kernel skipped programs that send names, for any task; names may be stale. */
uint64_t bpfobj_missed_names(const struct bpfobj *obj);

/*
 * bpfobj_missed_scope - how often the kernel skipped programs that follow the scope, since bpfobj_count_missed; an
 * upper bound for programs with copies.
 */
void bpfobj_count_missed(struct bpfobj *obj);
uint64_t bpfobj_missed_scope(const struct bpfobj *obj);

/* bpfobj_missed_packets - the same for the programs that follow packets (--track), whoever's packets these were. */
uint64_t bpfobj_missed_packets(const struct bpfobj *obj);

/*
 * bpfobj_needs_guard - after attach_new: whether tasks may be preempted, and interrupts arrive, inside our programs at
 * functions while the kernel skips these for others (bpf/guard.bpf.h).
 */
bool bpfobj_needs_guard(const struct bpfobj *obj);

/*
 * bpfobj_forget_starts - forget which tasks are below start functions. Call it while nothing is attached: the exits of
 * open calls will not be seen.
 */
void bpfobj_forget_starts(const struct bpfobj *obj);

/* The losses that the programs count: BPFOBJ_LOST_ID, and the count in the object. */
#define BPFOBJ_LOSSES(LOSS)                                                                         \
	/* calls of start functions that began no graph: open_starts had no room for their tasks */ \
	LOSS(STARTS, data->lost_starts)                                                             \
	/* task records, for lack of room; those tasks may print as <...> */                        \
	LOSS(NAMES, data->lost_task_recs)                                                           \
	/* namespaces without room: their packets without a socket are not shown */                 \
	LOSS(NETNS, data_places->lost_netns)                                                        \
	/* packets of the scope, refused: they seemed to be for a socket out of scope */            \
	LOSS(PACKETS, data_places->lost_packets)                                                    \
	/* sk_buffs of a followed packet that got no number: the map was full ... */                \
	LOSS(FOLLOWED_FULL, data->lost_follows_full)                                                \
	/* ... or locked by what an interrupt had interrupted */                                    \
	LOSS(FOLLOWED_BUSY, data->lost_follows_busy)                                                \
	/* moves of tasks into the scope or out of it that could not be reported */                 \
	LOSS(MOVES, data_places->lost_moves)

#define BPFOBJ_LOST(id, count) BPFOBJ_LOST_##id,

enum bpfobj_loss { BPFOBJ_LOSSES(BPFOBJ_LOST) };

/* bpfobj_lost - the count of @loss so far. */
uint64_t bpfobj_lost(const struct bpfobj *obj, enum bpfobj_loss loss);

/* bpfobj_followed_cnt - with NFG_WANT_PKT: how many sk_buffs are followed now. */
size_t bpfobj_followed_cnt(const struct bpfobj *obj);

/* Calls without a record: of tasks out of scope, outside start functions, for other packets (bpf/out.bpf.h). */

struct outcalls {
	uint64_t took_ns; /* how long they were counted */
	uint32_t *
		cpu_cnts; /* calls by CPU; calls by function are in bpfobj.out_calls until the next sample ... */
	uint32_t *packet_cnts; /* ... and packets that were not in scope */
};

/*
 * outcalls_sample - count such calls for @window_ns, while the caller sleeps; each call then takes longer. Interrupts
 * each CPU before, and the counting CPUs again after.
 *
 * @cnts: its arrays have an element for each CPU. Return: 0 or -errno.
 */
int outcalls_sample(struct bpfobj *obj, uint64_t window_ns, struct outcalls *cnts);

/*
 * mapmem_share - map the first @bytes of an mmapable BPF map, shared with the programs.
 *
 * Return: the memory, which the caller unmaps, or NULL with errno set.
 */
void *mapmem_share(int map_fd, size_t bytes);

#endif
