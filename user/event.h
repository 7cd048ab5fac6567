/* layer 10: model */
#ifndef NFG_EVENT_H
#define NFG_EVENT_H

#include <stdint.h>

enum event_kind {
	EVENT_ENTRY,
	EVENT_EXIT,
	EVENT_LOST, /* lost_cnt events of this CPU are missing before what follows */
};

/* One thing that happened, as the merged stream of all CPUs gives it. */
struct event {
	uint64_t time_ns;
	union {
		struct {
			uint32_t tid;
			uint16_t func_id;
			uint16_t frame; /* nfg_rec: which call of func_id */
		};
		uint64_t lost_cnt;
	};
	uint32_t cpu;
	enum event_kind kind;
};

#endif
