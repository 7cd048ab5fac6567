#ifndef NFG_KERNEL_POINTFIELDS_H
#define NFG_KERNEL_POINTFIELDS_H

#include <stdbool.h>

#include "kernel/proto.h"

/* What BTF does not have of tracepoints: how they compute their fields from their arguments, and the names of numbers. */

/* Names of a field's numbers. */
struct point_names {
	const char *name;
	const struct proto_name *names; /* up to one without a name, by value */
	bool is_flags;                  /* the values are bits */
};

/* pointfields_of - the fields of the tracepoint @name, in the language that pointfields.c describes; NULL: they are not known. */
const char *pointfields_of(const char *name);

/* pointfields_list - the names that fields of the form @name have; NULL: that is no list. */
const struct point_names *pointfields_list(const char *name);

#endif
