#ifndef NFG_FORMAT_DATHEAD_H
#define NFG_FORMAT_DATHEAD_H

#include <stdint.h>

#include "trace/row.h"
#include "base/strbuf.h"

/* The head of a trace.dat file, in front of its pages, in both versions of the format. Pure. */

#define DATHEAD_PAGE_BYTES 4096

/* Event types, as the formats in the file describe them; the numbers are the kernel's. */
#define DATHEAD_ID_PRINT 5
#define DATHEAD_ID_EXIT  10
#define DATHEAD_ID_ENTRY 11

struct dathead {
	const char *release; /* uname -r; NULL: unknown */
	struct text kallsyms;
	struct text cmdlines;
	const uint64_t *cpu_bytes; /* whole pages of each CPU; they follow in this order */
	uint32_t cpu_cnt;
};

/*
 * dathead_write_v6 - version 6: each part where the one before ends.
 *
 * @out is empty at first and holds whole pages afterwards: those of the CPUs come next.
 */
void dathead_write_v6(const struct dathead *head, struct strbuf *out);

/*
 * dathead_write_v7 - version 7: sections with a header, found by the options section.
 *
 * As above. Nothing is compressed. The pages belong to the last section.
 */
void dathead_write_v7(const struct dathead *head, struct strbuf *out);

#endif
