#include "kernel/tracepoint.h"

#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "kernel/member.h"
#include "kernel/pointfields.h"

#define PREFIX_LEN (sizeof(TRACEPOINT_PREFIX) - 1)
#define WORD_MAX   NFG_VALUE_ARG_CNT

/* ---- systems ---- */

struct tracepoint_system {
	const char *name;
	const char *points; /* patterns, separated by blanks */
};

static const struct tracepoint_system tracepoint_systems[] = {
	{ "bridge", "br_fdb_* br_mdb_full fdb_delete" },
	{ "fib", "fib_table_lookup" },
	{ "fib6", "fib6_table_lookup" },
	{ "icmp", "icmp_send" },
	{ "irq", "irq_handler_entry irq_handler_exit softirq_* tasklet_*" },
	{ "lock", "contention_begin contention_end" },
	{ "mptcp",
	  "ack_update_msk get_mapping_status mptcp_rcvbuf_grow mptcp_sendmsg_frag mptcp_subflow_get_send "
	  "subflow_check_data_avail" },
	{ "napi", "napi_poll dql_stall_detected" },
	{ "neigh",
	  "neigh_cleanup_and_release neigh_create neigh_event_send_* neigh_timer_handler neigh_update*" },
	{ "net", "napi_gro_* net_dev_* netif_receive_skb* netif_rx*" },
	{ "netlink", "netlink_extack" },
	{ "openvswitch", "ovs_*" },
	{ "page_pool", "page_pool_*" },
	{ "qdisc", "qdisc_*" },
	{ "sched", "sched_*" },
	{ "sctp", "sctp_*" },
	{ "skb", "consume_skb kfree_skb skb_copy_datagram_iovec" },
	{ "sock",
	  "inet_sk_error_report inet_sock_set_state sk_data_ready sock_exceed_buf_limit sock_rcvqueue_full "
	  "sock_recv_length sock_send_length" },
	{ "tcp", "tcp_*" },
	{ "timer", "hrtimer_* itimer_* tick_stop timer_*" },
	{ "udp", "udp_*" },
	{ "vsock", "virtio_transport_*" },
	{ "workqueue", "workqueue_*" },
	{ "xdp", "bpf_xdp_link_attach_failed mem_connect mem_disconnect mem_return_failed xdp_*" },
};

static bool any_pattern_matches(const char *patterns, const char *name)
{
	char pattern[128];

	for (struct text word; (word = text_word(&patterns)).len;) {
		snprintf(pattern, sizeof(pattern), "%.*s", (int)word.len, word.ptr);
		if (glob_match(pattern, name))
			return true;
	}
	return false;
}

static const char *system_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tracepoint_systems); i++) {
		if (any_pattern_matches(tracepoint_systems[i].points, name))
			return tracepoint_systems[i].name;
	}
	return "";
}

/*
 * Hit while the kernel enters or leaves any program at a tracepoint (bpf_trace_run): rcu_read_unlock() and what it calls, locks'
 * and preemption's own tracing. A program there would call itself without end: 7.2's sched_set_need_resched_tp overflowed the stack
 * below rcu_read_unlock_special.
 */
static const char around_programs[] =
	"sched_set_need_resched_tp rcu_* irq_work_* lock_acquire lock_acquired lock_contended "
	"lock_release irq_disable irq_enable preempt_disable preempt_enable bpf_trace_printk "
	"bpf_trigger_tp";

bool tracepoint_is_denied(const struct tracepoint *tp)
{
	return any_pattern_matches(around_programs, tp->name);
}

/* ---- which tracepoints there are ---- */

static int compare_names(const void *a, const void *b)
{
	const struct tracepoint *left = a;
	const struct tracepoint *right = b;
	int order = strcmp(left->system, right->system);

	return order ? order : strcmp(left->name, right->name);
}

/* The name of a tracepoint if the type @id is that of one; else NULL. */
static const char *name_of_type(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const char *name;

	if (!btf_is_typedef(type))
		return NULL;
	name = btf__name_by_offset(btf, type->name_off);
	return name && !strncmp(name, TRACEPOINT_PREFIX, PREFIX_LEN) ? name + PREFIX_LEN : NULL;
}

bool tracepoint_matches(const char *glob, const char *system, const char *name)
{
	char full[160];

	if (!strchr(glob, ':'))
		return glob_match(glob, name);
	snprintf(full, sizeof(full), "%s:%s", system, name);
	return glob_match(glob, full);
}

