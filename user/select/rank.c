#include "select/rank.h"

#include <stddef.h>
#include <string.h>

#include "select/common.h"
#include "select/preset.h"

#define COMMON_IS_NEARER 2u

/* What common traffic comes through below so many kinds of calls outdoes what is nearer. */
#define OFTEN_KINDS 2

/*
 * Functions by which netfilter enters modules. Once a rule has loaded one, each packet comes through; the host of the list of
 * common traffic had no rules.
 */
static const char *const netfilter_entries[] = {
	"arpt_do_table",        "ebt_do_table",
	"ip6t_do_table",        "ip6table_filter_hook",
	"ip6table_mangle_hook", "ip6table_nat_do_chain",
	"ip6table_raw_hook",    "ip6table_security_hook",
	"ipt_do_table",         "iptable_filter_hook",
	"iptable_mangle_hook",  "iptable_nat_do_chain",
	"iptable_raw_hook",     "iptable_security_hook",
	"ipv4_confirm",         "ipv4_conntrack_defrag",
	"ipv4_conntrack_in",    "ipv4_conntrack_local",
	"ipv6_confirm",         "ipv6_conntrack_in",
	"ipv6_conntrack_local", "ipv6_defrag",
	"nf_confirm",           "nf_conntrack_confirm",
	"nf_conntrack_in",      "nf_nat_inet_fn",
	"nf_nat_ipv4_fn",       "nf_nat_ipv4_in",
	"nf_nat_ipv4_local_fn", "nf_nat_ipv4_local_in",
	"nf_nat_ipv4_out",      "nf_nat_ipv4_pre_routing",
	"nf_nat_ipv6_fn",       "nf_nat_ipv6_in",
	"nf_nat_ipv6_local_fn", "nf_nat_ipv6_out",
	"nft_do_chain",         "nft_do_chain_inet",
	"nft_do_chain_ipv4",    "nft_do_chain_ipv6",
	"nft_nat_do_chain",
};

static bool is_netfilter_entry(const char *name)
{
	for (size_t i = 0; i < sizeof(netfilter_entries) / sizeof(netfilter_entries[0]); i++) {
		if (!strcmp(netfilter_entries[i], name))
			return true;
	}
	return false;
}

struct rank_view rank_view(const struct reach_start *starts, size_t cnt, bool is_limited)
{
	struct rank_view view = { .is_limited = is_limited, .is_common = true };

	for (size_t i = 0; i < cnt; i++) {
		const uint32_t below = common_below(starts[i].name);

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

	if (preset_is_main_road(func->name) || is_netfilter_entry(func->name) ||
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
