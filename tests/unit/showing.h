#ifndef NFG_TEST_SHOWING_H
#define NFG_TEST_SHOWING_H

/* What calls show of the members of their arguments (--show). */
#include <stdint.h>

#include "kernel/kbtf.h"

/*
 * What a call of the function @name with the arguments @ctx (room for 14 words) shows of @list: "skb.len=1500 ...". *@states:
 * of the members. @other: a function that shows nothing of it. Valid until the next call.
 */
const char *showing(const struct kbtf *kb, const char *name, const char *list,
		    const struct kbtf_func *other, const uint64_t *ctx, uint64_t *states);

#endif
