/* Files that are written: when they change, where they end when there is no room, and whose they are. */
#include "base/output.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>

#include "harness.h"
#include "scratch.h"
#include "base/log.h"

BEFORE(new_dir);
AFTER(remove_dir);

static void put_old(void)
{
	file_put(file_path, "old");
}

static bool holds(const char *where, const char *want)
{
	return !strcmp(file_text(where), want);
}

static size_t size_of(const char *where)
{
	struct stat st;

	CHECK(!stat(where, &st));
	return (size_t)st.st_size;
}

TEST(a_file_keeps_what_it_holds_until_there_is_something_new)
{
	struct outfile f;

	put_old();
	CHECK(!outfile_open(&f, file_path, NULL));
	f.is_held = true;
	CHECK(!outfile_write(&f, "held ", 5) && !outfile_write(&f, "back", 4));
	CHECK(holds(file_path, "old") && !outfile_is_behind(&f));
	outfile_abandon(&f);
	CHECK(holds(file_path, "old"));

	CHECK(!outfile_open(&f, file_path, NULL));
	f.is_held = true;
	CHECK(!outfile_write(&f, "held ", 5) && !outfile_write(&f, "back", 4));
	CHECK(!outfile_begin(&f) && holds(file_path, "held back"));
	CHECK(!outfile_write(&f, ", more", 6) && !outfile_close(&f));
	CHECK(holds(file_path, "held back, more") && f.bytes == 15);

	CHECK(!outfile_open(&f, file_path, NULL) && !outfile_close(&f));
	CHECK(holds(file_path, ""));
}

TEST(a_new_file_is_private_and_goes_again_if_nothing_comes)
{
	struct outfile f;
	struct stat st;

	CHECK(!outfile_open(&f, file_path, NULL));
	CHECK(!stat(file_path, &st) && (st.st_mode & 0777) == 0600);
	CHECK(fcntl(f.fd, F_GETFD) & FD_CLOEXEC);
	outfile_abandon(&f);
	CHECK(stat(file_path, &st) && errno == ENOENT);
	CHECK(!outfile_open(&f, file_path, NULL) && !outfile_write(&f, "x", 1));
	outfile_abandon(&f);
	CHECK(holds(file_path, "x"));
}

/* Return: how many names the directory has. */
static int name_cnt(void)
{
	const struct dirent *entry;
	DIR *dir = opendir(scratch_dir);
	int cnt = 0;

	CHECK(dir);
	while ((entry = readdir(dir)))
		cnt += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(dir);
	return cnt;
}

static void open_held(struct outfile *f)
{
	CHECK(!outfile_open_held(f, file_path, NULL) && f->is_held && f->fd >= 0);
	CHECK(!outfile_write(f, "head", 4));
}

TEST(a_held_file_has_no_name_before_its_first_bytes)
{
	struct outfile f;
	struct stat st;

	open_held(&f);
	CHECK(f.is_unnamed && !name_cnt());
	outfile_abandon(&f);
	CHECK(!name_cnt());

	open_held(&f);
	CHECK(!outfile_begin(&f) && holds(file_path, "head") && !f.is_unnamed);
	CHECK(!stat(file_path, &st) && (st.st_mode & 0777) == 0600 && st.st_nlink == 1);
	CHECK(name_cnt() == 1 && f.bytes == 4);
	CHECK(!outfile_write(&f, ", more", 6) && !outfile_close(&f));
	CHECK(holds(file_path, "head, more"));
}

/* As tables do: nothing is held any more, but nothing was written either. */
TEST(a_file_that_is_no_longer_held_gets_its_name_with_its_first_bytes)
{
	struct outfile f;

	CHECK(!outfile_open_held(&f, file_path, NULL));
	f.is_held = false;
	CHECK(!outfile_write(&f, NULL, 0) && !name_cnt());
	CHECK(!outfile_write(&f, "table", 5) && holds(file_path, "table") && name_cnt() == 1);
	CHECK(!outfile_close(&f));
	CHECK(!unlink(file_path) && !outfile_open_held(&f, file_path, NULL));
	CHECK(!outfile_close(&f) && holds(file_path, "") && name_cnt() == 1);
}

