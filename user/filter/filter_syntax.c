/* What --filter is given, read into a tree. */
#include "filter/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

#define DEPTH_MAX 32

/* The position of the reader. The first complaint is kept. */
struct reader {
	struct filter *filter;
	const char *at;
	const char *wrong;
	int depth;
};

static uint32_t filter_fail(struct reader *r, const char *wrong)
{
	if (!r->wrong)
		r->wrong = wrong;
	return 0;
}

static uint32_t filter_add(struct reader *r, const struct filter_node *node)
{
	struct filter *filter = r->filter;

	if (filter->node_cnt == FILTER_NODE_MAX)
		return filter_fail(r, "is too long");
	filter->nodes[filter->node_cnt] = *node;
	return filter->node_cnt++;
}

/* ! stands before comparisons alone, so that a || is one alternative that must hold. */
static uint32_t add_not(struct reader *r, uint32_t left)
{
	struct filter_node *node = &r->filter->nodes[left];

	if (!r->wrong && node->op == FILTER_NOT)
		return node->left;
	if (!r->wrong && (node->op == FILTER_AND || node->op == FILTER_OR)) {
		node->op = node->op == FILTER_AND ? FILTER_OR : FILTER_AND;
		node->left = (uint16_t)add_not(r, node->left);
		node->right = (uint16_t)add_not(r, node->right);
		return left;
	}
	return filter_add(r, &(struct filter_node){ .op = FILTER_NOT, .left = (uint16_t)left });
}

static void filter_skip_blanks(struct reader *r)
{
	while (isspace((unsigned char)*r->at))
		r->at++;
}

/* Whether @sign comes next; if so, it is consumed. */
static bool filter_take(struct reader *r, const char *sign)
{
	size_t len = strlen(sign);

	filter_skip_blanks(r);
	if (strncmp(r->at, sign, len) != 0)
		return false;
	r->at += len;
	return true;
}

static struct text filter_take_name(struct reader *r)
{
	struct text name = { NULL, 0 };

	filter_skip_blanks(r);
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
	for (int err = 1; err <= FILTER_ERRNO_MAX; err++) {
		const char *known = strerrorname_np(err);

		if (known && strlen(known) == name.len && !memcmp(known, name.ptr, name.len))
			return err;
	}
	return 0;
}

/* @end: behind the digits, where a letter is. */
static const char *wrong_digits(const char *end)
{
	static const char units[] = "ns us ms s m h B k K kB KB KiB M MB MiB G GB GiB";
	static char why[80];
	size_t len = 0;

	while (isalnum((unsigned char)end[len]) || end[len] == '_')
		len++;
	if (!text_has_word(units, (struct text){ end, len }))
		return "has an invalid number";
	snprintf(why, sizeof(why), "has a number with the unit %.*s, and takes numbers without one",
		 (int)len, end);
	return why;
}

static void filter_take_digits(struct reader *r, bool is_negative, bool is_ordered,
			       struct filter_node *node)
{
	const bool is_hex = r->at[0] == '0' && (r->at[1] == 'x' || r->at[1] == 'X');
	unsigned long long number;
	char *end;

	if (is_hex && !isxdigit((unsigned char)r->at[2])) {
		filter_fail(r, "has 0x without digits");
		return;
	}
	errno = 0;
	number = strtoull(r->at, &end, is_hex ? 16 : 10);
	r->at = end;
	if (isalnum((unsigned char)*end) || *end == '_')
		filter_fail(r, wrong_digits(end));
	/* room for "less than that, plus one" */
	else if (errno || (number >= INT64_MAX && (is_negative || is_ordered)))
		filter_fail(r, "has a number that is too large");
	else
		node->number = (int64_t)(is_negative ? 0 - number : number);
}

