/* How a recording was made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "recordings.h"

BEFORE(new_path);

static void write_made(const struct recfile_made *made)
{
	struct recfile_writer *w = open_writer(path, CPU_CNT);

	CHECK(!recfile_writer_made(w, made) && !recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_close(w));
}

/* Return: as recfile_reader_next. *made: what it says, if it does. */
static int read_made(struct recfile_made *made)
{
	struct recfile_reader *r;
	struct recfile_item item;
	int err = recfile_reader_new(&r, path);

	*made = (struct recfile_made){ 0 };
	do {
		err = err ? err : recfile_reader_next(r, &item);
		if (!err && item.kind == RECFILE_MADE)
			*made = *item.made;
	} while (!err && item.kind != RECFILE_END);
	recfile_reader_free(r);
	return err;
}

TEST(a_command_beside_other_tasks_only_says_how_long)
{
	struct recfile_host host = { .command = "sleep 5" };
	struct recfile_made made = { .attach = "" };

	EACH_PART(options,
		  "netfgraph record; netfgraph record -o x --packet udp; netfgraph record --pager; "
		  "netfgraph record --timeout 5s -T tcp_sendmsg") {
		snprintf(made.options, sizeof(made.options), "%s", options);
		CHECK(recfile_made_of_command(&host, &made) == RECFILE_COMMAND_ALONE);
	}
	EACH_PART(options, "netfgraph record --netns /x; netfgraph record --netns=1 -o x") {
		snprintf(made.options, sizeof(made.options), "%s", options);
		CHECK(recfile_made_of_command(&host, &made) == RECFILE_COMMAND_AMONG);
	}
	EACH_PART(
		options,
		"netfgraph record -p 1; netfgraph record -p1; netfgraph record --pid=1 -o x; "
		"netfgraph record --container web; netfgraph record --cont=web; "
		"netfgraph record --comm nginx; netfgraph record --netns /x -p 7; netfgraph record --tid 7") {
		snprintf(made.options, sizeof(made.options), "%s", options);
		CHECK(recfile_made_of_command(&host, &made) == RECFILE_NO_COMMAND);
	}
	made.options[0] = host.command[0] = '\0';
	CHECK(recfile_made_of_command(&host, &made) == RECFILE_NO_COMMAND);
}

TEST(how_it_was_made_comes_back)
{
	struct recfile_made made = { .shown = RECFILE_SHOWS_RET | RECFILE_SHOWS_PACKET,
				     .node = "web1",
				     .attach = "kprobe.session",
				     .cost = { 511, 495, 16 } };
	struct recfile_made got;

	memset(made.options, 'x', sizeof(made.options) - 1);
	write_made(&made);
	CHECK(!read_made(&got));
	CHECK(got.shown == made.shown && !strcmp(got.node, "web1"));
	CHECK(!memcmp(&got.cost, &made.cost, sizeof(got.cost)));
	CHECK(!strcmp(got.attach, "kprobe.session") && !strcmp(got.options, made.options));
}

/* As before 1.12: less than the numbers is left behind the strings. */
TEST(what_calls_cost_need_not_be_there)
{
	const struct recfile_made made = { .options = "netfgraph record",
					   .cost = { 511, 495, 16 } };
	struct recfile_made got;
	char *options;

	write_made(&made);
	file_read();
	options = find_chunk(image.bytes, image.len, "MADE") + 16 + 8 + 2 + 2;
	memcpy(options, "\x17", 1); /* reaches into them */
	seal(image.bytes, image.len);
	file_write(image.bytes, image.len);
	CHECK(!read_made(&got));
	CHECK(!netcost_is_known(&got.cost) && !got.cost.error_ns);
}

TEST(how_it_was_made_need_not_be_there)
{
	struct recfile_made got;

	write_small(NULL, 0);
	CHECK(!read_made(&got));
	CHECK(!got.shown && !*got.node && !*got.options);
}

TEST(how_it_was_made_stands_in_its_place)
{
	const struct recfile_made made = { .options = "netfgraph record" };
	struct recfile_writer *w;
	struct recfile_made got;

	w = open_writer(path, CPU_CNT);
	CHECK(!recfile_writer_funcs(w, &functab) && !recfile_writer_made(w, &made));
	CHECK(!recfile_writer_close(w));
	CHECK(read_made(&got) == -EBADMSG);
	read_file(NULL, 0);
	CHECK(strstr(seen.error, "the facts of the recorder are at the wrong place"));
}

TEST(how_it_was_made_is_not_cut)
{
	const struct recfile_made made = { .options = "netfgraph record" };
	struct recfile_made got;

	write_made(&made);
	file_read();
	/* the first string is longer than the chunk */
	memcpy(find_chunk(image.bytes, image.len, "MADE") + 16 + 8, "\xff\x7f", 2);
	seal(image.bytes, image.len);
	file_write(image.bytes, image.len);
	CHECK(read_made(&got) == -EBADMSG);
}
