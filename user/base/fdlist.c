#include "base/fdlist.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int fd_list_reserve(struct fd_list *list, size_t extra)
{
	size_t cap = list->cap ? list->cap : 16;
	int *fds;

	while (cap - list->cnt < extra)
		cap *= 2;
	if (cap == list->cap)
		return 0;
	fds = realloc(list->fds, cap * sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	list->fds = fds;
	list->cap = cap;
	return 0;
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
