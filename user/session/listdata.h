#ifndef NFG_SESSION_LISTDATA_H
#define NFG_SESSION_LISTDATA_H

#include "format/datarow.h"
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

/* listdata_presets - append a row for each preset that fits one of @globs (list_has_preset). */
void listdata_presets(struct listdata *list, const struct str_list *globs);

#endif
