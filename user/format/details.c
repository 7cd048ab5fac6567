#include "format/details.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "format/flow.h"
#include "format/rowkey.h"
#include "kernel/probe.h"
#include "kernel/sleep.h"
#include "nfg_abi.h"

static void put_flags(struct strbuf *out, uint8_t flags)
{
	static const char *const names[] = {
		"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"
	};
	const char *before = " flags=";

	for (int bit = 0; bit < 8; bit++) {
		if (!(flags & 1 << bit))
			continue;
		strbuf_str(out, before);
		strbuf_str(out, names[bit]);
		before = ",";
	}
}

/* A device may have any name; characters that readers take for a brace or a column become '_'. */
static void put_dev(struct strbuf *out, const char *dev)
{
	if (!*dev)
		return;
	strbuf_str(out, " dev=");
	for (int i = 0; i < 16 && dev[i]; i++)
		strbuf_char(out, dev[i] <= ' ' || dev[i] > 'z' ? '_' : dev[i]);
}

/*
 * packet_text - append a description of a packet or a socket: "tcp 10.0.0.1:4242 > 10.0.0.2:80 flags=SYN dev=eth0",
 * or of a socket "tcp 10.0.0.1:4242 > 10.0.0.2:80 socket", whichever way a packet goes.
 *
 * The text contains none of | { }: readers of function_graph text look for those in comments too. Return: false, with
 * nothing appended, when nothing is known about it.
 */
static bool packet_text(const struct nfg_packet *packet, struct strbuf *out)
{
	if (!packet->family)
		return false;
	flow_put_ends(out, packet, FLOW_FROM_TO);
	if (packet->from_sock)
		strbuf_str(out, " socket");
	put_flags(out, packet->tcp_flags);
	put_dev(out, packet->dev);
	return true;
}

/* The packet last shown in a task's tree. Tasks that share a slot make each other show theirs again. */
struct told {
	uint64_t task; /* event_task(); 0: nothing was written */
	struct nfg_packet packet;
};

#define TOLD_CNT 1024u

struct notes {
	struct notes_config config;
	/* arguments, members, and the packet's number: a recording may claim as many of both as fit */
	struct value args[2 * PROTO_ARG_MAX + 1];
	struct proto_texts texts; /* of a tracepoint's fields */
	struct value ret;
	struct caller caller;
	struct caller frames[NFG_STACK_FRAMES + 2];
	struct user_frame user_frames[NFG_STACK_FRAMES];
	struct user_stack user_stack; /* of user_frames */
	struct strbuf packet;
	struct nfg_packet seen; /* of the last row */
	struct told *told;      /* TOLD_CNT, by task */
};

int notes_new(struct notes **out, const struct notes_config *config)
{
	struct notes *nt = calloc(1, sizeof(*nt));

	if (!nt)
		return -ENOMEM;
	nt->config = *config;
	nt->told = calloc(TOLD_CNT, sizeof(*nt->told));
	if (!nt->told) {
		free(nt);
		return -ENOMEM;
	}
	*out = nt;
	return 0;
}

void notes_free(struct notes *nt)
{
	if (!nt)
		return;
	strbuf_release(&nt->packet);
	free(nt->told);
	free(nt);
}

/* Device and flags change along a packet's way: that alone is not worth another comment. */
static bool is_same_packet(const struct nfg_packet *a, const struct nfg_packet *b)
{
	bool is_same_way = a->sport == b->sport && a->dport == b->dport &&
			   !memcmp(a->saddr, b->saddr, sizeof(a->saddr)) &&
			   !memcmp(a->daddr, b->daddr, sizeof(a->daddr));
	bool is_back = a->sport == b->dport && a->dport == b->sport &&
		       !memcmp(a->saddr, b->daddr, sizeof(a->saddr)) &&
		       !memcmp(a->daddr, b->saddr, sizeof(a->daddr));

	if (a->family != b->family || a->proto != b->proto)
		return false;
	/* a socket and its packets count as the same, whichever way these go */
	return is_same_way || (is_back && a->from_sock != b->from_sock);
}

static uint64_t task_of(const struct row *row)
{
	return event_task(row->task.tid, row->cpu);
}

static struct told *told_of(struct notes *nt, const struct row *row)
{
	return &nt->told[task_of(row) % TOLD_CNT];
}

