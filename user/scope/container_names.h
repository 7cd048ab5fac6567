#ifndef NFG_SCOPE_CONTAINER_NAMES_H
#define NFG_SCOPE_CONTAINER_NAMES_H

#include <limits.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "scope/container.h"

/*
 * The names that people give containers, from the files in which docker, podman, containerd, nerdctl, CRI-O and the
 * kubelet keep their state. No runtime is asked. Private to user/scope/.
 */
struct container_label {
	const char *runtime; /* whose file it was, if that says more than the cgroup; NULL */
	char name[CONTAINER_NAME_MAX];      /* all three "" when not known */
	char pod[CONTAINER_NAME_MAX];       /* of Kubernetes */
	char namespace[CONTAINER_NAME_MAX]; /* the pod's */
};

struct container_names {
	const struct cgroup_host *host;
	struct container_book {
		uint32_t uid;
		bool has_home;
		char home[PATH_MAX];
		struct container_page *pages;
		size_t cnt;
		size_t cap;
	} * books; /* for each owner of state files: what does not have a file for each id */
	size_t cnt;
	size_t cap;
	char data_root[PATH_MAX]; /* docker's; "" not read yet */
	struct strbuf file;       /* read last */
	uint64_t read_bytes;      /* for the book that was read last */
	bool failed;              /* no memory: something may be missing */
};

/*
 * container_names_find - what the container with the id @id in the cgroup at @path is called.
 *
 * A cgroup below user-UID.slice is of that user's runtime: only files of that user are read for it, and files of that
 * user for no other. Unknown names are empty.
 */
void container_names_find(struct container_names *names, const char *path, const char *id,
			  struct container_label *label);

/* container_names_pod - the pod with the uid @uid of Kubernetes; pod and namespace are "" when not known. */
void container_names_pod(struct container_names *names, const char *uid,
			 struct container_label *label);

void container_names_release(struct container_names *names);

#endif
