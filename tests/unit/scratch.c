#include "scratch.h"

#include <sys/mman.h>

#include "harness.h"

char scratch_dir[64];
char file_path[128];
char other_path[128];
char said[16384];

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

static char temp_paths[64][32];
static size_t temp_cnt;

static void remove_temps(void)
{
	while (temp_cnt)
		unlink(temp_paths[--temp_cnt]);
}

const char *temp_file(const void *bytes, size_t len)
{
	char *path = temp_paths[temp_cnt];
	int fd;

	CHECK(temp_cnt < CNT_OF(temp_paths));
	strcpy(path, "/tmp/nfg-test.XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && !close(fd));
	if (!temp_cnt++)
		atexit(remove_temps);
	return path;
}

int temp_fd(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

void file_put(const char *where, const char *text)
{
	FILE *file = fopen(where, "we");

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

const char *fd_text(int fd)
{
	static char *texts[4];
	static unsigned int turn;
	char **text = &texts[turn++ % 4];
	off_t len = lseek(fd, 0, SEEK_END);

	free(*text);
	*text = calloc(1, (size_t)len + 1);
	CHECK(*text && pread(fd, *text, (size_t)len, 0) == len);
	close(fd);
	return *text;
}

const char *file_text(const char *where)
{
	int fd = open(where, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd_text(fd);
}

static int said_fd, saved_fd;

void listen_begin(void)
{
	fflush(stderr);
	said_fd = temp_fd();
	saved_fd = dup(STDERR_FILENO);
	CHECK(saved_fd >= 0 && dup2(said_fd, STDERR_FILENO) >= 0);
}

void listen_end(void)
{
	fflush(stderr);
	CHECK(dup2(saved_fd, STDERR_FILENO) >= 0);
	close(saved_fd);
	snprintf(said, sizeof(said), "%s", fd_text(said_fd));
}
