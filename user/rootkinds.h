/* layer 32: decide */
#ifndef NFG_ROOTKINDS_H
#define NFG_ROOTKINDS_H

#include <stdint.h>

#include "functab.h"
#include "opts.h"
#include "roots.h"

/*
 * rootkinds_new - the roots that -G, -g, --preset, --slower-than and --errors-only ask for.
 *
 * Functions of @functab that open the graph become is_root. *kinds: what each function is, read by
 * the roots; both stay as they are when nothing is asked for. Return: 0 or -ENOMEM. Caller frees
 * with roots_free, then *kinds with free.
 */
int rootkinds_new(struct roots **out, uint8_t **kinds, const struct opts *opts,
		  struct functab *functab);

#endif
