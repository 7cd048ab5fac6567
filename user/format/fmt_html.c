/*
 * A self-contained page that shows the trace in a browser: user/html/ has its program. user/html/page.html is part of
 * the executable; the trace replaces a mark in it, as base64 of gzip of the records below. base64 has no character
 * with a meaning in HTML, so names from outside cannot escape it.
 *
 * A record is a number for its kind, and its fields: numbers with 7 bits per byte, the lowest first, and strings
 * after their lengths. user/html/src/trace.js reads them. A call follows the calls it made.
 */
#include "format/fmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/cleantext.h"
#include "base/vec.h"
#include "format/calltree.h"
#include "format/format.h"
#include "format/render.h"

/* user/html/page.html, made by user/html/build.js. The Makefile has its path. */
__asm__(".section .rodata\n"
	"html_page:\n"
	".incbin \"" NFG_HTML_PAGE "\"\n"
	"html_page_end:\n"
	".byte 0\n"
	".previous\n");
extern const char html_page[] __attribute__((visibility("hidden")));
extern const char html_page_end[] __attribute__((visibility("hidden")));

static const char mark[] = "@TRACE@";

enum record {
	RECORD_META =
		1, /* version of the records, kernel, ns from the clock to 1970, CPUs, program, host */
	RECORD_TASK,     /* id, enum calltask_kind, tid, process, CPU, name, name of the process */
	RECORD_FUNC,     /* enum call_context, name; ids count from 0 */
	RECORD_CALL,     /* flags, task, function + 1, depth, CPU, begin, length, fields by flags */
	RECORD_LOST,     /* CPU, begin, length, count */
	RECORD_COMMENT,  /* task, CPU, time, text */
	RECORD_LOST_CNT, /* all events that the trace lacks, with and without a RECORD_LOST */
	RECORD_EVENT, /* task, CPU, time, system, name, number of fields, name and value of each */
};

#define RECORDS_VERSION 4
#define RELEASE_MAX     64u
#define NODE_MAX        128u

/* Of a RECORD_CALL. */
enum {
	CALL_HAS_ENTRY = 1,
	CALL_HAS_RETURN = 2,
	CALL_HAS_DURATION = 4,
	CALL_ARGS = 8,
	CALL_RET = 16,
	CALL_CALLER = 32,
	CALL_SLEPT = 64,    /* the duration follows, because it is not end - begin */
	CALL_SOFTIRQ = 128, /* in a softirq because of its task, not of its function */
	CALL_NET = 256,     /* the net duration and its error follow */
};

#define RAW_BYTES 65536u
/* Level 6 takes twice the time for 5 % less. */
#define GZIP_LEVEL 4
#define GZIP_BITS  (15 + 16)

struct html {
	struct strbuf *out;
	struct calltree *tree;
	z_stream gzip;
	bool has_gzip;
	struct strbuf args;    /* of one call */
	struct strbuf raw;     /* records that are not packed yet */
	unsigned char rest[3]; /* packed bytes that make no whole group of base64 */
	unsigned int rest_len;
	char release[RELEASE_MAX];
	const char *node; /* NULL, "": unknown; borrowed until the first row */
	uint64_t real_offset_ns;
	uint32_t cpu_cnt;
	bool has_meta;
	uint64_t lost_cnt;
	uint32_t func_cnt; /* functions that were written */
	uint64_t last_ns;  /* the time written last */
	uint64_t *cpu_ns;  /* end of each CPU's last row */
	size_t cpu_cap;
};

/* ---- bytes ---- */

static void put_group(struct html *html, const unsigned char *bytes, unsigned int len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)bytes[0] << 16 | (len > 1 ? (uint32_t)bytes[1] << 8 : 0) |
			(len > 2 ? bytes[2] : 0);
	const char text[4] = { digits[bits >> 18], digits[bits >> 12 & 63],
			       len > 1 ? digits[bits >> 6 & 63] : '=',
			       len > 2 ? digits[bits & 63] : '=' };

	strbuf_add(html->out, text, sizeof(text));
}

