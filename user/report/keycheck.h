#ifndef NFG_REPORT_KEYCHECK_H
#define NFG_REPORT_KEYCHECK_H

#include "format/rowkey.h"
#include "kernel/ksyms.h"
#include "kernel/proto.h"
#include "options/opts.h"
#include "trace/functab.h"

/* Whether what is traced can have the keys of profile --by. */

/* What is traced, and the types of arguments and fields by its index. Borrowed. */
struct keycheck {
	const struct functab *functab;
	const struct pointtab *points;
	const struct proto_table *protos;       /* of functions; NULL: unknown */
	const struct proto_table *members;      /* that functions show; NULL: none do */
	const struct proto_table *point_protos; /* NULL: unknown */
	bool counts_points;                     /* functions do not count (opts.counts_points) */
};

/*
 * keycheck_missing - the first of @keys that nothing has: no function and no tracepoint, and where reasons are counted, none
 * that has a reason. Return: its number; keys->cnt: each may come.
 */
uint32_t keycheck_missing(const struct keycheck *check, const struct rowkeys *keys);

/* keycheck_is_address - whether the members that functions show have @member, and its values are addresses. */
bool keycheck_is_address(const struct keycheck *check, const char *member);

/*
 * keycheck_say - check the options of a live trace, and hint at members behind those that are addresses. @ksyms: of this kernel, for hints. Return: 0, or VERDICT_NOTHING, already logged.
 */
int keycheck_say(const struct keycheck *check, const struct opts *opts, const struct ksyms *ksyms);

#endif
