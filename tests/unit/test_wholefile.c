/* Files that others read at any moment. */
#include "base/output.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "scratch.h"

BEFORE(new_dir);
AFTER(remove_dir);

static struct text text(const char *from)
{
	return (struct text){ from, strlen(from) };
}

static bool holds(const char *want)
{
	char got[64] = "";
	FILE *file = fopen(file_path, "r");
	size_t len;

	CHECK(file);
	len = fread(got, 1, sizeof(got) - 1, file);
	fclose(file);
	return len == strlen(want) && !memcmp(got, want, len);
}

TEST(a_whole_file_replaces_the_other)
{
	struct stat before;
	struct stat after;

	CHECK(!wholefile_write(file_path, text("one")) && holds("one"));
	CHECK(!stat(file_path, &before) && (before.st_mode & 07777) == 0644);
	CHECK(!wholefile_write(file_path, text("two")) && holds("two"));
	CHECK(!stat(file_path, &after) && before.st_ino != after.st_ino);
	unlink(file_path);
}

/* remove_dir finds what would be left. */
TEST(a_whole_file_stays_where_there_is_no_room)
{
	const struct rlimit none = { 2, RLIM_INFINITY };
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	CHECK(!wholefile_write(file_path, text("old")));
	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &none));
	CHECK(wholefile_write(file_path, text("newer")) == -EFBIG);
	CHECK(!setrlimit(RLIMIT_FSIZE, &all));
	CHECK(holds("old"));
	CHECK(wholefile_write("/nosuch/x", text("x")) == -ENOENT);
	unlink(file_path);
}
