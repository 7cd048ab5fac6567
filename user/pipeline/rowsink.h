#ifndef NFG_PIPELINE_ROWSINK_H
#define NFG_PIPELINE_ROWSINK_H

#include "pipeline/sink.h"

/* Shared by the sinks that turn rows into bytes. Only for sink_*.c. */
struct rowsink {
	struct sink sink;        /* first */
	const struct opts *opts; /* NULL: none */
	struct output *output;
	const struct trace_facts *facts;
	int err; /* the first error */
	bool is_reported;
};

/* rowsink_fail - remember the first error; 0: no error. */
static inline void rowsink_fail(struct rowsink *rs, int err)
{
	if (err < 0 && !rs->err)
		rs->err = err;
}

/* rowsink_write - sink_ops.flush: logs the error passed to rowsink_fail once, and returns it from then on. */
int rowsink_write(struct rowsink *rs, bool is_idle);

int rowsink_close(struct sink *sink, const struct recfile_summary *losses);
bool rowsink_is_full(const struct sink *sink);

#endif
