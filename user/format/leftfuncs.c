#include "format/leftfuncs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

static int add(struct leftfuncs *lf, const struct func *func, const struct leftout *lo)
{
	struct leftfunc left = { .limit = leftout_first((enum leftout_limit)lo->limit),
				 .max = lo->max };

	left.bytes = malloc(func->name.len + func->module.len + 1);
	if (!left.bytes)
		return -ENOMEM;
	left.name = text_keep(left.bytes, func->name);
	left.module = text_keep(left.bytes + func->name.len, func->module);
	lf->funcs[lf->cnt++] = left;
	return 0;
}

int leftfuncs_add(struct leftfuncs *lf, const struct leftout *lo, const struct functab *functab)
{
	int err = 0;

	if (!leftout_hides_calls((enum leftout_limit)lo->limit))
		return 0;
	if (VEC_RESERVE(lf->funcs, lf->cap, lf->cnt + lo->func_cnt))
		return -ENOMEM;
	for (size_t i = 0; functab && i < lo->func_cnt && !err; i++) {
		if (lo->func_ids[i] < functab->cnt)
			err = add(lf, &functab->funcs[lo->func_ids[i]], lo);
	}
	return err;
}

void leftfuncs_release(struct leftfuncs *lf)
{
	for (size_t i = 0; i < lf->cnt; i++)
		free(lf->funcs[i].bytes);
	free(lf->funcs);
	*lf = (struct leftfuncs){ 0 };
}

bool leftfuncs_mark(struct leftfuncs *lf, struct text func, struct text module)
{
	for (size_t i = 0; lf && i < lf->cnt; i++) {
		const struct leftfunc *left = &lf->funcs[i];

		if (!text_equal(left->name, func) || !text_equal(left->module, module))
			continue;
		lf->shown |= 1u << left->limit;
		return true;
	}
	return false;
}

void leftfuncs_put_mark(struct strbuf *out)
{
	strbuf_str(out, " *");
}

void leftfuncs_put_member(struct tablew *w, bool is_left_out)
{
	struct jsonw *json = tablew_member(w, "left_out");

	if (json)
		jsonw_bool(json, is_left_out);
}

void leftfuncs_put_line(struct leftfuncs *lf, struct strbuf *out)
{
	const char *before = " (";

	if (!lf->shown)
		return;
	strbuf_str(out, "* left out during the trace");
	for (enum leftout_limit limit = LEFTOUT_OVERHEAD; limit <= LEFTOUT_EVENTS; limit++) {
		if (!(lf->shown & 1u << limit))
			continue;
		strbuf_printf(out, "%s%s", before, leftout_option(limit));
		before = ", ";
	}
	strbuf_str(out, "): the row has the calls until then\n");
	lf->shown = 0;
}
