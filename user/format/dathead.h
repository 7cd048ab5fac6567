#ifndef NFG_FORMAT_DATHEAD_H
#define NFG_FORMAT_DATHEAD_H

#include <stdint.h>

#include "trace/row.h"
#include "base/strbuf.h"

/* The head of a trace.dat file, in front of its pages, in both versions of the format. Pure. */

#define DATHEAD_PAGE_BYTES 4096

/* Event types described by the formats in the file; the numbers are the kernel's. */
#define DATHEAD_ID_PRINT 5
#define DATHEAD_ID_EXIT  10
#define DATHEAD_ID_ENTRY 11

struct dathead {
	const char *release; /* uname -r; NULL: unknown */
	struct text kallsyms;
	struct text cmdlines;
	const uint64_t *cpu_bytes; /* whole pages of each CPU, which follow in this order */
	uint32_t cpu_cnt;
};

/*
 * dathead_write_v6 - version 6: the parts follow each other.
 *
 * @out must be empty; afterwards it holds whole pages. The CPUs' pages come next.
 */
void dathead_write_v6(const struct dathead *head, struct strbuf *out);

/*
 * dathead_write_v7 - version 7: sections with headers, listed by the options section.
 *
 * @out: as above. Nothing is compressed. The pages belong to the last section.
 */
void dathead_write_v7(const struct dathead *head, struct strbuf *out);

#endif
