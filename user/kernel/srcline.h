#ifndef NFG_KERNEL_SRCLINE_H
#define NFG_KERNEL_SRCLINE_H

#include "base/text.h"

/*
 * Source lines of places in the kernel ("tcp_v4_connect+0x1f5/0x4a0"): the symbols of a vmlinux with debug info give
 * addresses, addr2line gives lines. If either is missing there are none, and one warning names it.
 */
struct srcline;

/*
 * srcline_new - start; forks, so call it before privileges are dropped.
 *
 * @path: the vmlinux; NULL: search for it once the kernel is known.
 * Return: 0; -ENOMEM; or after an error message -errno: @path cannot be read or is not a vmlinux. Caller frees with
 * srcline_free.
 */
int srcline_new(struct srcline **out, const char *path);

/*
 * srcline_running - places are in the running kernel.
 * srcline_of - places are in a kernel @release, from a recording.
 *
 * Both search for that kernel's vmlinux unless @path was given, make addr2line read it, and warn on failure. NULL as
 * @sl: no effect.
 */
void srcline_running(struct srcline *sl);
void srcline_of(struct srcline *sl, const char *release);

/*
 * srcline_return - the line of the call that returns to @place: "net/ipv4/tcp_ipv4.c:320", below the kernel's directory.
 * srcline_entry - the line where the function @name begins.
 *
 * If addr2line takes 5 s, it is ended with a warning, so no trace waits longer.
 * Return: len 0: not known. Borrowed until srcline_free. NULL as @sl: len 0.
 */
struct text srcline_return(struct srcline *sl, struct text place);
struct text srcline_entry(struct srcline *sl, const char *name);

/* srcline_free - NULL: no effect. */
void srcline_free(struct srcline *sl);

#endif