static bool is_news(struct notes *nt, const struct row *row, const struct nfg_packet *packet)
{
	struct told *told = told_of(nt, row);

	if (told->task == task_of(row) && is_same_packet(&told->packet, packet))
		return false;
	*told = (struct told){ .task = task_of(row), .packet = *packet };
	return true;
}

static struct row comment_before(const struct row *row)
{
	return (struct row){
		.kind = ROW_COMMENT,
		.cpu = row->cpu,
		.depth = row->depth,
		.time_ns = row->time_ns,
		.task = row->task,
		.tgid = row->tgid,
		.process = row->process,
		.place = row->place,
	};
}

/* Make the comment that goes before @row. Return: whether there is one. */
static bool put_packet(struct notes *nt, const struct row *row, const struct call_values *call,
		       struct row *comment)
{
	bool is_new = false;
	size_t len;

	strbuf_reset(&nt->packet);
	if (call->has_packet && packet_text(&call->packet, &nt->packet))
		is_new = is_news(nt, row, &call->packet);
	len = nt->packet.len;
	if (nt->config.protos && !rowkey_only_releases(row->name))
		proto_named_enum(nt->config.protos, row->func_id, "reason", call->args,
				 call->arg_cnt, &nt->packet);
	/* a drop with its reason is always shown */
	if (!is_new && nt->packet.len == len)
		return false;
	/* a reason may stand alone */
	*comment = comment_before(row);
	comment->text = (struct text){ nt->packet.ptr + !len, nt->packet.len - !len };
	return true;
}

static struct caller frame_of(const struct notes *nt, struct text place)
{
	const char *blank = place.len ? memchr(place.ptr, ' ', place.len) : NULL;
	const char *end = place.ptr + place.len;
	const bool has_module = blank && end - blank > 3 && blank[1] == '[' && end[-1] == ']';

	return (struct caller){
		.place = place,
		.source = srcline_return(nt->config.srcline, place),
		.symbol.text = { place.ptr, blank ? (size_t)(blank - place.ptr) : place.len },
		.module.text = { has_module ? blank + 2 : NULL,
				 has_module ? (size_t)(end - blank) - 3 : 0 },
	};
}

/* Whether @frame is where a program at a kprobe interrupts @func, as "tcp_ack+0x8/0x900": no call returns there. */
static bool is_entry_of(struct text func, struct text frame)
{
	static const char plus[] = "+0x";
	const size_t at = func.len + sizeof(plus) - 1;

	return func.len && frame.len > at + 1 && !memcmp(frame.ptr, func.ptr, func.len) &&
	       !memcmp(frame.ptr + func.len, plus, sizeof(plus) - 1) && frame.ptr[at + 1] == '/';
}

/*
 * The first frame above @caller; UINT32_MAX: none. The frames below belong to tracing's programs and trampolines. At
 * a kprobe arm64 unwinds from the registers of the function's first instruction: then the stack has that place, and
 * not the caller, whose address is still in a register.
 */
static uint32_t first_above(struct notes *nt, uint32_t nr, struct text func, struct text caller)
{
	/* an address outside all functions is in some trampoline */
	const bool is_in_function = caller.len && memchr(caller.ptr, '+', caller.len);
	uint32_t entry = UINT32_MAX;
	struct text frame;

	if (!is_in_function)
		return UINT32_MAX;
	for (uint32_t i = 0; i < NFG_STACK_FRAMES; i++) {
		if (!retaddr_frame(nt->config.callers, nr, i, &frame))
			break;
		if (text_equal(frame, caller))
			return i + 1;
		if (entry != UINT32_MAX)
			return entry; /* further up, a frame like the caller is of another call */
		if (is_entry_of(func, frame))
			entry = i + 1;
	}
	return entry;
}

/* A stack without the caller is unknown: the kernel could not unwind or keep it. */
static void details_put_stack(struct notes *nt, const struct row *row,
			      const struct call_values *call, struct row *comment)
{
	static const struct text unknown = { "?", 1 };
	struct retaddr *callers = nt->config.callers;
	struct text caller = retaddr_get(callers, call->caller);
	const uint32_t nr = (uint32_t)call->stack - 1;
	uint32_t i = call->stack ? first_above(nt, nr, row->name, caller) : UINT32_MAX;
	struct text place;
	uint32_t cnt = 0;

	nt->frames[cnt++] = frame_of(nt, caller.len ? caller : unknown);
	if (i == UINT32_MAX)
		nt->frames[cnt++] = frame_of(nt, unknown);
	for (; i < NFG_STACK_FRAMES && retaddr_frame(callers, nr, i, &place); i++)
		nt->frames[cnt++] = frame_of(nt, place);
	*comment = comment_before(row);
	comment->frames = nt->frames;
	comment->frame_cnt = cnt;
}

