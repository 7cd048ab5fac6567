#ifndef NFG_SESSION_PROGWATCH_H
#define NFG_SESSION_PROGWATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/attach.h"
#include "format/details.h"
#include "options/opts.h"
#include "report/sink.h"
#include "session/plan.h"
#include "trace/functab.h"

/* What programs are watched for, and where new ones are added. All borrowed. */
struct progwatch_config {
	const struct opts *opts;
	struct functab *functab;
	struct facts *facts;
	struct details *details;
	uint8_t *start_kinds; /* NULL: there are none */
	struct sink *sink;    /* is told of new functions; NULL: nobody is */
	const struct bpfobj *obj;
	struct attach *attach;
	const volatile int *stop_cnt;
};

/*
 * Watches the traced BPF programs, once a second. Our links keep them loaded after their owners have dropped them, so
 * those that only we still hold are let go; and new ones are traced if a rule asks for all programs. Zeroed: there are
 * none.
 */
struct progwatch {
	struct progwatch_config config;
	int holders_fd;     /* 0: nobody looks */
	bool follows;       /* new ones are traced */
	uint32_t *func_ids; /* of functions of BPF programs ... */
	size_t func_cnt;
	uint32_t *gone_ids; /* ... and of those whose programs are to be let go; room for all */
	size_t gone_cnt;
	size_t link_cnt;          /* of each function */
	unsigned int failure_cnt; /* nobody could look, so many times in a row */
	bool is_behind;           /* there may be more new programs */
	size_t next_row;          /* of the functions of the program that is being looked at */
	bool has_taken;           /* some of them are traced */
	uint64_t next_ns;         /* when to look again */
};

/*
 * progwatch_follows - whether new programs will be traced: "-T 'GLOB [bpf]'" asks for it. It takes CAP_SYS_ADMIN, CAP_BPF
 * and CAP_PERFMON as long as the trace runs, so a trace that takes programs by itself does not. A recording names new
 * functions where they come.
 */
bool progwatch_follows(const struct opts *opts);

/* progwatch_make_room - let @tab have functions of new programs, before anything has arrays by func_id. Return: 0 or -ENOMEM. */
int progwatch_make_room(struct functab *tab);

/*
 * progwatch_init - begin after all functions are attached. Descriptors of programs are closed, or these could not be
 * unloaded, and the list of programs is dropped.
 *
 * Return: 0 or -ENOMEM; progwatch_release in either case. Warns if this kernel does not show who holds programs, and if
 * new ones cannot be traced.
 */
int progwatch_init(struct progwatch *pw, const struct progwatch_config *config);
void progwatch_release(struct progwatch *pw);

/*
 * progwatch_tick - look, if a second has passed, or if the last look found more than could be taken between two looks at
 * the rings. Return: 0 or -errno, already logged unless -ENOMEM or -EINTR.
 */
int progwatch_tick(struct progwatch *pw, uint64_t now_ns);

#endif