static bool globs_have(const struct str_list *globs, struct tracepoint *tp, bool *has_hit)
{
	bool is_any = !globs->cnt;

	for (size_t i = 0; i < globs->cnt; i++) {
		const bool is_plain = glob_is_plain(globs->items[i]);

		if (!tracepoint_matches(globs->items[i], tp->system, tp->name))
			continue;
		has_hit[i] |= is_plain || !tracepoint_is_denied(tp);
		is_any = true;
		tp->is_named |= is_plain;
	}
	return is_any;
}

/* Call @visit with each tracepoint of the kernel and its modules until it returns an error. Return: that error, or 0. */
static int each_point(const struct kbtf *kb, int (*visit)(void *ctx, const struct tracepoint *tp),
		      void *ctx)
{
	struct kbtf_types types;
	int err = 0;

	for (size_t at = 0; !err && kbtf_types_next(kb, &at, &types);) {
		const uint32_t cnt = btf__type_cnt(types.btf);

		for (uint32_t id = types.first_id; id < cnt && !err; id++) {
			struct tracepoint tp = { .name = name_of_type(types.btf, id),
						 .module = types.module,
						 .btf = types.btf,
						 .btf_fd = types.fd,
						 .btf_id = id };

			if (!tp.name)
				continue;
			tp.system = system_of(tp.name);
			err = visit(ctx, &tp);
		}
	}
	return err;
}

struct search {
	struct tracepoint_list *out;
	const struct str_list *globs;
	bool *has_hit; /* of each glob */
};

static int point_found(void *ctx, const struct tracepoint *tp)
{
	const struct search *search = ctx;
	struct tracepoint_list *out = search->out;
	struct tracepoint copy = *tp;

	if (!globs_have(search->globs, &copy, search->has_hit))
		return 0;
	if (tracepoint_is_denied(tp) && !copy.is_named)
		return 0;
	if (VEC_RESERVE(out->items, out->cap, out->cnt + 1))
		return -ENOMEM;
	out->items[out->cnt++] = copy;
	return 0;
}

struct denied_search {
	struct tracepoint_list *out;
	const char *glob;
};

/* Add the first that the pattern has, although it is left out, to be refused. */
static int denied_found(void *ctx, const struct tracepoint *tp)
{
	const struct denied_search *search = ctx;
	struct tracepoint_list *out = search->out;

	if (!tracepoint_is_denied(tp) || !tracepoint_matches(search->glob, tp->system, tp->name))
		return 0;
	if (VEC_RESERVE(out->items, out->cap, out->cnt + 1))
		return -ENOMEM;
	out->items[out->cnt++] = *tp;
	return 1;
}

int tracepoint_find(struct tracepoint_list *out, const struct kbtf *kb,
		    const struct str_list *globs, const char **missed)
{
	bool *has_hit = calloc(globs->cnt + 1, sizeof(*has_hit));
	struct search search = { out, globs, has_hit };
	int err;

	*missed = NULL;
	if (!has_hit)
		return -ENOMEM;
	err = each_point(kb, point_found, &search);
	if (out->cnt)
		qsort(out->items, out->cnt, sizeof(*out->items), compare_names);
	for (size_t i = 0; i < globs->cnt && !*missed; i++)
		*missed = has_hit[i] ? NULL : globs->items[i];
	free(has_hit);
	if (!err && *missed)
		err = each_point(kb, denied_found, &(struct denied_search){ out, *missed });
	if (err == 1) {
		*missed = NULL;
		err = 0;
	}
	return err;
}

void tracepoint_list_release(struct tracepoint_list *list)
{
	free(list->items);
	*list = (struct tracepoint_list){ 0 };
}

const char *tracepoint_full_name(const struct tracepoint *tp)
{
	static char full[160];

	snprintf(full, sizeof(full), "%s%s%s", tp->system, *tp->system ? ":" : "", tp->name);
	return full;
}

struct suggesting {
	struct suggest *suggest;
	bool has_system;
};

static int point_suggest(void *ctx, const struct tracepoint *tp)
{
	const struct suggesting *to = ctx;
	struct tracepoint copy = *tp;

	if (!to->has_system)
		copy.system = "";
	suggest_add(to->suggest, tracepoint_full_name(&copy));
	return 0;
}

const char *tracepoint_suggest(const struct kbtf *kb, const char *glob)
{
	static struct suggest suggest;
	struct suggesting to = { &suggest, strchr(glob, ':') };

	suggest_begin(&suggest, glob);
	each_point(kb, point_suggest, &to);
	return suggest_text(&suggest);
}

