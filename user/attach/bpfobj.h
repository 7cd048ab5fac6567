#ifndef NFG_ATTACH_BPFOBJ_H
#define NFG_ATTACH_BPFOBJ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/attach_plan.h"
#include "attach/kprofile.h"
#include "attach/loader.h"
#include "attach/rings.h"
#include "kernel/attachmode.h"
#include "nfg_abi.h"
#include "nfg_progs.h"
#include "trace/functab.h"

/* Programs that do the same (nfg_progs.h): PROGS_COPIED_NAME. */
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

/* What to load. Kept in struct bpfobj, which borrowed members must outlive. */
struct bpfobj_config {
	struct nfg_cfg cfg; /* as the programs get it, except self_tgid, which bpfobj_load sets */
	struct attach_want want;
	const struct kbtf *kb;            /* borrowed until bpfobj_load returns */
	uint64_t buffer_bytes;            /* per CPU; 0: depends on the number of CPUs */
	struct values *values;            /* with cfg.want_values: their destination. Borrowed */
	const struct filter *call_filter; /* with NFG_MARK_FILTER; borrowed */
	const struct proto_table *protos; /* of the functions; borrowed */
	const struct pcapfilter *packet_filter; /* with cfg.by_packet; borrowed */
	struct kprofile_plan sums;              /* with cfg.sum_up */
	bool want_switches;                     /* have bpfobj.record_switch */
	bool follows_irqs;                      /* have bpfobj.irqs */
	bool wants_places;                      /* cgroups and network namespaces of tasks */
};

/* The templates of one mode. */
struct bpfobj_ends {
	struct loader_template entry; /* both ends with ATTACH_SESSION and attach_is_by_site */
	struct loader_template exit;
	struct loader_template start_entry; /* of start functions, with cfg.by_starts */
	struct loader_template start_exit;
};

/* At interrupts, in the order of progs_irq_tracepoints. */
#define PROGS_IRQ_CNT 4u
extern const char *const progs_irq_tracepoints[PROGS_IRQ_CNT];

/*
 * Tables by which a program for many functions knows a function by its address (bpf/site.bpf.h). Zeroed storage may
 * be closed.
 */
struct sites {
	uint16_t *func_ids; /* NFG_SITE_CNT of them, as the program sees them; NULL: not open */
	uint64_t *cookies;  /* by id of a function; NULL: programs ignore arguments */
	int fd;             /* the map of func_ids */
	int small_fd;       /* what the templates were loaded with instead */
};

/* The loaded object: maps, settings, the programs that follow tasks. */
struct bpfobj {
	struct loader loader;
	struct netfgraph_bpf *skel; /* loader's */
	struct bpfobj_config config;
	struct attach_plan plan;
	struct rings rings;
	struct bpfobj_ends ends;                    /* of plan.mode */
	struct bpfobj_ends fallback;                /* of plan.fallback; else empty */
	struct bpfobj_ends extras;                  /* of plan.extras */
	struct loader_template task_switch;         /* for switches_attach ... */
	struct loader_template record_switch;       /* ... empty unless config.want_switches */
	struct loader_template irqs[PROGS_IRQ_CNT]; /* empty unless config.follows_irqs */
	uint32_t rec_cnt;                           /* per ring */
	uint32_t all_cnt;                           /* of all rings, rounded up to a power of two */
	int flat_fd;        /* with plan.is_flat: the map of all rings; else -1 */
	int fgraph_fd;      /* its program fgraph_number_due; 0 or less: none */
	int small_flat_fd;  /* the small map that the templates were loaded with */
	struct sites sites; /* with attach_uses_sites; else empty */
	void *rings_map;
	size_t rings_map_bytes;
	struct nfg_gaps *gaps;
	uint8_t *
		in_comms; /* NFG_SCOPE_COMM by tid, which the programs keep up to date; NULL: not needed */
	uint64_t *out_calls; /* by function, of the last outcalls_sample */
	struct ring_buffer *names;
	uint64_t early_missed_cnt; /* see bpfobj_count_missed */
	void (*take_task)(void *ctx, const struct nfg_task_seen *seen);
	void *take_ctx;
};

/* bpfobj_is_start - whether @func gets the programs of start functions. */
static inline bool bpfobj_is_start(const struct bpfobj *obj, const struct func *func)
{
	return obj->config.cfg.by_starts && func->is_start;
}

