#ifndef NFG_SESSION_SESSION_H
#define NFG_SESSION_SESSION_H

#include "base/verdict.h"
#include "options/opts.h"

/* session_run - run one trace from start to end. Return: how it ended; as its COMMAND did, if tracing went well. */
enum verdict session_run(const struct opts *opts);

#endif
