#ifndef NFG_SELECT_RANK_H
#define NFG_SELECT_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "select/reach.h"

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
