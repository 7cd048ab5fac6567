#include "format/render.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/color.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "format/text_parse.h"

#define SPANS_MAX 2

/* The colour by render_mark's marks: above 100 us !, 1 ms #, 10 ms *, 100 ms @, a second $. */
static const char *duration_style(uint64_t duration_ns)
{
	if (duration_ns <= 100000)
		return NULL;
	if (duration_ns <= 1000000)
		return COLOR_YELLOW;
	if (duration_ns <= 10000000)
		return COLOR_BOLD_YELLOW;
	return duration_ns <= 100000000 ? COLOR_RED : COLOR_BOLD_RED;
}

/* Find the duration, from the mark to the unit. */
static size_t find_duration(struct strbuf *out, size_t start, const struct row *row,
			    struct color_span *span)
{
	const char *style = duration_style(row->duration_ns);
	const char *line = out->ptr + start;
	const char *mark;
	const char *us;

	if (row->lacks_duration || !style)
		return 0;
	mark = text_repair_find_mark(out->ptr + start, out->len - start);
	if (!mark)
		return 0;
	mark += *mark == ' ' ? 2 : 0; /* marks are turned off */
	us = memmem(mark, (size_t)(out->ptr + out->len - mark), " us ", 4);
	*span = (struct color_span){ start + (size_t)(mark - line), (size_t)(us - mark) + 3,
				     style };
	return 1;
}

/* A result that the kernel's text shows as a negative number is an error. */
static size_t find_error(const struct strbuf *out, const struct row *row, struct color_span *span)
{
	static const char behind[] = " */\n";
	char bytes[VALUE_TEXT_MAX];
	const struct text ret = row->ret ? value_text(row->ret, bytes) : (struct text){ 0 };
	const size_t tail = ret.len + sizeof(behind) - 1;
	const size_t before = row->ret && row->ret->name.len ? 4 : 2; /* "ret=", "= " */
	const char *at = out->ptr + out->len - tail;

	/* an escaped result differs from the written text */
	if (!ret.len || ret.ptr[0] != '-' || out->len < tail + before ||
	    memcmp(at, ret.ptr, ret.len) != 0)
		return 0;
	*span = (struct color_span){
		.at = (size_t)(at - out->ptr) - before,
		.len = ret.len + before,
		.style = COLOR_RED,
	};
	return 1;
}

static size_t whole_line(const struct strbuf *out, size_t at, const char *style,
			 struct color_span *span)
{
	const char *end = memchr(out->ptr + at, '\n', out->len - at);

	*span = (struct color_span){ at, end ? (size_t)(end - out->ptr) - at : out->len - at,
				     style };
	return 1;
}

/* Find the line between the two rules of a banner: output.c recognises a banner by the first rule. */
static size_t banner_line(const struct strbuf *out, size_t start, struct color_span *span)
{
	const char *end = memchr(out->ptr + start, '\n', out->len - start);

	return end ? whole_line(out, (size_t)(end + 1 - out->ptr), COLOR_CYAN, span) : 0;
}

static size_t comment_text(const struct strbuf *out, size_t start, struct color_span *span)
{
	const char *comment = memmem(out->ptr + start, out->len - start, "/* ", 3);

	if (!comment)
		return 0;
	return whole_line(out, (size_t)(comment - out->ptr), COLOR_GREEN, span);
}

void paint_row(struct strbuf *out, size_t start, const struct row *row)
{
	struct color_span spans[SPANS_MAX];
	size_t cnt = 0;

	if (!strbuf_ok(out) || start == out->len)
		return;
	switch (row->kind) {
	case ROW_LEAF:
	case ROW_RETURN:
		cnt = find_duration(out, start, row, spans);
		cnt += find_error(out, row, spans + cnt);
		break;
	case ROW_COMMENT:
	case ROW_POINT:
		cnt = comment_text(out, start, spans);
		break;
	case ROW_LOST:
	case ROW_OVERRUN:
		cnt = whole_line(out, start, COLOR_BOLD_RED, spans);
		break;
	case ROW_BANNER:
		cnt = banner_line(out, start, spans);
		break;
	case ROW_ENTRY:
	case ROW_OTHER:
		break;
	}
	color_spans(out, spans, cnt);
}

