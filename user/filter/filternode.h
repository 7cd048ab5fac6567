#ifndef NFG_FILTER_FILTERNODE_H
#define NFG_FILTER_FILTERNODE_H

#include "filter/filter.h"

/* The expression tree of a filter. Private to user/filter/. */

#define FILTER_NODE_MAX 192u

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

/* filter_is_retval - whether @name stands for the function's result. */
static inline bool filter_is_retval(struct text name)
{
	return text_equal(name, (struct text){ "retval", 6 });
}

/* filter_suggest_errno - the errnos with names near @name (suggest.h). */
const char *filter_suggest_errno(struct text name);

struct filter {
	struct filter_node nodes[FILTER_NODE_MAX];
	uint32_t node_cnt;
	uint32_t root;
	char *text; /* where the names are */
};

#endif
