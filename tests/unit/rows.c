#include "rows.h"

#include <ctype.h>

#include "harness.h"

struct row call_row(enum row_kind kind, uint32_t depth, uint64_t time_ns, uint64_t duration_ns,
		    const char *name)
{
	return (struct row){
		.kind = kind,
		.cpu = 1,
		.depth = depth,
		.time_ns = time_ns,
		.duration_ns = duration_ns,
		.task = CURL,
		.name = { name, strlen(name) },
	};
}

#define OPEN_MAX 16

/* Where a script is. */
struct place {
	uint64_t time_ns;
	uint32_t tid;
	struct row open[OPEN_MAX];
	uint32_t open_cnt;
	int depth; /* -1: that of the open calls */
};

/* The innermost open call of the task, and how many there are. */
static struct row *innermost(struct place *at, uint32_t *depth)
{
	struct row *found = NULL;

	*depth = 0;
	for (uint32_t i = 0; i < at->open_cnt; i++) {
		if (at->open[i].task.tid != at->tid)
			continue;
		found = &at->open[i];
		++*depth;
	}
	return found;
}

static struct row row_of(struct place *at, char *word)
{
	char *name = word + (*word == '}');
	char *end = name + strcspn(name, "{;[");
	char *duration = strchr(word, ';');
	uint32_t depth;
	struct row *outer = innermost(at, &depth);
	struct row row = call_row(ROW_LEAF, depth, at->time_ns, 0, "");

	row.task.tid = at->tid;
	row.name = (struct text){ name, (size_t)(end - name) };
	if (*end == '[')
		row.module = (struct text){ end + 1, strcspn(end + 1, "]") };
	if (duration)
		row.duration_ns = strtoull(duration + 1, NULL, 10);
	row.lacks_duration = row.is_named = duration && duration[1] == '?';
	if (*word == '}') {
		row.kind = ROW_RETURN;
		if (!duration)
			row.duration_ns = at->time_ns - outer->time_ns;
		if (!row.name.len && outer)
			row.name = outer->name;
		row.depth -= outer != NULL;
		if (outer)
			*outer = at->open[--at->open_cnt]; /* good enough for two tasks */
	} else if (strchr(word, '{')) {
		row.kind = ROW_ENTRY;
		CHECK(at->open_cnt < OPEN_MAX);
		at->open[at->open_cnt++] = row;
	}
	if (at->depth >= 0)
		row.depth = (uint32_t)at->depth;
	at->depth = -1;
	return row;
}

struct row_list rows_of(const char *script)
{
	static char *texts[64]; /* so that a sanitizer sees who has them */
	static struct row pool[512];
	static size_t used, text_cnt;
	struct row_list list = { .rows = pool + used };
	struct place at = { .tid = 77, .depth = -1 };

	CHECK(text_cnt < 64 && (texts[text_cnt] = strdup(script)));
	for (char *rest = texts[text_cnt++], *word; (word = strsep(&rest, " "));) {
		if (!*word)
			continue;
		if (isdigit((unsigned char)*word))
			at.time_ns = strtoull(word, NULL, 10);
		else if (*word == '@')
			at.depth = atoi(word + 1);
		else if (!strncmp(word, "tid", 3) && !strpbrk(word, "{;"))
			at.tid = (uint32_t)atoi(word + 3);
		else if (!strncmp(word, "lost", 4) && !strpbrk(word, "{;"))
			list.rows[list.cnt++] =
				(struct row){ .kind = ROW_LOST,
					      .cpu = 1,
					      .time_ns = at.time_ns,
					      .lost_cnt = strtoull(word + 4, NULL, 10) };
		else
			list.rows[list.cnt++] = row_of(&at, word);
		CHECK((used = (size_t)(list.rows - pool) + list.cnt) < 512);
	}
	return list;
}
