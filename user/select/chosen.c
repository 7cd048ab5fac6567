#include "select/chosen.h"

#include <stdlib.h>

#include "base/vec.h"
#include "select/deny.h"

struct func *chosen_add(struct functab *tab, size_t *cap, const struct kbtf_func *func,
			const struct kbtf_shape *shape)
{
	struct func *added;

	if (VEC_RESERVE(tab->funcs, *cap, tab->cnt + 1))
		return NULL;
	added = &tab->funcs[tab->cnt++];
	*added = (struct func){
		.btf_id = func->btf_id,
		.btf_fd = func->btf_fd,
		.arg_kind = shape->arg_kind,
		.arg_idx = shape->arg_idx,
		.skb_arg = shape->skb_arg,
		.arg_cnt = shape->arg_cnt,
		.ret_kind = shape->ret_kind,
		.has_ret = shape->has_ret,
		.runs_around = deny_runs_around(func->name),
	};
	func_set_name(added, text_from(func->name), text_from(func->module));
	return added;
}

void functab_release(struct functab *tab)
{
	free(tab->funcs);
	*tab = (struct functab){ 0 };
}
