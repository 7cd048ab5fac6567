#ifndef NFG_PIPELINE_ROWSINK_H
#define NFG_PIPELINE_ROWSINK_H

#include "pipeline/sink.h"

/* What the sinks share that make bytes of rows. Only for sink_*.c. */
struct rowsink {
	struct sink sink;        /* first */
	const struct opts *opts; /* NULL: none */
	struct output *output;
	const struct trace_facts *facts;
	int err; /* the first thing that went wrong */
	bool is_said;
};

/* rowsink_fail - remember what went wrong; 0 is nothing. */
static inline void rowsink_fail(struct rowsink *rs, int err)
{
	if (err < 0 && !rs->err)
		rs->err = err;
}

/* rowsink_write - as sink_ops.flush; what rowsink_fail was told is said once, and returned from then on. */
int rowsink_write(struct rowsink *rs, bool is_idle);

int rowsink_close(struct sink *sink, const struct recfile_summary *losses);
bool rowsink_is_full(const struct sink *sink);

#endif
