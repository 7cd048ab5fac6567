#ifndef NFG_SELECT_LIST_H
#define NFG_SELECT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/attachmode.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/srcline.h"
#include "select/select.h"
#include "base/strbuf.h"

/* What tracing a selection will take. */
struct list_plan {
	/* What these functions are attached by: 0 and *@mode, no open one; or -errno, which is said. */
	int (*mode)(void *ctx, const struct functab *tab, enum attach_mode *mode);
	void *ctx;
	unsigned int kernel[2]; /* version: 6, 12 */
	uint32_t cpu_cnt;
	uint64_t buffer_bytes; /* per CPU */
};

/* What a plan says. */
struct list_cost {
	const struct attach_words *by;
	size_t func_cnt;
	size_t module_func_cnt; /* of them, in modules */
	size_t extra_cnt;       /* of them, those that kprobe.session takes beside tracing_multi */
	uint64_t attach_us;     /* at most: on an emulated CPU */
	uint64_t detach_us;
	bool waits; /* detaching does so in the background, for the kernel */
	uint32_t cpu_cnt;
	uint64_t buffer_bytes; /* per CPU */
	uint64_t program_bytes;
};

/* A function that was found; all is borrowed. */
struct list_func {
	const char *name;
	const char *module; /* NULL: none */
	struct text
		source; /* "net/socket.c:2104", where it begins; len 0: not known, or not asked for */
	const char *reason; /* why it is not chosen; NULL: it is */
};

/* Who takes what is found, instead of lines of text. */
struct list_taker {
	void (*func)(void *ctx, const struct list_func *func);
	void (*cost)(void *ctx, const struct list_cost *cost);
	void *ctx;
};

struct list_config {
	struct select_rules rules; /* its verdict is ours */
	const struct kbtf *kbtf;
	const struct ksyms *ksyms;
	struct srcline *srcline;        /* NULL: functions have no source lines; borrowed */
	bool is_verbose;                /* every candidate, with the reason why not */
	const struct list_plan *plan;   /* NULL: the functions; else what they take */
	const struct list_taker *taker; /* NULL: text */
};

/*
 * list_run - what a trace with these rules would select.
 *
 * One line for each function, "name" or "name [module]"; with is_verbose "name: chosen" or "name:
 * reason" for each candidate; with srcline " (file:line)" behind the name. With a plan: a table of numbers.
 * Return: 0; -ENOENT when nothing is selected (said on stderr; @out has the reasons then, with
 * is_verbose); or -ENOMEM.
 */
int list_run(const struct list_config *config, struct strbuf *out);

/* list_presets - the table of presets: name, what for, start functions. */
void list_presets(struct strbuf *out);

/* list_kernel - the running kernel's version, for a plan. */
void list_kernel(unsigned int version[2]);

#endif
