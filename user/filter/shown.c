#include "filter/shown.h"

#include <bpf/btf.h>
#include <ctype.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "filter/filter.h"
#include "kernel/kbtf.h"
#include "kernel/tracepoint.h"

#define WORD_BYTES 8u
#define TEXT_BYTES 16u /* of a text that is shown */

static const struct {
	const char *word;
	const char *why; /* no function has any of its members */
} words[SHOWN_WORD_CNT] = {
	[SHOWN_RULES] = { "rules",
			  "'rules': none of the functions has a rule, a connection, a route, a queue or a neighbour" },
	[SHOWN_STAMPS] = { "stamps", "'stamps': none of the functions has a packet" },
};

/* The same where nothing else is wanted of rules. */
static const char no_tables[] =
	"'rules': none of the functions tells a table of rules: nft_do_chain and ipt_do_table do, if the module that has them is loaded and its types are known";

_Static_assert(SHOWN_MEMBER_MAX * 2 == NFG_SHOWN_WORDS, "a text or an address takes two words");

/* ---- the list ---- */

static struct text take_word(const char *at)
{
	size_t len = 0;

	while (isalnum((unsigned char)at[len]) || at[len] == '_')
		len++;
	return (struct text){ at, isdigit((unsigned char)*at) ? 0 : len };
}

static struct shown_name *find_in_list(struct shown *shown, struct text text)
{
	for (uint32_t i = 0; i < shown->cnt; i++) {
		if (text_equal(shown->names[i].text, text))
			return &shown->names[i];
	}
	return NULL;
}

static const char *list_add(struct shown *shown, const struct shown_name *name)
{
	struct shown_name *known = find_in_list(shown, name->text);

	if (known && !known->option)
		known->option = name->option;
	if (known)
		return NULL;
	if (name->text.len > SHOWN_TEXT_MAX)
		return "has a member of more than 120 bytes";
	if (shown->cnt == SHOWN_MEMBER_MAX)
		return "makes more than 8 members";
	shown->names[shown->cnt++] = *name;
	return NULL;
}

/* Whether the member is a word of the list, which is noted. */
static bool take_fact(struct shown *shown, struct text name)
{
	for (int i = 0; i < SHOWN_WORD_CNT; i++) {
		if (!text_equal(name, text_from(words[i].word)))
			continue;
		shown->has_facts[i] = true;
		return true;
	}
	return false;
}

const char *shown_guess(struct text word)
{
	/* what packets are told apart by */
	static const char of_packets[] =
		"mark len data_len truesize protocol priority hash queue_mapping pkt_type vlan_tci "
		"ip_summed skb_iif tstamp network_header transport_header";
	static char guess[SHOWN_TEXT_MAX];
	const bool is_of_sock = word.len > 3 && !memcmp(word.ptr, "sk_", 3);

	*guess = '\0';
	if (is_of_sock || text_has_word(of_packets, word))
		snprintf(guess, sizeof(guess), "%s.%.*s", is_of_sock ? "sk" : "skb", (int)word.len,
			 word.ptr);
	return guess;
}

static const char names_nothing[] =
	"names no member; ARGUMENT.MEMBER, such as skb.len, shows one, and the words rules and stamps show several";

const char *shown_hint(const char *why)
{
	return why == names_nothing
		       ? "--graph-opts args shows which arguments functions have, and bpftool btf dump file "
			 "/sys/kernel/btf/vmlinux format c | sed -n '/^struct sk_buff {/,/^}/p' what an skb has"
		       : NULL;
}

/* A word that is no member. */
static const char *no_member(struct text word)
{
	static char why[SHOWN_TEXT_MAX + 40];
	const char *guess = shown_guess(word);

	if (!*guess)
		return names_nothing;
	snprintf(why, sizeof(why), "names no member; did you mean %s?", guess);
	return why;
}

/* Return: NULL or the complaint. *@at: behind the member. */
static const char *take_name(struct shown *shown, const char **at, const char *option)
{
	const struct text name = take_word(*at);
	const struct text path = { name.ptr + name.len, member_path_len(name.ptr + name.len) };
	const struct text text = { name.ptr, name.len + path.len };
	const char end = text.ptr[text.len];

	if (!name.len)
		return "has no argument's name where one is needed; ARGUMENT.MEMBER, such as skb.len, shows a member";
	if (!path.len && (!end || end == ',') && take_fact(shown, name)) {
		*at = text.ptr + text.len + (end == ',');
		return end == ',' && !**at ? "ends with a comma" : NULL;
	}
	if (!path.len && (!end || end == ','))
		return no_member(name);
	if (end && end != ',')
		return "is no list of members, such as skb.len,sk.sk_state";
	if (text_equal(name, text_from("retval")))
		return "names the result; members are read when a call begins";
	*at = text.ptr + text.len + (end == ',');
	if (end == ',' && !**at)
		return "ends with a comma";
	return list_add(shown,
			&(struct shown_name){
				.text = text, .name = name, .path = path, .option = option });
}

/* The names point into one text, which grows: move them. */
static int text_add(struct shown *shown, const char *text, const char **begin)
{
	const size_t old_len = shown->text ? strlen(shown->text) + 1 : 0;
	char *grown = malloc(old_len + strlen(text) + 1);

	if (!grown)
		return -ENOMEM;
	if (shown->text)
		snprintf(grown, old_len + 1, "%s,", shown->text);
	strcpy(grown + old_len, text);
	for (uint32_t i = 0; i < shown->cnt; i++) {
		struct shown_name *known = &shown->names[i];

		known->text.ptr = grown + (known->text.ptr - shown->text);
		known->name.ptr = known->text.ptr;
		known->path.ptr = known->text.ptr + known->name.len;
	}
	free(shown->text);
	shown->text = grown;
	*begin = grown + old_len;
	return 0;
}

