#ifndef NFG_FORMAT_CALLSYMS_H
#define NFG_FORMAT_CALLSYMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* A function, unique by name and module. */
struct callsym {
	struct text name;
	struct text module; /* len 0: built in */
	uint32_t id;        /* 0, 1, 2 ... in order of appearance */
};

/* The functions of a trace. Zeroed: none. */
struct callsyms {
	struct callsym **items; /* by id; items do not move */
	size_t cnt;
	size_t cap;
	struct callsym **slots; /* by name, open addressing; at least half are free */
	size_t slot_cnt;        /* 0 or a power of two */
	struct arena *arena;    /* the items and their strings */
};

/* callsyms_get - look up the function, adding it if new; the texts are copied. NULL: no memory. */
const struct callsym *callsyms_get(struct callsyms *syms, struct text name, struct text module);
void callsyms_release(struct callsyms *syms);

#endif
