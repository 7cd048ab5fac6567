#ifndef NFG_SELECT_DENY_H
#define NFG_SELECT_DENY_H

#include <stdbool.h>

/*
 * deny_reason - why no program may be attached to a function of this name; NULL when one may.
 *
 * Three kinds: what our own programs run through (read from the kernels' text: all that the
 * trampoline, the clock, the map lookup and the ring buffer call), what runs where no program
 * may, and what has crashed kernels. Older kernels enforce none of it. @by_kprobe: the program comes by kprobe.session, which
 * none of ours runs inside another of, and not by a trampoline.
 */
const char *deny_reason(const char *name, bool by_kprobe);

/* deny_copy_reason - likewise for names that only a compiler makes (f.isra.0); NULL for other names. */
const char *deny_copy_reason(const char *name);

#endif
