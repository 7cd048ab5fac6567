#ifndef NFG_REPORT_START_SETUP_H
#define NFG_REPORT_START_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/functab.h"
#include "options/opts.h"
#include "kernel/proto.h"
#include "trace/starts.h"

/* start_setup_are_wanted - whether the graph opens only at some functions: -G, --preset, --packet, --filter. */
bool start_setup_are_wanted(const struct opts *opts);

/*
 * start_setup_check - whether the functions can serve --packet.
 *
 * Return: 0, or -ENOENT when a function of -G, or all functions, have no packet to look at (said on stderr).
 */
int start_setup_check(const struct opts *opts, const struct functab *functab);

/*
 * start_setup_check_filter - whether --filter can be asked of the functions; those of which it can become fits_filter.
 *
 * Return: 0, or -ENOENT when a function of -G, or every one, lacks what it names (said on stderr).
 */
int start_setup_check_filter(const struct opts *opts, struct functab *functab,
			     const struct proto_table *protos);

/*
 * start_setup_new - the roots that -G, -g, --preset, --packet, --slower-than, --errors-only and --filter ask for.
 *
 * Functions of @functab that open the graph become is_root. *kinds: what each function is, read by
 * the roots; both stay as they are when nothing is asked for. Return: 0 or -ENOMEM. Caller frees
 * with starts_free, then *kinds with free.
 */
int start_setup_new(struct starts **out, uint8_t **kinds, const struct opts *opts,
		    struct functab *functab);

#endif