/* ---- tables ---- */

/* The titles of a table's columns, or the function that a histogram is of. */
static bool find_title(struct text line, size_t i, struct color_span *span)
{
	const char *calls = line.len ? memmem(line.ptr, line.len, ", min ", 6) : NULL;
	const char *end;

	span->style = COLOR_BOLD;
	if (!calls) {
		span->len = line.len;
		return !i;
	}
	end = memchr(line.ptr, ':', line.len);
	span->len = end ? (size_t)(end - line.ptr) : 0;
	return end != NULL;
}

void paint_table(struct strbuf *out, size_t start)
{
	if (strbuf_ok(out))
		color_lines(out, start, find_title);
}

const struct render_columns render_columns_default = {
	.cpu = true,
	.duration = true,
	.overhead = true,
};

#define INDENT        2  /* columns per depth */
#define PROC_WIDTH    14 /* comm-tid, centred */
#define COMM_WIDTH    7
#define NUMBER_WIDTH  7  /* digits and point of a duration before it stops being padded */
#define SHORT_WIDTH   12 /* "999.999 us  " */
#define SHORT_MAX_NS  1000000
#define BLOCK_BYTES   16  /* blanks come in blocks, so a row needs that much slack */
#define ROW_FIXED_MAX 256 /* everything of a row that is not a borrowed text or indentation */
#define CPU_FIRST_CNT 64

/* ---- numbers: each writes text at @p and returns its end ---- */

static char *render_put(char *p, const char *bytes, size_t len)
{
	memcpy(p, bytes, len);
	return p + len;
}

#define PUT_LITERAL(p, literal) render_put(p, literal, sizeof(literal) - 1)

static char *render_put_text(char *p, struct text text)
{
	return text.len ? render_put(p, text.ptr, text.len) : p;
}

/* Blanks in whole blocks: later bytes overwrite the surplus, or it is slack. */
static char *put_blanks(char *p, size_t len)
{
	for (size_t done = 0; done < len; done += BLOCK_BYTES)
		memset(p + done, ' ', BLOCK_BYTES);
	return p + len;
}

static char *render_put_u64(char *p, uint64_t value)
{
	return digits_put(p, value, digit_cnt(value));
}

/* Right-aligned in @width. */
static char *put_u64_wide(char *p, uint64_t value, unsigned int width)
{
	unsigned int cnt = value < 10 ? 1 : digit_cnt(value);

	if (cnt < width)
		p = put_blanks(p, width - cnt);
	return digits_put(p, value, cnt);
}

/* ---- values ---- */

static char *render_put_hex(char *p, uint64_t value, unsigned int cnt)
{
	p = PUT_LITERAL(p, "0x");
	for (unsigned int i = cnt; i--; value >>= 4)
		p[i] = digit_hex[value & 15];
	return p + cnt;
}

static char *put_number_of(char *p, const struct value *value)
{
	const uint64_t number = value->number;
	const bool is_negative = value->form == FORM_DECIMAL && (int64_t)number < 0;

	switch (value->form) {
	case FORM_DECIMAL:
	case FORM_UNSIGNED:
		if (is_negative)
			*p++ = '-';
		return render_put_u64(p, is_negative ? 0 - number : number);
	case FORM_HASH:
		return render_put_hex(p, number, 8);
	case FORM_BOOL:
		return number ? PUT_LITERAL(p, "true") : PUT_LITERAL(p, "false");
	case FORM_UNTYPED:
		*p++ = '?';
		break;
	default:
		break;
	}
	return render_put_hex(p, number, (67u - (unsigned int)__builtin_clzll(number | 1)) / 4);
}

static char *render_put_value(char *p, const struct value *value)
{
	if (value->form == FORM_TEXT)
		return render_put_text(p, value->text);
	if (value->has_equals)
		*p++ = '=';
	p = put_number_of(p, value);
	if (!value->text.len)
		return p;
	p = PUT_LITERAL(p, " [");
	p = render_put_text(p, value->text);
	*p++ = ']';
	return p;
}

static size_t value_size_max(const struct value *value)
{
	return value->name.len + value->text.len + 32;
}

