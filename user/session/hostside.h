#ifndef NFG_SESSION_HOSTSIDE_H
#define NFG_SESSION_HOSTSIDE_H

#include "base/strbuf.h"
#include "options/opts.h"

/*
 * The host's side of a container (--host-side): its packets, by the addresses of its network namespace, wherever they pass on this
 * host, instead of its tasks.
 */

/*
 * hostside_opts - make @out of @opts: without the options that choose tasks, with --packet for the addresses of what these have
 * chosen, joined with the user's expression, and with --track.
 *
 * The addresses are those of now. @out borrows what @opts has, but for its packet filter: the caller frees with hostside_release, in
 * all cases.
 * Return: 0 or -errno, already logged unless -ENOMEM: no process, the host's own namespace, no address, no permission.
 */
int hostside_opts(struct opts *out, const struct opts *opts);
void hostside_release(struct opts *out);

/* hostside_expression - append the expression for packets from or to one of @addresses, a line each. @expression: NULL: none. Pure. */
void hostside_expression(struct strbuf *out, const char *addresses, const char *expression);

#endif
