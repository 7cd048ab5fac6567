#include "format/slowgap.h"

/* Where no gap ends the open calls, links of their own still trace functions: what was open then has no certain return. */
static uint64_t began_ns(const struct slowgaps *gaps)
{
	return gaps->from_ns ? gaps->from_ns : gaps->left_ns;
}

bool slowgaps_ended(const struct slowgaps *gaps, const struct call *call)
{
	if (!call->has_entry || call->has_return)
		return false;
	return gaps->from_ns || (gaps->left_ns && call->begin_ns <= gaps->left_ns);
}

void slowgaps_count(const struct slowgaps *gaps, const struct call *call,
		    struct slowgap_calls *calls)
{
	const enum slowgap kind = gaps->from_ns ? gaps->kind : SLOWGAP_LEFT;
	const uint64_t from_ns = began_ns(gaps);

	calls->cnt++;
	calls->cnts[kind]++;
	if (from_ns > call->begin_ns && from_ns - call->begin_ns > calls->longest_ns[kind])
		calls->longest_ns[kind] = from_ns - call->begin_ns;
}

bool slowgap_takes_stray(struct slowgap_calls *calls)
{
	if (calls->stray_cnt >= calls->cnt)
		return false;
	calls->stray_cnt++;
	return true;
}
