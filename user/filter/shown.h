#ifndef NFG_FILTER_SHOWN_H
#define NFG_FILTER_SHOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/member.h"
#include "kernel/proto.h"
#include "nfg_abi.h"

struct bpf_insn;

#define SHOWN_MEMBER_MAX 8u   /* members in all --show options */
#define SHOWN_TEXT_MAX   120u /* bytes of a member's path */
#define SHOWN_CHARS      16u  /* bytes of a text that are shown (PROTO_CHARS) */

/* Words of the list that stand for members. */
enum shown_word {
	SHOWN_RULES,  /* "rules": what a rule, a connection, a route, a queue or a neighbour is */
	SHOWN_STAMPS, /* "stamps": the time stamps of a packet */
	SHOWN_WORD_CNT,
};

/* Arguments of functions with SHOWN_STAMPS: of the kernel or the driver, and of the card. */
#define SHOWN_STAMP      "tstamp"
#define SHOWN_CARD_STAMP "hwtstamp"

/* A member of the list of --show. */
struct shown_name {
	struct text text; /* "skb.dev.name": all of it */
	struct text name; /* of the argument */
	struct text path; /* the members behind it */
	const char *
		option; /* that asks for it: --show; NULL: it is no mistake if no function has it */
	bool is_found;  /* a function has it */
	char why[MEMBER_WHY]; /* "": no function has the argument; else what the last one lacks */
};

/* A number beside a member: only if it has a value, the member means something. */
struct shown_condition {
	uint32_t offset; /* from the last pointer on the way to the member */
	uint8_t bytes;   /* 0: there is no condition */
	bool is_not;     /* the number must have another value */
	int32_t mask;    /* its bits that count; 0: all */
	int32_t value;
};

/* How the code of one function reads a member. */
struct shown_read {
	uint32_t func_id;
	uint8_t arg_idx;
	uint8_t kind;       /* enum proto_kind */
	bool is_arg_probed; /* the verifier refuses to load the argument */
	bool is_string;     /* the value is the address of a text */
	bool is_fact;       /* of a word */
	bool is_optional; /* left out where a pointer on the way is NULL or the condition is not met: NFG_SHOWN_CUT */
	struct shown_condition only;
	struct member member;
};

/*
 * The list of --show: members of the structs behind arguments, which the entries of functions show beside the arguments.
 * A function shows those that its own types have.
 */
struct shown {
	struct shown_name names[SHOWN_MEMBER_MAX];
	uint32_t cnt;
	bool has_facts[SHOWN_WORD_CNT]; /* the list has the word */
	bool only_tables; /* of rules, only the tables and chains in which they are; of iptables, whose hook tells the chain */
	bool finds_facts
		[SHOWN_WORD_CNT]; /* a function has some, even if there is no room for them */
	char *text;               /* has the names */
	/* by shown_resolve: */
	struct shown_read *reads; /* in the order of functions and names */
	size_t read_cnt;
	size_t read_cap;
};

/* shown_is_text - whether a member of that type is an array of char, or a pointer to char. */
bool shown_is_text(const struct btf *btf, uint32_t type_id);

/*
 * shown_named - make @type, that of the member @member at the end of @path, one whose values have names, if it is a number
 * that has some: sk_state. @is_fact: of a word, whose structs are known. Return: 0 or -ENOMEM.
 */
int shown_named(struct proto_table *types, struct text path, const struct member *member,
		bool is_fact, struct proto_type *type);

/*
 * shown_parse - add the members of the list @text to @shown, or make it. @option: as in struct shown_name; static.
 *
 * Return: NULL, or the complaint that follows "'TEXT' ", valid until the next call.
 */
const char *shown_parse(struct shown **shown, const char *text, const char *option);

/* shown_hint - how to list what can be shown, if that is what helps with the complaint @why of shown_parse; NULL: something else does. */
const char *shown_hint(const char *why);

/* shown_guess - the member that a word may be meant as: skb.mark for mark, sk.sk_mark for sk_mark; "": none. Valid until the next call. */
const char *shown_guess(struct text word);

/* shown_option - the first option that asks for some of it; NULL: none does. */
const char *shown_option(const struct shown *shown);

void shown_free(struct shown *shown);

/*
 * shown_resolve - find the members that @func has, and add their types to @types as those of the next function, @func_id: its
 * arguments are the members.
 *
 * Functions come in the order of their ids, from 0 on; 0 forgets all. Return: 0, -ENOMEM or -E2BIG.
 */
int shown_resolve(struct shown *shown, struct proto_table *types, const struct kbtf *kb,
		  const struct kbtf_func *func, uint32_t func_id);

/*
 * shown_name_verdict - with SHOWN_RULES, give the result of @func, if it is a hook of Netfilter, the names of verdicts.
 *
 * @protos: has @func as @func_id. Return: 0 or -ENOMEM.
 */
int shown_name_verdict(const struct shown *shown, struct proto_table *protos, const struct kbtf *kb,
		       const struct kbtf_func *func, uint32_t func_id);

/* shown_unfound - the first member, then the first word, of which no function has anything; NULL: none. */
const struct shown_name *shown_unfound(const struct shown *shown);

/* shown_word_cnt - the number of words of the function's members and their states (NFG_VALUE_SHOWN); 0: it has none. */
uint32_t shown_word_cnt(const struct shown *shown, uint32_t func_id);

#define SHOWN_INSN_MAX 1024u

/*
 * shown_code - compile the reading of a function's members to a BPF function, for programs at its entry.
 *
 * Its arguments are the program's context and the address of shown_word_cnt words, which it fills. All reads behind the
 * argument go through helpers, so a bad address is noticed, and the verifier need not know the types. It has no loop, and
 * uses 24 bytes of stack.
 * @is_direct: arguments are loaded where the verifier is known to allow it; else all of them through the helper. @insns:
 * room for SHOWN_INSN_MAX. Return: the number of instructions.
 */
uint32_t shown_code(const struct shown *shown, uint32_t func_id, bool is_direct,
		    struct bpf_insn *insns);

#endif
