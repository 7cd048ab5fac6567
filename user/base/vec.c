#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

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

int fd_list_reserve(struct fd_list *list, size_t extra)
{
	return VEC_RESERVE(list->fds, list->cap, list->cnt + extra);
}

void fd_list_add(struct fd_list *list, int fd)
{
	list->fds[list->cnt++] = fd;
}

void fd_list_cut(struct fd_list *list, size_t cnt)
{
	while (list->cnt > cnt)
		close(list->fds[--list->cnt]);
}

void fd_list_close(struct fd_list *list)
{
	for (size_t i = 0; i < list->cnt; i++) {
		if (list->fds[i] >= 0)
			close(list->fds[i]);
	}
	list->cnt = 0;
}

void fd_list_release(struct fd_list *list)
{
	fd_list_close(list);
	free(list->fds);
	*list = (struct fd_list){ 0 };
}

#define FIRST_CAP 16

void *vec_grow(void *items, size_t *cap, size_t cnt, size_t item_bytes)
{
	size_t grown = *cap ? *cap : FIRST_CAP;
	size_t bytes;
	void *moved;

	while (grown < cnt) {
		if (grown > SIZE_MAX / 2)
			return NULL;
		grown *= 2;
	}
	if (__builtin_mul_overflow(grown, item_bytes, &bytes))
		return NULL;
	moved = realloc(items, bytes);
	if (moved)
		*cap = grown;
	return moved;
}