TEST(what_got_the_name_meanwhile_is_replaced)
{
	struct outfile f;
	struct stat st;

	open_held(&f);
	put_old();
	CHECK(!outfile_begin(&f) && holds(file_path, "head") && name_cnt() == 1);
	CHECK(!outfile_write(&f, "!", 1) && !outfile_close(&f) && holds(file_path, "head!"));
	CHECK(!stat(file_path, &st) && (st.st_mode & 0777) == 0600 && f.bytes == 5);
	CHECK(!unlink(file_path));

	/* a link, too, which is not followed */
	open_held(&f);
	file_put(other_path, "theirs");
	CHECK(!symlink(other_path, file_path) && !outfile_begin(&f) && !outfile_close(&f));
	CHECK(holds(file_path, "head") && holds(other_path, "theirs"));
	CHECK(!unlink(file_path));

	/* a directory is not: what was to come is gone, and leaves nothing */
	quiet();
	open_held(&f);
	CHECK(!unlink(other_path) && !mkdir(file_path, 0700) && outfile_begin(&f) < 0);
	outfile_abandon(&f);
	CHECK(name_cnt() == 1 && !rmdir(file_path));
}

/* As on a file system without O_TMPFILE, whose file has lost its only name. */
TEST(without_unnamed_files_another_is_renamed)
{
	struct outfile f;

	open_held(&f);
	close(f.fd);
	f.fd = open(other_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(f.fd >= 0 && !unlink(other_path) && !name_cnt());
	CHECK(!outfile_begin(&f) && holds(file_path, "head") && name_cnt() == 1);
	CHECK(!outfile_write(&f, "!", 1) && !outfile_close(&f) && holds(file_path, "head!"));
}

TEST(what_cannot_be_created_is_known_at_once)
{
	char deep[PATH_MAX];
	struct outfile f;

	quiet();
	snprintf(deep, sizeof(deep), "%s/none/file", scratch_dir);
	CHECK(outfile_open_held(&f, deep, NULL) == -ENOENT);
	snprintf(deep, sizeof(deep), "%s/none/", scratch_dir);
	CHECK(outfile_open_held(&f, deep, NULL) < 0 && !name_cnt());
	if (geteuid()) {
		CHECK(!chmod(scratch_dir, 0500));
		CHECK(outfile_open_held(&f, file_path, NULL) == -EACCES);
		CHECK(!chmod(scratch_dir, 0700));
	}
}

TEST(a_full_disk_names_no_file_with_half_of_its_first_bytes)
{
	const struct rlimit limit = { .rlim_cur = 2, .rlim_max = 2 };
	struct outfile f;

	quiet();
	signal(SIGXFSZ, SIG_IGN);
	open_held(&f);
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit) && outfile_begin(&f) == -EFBIG);
	outfile_abandon(&f);
	CHECK(!name_cnt());
}

TEST(whether_an_error_was_told_is_known)
{
	quiet();
	log_warn("x");
	log_hint("x");
	CHECK(!log_has_error());
	log_error("x");
	CHECK(log_has_error());
}

/* As when root has dropped its capabilities and writes into another user's directory. */
TEST(a_new_file_that_cannot_go_again_is_told)
{
	uid_t uid = geteuid();
	struct outfile f;

	CHECK(freopen(other_path, "w", stderr) && !outfile_open(&f, file_path, NULL));
	CHECK(!chmod(scratch_dir, 0555) && (uid || !seteuid(65534)));
	outfile_abandon(&f);
	CHECK((uid || !seteuid(0)) && !chmod(scratch_dir, 0755));
	CHECK(holds(file_path, "") && size_of(other_path) > 0);
}

#define ROW    " 0)   1.234 us    |  tcp_v4_rcv();\n"
#define RULE   " ------------------------------------------\n"
#define BANNER RULE " 0)   idle-0   =>   ping-7  \n" RULE "\n"
#define HEADER "# tracer: function_graph\n"
#define LIMIT  400

/* Only whole rows: rows of one line, and banners of four. */
static bool is_whole(const char *text)
{
	if (strncmp(text, HEADER, strlen(HEADER)) != 0)
		return false;
	text += strlen(HEADER);
	while (*text) {
		const char *row = strncmp(text, RULE, strlen(RULE)) ? ROW : BANNER;

		if (strncmp(text, row, strlen(row)) != 0)
			return false;
		text += strlen(row);
	}
	return true;
}

