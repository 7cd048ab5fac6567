#include "rootkinds.h"

#include <errno.h>
#include <stdlib.h>

#include "glob.h"
#include "preset.h"

static bool is_root(const struct opts *opts, const char *name)
{
	for (size_t i = 0; i < opts->graph_funcs.cnt; i++) {
		if (glob_match(opts->graph_funcs.items[i], name))
			return true;
	}
	for (size_t i = 0; i < opts->presets.cnt; i++) {
		if (preset_has_root(preset_find(opts->presets.items[i]), name))
			return true;
	}
	return false;
}

static bool is_shut(const struct opts *opts, const char *name)
{
	for (size_t i = 0; i < opts->nograph_funcs.cnt; i++) {
		if (glob_match(opts->nograph_funcs.items[i], name))
			return true;
	}
	return false;
}

int rootkinds_new(struct roots **out, uint8_t **kinds, const struct opts *opts,
		  struct functab *functab)
{
	struct roots_config config = {
		.func_cnt = functab->cnt,
		.has_roots = opts->graph_funcs.cnt || opts->presets.cnt,
		.slower_ns = opts->slower_ns,
		.errors_only = opts->errors_only,
	};

	if (!config.has_roots && !config.slower_ns && !config.errors_only &&
	    !opts->nograph_funcs.cnt)
		return 0;
	*kinds = calloc(functab->cnt, sizeof(**kinds));
	if (!*kinds)
		return -ENOMEM;
	for (size_t i = 0; i < functab->cnt; i++) {
		const char *name = functab->funcs[i].name.ptr;

		(*kinds)[i] = is_shut(opts, name)   ? ROOTS_CLOSE
			      : is_root(opts, name) ? ROOTS_OPEN
						    : ROOTS_PLAIN;
	}
	for (size_t i = 0; config.has_roots && i < functab->cnt; i++)
		functab->funcs[i].is_root = (*kinds)[i] == ROOTS_OPEN;
	config.kinds = *kinds;
	return roots_new(out, &config);
}
