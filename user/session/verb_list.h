#ifndef NFG_SESSION_VERB_LIST_H
#define NFG_SESSION_VERB_LIST_H

#include "base/table.h"
#include "scope/container.h"

/* containers_put - append the table of netfgraph list --containers: containers and pods, but no systemd units. */
void containers_put(struct tablew *w, const struct container_set *set);

#endif