/* ---- names, for completion ---- */

#define READ_BYTES (1u << 20)

/* The strings of a BTF file; NULL: it is none. *@bytes: their length. */
static const char *strings_of(const char *data, size_t data_bytes, size_t *bytes)
{
	struct btf_header head;

	if (data_bytes < sizeof(head))
		return NULL;
	memcpy(&head, data, sizeof(head));
	if (head.magic != BTF_MAGIC || head.hdr_len > data_bytes ||
	    head.str_off > data_bytes - head.hdr_len ||
	    head.str_len > data_bytes - head.hdr_len - head.str_off)
		return NULL;
	*bytes = head.str_len;
	return data + head.hdr_len + head.str_off;
}

/* Append the file's bytes. Return: false: it cannot be read. */
static bool read_all(struct strbuf *out, int dir_fd, const char *file)
{
	const int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
	ssize_t len = -1;

	while (fd >= 0 && strbuf_reserve(out, READ_BYTES) &&
	       (len = read(fd, out->ptr + out->len, READ_BYTES)) > 0)
		out->len += (size_t)len;
	if (fd >= 0)
		close(fd);
	return !len && strbuf_ok(out);
}

static void names_of_file(int dir_fd, const char *file,
			  void (*visit)(void *ctx, const char *full_name), void *ctx)
{
	struct strbuf data = { 0 };
	const char *strings = NULL;
	size_t bytes = 0;

	if (read_all(&data, dir_fd, file))
		strings = strings_of(data.ptr, data.len, &bytes);
	for (size_t at = 0; at < bytes;) {
		const char *string = strings + at;
		const size_t len = strnlen(string, bytes - at);

		if (at + len < bytes && len > PREFIX_LEN &&
		    !memcmp(string, TRACEPOINT_PREFIX, PREFIX_LEN)) {
			const char *name = string + PREFIX_LEN;
			const struct tracepoint tp = { .name = name, .system = system_of(name) };

			if (!tracepoint_is_denied(&tp))
				visit(ctx, tracepoint_full_name(&tp));
		}
		at += len + 1;
	}
	strbuf_release(&data);
}

void tracepoint_names(const char *dir, void (*visit)(void *ctx, const char *full_name), void *ctx)
{
	DIR *files = opendir(dir);
	const struct dirent *entry;

	while (files && (entry = readdir(files))) {
		if (entry->d_name[0] != '.')
			names_of_file(dirfd(files), entry->d_name, visit, ctx);
	}
	if (files)
		closedir(files);
}

/* ---- from text to loads ---- */

struct resolver {
	struct tracepoint *tp;
	const struct btf *btf;
	const struct btf_param *args; /* without __data */
	uint32_t arg_cnt;
	bool has_casts;
	struct proto_table *types;
	struct proto proto;
	uint8_t last_cnt; /* reads before that of the last field */
	int err;
};

/* The name of an argument, without the suffix for the verifier that kernels since 6.13 give to some. */
static struct text arg_name(const struct resolver *rs, uint32_t i)
{
	const char *name = btf__name_by_offset(rs->btf, rs->args[i].name_off);
	const char *suffix = name ? strstr(name, "__nullable") : NULL;

	return suffix ? (struct text){ name, (size_t)(suffix - name) } : text_from(name);
}

/* The argument called @name; its number, or -ENOENT. */
static int arg_named(const struct resolver *rs, const char *name, size_t len)
{
	for (uint32_t i = 0; i < rs->arg_cnt; i++) {
		if (text_equal(arg_name(rs, i), (struct text){ name, len }))
			return (int)i;
	}
	return -ENOENT;
}

/*
 * Follow @path from the argument (member.h). Return: the last member's type in *@type_id; false: there is no such member
 * here, or it is too far.
 */
