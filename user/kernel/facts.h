#ifndef NFG_KERNEL_FACTS_H
#define NFG_KERNEL_FACTS_H

#include <stdbool.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"

/* What this kernel tells about its functions. Zeroed storage may be closed. */
struct facts {
	struct kbtf *kbtf;
	struct ksyms *ksyms;
	struct ktext *text; /* NULL: unreadable or unwanted */
	int text_err;       /* why not */
};

/*
 * facts_open - read them all.
 *
 * @wants_text: also open the kernel's text; failing to is not an error.
 * Return: 0, or -errno, already logged. Call facts_close in both cases.
 */
int facts_open(struct facts *facts, bool wants_text);
void facts_close(struct facts *facts);

#endif
