#ifndef NFG_ATTACH_MAPMEM_H
#define NFG_ATTACH_MAPMEM_H

#include <stddef.h>

/*
 * mapmem_share - map the first @bytes of a mmapable BPF map, shared with the programs.
 *
 * Return: the memory, which the caller unmaps, or NULL with errno set.
 */
void *mapmem_share(int map_fd, size_t bytes);

#endif
