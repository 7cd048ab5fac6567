#include "funcpick.h"

#include "preset.h"

static int rules_init(struct funcrules *rules, const struct str_list *list)
{
	return funcrules_init(rules, list->items, list->cnt);
}

int funcpick_init(struct funcpick *pick, const struct opts *opts)
{
	int err;

	*pick = (struct funcpick){ .opts = opts };
	err = rules_init(&pick->trace, &opts->trace_funcs);
	if (!err)
		err = rules_init(&pick->notrace, &opts->notrace_funcs);
	if (!err)
		err = rules_init(&pick->graph, &opts->graph_funcs);
	return err ? err : rules_init(&pick->nograph, &opts->nograph_funcs);
}

void funcpick_release(struct funcpick *pick)
{
	funcrules_release(&pick->trace);
	funcrules_release(&pick->notrace);
	funcrules_release(&pick->graph);
	funcrules_release(&pick->nograph);
}

bool funcpick_is_of_preset(const struct opts *opts, const char *func)
{
	for (size_t i = 0; i < opts->presets.cnt; i++) {
		if (preset_has_root(preset_find(opts->presets.items[i]), func))
			return true;
	}
	return false;
}

unsigned int funcpick_kind(struct funcpick *pick, const char *func, const char *module)
{
	bool is_traced = funcrules_match(&pick->trace, func, module) || !pick->trace.cnt;
	unsigned int kind = 0;

	if (funcrules_match(&pick->graph, func, module) || funcpick_is_of_preset(pick->opts, func))
		kind |= FUNCPICK_ROOT;
	if (funcrules_match(&pick->nograph, func, module))
		kind |= FUNCPICK_SHUT;
	if ((is_traced || kind & FUNCPICK_ROOT) && !funcrules_match(&pick->notrace, func, module))
		kind |= FUNCPICK_CHOSEN;
	return kind;
}

const struct funcrule *funcpick_unmatched(const struct funcpick *pick)
{
	const struct funcrule *rule = funcrules_unmatched(&pick->trace);

	if (!rule)
		rule = funcrules_unmatched(&pick->graph);
	return rule ? rule : funcrules_unmatched(&pick->nograph);
}
