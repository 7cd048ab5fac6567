#ifndef NFG_TEST_ROWS_H
#define NFG_TEST_ROWS_H

#include "trace/row.h"

#define TEXT(literal) ((struct text){ literal, sizeof(literal) - 1 })
#define CURL          ((struct task_name){ 77, TEXT("curl") })

/* A row of curl's on CPU 1. @name is not copied. */
struct row call_row(enum row_kind kind, uint32_t depth, uint64_t time_ns, uint64_t duration_ns,
		    const char *name);

#endif
