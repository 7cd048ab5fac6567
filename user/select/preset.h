#ifndef NFG_SELECT_PRESET_H
#define NFG_SELECT_PRESET_H

#include <stdbool.h>
#include <stddef.h>

#define PRESET_ALONE 0u

/* A question people ask, and the functions below which the answer lies. */
struct preset {
	const char *name;
	const char *help;
	/* Start functions, separated by blanks. No kernel has to have all of them; every one from 5.10 on has one. */
	const char *starts;
	unsigned int
		callee_depth; /* how far below them to go, when nothing else is said; PRESET_ALONE: not at all */
};

extern const struct preset preset_defs[];
extern const size_t preset_def_cnt;

/*
 * What is traced when nothing is asked for: the main road of a TCP and a UDP packet, one function a stage.
 * No kernel has all of them.
 */
extern const char *const preset_default_funcs[];
extern const size_t preset_default_func_cnt;

/* preset_is_main_road - whether @name is in that list, or a start function of any preset. */
bool preset_is_main_road(const char *name);

/* preset_has_start - whether @name is one of @preset's start functions. */
bool preset_has_start(const struct preset *preset, const char *name);

/* preset_find - the preset of this name; NULL when there is none. */
const struct preset *preset_find(const char *name);

#endif
