#ifndef NFG_KERNEL_ATTACHMODE_H
#define NFG_KERNEL_ATTACHMODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arch;

/*
 * The ways to attach: identifier, name for --attach, the kernel's name, that name as a row of check (NULL: none),
 * programs, first kernel, and the other members of struct attach_way. The help, list --plan, check and -v take their
 * words from here. Of the ways that are not by site, auto takes the first that the kernel has; pairs, which all have,
 * come last.
 *
 * Costs were measured with 400 to 2000 functions of net/ on two emulated CPUs; memory is from the kernel's own counters.
 */
#define ATTACH_WAYS(WAY)                                                                           \
	WAY(MULTI, "multi", "tracing_multi", "tracing_multi",                                      \
	    "12 pairs of programs for all functions", "Linux 7.2 on x86-64",                       \
	    .entry_type = NFG_BPF_TRACE_FENTRY_MULTI, .exit_type = NFG_BPF_TRACE_FEXIT_MULTI,      \
	    .suffix = "multi", .is_shared = true, .func_max = 3000,                                \
	    .costs = { { { 7, 2 }, false, { 360, 600, 1400, 0 } } })                               \
	WAY(KPROBE, "kprobe", "kprobe.session", "kprobe_session", "one program for all functions", \
	    "Linux 6.10 with CONFIG_FPROBE", .entry_type = NFG_BPF_TRACE_KPROBE_SESSION,           \
	    .suffix = "kprobe", .is_shared = true, .is_by_site = true, .has_both_ends = true,      \
	    .costs = { { { 6, 10 }, false, { 250, 120, 60, 0 } } })                                \
	WAY(KPROBES, "kprobes", "kprobe.multi", "kprobe_multi", "two programs for all functions",  \
	    "Linux 5.18 with CONFIG_FPROBE", .entry_type = NFG_BPF_TRACE_KPROBE_MULTI,             \
	    .exit_type = NFG_BPF_TRACE_KPROBE_MULTI, .suffix = "kprobe", .is_shared = true,        \
	    .is_by_site = true, .costs = { { { 5, 18 }, false, { 400, 240, 120, 0 } } })           \
	WAY(SESSION, "session", "fsession", "fsession", "a program for each function",             \
	    "Linux 7.0", .entry_type = NFG_BPF_TRACE_FSESSION, .suffix = "session",                \
	    .has_both_ends = true, .records_alone = true, .func_max = 45,                          \
	    .costs = { { { 7, 0 }, true, { 22000, 22000, 17000, 0 } },                             \
		       { { 7, 0 }, false, { 16000, 125000, 17000, 100000 } } })                    \
	WAY(PAIR, "pair", "fentry and fexit", NULL, "two programs for each function",              \
	    "Linux 5.10", .entry_type = BPF_TRACE_FENTRY, .exit_type = BPF_TRACE_FEXIT,            \
	    .func_max = 12,                                                                        \
	    .costs = { { { 7, 0 }, true, { 58000, 45000, 25000, 0 } },                             \
		       { { 5, 18 }, false, { 40000, 143000, 37000, 100000 } },                     \
		       { { 0, 0 }, false, { 63000, 70000, 25000, 0 } } })

#define ATTACH_ENUMERATOR(id, ...) ATTACH_##id,

/* How programs are attached to functions. */
enum attach_mode {
	ATTACH_AUTO,     /* the cheapest way, or one that loses nothing if calls could be lost */
	ATTACH_COMPLETE, /* a way that loses no calls when tasks are preempted, else fail */
	ATTACH_CHEAP,    /* the way with the least cost per call that attaches in acceptable time */
	ATTACH_WAYS(ATTACH_ENUMERATOR) /* see ATTACH_WAYS */
	ATTACH_MODE_CNT,
};

#define ATTACH_WAY_FIRST (ATTACH_CHEAP + 1)

/* The cost of attaching and detaching one function. */
struct attach_cost {
	uint32_t attach_us;
	uint32_t detach_us;
	uint32_t bytes;   /* of the kernel's memory */
	uint32_t wait_us; /* part of @detach_us: a grace period, the same on all hardware */
};

#define ATTACH_COST_CNT 3

