#ifndef NFG_SESSION_SETUP_H
#define NFG_SESSION_SETUP_H

#include <stdbool.h>

#include "options/opts.h"

/* cpus_check - Return: whether this host has all CPUs of --cpu; if false, already logged. */
bool cpus_check(const struct opts *opts);

#endif
