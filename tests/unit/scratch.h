#ifndef NFG_TEST_SCRATCH_H
#define NFG_TEST_SCRATCH_H

/* Files for one test, and what it says on stderr. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A directory, and the paths of two files in it. */
extern char scratch_dir[64];
extern char file_path[128];
extern char other_path[128];

/* Make the directory, without the files. */
void new_dir(void);

/* Remove the files and the directory, which must hold nothing else. */
void remove_dir(void);

/* The path of a file with these bytes, which goes when the process ends. */
const char *temp_file(const void *bytes, size_t len);

/* A file without a name. */
int temp_fd(void);

void file_put(const char *where, const char *text);

/* All that a file has, and a NUL; valid until the fourth call from now. fd_text() closes it. */
const char *file_text(const char *where);
const char *fd_text(int fd);

/* stderr goes into said from listen_begin() to listen_end(). */
extern char said[16384];
void listen_begin(void);
void listen_end(void);

#endif
