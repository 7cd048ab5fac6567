#include "trace/windows.h"

#define CYCLE_MIN_NS 1000000000ull
/* Of the time that a cycle is attached, attaching takes at most this part. */
#define ATTACH_PART 4
/* Less would show no call of a few milliseconds. */
#define WINDOW_MIN_NS 10000000ull

/* Without being of use. */
static uint64_t moving_ns(const struct windows *w)
{
	return w->attach_ns + w->detach_ns;
}

static uint64_t cycle_ns(const struct windows *w)
{
	const uint64_t long_ns = moving_ns(w) * ATTACH_PART * 100 / w->pct;

	return long_ns > CYCLE_MIN_NS ? long_ns : CYCLE_MIN_NS;
}

static uint64_t window_ns(const struct windows *w)
{
	const uint64_t share_ns = cycle_ns(w) * w->pct / 100;

	return share_ns > moving_ns(w) + WINDOW_MIN_NS ? share_ns - moving_ns(w) : WINDOW_MIN_NS;
}

void windows_begin(struct windows *w, uint32_t pct, uint64_t now_ns)
{
	*w = (struct windows){ .pct = pct, .is_open = true, .since_ns = now_ns, .cnt = 1 };
	w->next_ns = now_ns + window_ns(w);
}

void windows_close(struct windows *w, uint64_t began_ns, uint64_t now_ns)
{
	w->open_ns += began_ns - w->since_ns;
	w->is_open = false;
	w->since_ns = began_ns;
	w->detach_ns = now_ns - began_ns;
	w->next_ns = now_ns + (window_ns(w) + moving_ns(w)) * (100 - w->pct) / w->pct;
}

uint64_t windows_open(struct windows *w, uint64_t began_ns, uint64_t now_ns)
{
	const uint64_t gap_ns = now_ns - w->since_ns;

	w->closed_ns += gap_ns;
	w->is_open = true;
	w->since_ns = now_ns;
	w->attach_ns = now_ns - began_ns;
	w->next_ns = now_ns + window_ns(w);
	w->cnt++;
	return gap_ns;
}

uint64_t windows_gap(struct windows *w, uint64_t began_ns, uint64_t now_ns)
{
	w->closed_ns += now_ns - began_ns;
	w->since_ns += now_ns - began_ns;
	return now_ns - began_ns;
}

void windows_end(struct windows *w, uint64_t now_ns)
{
	*(w->is_open ? &w->open_ns : &w->closed_ns) += now_ns - w->since_ns;
	w->since_ns = now_ns;
}
