#ifndef NFG_OPTIONS_OPTWORDS_H
#define NFG_OPTIONS_OPTWORDS_H

#include "base/strbuf.h"
#include "options/opts.h"

/*
 * optwords_text - append the command line with a verb as a shell would read it: netfgraph, the verb and the options as they
 * were given, without COMMAND.
 */
void optwords_text(struct strbuf *out, const struct opts *opts);

#endif
