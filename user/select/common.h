#ifndef NFG_SELECT_COMMON_H
#define NFG_SELECT_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "select/reach.h"

/*
 * Functions that common traffic comes through. Where only so many functions can be attached, these are worth more than others
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
 * common_datagram_calls - how often the kernel calls the function @name for one datagram that a task sends to a socket on the
 * same host and reads there; 0: not at all, as far as is known. At most: kernels differ.
 */
unsigned int common_datagram_calls(const char *name);

/* Which functions are worth more than others where not all can be attached: the lower, the later a limit leaves them out. */

#define RANK_DEPTH_CNT 20000 /* no function is so many calls below a start function */

enum rank {
	RANK_START,
	RANK_MAIN_ROAD, /* without these a trace does not show a packet's path */
	/* what common traffic comes through there, and below several kinds of calls, by calls below a start function */
	RANK_OFTEN,
	RANK_COMMON = RANK_OFTEN + RANK_DEPTH_CNT, /* below one kind */
	/* not there, but below several other kinds, or one */
	RANK_OFTEN_ELSEWHERE = RANK_COMMON + RANK_DEPTH_CNT,
	RANK_COMMON_ELSEWHERE = RANK_OFTEN_ELSEWHERE + RANK_DEPTH_CNT,
	RANK_PRESET = RANK_COMMON_ELSEWHERE + RANK_DEPTH_CNT, /* where presets begin */
	RANK_NEAREST, /* all others, by calls below a start function */
	RANK_SELDOM =
		RANK_NEAREST + RANK_DEPTH_CNT, /* what packets seldom come through, likewise */
};

/* What the ranks of a set of start functions depend on. */
struct rank_view {
	bool is_limited; /* not all can be attached, so it matters what is common */
	bool is_common;  /* common traffic comes through all start functions */
	uint32_t below;  /* where: bits of enum common_below */
};

/* rank_view - for @cnt start functions. */
struct rank_view rank_view(const struct reach_start *starts, size_t cnt, bool is_limited);

/*
 * rank_of_callee - the rank of @func below the start functions of @view. Below one that common traffic does not come through,
 * what is common counts as two calls nearer than it is; nothing else is known of what runs there.
 */
uint32_t rank_of_callee(const struct reach_func *func, const struct rank_view *view);

#endif
