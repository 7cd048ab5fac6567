#include "select/rank.h"

#include "select/common.h"
#include "select/preset.h"

uint32_t rank_of_callee(const struct reach_func *func, bool is_limited)
{
	const uint32_t below = func->depth - 1;

	if (!func->depth)
		return RANK_START;
	if (is_limited && preset_is_main_road(func->name))
		return RANK_MAIN_ROAD;
	if (is_limited && common_has(func->name))
		return RANK_COMMON + below;
	if (is_limited && preset_any_has_start(func->name))
		return RANK_PRESET;
	return (func->is_seldom ? RANK_SELDOM : RANK_NEAREST) + below;
}
