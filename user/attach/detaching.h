#ifndef NFG_ATTACH_DETACHING_H
#define NFG_ATTACH_DETACHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/attachmode.h"

/*
 * Which processes of this host detach, and for how long: each locks a part of this file, and keeps there how much time is
 * left. Before 7.0 each link that is closed waits for a grace period under locks that attaching needs, too.
 */
#define DETACHING_PATH "/run/netfgraph-detaching"

/* A part of the file that this process has locked. All processes that inherit @fd have it, until the last one has closed it. */
struct detaching {
	int fd; /* negative: none */
	unsigned int slot;
};

/* detaching_begin - lock a part of the file @path (NULL: of none). It goes on without one: others are only told less. */
void detaching_begin(struct detaching *own, const char *path, uint64_t left_ns);

/* Nothing is left that others wait for, though the descriptor may stay open for a while. */
#define DETACHING_OVER_NS 1

/* detaching_note - tell others that it takes @left_ns more; 0: unknown. */
void detaching_note(const struct detaching *own, uint64_t left_ns);

/* detaching_end - close this process's descriptor. */
void detaching_end(struct detaching *own);

/* The other processes that detach. */
struct detaching_others {
	size_t cnt;
	uint64_t each_ns[ATTACH_OTHERS_MAX]; /* what is left to each of them; 0: unknown */
	uint64_t left_ns;                    /* of all together; 0: unknown */
};

/*
 * detaching_others - look for them in the file @path. None where the file cannot be opened.
 *
 * @own: what this process has locked there, which is left out; NULL: nothing.
 */
struct detaching_others detaching_others(const char *path, const struct detaching *own);

/* detaching_beside_ns - what who detaches for @own_ns takes longer beside @others: all wait for the same locks by turns. */
uint64_t detaching_beside_ns(const struct detaching_others *others, uint64_t own_ns);

/*
 * detaching_text - what to tell who attaches beside @others; @out has room for DETACHING_TEXT bytes.
 *
 * @beside_us: how long the others take beside it (struct attach_beside).
 * Return: whether there is anything to tell: they take so long that it matters, or nobody knows.
 */
#define DETACHING_TEXT 160
bool detaching_text(const struct detaching_others *others, uint64_t beside_us, char *out);

/*
 * detaching_tell - look for them, and warn who attaches @shares, once in the life of this process. Return: what detaching_others
 * says.
 */
struct detaching_others detaching_tell(const char *path, const struct attach_shares *shares);

#endif
