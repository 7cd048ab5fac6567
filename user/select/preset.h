#ifndef NFG_SELECT_PRESET_H
#define NFG_SELECT_PRESET_H

#include <stdbool.h>
#include <stddef.h>

#define PRESET_ALONE 0u

/* A common question, and the start functions whose calls answer it. */
struct preset {
	const char *name;
	const char *help;
	/*
	 * Start functions, separated by blanks. A kernel need not have all of them; since 5.10 each has at least
	 * one.
	 */
	const char *starts;
	unsigned int callee_depth; /* default depth below them; PRESET_ALONE: none */
};

extern const struct preset preset_defs[];
extern const size_t preset_def_cnt;

/* preset_name - the name of preset_defs[@i]; NULL after the last one. */
const char *preset_name(int i);

/*
 * The functions traced by default: the main path of a TCP and a UDP packet, one function per stage. No kernel has all
 * of them.
 */
extern const char *const preset_default_funcs[];
extern const size_t preset_default_func_cnt;

/* preset_is_main_road - whether @name is in that list. */
bool preset_is_main_road(const char *name);

/* preset_any_has_start - whether @name is a start function of any preset. */
bool preset_any_has_start(const char *name);

/* preset_has_start - whether @name is one of @preset's start functions. */
bool preset_has_start(const struct preset *preset, const char *name);

/* preset_find - the preset of this name; NULL when there is none. */
const struct preset *preset_find(const char *name);

#endif
