#ifndef NFG_TEST_SCRATCH_H
#define NFG_TEST_SCRATCH_H

/* A directory for one test, and the paths of two files in it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern char scratch_dir[64];
extern char file_path[128];
extern char other_path[128];

/* Make the directory, without the files. */
void new_dir(void);

/* Remove the files and the directory, which must hold nothing else. */
void remove_dir(void);

#endif
