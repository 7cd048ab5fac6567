#include "format/stamps.h"

#define TAI_NS 37000000000ull /* TAI is that much ahead of CLOCK_REALTIME, since 2017 */

/* @offset_ns: from the trace's clock to the stamp's. */
static bool wait_by(uint64_t stamp, uint64_t offset_ns, uint64_t now_ns, uint64_t *wait_ns)
{
	*wait_ns = now_ns + offset_ns - stamp;
	return stamp >= offset_ns && *wait_ns <= STAMP_MAX_NS;
}

bool stamp_wait(int64_t stamp, bool may_be_tai, uint64_t real_offset_ns, uint64_t now_ns,
		uint64_t *wait_ns)
{
	if (stamp <= 0 || !real_offset_ns)
		return false;
	return wait_by((uint64_t)stamp, real_offset_ns, now_ns, wait_ns) ||
	       (may_be_tai && wait_by((uint64_t)stamp, real_offset_ns + TAI_NS, now_ns, wait_ns));
}

uint64_t stamp_due(int64_t stamp, uint64_t real_offset_ns, uint64_t since_ns, uint64_t now_ns)
{
	const uint64_t offsets_ns[] = { 0, real_offset_ns, real_offset_ns + TAI_NS };

	for (int i = 0; stamp > 0 && i < (real_offset_ns ? 3 : 1); i++) {
		const uint64_t due_ns = (uint64_t)stamp - offsets_ns[i];

		if ((uint64_t)stamp >= offsets_ns[i] && due_ns > since_ns && due_ns <= now_ns)
			return due_ns;
	}
	return 0;
}