const char *shown_parse(struct shown **out, const char *text, const char *option)
{
	const char *wrong = NULL;
	const char *at;

	if (!*out)
		*out = calloc(1, sizeof(**out));
	if (!*out || text_add(*out, text, &at))
		return "does not fit in memory";
	do
		wrong = take_name(*out, &at, option);
	while (!wrong && *at);
	return wrong;
}

void shown_free(struct shown *shown)
{
	if (!shown)
		return;
	free(shown->text);
	free(shown->reads);
	free(shown);
}

const char *shown_option(const struct shown *shown)
{
	for (uint32_t i = 0; i < shown->cnt; i++) {
		if (shown->names[i].option)
			return shown->names[i].option;
	}
	for (int i = 0; i < SHOWN_WORD_CNT; i++) {
		if (shown->has_facts[i])
			return "--show";
	}
	return NULL;
}

const struct shown_name *shown_unfound(const struct shown *shown)
{
	static struct shown_name word = { .option = "--show" };

	for (uint32_t i = 0; i < shown->cnt; i++) {
		if (shown->names[i].option && !shown->names[i].is_found)
			return &shown->names[i];
	}
	for (int i = 0; i < SHOWN_WORD_CNT; i++) {
		if (!shown->has_facts[i] || shown->finds_facts[i])
			continue;
		snprintf(word.why, sizeof(word.why), "%s",
			 shown->only_tables && i == SHOWN_RULES ? no_tables : words[i].why);
		return &word;
	}
	return NULL;
}

/* ---- types ---- */

static bool shown_is_char(const struct btf *btf, uint32_t type_id)
{
	const struct btf_type *type = kbtf_type(btf, type_id, NULL);
	const char *name = type ? btf__name_by_offset(btf, type->name_off) : NULL;

	return type && btf_is_int(type) && type->size == 1 && name && !strcmp(name, "char");
}

bool shown_is_text(const struct btf *btf, uint32_t type_id)
{
	const struct btf_type *type = kbtf_type(btf, type_id, NULL);

	if (type && btf_is_array(type))
		return shown_is_char(btf, btf_array(type)->type);
	return type && btf_is_ptr(type) && shown_is_char(btf, type->type);
}

