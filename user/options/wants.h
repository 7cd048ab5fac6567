#ifndef NFG_OPTIONS_WANTS_H
#define NFG_OPTIONS_WANTS_H

#include "format/details.h"
#include "attach/kprofile.h"
#include "base/strbuf.h"
#include "options/opts.h"

/* The options translated to the terms of lower folders. */

/* wants_values - NFG_WANT_*: the values to record of each call. */
uint32_t wants_values(const struct opts *opts);

struct details_want wants_details(const struct opts *opts);

/* wants_recorded - for a report of a recording that showed @shown (RECFILE_SHOWS_*). */
struct details_want wants_recorded(const struct opts *opts, uint32_t shown);

/* wants_host - what this host is called: --host, or uname -n; cut to @size. */
void wants_host(const struct opts *opts, char *out, size_t size);

/* wants_kprofile - @has_packets: packets decide what is in scope. */
struct kprofile_want wants_kprofile(const struct opts *opts, bool has_packets);

/*
 * optwords_text - append the command line quoted for a shell: netfgraph, the verb and the options as given, without
 * COMMAND.
 */
void optwords_text(struct strbuf *out, const struct opts *opts);

/* optwords_with - append the command line, COMMAND too, with @words behind the verb. */
void optwords_with(struct strbuf *out, const struct opts *opts, const char *words);

#endif