struct attach_way {
	const char *name;     /* multi; an open mode has nothing else */
	const char *link;     /* tracing_multi */
	const char *feature;  /* tracing_multi; NULL: not a row of check */
	const char *programs; /* 12 pairs of programs for all functions */
	const char *since;    /* Linux 7.2 on x86-64 */
	uint32_t
		entry_type; /* enum bpf_attach_type, newer values included: of entries, or both ends */
	uint32_t exit_type;
	/* of the names of its programs (bpf/netfgraph.bpf.c); NULL: as the slot is called */
	const char *suffix;
	bool is_shared;  /* programs and links each serve many functions, else one */
	bool is_by_site; /* programs identify functions by their address */
	bool has_both_ends; /* one program serves both ends of a call; where it is skipped, so is the whole call */
	bool records_alone; /* it has no programs that mark calls, add values or sum up */
	/*
	 * For more functions auto takes a way by site. Of programs of their own, it is as many as are attached and
	 * detached in two seconds: the slowest kernel takes 170 ms for a function's pair of programs, 44 ms for one
	 * program of both ends. Trampolines of shared programs take 1.5 s for a thousand functions, but minutes for ten
	 * thousand.
	 */
	size_t func_max;
	struct {
		unsigned int since[2];
		bool shares_ops; /* applies where all trampolines share an ftrace_ops: not if arch->detach_waits */
		struct attach_cost cost;
	} costs[ATTACH_COST_CNT]; /* the newest first */
};

/* attach_way - what there is to know of @mode, below ATTACH_MODE_CNT. */
const struct attach_way *attach_way(enum attach_mode mode);

/* attach_cost - the cost of a way to attach on Linux @version, such as { 6, 12 }, of @arch. */
const struct attach_cost *attach_cost(enum attach_mode mode, const struct arch *arch,
				      const unsigned int version[2]);

/*
 * attach_detach_ns - the time to detach a function on a host where attaching one took @attach_ns: the grace period is
 * constant, the rest is proportional.
 */
uint64_t attach_detach_ns(const struct attach_cost *cost, uint64_t attach_ns);

/* How many functions of a selection are attached in which way. */
struct attach_shares {
	enum attach_mode mode;   /* for functions not counted below */
	size_t func_cnt;         /* all functions */
	size_t pair_cnt;         /* by fentry and fexit beside @mode ... */
	const char *pair_option; /* ... because of this option */
	size_t extra_cnt;        /* at kprobes beside @mode */
	size_t prog_cnt;         /* functions of BPF programs, by fentry and fexit beside @mode */
	/* memory that kprobes leave allocated with the host's threads until these end; attach_thread_bytes */
	uint64_t thread_bytes;
};

/* Upper bounds for all functions together, on an emulated CPU. */
struct attach_bill {
	uint64_t attach_us;
	uint64_t detach_us;
	uint64_t singly_us; /* of @attach_us, for functions that are attached one by one */
	uint64_t bytes;
	bool waits; /* as in struct attach_cost */
};

/* attach_bill_of - the bill on Linux @version, such as { 6, 12 }, of @arch. */
struct attach_bill attach_bill_of(const struct attach_shares *shares, const struct arch *arch,
				  const unsigned int version[2]);

/* As many may detach at once and be seen. */
#define ATTACH_OTHERS_MAX 64

/* Others that detach: what each of them would take by itself, in ns; 0: unknown. At most ATTACH_OTHERS_MAX. */
struct attach_others {
	const uint64_t *left_ns;
	size_t cnt;
};

/* Attaching beside others that detach. */
struct attach_beside {
	uint64_t attach_us; /* what attaching takes in addition */
	uint64_t
		others_us; /* until the others are through, if the trace ends as soon as it has begun; 0: unknown */
	uint64_t detach_us; /* what detaching takes in addition then */
};

/*
 * attach_beside_of - what attaching @shares beside @others takes on this kernel, and what it adds to theirs: all wait for the same
 * locks by turns. How long the trace is going to be is not known: a long one makes others_us smaller by a quarter at most.
 */
struct attach_beside attach_beside_of(const struct attach_shares *shares, const struct arch *arch,
				      const unsigned int version[2],
				      const struct attach_others *others);

/*
 * attach_others_pass - what is left of others in @us, in @left_ns: all wait for the same locks by turns, so each gets its part of the
 * time. What is over by then is 1; 0, unknown, stays.
 */
void attach_others_pass(uint64_t *left_ns, size_t cnt, uint64_t us);

/* attach_turn_us - what a function that is attached one by one waits for each of the others that detach meanwhile. */
uint64_t attach_turn_us(const struct arch *arch, const unsigned int version[2]);

/* attach_is_open - whether @mode leaves the choice to attach_plan_choose. */
static inline bool attach_is_open(enum attach_mode mode)
{
	return mode < ATTACH_WAY_FIRST;
}

/* attach_is_shared, attach_is_by_site - these members of struct attach_way; false for an open mode. */
static inline bool attach_is_shared(enum attach_mode mode)
{
	return attach_way(mode)->is_shared;
}

static inline bool attach_is_by_site(enum attach_mode mode)
{
	return attach_way(mode)->is_by_site;
}

#endif
