#ifndef NFG_FORMAT_STAGES_DIFF_H
#define NFG_FORMAT_STAGES_DIFF_H

#include "base/strbuf.h"
#include "base/table.h"
#include "format/profile_diff.h"
#include "format/stages.h"

/* Compares the times of packets in each stage of the stack, of two files. */
struct stages_diff {
	struct profile_side sides[2];
	const struct stages_sums *sums[2];
};

/* stages_diff_put - append the table; in text with what is compared. Return: 0 or -ENOMEM. */
int stages_diff_put(const struct stages_diff *diff, struct tablew *w);

/* stages_diff_json - append the same as an object. Return: 0 or -ENOMEM. */
int stages_diff_json(const struct stages_diff *diff, struct strbuf *out);

#endif