static bool follow(const struct resolver *rs, struct tracepoint_read *read, const char *path,
		   uint32_t *type_id)
{
	struct member member;
	char why[MEMBER_WHY];

	if (!member_resolve(&member, rs->btf, *type_id, text_from(path), 0, false, why) ||
	    member.step_cnt > TRACEPOINT_STEP_MAX)
		return false;
	for (uint8_t i = 0; i < member.step_cnt; i++) {
		if (member.offsets[i] > INT16_MAX) /* of a load */
			return false;
	}
	if (member.sum_at && (member.sum_at != 1 || member.step_cnt != 2 || member.bit_cnt))
		return false;
	if (member.sum_at) {
		read->what = TRACEPOINT_SHARED;
		read->packet.head = member.offsets[0];
		read->packet.place = member.sum_offset;
		read->packet.at = (uint16_t)member.offsets[1];
	}
	read->step_cnt = member.step_cnt;
	read->bit_begin = member.bit_begin;
	read->bit_cnt = member.bit_cnt;
	read->bytes = member.bytes;
	memcpy(read->offsets, member.offsets, sizeof(read->offsets));
	*type_id = member.type_id;
	return !member.bit_cnt || prototab_has_width(member.bytes);
}

/* The place of a member of a packet, whose address is the argument of the type @type_id. */
static bool find_in_packet(const struct resolver *rs, uint32_t type_id, const char *path,
			   uint32_t *place)
{
	struct tracepoint_read read = { .step_cnt = 0 };

	if (!follow(rs, &read, path, &type_id) || read.step_cnt != 1)
		return false;
	*place = read.offsets[0];
	return true;
}

/* @path has a number that tells where a header is, in @read: what is at @at in that header. */
static bool header_resolve(const struct resolver *rs, const char *at, uint32_t skb_id,
			   struct tracepoint_read *read)
{
	struct tracepoint_packet *packet = &read->packet;
	unsigned int place = 0;
	unsigned int wanted = 0;

	if (at && sscanf(at, "%u/%u", &place, &wanted) < 1)
		return false;
	packet->place = read->offsets[0];
	packet->at = (uint16_t)place;
	packet->wanted = (uint16_t)wanted;
	return !read->is_probed && find_in_packet(rs, skb_id, ".head", &packet->head) &&
	       find_in_packet(rs, skb_id, ".data", &packet->data) &&
	       find_in_packet(rs, skb_id, ".protocol", &packet->protocol);
}

/* The struct whose name @text begins with; 0: none. */
static uint32_t cast_target(const struct btf *btf, const char *text)
{
	char name[64];
	int id;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "."), text);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	return id > 0 ? (uint32_t)id : 0;
}

/* The verifier of 6.2 to 6.12 takes every argument for a valid pointer, so programs cannot ask whether these are. */
static bool may_be_null(const char *point, struct text arg)
{
	return text_equal(arg, text_from("rx_sk")) ||
	       (!strcmp(point, "tcp_send_reset") && text_equal(arg, text_from("sk")));
}

/* @path: ends at a NUL. Return: whether this kernel has it. */
static bool read_resolve(const struct resolver *rs, const char *path, struct tracepoint_read *read,
			 uint32_t *type_id)
{
	const size_t name_len = strcspn(path, "<.");
	const int arg = arg_named(rs, path, name_len);
	const char *rest = path + name_len;
	char typed[128];

	*read = (struct tracepoint_read){ .arg = (uint8_t)arg, .bytes = 8 };
	if (arg < 0)
		return false;
	*type_id = rs->args[arg].type;
	read->is_probed = !member_is_loadable(rs->btf, *type_id);
	if (!*rest)
		return true;
	if (read->is_probed)
		return false;
	read->type_id = member_pointee(rs->btf, *type_id);
	/* from 6.2 on programs may not load from it as the verifier knows it; before, they may */
	read->is_cast = rs->has_casts && may_be_null(rs->tp->name, arg_name(rs, (uint32_t)arg));
	if (*rest == '<') {
		/* <STRUCT>.MEMBER is :STRUCT.MEMBER to member_resolve */
		snprintf(typed, sizeof(typed), ":%.*s%s", (int)strcspn(rest + 1, ">"), rest + 1,
			 strchr(rest, '>') + 1);
		rest = typed;
		read->type_id = cast_target(rs->btf, typed + 1);
		read->is_probed = !rs->has_casts;
		read->is_cast = true;
	}
	if (!read->type_id || !follow(rs, read, rest, type_id))
		return false;
	return !read->is_probed || (read->step_cnt == 1 && !read->bit_cnt);
}

/* A form that tells the kind alone; PROTO_VOID: it does not. */
static uint8_t kind_of_form(const char *form)
{
	static const struct {
		const char *form;
		uint8_t kind;
	} kinds[] = {
		{ "x", PROTO_UNSIGNED },    { "be", PROTO_BE },     { "bex", PROTO_BE_HEX },
		{ "ip4", PROTO_IPV4 },      { "ip6", PROTO_IPV6 },  { "chars", PROTO_CHARS },
		{ "str", PROTO_CHARS },     { "code", PROTO_CODE }, { "host", PROTO_DECIMAL },
		{ "offset", PROTO_SIGNED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i].form, form))
			return kinds[i].kind;
	}
	return PROTO_VOID;
}

