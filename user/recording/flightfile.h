#ifndef NFG_RECORDING_FLIGHTFILE_H
#define NFG_RECORDING_FLIGHTFILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The recordings of a flight recorder: files in a directory, each assembled from segments. A file appears when it is
 * complete. Names are times (netfgraph-20261123T182000.123Z.rec), so they sort by time.
 */
struct flightfile {
	int dir_fd;
	int fd; /* -1: none is being written */
	int err;
	uint64_t from_ns; /* chunks with only older events are left out */
	uint64_t bytes;
	uint64_t event_cnt;
	uint32_t seq;
	char name[64];
	char part[72]; /* the name while it is written */
};

/*
 * flightfile_dir - open @dir, created if missing, for one recorder at a time. A directory of another user in /tmp is
 * refused (outfile_open_dir). Return: a descriptor, or -errno (-EBUSY).
 */
int flightfile_dir(const char *dir);

/*
 * flightfile_room - remove the oldest recordings until the others and @bytes more take at most @disk_bytes. Return:
 * the number removed.
 */
uint64_t flightfile_room(int dir_fd, uint64_t bytes, uint64_t disk_bytes);

/* flightfile_begin - begin a file, which must be new, for a trigger at @real_ns. Return: 0 or -errno. */
int flightfile_begin(struct flightfile *f, int dir_fd, uint64_t real_ns, uint64_t from_ns);

/*
 * flightfile_put - append a segment, a complete recording without its summary. Renumbers the chunks, in @segment too.
 * Return: 0 or -errno, sticky.
 */
int flightfile_put(struct flightfile *f, void *segment, size_t len);

/* flightfile_end - complete the file and give it its name. Return: 0, or -errno after removing it. */
int flightfile_end(struct flightfile *f);

/* flightfile_abandon - remove an unfinished file, if any. */
void flightfile_abandon(struct flightfile *f);

#endif
