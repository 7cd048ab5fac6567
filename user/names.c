#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMM_BYTES 16

struct name {
	uint32_t tid; /* 0: free; the idle task needs no name */
	uint32_t len;
	char comm[COMM_BYTES];
};

struct names {
	struct name *slots; /* open addressing */
	size_t cap;
	size_t cnt;
};

int names_new(struct names **out)
{
	struct names *ns = calloc(1, sizeof(*ns));

	if (!ns)
		return -ENOMEM;
	ns->cap = 256;
	ns->slots = calloc(ns->cap, sizeof(*ns->slots));
	if (!ns->slots) {
		free(ns);
		return -ENOMEM;
	}
	*out = ns;
	return 0;
}

void names_free(struct names *ns)
{
	if (!ns)
		return;
	free(ns->slots);
	free(ns);
}

static struct name *slot_find(struct name *slots, size_t cap, uint32_t tid)
{
	size_t idx = (tid * 2654435761u) & (cap - 1);

	while (slots[idx].tid && slots[idx].tid != tid)
		idx = (idx + 1) & (cap - 1);
	return &slots[idx];
}

static void names_grow(struct names *ns)
{
	size_t cap = ns->cap * 2;
	struct name *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return;
	for (size_t i = 0; i < ns->cap; i++) {
		if (ns->slots[i].tid)
			*slot_find(slots, cap, ns->slots[i].tid) = ns->slots[i];
	}
	free(ns->slots);
	ns->slots = slots;
	ns->cap = cap;
}

/* NULL when there is no memory for one more. */
static struct name *name_add(struct names *ns, uint32_t tid)
{
	struct name *name;

	if (ns->cnt * 2 >= ns->cap)
		names_grow(ns);
	if (ns->cnt + 1 >= ns->cap)
		return NULL;
	name = slot_find(ns->slots, ns->cap, tid);
	if (!name->tid) {
		name->tid = tid;
		ns->cnt++;
	}
	return name;
}

void names_set(struct names *ns, uint32_t tid, const char *comm)
{
	struct name *name = tid ? name_add(ns, tid) : NULL;

	if (!name)
		return;
	name->len = (uint32_t)strnlen(comm, COMM_BYTES);
	memcpy(name->comm, comm, name->len);
}

/* /proc/TID serves every thread, though it lists only leaders. */
static size_t comm_read(uint32_t tid, char comm[COMM_BYTES + 1])
{
	char path[32];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, comm, COMM_BYTES + 1);
	close(fd);
	if (len > 0 && comm[len - 1] == '\n')
		len--;
	return len > 0 ? (size_t)len : 0;
}

struct text names_get(struct names *ns, uint32_t tid)
{
	char comm[COMM_BYTES + 1] = "";
	struct name *name;

	if (!tid)
		return (struct text){ "<idle>", 6 };
	name = slot_find(ns->slots, ns->cap, tid);
	if (!name->tid) {
		size_t len = comm_read(tid, comm);

		name = name_add(ns, tid);
		if (!name)
			return (struct text){ "", 0 };
		name->len = (uint32_t)(len < COMM_BYTES ? len : COMM_BYTES);
		memcpy(name->comm, comm, name->len);
	}
	return (struct text){ name->comm, name->len };
}