static void put_rows(struct output *out, int cnt)
{
	for (int i = 0; i < cnt; i++) {
		strbuf_str(&out->buf, i % 3 ? ROW : BANNER ROW);
		if (i % 7 == 0)
			CHECK(!output_flush(out));
	}
	CHECK(!output_flush(out));
}

TEST(rotated_files_have_whole_rows_and_a_header)
{
	struct output out;
	char name[160];
	size_t rows = 0;

	CHECK(!output_open(&out, file_path, NULL));
	strbuf_str(&out.buf, HEADER);
	CHECK(!output_limit(&out, 0, LIMIT, 3));
	put_rows(&out, 100);
	strbuf_str(&out.buf, ROW);
	CHECK(!output_close(&out));
	for (int i = 0; i < 3; i++) {
		const char *text;

		snprintf(name, sizeof(name), i ? "%s.%d" : "%s", file_path, i);
		text = file_text(name);
		CHECK(is_whole(text) && strlen(text) <= LIMIT);
		CHECK(!i || strlen(text) > LIMIT - strlen(BANNER));
		rows += strlen(text);
		if (i)
			unlink(name);
	}
	CHECK(rows > 2 * LIMIT - 2 * strlen(BANNER));
	snprintf(name, sizeof(name), "%s.3", file_path);
	CHECK(access(name, F_OK));
}

