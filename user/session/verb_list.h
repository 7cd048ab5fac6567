#ifndef NFG_SESSION_VERB_LIST_H
#define NFG_SESSION_VERB_LIST_H

#include "base/strbuf.h"
#include "format/datarow.h"
#include "scope/container.h"
#include "select/list.h"

/* The output of netfgraph list as data. */
struct listdata {
	enum datarow_kind kind;
	const char *host; /* uname -n, borrowed */
	struct strbuf *out;
};

/*
 * listdata_func, listdata_cost - a list_taker's functions, with a struct listdata as context: append rows "list" for
 * functions, or a row "plan". CSV needs listdata_begin before.
 */
void listdata_func(void *ctx, const struct list_func *func);
void listdata_cost(void *ctx, const struct list_cost *cost);

/* listdata_begin - with CSV, append the header for functions, or for the plan. */
void listdata_begin(struct listdata *list, bool is_plan);

/* The table of containers and pods that netfgraph list --containers prints; systemd units are left out. */

/* containers_text - append columns, with a header; - for unknown values. Names cannot begin another column or line. */
void containers_text(const struct container_set *set, struct strbuf *out);

/* containers_json - append an array of objects; null for unknown values. */
void containers_json(const struct container_set *set, struct strbuf *out);

/* containers_data - append a row for each as data, CSV with its header; @host: uname -n. */
void containers_data(const struct container_set *set, const char *host, enum datarow_kind kind,
		     struct strbuf *out);

#endif
