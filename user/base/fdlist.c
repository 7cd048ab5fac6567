#include "base/fdlist.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"

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
