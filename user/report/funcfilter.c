#include "report/funcfilter.h"

#include "select/misses.h"
#include "select/preset.h"

static int rules_init(struct funcrules *rules, const struct str_list *list)
{
	return funcrules_init(rules, list->items, list->cnt);
}

int funcfilter_init(struct funcfilter *filter, const struct opts *opts)
{
	int err;

	*filter = (struct funcfilter){ .opts = opts };
	err = rules_init(&filter->trace, &opts->trace_funcs);
	if (!err)
		err = rules_init(&filter->notrace, &opts->notrace_funcs);
	if (!err)
		err = rules_init(&filter->graph, &opts->graph_funcs);
	return err ? err : rules_init(&filter->nograph, &opts->nograph_funcs);
}

void funcfilter_release(struct funcfilter *filter)
{
	funcrules_release(&filter->trace);
	funcrules_release(&filter->notrace);
	funcrules_release(&filter->graph);
	funcrules_release(&filter->nograph);
}

bool funcfilter_is_of_preset(const struct opts *opts, const char *func)
{
	for (size_t i = 0; i < opts->presets.cnt; i++) {
		if (preset_has_start(preset_find(opts->presets.items[i]), func))
			return true;
	}
	return false;
}

unsigned int funcfilter_kind(struct funcfilter *filter, const char *func, const char *module)
{
	bool is_traced = funcrules_match(&filter->trace, func, module) || !filter->trace.cnt;
	unsigned int kind = 0;

	if (funcrules_match(&filter->graph, func, module) ||
	    funcfilter_is_of_preset(filter->opts, func))
		kind |= FUNCFILTER_START;
	if (funcrules_match(&filter->nograph, func, module))
		kind |= FUNCFILTER_SHUT;
	if ((is_traced || kind & FUNCFILTER_START) &&
	    !funcrules_match(&filter->notrace, func, module))
		kind |= FUNCFILTER_CHOSEN;
	return kind;
}

const struct funcrule *funcfilter_unmatched(const struct funcfilter *filter)
{
	const struct funcrule *rule = funcrules_unmatched(&filter->trace);

	return rule ? rule : funcrules_unmatched(&filter->graph);
}

void funcfilter_warn_unused(const struct funcfilter *filter, const char *among,
			    const struct functab *tab)
{
	if (opts_is_given(filter->opts, "notrace-funcs"))
		misses_warn_unused("-N", &filter->notrace, among, tab);
	misses_warn_unused("-g", &filter->nograph, among, tab);
}
