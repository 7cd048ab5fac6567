#include "report/funcfilter.h"

#include "select/preset.h"

static int rules_init(struct funcrules *rules, const struct str_list *list)
{
	return funcrules_init(rules, list->items, list->cnt);
}

int funcfilter_init(struct funcfilter *pick, const struct opts *opts)
{
	int err;

	*pick = (struct funcfilter){ .opts = opts };
	err = rules_init(&pick->trace, &opts->trace_funcs);
	if (!err)
		err = rules_init(&pick->notrace, &opts->notrace_funcs);
	if (!err)
		err = rules_init(&pick->graph, &opts->graph_funcs);
	return err ? err : rules_init(&pick->nograph, &opts->nograph_funcs);
}

void funcfilter_release(struct funcfilter *pick)
{
	funcrules_release(&pick->trace);
	funcrules_release(&pick->notrace);
	funcrules_release(&pick->graph);
	funcrules_release(&pick->nograph);
}

bool funcfilter_is_of_preset(const struct opts *opts, const char *func)
{
	for (size_t i = 0; i < opts->presets.cnt; i++) {
		if (preset_has_root(preset_find(opts->presets.items[i]), func))
			return true;
	}
	return false;
}

unsigned int funcfilter_kind(struct funcfilter *pick, const char *func, const char *module)
{
	bool is_traced = funcrules_match(&pick->trace, func, module) || !pick->trace.cnt;
	unsigned int kind = 0;

	if (funcrules_match(&pick->graph, func, module) ||
	    funcfilter_is_of_preset(pick->opts, func))
		kind |= FUNCFILTER_START;
	if (funcrules_match(&pick->nograph, func, module))
		kind |= FUNCFILTER_SHUT;
	if ((is_traced || kind & FUNCFILTER_START) &&
	    !funcrules_match(&pick->notrace, func, module))
		kind |= FUNCFILTER_CHOSEN;
	return kind;
}

const struct funcrule *funcfilter_unmatched(const struct funcfilter *pick)
{
	const struct funcrule *rule = funcrules_unmatched(&pick->trace);

	if (!rule)
		rule = funcrules_unmatched(&pick->graph);
	return rule ? rule : funcrules_unmatched(&pick->nograph);
}
