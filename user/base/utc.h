#ifndef NFG_BASE_UTC_H
#define NFG_BASE_UTC_H

#include <stdint.h>

#include "base/strbuf.h"

/* utc_put - append a time, in ns since 1970, as ISO 8601: 2026-11-23T07:27:36.123456Z. */
void utc_put(struct strbuf *out, uint64_t real_ns);

#endif
