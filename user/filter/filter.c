#include "filter/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filternode.h"

#define DEPTH_MAX 32
#define ERRNO_MAX 4095

/* Where the reader is. The first complaint stays. */
struct reader {
	struct filter *filter;
	const char *at;
	const char *wrong;
	int depth;
};

static uint32_t fail(struct reader *r, const char *wrong)
{
	if (!r->wrong)
		r->wrong = wrong;
	return 0;
}

static uint32_t add(struct reader *r, const struct filter_node *node)
{
	struct filter *filter = r->filter;

	if (filter->node_cnt == FILTER_NODE_MAX)
		return fail(r, "is too long");
	filter->nodes[filter->node_cnt] = *node;
	return filter->node_cnt++;
}

static uint32_t add_not(struct reader *r, uint32_t left)
{
	return add(r, &(struct filter_node){ .op = FILTER_NOT, .left = (uint16_t)left });
}

static void skip_blanks(struct reader *r)
{
	while (isspace((unsigned char)*r->at))
		r->at++;
}

/* Whether @sign is what comes next; then it is taken. */
static bool take(struct reader *r, const char *sign)
{
	size_t len = strlen(sign);

	skip_blanks(r);
	if (strncmp(r->at, sign, len) != 0)
		return false;
	r->at += len;
	return true;
}

static struct text take_name(struct reader *r)
{
	struct text name = { NULL, 0 };

	skip_blanks(r);
	name.ptr = r->at;
	if (isdigit((unsigned char)*r->at))
		return name;
	while (isalnum((unsigned char)*r->at) || *r->at == '_')
		r->at++;
	name.len = (size_t)(r->at - name.ptr);
	return name;
}

/* ---- numbers ---- */

/* The number of the errno with this name; 0: none. */
static int errno_of(struct text name)
{
	for (int err = 1; err <= ERRNO_MAX; err++) {
		const char *known = strerrorname_np(err);

		if (known && strlen(known) == name.len && !memcmp(known, name.ptr, name.len))
			return err;
	}
	return 0;
}

static void take_digits(struct reader *r, bool is_negative, bool is_ordered,
			struct filter_node *node)
{
	const bool is_hex = r->at[0] == '0' && (r->at[1] == 'x' || r->at[1] == 'X');
	unsigned long long number;
	char *end;

	if (is_hex && !isxdigit((unsigned char)r->at[2])) {
		fail(r, "has 0x without digits");
		return;
	}
	errno = 0;
	number = strtoull(r->at, &end, is_hex ? 16 : 10);
	r->at = end;
	if (errno || isalnum((unsigned char)*end) || *end == '_')
		fail(r, "has an invalid number");
	/* room for "less than that, plus one" */
	else if (number >= INT64_MAX && (is_negative || is_ordered))
		fail(r, "has a number that is too large");
	else
		node->number = (int64_t)(is_negative ? 0 - number : number);
}

/* A name after a -. */
static void fail_errno(struct reader *r, struct text name)
{
	static char why[200];
	const char *near = filter_suggest_errno(name);

	snprintf(why, sizeof(why), "has '-%.*s', which is neither a number nor an errno%s%s%s",
		 name.len > 40 ? 40 : (int)name.len, name.ptr, *near ? "; did you mean -" : "",
		 near, *near ? "?" : "");
	fail(r, why);
}

static void fail_positive(struct reader *r, struct text name)
{
	static char why[160];

	snprintf(
		why, sizeof(why),
		"compares retval with %.*s, but functions return errors as negative numbers; did you mean -%.*s?",
		(int)name.len, name.ptr, (int)name.len, name.ptr);
	fail(r, why);
}

static void take_number(struct reader *r, bool is_ordered, struct filter_node *node)
{
	bool is_negative = take(r, "-");
	struct text name = take_name(r);

	if (!name.len && isdigit((unsigned char)*r->at)) {
		take_digits(r, is_negative, is_ordered, node);
	} else if (!name.len) {
		fail(r, "has a comparison without a number");
	} else if (!is_negative && errno_of(name) && filter_is_retval(node->name)) {
		fail_positive(r, name);
	} else if (errno_of(name)) {
		node->number = is_negative ? -errno_of(name) : errno_of(name);
	} else if (is_negative) {
		fail_errno(r, name);
	} else {
		node->symbol = name;
	}
}

/* ---- comparisons ---- */

/* All are made of three: less, equal, has bits. */
static const struct sign {
	const char *text;
	enum filter_op op;
	bool is_not;
	int8_t more; /* than the number */
} signs[] = {
	{ "==", FILTER_EQUAL, false, 0 }, { "!=", FILTER_EQUAL, true, 0 },
	{ "<=", FILTER_LESS, false, 1 },  { ">=", FILTER_LESS, true, 0 },
	{ "<", FILTER_LESS, false, 0 },   { ">", FILTER_LESS, true, 1 },
};

static const struct sign *take_sign(struct reader *r)
{
	static const struct sign bits = { "&", FILTER_BITS, false, 0 };

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (take(r, signs[i].text))
			return &signs[i];
	}
	skip_blanks(r);
	return r->at[0] == '&' && r->at[1] != '&' && take(r, "&") ? &bits : NULL;
}

static uint32_t take_comparison(struct reader *r)
{
	struct filter_node node = { .name = take_name(r) };
	const struct sign *sign;
	uint32_t at;

	if (!node.name.len)
		return fail(r, *r->at ? "has no name where one is needed"
				      : "ends where a name is needed");
	sign = take_sign(r);
	if (!sign)
		return fail(r, take(r, "=")
				       ? "has =, which is no comparison; did you mean ==?"
				       : "has a name without a comparison (== != < <= > >= &)");
	node.op = sign->op;
	take_number(r, sign->op == FILTER_LESS, &node);
	node.number += sign->more;
	at = add(r, &node);
	return sign->is_not ? add_not(r, at) : at;
}

/* ---- combinations ---- */

static uint32_t take_or(struct reader *r);

static uint32_t take_unary(struct reader *r)
{
	uint32_t at;

	if (++r->depth > DEPTH_MAX)
		return fail(r, "is nested too deep");
	if (take(r, "!")) {
		at = add_not(r, take_unary(r));
	} else if (take(r, "(")) {
		at = take_or(r);
		if (!take(r, ")"))
			fail(r, "lacks a )");
	} else {
		at = take_comparison(r);
	}
	r->depth--;
	return at;
}

static uint32_t take_list(struct reader *r, enum filter_op op)
{
	const bool is_and = op == FILTER_AND;
	uint32_t left = is_and ? take_unary(r) : take_list(r, FILTER_AND);

	while (!r->wrong && take(r, is_and ? "&&" : "||")) {
		uint32_t right = is_and ? take_unary(r) : take_list(r, FILTER_AND);

		left = add(r, &(struct filter_node){
				      .op = op, .left = (uint16_t)left, .right = (uint16_t)right });
	}
	return left;
}

static uint32_t take_or(struct reader *r)
{
	return take_list(r, FILTER_OR);
}

const char *filter_parse(struct filter **out, const char *text)
{
	struct reader r = { .filter = calloc(1, sizeof(*r.filter)) };

	if (!r.filter)
		return "finds no memory";
	r.filter->text = strdup(text);
	r.at = r.filter->text;
	if (!r.at)
		fail(&r, "finds no memory");
	else
		r.filter->root = take_or(&r);
	if (!r.wrong) {
		skip_blanks(&r);
		if (*r.at)
			fail(&r, "continues after its end");
	}
	if (r.wrong)
		filter_free(r.filter);
	else
		*out = r.filter;
	return r.wrong;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	free(filter->text);
	free(filter);
}
