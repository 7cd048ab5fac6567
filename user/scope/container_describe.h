#ifndef NFG_SCOPE_CONTAINER_DESCRIBE_H
#define NFG_SCOPE_CONTAINER_DESCRIBE_H

#include "base/strbuf.h"
#include "scope/container.h"

/*
 * container_describe - append "3f2a1b0c9d8e (docker, web, nginx 1234)": id, runtime, name, a process. @is_long: the
 * whole id, for when the short one may be what was typed. Names are not escaped. Private to user/scope/.
 */
void container_describe(const struct cgroup_host *host, const struct container_seen *item,
			bool is_long, struct strbuf *line);

#endif
