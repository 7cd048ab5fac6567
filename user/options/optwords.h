#ifndef NFG_OPTIONS_OPTWORDS_H
#define NFG_OPTIONS_OPTWORDS_H

#include "base/strbuf.h"
#include "options/opts.h"

/*
 * optwords_text - append the command line quoted for a shell: netfgraph, the verb and the options as given, without
 * COMMAND.
 */
void optwords_text(struct strbuf *out, const struct opts *opts);

/* optwords_with - append the command line, COMMAND too, with @words behind the verb. */
void optwords_with(struct strbuf *out, const struct opts *opts, const char *words);

#endif
