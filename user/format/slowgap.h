#ifndef NFG_FORMAT_SLOWGAP_H
#define NFG_FORMAT_SLOWGAP_H

#include <stdbool.h>
#include <stdint.h>

#include "format/calltree.h"

/* Gaps in a trace: the returns of calls that were open when one began are not known. Pure. */
enum slowgap {
	SLOWGAP_LEFT,   /* functions were left out */
	SLOWGAP_WINDOW, /* a window of --duty ended */
	SLOWGAP_CNT,
};

/* The gaps so far. Zeroed: none. */
struct slowgaps {
	uint64_t left_ns; /* when functions were left out last; 0: never */
	uint64_t from_ns; /* when the gap began that now ends the open calls; 0: none does, */
	enum slowgap kind;
};

/* A start function's calls that were open when a gap began. Zeroed: none. */
struct slowgap_calls {
	uint64_t cnt;
	uint64_t cnts[SLOWGAP_CNT];
	uint64_t longest_ns[SLOWGAP_CNT]; /* how long the longest of these had taken then */
	uint64_t stray_cnt;               /* returns of them that came alone */
};

/* slowgaps_ended - whether a gap ended the call, or let its return be missed. */
bool slowgaps_ended(const struct slowgaps *gaps, const struct call *call);

/* slowgaps_count - count a call that slowgaps_ended. */
void slowgaps_count(const struct slowgaps *gaps, const struct call *call,
		    struct slowgap_calls *calls);

/* slowgap_takes_stray - whether a return without an entry is taken for that of a call that was counted. */
bool slowgap_takes_stray(struct slowgap_calls *calls);

#endif
