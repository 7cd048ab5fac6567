#ifndef NFG_SESSION_PROGWATCH_H
#define NFG_SESSION_PROGWATCH_H

#include <stddef.h>
#include <stdint.h>

#include "attach/attach.h"
#include "kernel/kbtf.h"
#include "trace/functab.h"

/*
 * Watches the traced BPF programs. Our links keep them loaded after their owners have dropped them, so once a second
 * those that only we still hold are let go. Zeroed: there are none.
 */
struct progwatch {
	int holders_fd;     /* 0: none */
	uint32_t *func_ids; /* of functions of BPF programs ... */
	size_t func_cnt;
	uint32_t *gone_ids; /* ... and of those whose programs are to be let go; room for all */
	size_t gone_cnt;
	size_t link_cnt; /* of each function */
	uint64_t next_ns; /* when to look again */
	const struct functab *functab;
	const struct bpfobj *obj;
};

/*
 * progwatch_init - begin after all functions are attached. Descriptors of programs are closed in @kb, or these could
 * not be unloaded.
 *
 * @functab, @obj: borrowed. Return: 0 or -ENOMEM; progwatch_release in either case. If this kernel does not show who
 * holds programs, -v logs it.
 */
int progwatch_init(struct progwatch *pw, const struct functab *functab, const struct bpfobj *obj,
		   struct kbtf *kb);
void progwatch_release(struct progwatch *pw);

/* progwatch_tick - let programs go; cheap until a second has passed. Return: 0 or -errno, already logged. */
int progwatch_tick(struct progwatch *pw, struct attach *at, struct functab *functab,
		   uint64_t now_ns, const volatile int *stop_cnt);

#endif
