#ifndef NFG_KERNEL_ENUMPREFIX_H
#define NFG_KERNEL_ENUMPREFIX_H

#include "base/strbuf.h"
#include "kernel/proto.h"

/*
 * enumprefix_of - what nearly all names of an enum begin with, up to a '_': SKB_DROP_REASON_. Tables and filters do without.
 *
 * Return: borrowed from its names; len 0: nothing.
 */
struct text enumprefix_of(const struct proto_enum *en);

/* enumprefix_begins - whether @name is longer than @prefix, and begins with it. */
bool enumprefix_begins(struct text name, struct text prefix);

#endif
