#ifndef NFG_SELECT_PRESETS_H
#define NFG_SELECT_PRESETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "select/reach.h"

#define PRESET_ALONE 0u

/* A common question, and the start functions whose calls answer it. */
struct preset {
	const char *name;
	const char *help;
	/*
	 * Start functions, separated by blanks. A kernel need not have all of them; since 5.10 each has at least
	 * one.
	 */
	const char *starts;
	unsigned int callee_depth; /* default depth below them; PRESET_ALONE: none */
	const char
		*filter; /* --filter, which all its start functions have; NULL: all their calls */
};

extern const struct preset preset_defs[];
extern const size_t preset_def_cnt;

/* preset_name - the name of preset_defs[@i]; NULL after the last one. */
const char *preset_name(int i);

/* Functions of one protocol or layer. */
struct preset_group {
	const char *title;
	const char *funcs; /* separated by blanks */
};

/*
 * The functions traced by default: the main path of a TCP and a UDP packet, by IPv4 and IPv6, one function per stage, and the
 * entries of other sockets. No kernel has all of them; those of modules exist while these are loaded.
 */
extern const struct preset_group preset_main_path[];
extern const size_t preset_main_path_cnt;

/* Functions, separated by blanks, whose calls vary: searches, lists of rules, queues, copies, locks. Not all kernels have each. */
extern const char preset_costs[];

/*
 * preset_counts_once - whether start functions of @preset call each other for one and the same thing, so that of such calls the
 * outermost alone counts: tcp_retransmit_skb calls __tcp_retransmit_skb for the same packet.
 */
bool preset_counts_once(const struct preset *preset);

/* preset_only_drops - whether only calls count that drop a packet, not those without one (NULL), or with one that was used. */
bool preset_only_drops(const struct preset *preset);

/*
 * preset_counts_as - the function in whose rows a call of @func counts where calls of its preset count once: tcp_retransmit_skb runs
 * __tcp_retransmit_skb exactly once, whether it calls or contains it. Return: @func for most functions.
 */
const char *preset_counts_as(const char *func);

/* preset_has_start - whether @name is one of @preset's start functions. */
bool preset_has_start(const struct preset *preset, const char *name);

/* preset_list_has_start - whether @func is a start function of one of the @cnt presets called @names, which exist. */
bool preset_list_has_start(const char *const *names, size_t cnt, const char *func);

/* preset_find - the preset of this name; NULL when there is none. */
const struct preset *preset_find(const char *name);

/* ---- what common traffic comes through ---- */

/*
 * Functions that common traffic comes through. If not all functions can be attached, these are worth more than others
 * that are as near to a start function.
 */

/* Below which functions it was seen. */
enum common_below {
	COMMON_SEND = 1 << 0, /* send(), sendto(), sendmsg() */
	COMMON_WRITE = 1 << 1,
	COMMON_CONNECT = 1 << 2,
	COMMON_ACCEPT = 1 << 3,
	COMMON_RECEIVE = 1 << 4, /* recv(), recvfrom(), recvmsg() */
	COMMON_READ = 1 << 5,
	COMMON_SOFTIRQ = 1 << 6,
};

/* common_below - bits of enum common_below for the function @name; 0: common traffic does not come through it. */
uint32_t common_below(const char *name);

/*
 * common_datagram_calls - how often the kernel calls the function @name for one datagram that a task sends to a
 * socket on the same host and reads there; 0: not at all, as far as is known. At most: kernels differ.
 */
unsigned int common_datagram_calls(const char *name);

/*
 * Which functions are worth more than others where not all can be attached: the lower, the later a limit leaves them
 * out.
 */

#define RANK_DEPTH_CNT 20000 /* no function is so many calls below a start function */

enum rank {
	RANK_START,
	RANK_MAIN_ROAD, /* without these a trace does not show a packet's path */
	/*
	 * functions that common traffic comes through there, and below several kinds of calls; by calls below a start
	 * function
	 */
	RANK_OFTEN,
	RANK_COMMON = RANK_OFTEN + RANK_DEPTH_CNT, /* below one kind */
	/* not there, but below several other kinds, or one */
	RANK_OFTEN_ELSEWHERE = RANK_COMMON + RANK_DEPTH_CNT,
	RANK_COMMON_ELSEWHERE = RANK_OFTEN_ELSEWHERE + RANK_DEPTH_CNT,
	RANK_PRESET = RANK_COMMON_ELSEWHERE + RANK_DEPTH_CNT, /* where presets begin */
	RANK_NEAREST, /* all others, by calls below a start function */
	/* functions that packets seldom come through, likewise */
	RANK_SELDOM = RANK_NEAREST + RANK_DEPTH_CNT,
};

/* The facts about a set of start functions that ranks depend on. */
struct rank_view {
	bool is_limited; /* not all can be attached, so it matters what is common */
	bool is_common;  /* common traffic comes through all start functions */
	uint32_t below;  /* where: bits of enum common_below */
};

/* rank_view - for @cnt start functions. */
struct rank_view rank_view(const struct reach_start *starts, size_t cnt, bool is_limited);

/*
 * rank_of_callee - the rank of @func below the start functions of @view. If common traffic does not come through one
 * of them, a function of common traffic counts as two calls nearer than it is; nothing else is known of the calls
 * there.
 */
uint32_t rank_of_callee(const struct reach_func *func, const struct rank_view *view);

/* ---- functions that are never attached ---- */

/* How a function would be traced. */
enum deny_for {
	DENY_FENTRY, /* a trampoline */
	DENY_KPROBE, /* kprobe.session; none of its programs runs inside another */
	/* the same, with nothing attached another way, all functions wanted, and this one by its name */
	DENY_KPROBE_ALL,
};

/*
 * deny_reason - why no program may be attached to a function of this name; NULL when one may.
 *
 * Three kinds: functions that our own programs run (from the kernels' text: all callees of the trampoline, the clock,
 * the map lookup and the ring buffer), functions that run where no program may, and functions that have crashed
 * kernels. Older kernels enforce none of this.
 */
const char *deny_reason(const char *name, enum deny_for by);

/* deny_runs_around - whether the kernel calls the function around every program, and only DENY_KPROBE_ALL allows it. */
bool deny_runs_around(const char *name);

/* deny_copy_reason - the same for names of the compiler's copies (f.isra.0); NULL for other names. */
const char *deny_copy_reason(const char *name);

#endif
