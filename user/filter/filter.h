#ifndef NFG_FILTER_FILTER_H
#define NFG_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/proto.h"

/*
 * What --filter says of a call's arguments and its result, in the syntax of the kernel's event filters:
 * comparisons of a name with a number, && || ! and parentheses. The name is retval or an argument's; the
 * number decimal, hexadecimal, an errno's name, or of an enum an enumerator's.
 */
struct filter;

struct bpf_insn;

/* filter_parse - Return: NULL, or what is wrong with the text, to be printed behind "'TEXT' ", valid until the next call. */
const char *filter_parse(struct filter **out, const char *text);
void filter_free(struct filter *filter);

/*
 * filter_fits - whether the function has all that @filter names, of a type that has a value.
 *
 * *missing: what it has not: a name, or an enumerator; borrowed from @filter.
 */
bool filter_fits(const struct filter *filter, const struct proto_table *protos, uint32_t func_id,
		 struct text *missing);

#define FILTER_ANY_FUNC UINT32_MAX

/*
 * filter_suggest - what @missing of filter_fits may stand for (suggest.h): retval or an argument of the function, or an
 * errno or an enumerator of its types; FILTER_ANY_FUNC: of all functions. "" if nothing is near.
 */
const char *filter_suggest(const struct filter *filter, const struct proto_table *protos,
			   uint32_t func_id, struct text missing);

/* What of a call the filter looks at. */
struct filter_needs {
	bool args;
	bool ret;
};

/* filter_needs - of a function that it fits. */
struct filter_needs filter_needs(const struct filter *filter);

/*
 * filter_eval - whether a call of a function that it fits passes.
 *
 * @values: the arguments, and behind all that the prototype has, the result. Says what filter_code's code says.
 */
bool filter_eval(const struct filter *filter, const struct proto_table *protos, uint32_t func_id,
		 const uint64_t *values);

#define FILTER_INSN_MAX 1024u

/*
 * filter_code - the filter as a BPF function for the exit of one function, which it has to fit.
 *
 * Its argument is the context of an fexit program, its result 1 for calls that match, else 0. It has
 * no loop, calls nothing and uses no stack. A pointer or an unsigned number of 64 bits is taken for negative
 * when it is an error (IS_ERR_VALUE of include/linux/err.h).
 * @insns: room for FILTER_INSN_MAX. Return: how many there are.
 */
uint32_t filter_code(const struct filter *filter, const struct proto_table *protos,
		     uint32_t func_id, struct bpf_insn *insns);

#endif
