#ifndef NFG_SCOPE_CONTAINER_NAMES_H
#define NFG_SCOPE_CONTAINER_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "scope/container.h"

/*
 * Names of containers, from the state files of docker, podman, containerd, nerdctl, CRI-O and the kubelet. No runtime
 * is queried. Private to user/scope/.
 */
struct container_label {
	const char *runtime; /* the file's runtime, if more specific than the cgroup's; NULL */
	char name[CONTAINER_NAME_MAX];      /* all three: "" if unknown */
	char pod[CONTAINER_NAME_MAX];       /* of the Kubernetes pod */
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
	} * books; /* for each owner of state files: names from files that cover many ids */
	size_t cnt;
	size_t cap;
	char data_root[PATH_MAX]; /* docker's; "": not yet read */
	struct strbuf file;       /* the last one read */
	uint64_t read_bytes;      /* for the last book read */
	bool failed;              /* out of memory: names may be missing */
};

/*
 * container_names_find - the name of the container with the id @id (container_is_id) in the cgroup at @path.
 *
 * A cgroup below user-UID.slice belongs to that user's runtime: only that user's files are read for it, and they are
 * read for no other cgroup. @label: zeroed; unknown names stay empty.
 */
void container_names_find(struct container_names *names, const char *path, const char *id,
			  struct container_label *label);

/*
 * container_names_pod - the Kubernetes pod with the uid, or the podman pod with the id @uid, that the cgroup at @path
 * is or is below. Reads the same user's files as container_names_find, with the same @label.
 */
void container_names_pod(struct container_names *names, const char *path, const char *uid,
			 struct container_label *label);

void container_names_release(struct container_names *names);

/* Ids of containers. Private to user/scope/; container_parse, of the same file, is in container.h. */

/* container_hex_len - the number of hexadecimal digits at the start of @text. */
size_t container_hex_len(const char *text);

/* container_is_id - whether all of @name is a container's id, at least CONTAINER_ID_SHORT long. */
bool container_is_id(const char *name);

#endif
