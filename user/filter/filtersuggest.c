/* Names that a mistyped one in --filter may stand for. */
#include "filter/filter.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "filter/filternode.h"

#define ERRNO_MAX 4095

static void add_text(void *ctx, struct text name)
{
	char word[SUGGEST_NAME_BYTES];

	if (name.len >= sizeof(word))
		return;
	memcpy(word, name.ptr, name.len);
	word[name.len] = '\0';
	suggest_add(ctx, word);
}

static void add_errnos(struct suggest *near)
{
	for (int err = 1; err <= ERRNO_MAX; err++) {
		const char *name = strerrorname_np(err);

		if (name)
			suggest_add(near, name);
	}
}

/* Whether it is the number of a comparison, not the name. */
static bool is_symbol(const struct filter *filter, struct text missing)
{
	for (uint32_t i = 0; i < filter->node_cnt; i++) {
		if (filter->nodes[i].symbol.len && filter->nodes[i].symbol.ptr == missing.ptr)
			return true;
	}
	return false;
}

static void add_proto(const struct proto_table *protos, const struct proto *proto, bool is_symbol,
		      struct suggest *near)
{
	for (uint32_t i = 0; i < proto->arg_cnt; i++) {
		if (is_symbol)
			proto_enumerators(protos, &proto->args[i].type, add_text, near);
		else
			add_text(near, proto->args[i].name);
	}
	if (is_symbol)
		proto_enumerators(protos, &proto->ret, add_text, near);
}

/* Whether it is compared with a result, of which errors are negative. */
static bool is_of_result(const struct filter *filter, struct text missing)
{
	for (uint32_t i = 0; i < filter->node_cnt; i++) {
		const struct filter_node *node = &filter->nodes[i];

		if (node->symbol.len && node->symbol.ptr == missing.ptr &&
		    filter_is_retval(node->name))
			return true;
	}
	return false;
}

const char *filter_suggest(const struct filter *filter, const struct proto_table *protos,
			   uint32_t func_id, struct text missing)
{
	const bool is_number = is_symbol(filter, missing);
	char word[SUGGEST_NAME_BYTES];
	const struct proto *proto;
	struct suggest near;

	snprintf(word, sizeof(word), "%.*s", (int)missing.len, missing.ptr);
	suggest_begin(&near, word);
	if (is_number)
		add_errnos(&near);
	if (near.cnt && is_of_result(filter, missing))
		return suggest_text_with(&near, "-");
	if (!is_number)
		suggest_add(&near, "retval");
	for (uint32_t i = 0; (proto = proto_table_get(protos, i)); i++) {
		if (func_id == FILTER_ANY_FUNC || i == func_id)
			add_proto(protos, proto, is_number, &near);
	}
	/* spelled well, but of other functions */
	return near.cnt && !near.least ? "" : suggest_text(&near);
}

const char *filter_suggest_errno(struct text name)
{
	char word[SUGGEST_NAME_BYTES];
	struct suggest near;

	snprintf(word, sizeof(word), "%.*s", (int)name.len, name.ptr);
	suggest_begin(&near, word);
	add_errnos(&near);
	return suggest_text(&near);
}
