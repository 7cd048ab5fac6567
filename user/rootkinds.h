/* layer 32: decide */
#ifndef NFG_ROOTKINDS_H
#define NFG_ROOTKINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "functab.h"
#include "opts.h"
#include "proto.h"
#include "roots.h"

/* rootkinds_are_wanted - whether the graph opens only at some functions: -G, --preset, --packet, --filter. */
bool rootkinds_are_wanted(const struct opts *opts);

/*
 * rootkinds_check - whether the functions can serve --packet.
 *
 * Return: 0, or -ENOENT when a function of -G, or all functions, have no packet to look at (said on stderr).
 */
int rootkinds_check(const struct opts *opts, const struct functab *functab);

/*
 * rootkinds_check_filter - whether --filter can be asked of the functions; those of which it can become fits_filter.
 *
 * Return: 0, or -ENOENT when a function of -G, or every one, lacks what it names (said on stderr).
 */
int rootkinds_check_filter(const struct opts *opts, struct functab *functab,
			   const struct proto_table *protos);

/*
 * rootkinds_new - the roots that -G, -g, --preset, --packet, --slower-than, --errors-only and --filter ask for.
 *
 * Functions of @functab that open the graph become is_root. *kinds: what each function is, read by
 * the roots; both stay as they are when nothing is asked for. Return: 0 or -ENOMEM. Caller frees
 * with roots_free, then *kinds with free.
 */
int rootkinds_new(struct roots **out, uint8_t **kinds, const struct opts *opts,
		  struct functab *functab);

#endif
