#ifndef NFG_TEST_SCRATCH_H
#define NFG_TEST_SCRATCH_H

/* A directory for one test, files in it, and the time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern char scratch_dir[64];
extern char file_path[128];
extern char other_path[128];

void new_dir(void);
void remove_dir(void);

#endif