/* Characters that readers of text take for the end of an argument, or of all, become '_'. */
static void clean_text(char *text)
{
	for (; *text; text++) {
		if (strchr(",(){}|;=\"", *text))
			*text = '_';
	}
}

/* The names of bits are words without a bar in between: a bar ends a column. */
static void clean_value(const struct value *value, char *bytes)
{
	for (char *at = bytes; value->kind == VALUE_FLAGS && (at = strchr(at, '|'));)
		*at = '+';
	clean_text(bytes);
}

/* What is shown in place of a value that could not be read, or of all of a text. @bytes: PROTO_FIELD_TEXT. */
static void put_state(struct value *value, uint8_t state, char *bytes)
{
	static const char *const words[] = {
		[NFG_SHOWN_NULL] = "(null)", [NFG_SHOWN_FAULT] = "(fault)"
	};

	if (state == NFG_SHOWN_CUT && value->text.ptr == bytes) {
		snprintf(bytes + value->text.len, PROTO_FIELD_TEXT - value->text.len, "...");
		value->text.len += strlen("...");
	} else if (state == NFG_SHOWN_NULL || state == NFG_SHOWN_FAULT) {
		*value = (struct value){ .name = value->name, .text = text_from(words[state]) };
	}
}

/* Members follow the arguments. */
static void put_members(struct notes *nt, struct row *row, const struct call_values *call)
{
	const struct proto *proto = proto_table_get(nt->config.members, row->func_id);
	struct value *values = &nt->args[row->arg_cnt];
	const uint32_t cnt = proto_fields(nt->config.members, row->func_id, call->shown + 1,
					  call->shown_cnt - 1u, &nt->config.style, NULL, NULL,
					  &nt->texts, values);
	uint32_t kept_cnt = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		const uint8_t state = call->shown[0] >> i * NFG_SHOWN_BITS & 3;
		char *bytes = nt->texts.bytes[i];

		if (state == NFG_SHOWN_CUT && proto->args[i].type.kind != PROTO_CHARS)
			continue;

		if (values[i].text.ptr == bytes) {
			bytes[values[i].text.len] = '\0';
			clean_value(&values[i], bytes);
		}
		put_state(&values[i], state, bytes);
		values[i].is_brief = values[i].text.ptr == bytes;
		values[kept_cnt++] = values[i];
	}
	row->arg_cnt += kept_cnt;
}

/* Addresses tell where a process has its files, which is random for its protection: offsets in the files do not. */
static const struct user_stack *without_addresses(struct notes *nt, const struct user_stack *stack)
{
	struct user_frame *frames = nt->user_frames;

	nt->user_stack = *stack;
	nt->user_stack.frames = frames;
	if (stack->frame_cnt > NFG_STACK_FRAMES)
		nt->user_stack.frame_cnt = NFG_STACK_FRAMES;
	for (uint32_t i = 0; i < nt->user_stack.frame_cnt; i++) {
		frames[i] = stack->frames[i];
		if (frames[i].file.len)
			frames[i].ip = 0;
	}
	return &nt->user_stack;
}

static void put_ustack(struct notes *nt, const struct row *row, uint64_t nr, struct row *comment)
{
	const struct user_stack *stack = userstacks_show(nt->config.ustacks, nr);

	*comment = comment_before(row);
	comment->user_stack =
		nt->config.style.hides_pointers ? without_addresses(nt, stack) : stack;
}

