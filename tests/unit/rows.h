#ifndef NFG_TEST_ROWS_H
#define NFG_TEST_ROWS_H

#include "trace/row.h"

#define TEXT(literal) ((struct text){ literal, sizeof(literal) - 1 })
#define CURL          ((struct task_name){ 77, TEXT("curl") })

/* A row of curl's on CPU 1. @name is not copied. */
struct row call_row(enum row_kind kind, uint32_t depth, uint64_t time_ns, uint64_t duration_ns,
		    const char *name);

/*
 * Rows of curl's on CPU 1 from a text: the time of each and what it is.
 *
 *   1000 a{        entry
 *   1100 b[mod];30 leaf of 30 ns, of a module
 *   1500 }         return of the innermost call, with the time since its entry; }b;20: of b, after 20 ns
 *   1500 }b;?      that may belong to another call (lacks_duration)
 *   1600 lost3
 *   @2             the depth of the next row; else the number of open calls of the task
 *   tid78          of another task, from here on
 */
struct row_list {
	struct row *rows; /* as long as the process */
	size_t cnt;
};

struct row_list rows_of(const char *script);

#endif
