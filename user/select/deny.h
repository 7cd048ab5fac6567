#ifndef NFG_SELECT_DENY_H
#define NFG_SELECT_DENY_H

#include <stdbool.h>

/* How a function would be traced. */
enum deny_for {
	DENY_FENTRY, /* a trampoline */
	DENY_KPROBE, /* kprobe.session; none of its programs runs inside another */
	DENY_KPROBE_ALL, /* the same, with nothing attached another way, all functions wanted, and this one by its name */
};

/*
 * deny_reason - why no program may be attached to a function of this name; NULL when one may.
 *
 * Three kinds: functions that our own programs run (from the kernels' text: all callees of the trampoline, the clock,
 * the map lookup and the ring buffer), functions that run where no program may, and functions that have crashed
 * kernels. Older kernels enforce none of this.
 */
const char *deny_reason(const char *name, enum deny_for by);

/* deny_runs_around - whether the kernel calls the function around every program, and only DENY_KPROBE_ALL allows it. */
bool deny_runs_around(const char *name);

/* deny_copy_reason - the same for names of the compiler's copies (f.isra.0); NULL for other names. */
const char *deny_copy_reason(const char *name);

#endif