TEST(a_file_that_is_full_has_whole_rows)
{
	struct output out;
	const char *text;

	quiet();
	CHECK(!output_open(&out, file_path, NULL));
	strbuf_str(&out.buf, HEADER);
	CHECK(!output_limit(&out, LIMIT, 0, 0));
	put_rows(&out, 100);
	CHECK(out.is_full && !output_close(&out));
	text = file_text(file_path);
	CHECK(is_whole(text) && strlen(text) <= LIMIT && strlen(text) > LIMIT - strlen(BANNER));
	CHECK(size_of(file_path) == strlen(text));
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = bytes;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

/* The content of a file that @limit bytes fit into, appended to "old" if @is_appended. */
static const char *written_until_full(rlim_t limit, bool is_appended)
{
	struct output out;
	const char *text;
	int fd;
	int err;

	put_old();
	fd = open(file_path, O_WRONLY | (is_appended ? O_APPEND : O_TRUNC));
	CHECK(fd >= 0);
	out = (struct output){ .file = { .fd = fd } };
	output_rows(&out);
	limit_files(limit);
	strbuf_str(&out.buf, HEADER);
	CHECK(!output_flush(&out));
	strbuf_str(&out.buf, ROW BANNER);
	err = output_flush(&out);
	strbuf_str(&out.buf, BANNER ROW ROW);
	CHECK(!err || output_flush(&out) == err);
	CHECK(output_flush(&out) == -EFBIG && output_close(&out) == -EFBIG);
	limit_files(RLIM_INFINITY);
	close(fd);
	text = file_text(file_path);
	CHECK(size_of(file_path) == strlen(text) && !out.file.is_torn);
	return text;
}

TEST(a_file_that_may_not_grow_ends_with_a_whole_row)
{
	static const char all[] = HEADER ROW BANNER BANNER ROW ROW;
	const size_t old_len = 3;
	const char *text;

	quiet();
	signal(SIGXFSZ, SIG_IGN);
	for (size_t limit = strlen(HEADER) + old_len; limit < strlen(all); limit++) {
		text = written_until_full(limit, false);
		CHECK(is_whole(text) && strlen(text) <= limit);
		CHECK(limit - strlen(text) < strlen(BANNER));
		text = written_until_full(limit, true);
		CHECK(!strncmp(text, "old", old_len) && is_whole(text + old_len));
		CHECK(strlen(text) <= limit && limit - strlen(text) < strlen(BANNER));
	}
}

/* What another process wrote meanwhile is not cut off. */
TEST(rows_of_others_stay_where_ours_cannot_end_whole)
{
	struct output out;
	int fd;

	quiet();
	put_old();
	signal(SIGXFSZ, SIG_IGN);
	fd = open(file_path, O_WRONLY | O_APPEND);
	CHECK(fd >= 0);
	out = (struct output){ .file = { .fd = fd } };
	output_rows(&out);
	strbuf_str(&out.buf, ROW);
	CHECK(!output_flush(&out) && write(fd, "other\n", 6) == 6);
	limit_files(strlen(ROW) + 20);
	strbuf_str(&out.buf, ROW);
	CHECK(output_flush(&out) == -EFBIG && out.file.is_torn);
	CHECK(size_of(file_path) == strlen(ROW) + 20);
	output_close(&out);
	close(fd);
}

TEST(what_has_no_name_is_not_rotated)
{
	struct output out;

	quiet();
	CHECK(!output_open(&out, "/dev/null", NULL));
	CHECK(output_limit(&out, 0, LIMIT, 3) == -EINVAL);
	output_abandon(&out);
}

/* What others wrote before stays. We cannot know what they append later. */
TEST(only_our_own_bytes_are_cut)
{
	for (int is_appended = 0; is_appended < 2; is_appended++) {
		struct outfile f = { .wait_ms = -1 };

		put_old();
		f.fd = open(file_path, O_RDWR | (is_appended ? O_APPEND : 0));
		CHECK(f.fd >= 0 && lseek(f.fd, is_appended ? 0 : 3, SEEK_SET) >= 0);
		CHECK(!outfile_write(&f, "whole", 5) && !outfile_write(&f, "half", 4));
		outfile_cut(&f, 5);
		CHECK(holds(file_path, "oldwhole"));
		CHECK(!outfile_write(&f, "next", 4) && holds(file_path, "oldwholenext"));
		CHECK(pwrite(f.fd, "other", 5, 12) == 5);
		outfile_cut(&f, 5);
		CHECK(holds(file_path, "oldwholenextother"));
		close(f.fd);
	}
}

TEST(the_same_file_is_known_by_any_name)
{
	struct outfile f;
	int fd;

	put_old();
	fd = open(file_path, O_RDONLY);
	CHECK(fd >= 0 && !link(file_path, other_path));
	CHECK(!outfile_open(&f, other_path, NULL) && outfile_is_same(&f, fd));
	outfile_abandon(&f);
	CHECK(!unlink(other_path) && !symlink(file_path, other_path));
	CHECK(!outfile_open(&f, other_path, NULL) && outfile_is_same(&f, fd));
	outfile_abandon(&f);
	CHECK(!unlink(other_path));
	CHECK(!outfile_open(&f, other_path, NULL) && !outfile_is_same(&f, fd));
	outfile_abandon(&f);
	close(fd);
	CHECK(holds(file_path, "old"));
}

static bool is_taken(const char *where)
{
	struct outfile f;

	if (outfile_open(&f, where, NULL))
		return false;
	outfile_abandon(&f);
	return true;
}

/* Playing another user takes root. */
TEST(where_everybody_makes_files_those_of_others_are_not_taken)
{
	struct outfile f;

	quiet();
	put_old();
	CHECK(!chmod(scratch_dir, 01777) && !symlink(file_path, other_path));
	CHECK(is_taken(other_path));
	if (!geteuid()) {
		CHECK(!chown(scratch_dir, 1, 1) && is_taken(other_path));
		CHECK(!lchown(other_path, 2, 2));
		CHECK(outfile_open(&f, other_path, NULL) == -ELOOP && f.fd < 0);
		CHECK(!unlink(other_path) && !link(file_path, other_path) &&
		      !chown(file_path, 2, 2));
		CHECK(outfile_open(&f, other_path, NULL) == -EACCES && f.fd < 0);
		CHECK(!chmod(scratch_dir, 0755) && is_taken(other_path));
		CHECK(!chmod(scratch_dir, 01777) && !chown(file_path, 0, 0));
		CHECK(outfile_open(&f, other_path, NULL) == -EACCES && f.fd < 0);
	}
	CHECK(holds(file_path, "old"));
}

TEST(where_everybody_makes_files_fifos_of_others_are_not_taken)
{
	struct outfile f;
	int fd;

	quiet();
	CHECK(!mkfifo(file_path, 0600) && !chmod(scratch_dir, 01777));
	fd = open(file_path, O_RDONLY | O_NONBLOCK);
	CHECK(fd >= 0 && !outfile_open(&f, file_path, NULL));
	outfile_abandon(&f);
	if (!geteuid()) {
		CHECK(!chown(scratch_dir, 1, 1) && !chown(file_path, 2, 2) &&
		      !chmod(file_path, 0666));
		CHECK(outfile_open(&f, file_path, NULL) == -EACCES && f.fd < 0);
		close(fd); /* nor is a reader waited for */
		CHECK(outfile_open(&f, file_path, NULL) == -EACCES && f.fd < 0);
	}
}