static char *render_put_args(char *p, const struct value *args, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (i)
			p = PUT_LITERAL(p, ", ");
		p = render_put_text(p, args[i].name);
		if (args[i].name.len)
			*p++ = '=';
		p = render_put_value(p, &args[i]);
	}
	return p;
}

static char *put_point(char *p, const struct row *row)
{
	p = render_put_text(p, row->name);
	*p++ = ':';
	for (uint32_t i = 0; i < row->arg_cnt; i++) {
		const struct value *field = &row->args[i];

		*p++ = ' ';
		p = render_put_text(p, field->name);
		if (field->name.len)
			*p++ = '=';
		p = render_put_value(p, field);
	}
	return p;
}

static size_t args_size_max(const struct value *args, uint32_t cnt)
{
	size_t size = 0;

	for (uint32_t i = 0; i < cnt; i++)
		size += value_size_max(&args[i]);
	return size;
}

/* "tcp_v4_connect+0x1f5/0x4a0 (net/ipv4/tcp_ipv4.c:320)" */
static char *put_frame(char *p, const struct caller *frame)
{
	p = render_put_text(p, frame->place);
	if (!frame->source.len)
		return p;
	p = PUT_LITERAL(p, " (");
	p = render_put_text(p, frame->source);
	*p++ = ')';
	return p;
}

static size_t frame_size_max(const struct caller *frame)
{
	return frame->place.len + frame->source.len + 16;
}

struct text value_text(const struct value *value, char bytes[VALUE_TEXT_MAX])
{
	if (value->form == FORM_TEXT)
		return value->text;
	return (struct text){ bytes, (size_t)(render_put_value(bytes, value) - bytes) };
}

void render_args(const struct value *args, uint32_t cnt, struct strbuf *out)
{
	if (strbuf_reserve(out, args_size_max(args, cnt)))
		out->len = (size_t)(render_put_args(out->ptr + out->len, args, cnt) - out->ptr);
}

void render_point(const struct row *row, struct strbuf *out)
{
	if (strbuf_reserve(out, row->name.len + 1 + args_size_max(row->args, row->arg_cnt)))
		out->len = (size_t)(put_point(out->ptr + out->len, row) - out->ptr);
}

void render_frames(const struct caller *frames, uint32_t cnt, const char *between,
		   struct strbuf *out)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (i)
			strbuf_str(out, between);
		if (strbuf_reserve(out, frame_size_max(&frames[i])))
			out->len = (size_t)(put_frame(out->ptr + out->len, &frames[i]) - out->ptr);
	}
}

/* The file's author chose its name and its symbols. */
static void put_clean(struct strbuf *out, struct text text)
{
	clean_add(out, text.ptr, text.len, CLEAN_SYMBOL);
}

static void render_user_frame(const struct user_frame *frame, struct strbuf *out)
{
	const struct text file = text_base_name(frame->file);

	if (frame->symbol.len) {
		put_clean(out, frame->symbol);
		strbuf_printf(out, "+0x%" PRIx64, frame->offset);
		if (frame->size_bytes)
			strbuf_printf(out, "/0x%" PRIx64, frame->size_bytes);
	} else if (frame->ip) {
		strbuf_printf(out, "0x%" PRIx64, frame->ip);
	} else {
		strbuf_char(out, '?');
	}
	strbuf_str(out, " [");
	if (file.len)
		put_clean(out, file);
	else
		strbuf_str(out, "unknown");
	if (file.len && !frame->symbol.len)
		strbuf_printf(out, "+0x%" PRIx64, frame->offset);
	if (frame->build_id.len && !frame->symbol.len) {
		strbuf_char(out, ' ');
		put_clean(out, frame->build_id);
	}
	strbuf_char(out, ']');
}

void render_user_stack(const struct user_stack *stack, const char *between, struct strbuf *out)
{
	for (uint32_t i = 0; i < stack->frame_cnt; i++) {
		if (i)
			strbuf_str(out, between);
		render_user_frame(&stack->frames[i], out);
	}
	if (!stack->frame_cnt)
		strbuf_char(out, '?');
}

/* ---- the columns, from left to right ---- */

static char *put_abstime(char *p, uint64_t time_ns)
{
	p = put_u64_wide(p, time_ns / 1000000000, 5);
	*p++ = '.';
	p = digits_put(p, time_ns % 1000000000 / 1000, 6);
	return PUT_LITERAL(p, " |  ");
}

