#ifndef NFG_ATTACH_BPFOBJ_H
#define NFG_ATTACH_BPFOBJ_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/attachmode.h"
#include "nfg_abi.h"
#include "attach/progs.h"
#include "attach/rings.h"

struct bpf_insn;
struct kprofile_plan;
struct netfgraph_bpf;
struct filter;
struct pcapfilter;
struct proto_table;
struct ring_buffer;

struct bpfobj_config {
	const char *template_func; /* a built-in function the templates may be verified against */
	uint32_t cpu_cnt;          /* possible CPUs */
	uint64_t buffer_bytes;     /* per CPU; 0: chosen by the number of CPUs */
	uint8_t scope_need;        /* see nfg_cfg */
	bool scope_packets;        /* likewise */
	bool scope_by_cgroup;
	bool scope_by_netns;
	bool by_cpu;
	uint32_t want_values;             /* likewise, NFG_WANT_*; not ATTACH_SESSION */
	struct values *values;            /* where they go; NULL when none are wanted. Borrowed */
	bool by_roots;                    /* likewise */
	uint32_t marks;                   /* likewise; ATTACH_PAIR only */
	const struct filter *call_filter; /* with NFG_MARK_FILTER; borrowed, as ... */
	const struct proto_table *protos; /* ... the functions' */
	bool skip_sockets;                /* see nfg_cfg */
	bool want_switches;               /* have bpfobj.sched */
	const struct kprofile_plan
		*sums; /* sum calls up, record none; not ATTACH_SESSION. NULL: record */
	bool skip_hardirq;
	bool follows_irqs; /* have bpfobj.irqs */
	enum attach_mode mode;
	const struct pcapfilter *filter; /* at roots, with by_roots; NULL: none. Borrowed */
	uint32_t probe_btf_id;           /* of template_func */
	uint32_t session_kfunc_btf_id;   /* of bpf_session_is_return; 0: the kernel has none */
	uint32_t rdonly_cast_btf_id;     /* of bpf_rdonly_cast; likewise */
	uint32_t preempt_var_btf_id;     /* see kbtf_preempt_var; 0: by address */
	uint32_t preempt_var_offset;
	uint64_t per_cpu_offset_addr; /* see nfg_cfg */
	uint64_t preempt_count_offset;
};

/* A relocated program that clone.c loads anew for the functions to be traced. */
struct bpfobj_template {
	const struct bpf_insn *insns; /* borrowed */
	uint32_t insn_cnt;
};

/* The templates of one mode. */
struct bpfobj_ends {
	struct bpfobj_template entry; /* of both ends with ATTACH_SESSION */
	struct bpfobj_template exit;
	struct bpfobj_template root_entry; /* for functions that are roots, with by_roots */
	struct bpfobj_template root_exit;
};

/* The loaded object: maps, settings, the programs that follow tasks. */
struct bpfobj {
	struct netfgraph_bpf *skel;
	struct rings rings;
	enum attach_mode mode; /* never ATTACH_AUTO once loaded */
	struct bpfobj_ends ends;
	struct bpfobj_ends pair; /* ATTACH_MULTI that was chosen: for what it refuses; else empty */
	bool by_roots;
	bool sums_up;                               /* config.sums */
	struct bpfobj_template task_switch;         /* for switches.c ... */
	struct bpfobj_template sched;               /* ... empty unless config.want_switches */
	struct bpfobj_template irqs[PROGS_IRQ_CNT]; /* likewise config.follows_irqs */
	uint32_t session_kfunc_btf_id;
	const struct pcapfilter *filter;
	const struct filter *call_filter;
	const struct proto_table *protos;
	struct values *values;
	uint32_t rec_cnt; /* per ring */
	uint32_t all_cnt; /* of all rings, rounded up to a power of two */
	uint32_t cpu_cnt;
	bool is_flat; /* all rings are one element of an own map: flat_fd */
	int flat_fd;
	int small_flat_fd; /* what the templates were loaded with instead */
	void *rings_map;
	size_t rings_map_bytes;
	struct nfg_gaps *gaps;
	uint8_t *in_cgroup; /* by tid, with scope_by_cgroup */
	uint8_t *in_netns;  /* likewise */
	struct ring_buffer *names;
	void (*take_name)(void *ctx, const struct nfg_task_rec *rec);
	void *take_ctx;
};

/* bpfobj_mode_name - "tracing_multi", as -v prints it. */
const char *bpfobj_mode_name(enum attach_mode mode);

/* bpfobj_buffer_bytes_default - what a ring takes without --buffer-size. */
uint64_t bpfobj_buffer_bytes_default(uint32_t cpu_cnt);

/*
 * bpfobj_load - open, configure, load; nothing is attached yet and nothing armed.
 *
 * When the kernel refuses, one line says which policy did and a hint what to do. A @config->mode
 * that this kernel does not have is refused by name.
 * Return: 0 or -errno. bpfobj_release undoes it, at any stage.
 */
int bpfobj_load(struct bpfobj *obj, const struct bpfobj_config *config);
void bpfobj_release(struct bpfobj *obj);

/*
 * bpfobj_follow - attach the fork, exec and exit programs. Those at context switches are switches_attach's.
 *
 * @take gets every task record that bpfobj_names finds.
 * Return: 0 or -errno, said on stderr.
 */
int bpfobj_follow(struct bpfobj *obj, void (*take)(void *ctx, const struct nfg_task_rec *rec),
		  void *ctx);

/*
 * bpfobj_arm - the logical switch: from here on, or no longer, calls are recorded.
 *
 * When it returns, every CPU's gate says so. Return: 0 or -errno, said on stderr.
 */
int bpfobj_arm(struct bpfobj *obj, bool on);

/*
 * bpfobj_scope - set and clear bits (NFG_SCOPE_*) of @tid. CGROUP and NETNS only with scope_by_cgroup and
 * scope_by_netns, and they are not cleared: programs follow them.
 *
 * Takes effect when the task is next switched to, or with bpfobj_sync.
 */
void bpfobj_scope(struct bpfobj *obj, uint32_t tid, uint8_t set, uint8_t clear);

/* bpfobj_sync - let every CPU's gate follow what was changed. Return: 0 or -errno. */
int bpfobj_sync(const struct bpfobj *obj);

/* bpfobj_scope_cgroup - count cgroup @id in; bpfobj_scope_netns: what namespace @inum means. */
int bpfobj_scope_cgroup(const struct bpfobj *obj, uint64_t id);
int bpfobj_scope_socket(const struct bpfobj *obj, uint64_t inode); /* leave its packets out */
int bpfobj_scope_netns(const struct bpfobj *obj, uint32_t inum, uint8_t whose);

/* bpfobj_scope_get - what @tid's byte says now. */
uint8_t bpfobj_scope_get(const struct bpfobj *obj, uint32_t tid);

/* bpfobj_names - hand over the task records that wait. */
void bpfobj_names(struct bpfobj *obj);

/* bpfobj_lost_names - task records that found no room; those tasks may print as <...>. */
uint64_t bpfobj_lost_names(const struct bpfobj *obj);

/* bpfobj_lost_roots - root calls that did not open the graph: too many tasks were below one. */
uint64_t bpfobj_lost_roots(const struct bpfobj *obj);

#endif
