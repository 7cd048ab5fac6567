#ifndef NFG_KERNEL_ATTACHMODE_H
#define NFG_KERNEL_ATTACHMODE_H

#include <stdbool.h>

/* How programs get to functions. */
enum attach_mode {
	ATTACH_AUTO, /* what loses nothing, for as long as calls may be lost; else the cheapest */
	ATTACH_COMPLETE, /* what loses nothing when tasks are preempted, or nothing at all */
	ATTACH_CHEAP,    /* what costs a call least, and is attached in bearable time */
	ATTACH_MULTI,    /* a few programs for all functions, tracing_multi links (7.2) */
	ATTACH_KPROBE,   /* a program for all functions, kprobe.session links (6.10) */
	ATTACH_KPROBES, /* two programs for all functions, kprobe.multi and kretprobe.multi links (5.18) */
	ATTACH_SESSION, /* a program for each function, fsession (7.0) */
	ATTACH_PAIR,    /* two programs for each function, fentry and fexit */
};

/* attach_is_open - whether it is left to us which. */
static inline bool attach_is_open(enum attach_mode mode)
{
	return mode == ATTACH_AUTO || mode == ATTACH_COMPLETE || mode == ATTACH_CHEAP;
}

/* attach_is_by_site - whether programs know their function by its address. */
static inline bool attach_is_by_site(enum attach_mode mode)
{
	return mode == ATTACH_KPROBE || mode == ATTACH_KPROBES;
}

#endif