int tracepoint_named(struct proto_table *types, const char *list, struct proto_type *type)
{
	const struct point_names *known = pointfields_list(list);
	const struct proto_name *names = known ? known->names : NULL;
	uint32_t cnt = 0;
	int err;

	if (!names)
		return 0;
	/* values that are too wide for the type come last */
	while (names[cnt].name && (type->bytes == 8 || !(names[cnt].value >> 8 * type->bytes)))
		cnt++;
	/* an enum has one width */
	err = prototab_named(types, (const char *)names + type->bytes, type->bytes, names, cnt,
			     type);
	if (known->is_flags)
		type->kind = PROTO_FLAGS;
	return err;
}

static int names_type(struct resolver *rs, const char *form, uint32_t type_id,
		      struct proto_type *type)
{
	const struct btf_type *btf_type = kbtf_type(rs->btf, type_id, NULL);

	if (!pointfields_list(form) && btf_type && btf_is_any_enum(btf_type))
		return prototab_stripped(rs->types, rs->btf, btf_type, form, type);
	return tracepoint_named(rs->types, form, type);
}

/* @form: "": none. */
static int field_type(struct resolver *rs, const char *form, uint32_t type_id,
		      struct proto_type *type)
{
	const uint8_t kind = kind_of_form(form);
	int err = prototab_type(rs->types, rs->btf, type_id, type);

	if (err)
		return err;
	if (kind) {
		type->kind = kind;
		type->enum_id = 0;
		if (proto_kind_words(kind) > 1 || kind == PROTO_CODE)
			type->bytes = 8;
		return 0;
	}
	if (*form)
		return names_type(rs, form, type_id, type);
	if (type->kind == PROTO_UNSIGNED || type->kind == PROTO_BOOL)
		type->kind = PROTO_DECIMAL;
	return 0;
}

/* The bytes that the last step loads. */
static uint8_t load_bytes(const struct resolver *rs, uint32_t type_id,
			  const struct proto_type *type)
{
	const int64_t bytes = btf__resolve_size(rs->btf, type_id);

	if (proto_kind_words(type->kind) > 1)
		return 16;
	return bytes == 1 || bytes == 2 || bytes == 4 ? (uint8_t)bytes : 8;
}

static void field_add(struct resolver *rs, struct text name, struct tracepoint_read *read,
		      const struct proto_type *type)
{
	struct tracepoint *tp = rs->tp;
	struct proto_arg *arg = &rs->proto.args[rs->proto.arg_cnt];
	const uint32_t word_cnt = proto_kind_words(type->kind);

	if (rs->proto.arg_cnt == PROTO_ARG_MAX || tp->word_cnt + word_cnt > WORD_MAX) {
		tp->cut_cnt++;
		return;
	}
	rs->err = prototab_keep(rs->types, name, &arg->name);
	arg->type = *type;
	rs->proto.arg_cnt++;
	rs->last_cnt = tp->read_cnt;
	tp->word_cnt += (uint8_t)word_cnt;
	tp->reads[tp->read_cnt++] = *read;
}

/* Read this if the argument of the last field, @name, is NULL. */
static void instead_add(struct resolver *rs, const char *name, struct tracepoint_read *read)
{
	struct tracepoint *tp = rs->tp;
	const struct proto_arg *last = &rs->proto.args[rs->proto.arg_cnt - 1];

	if (!rs->proto.arg_cnt || !text_equal(last->name, text_from(name)) ||
	    tp->read_cnt != rs->last_cnt + 1)
		return;
	read->is_instead = true;
	tp->reads[tp->read_cnt++] = *read;
}

/* Of a value in a header. */
static uint8_t header_bytes(const struct proto_type *type)
{
	return type->kind == PROTO_IPV6 ? 16 : type->kind == PROTO_IPV4 ? 4 : 2;
}

static bool has_field(const struct resolver *rs, const char *name)
{
	for (uint8_t i = 0; i < rs->proto.arg_cnt; i++) {
		if (text_equal(rs->proto.args[i].name, text_from(name)))
			return true;
	}
	return false;
}

