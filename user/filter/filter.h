#ifndef NFG_FILTER_FILTER_H
#define NFG_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/proto.h"

enum filter_op {
	FILTER_AND,
	FILTER_OR,
	FILTER_NOT,   /* of left */
	FILTER_LESS,  /* the value is less than the number */
	FILTER_EQUAL, /* equals it */
	FILTER_BITS,  /* has one of its bits */
};

struct filter_node {
	enum filter_op op;
	uint16_t left;
	uint16_t right;
	struct text name;   /* the compared argument, or retval */
	struct text symbol; /* len 0: with number; else an enumerator, plus number */
	int64_t number;
};

#define FILTER_NODE_MAX 192u

/*
 * The condition of --filter on a call's arguments and result, in the syntax of the kernel's event filters:
 * comparisons of a name with a number, && || ! and parentheses. The name is retval or an argument's. The number is
 * decimal, hexadecimal, an errno's name or, for an enum, an enumerator's name.
 */
struct filter {
	struct filter_node nodes[FILTER_NODE_MAX];
	uint32_t node_cnt;
	uint32_t root;
	char *text; /* contains the names */
};

struct bpf_insn;

/* filter_parse - Return: NULL, or the complaint that follows "'TEXT' ", valid until the next call. */
const char *filter_parse(struct filter **out, const char *text);
void filter_free(struct filter *filter);

/*
 * filter_fits - whether the function has every argument and result that @filter names, with a comparable type.
 *
 * *missing: the first name or enumerator that it lacks; borrowed from @filter.
 */
bool filter_fits(const struct filter *filter, const struct proto_table *protos, uint32_t func_id,
		 struct text *missing);

#define FILTER_ANY_FUNC UINT32_MAX

/*
 * filter_suggest - names that @missing of filter_fits may stand for (suggest.h): retval, an argument of the function,
 * an errno, or an enumerator of its types; FILTER_ANY_FUNC: of all functions. "" if no name is near.
 */
const char *filter_suggest(const struct filter *filter, const struct proto_table *protos,
			   uint32_t func_id, struct text missing);

/* The parts of a call that the filter reads. */
struct filter_needs {
	bool args;
	bool ret;
};

/* filter_needs - the needs of @filter for a function that it fits. */
struct filter_needs filter_needs(const struct filter *filter);

/*
 * filter_eval - whether a call of a function that @filter fits passes.
 *
 * @values: all arguments of the prototype, then the result. Agrees with the code of filter_code.
 */
bool filter_eval(const struct filter *filter, const struct proto_table *protos, uint32_t func_id,
		 const uint64_t *values);

#define FILTER_INSN_MAX 1024u

/*
 * filter_code - compile the filter to a BPF function for the exit of one function, which it must fit.
 *
 * Its argument is the context of an fexit program, its result 1 for calls that match, else 0. It has no loop, calls
 * nothing and uses no stack. A pointer or unsigned 64-bit number counts as negative if it is an error (IS_ERR_VALUE
 * of include/linux/err.h).
 * @insns: room for FILTER_INSN_MAX. Return: the number of instructions.
 */
uint32_t filter_code(const struct filter *filter, const struct proto_table *protos,
		     uint32_t func_id, struct bpf_insn *insns);

#endif
