#ifndef NFG_OPTIONS_WANTS_H
#define NFG_OPTIONS_WANTS_H

#include "annotate/details.h"
#include "attach/kprofile.h"
#include "options/opts.h"

/* What the options ask of the folders below, in those folders' own terms. */

/* wants_values - NFG_WANT_*: what has to be known of each call. */
uint32_t wants_values(const struct opts *opts);

struct details_want wants_details(const struct opts *opts);

/* wants_recorded - of a report of a recording that showed @shown, RECFILE_SHOWS_*. */
struct details_want wants_recorded(const struct opts *opts, uint32_t shown);

/* wants_kprofile - @has_packets: packets decide what is in scope. */
struct kprofile_want wants_kprofile(const struct opts *opts, bool has_packets);

#endif