static char *put_cpu(char *p, uint32_t cpu, unsigned int width)
{
	*p++ = ' ';
	p = put_u64_wide(p, cpu, width);
	return PUT_LITERAL(p, ") ");
}

static struct text comm_text(const struct task_name *task)
{
	if (!task->tid)
		return (struct text){ "<idle>", 6 };
	if (!task->comm.len)
		return (struct text){ "<...>", 5 };
	return task->comm;
}

/* The kernel prints this many bytes of a name, whatever they are; here they cannot end the column. */
static char *render_put_comm(char *p, struct text comm, unsigned int classes)
{
	struct strbuf cleaned = { .ptr = p, .cap = COMM_WIDTH * 4 }; /* never full */

	if (comm.len > COMM_WIDTH)
		comm.len = COMM_WIDTH;
	if (clean_is(comm.ptr, comm.len, classes))
		return render_put(p, comm.ptr, comm.len);
	clean_add(&cleaned, comm.ptr, comm.len, classes);
	return p + cleaned.len;
}

static char *put_proc(char *p, const struct task_name *task, unsigned int classes)
{
	char name[COMM_WIDTH * 4 + 1 + 20];
	char *end = render_put_comm(name, comm_text(task), classes);
	size_t pad;

	*end++ = '-';
	end = render_put_u64(end, task->tid);
	pad = end - name < PROC_WIDTH ? PROC_WIDTH - (size_t)(end - name) : 0;
	p = put_blanks(p, pad / 2);
	p = render_put(p, name, (size_t)(end - name));
	return put_blanks(p, pad - pad / 2);
}

static char *put_prologue(char *p, const struct render *r, const struct row *row)
{
	if (r->columns.abstime)
		p = put_abstime(p, row->time_ns);
	if (r->columns.cpu)
		p = put_cpu(p, row->cpu, r->cpu_width);
	if (r->columns.proc) {
		p = put_proc(p, &row->task, CLEAN_WORD | CLEAN_BAR);
		p = PUT_LITERAL(p, " | ");
	}
	if (r->columns.latency) {
		*p++ = ' ';
		p = render_put_text(p, row->flags);
		p = PUT_LITERAL(p, " | ");
	}
	return p;
}

static char render_mark(uint64_t duration_ns)
{
	if (duration_ns <= 10000)
		return ' ';
	if (duration_ns <= 100000)
		return '+';
	if (duration_ns <= 1000000)
		return '!';
	if (duration_ns <= 10000000)
		return '#';
	if (duration_ns <= 100000000)
		return '*';
	return duration_ns <= 1000000000 ? '@' : '$';
}

/* The number of most calls: below 1000 us all digits fit, and the unit ends where the column does. */
static char *put_short_number(char *p, uint32_t duration_ns)
{
	uint32_t us = duration_ns / 1000;
	uint32_t rest_ns = duration_ns % 1000;
	char *end = p + SHORT_WIDTH;

	put_blanks(p, SHORT_WIDTH);
	if (us >= 100)
		*p++ = (char)('0' + us / 100);
	if (us >= 10)
		*p++ = (char)('0' + us / 10 % 10);
	p[0] = (char)('0' + us % 10);
	p[1] = '.';
	p[2] = (char)('0' + rest_ns / 100);
	memcpy(p + 3, digit_pairs + rest_ns % 100 * 2, 2);
	memcpy(p + 6, "us", 2);
	return end;
}

/* trace_print_graph_duration: at most seven digits, truncated, left-aligned. */
static char *render_put_number(char *p, uint64_t duration_ns)
{
	uint64_t us = duration_ns / 1000;
	unsigned int len = digit_cnt(us);

	p = digits_put(p, us, len);
	if (len < NUMBER_WIDTH) {
		unsigned int cnt = NUMBER_WIDTH - len < 3 ? NUMBER_WIDTH - len : 3;

		*p++ = '.';
		digits_put(p, duration_ns % 1000, 3);
		p += cnt;
		len += 1 + cnt;
	}
	p = PUT_LITERAL(p, " us ");
	return len < NUMBER_WIDTH + 1 ? put_blanks(p, NUMBER_WIDTH + 1 - len) : p;
}