/* Return: how many comments there are. */
static uint32_t put_entry(struct notes *nt, struct row *row, struct row *comments)
{
	uint32_t cnt = 0;

	const struct notes_config *config = &nt->config;
	struct call_values call;

	if (config->has_packet && !row->depth)
		told_of(nt, row)->task = 0; /* another tree begins */
	if (!values_get(config->values, row->entry_values, &call))
		return 0;
	row->args = nt->args;
	/* a recording of calls with values may be read for its tracepoints alone */
	if (config->protos && call.arg_cnt)
		row->arg_cnt = proto_args(config->protos, row->func_id, call.args, call.arg_cnt,
					  &config->style, nt->args);
	if (call.shown_cnt && config->members)
		put_members(nt, row, &call);
	if (config->has_pkt && call.pkt)
		nt->args[row->arg_cnt++] = (struct value){
			.name = { "pkt", 3 },
			.number = call.pkt,
			.kind = VALUE_INT,
			.form = FORM_UNSIGNED,
		};
	if (config->has_packet && call.has_packet) {
		nt->seen = call.packet;
		row->packet = &nt->seen;
	}
	if (config->has_caller && call.has_caller) {
		nt->caller = frame_of(nt, retaddr_get(config->callers, call.caller));
		row->caller = &nt->caller;
	}
	if (config->has_stack && call.has_stack && call.has_caller)
		details_put_stack(nt, row, &call, &comments[cnt++]);
	if (config->has_ustack && config->ustacks && call.has_ustack)
		put_ustack(nt, row, call.ustack, &comments[cnt++]);
	if (config->has_packet && put_packet(nt, row, &call, &comments[cnt]))
		cnt++;
	return cnt;
}

static void put_exit(struct notes *nt, struct row *row)
{
	const struct notes_config *config = &nt->config;
	struct call_values call;

	if (config->protos && config->style.has_ret &&
	    values_get(config->values, row->exit_values, &call) && call.has_ret &&
	    proto_ret(config->protos, row->func_id, call.ret, &config->style, &nt->ret))
		row->ret = &nt->ret;
}

static struct text place_named(void *ctx, uint64_t addr)
{
	return retaddr_get(ctx, addr);
}

/* The name of a task or a device must not end the comment that it stands in. */
static void keep_comment_open(char *text, size_t len)
{
	for (size_t i = 0; i + 1 < len; i++) {
		if (text[i] == '*' && text[i + 1] == '/')
			text[i] = '_';
	}
}

static void fill_point(struct notes *nt, struct row *row)
{
	const struct notes_config *config = &nt->config;
	const struct point point = { .name = row->name, .system = row->module };
	struct call_values call;

	row->is_at_depth = sleep_is_point(&point);
	if (!values_get(config->values, row->entry_values, &call))
		return;
	row->args = nt->args;
	row->arg_cnt =
		proto_fields(config->points, row->func_id, call.args, call.arg_cnt, &config->style,
			     place_named, config->callers, &nt->texts, nt->args);
	for (uint32_t i = 0; i < row->arg_cnt; i++) {
		if (nt->args[i].text.ptr == nt->texts.bytes[i])
			keep_comment_open(nt->texts.bytes[i], nt->args[i].text.len);
	}
}

uint32_t notes_fill(struct notes *nt, struct row *row, struct row *comments)
{
	uint32_t comment_cnt = 0;

	row->arg_cnt = 0;
	row->caller = NULL;
	row->packet = NULL;
	row->ret = NULL;
	if (row->kind == ROW_POINT && nt->config.points)
		fill_point(nt, row);
	if (row->kind == ROW_ENTRY || row->kind == ROW_LEAF)
		comment_cnt = put_entry(nt, row, comments);
	if (row->kind == ROW_LEAF || row->kind == ROW_RETURN)
		put_exit(nt, row);
	/* the kernel names every closing brace when it prints results */
	if (row->kind == ROW_RETURN && nt->config.style.has_ret)
		row->is_named = true;
	return comment_cnt;
}

/* Events in flight have fewer. A frame takes 72 bytes, and processes choose names and paths. */
#define USTACK_CNT_LIVE   16384u
#define USTACK_BYTES_LIVE (128u << 20)

/* 32 MiB: the values of some hundred thousand events in flight. */
#define VALUES_WORD_CNT (1u << 22)

/* The rule of the kernel's %pK: with kernel.kptr_restrict 0 or 1 root sees pointers, with 2 nobody does. */
static bool may_show_pointers(void)
{
	FILE *file = fopen("/proc/sys/kernel/kptr_restrict", "re");
	int level = 2;

	if (!file)
		return false;
	if (fscanf(file, "%d", &level) != 1)
		level = 2;
	fclose(file);
	return level < 2 && geteuid() == 0;
}

static struct proto_style style_of(const struct details_want *want)
{
	struct proto_style style = want->style;

	style.hides_pointers = want->style.hides_pointers && !may_show_pointers();

	if (style.hides_pointers &&
	    getrandom(&style.hash_key, sizeof(style.hash_key), 0) != sizeof(style.hash_key))
		style.hash_key = (uint64_t)getpid();
	return style;
}

