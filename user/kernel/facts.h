#ifndef NFG_KERNEL_FACTS_H
#define NFG_KERNEL_FACTS_H

#include <stdbool.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"

/* What this kernel says of its functions. Zeroed storage may be closed. */
struct facts {
	struct kbtf *kbtf;
	struct ksyms *ksyms;
	struct ktext *text; /* NULL: not readable, or not wanted */
	int text_err;       /* why not */
};

/*
 * facts_open - read them all.
 *
 * @wants_text: also open the kernel's text; that it cannot be read is no failure.
 * Return: 0, or -errno, said on stderr. facts_close in either case.
 */
int facts_open(struct facts *facts, bool wants_text);
void facts_close(struct facts *facts);

#endif