static char *put_no_duration(char *p, const struct render *r)
{
	return r->columns.duration ? PUT_LITERAL(p, "              |  ") : p;
}

/* @mark: instead of that of @duration_ns; 0: none. */
static char *put_marked(char *p, const struct render *r, uint64_t duration_ns, char mark)
{
	if (!r->columns.duration)
		return p;
	if (mark)
		*p++ = mark;
	else
		*p++ = r->columns.overhead ? render_mark(duration_ns) : ' ';
	*p++ = ' ';
	p = duration_ns < SHORT_MAX_NS ? put_short_number(p, (uint32_t)duration_ns)
				       : render_put_number(p, duration_ns);
	return PUT_LITERAL(p, "|  ");
}

/* A net duration below its error is not known: it is less than that. */
static char *render_put_duration(char *p, const struct render *r, const struct row *row)
{
	if (!r->columns.net)
		return put_marked(p, r, row->duration_ns, row->is_below ? '<' : 0);
	if (!row->net.is_known)
		return put_no_duration(p, r);
	if (net_is_small(&row->net))
		return put_marked(p, r, row->net.error_ns, '<');
	return put_marked(p, r, row->net.ns, 0);
}

/* ---- after the columns ---- */

static char *render_put_func(char *p, const struct row *row)
{
	p = render_put_text(p, row->name);
	if (row->module.len) {
		p = PUT_LITERAL(p, " [");
		p = render_put_text(p, row->module);
		*p++ = ']';
	}
	return p;
}

static bool has_note(const struct row *row)
{
	return row->note.len || row->caller || row->ret;
}

/* "<-tcp_v4_connect+0x1f5/0x4a0 ret=-22" */
static char *put_note(char *p, const struct row *row)
{
	if (row->note.len)
		return render_put_text(p, row->note);
	if (row->caller)
		p = put_frame(PUT_LITERAL(p, "<-"), row->caller);
	if (row->caller && row->ret)
		*p++ = ' ';
	if (!row->ret)
		return p;
	p = render_put_text(p, row->ret->name);
	p = row->ret->name.len ? PUT_LITERAL(p, "=") : PUT_LITERAL(p, "= ");
	return render_put_value(p, row->ret);
}

static char *render_put_call(char *p, const struct row *row, const char *end, size_t end_len)
{
	p = put_blanks(p, (size_t)row->depth * INDENT);
	p = render_put_func(p, row);
	*p++ = '(';
	p = row->args_text.len ? render_put_text(p, row->args_text)
			       : render_put_args(p, row->args, row->arg_cnt);
	*p++ = ')';
	p = render_put(p, end, end_len);
	if (has_note(row)) {
		p = PUT_LITERAL(p, " /* ");
		p = put_note(p, row);
		p = PUT_LITERAL(p, " */");
	}
	return p;
}

static char *render_put_return(char *p, const struct render *r, const struct row *row)
{
	p = put_blanks(p, (size_t)row->depth * INDENT);
	*p++ = '}';
	/* a text may lack the name, which the kernel knows */
	if ((!row->is_named && !r->columns.tail) || !row->name.len)
		return p;
	p = PUT_LITERAL(p, " /* ");
	p = render_put_func(p, row);
	if (has_note(row)) {
		*p++ = ' ';
		p = put_note(p, row);
	}
	return PUT_LITERAL(p, " */");
}

static char *put_banner(char *p, const struct render *r, const struct row *row)
{
	static const char rule[] = " ------------------------------------------\n";

	p = PUT_LITERAL(p, rule);
	p = put_cpu(p, row->cpu, r->cpu_width);
	p = put_proc(p, &row->prev, CLEAN_WORD | CLEAN_EQUALS);
	p = PUT_LITERAL(p, " => ");
	p = put_proc(p, &row->task, CLEAN_WORD | CLEAN_EQUALS);
	*p++ = '\n';
	return PUT_LITERAL(p, rule); /* the row's own line end makes the empty line */
}

static char *render_put_lost(char *p, const struct row *row)
{
	if (row->text.len)
		return render_put_text(p, row->text);
	p = PUT_LITERAL(p, "CPU:");
	p = render_put_u64(p, row->cpu);
	p = PUT_LITERAL(p, " [LOST ");
	if (row->lost_cnt) {
		p = render_put_u64(p, row->lost_cnt);
		*p++ = ' ';
	}
	return PUT_LITERAL(p, "EVENTS]");
}

