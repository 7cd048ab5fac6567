#ifndef NFG_ATTACH_MAPMEM_H
#define NFG_ATTACH_MAPMEM_H

#include <stddef.h>

/*
 * mapmem_share - the first @bytes of a mmapable BPF map, as programs see them.
 *
 * Return: NULL with errno set, or the memory; the caller's, by munmap.
 */
void *mapmem_share(int map_fd, size_t bytes);

#endif
