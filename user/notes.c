#include "notes.h"

#include <errno.h>
#include <stdlib.h>

struct notes {
	struct notes_config config;
	struct strbuf args;
	struct strbuf note;
};

int notes_new(struct notes **out, const struct notes_config *config)
{
	struct notes *nt = calloc(1, sizeof(*nt));

	if (!nt)
		return -ENOMEM;
	nt->config = *config;
	*out = nt;
	return 0;
}

void notes_free(struct notes *nt)
{
	if (!nt)
		return;
	strbuf_release(&nt->args);
	strbuf_release(&nt->note);
	free(nt);
}

static void put_entry(struct notes *nt, const struct row *row)
{
	const struct notes_config *config = &nt->config;
	struct call_values call;
	struct text caller;

	if (!values_get(config->values, row->entry_values, &call))
		return;
	if (config->style.has_args && call.arg_cnt)
		proto_args(config->protos, row->func_id, call.args, call.arg_cnt, &config->style,
			   &nt->args);
	if (!config->has_caller || !call.has_caller)
		return;
	caller = callers_get(config->callers, call.caller);
	strbuf_str(&nt->note, "<-");
	strbuf_add(&nt->note, caller.ptr, caller.len);
}

static void put_exit(struct notes *nt, const struct row *row)
{
	const struct notes_config *config = &nt->config;
	const size_t before = nt->note.len;
	struct call_values call;
	size_t start;

	if (!config->style.has_ret || !values_get(config->values, row->exit_values, &call) ||
	    !call.has_ret)
		return;
	if (nt->note.len)
		strbuf_str(&nt->note, " ");
	start = nt->note.len;
	proto_ret(config->protos, row->func_id, call.ret, &config->style, &nt->note);
	if (nt->note.len == start) /* it returns nothing */
		nt->note.len = before;
}

void notes_fill(struct notes *nt, struct row *row)
{
	strbuf_reset(&nt->args);
	strbuf_reset(&nt->note);
	if (row->kind == ROW_ENTRY || row->kind == ROW_LEAF)
		put_entry(nt, row);
	if (row->kind == ROW_LEAF || row->kind == ROW_RETURN)
		put_exit(nt, row);
	/* the kernel names every closing brace when it prints results */
	if (row->kind == ROW_RETURN && nt->config.style.has_ret)
		row->is_named = true;
	row->args = (struct text){ nt->args.ptr, nt->args.len };
	row->note = (struct text){ nt->note.ptr, nt->note.len };
}
