#ifndef NFG_SESSION_SESSION_H
#define NFG_SESSION_SESSION_H

#include "options/opts.h"

/* session_run - run one trace from start to end. Return: the program's exit status (EXIT STATUS in the manual). */
int session_run(const struct opts *opts);

#endif
