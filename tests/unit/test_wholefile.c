/* Files that others read at any moment. */
#include "base/output.h"

#include <signal.h>
#include <sys/resource.h>

#include "harness.h"
#include "scratch.h"

BEFORE(new_dir);
AFTER(remove_dir);

static bool holds(const char *want)
{
	return !strcmp(file_text(file_path), want);
}

TEST(a_whole_file_replaces_the_other)
{
	struct stat before;
	struct stat after;

	CHECK(!wholefile_write(file_path, text_from("one")) && holds("one"));
	CHECK(!stat(file_path, &before) && (before.st_mode & 07777) == 0644);
	CHECK(!wholefile_write(file_path, text_from("two")) && holds("two"));
	CHECK(!stat(file_path, &after) && before.st_ino != after.st_ino);
	unlink(file_path);
}

/* remove_dir finds what would be left. */
TEST(a_whole_file_stays_where_there_is_no_room)
{
	const struct rlimit none = { 2, RLIM_INFINITY };
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	CHECK(!wholefile_write(file_path, text_from("old")));
	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &none));
	CHECK(wholefile_write(file_path, text_from("newer")) == -EFBIG);
	CHECK(!setrlimit(RLIMIT_FSIZE, &all) && holds("old"));
	CHECK(wholefile_write("/nosuch/x", text_from("x")) == -ENOENT);
	unlink(file_path);
}
