#include "rows.h"

#include <string.h>

struct row call_row(enum row_kind kind, uint32_t depth, uint64_t time_ns, uint64_t duration_ns,
		    const char *name)
{
	return (struct row){
		.kind = kind,
		.cpu = 1,
		.depth = depth,
		.time_ns = time_ns,
		.duration_ns = duration_ns,
		.task = CURL,
		.name = { name, strlen(name) },
	};
}