static void put_base64(struct html *html, const unsigned char *bytes, size_t len)
{
	size_t at = 0;

	while (html->rest_len && html->rest_len < 3 && at < len)
		html->rest[html->rest_len++] = bytes[at++];
	if (html->rest_len == 3) {
		put_group(html, html->rest, 3);
		html->rest_len = 0;
	}
	for (; at + 3 <= len; at += 3)
		put_group(html, bytes + at, 3);
	while (at < len)
		html->rest[html->rest_len++] = bytes[at++];
}

/* @flush: Z_NO_FLUSH or Z_FINISH. */
static int pack(struct html *html, int flush)
{
	unsigned char bytes[16384];
	z_stream *z = &html->gzip;
	int ret;

	if (!strbuf_ok(&html->raw))
		return -ENOMEM;
	z->next_in = (unsigned char *)html->raw.ptr;
	z->avail_in = (unsigned int)html->raw.len;
	do {
		z->next_out = bytes;
		z->avail_out = sizeof(bytes);
		ret = deflate(z, flush);
		put_base64(html, bytes, sizeof(bytes) - z->avail_out);
	} while (ret == Z_OK && !z->avail_out);
	strbuf_reset(&html->raw);
	if (flush == Z_FINISH && html->rest_len)
		put_group(html, html->rest, html->rest_len);
	return 0;
}

static void html_put_number(struct html *html, uint64_t value)
{
	char bytes[10];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (char)(value | 0x80);
	bytes[len++] = (char)value;
	strbuf_add(&html->raw, bytes, len);
}

static void html_put_text(struct html *html, struct text text)
{
	html_put_number(html, text.len);
	strbuf_add(&html->raw, text.ptr, text.len);
}

/* A time as the difference to the last one, sign at the lowest bit. */
static void html_put_time(struct html *html, uint64_t time_ns)
{
	int64_t change = (int64_t)(time_ns - html->last_ns);

	html_put_number(html, (uint64_t)change << 1 ^ (uint64_t)(change >> 63));
	html->last_ns = time_ns;
}

/* ---- records ---- */

static void put_clean(struct html *html, struct text text)
{
	char bytes[256];
	struct strbuf clean = { .ptr = bytes,
				.cap = sizeof(bytes) }; /* never full: a comm is short */

	if (text.len > 32)
		text.len = 32;
	clean_add(&clean, text.ptr, text.len, CLEAN_WORD);
	html_put_text(html, (struct text){ clean.ptr, clean.len });
}

static void html_put_task(struct html *html, struct calltask *task)
{
	char bytes[256];
	struct strbuf name = { .ptr = bytes, .cap = sizeof(bytes) };

	if (task->user == task->renames + 1)
		return;
	task->user = task->renames + 1;
	fmt_task(&name, task, CLEAN_WORD);
	html_put_number(html, RECORD_TASK);
	html_put_number(html, task->id);
	html_put_number(html, task->kind);
	html_put_number(html, task->tid);
	html_put_number(html, task->tgid);
	html_put_number(html, task->cpu);
	html_put_text(html, (struct text){ name.ptr, name.len });
	put_clean(html, task->process);
}

static void html_put_func(struct html *html, const struct callsym *sym)
{
	char bytes[4 * (ROW_NAME_MAX + ROW_MODULE_MAX) + 8];
	struct strbuf name = { .ptr = bytes, .cap = sizeof(bytes) };

	fmt_sym(&name, sym, CLEAN_WORD);
	html_put_number(html, RECORD_FUNC);
	html_put_number(html, call_context_entered(sym->name));
	html_put_text(html, (struct text){ name.ptr, name.len });
}

static struct text args_of(struct html *html, const struct call *call)
{
	if (call->args_text.len)
		return call->args_text;
	strbuf_reset(&html->args);
	render_args(call->args, call->arg_cnt, &html->args);
	html->raw.failed |= html->args.failed;
	return (struct text){ html->args.ptr, html->args.len };
}

