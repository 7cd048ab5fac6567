#ifndef NFG_KERNEL_ATTACHMODE_H
#define NFG_KERNEL_ATTACHMODE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Each way to attach: its identifier, its name for --attach, the kernel's name of it, that name as a row of check (NULL:
 * none), its programs, the first kernel that has it. The help, list --plan, check and -v take their words from here, and
 * attachmode.c has what each costs.
 */
#define ATTACH_WAYS(WAY)                                                                           \
	WAY(MULTI, "multi", "tracing_multi", "tracing_multi",                                      \
	    "12 pairs of programs for all functions", "Linux 7.2 on x86-64")                       \
	WAY(KPROBE, "kprobe", "kprobe.session", "kprobe_session", "one program for all functions", \
	    "Linux 6.10 with CONFIG_FPROBE")                                                       \
	WAY(KPROBES, "kprobes", "kprobe.multi", "kprobe_multi", "two programs for all functions",  \
	    "Linux 5.18 with CONFIG_FPROBE")                                                       \
	WAY(SESSION, "session", "fsession", "fsession", "a program for each function",             \
	    "Linux 7.0")                                                                           \
	WAY(PAIR, "pair", "fentry and fexit", NULL, "two programs for each function", "Linux 5.10")

#define ATTACH_ENUMERATOR(id, ...) ATTACH_##id,

/* How programs get to functions. */
enum attach_mode {
	ATTACH_AUTO, /* what loses nothing, for as long as calls may be lost; else the cheapest */
	ATTACH_COMPLETE, /* what loses nothing when tasks are preempted, or nothing at all */
	ATTACH_CHEAP,    /* what costs a call least, and is attached in bearable time */
	ATTACH_WAYS(ATTACH_ENUMERATOR) /* what each of them is: ATTACH_WAYS */
	ATTACH_MODE_CNT,
};

#define ATTACH_WAY_FIRST ATTACH_MULTI

struct attach_words {
	const char *name;     /* multi */
	const char *link;     /* tracing_multi; NULL where it is left to us, as the others are */
	const char *feature;  /* tracing_multi; NULL: not a row of check */
	const char *programs; /* 12 pairs of programs for all functions */
	const char *since;    /* Linux 7.2 on x86-64 */
};

/* attach_words - those of @mode, below ATTACH_MODE_CNT. */
const struct attach_words *attach_words(enum attach_mode mode);

/* What attaching and detaching take for one function. */
struct attach_cost {
	uint32_t attach_us;
	uint32_t detach_us;
	uint32_t bytes; /* of the kernel's memory */
	bool waits;     /* for a grace period at each function: as long on any hardware */
};

/* attach_cost - of a way to attach, on Linux @version: 6, 12. */
const struct attach_cost *attach_cost(enum attach_mode mode, const unsigned int version[2]);

/* attach_is_open - whether it is left to us which. */
static inline bool attach_is_open(enum attach_mode mode)
{
	return mode < ATTACH_WAY_FIRST;
}

/* attach_is_by_site - whether programs know their function by its address. */
static inline bool attach_is_by_site(enum attach_mode mode)
{
	return mode == ATTACH_KPROBE || mode == ATTACH_KPROBES;
}

#endif
