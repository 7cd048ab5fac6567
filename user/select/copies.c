#include "select/copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Return: its number; copies->cnt: it is not there. */
static size_t find(const struct copies *copies, const char *name)
{
	size_t nr = 0;

	while (nr < copies->cnt && strcmp(copies->funcs[nr].name, name) != 0)
		nr++;
	return nr;
}

bool copies_have(const struct copies *copies, const char *name)
{
	return find(copies, name) < copies->cnt;
}

int copies_add(struct copies *copies, const char *name, const char *module, bool is_named)
{
	const size_t nr = find(copies, name);

	if (nr < copies->cnt) {
		copies->are_named[nr] |= is_named;
		return 0;
	}
	if (VEC_RESERVE(copies->funcs, copies->cap, copies->cnt + 1) ||
	    VEC_RESERVE(copies->are_named, copies->named_cap, copies->cnt + 1))
		return -ENOMEM;
	copies->are_named[copies->cnt] = is_named;
	copies->funcs[copies->cnt++] = (struct kbtf_func){ .name = name, .module = module };
	return 0;
}

int copies_add_named(struct copies *copies, struct funcrule *rule, const struct ksyms *ks)
{
	struct ksym_text *texts;
	size_t cnt;
	int err;

	if (!ksyms_count(ks, rule->func))
		return 0;
	err = ksyms_texts(ks, &texts, &cnt);
	if (err)
		return err;
	for (size_t i = 0; i < cnt && !err; i++) {
		if (strcmp(texts[i].name, rule->func) != 0 ||
		    !funcrule_matches(rule, texts[i].name, texts[i].module))
			continue;
		rule->match_cnt++;
		err = copies_add(copies, texts[i].name, texts[i].module, true);
	}
	free(texts);
	return err;
}

void copies_release(struct copies *copies)
{
	free(copies->funcs);
	free(copies->are_named);
	*copies = (struct copies){ 0 };
}