static void filter_take_number(struct reader *r, bool is_ordered, struct filter_node *node)
{
	static char why[200];
	char word[SUGGEST_NAME_BYTES];
	struct suggest near;
	const char *text;
	bool is_negative = filter_take(r, "-");
	struct text name = filter_take_name(r);

	if (!name.len && isdigit((unsigned char)*r->at)) {
		filter_take_digits(r, is_negative, is_ordered, node);
	} else if (!name.len) {
		filter_fail(r, "has a comparison without a number");
	} else if (!is_negative && errno_of(name) && filter_is_retval(node->name) &&
		   !node->path.len) {
		snprintf(
			why, sizeof(why),
			"compares retval with %.*s, but functions return errors as negative numbers; did you mean -%.*s?",
			(int)name.len, name.ptr, (int)name.len, name.ptr);
		filter_fail(r, why);
	} else if (errno_of(name)) {
		node->number = is_negative ? -errno_of(name) : errno_of(name);
	} else if (is_negative) {
		snprintf(word, sizeof(word), "%.*s", (int)name.len, name.ptr);
		suggest_begin(&near, word);
		filter_add_errnos(&near);
		text = suggest_text(&near);
		snprintf(why, sizeof(why),
			 "has '-%.*s', which is neither a number nor an errno%s%s%s",
			 name.len > 40 ? 40 : (int)name.len, name.ptr,
			 *text ? "; did you mean -" : "", text, *text ? "?" : "");
		filter_fail(r, why);
	} else if (text_equal(name, text_from("true"))) {
		node->number = 1;
	} else if (!text_equal(name, text_from("false")) && !text_equal(name, text_from("NULL"))) {
		node->symbol = name; /* those two are 0 */
	}
}

/* ---- comparisons ---- */

/* All comparisons are built from three: less, equal, has bits. */
static const struct sign {
	const char *text;
	enum filter_op op;
	bool is_not;
	int8_t more; /* added to the number */
} signs[] = {
	{ "==", FILTER_EQUAL, false, 0 }, { "!=", FILTER_EQUAL, true, 0 },
	{ "<=", FILTER_LESS, false, 1 },  { ">=", FILTER_LESS, true, 0 },
	{ "<", FILTER_LESS, false, 0 },   { ">", FILTER_LESS, true, 1 },
};

static const struct sign *take_sign(struct reader *r)
{
	static const struct sign bits = { "&", FILTER_BITS, false, 0 };

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (filter_take(r, signs[i].text))
			return &signs[i];
	}
	filter_skip_blanks(r);
	return r->at[0] == '&' && r->at[1] != '&' && filter_take(r, "&") ? &bits : NULL;
}

static void take_string(struct reader *r, struct filter_node *node)
{
	const char *end = strchr(r->at, '"');

	node->string = (struct text){ r->at, end ? (size_t)(end - r->at) : 0 };
	if (!end)
		filter_fail(r, "lacks a \"");
	else if (node->string.len > FILTER_STRING_MAX)
		filter_fail(r, "has a string of more than 31 bytes");
	else if (node->op != FILTER_EQUAL)
		filter_fail(r, "compares a string with a sign other than == and !=");
	else
		r->at = end + 1;
}

/* The members after a name. */
static struct text take_path(struct reader *r)
{
	const struct text path = { r->at, member_path_len(r->at) };

	r->at += path.len;
	return path;
}

/* NAME.MEMBER instead of a number. Return: the node's number, plus one; 0: that is not what comes next. */
static uint16_t take_other(struct reader *r, const struct filter_node *node)
{
	const char *const begin = r->at;
	struct filter_node other = { .op = FILTER_VALUE, .name = filter_take_name(r) };

	if (other.name.len)
		other.path = take_path(r);
	if (!other.path.len) {
		r->at = begin;
		return 0;
	}
	if (node->op == FILTER_BITS)
		return (uint16_t)filter_fail(r, "tests bits of a member, not of a number");
	if (++r->filter->member_cnt > FILTER_MEMBER_MAX)
		return (uint16_t)filter_fail(r, "has more than 32 members and strings");
	return (uint16_t)(filter_add(r, &other) + 1);
}