/* @spec: NAME=PATH[:FORM]. */
static void field_resolve(struct resolver *rs, struct text spec)
{
	struct tracepoint_read read;
	struct proto_type type;
	uint32_t type_id;
	char copy[128];
	char *path;
	char *form;
	char *at;

	snprintf(copy, sizeof(copy), "%.*s", (int)spec.len, spec.ptr);
	path = strchr(copy, '=');
	*path++ = '\0';
	form = strchr(path, ':');
	if (form)
		*form++ = '\0';
	else
		form = "";
	at = strchr(path, '+');
	if (at)
		*at++ = '\0';
	if (has_field(rs, copy) || !read_resolve(rs, path, &read, &type_id))
		return;
	if (at || !strcmp(form, "offset")) {
		read.what = at ? TRACEPOINT_HEADER : TRACEPOINT_OFFSET;
		if (!header_resolve(rs, at, rs->args[read.arg].type, &read))
			return;
	}
	rs->err = field_type(rs, form, type_id, &type);
	if (rs->err)
		return;
	read.is_string = !strcmp(form, "str");
	read.packet.is_swapped = !strcmp(form, "host");
	if (read.what == TRACEPOINT_OFFSET)
		type.bytes = 8;
	else if (read.what == TRACEPOINT_HEADER)
		read.bytes = header_bytes(&type);
	else if (read.step_cnt && !read.bit_cnt)
		read.bytes = read.is_string ? 8 : load_bytes(rs, type_id, &type);
	if (*copy == '?')
		instead_add(rs, copy + 1, &read);
	else
		field_add(rs, text_from(copy), &read, &type);
}

static void args_resolve(struct resolver *rs)
{
	for (uint32_t i = 0; i < rs->arg_cnt && !rs->err; i++) {
		struct tracepoint_read read = { .arg = (uint8_t)i, .bytes = 8 };
		struct proto_type type;

		read.is_probed = !member_is_loadable(rs->btf, rs->args[i].type);
		rs->err = prototab_type(rs->types, rs->btf, rs->args[i].type, &type);
		if (!rs->err)
			field_add(rs, arg_name(rs, i), &read, &type);
	}
}

/* The function that calls the tracepoint's programs has its arguments with their names, after __data. */
static const struct btf_type *proto_of_point(const struct kbtf *kb, const struct tracepoint *tp)
{
	const struct kbtf_func *func = NULL;
	const struct btf_type *type;
	const struct btf *btf;
	char name[160];

	snprintf(name, sizeof(name), "__traceiter_%s", tp->name);
	while ((func = kbtf_next(kb, name, func))) {
		type = kbtf_proto(kb, func, &btf);
		if (btf == tp->btf)
			return type;
	}
	type = kbtf_type(tp->btf, tp->btf_id, NULL);
	return type && btf_is_ptr(type) ? kbtf_type(tp->btf, type->type, NULL) : NULL;
}

/* Prefers a socket, because its owner is certain. */
static void packet_resolve(struct resolver *rs)
{
	struct tracepoint *tp = rs->tp;

	for (uint32_t i = 0; i < rs->arg_cnt; i++) {
		const uint8_t kind = kbtf_packet_kind(rs->btf, rs->args[i].type, KBTF_KERNEL);

		if (kind <= tp->arg_kind || may_be_null(tp->name, arg_name(rs, i)))
			continue;
		tp->arg_kind = kind;
		tp->arg_idx = (uint8_t)i;
	}
}

int tracepoint_fields(struct tracepoint *tp, const struct kbtf *kb, bool has_casts,
		      struct proto_table *types)
{
	const struct btf_type *proto = proto_of_point(kb, tp);
	/* without casts, as in modules, a load from an argument that is NULL would be fatal since 6.2 */
	const char *fields = has_casts && tp->module ? NULL : pointfields_of(tp->name);
	/* casts are to types of vmlinux */
	struct resolver rs = { .tp = tp,
			       .btf = tp->btf,
			       .has_casts = has_casts && !tp->module,
			       .types = types,
			       .proto.ret = { .kind = PROTO_VOID, .bytes = 8 } };

	if (proto && btf_is_func_proto(proto) && btf_vlen(proto)) {
		rs.args = btf_params(proto) + 1;
		rs.arg_cnt = btf_vlen(proto) - 1u;
	}
	packet_resolve(&rs);
	for (struct text field; fields && !rs.err && (field = text_word(&fields)).len;)
		field_resolve(&rs, field);
	if (!fields)
		args_resolve(&rs);
	return rs.err ? rs.err : prototab_add(types, &rs.proto);
}
