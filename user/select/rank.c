#include "select/rank.h"

#include "select/common.h"
#include "select/preset.h"

#define COMMON_IS_NEARER 2u

/* What common traffic comes through below so many kinds of calls outdoes what is nearer. */
#define OFTEN_KINDS 2

struct rank_view rank_view(const struct reach_start *starts, size_t cnt, bool is_limited)
{
	struct rank_view view = { .is_limited = is_limited, .is_common = true };

	for (size_t i = 0; i < cnt; i++) {
		uint32_t below = common_below(starts[i].name);

		if (below == COMMON_ALL) /* nobody captured what runs below it */
			below = 0;
		view.below |= below;
		view.is_common = view.is_common && below;
	}
	return view;
}

static uint32_t common_rank(uint32_t below, const struct rank_view *view)
{
	const bool is_often = __builtin_popcount(below) >= OFTEN_KINDS;

	if (below & view->below)
		return is_often ? RANK_OFTEN : RANK_COMMON;
	return is_often ? RANK_OFTEN_ELSEWHERE : RANK_COMMON_ELSEWHERE;
}

/* Among functions of which not all can be attached. */
static uint32_t limited_rank(const struct reach_func *func, const struct rank_view *view)
{
	const uint32_t depth = func->depth - 1;
	const uint32_t below = common_below(func->name);

	if (preset_is_main_road(func->name) || below == COMMON_ALL ||
	    (func->is_driver_entry && !func->is_seldom))
		return RANK_MAIN_ROAD;
	if (!view->is_common && !func->is_seldom)
		return RANK_OFTEN + depth + (below ? 0 : COMMON_IS_NEARER);
	if (below)
		return common_rank(below, view) + depth;
	if (preset_any_has_start(func->name))
		return RANK_PRESET;
	return (func->is_seldom ? RANK_SELDOM : RANK_NEAREST) + depth;
}

uint32_t rank_of_callee(const struct reach_func *func, const struct rank_view *view)
{
	if (!func->depth)
		return RANK_START;
	if (view->is_limited)
		return limited_rank(func, view);
	return (func->is_seldom ? RANK_SELDOM : RANK_NEAREST) + func->depth - 1;
}
