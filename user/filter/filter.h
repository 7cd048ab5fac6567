#ifndef NFG_FILTER_FILTER_H
#define NFG_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/member.h"
#include "kernel/proto.h"

struct shown;
struct suggest;

enum filter_op {
	FILTER_AND,
	FILTER_OR,
	FILTER_NOT,   /* of left */
	FILTER_LESS,  /* the value is less than the number */
	FILTER_EQUAL, /* equals it */
	FILTER_BITS,  /* has one of its bits */
	FILTER_VALUE, /* no condition: a member with which another node compares */
};

struct filter_node {
	enum filter_op op;
	uint16_t left;
	uint16_t right;
	struct text name;   /* the compared argument, or retval */
	struct text path;   /* a member behind it (member.h); len 0: the value itself */
	struct text string; /* ptr not NULL: with this text, without quotes */
	struct text symbol; /* len 0: with number; else an enumerator, plus number */
	int64_t number;
	/* 0: none; else less or equal compares with the member of the node before this number, or with that plus number */
	uint16_t other;
};

/* filter_is_behind - whether the node has a member or a string, not the value itself. Of AND, OR and NOT it has not. */
static inline bool filter_is_behind(const struct filter_node *node)
{
	return node->path.len || node->string.ptr;
}

/* filter_is_retval - whether @name stands for the function's result. */
static inline bool filter_is_retval(struct text name)
{
	return text_equal(name, (struct text){ "retval", 6 });
}

/* filter_whole_name - NAME.PATH, as --show has it. */
static inline struct text filter_whole_name(const struct filter_node *node)
{
	return (struct text){ node->name.ptr, node->name.len + node->path.len };
}

#define FILTER_NODE_MAX   192u
#define FILTER_MEMBER_MAX 32u /* members and strings in one filter */
#define FILTER_STRING_MAX 31u /* bytes */

/* How the code of one function reads the member of a comparison. */
struct filter_read {
	uint32_t func_id;
	uint32_t node;
	bool is_arg_probed; /* the verifier refuses to load the argument */
	bool is_pointer;    /* of a string: to its bytes */
	struct proto_type type;
	struct proto_type
		names; /* whose values have the names that it is compared with; often @type */
	struct member member;
};

/*
 * The condition of --filter on a call's arguments and result, in the syntax of the kernel's event filters:
 * comparisons of a name with a number, && || ! and parentheses. The name is retval or an argument's, or a member that
 * is reached from there. The number is decimal, hexadecimal, an errno's name or, for an enum, an enumerator's name; text
 * is compared with a string in quotes.
 */
struct filter {
	struct filter_node nodes[FILTER_NODE_MAX];
	uint32_t node_cnt;
	uint32_t root;
	char *text; /* contains the names */
	uint32_t member_cnt;
	bool has_entry; /* some of it is tested when the call begins (enum filter_end) */
	/* by filter_resolve: */
	struct filter_read *reads; /* in the order of functions and nodes */
	size_t read_cnt;
	size_t read_cap;
	struct proto_table *types; /* has the enums of members */
	const struct proto_table
		*shown;       /* see filter_use_shown; NULL: members are read in the kernel */
	char why[MEMBER_WHY]; /* "": no member was missing */
};

struct bpf_insn;

/*
 * The filter is a list of conditions between &&. Those with members of arguments are tested at the entry, where the objects are
 * as the caller passed them: a packet is freed, queued or rewritten by the time its function returns. All others
 * are tested at the exit; arguments have the values of the entry there, too.
 */
enum filter_end { FILTER_AT_ENTRY, FILTER_AT_EXIT };

/* The highest number of an error (include/linux/err.h of the kernel). */
#define FILTER_ERRNO_MAX 4095

/* filter_add_errnos - offer the names of all errors to @near. */
void filter_add_errnos(struct suggest *near);

/* What a part of the filter reads. */
#define FILTER_READS_MEMBERS 1u /* of arguments */
#define FILTER_READS_RESULT  2u

