#ifndef NFG_SELECT_MISSES_H
#define NFG_SELECT_MISSES_H

#include <stdbool.h>
#include <stddef.h>

struct funcrule;
struct kbtf;
struct ksyms;
struct select_rules;

/* A rule that named no function. */
struct miss {
	const struct select_rules *rules;
	const struct kbtf *kb;
	const struct ksyms *ks;
	const struct funcrule *rule;
	bool takes_copies; /* functions without a type are taken where rules->extras_by_kprobe */
	bool is_start;     /* of a start function, which needs a type */
	const char *modules_path; /* of the running kernel's modules; NULL: /lib/modules/RELEASE */
};

/*
 * misses_tell - say on stderr, in a line and a hint, why no function was found: functions of this name exist that have
 * no type (copies and parts that the compiler made, or a module without BTF), it is in another module, in one that is
 * not loaded, or it is mistyped.
 *
 * Return: VERDICT_NOTHING.
 */
int misses_tell(const struct miss *miss);

/*
 * misses_module - the module that exports @func, by the file modules.symbols in @modules_path.
 *
 * Return: whether there is one; then @module has its name.
 */
bool misses_module(const char *modules_path, const char *func, char *module, size_t size);

#endif
