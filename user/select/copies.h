#ifndef NFG_SELECT_COPIES_H
#define NFG_SELECT_COPIES_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "select/funcrule.h"

/* Functions without a type, each of them once: most are copies that the compiler made of others (.isra). Zeroed: none. */
struct copies {
	struct kbtf_func *funcs; /* name and module alone, both borrowed */
	bool *are_named;         /* by the user and without wildcard */
	size_t cnt;
	size_t cap;
	size_t named_cap;
};

/* copies_add - Return: 0 or -ENOMEM. */
int copies_add(struct copies *copies, const char *name, const char *module, bool is_named);

/* copies_add_named - what @rule names and @ks has, counted as matches. Return: 0 or -ENOMEM. */
int copies_add_named(struct copies *copies, struct funcrule *rule, const struct ksyms *ks);

bool copies_have(const struct copies *copies, const char *name);
void copies_release(struct copies *copies);

#endif
