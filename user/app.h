/* layer 60: app */
#ifndef NFG_APP_H
#define NFG_APP_H

#include "opts.h"

/* app_run - one trace, start to end. Return: the program's exit status (EXIT STATUS in the manual). */
int app_run(const struct opts *opts);

#endif
