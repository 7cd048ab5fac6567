#include "base/strlist.h"

#include <stdlib.h>

#include "base/vec.h"

const char *str_list_add(struct str_list *list, const char *text)
{
	if (!*text)
		return "is empty";
	if (VEC_RESERVE(list->items, list->cap, list->cnt + 1))
		return "does not fit in memory";
	list->items[list->cnt++] = text;
	return NULL;
}

void str_list_release(struct str_list *list)
{
	free(list->items);
	*list = (struct str_list){ 0 };
}
