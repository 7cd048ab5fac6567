#ifndef NFG_OPTIONS_MANUAL_H
#define NFG_OPTIONS_MANUAL_H

#include "base/strbuf.h"

/* manual_help - what --help prints, lines of at most 80 columns. */
void manual_help(struct strbuf *out);

/* manual_man - the manual page, as source for man(1). */
void manual_man(struct strbuf *out);

#endif
