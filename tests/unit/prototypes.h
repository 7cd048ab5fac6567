#ifndef NFG_TEST_PROTOTYPES_H
#define NFG_TEST_PROTOTYPES_H

/* A kernel with a function for every kind of type, the table of its types, and how each value must be written. */
#include <stdint.h>

#include "base/strbuf.h"
#include "kernel/proto.h"

#define BIG_CNT  800u /* enumerators of an enum that has no room in a small piece */
#define KEY      UINT64_C(0x0123456789abcdef)
#define MINUS(n) ((uint64_t) - (int64_t)(n))

/* Every kind of type. Function number T is "T f(T v)". */
enum type {
	T_VOID,
	T_PTR,
	T_S8,
	T_U8,
	T_S16,
	T_U16,
	T_S32,
	T_U32,
	T_S64,
	T_U64,
	T_S128,
	T_BOOL,
	T_REASON,  /* enum of unsigned int */
	T_SIGNED,  /* enum of int */
	T_WIDE,    /* enum of unsigned long */
	T_BIG,     /* enum of unsigned short, with many names */
	T_FORWARD, /* enum that is only declared */
	T_RECORD,
	T_HIDDEN, /* T_REASON behind typedefs and qualifiers */
	T_HIDDEN_PTR,
	T_ALL,
	/* functions that are not of this form */
	F_NAMELESS = T_ALL,
	F_TWELVE,
	F_THIRTEEN,
	F_UNTYPED,
	F_NO_BTF,
	F_ALL,
};

extern struct proto_table *table;
extern struct strbuf written; /* by arg_of and ret_of */

void make_table(void);
void release(void);
const char *arg_of(uint32_t func, uint64_t value, bool hides);
const char *ret_of(uint32_t func, uint64_t value, const struct proto_style *style);

/* Append to written what ret_of says. */
void put_ret(uint32_t func, uint64_t value, const struct proto_style *style);
void check_args(void);
void check_arg_lists(void);
void check_rets(void);

#endif