/* filter_reads - what the part below node @at reads: bits of the above. */
unsigned int filter_reads(const struct filter *filter, uint32_t at);

/* filter_parse - Return: NULL, or the complaint that follows "'TEXT' ", valid until the next call. */
const char *filter_parse(struct filter **out, const char *text);
void filter_free(struct filter *filter);

/*
 * filter_resolve - find the members that @filter names behind the arguments of @func, for filter_fits and filter_code.
 * filter->why has the last complaint. Functions come in the order of their @func_id, from 0 on; 0 forgets all.
 *
 * @kb: NULL: there are no types. Return: 0 or -ENOMEM.
 */
int filter_resolve(struct filter *filter, const struct kbtf *kb, const struct kbtf_func *func,
		   uint32_t func_id);

/*
 * filter_fits - whether the function has the arguments and the result that @filter names, with a comparable type; of each || at
 * least one side. A side that it lacks is false for this function.
 *
 * *missing: the first name, enumerator, path of a member or string that it lacks; borrowed from @filter.
 */
bool filter_fits(const struct filter *filter, const struct proto_table *protos, uint32_t func_id,
		 struct text *missing);

/* filter_lacks - the part of a comparison that the function lacks, as *missing of filter_fits; len 0: none. */
struct text filter_lacks(const struct filter *filter, const struct proto_table *protos,
			 uint32_t func_id, const struct filter_node *node);

/* filter_is_member - whether @missing is the path of a member, or a string; filter->why says what is wrong with it. */
static inline bool filter_is_member(struct text missing)
{
	return missing.len && (*missing.ptr == '"' || member_path_len(missing.ptr));
}

/* filter_compared - the comparison with the enumerator @missing of filter_fits; NULL: it is none, but a name. */
const struct filter_node *filter_compared(const struct filter *filter, struct text missing);

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
 * filter_show - let calls show the members that @filter names (shown.h), so that filter_eval can test them. @option: it has
 * the filter, for shown_parse.
 *
 * Return: NULL, or the complaint that follows "'TEXT' ", valid until the next call.
 */
const char *filter_show(const struct filter *filter, struct shown **shown, const char *option);

/* filter_use_shown - from now on members are those that calls show: @members has their types. Borrowed. */
void filter_use_shown(struct filter *filter, const struct proto_table *members);

/*
 * filter_eval - whether a call of a function that @filter fits passes.
 *
 * @values: all arguments of the prototype, then the result. @shown: words of members after filter_use_shown, else NULL. Agrees
 * with the code of filter_code, but without @shown no member and no string passes: these are in the kernel's memory.
 */
bool filter_eval(const struct filter *filter, const struct proto_table *protos, uint32_t func_id,
		 const uint64_t *values, const uint64_t *shown);

#define FILTER_INSN_MAX 4096u

/*
 * filter_code - compile the conditions for one end of one function, which the filter must fit, to a BPF function.
 *
 * Its argument is the context of an fentry or fexit program, its result 1 for calls that match, else 0. It has no loop. Without
 * members it calls nothing and uses no stack; else it uses 8 bytes of stack, r6, r7, and calls bpf_probe_read_kernel.
 * What cannot be read is 0. A pointer or unsigned 64-bit number counts as negative if it is an error (IS_ERR_VALUE
 * of include/linux/err.h).
 * @ret_idx: how many words of the context precede the result: func->arg_cnt, not the arguments of the prototype, as for
 * a BPF program of which the verifier has no type the kernel passes five.
 * @is_direct: members are loaded as far as the verifier allows it by their types; else all through the helper, which
 * costs more and needs no types. @insns: room for FILTER_INSN_MAX. Return: the number of instructions.
 */
uint32_t filter_code(const struct filter *filter, const struct proto_table *protos,
		     uint32_t func_id, enum filter_end end, uint32_t ret_idx, bool is_direct,
		     struct bpf_insn *insns);

#endif
