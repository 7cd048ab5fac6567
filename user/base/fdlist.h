#ifndef NFG_BASE_FDLIST_H
#define NFG_BASE_FDLIST_H

#include <stddef.h>

/* File descriptors that belong together; -1 if one was closed before the others. Zeroed: empty. */
struct fd_list {
	int *fds;
	size_t cnt;
	size_t cap;
};

/* fd_list_reserve - room for @extra more. Return: 0 or -ENOMEM. */
int fd_list_reserve(struct fd_list *list, size_t extra);

/* fd_list_add - take over @fd; there must be room. */
void fd_list_add(struct fd_list *list, int fd);

/* fd_list_cut - close and remove all but the first @cnt. */
void fd_list_cut(struct fd_list *list, size_t cnt);

/* fd_list_close - close all, keep the memory. */
void fd_list_close(struct fd_list *list);

/* fd_list_release - close all, free the memory. */
void fd_list_release(struct fd_list *list);

#endif