static void html_put_call(struct html *html, const struct calltask *task, const struct call *call)
{
	char bytes[VALUE_TEXT_MAX];
	const struct text none = { "", 0 };
	const struct text args = args_of(html, call);
	const struct text ret = call->ret ? value_text(call->ret, bytes) : none;
	const struct text caller = call->caller ? call->caller->symbol.text : none;
	uint64_t length_ns = call->end_ns > call->begin_ns ? call->end_ns - call->begin_ns : 0;
	bool has_slept = call->has_duration && call->duration_ns != length_ns;

	html_put_number(html, RECORD_CALL);
	html_put_number(html, (call->has_entry ? CALL_HAS_ENTRY : 0u) |
				      (call->has_return ? CALL_HAS_RETURN : 0u) |
				      (call->has_duration ? CALL_HAS_DURATION : 0u) |
				      (args.len ? CALL_ARGS : 0u) | (ret.len ? CALL_RET : 0u) |
				      (caller.len ? CALL_CALLER : 0u) |
				      (has_slept ? CALL_SLEPT : 0u) |
				      (call_context_outermost(task, call) ? CALL_SOFTIRQ : 0u) |
				      (call->net.is_known ? CALL_NET : 0u));
	html_put_number(html, task->id);
	html_put_number(html, call->sym ? call->sym->id + 1 : 0);
	html_put_number(html, call->depth);
	html_put_number(html, call->cpu);
	html_put_time(html, call->begin_ns);
	html_put_number(html, length_ns);
	if (has_slept)
		html_put_number(html, call->duration_ns);
	if (call->net.is_known) {
		html_put_number(html, call->net.ns);
		html_put_number(html, call->net.error_ns);
	}
	if (args.len)
		html_put_text(html, args);
	if (ret.len)
		html_put_text(html, ret);
	if (caller.len)
		html_put_text(html, caller);
}

static void html_on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct html *html = ctx;

	html_put_task(html, task);
	while (call->sym && html->func_cnt <= call->sym->id)
		html_put_func(html, calltree_sym(html->tree, html->func_cnt++));
	html_put_call(html, task, call);
}

/* Put a loss: events of the CPU are missing between its last row and this one. */
static int html_put_lost(struct html *html, const struct row *row)
{
	uint64_t end_ns = calltree_time(html->tree, row);
	uint64_t begin_ns;

	if (row->cpu >= CALLTREE_CPU_MAX)
		return 0;
	if (VEC_RESERVE_ZEROED(html->cpu_ns, html->cpu_cap, (size_t)row->cpu + 1))
		return -ENOMEM;
	begin_ns = html->cpu_ns[row->cpu];
	if (!begin_ns || begin_ns > end_ns)
		begin_ns = end_ns;
	html_put_number(html, RECORD_LOST);
	html_put_number(html, row->cpu);
	html_put_time(html, begin_ns);
	html_put_number(html, end_ns - begin_ns);
	html_put_number(html, row->lost_cnt);
	html->cpu_ns[row->cpu] = end_ns;
	return 0;
}

/* A comment, or an event. */
static int html_put_comment(struct html *html, const struct row *row)
{
	const bool is_event = row->kind == ROW_POINT;
	struct calltask *task = calltree_task(html->tree, row);
	char bytes[VALUE_TEXT_MAX];

	if (!task)
		return -ENOMEM;
	html_put_task(html, task);
	html_put_number(html, is_event ? RECORD_EVENT : RECORD_COMMENT);
	html_put_number(html, task->id);
	html_put_number(html, row->cpu);
	html_put_time(html, calltree_time(html->tree, row));
	if (!is_event) {
		html_put_text(html, row->text);
		return 0;
	}
	html_put_text(html, row->module);
	html_put_text(html, row->name);
	html_put_number(html, row->arg_cnt);
	for (uint32_t i = 0; i < row->arg_cnt; i++) {
		html_put_text(html, row->args[i].name);
		html_put_text(html, value_text(&row->args[i], bytes));
	}
	return 0;
}

/*
 * A recording has its host after the facts, before its rows. @node: NULL if there were no rows: the name may be gone.
 */