/* Warn once that all callers will be "<-?". */
static void warn_hidden_callers(const struct details_want *want)
{
	char why[64];

	policy_hidden_addresses(why, sizeof(why));
	log_warn("--graph-opts %s: callers are unnamed, because kernel addresses are hidden: %s",
		 want->has_caller ? "retaddr" : "stack", why);
}

int details_init(struct details *dt, const struct details_want *want, const struct ksyms *ks)
{
	struct notes_config config;
	int err = 0;

	*dt = (struct details){ 0 };
	if (want->values || want->has_filter)
		err = proto_table_new(&dt->protos);
	if (!err && want->has_points)
		err = proto_table_new(&dt->points);
	if (!err && want->has_members)
		err = proto_table_new(&dt->members);
	dt->shown = want->shown;
	if (err || (!want->values && !want->has_points))
		return err;
	err = values_new(&dt->values, VALUES_WORD_CNT);
	if (!err && want->values & NFG_WANT_USTACK)
		err = userstacks_new(&dt->ustacks, ks ? USTACK_CNT_LIVE : 0);
	if (dt->ustacks && ks)
		userstacks_limit(dt->ustacks, USTACK_BYTES_LIVE);
	if (!err)
		err = retaddr_new(&dt->callers, ks);
	if (!err && (want->has_caller || want->has_stack) && retaddr_is_hidden(dt->callers))
		warn_hidden_callers(want);
	config = (struct notes_config){
		.style = style_of(want),
		.has_caller = want->has_caller,
		.has_packet = want->has_packet,
		.has_pkt = want->has_pkt,
		.has_stack = want->has_stack,
		.has_ustack = want->has_ustack,
		.ustacks = dt->ustacks,
		.values = dt->values,
		.protos = dt->protos,
		.points = dt->points,
		.members = dt->members,
		.callers = dt->callers,
		.srcline = want->srcline,
	};
	return err ? err : notes_new(&dt->notes, &config);
}

void details_release(struct details *dt)
{
	notes_free(dt->notes);
	retaddr_free(dt->callers);
	proto_table_free(dt->protos);
	proto_table_free(dt->points);
	proto_table_free(dt->members);
	values_free(dt->values);
	userstacks_free(dt->ustacks);
	*dt = (struct details){ 0 };
}

struct kbtf_func details_kfunc(const struct func *func)
{
	return (struct kbtf_func){
		.name = func->name.ptr,
		.module = func->module.len ? func->module.ptr : NULL,
		.btf_id = func->btf_id,
		.btf_fd = func->btf_fd,
		.owner = func->owner,
	};
}

int details_funcs(struct details *dt, const struct functab *tab, const struct kbtf *kb)
{
	int err = 0;

	for (size_t i = dt->protos ? dt->protos->cnt : 0; dt->protos && i < tab->cnt && !err; i++) {
		const struct kbtf_func kfunc = details_kfunc(&tab->funcs[i]);

		err = proto_table_add(dt->protos, kb, &kfunc);
		if (!err && dt->shown)
			err = shown_resolve(dt->shown, dt->members, kb, &kfunc, (uint32_t)i);
		if (!err && dt->shown)
			err = shown_name_verdict(dt->shown, dt->protos, kb, &kfunc, (uint32_t)i);
	}
	return err;
}

static bool is_enumerator(const struct details *details, const struct proto_type *type,
			  uint32_t number, const char *name)
{
	int64_t value;

	return proto_enumerator(details->protos, type, text_from(name), &value) &&
	       number == (uint32_t)value;
}

bool details_is_no_drop(const struct details *details, const struct func *func,
			const struct event *ev)
{
	const struct proto *proto =
		details->protos ? proto_table_get(details->protos, ev->func_id) : NULL;
	const unsigned int nth = func->reason_arg;
	struct call_values call;
	uint32_t reason;

	if (!proto || !details->values || !values_get(details->values, ev->values, &call))
		return false;
	if (func->skb_arg && func->skb_arg <= call.arg_cnt && !call.args[func->skb_arg - 1])
		return true;
	if (!nth || nth > call.arg_cnt || nth > proto->arg_cnt)
		return false;
	reason = (uint32_t)call.args[nth - 1];
	return is_enumerator(details, &proto->args[nth - 1].type, reason, "SKB_CONSUMED") ||
	       is_enumerator(details, &proto->args[nth - 1].type, reason, "SKB_NOT_DROPPED_YET");
}