/*
 * bpfobj_load - open, configure and load the object; attaches and arms nothing.
 *
 * When the kernel refuses, logs the policy that did and a hint. attach_plan_choose decides how functions are
 * attached.
 * Return: 0 or -errno. bpfobj_release undoes it, also after a failure.
 */
int bpfobj_load(struct bpfobj *obj, const struct bpfobj_config *config);
void bpfobj_release(struct bpfobj *obj);

/*
 * bpfobj_follow - attach the fork, exec and exit programs. switches_attach attaches those at context switches.
 *
 * @take gets every task record that bpfobj_names finds.
 * Return: 0 or -errno, already logged.
 */
int bpfobj_follow(struct bpfobj *obj, void (*take)(void *ctx, const struct nfg_task_seen *seen),
		  void *ctx);

/*
 * bpfobj_each_task - with config.wants_places or cfg.pid_ns: pass a record of each existing task to @take. The kernel shows
 * those of our pid namespace and of those below it.
 *
 * Return: 0 or -errno, not logged; -EOPNOTSUPP: neither is set, or this kernel cannot tell.
 */
int bpfobj_each_task(const struct bpfobj *obj,
		     void (*take)(void *ctx, const struct nfg_task_seen *seen), void *ctx);

/*
 * bpfobj_find_tasks - with config.wants_places or cfg.pid_ns: pass a record of each existing task to the callback of bpfobj_follow, and
 * follow tasks from here on. Needs privileges. Return: 0 or -ENOMEM; a refusal by the kernel is not an error.
 */
int bpfobj_find_tasks(struct bpfobj *obj);

/*
 * bpfobj_arm - the logical switch: start or stop recording calls.
 *
 * On return, every CPU's gate is updated. Return: 0 or -errno, already logged.
 */
int bpfobj_arm(struct bpfobj *obj, bool on);

/*
 * bpfobj_scope - set and clear NFG_SCOPE_* bits of @tid, but not its places, CGROUP and NETNS. COMM only with
 * comm_glob_cnt: the programs follow it, and write the same byte.
 *
 * Takes effect when the task is next switched to, or with bpfobj_sync.
 */
void bpfobj_scope(struct bpfobj *obj, uint32_t tid, uint8_t set, uint8_t clear);

/*
 * bpfobj_is_fgraph_zero_due - whether the first link that follows returns by kprobes gets number 0 in the kernel's table of
 * function graph's users. Since 6.14 they are in it. false: not, or not known.
 */
bool bpfobj_is_fgraph_zero_due(const struct bpfobj *obj);

/* bpfobj_sync - apply scope changes to every CPU's gate; bpfobj_sync_cpu: to one. Return: 0 or -errno. */
int bpfobj_sync(const struct bpfobj *obj);
int bpfobj_sync_cpu(const struct bpfobj *obj, uint32_t cpu);

/*
 * bpfobj_scope_cgroup - add cgroup @id, with all below it, to the scope, and with it one that will be made at @path, from the
 * root of the tree. Return: 0 or -errno.
 */
int bpfobj_scope_cgroup(const struct bpfobj *obj, uint64_t id, const char *path);

/* bpfobj_has_cgroup - whether the programs have found the cgroup @id at such a path, or it was added. */
bool bpfobj_has_cgroup(const struct bpfobj *obj, uint64_t id);

int bpfobj_scope_socket(const struct bpfobj *obj, uint64_t inode); /* ignore its packets */

/*
 * bpfobj_scope_netns - tell what is known of the network namespace with that inode at @time_ns of CLOCK_MONOTONIC. With
 * scope_packets or scope_by_netns. Return: 0 or -errno.
 */
int bpfobj_scope_netns(const struct bpfobj *obj, uint32_t inum, enum nfg_netns_news news,
		       uint64_t time_ns);

/*
 * bpfobj_shared_netns - call @visit with each network namespace of the scope where strangers may have sockets, until it returns
 * nonzero. Return: what it returned last; 0: there is none.
 */
int bpfobj_shared_netns(const struct bpfobj *obj, int (*visit)(void *ctx, uint32_t inum),
			void *ctx);

/* bpfobj_netns_news - a number that grows when strangers may have sockets in a namespace of the scope. */
uint64_t bpfobj_netns_news(const struct bpfobj *obj);

