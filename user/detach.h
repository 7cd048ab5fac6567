/* layer 51: kernel */
#ifndef NFG_DETACH_H
#define NFG_DETACH_H

#include <stddef.h>

#include "fdlist.h"

/*
 * detach_links - close @links, the only descriptors of them, and wait until tasks have left the programs.
 *
 * Kernels before 7.0 wait for a grace period at each link, and nothing can interrupt that; so a process of
 * its own does it, and this one only waits and shows how far it is. When it will take long that is said
 * beforehand.
 *
 * @func_cnt: how many functions that are, for the message.
 * @stop_cnt: when it grows we no longer wait: the process goes on by itself, and that is said.
 */
void detach_links(struct fd_list *links, size_t func_cnt, const volatile int *stop_cnt);

#endif