/* ---- comments are indented by what their CPU printed last ---- */

static uint32_t *comment_indent(struct render *r, uint32_t cpu)
{
	static uint32_t nowhere;

	if (cpu < r->cpu_cap || !VEC_RESERVE_ZEROED(r->comment_indent, r->cpu_cap, cpu + 1ull))
		return &r->comment_indent[cpu];
	return &nowhere;
}

static char *put_comment_indent(char *p, struct render *r, const struct row *row)
{
	return put_blanks(p, row->is_at_depth ? (size_t)row->depth * INDENT
					      : *comment_indent(r, row->cpu));
}

static char *render_put_comment(char *p, struct render *r, const struct row *row)
{
	p = put_comment_indent(p, r, row);
	p = PUT_LITERAL(p, "/* ");
	p = render_put_text(p, row->text);
	return PUT_LITERAL(p, " */");
}

/* As the kernel's text of an event: "kfree_skb: skbaddr=0xffff... reason=NO_SOCKET". */
static char *render_put_point(char *p, struct render *r, const struct row *row)
{
	p = put_comment_indent(p, r, row);
	p = PUT_LITERAL(p, "/* ");
	p = put_point(p, row);
	return PUT_LITERAL(p, " */");
}

/* The kernel's print_graph_comment() indents by the depth of the last call that it printed, a signed number. */
static void remember_indent(struct render *r, const struct row *row)
{
	uint32_t depth = row->depth + (row->kind == ROW_ENTRY);

	*comment_indent(r, row->cpu) = depth > 1 ? depth * INDENT : 0;
}

/* ---- public ---- */

unsigned int render_cpu_width(uint32_t cpu_cnt)
{
	return digit_cnt(cpu_cnt - 1);
}

int render_init(struct render *r, const struct render_columns *columns, unsigned int cpu_width)
{
	*r = (struct render){ .columns = *columns, .cpu_width = cpu_width };
	return VEC_RESERVE_ZEROED(r->comment_indent, r->cpu_cap, CPU_FIRST_CNT);
}

void render_release(struct render *r)
{
	free(r->comment_indent);
	strbuf_release(&r->cleaned);
	r->comment_indent = NULL;
	r->cpu_cap = 0;
}

void render_header(const struct render *r, struct strbuf *out)
{
	const struct render_columns *col = &r->columns;

	strbuf_str(out, "# tracer: function_graph\n#\n#");
	strbuf_str(out, col->abstime ? "     TIME       " : "");
	strbuf_str(out, col->cpu ? " CPU" : "");
	strbuf_str(out, col->proc ? "  TASK/PID       " : "");
	strbuf_str(out, col->latency ? "||||   " : "");
	strbuf_str(out, col->duration ? "  DURATION   " : "");
	strbuf_str(out, "               FUNCTION CALLS\n#");
	strbuf_str(out, col->abstime ? "      |         " : "");
	strbuf_str(out, col->cpu ? " |  " : "");
	strbuf_str(out, col->proc ? "   |    |        " : "");
	strbuf_str(out, col->latency ? "||||   " : "");
	strbuf_str(out, col->duration ? "   |   |      " : "");
	strbuf_str(out, "               |   |   |   |\n");
}

static size_t row_size_max(const struct row *row, uint32_t comment_spaces)
{
	size_t size = ROW_FIXED_MAX + (size_t)row->depth * INDENT + comment_spaces + row->name.len +
		      row->module.len + row->args_text.len + row->note.len + row->flags.len +
		      row->text.len + args_size_max(row->args, row->arg_cnt);

	if (row->caller)
		size += frame_size_max(row->caller);
	if (row->ret)
		size += value_size_max(row->ret);
	return size;
}

