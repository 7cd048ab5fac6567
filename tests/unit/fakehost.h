#ifndef NFG_TEST_FAKEHOST_H
#define NFG_TEST_FAKEHOST_H

/* A host made up in a directory: cgroups, processes, mounts; and what the resolvers say about it on stderr. */
#include "harness.h"
#include "scope/container.h"
#include "scratch.h"

#define ID_A "3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a"
#define ID_B "3f2a77aa00112233445566778899aabbccddeeff00112233445566778899aabb"
#define ID_C "beef00000000000000000000000000000000000000000000000000000000cafe"

extern char base[64]; /* the directory; the others are in it: */
extern char tree[80]; /* cgroups */
extern char proc[80]; /* what /proc would be */
extern char run[80];  /* what /run would be */
extern struct cgroup_host host;

/* Return: the text, valid until the fourth call from now. */
__attribute__((format(printf, 1, 2))) const char *text_of(const char *fmt, ...);

void dirs_make(const char *full); /* with the directories above it */
void file_make(const char *full, const char *content);
/* A file in the home of user @uid, who owns what is there and alone may read it. */
void user_state_make(unsigned int uid, const char *path, const char *content);
void cgroup_make(const char *path, const char *pids);
void process_make(unsigned int pid, const char *comm, const char *cgroups);
bool fake_is_cgroup2(const char *path);
void mountinfo_make(const char *content);

/* Make the host. It goes with base_remove(), at the latest when the process ends. */
void host_make(void);
void base_remove(void);

#define SAYS(part) (in_case("\"%s\"", said), CHECK(strstr(said, part)))

/* Nothing is found for the name, with that error, and what is said has each of these parts. */
#define CGROUP_LACKS(text, err, ...) \
	check_lacks(cgroup_ask(text, &(struct cgroup){ 0 }), err, __VA_ARGS__, NULL)
#define CONTAINER_LACKS(text, err, ...) \
	check_lacks(container_ask(text, &(struct container){ 0 }), err, __VA_ARGS__, NULL)
#define POD_LACKS(text, err, ...) \
	check_lacks(pod_ask(text, &(struct container){ 0 }), err, __VA_ARGS__, NULL)
void check_lacks(int got, int want, ...) __attribute__((sentinel));

/* One line that names what is wrong, one hint. */
void check_form(void);

int cgroup_ask(const char *text, struct cgroup *cg);
int container_ask(const char *text, struct container *box);
int pod_ask(const char *text, struct container *box);
void check_container(const char *text, const char *runtime, const char *name, const char *path);
void check_pod(const char *text, const char *name, const char *path);

#endif
