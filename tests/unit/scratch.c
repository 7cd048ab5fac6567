#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"

char scratch_dir[64];
char file_path[128];
char other_path[128];

void new_dir(void)
{
	snprintf(scratch_dir, sizeof(scratch_dir), "/tmp/outfile.XXXXXX");
	CHECK(mkdtemp(scratch_dir));
	snprintf(file_path, sizeof(file_path), "%s/x", scratch_dir);
	snprintf(other_path, sizeof(other_path), "%s/y", scratch_dir);
}

void remove_dir(void)
{
	unlink(file_path);
	unlink(other_path);
	CHECK(!rmdir(scratch_dir));
}