static char *render_put_row(char *p, struct render *r, const struct row *row)
{
	switch (row->kind) {
	case ROW_ENTRY:
		p = put_no_duration(put_prologue(p, r, row), r);
		p = render_put_call(p, row, " {", 2);
		break;
	case ROW_LEAF:
		p = render_put_duration(put_prologue(p, r, row), r, row);
		p = render_put_call(p, row, ";", 1);
		break;
	case ROW_RETURN:
		p = put_prologue(p, r, row);
		p = row->lacks_duration ? put_no_duration(p, r) : render_put_duration(p, r, row);
		p = render_put_return(p, r, row);
		break;
	case ROW_COMMENT:
		return render_put_comment(put_no_duration(put_prologue(p, r, row), r), r, row);
	case ROW_POINT:
		return render_put_point(put_no_duration(put_prologue(p, r, row), r), r, row);
	case ROW_LOST:
		return render_put_lost(p, row);
	case ROW_BANNER:
		return put_banner(p, r, row);
	case ROW_OVERRUN:
		p = PUT_LITERAL(p, " (Overruns: ");
		p = render_put_u64(p, row->lost_cnt);
		*p++ = ')';
		return p;
	case ROW_OTHER:
		return render_put_text(p, row->text);
	}
	remember_indent(r, row);
	return p;
}

/* ---- texts that need escaping: rare, so the row is copied with escaped ones ---- */

static bool row_is_clean(const struct row *row)
{
	if (!row->has_clean_name && !(clean_is(row->name.ptr, row->name.len, CLEAN_SYMBOL) &&
				      clean_is(row->module.ptr, row->module.len, CLEAN_SYMBOL)))
		return false;
	if (row->caller &&
	    !(clean_is(row->caller->place.ptr, row->caller->place.len, CLEAN_LINE) &&
	      clean_is(row->caller->source.ptr, row->caller->source.len, CLEAN_LINE)))
		return false;
	if (!(row->args_text.len | row->note.len | row->flags.len | row->text.len))
		return true;
	return clean_is(row->args_text.ptr, row->args_text.len, CLEAN_LINE) &&
	       clean_is(row->note.ptr, row->note.len, CLEAN_LINE) &&
	       clean_is(row->flags.ptr, row->flags.len, CLEAN_WORD) &&
	       clean_is(row->text.ptr, row->text.len, CLEAN_LINE);
}

/* Names of arguments and enumerators are clean (prototab_is_name). @caller: for a copy of the row's. */
static void clean_row(struct render *r, struct row *row, struct caller *caller)
{
	struct {
		struct text *text;
		unsigned int classes;
		size_t at;
	} parts[] = {
		{ &row->name, CLEAN_SYMBOL, 0 },    { &row->module, CLEAN_SYMBOL, 0 },
		{ &row->args_text, CLEAN_LINE, 0 }, { &row->note, CLEAN_LINE, 0 },
		{ &row->flags, CLEAN_WORD, 0 },     { &row->text, CLEAN_LINE, 0 },
		{ &caller->place, CLEAN_LINE, 0 },  { &caller->source, CLEAN_LINE, 0 },
	};
	const size_t cnt = sizeof(parts) / sizeof(parts[0]);

	*caller = row->caller ? *row->caller : (struct caller){ 0 };
	row->caller = row->caller ? caller : NULL;

	strbuf_reset(&r->cleaned);
	for (size_t i = 0; i < cnt; i++) {
		parts[i].at = r->cleaned.len;
		clean_add(&r->cleaned, parts[i].text->ptr, parts[i].text->len, parts[i].classes);
	}
	for (size_t i = 0; i < cnt; i++) {
		size_t end = i + 1 < cnt ? parts[i + 1].at : r->cleaned.len;

		*parts[i].text = (struct text){ r->cleaned.ptr + parts[i].at, end - parts[i].at };
	}
}

void render_row(struct render *r, const struct row *row, struct strbuf *out)
{
	struct caller caller;
	struct row copy;
	size_t max;
	char *p;

	if (!row_is_clean(row)) {
		copy = *row;
		clean_row(r, &copy, &caller);
		out->failed |= r->cleaned.failed;
		row = &copy;
	}
	max = row_size_max(row, row->kind == ROW_COMMENT || row->kind == ROW_POINT
					? *comment_indent(r, row->cpu)
					: 0);
	if (out->cap - out->len < max && !strbuf_reserve(out, max))
		return;
	p = render_put_row(out->ptr + out->len, r, row);
	*p++ = '\n';
	out->len = (size_t)(p - out->ptr);
}