/* Members that are numbers to C, and have names. @is_fact: of a word, whose structs are known. */
static const char *list_of(struct text member, bool is_fact)
{
	static const struct {
		const char *member;
		const char *list;
		bool is_fact;
	} lists[] = {
		{ "sk_state", "state", false },      { "skc_state", "state", false },
		{ "sk_family", "family", false },    { "skc_family", "family", false },
		{ "sk_protocol", "ipproto", false }, { "nud_state", "nud", false },
		{ "sa_family", "family", false },    { "ss_family", "family", false },
		{ "pf", "nfproto", true },           { "protonum", "layer4", true },
		{ "rt_gw_family", "family", true },  { "status", "ctstatus", true },
		{ "state", "cttcp", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (text_equal(member, text_from(lists[i].member)) && lists[i].is_fact <= is_fact)
			return lists[i].list;
	}
	return NULL;
}

static struct text last_word(struct text path)
{
	size_t at = path.len;

	while (at && (isalnum((unsigned char)path.ptr[at - 1]) || path.ptr[at - 1] == '_'))
		at--;
	return (struct text){ path.ptr + at, path.len - at };
}

int shown_named(struct proto_table *types, struct text path, const struct member *member,
		bool is_fact, struct proto_type *type)
{
	const char *list = list_of(last_word(path), is_fact);

	if (!list || member->bit_cnt ||
	    (type->kind != PROTO_UNSIGNED && type->kind != PROTO_SIGNED))
		return 0;
	return tracepoint_named(types, list, type);
}

/* A number, an address, or one of a list of names. */
static int number_type(struct proto_table *types, const struct btf *btf,
		       const struct shown_name *name, struct shown_read *read,
		       struct proto_type *type)
{
	const struct member *m = &read->member;
	const struct text word = last_word(name->path);
	int err = prototab_type(types, btf, m->type_id, type);

	if (!err)
		err = shown_named(types, name->path, m, !name->name.len, type);
	if (type->kind == PROTO_UNSIGNED || type->kind == PROTO_BOOL)
		type->kind = PROTO_DECIMAL;
	if (m->is_be && m->bytes == 4 &&
	    (text_ends_with(word, "addr") || text_equal(word, text_from("rt_gw4"))))
		type->kind = PROTO_IPV4;
	return err;
}

/* Return: 0, 1: it cannot be shown, or -ENOMEM. */
static int value_type(struct proto_table *types, const struct btf *btf, struct shown_name *name,
		      struct shown_read *read, struct proto_type *type)
{
	const struct member *m = &read->member;
	const struct btf_type *real = kbtf_type(btf, m->type_id, NULL);
	const char *real_name = real ? btf__name_by_offset(btf, real->name_off) : NULL;
	int err = 0;

	*type = (struct proto_type){ .bytes = WORD_BYTES };
	if (shown_is_text(btf, m->type_id)) {
		type->kind = PROTO_CHARS;
		read->is_string = btf_is_ptr(real);
	} else if (real && btf_is_struct(real) && real_name && !strcmp(real_name, "in6_addr")) {
		type->kind = PROTO_IPV6;
	} else if (real && btf_is_union(real) && real_name && !strcmp(real_name, "nf_inet_addr")) {
		type->kind = PROTO_INET;
	} else {
		err = number_type(types, btf, name, read, type);
		if (!err && (!m->bytes || type->kind == PROTO_OTHER)) {
			snprintf(name->why, sizeof(name->why), "'%.*s' is %s", (int)name->text.len,
				 name->text.ptr,
				 m->elem_cnt ? "an array; [0] is its first element"
					     : "a struct; .MEMBER is in it");
			err = 1;
		}
	}
	read->kind = type->kind;
	return err;
}

/* ---- the members of a function ---- */

/* @idx: of the argument. Return: 0, 1: the function lacks it, or -ENOMEM. */
static int name_resolve(struct shown_name *name, uint32_t idx, struct proto_table *types,
			const struct btf *btf, const struct btf_type *func_type,
			struct shown_read *read, struct proto_type *type)
{
	uint32_t type_id;

	if (idx >= btf_vlen(func_type) || idx >= PROTO_ARG_MAX)
		return 1;
	type_id = btf_params(func_type)[idx].type;
	read->arg_idx = (uint8_t)idx;
	read->is_arg_probed = !member_is_loadable(btf, type_id);
	if (!member_resolve(&read->member, btf, type_id, name->path, name->name.len, false,
			    name->why))
		return 1;
	return value_type(types, btf, name, read, type);
}

static int read_add(struct shown *shown, const struct shown_read *read)
{
	if (VEC_RESERVE(shown->reads, shown->read_cap, shown->read_cnt + 1))
		return -ENOMEM;
	shown->reads[shown->read_cnt++] = *read;
	return 0;
}

/* What words stand for. A function has the members of its own types. */
struct fact {
	const char *func; /* of this function alone; NULL: of all */
	const char *
		root; /* with func, the name of the argument; else the struct to which one points */
	const char *begin; /* of the path, and of that of the condition */
	const char *path;
	const char *label;
	enum {
		ALWAYS,
		OPTIONAL,
		IF_TRACKED,
		IF_TCP,
		IF_COUNTED,
		IF_GATEWAY,
		IF_IPV4,
		IF_IPV6
	} only;
};

/* The first and all behind it are optional. */
static const struct {
	const char *path; /* after a fact's begin; NULL: just no pointer on the way may be NULL */
	struct shown_condition is;
} conditions[] = {
	[OPTIONAL] = { NULL, { 0 } },
	[IF_TRACKED] = { "._nfct", { .value = 0, .is_not = true } },
	[IF_TCP] = { ".tuplehash[0].tuple.dst.protonum", { .value = 6 } },
	/* TCQ_F_CPUSTATS: each CPU counts for itself */
	[IF_COUNTED] = { ".flags", { .mask = 0x20, .value = 0 } },
	[IF_GATEWAY] = { ".rt6i_flags", { .mask = 2, .value = 2 } }, /* RTF_GATEWAY */
	/* the gateways of both families are in one place */
	[IF_IPV4] = { ".rt_gw_family", { .value = 10, .is_not = true } },
	[IF_IPV6] = { ".rt_gw_family", { .value = 10 } },
};

/* What a connection began with, and what replies have: they differ where addresses are translated. */
#define CONNECTION(func, root, begin)                                                             \
	{ func, root, begin, ".status", "ct_status", ALWAYS },                                    \
		{ func, root, begin, ".tuplehash[0].tuple.dst.protonum", "ct_proto", ALWAYS },    \
		{ func, root, begin, ".proto.tcp.state", "ct_tcp_state", IF_TCP },                \
		{ func, root, begin, ".tuplehash[0].tuple.src.u3", "ct_src", ALWAYS },            \
		{ func, root, begin, ".tuplehash[0].tuple.dst.u3", "ct_dst", ALWAYS },            \
		{ func, root, begin, ".tuplehash[0].tuple.dst.u.all", "ct_dport", ALWAYS },       \
		{ func, root, begin, ".tuplehash[1].tuple.src.u3", "ct_reply_src", ALWAYS },      \
		{ func, root, begin, ".tuplehash[1].tuple.src.u.all", "ct_reply_sport", ALWAYS }, \
		{ func, root, begin, ".tuplehash[1].tuple.dst.u3", "ct_reply_dst", ALWAYS },      \
	{                                                                                         \
		func, root, begin, ".tuplehash[1].tuple.dst.u.all", "ct_reply_dport", ALWAYS      \
	}

/* What is known of the packet's connection. */
#define TRACKED(func, root, begin)                                                   \
	{ func, root, begin, "._nfct", "ct_info", IF_TRACKED },                      \
	{                                                                            \
		func, root, begin "._nfct:nf_conn", ".status", "ct_status", OPTIONAL \
	}

#define ROUTE(func, root, begin, rtable)                                                 \
	{ func, root, begin, ".dev.name", "route_dev", ALWAYS },                         \
		{ func, root, rtable, ".rt_gw_family", "route_gateway_family", ALWAYS }, \
		{ func, root, rtable, ".rt_gw4", "route_gateway", IF_IPV4 },             \
	{                                                                                \
		func, root, rtable, ".rt_gw6", "route_gateway6", IF_IPV6                 \
	}

#define ROUTE6(func, root, begin, rt6_info)                                         \
	{ func, root, begin, ".dev.name", "route_dev", ALWAYS },                    \
	{                                                                           \
		func, root, rt6_info, ".rt6i_gateway", "route_gateway6", IF_GATEWAY \
	}

#define DST(type) "._skb_refdst:" type

static const struct fact stamp_facts[] = {
	{ NULL, "sk_buff", "", ".tstamp", SHOWN_STAMP, ALWAYS },
	{ NULL, "sk_buff", "", ".shinfo.hwtstamps.hwtstamp", SHOWN_CARD_STAMP, ALWAYS },
};

static const struct fact rule_facts[] = {
	{ "nft_do_chain", "priv", "", ":nft_chain.table.name", "nf_table", ALWAYS },
	{ "nft_do_chain", "priv", "", ":nft_chain.name", "nf_chain", ALWAYS },
	TRACKED("nft_do_chain", "pkt", ".skb"),
	{ "ipt_do_table", "priv", "", ":xt_table.name", "nf_table", ALWAYS },
	{ "ip6t_do_table", "priv", "", ":xt_table.name", "nf_table", ALWAYS },
	/* of the same functions before 5.16 */
	{ NULL, "xt_table", "", ".name", "nf_table", ALWAYS },
	TRACKED("ipt_do_table", "skb", ""),
	TRACKED("ip6t_do_table", "skb", ""),
	{ NULL, "nf_hook_state", "", ".pf", "nf_family", ALWAYS },
	{ NULL, "nf_hook_state", "", ".hook", "nf_hook", ALWAYS },
	{ NULL, "nf_hook_state", "", ".in.name", "nf_in", ALWAYS },
	{ NULL, "nf_hook_state", "", ".out.name", "nf_out", ALWAYS },
	TRACKED("nf_hook_slow", "skb", ""),
	CONNECTION(NULL, "nf_conn", ""),
	/* a new connection leaves with its addresses translated */
	{ "__nf_conntrack_confirm", "skb", "", "._nfct", "ct_info", IF_TRACKED },
	CONNECTION("__nf_conntrack_confirm", "skb", "._nfct:nf_conn"),
	ROUTE("ip_output", "skb", DST("dst_entry"), DST("rtable")),
	ROUTE("ip_finish_output2", "skb", DST("dst_entry"), DST("rtable")),
	ROUTE6("ip6_output", "skb", DST("dst_entry"), DST("rt6_info")),
	ROUTE6("ip6_finish_output2", "skb", DST("dst_entry"), DST("rt6_info")),
	ROUTE(NULL, "rtable", ".dst", ""),
	ROUTE6(NULL, "rt6_info", ".dst", ""),
	{ NULL, "Qdisc", "", ".ops.id", "qdisc_kind", ALWAYS },
	{ NULL, "Qdisc", "", ".dev_queue.dev.name", "qdisc_dev", ALWAYS },
	{ NULL, "Qdisc", "", ".q.qlen", "qdisc_packets", IF_COUNTED },
	{ NULL, "Qdisc", "", ".qstats.backlog", "qdisc_bytes", IF_COUNTED },
	{ NULL, "neighbour", "", ".nud_state", "neigh_state", ALWAYS },
	{ NULL, "neighbour", "", ".dev.name", "neigh_dev", ALWAYS },
};

static const struct {
	const struct fact *facts;
	size_t cnt;
} word_facts[SHOWN_WORD_CNT] = {
	[SHOWN_RULES] = { rule_facts, ARRAY_SIZE(rule_facts) },
	[SHOWN_STAMPS] = { stamp_facts, ARRAY_SIZE(stamp_facts) },
};

/* The argument that points to the struct @name; the number of arguments: none. */
static uint32_t struct_arg(const struct btf *btf, const struct btf_type *func_type,
			   const char *name)
{
	const uint32_t cnt = btf_vlen(func_type);
	uint32_t i = 0;

	for (; i < cnt; i++) {
		const uint32_t id = member_pointee(btf, btf_params(func_type)[i].type);
		const struct btf_type *type = id ? btf__type_by_id(btf, id) : NULL;
		const char *known = type ? btf__name_by_offset(btf, type->name_off) : NULL;

		if (known && !strcmp(known, name))
			break;
	}
	return i;
}

/* The argument that has the fact; the number of arguments: none. */
static uint32_t fact_arg(const struct fact *fact, const struct btf *btf,
			 const struct btf_type *func_type)
{
	return fact->func ? member_arg(btf, func_type, text_from(fact->root))
			  : struct_arg(btf, func_type, fact->root);
}

/* The place of the function's first read; read_cnt: it has none. */
static size_t first_read(const struct shown *shown, uint32_t func_id)
{
	return VEC_BISECT(i, shown->read_cnt, shown->reads[i].func_id < func_id);
}

/* Whether both are behind the same pointer, which is then read once. */
static bool shares_pointer(const struct shown_read *a, const struct shown_read *b)
{
	const struct member *m = &a->member;
	const struct member *n = &b->member;

	return a->is_fact && b->is_fact && a->func_id == b->func_id && a->arg_idx == b->arg_idx &&
	       a->kind != PROTO_CHARS && b->kind != PROTO_CHARS && m->step_cnt == n->step_cnt &&
	       m->bits_at == n->bits_at && !m->sum_at && !n->sum_at &&
	       !memcmp(m->offsets, n->offsets, (m->step_cnt - 1u) * sizeof(m->offsets[0]));
}

/* The ways through the code of the function's members so far. */
static uint32_t way_cnt(const struct shown *shown, uint32_t func_id)
{
	uint32_t cnt = 0;

	for (size_t i = first_read(shown, func_id);
	     i < shown->read_cnt && shown->reads[i].func_id == func_id; i++) {
		cnt += !i || !shares_pointer(&shown->reads[i - 1], &shown->reads[i]);
		cnt += shown->reads[i].only.bytes != 0;
	}
	return cnt;
}

/* Find the condition of the fact, which is beside its member. Return: whether it is there. */
static bool condition_resolve(const struct fact *fact, const struct btf *btf, uint32_t type_id,
			      struct shown_read *read)
{
	struct shown_read other = { .is_fact = true,
				    .func_id = read->func_id,
				    .arg_idx = read->arg_idx };
	char path[SHOWN_TEXT_MAX];
	char why[MEMBER_WHY];

	read->is_optional = fact->only != ALWAYS;
	if (!conditions[fact->only].path)
		return true;
	snprintf(path, sizeof(path), "%s%s", fact->begin, conditions[fact->only].path);
	if (!member_resolve(&other.member, btf, type_id, text_from(path), 0, false, why) ||
	    !shares_pointer(read, &other))
		return false;
	read->only = conditions[fact->only].is;
	read->only.offset = other.member.offsets[other.member.step_cnt - 1];
	read->only.bytes = other.member.bytes;
	return other.member.bytes && !other.member.bit_cnt;
}

/* The low bits of the number that has the address of a connection: enum ip_conntrack_info. */
static int connection_info(struct proto_table *types, struct shown_read *read,
			   struct proto_type *type)
{
	read->member.bit_cnt = 3;
	read->kind = PROTO_ENUM;
	return tracepoint_named(types, "ctinfo", type);
}

/* Return: 0, 1: the function has it not, or -errno. */
static int fact_find(const struct fact *fact, struct proto_table *types, const struct btf *btf,
		     const struct btf_type *func_type, struct shown_read *read,
		     struct proto_type *type)
{
	const uint32_t idx = fact_arg(fact, btf, func_type);
	char path[SHOWN_TEXT_MAX];
	struct shown_name name = { .text = { path, 0 } };
	int err;

	name.text.len = (size_t)snprintf(path, sizeof(path), "%s%s", fact->begin, fact->path);
	name.path = name.text;
	err = name_resolve(&name, idx, types, btf, func_type, read, type);
	if (err)
		return err;
	if (!condition_resolve(fact, btf, btf_params(func_type)[idx].type, read))
		return 1;
	return fact->only == IF_TRACKED ? connection_info(types, read, type) : 0;
}

/* Add the fact to the function's members, if it has it (@is_found) and there is room. Return: 0, 1: it has not, or -errno. */
static int fact_resolve(struct shown *shown, const struct fact *fact, struct proto_table *types,
			const struct btf *btf, const struct btf_type *func_type, uint32_t func_id,
			struct proto *proto, bool *is_found)
{
	struct shown_read read = { .func_id = func_id, .is_fact = true };
	struct proto_arg arg;
	uint32_t word_cnt = 0;
	uint32_t ways = way_cnt(shown, func_id);
	int err = fact_find(fact, types, btf, func_type, &read, &arg.type);

	if (err)
		return err;
	*is_found = true;
	for (uint32_t i = 0; i < proto->arg_cnt; i++) {
		word_cnt += proto_kind_words(proto->args[i].type.kind);
		if (text_equal(proto->args[i].name, text_from(fact->label)))
			return 1;
	}
	/* before 6.2 the verifier walks each way through all members: their number is limited */
	ways += (!ways || !shares_pointer(&shown->reads[shown->read_cnt - 1], &read)) +
		(read.only.bytes != 0);
	if (word_cnt + proto_kind_words(arg.type.kind) > NFG_SHOWN_WORDS ||
	    ways > SHOWN_MEMBER_MAX || proto->arg_cnt >= PROTO_ARG_MAX)
		return 1;
	err = prototab_keep(types, text_from(fact->label), &arg.name);
	if (err)
		return err;
	proto->args[proto->arg_cnt++] = arg;
	return read_add(shown, &read);
}

/* Whether the fact is one of those that are wanted of @func. */
static bool is_wanted(const struct shown *shown, const struct fact *fact, const char *func)
{
	const struct text label = text_from(fact->label);

	if (fact->func && strcmp(func, fact->func) != 0)
		return false;
	if (!shown->only_tables || text_has_word("nf_table nf_chain", label))
		return true;
	/* of iptables, the hook tells the chain */
	return text_has_word("ipt_do_table ip6t_do_table", text_from(func)) &&
	       text_equal(label, text_from("nf_hook"));
}

/* Add what the word stands for. Return: >= 0 or -errno. */
static int facts_resolve(struct shown *shown, enum shown_word word, struct proto_table *types,
			 const struct btf *btf, const struct kbtf_func *func,
			 const struct btf_type *func_type, uint32_t func_id, struct proto *proto)
{
	int err = 0;

	for (size_t i = 0; i < word_facts[word].cnt && err >= 0; i++) {
		const struct fact *fact = &word_facts[word].facts[i];

		if (is_wanted(shown, fact, func->name))
			err = fact_resolve(shown, fact, types, btf, func_type, func_id, proto,
					   &shown->finds_facts[word]);
	}
	return err;
}

/* A hook of Netfilter has this type: unsigned int (*)(void *, struct sk_buff *, const struct nf_hook_state *). */
static bool is_hook(const struct btf *btf, const struct btf_type *func_type)
{
	const struct btf_type *ret = kbtf_type(btf, func_type->type, NULL);

	return ret && btf_is_int(ret) && ret->size == sizeof(uint32_t) &&
	       !(btf_int_encoding(ret) & BTF_INT_SIGNED) && btf_vlen(func_type) == 3 &&
	       struct_arg(btf, func_type, "nf_hook_state") == 2;
}

int shown_name_verdict(const struct shown *shown, struct proto_table *protos, const struct kbtf *kb,
		       const struct kbtf_func *func, uint32_t func_id)
{
	const struct btf *btf = NULL;
	const struct btf_type *func_type =
		shown->has_facts[SHOWN_RULES] && func->owner == KBTF_KERNEL
			? kbtf_proto(kb, func, &btf)
			: NULL;

	if (!func_type || func_id >= protos->cnt ||
	    !(is_hook(btf, func_type) || !strcmp(func->name, "nft_do_chain")))
		return 0;
	return tracepoint_named(protos, "verdict", &protos->protos[func_id].ret);
}

int shown_resolve(struct shown *shown, struct proto_table *types, const struct kbtf *kb,
		  const struct kbtf_func *func, uint32_t func_id)
{
	const struct btf *btf = NULL;
	/* the types of a BPF program are not those of its arguments */
	const struct btf_type *func_type =
		func->owner == KBTF_KERNEL ? kbtf_proto(kb, func, &btf) : NULL;
	struct proto proto = { .ret = { .kind = PROTO_VOID, .bytes = WORD_BYTES } };
	int err = 0;

	if (!func_id) {
		shown->read_cnt = 0;
		memset(shown->finds_facts, 0, sizeof(shown->finds_facts));
	}
	for (uint32_t i = 0; func_type && i < shown->cnt && err >= 0; i++) {
		struct shown_name *name = &shown->names[i];
		struct shown_read read = { .func_id = func_id };
		struct proto_arg *arg = &proto.args[proto.arg_cnt];

		err = name_resolve(name, member_arg(btf, func_type, name->name), types, btf,
				   func_type, &read, &arg->type);
		if (err)
			continue;
		name->is_found = true;
		err = prototab_keep(types, name->text, &arg->name);
		if (!err)
			err = read_add(shown, &read);
		proto.arg_cnt++;
	}
	for (int i = 0; func_type && i < SHOWN_WORD_CNT && err >= 0; i++) {
		if (shown->has_facts[i])
			err = facts_resolve(shown, (enum shown_word)i, types, btf, func, func_type,
					    func_id, &proto);
	}
	return err < 0 ? err : prototab_add(types, &proto);
}

uint32_t shown_word_cnt(const struct shown *shown, uint32_t func_id)
{
	uint32_t cnt = 0;

	for (size_t i = first_read(shown, func_id);
	     i < shown->read_cnt && shown->reads[i].func_id == func_id; i++)
		cnt += proto_kind_words(shown->reads[i].kind);
	return cnt ? cnt + 1 : 0;
}

/* ---- code ---- */

#define R_CTX     BPF_REG_6
#define R_WORDS   BPF_REG_7
#define R_AT      BPF_REG_8 /* an address, then a value */
#define R_STATES  BPF_REG_9
#define TEXT_AT   (-24) /* on the stack: TEXT_BYTES, a byte more, and a NUL */
#define ADDEND_AT (TEXT_AT + 8)

/* The offset of a jump is the number of its label until the code of the members behind a pointer ends. */
enum label {
	LABEL_NULL = 1,
	LABEL_FAULT,
	LABEL_CUT,
	LABEL_END,
	LABEL_ABSENT, /* of the first of these members: its condition is not met */
	LABEL_NEXT = LABEL_ABSENT + PROTO_ARG_MAX,
	LABEL_CNT = LABEL_NEXT + PROTO_ARG_MAX,
};

struct coder {
	struct bpf_insn *insns;
	uint32_t cnt;
	bool is_direct;
	uint32_t begin; /* of these members' code */
	uint32_t labels[LABEL_CNT];
};

static void emit(struct coder *c, uint8_t code, uint8_t dst, uint8_t src, int32_t off, int32_t imm)
{
	if (c->cnt < SHOWN_INSN_MAX)
		c->insns[c->cnt] = (struct bpf_insn){ .code = code,
						      .dst_reg = dst,
						      .src_reg = src,
						      .off = (int16_t)off,
						      .imm = imm };
	c->cnt++;
}

static void emit_move(struct coder *c, uint8_t dst, uint8_t src)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void emit_add(struct coder *c, uint8_t dst, int32_t number)
{
	if (number)
		emit(c, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, number);
}

static void emit_store(struct coder *c, uint8_t dst, int32_t off, int32_t number)
{
	emit(c, BPF_ST | BPF_MEM | BPF_DW, dst, 0, off, number);
}

static void emit_load(struct coder *c, uint8_t dst, uint8_t src, int32_t off)
{
	emit(c, BPF_LDX | BPF_MEM | BPF_DW, dst, src, off, 0);
}

static void emit_jump(struct coder *c, uint8_t condition, uint8_t reg, int32_t number,
		      uint32_t label)
{
	emit(c, BPF_JMP | condition | BPF_K, reg, 0, (int32_t)label, number);
}

/* Read @bytes from @reg + @offset to @to + @to_off. */
static void emit_read(struct coder *c, uint8_t reg, uint32_t offset, uint32_t bytes, uint8_t to,
		      int32_t to_off, int helper)
{
	emit_move(c, BPF_REG_3, reg);
	emit_add(c, BPF_REG_3, (int32_t)offset);
	emit_move(c, BPF_REG_1, to);
	emit_add(c, BPF_REG_1, to_off);
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, (int32_t)bytes);
	emit(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
	emit_jump(c, BPF_JSLT, BPF_REG_0, 0, LABEL_FAULT);
}

/* The argument, and what the first @step_cnt loads yield, in R_AT. */
static void emit_steps(struct coder *c, const struct shown_read *read, uint8_t step_cnt)
{
	const int32_t arg_at = (int32_t)(read->arg_idx * WORD_BYTES);

	if (read->is_arg_probed || !c->is_direct) {
		emit_read(c, R_CTX, (uint32_t)arg_at, WORD_BYTES, BPF_REG_10, TEXT_AT,
			  BPF_FUNC_probe_read_kernel);
		emit_load(c, R_AT, BPF_REG_10, TEXT_AT);
	} else {
		emit_load(c, R_AT, R_CTX, arg_at);
	}
	for (uint8_t i = 0; i < step_cnt; i++) {
		const bool is_sum = read->member.sum_at == i + 1;

		emit_jump(c, BPF_JEQ, R_AT, 0, LABEL_NULL);
		if (is_sum) {
			emit_store(c, BPF_REG_10, ADDEND_AT, 0);
			emit_read(c, R_AT, read->member.sum_offset, sizeof(uint32_t), BPF_REG_10,
				  ADDEND_AT, BPF_FUNC_probe_read_kernel);
		}
		emit_read(c, R_AT, read->member.offsets[i], WORD_BYTES, BPF_REG_10, TEXT_AT,
			  BPF_FUNC_probe_read_kernel);
		emit_load(c, R_AT, BPF_REG_10, TEXT_AT);
		if (is_sum) {
			emit_load(c, BPF_REG_1, BPF_REG_10, ADDEND_AT);
			emit(c, BPF_ALU64 | BPF_ADD | BPF_X, R_AT, BPF_REG_1, 0, 0);
		}
		if (read->member.bits_at == i + 1)
			emit(c, BPF_ALU64 | BPF_AND | BPF_K, R_AT, 0, 0, MEMBER_ADDRESS_MASK);
	}
	emit_jump(c, BPF_JEQ, R_AT, 0, LABEL_NULL);
}

/* Whether the text may be longer than what is shown. */
static bool may_be_cut(const struct shown_read *read)
{
	return read->is_string || !read->member.elem_cnt || read->member.elem_cnt > TEXT_BYTES;
}

/* The bytes that begin at R_AT + @offset, as text in two words. */
static void emit_text(struct coder *c, const struct shown_read *read, uint32_t offset,
		      int32_t word_at)
{
	const bool is_long = may_be_cut(read);

	for (int32_t at = TEXT_AT; at < 0; at += (int32_t)WORD_BYTES)
		emit_store(c, BPF_REG_10, at, 0);
	emit_read(c, R_AT, offset, is_long ? TEXT_BYTES + 2 : read->member.elem_cnt, BPF_REG_10,
		  TEXT_AT, is_long ? BPF_FUNC_probe_read_kernel_str : BPF_FUNC_probe_read_kernel);
	for (int32_t i = 0; i < 2 * (int32_t)WORD_BYTES; i += (int32_t)WORD_BYTES) {
		emit_load(c, BPF_REG_1, BPF_REG_10, TEXT_AT + i);
		emit(c, BPF_STX | BPF_MEM | BPF_DW, R_WORDS, BPF_REG_1, word_at + i, 0);
	}
	if (!is_long)
		return;
	emit(c, BPF_LDX | BPF_MEM | BPF_B, BPF_REG_1, BPF_REG_10, TEXT_AT + (int32_t)TEXT_BYTES, 0);
	emit_jump(c, BPF_JNE, BPF_REG_1, 0, LABEL_CUT);
}

/* Make the number of a bit field, or of bytes in network order, from the word. */
static void emit_number(struct coder *c, const struct shown_read *read, bool is_signed,
			int32_t word_at)
{
	const struct member *m = &read->member;
	const uint8_t shift_right = is_signed ? BPF_ARSH : BPF_RSH;

	if (!m->bit_cnt && (!m->is_be || read->kind == PROTO_IPV4))
		return;
	emit_load(c, BPF_REG_1, R_WORDS, word_at);
	if (m->is_be && read->kind != PROTO_IPV4)
		emit(c, BPF_ALU | BPF_END | BPF_TO_BE, BPF_REG_1, 0, 0, 8 * m->bytes);
	if (m->bit_cnt) {
		emit(c, BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_1, 0, 0,
		     64 - m->bit_cnt - m->bit_begin);
		emit(c, BPF_ALU64 | shift_right | BPF_K, BPF_REG_1, 0, 0, 64 - m->bit_cnt);
	}
	emit(c, BPF_STX | BPF_MEM | BPF_DW, R_WORDS, BPF_REG_1, word_at, 0);
}

/* What is behind the last pointer on the way, which is in R_AT. */
static void emit_value(struct coder *c, const struct shown_read *read, int32_t word_at)
{
	const struct member *m = &read->member;
	const uint32_t last = m->offsets[m->step_cnt - 1];

	if (read->kind == PROTO_CHARS) {
		emit_text(c, read, read->is_string ? 0 : last, word_at);
		return;
	}
	emit_read(c, R_AT, last, proto_kind_words(read->kind) > 1 ? 2 * WORD_BYTES : m->bytes,
		  R_WORDS, word_at, BPF_FUNC_probe_read_kernel);
	/* an enum that is a bit field has no bit for a sign */
	emit_number(c, read,
		    read->kind == PROTO_SIGNED || (read->kind == PROTO_ENUM && !m->bit_cnt),
		    word_at);
}

/* Go to the label unless the condition is met. */
static void emit_condition(struct coder *c, const struct shown_condition *only, uint32_t label)
{
	emit_store(c, BPF_REG_10, TEXT_AT, 0);
	emit_read(c, R_AT, only->offset, only->bytes, BPF_REG_10, TEXT_AT,
		  BPF_FUNC_probe_read_kernel);
	emit_load(c, BPF_REG_1, BPF_REG_10, TEXT_AT);
	if (only->mask)
		emit(c, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, only->mask);
	emit_jump(c, only->is_not ? BPF_JEQ : BPF_JNE, BPF_REG_1, only->value, label);
}

static void label_here(struct coder *c, uint32_t label)
{
	c->labels[label] = c->cnt;
}

/* Note @states, then go to the label; 0: just go on. */
static void emit_states(struct coder *c, uint64_t states, uint32_t label)
{
	emit(c, BPF_ALU64 | BPF_OR | BPF_K, R_STATES, 0, 0, (int32_t)states);
	if (label)
		emit(c, BPF_JMP | BPF_JA, 0, 0, (int32_t)label, 0);
}

/* The jumps of the code of members: all go forward. */
static void resolve_jumps(struct coder *c)
{
	for (uint32_t i = c->begin; i < c->cnt && c->cnt <= SHOWN_INSN_MAX; i++) {
		struct bpf_insn *insn = &c->insns[i];

		if (BPF_CLASS(insn->code) == BPF_JMP && BPF_OP(insn->code) != BPF_CALL)
			insn->off = (int16_t)(c->labels[insn->off] - i - 1);
	}
}

static uint64_t state_at(uint64_t state, uint32_t place)
{
	return state << place * NFG_SHOWN_BITS;
}

/* @i: of the member among those behind the pointer. */
static void emit_member(struct coder *c, const struct shown_read *read, uint32_t i, uint32_t place,
			int32_t word_at)
{
	if (!read->only.bytes) {
		emit_value(c, read, word_at);
		return;
	}
	emit_condition(c, &read->only, LABEL_ABSENT + i);
	emit_value(c, read, word_at);
	emit(c, BPF_JMP | BPF_JA, 0, 0, (int32_t)(LABEL_NEXT + i), 0);
	label_here(c, LABEL_ABSENT + i);
	emit_states(c, state_at(NFG_SHOWN_CUT, place), 0);
	label_here(c, LABEL_NEXT + i);
}

/*
 * The @cnt members behind one pointer: if it is NULL, or one of them cannot be read, that holds for all. @place: of the first
 * member among the function's; @word: its first word.
 */
static void emit_members(struct coder *c, const struct shown_read *reads, uint32_t cnt,
			 uint32_t place, uint32_t word)
{
	const bool is_cut = reads[0].kind == PROTO_CHARS && may_be_cut(&reads[0]);
	const uint8_t step_cnt = reads[0].member.step_cnt;
	uint64_t null_states = 0;
	uint64_t fault_states = 0;
	uint32_t at = word;

	c->begin = c->cnt;
	for (uint32_t i = 0; i < cnt; i++) {
		null_states |=
			state_at(reads[i].is_optional ? NFG_SHOWN_CUT : NFG_SHOWN_NULL, place + i);
		fault_states |= state_at(NFG_SHOWN_FAULT, place + i);
		for (uint32_t k = proto_kind_words(reads[i].kind); k; k--)
			emit_store(c, R_WORDS, (int32_t)(at++ * WORD_BYTES), 0);
	}
	emit_steps(c, &reads[0], (uint8_t)(step_cnt - !reads[0].is_string));
	at = word;
	for (uint32_t i = 0; i < cnt; i++) {
		emit_member(c, &reads[i], i, place + i, (int32_t)(at * WORD_BYTES));
		at += proto_kind_words(reads[i].kind);
	}
	emit(c, BPF_JMP | BPF_JA, 0, 0, LABEL_END, 0);
	label_here(c, LABEL_NULL);
	emit_states(c, null_states, LABEL_END);
	label_here(c, LABEL_CUT);
	if (is_cut)
		emit_states(c, state_at(NFG_SHOWN_CUT, place), LABEL_END);
	label_here(c, LABEL_FAULT);
	emit_states(c, fault_states, 0);
	label_here(c, LABEL_END);
	resolve_jumps(c);
}

uint32_t shown_code(const struct shown *shown, uint32_t func_id, bool is_direct,
		    struct bpf_insn *insns)
{
	struct coder c = { .insns = insns, .is_direct = is_direct };
	const size_t first = first_read(shown, func_id);
	uint32_t word = 1;
	uint32_t cnt;

	emit_move(&c, R_CTX, BPF_REG_1);
	emit_move(&c, R_WORDS, BPF_REG_2);
	emit(&c, BPF_ALU64 | BPF_MOV | BPF_K, R_STATES, 0, 0, 0);
	for (size_t i = first; i < shown->read_cnt && shown->reads[i].func_id == func_id;
	     i += cnt) {
		const struct shown_read *reads = &shown->reads[i];

		for (cnt = 1; i + cnt < shown->read_cnt && shares_pointer(reads, &reads[cnt]);)
			cnt++;
		emit_members(&c, reads, cnt, (uint32_t)(i - first), word);
		for (uint32_t k = 0; k < cnt; k++)
			word += proto_kind_words(reads[k].kind);
	}
	emit(&c, BPF_STX | BPF_MEM | BPF_DW, R_WORDS, R_STATES, 0, 0);
	emit(&c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
	emit(&c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return c.cnt;
}

/* ---- members of --filter ---- */

const char *filter_show(const struct filter *filter, struct shown **shown, const char *option)
{
	static char why[SHOWN_TEXT_MAX + 120];
	const char *wrong = NULL;

	for (uint32_t i = 0; i < filter->node_cnt && !wrong; i++) {
		const struct filter_node *node = &filter->nodes[i];
		char text[SHOWN_TEXT_MAX + 2];

		if (!filter_is_behind(node))
			continue;
		if (node->string.len > SHOWN_CHARS)
			return "compares a string of more than 16 bytes, which is all that a call shows of a text";
		snprintf(text, sizeof(text), "%.*s", (int)filter_whole_name(node).len,
			 node->name.ptr);
		wrong = shown_parse(shown, text, option);
		if (wrong)
			snprintf(why, sizeof(why), "has '%.*s', which %s",
				 (int)filter_whole_name(node).len, node->name.ptr, wrong);
	}
	return wrong ? why : NULL;
}
