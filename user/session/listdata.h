#ifndef NFG_SESSION_LISTDATA_H
#define NFG_SESSION_LISTDATA_H

#include "format/datarow.h"
#include "select/list.h"

/* What netfgraph list prints, as data. */
struct listdata {
	enum datarow_kind kind;
	const char *host; /* uname -n, borrowed */
	struct strbuf *out;
};

/*
 * listdata_func, listdata_cost - what list_run's taker does with a struct listdata as its context: rows "list" for functions,
 * a row "plan". CSV needs listdata_begin before.
 */
void listdata_func(void *ctx, const struct list_func *func);
void listdata_cost(void *ctx, const struct list_cost *cost);

/* listdata_begin - with CSV, the header of the functions, or that of the plan. */
void listdata_begin(struct listdata *list, bool is_plan);

/* listdata_presets - a row for each preset. */
void listdata_presets(struct listdata *list);

#endif
