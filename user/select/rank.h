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
	RANK_COMMON,    /* what common traffic comes through, by calls below a start function */
	RANK_PRESET = RANK_COMMON + RANK_DEPTH_CNT, /* where presets begin */
	RANK_NEAREST, /* all others, by calls below a start function */
	RANK_SELDOM =
		RANK_NEAREST + RANK_DEPTH_CNT, /* what packets seldom come through, likewise */
};

/* rank_of_callee - @is_limited: not all can be attached, so it matters what is common. */
uint32_t rank_of_callee(const struct reach_func *func, bool is_limited);

#endif
