#include "annotate/notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/event.h"
#include "annotate/packettext.h"

/* The packet last shown in a task's tree. Tasks that share a slot make each other show theirs again. */
struct told {
	uint64_t task; /* event_task(); 0: nothing was written */
	struct nfg_packet packet;
};

#define TOLD_CNT 1024u

struct notes {
	struct notes_config config;
	struct strbuf args;
	struct strbuf note;
	struct strbuf packet;
	struct strbuf stack;
	struct told *told; /* TOLD_CNT, by task */
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
	strbuf_release(&nt->args);
	strbuf_release(&nt->note);
	strbuf_release(&nt->packet);
	strbuf_release(&nt->stack);
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
	/* a socket and its packets, whichever way they go */
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

static struct row comment_before(const struct row *row, struct text text)
{
	return (struct row){
		.kind = ROW_COMMENT,
		.cpu = row->cpu,
		.depth = row->depth,
		.time_ns = row->time_ns,
		.task = row->task,
		.text = text,
	};
}

/* The comment that goes before @row. Return: whether there is one. */
static bool put_packet(struct notes *nt, const struct row *row, const struct call_values *call,
		       struct row *comment)
{
	bool is_new = false;
	size_t len;

	strbuf_reset(&nt->packet);
	if (call->has_packet && packet_text(&call->packet, &nt->packet))
		is_new = is_news(nt, row, &call->packet);
	len = nt->packet.len;
	proto_named_enum(nt->config.protos, row->func_id, "reason", call->args, call->arg_cnt,
			 &nt->packet);
	/* a drop and its reason are always news */
	if (!is_new && nt->packet.len == len)
		return false;
	/* a reason may stand alone */
	*comment =
		comment_before(row, (struct text){ nt->packet.ptr + !len, nt->packet.len - !len });
	return true;
}

/* "tcp_v4_connect+0x1f5/0x4a0 (net/ipv4/tcp_ipv4.c:320)" */
static void put_caller(struct notes *nt, struct text caller, struct strbuf *out)
{
	const struct text line = srcline_return(nt->config.srcline, caller);

	strbuf_add(out, caller.ptr, caller.len);
	if (!line.len)
		return;
	strbuf_str(out, " (");
	strbuf_add(out, line.ptr, line.len);
	strbuf_char(out, ')');
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
 * The first frame above @caller; UINT32_MAX: none. The frames below belong to tracing's programs and trampolines.
 * At a kprobe arm64 unwinds from the registers of the function's first instruction: then the stack has that place, and not
 * the caller, whose address is still in a register.
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
			return entry; /* further up the caller is that of another call */
		if (is_entry_of(func, frame))
			entry = i + 1;
	}
	return entry;
}

/* A stack without the caller is unknown: the kernel could not unwind or keep it. */
static void put_stack(struct notes *nt, const struct row *row, const struct call_values *call,
		      struct row *comment)
{
	struct retaddr *callers = nt->config.callers;
	struct text caller = retaddr_get(callers, call->caller);
	const uint32_t nr = (uint32_t)call->stack - 1;
	uint32_t i = call->stack ? first_above(nt, nr, row->name, caller) : UINT32_MAX;
	struct text frame;

	strbuf_reset(&nt->stack);
	strbuf_str(&nt->stack, "stack: ");
	if (caller.len)
		put_caller(nt, caller, &nt->stack);
	else
		strbuf_str(&nt->stack, "?");
	if (i == UINT32_MAX)
		strbuf_str(&nt->stack, " <-?");
	for (; i < NFG_STACK_FRAMES && retaddr_frame(callers, nr, i, &frame); i++) {
		strbuf_str(&nt->stack, " <-");
		put_caller(nt, frame, &nt->stack);
	}
	*comment = comment_before(row, (struct text){ nt->stack.ptr, nt->stack.len });
	comment->is_stack = true;
}

/* Return: how many comments there are. */
static uint32_t put_entry(struct notes *nt, const struct row *row, struct row *comments)
{
	uint32_t cnt = 0;

	const struct notes_config *config = &nt->config;
	struct call_values call;
	struct text caller;

	if (config->has_packet && !row->depth)
		told_of(nt, row)->task = 0; /* another tree begins */
	if (!values_get(config->values, row->entry_values, &call))
		return 0;
	if (config->style.has_args && call.arg_cnt)
		proto_args(config->protos, row->func_id, call.args, call.arg_cnt, &config->style,
			   &nt->args);
	if (config->has_caller && call.has_caller) {
		caller = retaddr_get(config->callers, call.caller);
		strbuf_str(&nt->note, "<-");
		put_caller(nt, caller, &nt->note);
	}
	if (config->has_stack && call.has_stack && call.has_caller)
		put_stack(nt, row, &call, &comments[cnt++]);
	if (config->has_packet && put_packet(nt, row, &call, &comments[cnt]))
		cnt++;
	return cnt;
}

static void put_exit(struct notes *nt, const struct row *row)
{
	const struct notes_config *config = &nt->config;
	const size_t before = nt->note.len;
	struct call_values call;
	size_t start;

	if (!config->style.has_ret || !values_get(config->values, row->exit_values, &call) ||
	    !call.has_ret)
		return;
	if (nt->note.len)
		strbuf_str(&nt->note, " ");
	start = nt->note.len;
	proto_ret(config->protos, row->func_id, call.ret, &config->style, &nt->note);
	if (nt->note.len == start) /* it returns nothing */
		nt->note.len = before;
}

uint32_t notes_fill(struct notes *nt, struct row *row, struct row *comments)
{
	uint32_t comment_cnt = 0;

	strbuf_reset(&nt->args);
	strbuf_reset(&nt->note);
	if (row->kind == ROW_ENTRY || row->kind == ROW_LEAF)
		comment_cnt = put_entry(nt, row, comments);
	if (row->kind == ROW_LEAF || row->kind == ROW_RETURN)
		put_exit(nt, row);
	/* the kernel names every closing brace when it prints results */
	if (row->kind == ROW_RETURN && nt->config.style.has_ret)
		row->is_named = true;
	row->args = (struct text){ nt->args.ptr, nt->args.len };
	row->note = (struct text){ nt->note.ptr, nt->note.len };
	return comment_cnt;
}
