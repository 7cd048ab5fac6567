#ifndef NFG_SESSION_CONTAINERS_H
#define NFG_SESSION_CONTAINERS_H

#include "base/strbuf.h"
#include "format/datarow.h"
#include "scope/container.h"

/* The table of containers and pods that netfgraph list --containers prints; systemd units are left out. */

/* containers_text - append columns, with a header; - for unknown values. Names cannot begin another column or line. */
void containers_text(const struct container_set *set, struct strbuf *out);

/* containers_json - append an array of objects; null for unknown values. */
void containers_json(const struct container_set *set, struct strbuf *out);

/* containers_data - append a row for each as data, CSV with its header; @host: uname -n. */
void containers_data(const struct container_set *set, const char *host, enum datarow_kind kind,
		     struct strbuf *out);

#endif