static uint32_t take_comparison(struct reader *r)
{
	struct filter_node node = { .name = filter_take_name(r) };
	const struct sign *sign;
	uint32_t at;

	if (node.name.len)
		node.path = take_path(r);
	if (!node.name.len)
		return filter_fail(r, *r->at ? "has no name where one is needed"
					     : "ends where a name is needed");
	sign = take_sign(r);
	if (!sign && text_equal(node.name, text_from("not")))
		return filter_fail(r, "has 'not', which is written !(...)");
	if (!sign)
		return filter_fail(r,
				   filter_take(r, "=")
					   ? "has =, which is no comparison; did you mean ==?"
					   : "has a name without a comparison (== != < <= > >= &)");
	node.op = sign->op;
	if (filter_take(r, "\""))
		take_string(r, &node);
	else if (!(node.other = take_other(r, &node)) && !r->wrong)
		filter_take_number(r, sign->op == FILTER_LESS, &node);
	node.number += sign->more;
	if (filter_is_behind(&node) && ++r->filter->member_cnt > FILTER_MEMBER_MAX)
		return filter_fail(r, "has more than 32 members and strings");
	at = filter_add(r, &node);
	return sign->is_not ? add_not(r, at) : at;
}

/* ---- combinations ---- */

/* What is wrong where a comparison has ended and neither && nor || comes. */
static const char *wrong_join(struct reader *r)
{
	static char why[120];
	const char c = *r->at;
	const struct text word = filter_take_name(r);
	const bool is_and = text_has_word("and AND", word) || c == '&';
	const bool is_or = text_has_word("or OR", word) || c == '|';
	const char *sign = is_and ? "&&" : is_or ? "||" : NULL;
	const bool is_last = !(r->at + !word.len)[strspn(r->at + !word.len, " \t\n")];
	const int len = word.len > 40 ? 40 : word.len ? (int)word.len : 1;

	if (c == ')')
		return "has a ) without a (";
	if (sign && is_last)
		snprintf(why, sizeof(why),
			 "ends with %.*s, where %s and another comparison may follow", len,
			 word.ptr, sign);
	else if (sign)
		snprintf(why, sizeof(why), "has %.*s between comparisons; did you mean %s?", len,
			 word.ptr, sign);
	else
		snprintf(why, sizeof(why), "has neither && nor || before '%.*s'", len, word.ptr);
	return why;
}

static uint32_t take_list(struct reader *r, enum filter_op op);

static uint32_t take_unary(struct reader *r)
{
	uint32_t at;

	if (++r->depth > DEPTH_MAX)
		return filter_fail(r, "is nested too deep");
	if (filter_take(r, "!")) {
		at = add_not(r, take_unary(r));
	} else if (filter_take(r, "(")) {
		at = take_list(r, FILTER_OR);
		if (!filter_take(r, ")"))
			filter_fail(r, *r->at ? wrong_join(r) : "lacks a )");
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

	while (!r->wrong && filter_take(r, is_and ? "&&" : "||")) {
		uint32_t right = is_and ? take_unary(r) : take_list(r, FILTER_AND);

		left = filter_add(r, &(struct filter_node){ .op = op,
							    .left = (uint16_t)left,
							    .right = (uint16_t)right });
	}
	return left;
}

/* Which conditions are tested at which end (enum filter_end). */
static void part_ends(struct reader *r, uint32_t at)
{
	const struct filter_node *node = &r->filter->nodes[at];
	const unsigned int reads = filter_reads(r->filter, at);

	if (node->op == FILTER_AND) {
		part_ends(r, node->left);
		part_ends(r, node->right);
		return;
	}
	r->filter->has_entry |= reads & FILTER_READS_MEMBERS;
	if (reads == (FILTER_READS_MEMBERS | FILTER_READS_RESULT))
		filter_fail(r, "has a member of an argument, which is tested when the call begins, "
			       "and retval on the two sides of ||; && can have both");
}

const char *filter_parse(struct filter **out, const char *text)
{
	struct reader r = { .filter = calloc(1, sizeof(*r.filter)) };

	if (!r.filter)
		return "does not fit in memory";
	r.filter->text = strdup(text);
	r.at = r.filter->text;
	if (!r.at)
		filter_fail(&r, "does not fit in memory");
	else if (!r.at[strspn(r.at, " \t\n")])
		filter_fail(&r, "is empty");
	else
		r.filter->root = take_list(&r, FILTER_OR);
	if (!r.wrong) {
		filter_skip_blanks(&r);
		if (*r.at)
			filter_fail(&r, wrong_join(&r));
		else
			part_ends(&r, r.filter->root);
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
	free(filter->reads);
	proto_table_free(filter->types);
	free(filter);
}
