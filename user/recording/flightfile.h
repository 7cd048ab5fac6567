#ifndef NFG_RECORDING_FLIGHTFILE_H
#define NFG_RECORDING_FLIGHTFILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The recordings of a flight recorder: files in a directory, each put together from segments. One appears when it is whole.
 * Their names are those of moments (netfgraph-20261123T182000.123Z.rec), in the order of time.
 */
struct flightfile {
	int dir_fd;
	int fd; /* -1: none is being written */
	int err;
	uint64_t from_ns; /* chunks whose events are all older are left out */
	uint64_t bytes;
	uint64_t event_cnt;
	uint32_t seq;
	char name[64];
	char part[72]; /* the name while it is written */
};

/* flightfile_dir - open @dir, made if there is none, for one recorder at a time. Return: a descriptor, or -errno (-EBUSY). */
int flightfile_dir(const char *dir);

/*
 * flightfile_room - remove the oldest recordings until those that are there and @bytes more take no more than @disk_bytes.
 * Return: how many were removed.
 */
uint64_t flightfile_room(int dir_fd, uint64_t bytes, uint64_t disk_bytes);

/* flightfile_begin - for what happened at @real_ns. Return: 0 or -errno. */
int flightfile_begin(struct flightfile *f, int dir_fd, uint64_t real_ns, uint64_t from_ns);

/*
 * flightfile_put - a segment, which is a whole recording without its summary. Its chunks get new numbers in @segment, too.
 * Return: 0 or -errno, which the following calls return as well.
 */
int flightfile_put(struct flightfile *f, void *segment, size_t len);

/* flightfile_end - it is whole, and gets its name. Return: 0, or -errno: it is removed. */
int flightfile_end(struct flightfile *f);

/* flightfile_abandon - remove it; nothing if none is being written. */
void flightfile_abandon(struct flightfile *f);

#endif
