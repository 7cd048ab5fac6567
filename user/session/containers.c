#include "session/containers.h"

#include <string.h>

#include "base/cleantext.h"
#include "base/log.h"
#include "format/fmt.h"
#include "options/wants.h"
#include "session/verbs.h"

#define ID_SHORT 12 /* digits that docker and podman print */

enum column {
	COL_RUNTIME,
	COL_ID,
	COL_NAME,
	COL_POD,
	COL_CGROUP,
	COL_CNT,
};

static bool is_shown(const struct container_seen *item)
{
	return strcmp(item->runtime, "unit") != 0;
}

static void cell_add(const struct container_seen *item, enum column col, struct strbuf *cell)
{
	const unsigned int classes = CLEAN_WORD | CLEAN_BLANK;
	const char *const texts[] = { item->runtime, item->id, item->name, item->pod, item->path };
	size_t len = strlen(texts[col]);

	strbuf_reset(cell);
	if (col == COL_ID && len == 64)
		len = ID_SHORT;
	if (col == COL_POD && len && item->namespace[0]) {
		clean_add(cell, item->namespace, strlen(item->namespace), classes);
		strbuf_char(cell, '/');
	}
	if (!len)
		strbuf_char(cell, '-');
	/* "podman pod" is one of ours */
	clean_add(cell, texts[col], len, col == COL_RUNTIME ? CLEAN_WORD : classes);
}

static void row_add(struct strbuf *out, const struct strbuf cells[COL_CNT],
		    const size_t widths[COL_CNT])
{
	for (size_t col = 0; col < COL_CNT; col++) {
		strbuf_add(out, cells[col].ptr, cells[col].len);
		if (col + 1 < COL_CNT)
			strbuf_fill(out, ' ', widths[col] + 2 - cells[col].len);
	}
	strbuf_char(out, '\n');
}

void containers_text(const struct container_set *set, struct strbuf *out)
{
	static const char *const titles[COL_CNT] = { "RUNTIME", "ID", "NAME", "POD", "CGROUP" };
	struct strbuf cells[COL_CNT] = { 0 };
	size_t widths[COL_CNT] = { 0 };

	for (size_t col = 0; col < COL_CNT; col++) {
		widths[col] = strlen(titles[col]);
		for (size_t i = 0; i < set->cnt; i++) {
			if (!is_shown(&set->items[i]))
				continue;
			cell_add(&set->items[i], (enum column)col, &cells[col]);
			if (cells[col].len > widths[col])
				widths[col] = cells[col].len;
		}
		strbuf_reset(&cells[col]);
		strbuf_str(&cells[col], titles[col]);
	}
	row_add(out, cells, widths);
	for (size_t i = 0; i < set->cnt; i++) {
		if (!is_shown(&set->items[i]))
			continue;
		for (size_t col = 0; col < COL_CNT; col++)
			cell_add(&set->items[i], (enum column)col, &cells[col]);
		row_add(out, cells, widths);
	}
	for (size_t col = 0; col < COL_CNT; col++) {
		out->failed |= cells[col].failed;
		strbuf_release(&cells[col]);
	}
}

/* ---- as data ---- */

#define MEMBER_CNT 7

/* What is known of one, by the names of columns. */
struct member {
	const char *name;
	const char *value; /* "": unknown */
};

static void members_of(const struct container_seen *item, struct member out[MEMBER_CNT])
{
	const struct member members[MEMBER_CNT] = {
		{ "runtime", item->runtime },     { "id", item->id },
		{ "name", item->name },           { "pod", item->pod },
		{ "namespace", item->namespace }, { "pod_uid", item->pod_uid },
		{ "cgroup", item->path },
	};

	memcpy(out, members, sizeof(members));
}

static void member_add(struct strbuf *out, const struct member *member)
{
	strbuf_printf(out, "\"%s\": ", member->name);
	if (*member->value)
		fmt_json_text(out, text_from(member->value));
	else
		strbuf_str(out, "null");
}

void containers_json(const struct container_set *set, struct strbuf *out)
{
	struct member members[MEMBER_CNT];
	const char *before = "\n";

	strbuf_char(out, '[');
	for (size_t i = 0; i < set->cnt; i++) {
		if (!is_shown(&set->items[i]))
			continue;
		members_of(&set->items[i], members);
		strbuf_printf(out, "%s  {", before);
		before = ",\n";
		for (size_t k = 0; k < MEMBER_CNT; k++) {
			strbuf_str(out, k ? ", " : "");
			member_add(out, &members[k]);
		}
		strbuf_char(out, '}');
	}
	strbuf_str(out, "\n]\n");
}

static void put_row(enum datarow_kind kind, const char *host, const struct container_seen *item,
		    struct strbuf *out)
{
	struct member members[MEMBER_CNT];
	struct datarow data;

	members_of(item, members);
	datarow_begin(&data, kind, out, "containers", 1);
	datarow_string(&data, "host", host);
	for (size_t k = 0; k < MEMBER_CNT; k++)
		datarow_string(&data, members[k].name, members[k].value);
	datarow_end(&data);
}

void containers_data(const struct container_set *set, const char *host, enum datarow_kind kind,
		     struct strbuf *out)
{
	const struct container_seen none = { 0 };

	if (kind == DATAROW_CSV)
		put_row(DATAROW_CSV_HEAD, host, &none, out);
	for (size_t i = 0; i < set->cnt; i++) {
		if (is_shown(&set->items[i]))
			put_row(kind, host, &set->items[i], out);
	}
}

static void put(const struct opts *opts, const struct container_set *set, struct strbuf *out)
{
	char host[128];

	if (opts->json) {
		containers_json(set, out);
	} else if (opts->format == FORMAT_TEXT) {
		containers_text(set, out);
	} else {
		wants_host(opts, host, sizeof(host));
		containers_data(set, host, datarow_kind_of(opts->format), out);
	}
}

int verbs_list_containers(const struct opts *opts, struct strbuf *out)
{
	struct container_set set = { 0 };
	struct cgroup_host host;
	const char *denied;
	int err = cgroup_host_find(&host, "/proc", NULL);

	if (err)
		cgroup_explain_lack(&host);
	else
		err = container_set_read(&host, &set);
	denied = err ? NULL : container_names_denied(&host);
	if (denied)
		log_warn("some names are missing: only root may read %s", denied);
	if (!err)
		put(opts, &set, out);
	container_set_release(&set);
	log_unsaid(err);
	return err ? EXIT_STATUS_FAILED : EXIT_STATUS_OK;
}