/* bpfobj_lost_netns - how often there was no room for a namespace: its packets without a socket are not shown. */
uint64_t bpfobj_lost_netns(const struct bpfobj *obj);

/* bpfobj_has_doubted - with sums: a task in scope has run while programs may have been skipped. */
bool bpfobj_has_doubted(const struct bpfobj *obj);

/* bpfobj_lost_packets - packets of the scope that were refused: they seemed to be for another's socket (bpf/owner.bpf.h). */
uint64_t bpfobj_lost_packets(const struct bpfobj *obj);

/* bpfobj_lost_moves - how often nobody could be told that the task of some CPU has come into the scope, or left it. */
uint64_t bpfobj_lost_moves(const struct bpfobj *obj);

/*
 * bpfobj_gate_fits - whether calls on @cpu are recorded now if its task is in scope (@is_in), and not otherwise. In a softirq
 * this cannot be told: false.
 */
bool bpfobj_gate_fits(const struct bpfobj *obj, uint32_t cpu, bool is_in);

/* bpfobj_scope_comm - add tasks whose name, when exec sets it, matches @glob; @nr: below cfg.comm_glob_cnt. */
int bpfobj_scope_comm(const struct bpfobj *obj, uint32_t nr, const struct nfg_comm_glob *glob);

/* bpfobj_scope_get - @tid's current NFG_SCOPE_* bits, but for its places. */
uint8_t bpfobj_scope_get(const struct bpfobj *obj, uint32_t tid);

/* bpfobj_names - hand over the waiting task records. */
void bpfobj_names(struct bpfobj *obj);

/*
 * bpfobj_stack - the addresses of the kernel stack @nr (NFG_VALUE_STACK, less one), innermost first; a retaddr_stack.
 *
 * @ctx: the struct bpfobj. @addrs: room for NFG_STACK_FRAMES. Return: the number of addresses; 0: no such stack.
 */
uint32_t bpfobj_stack(void *ctx, uint32_t nr, uint64_t *addrs);

/* bpfobj_missed_names - how often the kernel skipped programs that send names, of any task; these names may be stale. */
uint64_t bpfobj_missed_names(const struct bpfobj *obj);

/* bpfobj_lost_names - task records lost for lack of room; those tasks may print as <...>. */
uint64_t bpfobj_lost_names(const struct bpfobj *obj);

/*
 * bpfobj_missed_scope - how often, since bpfobj_count_missed, the kernel skipped programs that follow the scope; at most, where
 * they are copied.
 */
void bpfobj_count_missed(struct bpfobj *obj);
uint64_t bpfobj_missed_scope(const struct bpfobj *obj);

/*
 * bpfobj_needs_guard - after attach_new: whether tasks may be preempted, and interrupts arrive, inside our programs at
 * functions while the kernel skips these for others (bpf/guard.bpf.h).
 */
bool bpfobj_needs_guard(const struct bpfobj *obj);

/*
 * bpfobj_forget_starts - while nothing is attached: no task is below a start function any more. The exits of calls that are
 * open now will not be seen.
 */
void bpfobj_forget_starts(const struct bpfobj *obj);

/* bpfobj_lost_starts - calls of start functions that began no graph because open_starts had no room for their tasks. */
uint64_t bpfobj_lost_starts(const struct bpfobj *obj);

/* Calls that no record is made of: of tasks out of scope, outside start functions, for other packets (bpf/out.bpf.h). */

struct outcalls {
	uint64_t took_ns; /* how long they were counted */
	uint32_t *
		cpu_cnts; /* calls by CPU; those by function are in bpfobj.out_calls until the next sample ... */
	uint32_t *packet_cnts; /* ... and packets that were not in scope */
};

/*
 * outcalls_sample - count them for @window_ns, in which the caller sleeps, and each of them takes longer. Takes an interrupt of
 * each CPU before, and of those that count, after.
 *
 * @cnts: its arrays have an element for each CPU. Return: 0 or -errno.
 */
int outcalls_sample(struct bpfobj *obj, uint64_t window_ns, struct outcalls *cnts);

/*
 * mapmem_share - map the first @bytes of a mmapable BPF map, shared with the programs.
 *
 * Return: the memory, which the caller unmaps, or NULL with errno set.
 */
void *mapmem_share(int map_fd, size_t bytes);

#endif