static void put_meta(struct html *html, const char *node)
{
	char bytes[4 * NODE_MAX];
	char offset[24];
	struct strbuf number = { .ptr = offset, .cap = sizeof(offset) };
	struct strbuf clean = { .ptr = bytes, .cap = sizeof(bytes) }; /* never full */

	if (html->has_meta)
		return;
	html->has_meta = true;
	strbuf_u64(&number, html->real_offset_ns);
	html_put_number(html, RECORD_META);
	html_put_number(html, RECORDS_VERSION);
	put_clean(html, text_from(html->release));
	html_put_text(html, (struct text){ number.ptr, number.len });
	html_put_number(html, html->cpu_cnt);
	html_put_text(html, text_from(NFG_VERSION));
	if (node)
		clean_add(&clean, node, strnlen(node, NODE_MAX), CLEAN_WORD);
	html_put_text(html, (struct text){ clean.ptr, clean.len });
}

/* ---- the format ---- */

static const char *mark_in_page(void)
{
	return memmem(html_page, (size_t)(html_page_end - html_page), mark, sizeof(mark) - 1);
}

static int html_start(void *self, const struct format_config *config, struct strbuf *out)
{
	struct html *html = self;

	html->out = out;
	snprintf(html->release, sizeof(html->release), "%s",
		 config->release ? config->release : "");
	html->node = config->node;
	html->real_offset_ns = config->real_offset_ns;
	html->cpu_cnt = config->cpu_cnt;
	if (deflateInit2(&html->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return -ENOMEM;
	html->has_gzip = true;
	strbuf_add(out, html_page, (size_t)(mark_in_page() - html_page));
	return fmt_tree(&html->tree, config, NULL, html_on_end, html);
}

static int html_note_time(struct html *html, const struct row *row)
{
	uint64_t time_ns = calltree_time(html->tree, row);

	if (row->cpu >= CALLTREE_CPU_MAX)
		return 0;
	if (VEC_RESERVE_ZEROED(html->cpu_ns, html->cpu_cap, (size_t)row->cpu + 1))
		return -ENOMEM;
	if (row->kind == ROW_LEAF && row->time_ns)
		time_ns += row->duration_ns + row->slept_ns;
	if (time_ns > html->cpu_ns[row->cpu])
		html->cpu_ns[row->cpu] = time_ns;
	return 0;
}

static int html_row(void *self, const struct row *row)
{
	struct html *html = self;
	int err = 0;

	put_meta(html, html->node);
	if (row->kind == ROW_COMMENT || row->kind == ROW_POINT)
		err = html_put_comment(html, row);
	else if (row->kind == ROW_LOST)
		err = html_put_lost(html, row);
	if (!err && row->kind != ROW_COMMENT && row->kind != ROW_POINT)
		err = calltree_row(html->tree, row);
	if (!err && row_is_call(row))
		err = html_note_time(html, row);
	return err || html->raw.len < RAW_BYTES ? err : pack(html, Z_NO_FLUSH);
}

static int html_finish(void *self)
{
	struct html *html = self;
	const char *tail = mark_in_page() + sizeof(mark) - 1;
	int err;

	put_meta(html, NULL);
	calltree_finish(html->tree);
	if (html->lost_cnt) {
		html_put_number(html, RECORD_LOST_CNT);
		html_put_number(html, html->lost_cnt);
	}
	err = pack(html, Z_FINISH);
	strbuf_add(html->out, tail, (size_t)(html_page_end - tail));
	return err;
}

static void html_release(void *self)
{
	struct html *html = self;

	if (html->has_gzip)
		deflateEnd(&html->gzip);
	strbuf_release(&html->args);
	strbuf_release(&html->raw);
	free(html->cpu_ns);
	calltree_free(html->tree);
}

void fmt_html_set_lost(void *self, uint64_t cnt)
{
	((struct html *)self)->lost_cnt = cnt;
}

const struct fmt_ops fmt_html = {
	.traits = { .name = "html",
		    .is_binary = true,
		    .wants_process = true,
		    .has_net = true,
		    .has_values = true },
	.size = sizeof(struct html),
	.has_points = true,
	.start = html_start,
	.row = html_row,
	.finish = html_finish,
	.release = html_release,
};
