#ifndef NFG_KERNEL_SRCLINE_H
#define NFG_KERNEL_SRCLINE_H

#include "base/text.h"

/*
 * Source lines of places in the kernel ("tcp_v4_connect+0x1f5/0x4a0"): their addresses from the symbols of a vmlinux with
 * debug info, their lines from addr2line. Without either there are none, and one warning says what is missing.
 */
struct srcline;

/*
 * srcline_new - begin; forks, so it comes before privileges are given up.
 *
 * @path: the vmlinux; NULL: it is searched once the kernel is known.
 * Return: 0; -ENOMEM; or after an error message -errno: @path cannot be read or is none. Caller frees with srcline_free.
 */
int srcline_new(struct srcline **out, const char *path);

/*
 * srcline_running - places are in the running kernel.
 * srcline_of - places are in a kernel @release, from a recording.
 *
 * Either looks for that kernel's vmlinux unless there is one, lets addr2line read it, and warns if that fails. NULL as
 * @sl: nothing happens.
 */
void srcline_running(struct srcline *sl);
void srcline_of(struct srcline *sl, const char *release);

/*
 * srcline_return - the line of the call that returns to @place: "net/ipv4/tcp_ipv4.c:320", below the kernel's directory.
 * srcline_entry - the line where the function @name begins.
 *
 * An answer that takes 5 s ends all of it with a warning: no trace waits longer.
 * Return: len 0: not known. Borrowed until srcline_free. NULL as @sl: len 0.
 */
struct text srcline_return(struct srcline *sl, struct text place);
struct text srcline_entry(struct srcline *sl, const char *name);

/* srcline_free - NULL: nothing happens. */
void srcline_free(struct srcline *sl);

#endif
