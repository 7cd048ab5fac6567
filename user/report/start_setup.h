#ifndef NFG_REPORT_START_SETUP_H
#define NFG_REPORT_START_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/functab.h"
#include "options/opts.h"
#include "kernel/proto.h"
#include "trace/starts.h"

/* start_setup_are_wanted - whether only the calls of start functions are shown: -G, --preset, --packet, --filter. */
bool start_setup_are_wanted(const struct opts *opts);

/*
 * start_setup_check - whether --packet can be asked of the functions.
 *
 * Return: 0, or -ENOENT when a function of -G, or every function, has no packet to look at (said on stderr).
 */
int start_setup_check(const struct opts *opts, const struct functab *functab);

/*
 * start_setup_check_filter - whether --filter can be asked of the functions. Sets fits_filter of each that has all that
 * the filter names.
 *
 * Return: 0, or -ENOENT when a function of -G, or every function, lacks something (said on stderr).
 */
int start_setup_check_filter(const struct opts *opts, struct functab *functab,
			     const struct proto_table *protos);

/*
 * start_setup_new - what -G, -g, --preset, --packet, --slower-than, --errors-only and --filter ask for.
 *
 * Sets is_start of each start function in @functab. *kinds: what each function is, which *out reads. Both stay as they
 * are when none of the options is given. Return: 0 or -ENOMEM. Caller frees *out with starts_free, then *kinds with
 * free.
 */
int start_setup_new(struct starts **out, uint8_t **kinds, const struct opts *opts,
		    struct functab *functab);

/* start_setup_say - with -v: how many calls of start functions there were, and what became of them. */
void start_setup_say(const struct starts *starts);

#endif
