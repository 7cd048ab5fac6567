#include "scope/container_describe.h"

#include <stdio.h>
#include <string.h>

#include "scope/container_layout.h"

static void visit_first(void *ctx, uint32_t pid)
{
	uint32_t *first = ctx;

	if (pid && (!*first || pid < *first))
		*first = pid;
}

static void comm_read(const struct cgroup_host *host, uint32_t pid, char *comm, size_t size)
{
	char path[PATH_MAX + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u/comm", host->proc, pid);
	file = fopen(path, "re");
	if (!file || !fgets(comm, (int)size, file))
		snprintf(comm, size, "?");
	comm[strcspn(comm, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* "default/web-0/nginx": the name that a user may type; empty if only the id is known. */
static void title_add(const struct container_seen *item, struct strbuf *line)
{
	if (item->namespace[0] && item->pod[0])
		strbuf_printf(line, "%s/", item->namespace);
	strbuf_printf(line, "%s%s%s", item->pod, item->pod[0] && item->name[0] ? "/" : "",
		      item->name);
}

void container_describe(const struct cgroup_host *host, const struct container_seen *item,
			bool is_long, struct strbuf *line)
{
	bool is_short = container_is_id(item->id) && !is_long;
	uint32_t pid = 0;
	char comm[32];

	cgroup_pids(host, item->path, CGROUP_PROCS, true, visit_first, &pid);
	if (item->id[0])
		strbuf_printf(line, "%.*s (%s, ",
			      is_short ? CONTAINER_ID_SHORT : CONTAINER_NAME_MAX, item->id,
			      item->runtime);
	else
		strbuf_printf(line, "%s (%s, ", item->name, item->runtime);
	if (item->id[0] && (item->name[0] || item->pod[0])) {
		title_add(item, line);
		strbuf_str(line, ", ");
	}
	if (pid) {
		comm_read(host, pid, comm, sizeof(comm));
		strbuf_printf(line, "%s %u)", comm, pid);
	} else {
		strbuf_str(line, "no process)");
	}
}
