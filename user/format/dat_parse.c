#include "format/dat_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/unpack.h"
#include "base/vec.h"
#include "format/dat_parts.h"

#define DAT_PAGE_MIN     64u
#define DAT_PAGE_MAX     (64u << 20)
#define DAT_SECTIONS_MAX 1024u  /* of options, each with the place of the next */
#define DAT_TYPES_MAX    256u   /* events of the kernel's own tracers */
#define DAT_NAMES_MAX    65536u /* other events: a number has 16 bits */
/* An address further behind the last symbol is of something else. */
#define DAT_LAST_BYTES (1u << 20)

static const char error_short[] = "it ends early";
static const char error_damaged[] = "it is damaged";
static const char error_packed[] = "a packed part is damaged";
static const char error_large[] = "a packed part is too large";

/* The names that kernels gave them. */
static const char *const dat_field_names[FIELD_CNT] = {
	[FIELD_FUNC] = "func",         [FIELD_DEPTH] = "depth", [FIELD_CALL_NS] = "calltime",
	[FIELD_RETURN_NS] = "rettime", [FIELD_RET] = "retval",  [FIELD_CALLER] = "retaddr",
	[FIELD_ARGS] = "args",
};

bool dat_is_known(const void *bytes, size_t len)
{
	return len >= DAT_HEAD_BYTES && !memcmp(bytes, "\x17\x08\x44tracing", DAT_HEAD_BYTES);
}

/* ---- numbers ---- */

uint64_t dat_number(const struct dat *dat, const unsigned char *at, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)at[dat->is_big ? bytes - 1 - i : i] << 8 * i;
	return value;
}

static struct text dat_take(struct dat_span *span, uint64_t len)
{
	struct text taken = { (const char *)span->at, len };

	if (len > span->len) {
		span->is_short = true;
		span->len = 0;
		return (struct text){ "", 0 };
	}
	span->at += len;
	span->len -= len;
	return taken;
}

static uint64_t dat_take_number(struct dat_span *span, size_t bytes)
{
	const struct text taken = dat_take(span, bytes);

	return taken.len ? dat_number(span->dat, (const unsigned char *)taken.ptr, bytes) : 0;
}

/* A string, without the NUL behind it. */
static struct text dat_take_string(struct dat_span *span)
{
	const unsigned char *end = span->len ? memchr(span->at, 0, span->len) : NULL;
	struct text taken;

	if (!end) {
		span->is_short = true;
		span->len = 0;
		return (struct text){ "", 0 };
	}
	taken = (struct text){ (const char *)span->at, (size_t)(end - span->at) };
	dat_take(span, taken.len + 1);
	return taken;
}

struct dat_span dat_span_at(const struct dat *dat, uint64_t at)
{
	const bool is_inside = at <= dat->len;

	return (struct dat_span){
		.dat = dat,
		.at = dat->bytes + (is_inside ? at : dat->len),
		.len = is_inside ? dat->len - at : 0,
		.is_short = !is_inside,
	};
}

static bool dat_is(struct text text, const char *word)
{
	return text_equal(text, text_from(word));
}

/* ---- packed parts ---- */

/* Unpack @len bytes to exactly @room. */
static bool dat_unpack(const struct dat *dat, const unsigned char *in, size_t len,
		       unsigned char *out, size_t room)
{
	uLongf out_len = room;

	if (dat->is_zstd)
		return unpack_zstd_block(in, len, out, room);
	return uncompress(out, &out_len, in, len) == Z_OK && out_len == room;
}

/* A packed part, which begins with both lengths. What is unpacked at a time has a limit. *out: freed by the caller. */
int dat_unpack_part(struct dat *dat, struct dat_span *span, unsigned char **out, size_t *out_len,
		    const char **error)
{
	const uint64_t packed_len = dat_take_number(span, 4);
	const uint64_t len = dat_take_number(span, 4);
	const struct text packed = dat_take(span, packed_len);

	const bool is_large = len > DAT_PART_MAX - dat->unpacked_bytes;

	*out = NULL;
	*error = is_large ? error_large : error_packed;
	if (span->is_short || !len || is_large)
		return -EBADMSG;
	*out = malloc(len);
	if (!*out)
		return -ENOMEM;
	*out_len = len;
	if (dat_unpack(dat, (const unsigned char *)packed.ptr, packed.len, *out, len)) {
		dat->unpacked_bytes += len;
		return 0;
	}
	free(*out);
	*out = NULL;
	return -EBADMSG;
}

/* ---- formats ---- */

/* A number behind @key in a line of a format: "offset:8;". */
static uint32_t dat_format_number(struct text line, const char *key)
{
	const char *at = memmem(line.ptr, line.len, key, strlen(key));
	const char *end = line.ptr + line.len;
	uint32_t value = 0;

	for (at = at ? at + strlen(key) : end; at < end && *at >= '0' && *at <= '9'; at++)
		value = value > UINT32_MAX / 16 ? UINT32_MAX / 16
						: value * 10 + (uint32_t)(*at - '0');
	return value;
}

/* Whether the line declares a field of that name: "unsigned long func;", "unsigned long args[];". */
static bool dat_declares(struct text line, const char *name)
{
	const char *end = line.len ? memchr(line.ptr, ';', line.len) : NULL;
	const char *bracket;
	size_t len = strlen(name);

	if (!end)
		return false;
	bracket = memchr(line.ptr, '[', (size_t)(end - line.ptr));
	end = bracket ? bracket : end;
	return (size_t)(end - line.ptr) > len && !memcmp(end - len, name, len) &&
	       (end[-1 - (ptrdiff_t)len] == ' ' || end[-1 - (ptrdiff_t)len] == '*');
}

/* Cut the next line off @rest. */
static bool dat_line(struct text *rest, struct text *line)
{
	const char *end;

	if (!rest->len)
		return false;
	end = memchr(rest->ptr, '\n', rest->len);
	*line = (struct text){ rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len };
	rest->ptr += line->len + (end != NULL);
	rest->len -= line->len + (end != NULL);
	return true;
}

/* The field of that name; bytes 0: there is none. */
static struct dat_field dat_field(struct text format, const char *name)
{
	static const char mark[] = "\tfield:";
	struct text line;

	while (dat_line(&format, &line)) {
		const char *at = memmem(line.ptr, line.len, mark, strlen(mark));
		const size_t skip = at ? (size_t)(at - line.ptr) + strlen(mark) : 0;
		const struct text decl = { line.ptr + skip, line.len - skip };

		if (at && dat_declares(decl, name))
			return (struct dat_field){
				.offset = dat_format_number(decl, "offset:"),
				.bytes = dat_format_number(decl, "size:"),
			};
	}
	return (struct dat_field){ 0 };
}

static struct text dat_format_word(struct text format, const char *key)
{
	struct text line;

	while (dat_line(&format, &line)) {
		if (line.len > strlen(key) && !memcmp(line.ptr, key, strlen(key)))
			return (struct text){ line.ptr + strlen(key), line.len - strlen(key) };
	}
	return (struct text){ "", 0 };
}

static enum dat_event_kind dat_kind_named(struct text name)
{
	if (dat_is(name, "funcgraph_exit"))
		return DAT_EXIT;
	if (dat_is(name, "funcgraph_entry") || dat_is(name, "fgraph_retaddr_entry") ||
	    dat_is(name, "funcgraph_retaddr_entry"))
		return DAT_ENTRY;
	return DAT_OTHER;
}

static bool dat_field_fits(const struct dat_field *field, size_t max_bytes)
{
	return field->bytes <= max_bytes && field->offset <= DAT_PAGE_MAX;
}

/* One event of the kernel's own tracers. Return: 0, -ENOMEM or -EBADMSG. */
static int dat_add_type(struct dat *dat, struct text format)
{
	struct dat_type type = { .name = dat_format_word(format, "name: ") };

	if (dat->type_cnt == DAT_TYPES_MAX)
		return 0;
	type.id = (uint16_t)dat_format_number(format, "\nID: ");
	type.kind = dat_kind_named(type.name);
	for (size_t i = 0; type.kind != DAT_OTHER && i < FIELD_CNT; i++) {
		type.fields[i] = dat_field(format, dat_field_names[i]);
		if (!dat_field_fits(&type.fields[i], 8))
			return -EBADMSG;
	}
	if (type.kind != DAT_OTHER &&
	    (!type.fields[FIELD_FUNC].bytes || !type.fields[FIELD_DEPTH].bytes))
		return -EBADMSG;
	if (!dat->common_type.bytes) {
		dat->common_type = dat_field(format, "common_type");
		dat->common_pid = dat_field(format, "common_pid");
	}
	if (VEC_RESERVE(dat->types, dat->type_cap, dat->type_cnt + 1))
		return -ENOMEM;
	dat->types[dat->type_cnt++] = type;
	return 0;
}

static int dat_read_types(struct dat *dat, struct dat_span *span)
{
	uint64_t cnt = dat_take_number(span, 4);
	int err = 0;

	for (; cnt && !span->is_short && !err; cnt--)
		err = dat_add_type(dat, dat_take(span, dat_take_number(span, 8)));
	return err ? err : span->is_short ? -EBADMSG : 0;
}

static int dat_read_header_info(struct dat *dat, struct dat_span *span)
{
	struct text format;

	if (!dat_is(dat_take_string(span), "header_page"))
		return -EBADMSG;
	format = dat_take(span, dat_take_number(span, 8));
	dat->commit = dat_field(format, "commit");
	dat->page_data = dat_field(format, "data");
	if (!dat_is(dat_take_string(span), "header_event"))
		return -EBADMSG;
	dat_take(span, dat_take_number(span, 8));
	/* the time is in front, in 8 bytes */
	if (span->is_short || (dat->commit.bytes != 4 && dat->commit.bytes != 8) ||
	    dat->commit.offset < 8 || dat->commit.offset > 64 ||
	    dat->page_data.offset < dat->commit.offset + dat->commit.bytes ||
	    dat->page_data.offset > DAT_PAGE_MIN)
		return -EBADMSG;
	return 0;
}

/* ---- names ---- */

static bool dat_take_hex(struct text *line, uint64_t *value)
{
	size_t cnt = 0;

	for (*value = 0; cnt < line->len; cnt++) {
		const char c = line->ptr[cnt];
		const char *digit = c ? strchr("0123456789abcdef", c) : NULL;

		if (!digit)
			break;
		*value = *value << 4 | (uint64_t)(digit - "0123456789abcdef");
	}
	line->ptr += cnt;
	line->len -= cnt;
	return cnt && cnt <= 16;
}

/* "ffffffff81000000 T name\t[module]" */
static bool dat_parse_symbol(struct text line, struct dat_sym *sym)
{
	const char *tab;

	*sym = (struct dat_sym){ 0 };
	if (!dat_take_hex(&line, &sym->addr) || !sym->addr || line.len < 4 || line.ptr[0] != ' ' ||
	    !line.ptr[1] || !strchr("tTwW", line.ptr[1]) || line.ptr[2] != ' ')
		return false;
	line = (struct text){ line.ptr + 3, line.len - 3 };
	tab = memchr(line.ptr, '\t', line.len);
	sym->name = (struct text){ line.ptr, tab ? (size_t)(tab - line.ptr) : line.len };
	if (tab && line.ptr + line.len - tab > 3 && tab[1] == '[' && line.ptr[line.len - 1] == ']')
		sym->module = (struct text){ tab + 2, (size_t)(line.ptr + line.len - tab) - 3 };
	return sym->name.len != 0;
}

/* By address; of one address the name that kallsyms has first, which is the kernel's choice, too. */
static int dat_sym_cmp(const void *a, const void *b)
{
	const struct dat_sym *x = a;
	const struct dat_sym *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->name.ptr > y->name.ptr) - (x->name.ptr < y->name.ptr);
}

static int dat_read_symbols(struct dat *dat, struct dat_span *span)
{
	struct text rest = dat_take(span, dat_take_number(span, 4));
	struct text line;
	struct dat_sym sym;

	while (dat_line(&rest, &line)) {
		if (!dat_parse_symbol(line, &sym))
			continue;
		if (VEC_RESERVE(dat->syms, dat->sym_cap, dat->sym_cnt + 1))
			return -ENOMEM;
		dat->syms[dat->sym_cnt++] = sym;
	}
	if (dat->sym_cnt)
		qsort(dat->syms, dat->sym_cnt, sizeof(*dat->syms), dat_sym_cmp);
	dat->facts.has_names = dat->sym_cnt != 0;
	return span->is_short ? -EBADMSG : 0;
}

struct dat_symbol dat_symbol(const struct dat *dat, uint64_t addr)
{
	size_t at = VEC_BISECT(i, dat->sym_cnt, dat->syms[i].addr <= addr);
	const uint64_t end = at < dat->sym_cnt ? dat->syms[at].addr : 0;
	const struct dat_sym *sym;

	if (!at || (at == dat->sym_cnt && addr - dat->syms[at - 1].addr > DAT_LAST_BYTES))
		return (struct dat_symbol){ 0 };
	at--;
	while (at && dat->syms[at - 1].addr == dat->syms[at].addr)
		at--;
	sym = &dat->syms[at];
	return (struct dat_symbol){
		.name = sym->name,
		.module = sym->module,
		.offset = addr - sym->addr,
		.size_bytes = end ? end - sym->addr : 0,
	};
}

static int dat_task_cmp(const void *a, const void *b)
{
	const struct dat_task *x = a;
	const struct dat_task *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Lines "TID NAME". */
static int dat_read_tasks(struct dat *dat, struct dat_span *span)
{
	struct text rest = dat_take(span, dat_take_number(span, 8));
	struct text line;

	while (dat_line(&rest, &line)) {
		struct dat_task task = { 0 };
		size_t at = 0;

		for (; at < line.len && line.ptr[at] >= '0' && line.ptr[at] <= '9'; at++)
			task.tid = task.tid * 10 + (uint32_t)(line.ptr[at] - '0');
		if (!at || at + 1 >= line.len || line.ptr[at] != ' ')
			continue;
		task.comm = (struct text){ line.ptr + at + 1, line.len - at - 1 };
		if (VEC_RESERVE(dat->tasks, dat->task_cap, dat->task_cnt + 1))
			return -ENOMEM;
		dat->tasks[dat->task_cnt++] = task;
	}
	if (dat->task_cnt)
		qsort(dat->tasks, dat->task_cnt, sizeof(*dat->tasks), dat_task_cmp);
	return span->is_short ? -EBADMSG : 0;
}

struct text dat_comm(const struct dat *dat, uint32_t tid)
{
	const size_t at = VEC_BISECT(i, dat->task_cnt, dat->tasks[i].tid < tid);

	if (at < dat->task_cnt && dat->tasks[at].tid == tid)
		return dat->tasks[at].comm;
	return (struct text){ 0 };
}

const struct dat_type *dat_type_of(const struct dat *dat, uint16_t id)
{
	for (size_t i = 0; i < dat->type_cnt; i++) {
		if (dat->types[i].id == id)
			return &dat->types[i];
	}
	return NULL;
}

/* An event of @system. Return: 0 or -ENOMEM. */
static int dat_add_name(struct dat *dat, struct text system, struct text format)
{
	struct dat_event_name *name;

	if (dat->name_cnt == DAT_NAMES_MAX)
		return 0;
	if (VEC_RESERVE(dat->names, dat->name_cap, dat->name_cnt + 1))
		return -ENOMEM;
	name = &dat->names[dat->name_cnt++];
	name->id = (uint16_t)dat_format_number(format, "\nID: ");
	name->is = (struct dat_type_name){ system, dat_format_word(format, "name: ") };
	if (!name->is.name.len)
		dat->name_cnt--;
	return 0;
}

static int dat_name_cmp(const void *a, const void *b)
{
	return ((const struct dat_event_name *)a)->id - ((const struct dat_event_name *)b)->id;
}

/* The events of all systems. */
static int dat_read_systems(struct dat *dat, struct dat_span *span)
{
	uint64_t system_cnt = dat_take_number(span, 4);
	int err = 0;

	for (; system_cnt && !span->is_short && !err; system_cnt--) {
		const struct text system = dat_take_string(span);
		uint64_t cnt = dat_take_number(span, 4);

		for (; cnt && !span->is_short && !err; cnt--)
			err = dat_add_name(dat, system, dat_take(span, dat_take_number(span, 8)));
	}
	if (dat->name_cnt)
		qsort(dat->names, dat->name_cnt, sizeof(*dat->names), dat_name_cmp);
	return err ? err : span->is_short ? -EBADMSG : 0;
}

struct dat_type_name dat_type_name(const struct dat *dat, uint16_t type)
{
	const struct dat_type *own = dat_type_of(dat, type);
	const size_t at = VEC_BISECT(i, dat->name_cnt, dat->names[i].id < type);

	if (own)
		return (struct dat_type_name){ text_from("ftrace"), own->name };
	if (at < dat->name_cnt && dat->names[at].id == type)
		return dat->names[at].is;
	return (struct dat_type_name){ 0 };
}

/* ---- options ---- */

enum dat_option {
	DAT_OPTION_DONE = 0,
	DAT_OPTION_DATE = 1,
	DAT_OPTION_BUFFER = 3,
	DAT_OPTION_CLOCK = 4,
	DAT_OPTION_UNAME = 5,
	DAT_OPTION_OFFSET = 7,
	DAT_OPTION_TSC = 14,
	/* the place of a section, which has the same number */
	DAT_OPTION_HEADERS = 16,
	DAT_OPTION_TYPES = 17,
	DAT_OPTION_SYSTEMS = 18,
	DAT_OPTION_KALLSYMS = 19,
	DAT_OPTION_CMDLINES = 21,
};

/* A number as C has it, perhaps with a sign. */
static uint64_t dat_text_number(struct text text)
{
	char digits[32] = { 0 };

	memcpy(digits, text.ptr, text.len < sizeof(digits) - 1 ? text.len : sizeof(digits) - 1);
	return (uint64_t)strtoll(digits, NULL, 0);
}

/* "Linux NODE RELEASE MACHINE" */
static void dat_take_uname(struct dat *dat, struct text text)
{
	char *const words[4] = { NULL, dat->facts.node, dat->facts.release, dat->facts.machine };
	size_t word = 0;
	size_t len = 0;

	for (size_t i = 0; i < text.len && text.ptr[i] && word < 4; i++) {
		if (text.ptr[i] == ' ') {
			word++;
			len = 0;
		} else if (words[word] && len < sizeof(dat->facts.node) - 1) {
			words[word][len++] = text.ptr[i];
		}
	}
	/* our own trace.dat has the release alone */
	if (!word)
		snprintf(dat->facts.release, sizeof(dat->facts.release), "%.*s",
			 (int)strnlen(text.ptr, text.len), text.ptr);
}

static bool dat_has(struct text text, const char *word)
{
	return text.len && memmem(text.ptr, text.len, word, strlen(word));
}

static void dat_take_clock(struct dat *dat, struct text clock)
{
	const size_t len =
		clock.len < sizeof(dat->facts.clock) ? clock.len : sizeof(dat->facts.clock) - 1;

	if (*dat->facts.clock || !len)
		return;
	memcpy(dat->facts.clock, clock.ptr, len);
	dat->facts.clock[len] = '\0';
}

/* "local [global] counter": the chosen one. */
static struct text dat_chosen_clock(struct text clocks)
{
	const char *at = clocks.len ? memchr(clocks.ptr, '[', clocks.len) : NULL;
	const size_t left = at ? clocks.len - (size_t)(at + 1 - clocks.ptr) : 0;
	const char *end = left ? memchr(at + 1, ']', left) : NULL;

	return end ? (struct text){ at + 1, (size_t)(end - at) - 1 } : (struct text){ "", 0 };
}

/* An option that both versions have. */
static void dat_take_option(struct dat *dat, uint64_t id, struct text data)
{
	struct dat_span span = { .dat = dat,
				 .at = (const unsigned char *)data.ptr,
				 .len = data.len };

	switch (id) {
	case DAT_OPTION_DATE: /* us */
		dat->facts.real_offset_ns = dat_text_number(data) * 1000;
		break;
	case DAT_OPTION_CLOCK:
		dat->has_tsc_clock = dat_has(data, "[x86-tsc]");
		dat_take_clock(dat, dat_chosen_clock(data));
		break;
	case DAT_OPTION_UNAME:
		dat_take_uname(dat, data);
		break;
	case DAT_OPTION_OFFSET:
		dat->offset_ns = dat_text_number(data);
		break;
	case DAT_OPTION_TSC:
		dat->tsc_mult = (uint32_t)dat_take_number(&span, 4);
		dat->tsc_shift = (uint32_t)dat_take_number(&span, 4) % 64;
		dat->tsc_base = dat_take_number(&span, 8);
		break;
	default:
		break;
	}
}

/* ---- CPUs ---- */

static int dat_cpus_new(struct dat *dat, uint64_t cnt, const char **error)
{
	if (!cnt || cnt > DAT_CPU_MAX) {
		*error = "it has no CPUs, or more than 4,096";
		return -EBADMSG;
	}
	if (dat->cpus)
		return -EBADMSG;
	dat->cpus = calloc(cnt, sizeof(*dat->cpus));
	dat->heap = calloc(cnt, sizeof(*dat->heap));
	if (!dat->cpus || !dat->heap)
		return -ENOMEM;
	dat->facts.cpu_cnt = (uint32_t)cnt;
	return 0;
}

/* Pages behind the end of the file are missing: it was cut. */
static void dat_cpu_place(struct dat *dat, struct dat_cpu *cpu, uint64_t at, uint64_t bytes)
{
	if (at > dat->len || bytes > dat->len - at) {
		dat->stats.page_cnt++;
		bytes = at > dat->len ? 0 : dat->len - at;
	}
	cpu->at = at;
	cpu->end = bytes ? at + bytes : at;
}

/* ---- version 6: the parts follow each other ---- */

static int dat_read_options6(struct dat *dat, struct dat_span *span)
{
	while (!span->is_short) {
		const uint64_t id = dat_take_number(span, 2);
		struct text data;

		if (id == DAT_OPTION_DONE)
			break;
		data = dat_take(span, dat_take_number(span, 4));
		if (id == DAT_OPTION_BUFFER)
			dat->facts.instance_cnt++;
		else
			dat_take_option(dat, id, data);
	}
	return span->is_short ? -EBADMSG : 0;
}

static int dat_read_pages6(struct dat *dat, struct dat_span *span, const char **error)
{
	const uint64_t cpu_cnt = dat_take_number(span, 4);
	struct text what = dat_take(span, 10); /* with its NUL */
	int err = 0;

	if (!memcmp(what.len ? what.ptr : "-", "options  ", what.len ? 10 : 1)) {
		err = dat_read_options6(dat, span);
		what = dat_take(span, 10);
	}
	if (!err && what.len && !memcmp(what.ptr, "latency  ", 10)) {
		*error = "it has the text of a latency tracer, and no events";
		return -EPROTONOSUPPORT;
	}
	if (err || !what.len || memcmp(what.ptr, "flyrecord", 10))
		return -EBADMSG;
	err = dat_cpus_new(dat, cpu_cnt, error);
	for (uint64_t cpu = 0; !err && cpu < cpu_cnt; cpu++) {
		const uint64_t at = dat_take_number(span, 8);

		dat_cpu_place(dat, &dat->cpus[cpu], at, dat_take_number(span, 8));
	}
	dat->has_pages = true;
	return err ? err : span->is_short ? -EBADMSG : 0;
}

static int dat_open6(struct dat *dat, const char **error)
{
	struct dat_span span = dat_span_at(dat, dat->body_at);
	int err = dat_read_header_info(dat, &span);

	if (!err)
		err = dat_read_types(dat, &span);
	if (!err)
		err = dat_read_systems(dat, &span);
	if (!err)
		err = dat_read_symbols(dat, &span);
	dat_take(&span, dat_take_number(&span, 4)); /* formats of trace_printk() */
	if (!err)
		err = dat_read_tasks(dat, &span);
	return err ? err : dat_read_pages6(dat, &span, error);
}

/* ---- version 7: sections ---- */

/* A section's contents, unpacked if need be. Return: 0 or -errno. */
static int dat_section(struct dat *dat, uint64_t at, uint64_t want_id, struct dat_span *out,
		       const char **error)
{
	struct dat_span span = dat_span_at(dat, at);
	const uint64_t id = dat_take_number(&span, 2);
	const uint64_t flags = dat_take_number(&span, 2);
	unsigned char *part;
	struct text body;
	size_t len = 0;
	int err;

	dat_take_number(&span, 4); /* what it is called */
	body = dat_take(&span, dat_take_number(&span, 8));
	*error = error_damaged;
	if (span.is_short || id != want_id)
		return -EBADMSG;
	*out = (struct dat_span){ .dat = dat,
				  .at = (const unsigned char *)body.ptr,
				  .len = body.len };
	if (!(flags & 1))
		return 0;
	if (VEC_RESERVE(dat->parts, dat->part_cap, dat->part_cnt + 1))
		return -ENOMEM;
	err = dat_unpack_part(dat, out, &part, &len, error);
	if (err)
		return err;
	dat->parts[dat->part_cnt++] = part;
	*out = (struct dat_span){ .dat = dat, .at = part, .len = len };
	return 0;
}

#define PLACE_BYTES 20 /* of a CPU's pages */

/* The pages of each CPU, in the buffer of no name. */
static int dat_read_buffer7(struct dat *dat, struct text data, const char **error)
{
	struct dat_span span = { .dat = dat,
				 .at = (const unsigned char *)data.ptr,
				 .len = data.len };
	struct dat_span section = dat_span_at(dat, dat_take_number(&span, 8));
	const struct text name = dat_take_string(&span);
	const struct text clock = dat_take_string(&span);
	uint64_t cpu_cnt = 1;
	uint64_t cnt;
	int err;

	if (span.is_short || name.len) {
		dat->facts.instance_cnt += !span.is_short;
		return span.is_short ? -EBADMSG : 0;
	}
	dat->has_tsc_clock |= dat_is(clock, "x86-tsc");
	dat_take_clock(dat, clock);
	dat->page_bytes = (uint32_t)dat_take_number(&span, 4);
	cnt = dat_take_number(&span, 4);
	if (dat_take_number(&section, 2) != DAT_OPTION_BUFFER)
		return -EBADMSG;
	dat->is_packed = dat_take_number(&section, 2) & 1;
	if (cnt * PLACE_BYTES > span.len)
		return -EBADMSG;
	/* a CPU without events may be left out */
	for (uint64_t i = 0; i < cnt; i++) {
		const uint64_t cpu = dat_number(dat, span.at + i * PLACE_BYTES, 4);

		cpu_cnt = cpu >= cpu_cnt ? cpu + 1 : cpu_cnt;
	}
	err = dat_cpus_new(dat, cpu_cnt, error);
	for (; cnt && !err; cnt--) {
		const uint64_t cpu = dat_take_number(&span, 4);
		const uint64_t at = dat_take_number(&span, 8);

		dat_cpu_place(dat, &dat->cpus[cpu], at, dat_take_number(&span, 8));
	}
	dat->has_pages = true;
	return err;
}

static int dat_take_option7(struct dat *dat, uint64_t id, struct text data, const char **error)
{
	struct dat_span span = { .dat = dat,
				 .at = (const unsigned char *)data.ptr,
				 .len = data.len };
	struct dat_span section;
	int err;

	if (id == DAT_OPTION_BUFFER)
		return dat_read_buffer7(dat, data, error);
	if (id != DAT_OPTION_HEADERS && id != DAT_OPTION_TYPES && id != DAT_OPTION_KALLSYMS &&
	    id != DAT_OPTION_CMDLINES && id != DAT_OPTION_SYSTEMS) {
		dat_take_option(dat, id, data);
		return 0;
	}
	err = dat_section(dat, dat_take_number(&span, 8), id, &section, error);
	if (err)
		return err;
	*error = error_damaged;
	switch (id) {
	case DAT_OPTION_HEADERS:
		return dat_read_header_info(dat, &section);
	case DAT_OPTION_TYPES:
		return dat->types ? -EBADMSG : dat_read_types(dat, &section);
	case DAT_OPTION_SYSTEMS:
		/* only for messages */
		return dat->names || dat_read_systems(dat, &section) != -ENOMEM ? 0 : -ENOMEM;
	case DAT_OPTION_KALLSYMS:
		return dat->syms ? -EBADMSG : dat_read_symbols(dat, &section);
	default:
		return dat->tasks ? -EBADMSG : dat_read_tasks(dat, &section);
	}
}

/* The options of one section. *next_at: where the next ones are; 0: nowhere. */
static int dat_read_options7(struct dat *dat, struct dat_span *span, uint64_t *next_at,
			     const char **error)
{
	int err = 0;

	*next_at = 0;
	while (!err && span->len) {
		const uint64_t id = dat_take_number(span, 2);
		struct text data = dat_take(span, dat_take_number(span, 4));

		if (span->is_short)
			return -EBADMSG;
		if (id == DAT_OPTION_DONE) {
			if (data.len >= 8)
				*next_at = dat_number(dat, (const unsigned char *)data.ptr, 8);
			break;
		}
		err = dat_take_option7(dat, id, data, error);
	}
	return err;
}

static int dat_open7(struct dat *dat, const char **error)
{
	struct dat_span span = dat_span_at(dat, dat->body_at);
	uint64_t at = dat_take_number(&span, 8);
	unsigned int cnt = 0;
	int err = 0;

	while (at && !err) {
		struct dat_span section;

		if (++cnt > DAT_SECTIONS_MAX)
			return -EBADMSG;
		err = dat_section(dat, at, DAT_OPTION_DONE, &section, error);
		if (!err)
			err = dat_read_options7(dat, &section, &at, error);
	}
	return err;
}

/* ---- from start to end ---- */

static int dat_read_head(struct dat *dat, const char **error)
{
	struct dat_span span = dat_span_at(dat, 10);
	const struct text version = dat_take_string(&span);
	struct text packing;

	dat->is_big = dat_take_number(&span, 1) == 1;
	dat->long_bytes = (unsigned int)dat_take_number(&span, 1);
	dat->page_bytes = (uint32_t)dat_take_number(&span, 4);
	dat->version = dat_is(version, "6") ? 6 : dat_is(version, "7") ? 7 : 0;
	if (!dat->version && !span.is_short) {
		*error = "it is of another version than 6 and 7";
		return -EPROTONOSUPPORT;
	}
	if (dat->version == 7) {
		packing = dat_take_string(&span);
		if (packing.len < sizeof(dat->packing))
			memcpy(dat->packing, packing.ptr, packing.len);
		dat_take_string(&span); /* its version */
	}
	*error = error_short;
	if (span.is_short || (dat->long_bytes != 4 && dat->long_bytes != 8))
		return -EBADMSG;
	dat->body_at = dat->len - span.len;
	dat->facts.version = dat->version;
	dat->facts.packing = *dat->packing ? dat->packing : "none";
	dat->is_zstd = !strcmp(dat->packing, "zstd");
	if (dat->is_zstd)
		return unpack_need_zstd(error);
	if (!*dat->packing || !strcmp(dat->packing, "none") || !strcmp(dat->packing, "zlib"))
		return 0;
	*error = "it is packed in an unknown way";
	return -EPROTONOSUPPORT;
}

int dat_new(struct dat **out, const void *bytes, size_t len, const char **error)
{
	struct dat *dat = calloc(1, sizeof(*dat));
	int err;

	if (!dat)
		return -ENOMEM;
	dat->bytes = bytes;
	dat->len = len;
	*error = "it is no file of trace-cmd";
	err = dat_is_known(bytes, len) ? dat_read_head(dat, error) : -EBADMSG;
	if (err) {
		dat_free(dat);
		return err;
	}
	*out = dat;
	return 0;
}

int dat_open(struct dat *dat, const char **error)
{
	int err;

	*error = error_damaged;
	err = dat->version == 6 ? dat_open6(dat, error) : dat_open7(dat, error);
	if (err)
		return err;
	*error = "it has no events: it was cut, or has the text of a latency tracer";
	if (!dat->has_pages)
		return -EBADMSG;
	*error = error_damaged;
	if (dat->page_bytes < DAT_PAGE_MIN || dat->page_bytes > DAT_PAGE_MAX ||
	    !dat->commit.bytes || dat->common_type.bytes != 2 || dat->common_pid.bytes != 4)
		return -EBADMSG;
	for (uint32_t cpu = 0; dat->is_packed && cpu < dat->facts.cpu_cnt; cpu++) {
		struct dat_span span = dat_span_at(dat, dat->cpus[cpu].at);

		if (dat->cpus[cpu].at == dat->cpus[cpu].end)
			continue;
		dat->cpus[cpu].chunk_cnt = (uint32_t)dat_take_number(&span, 4);
		dat->cpus[cpu].at = dat->len - span.len;
	}
	return dat_heap_make(dat, error);
}

void dat_free(struct dat *dat)
{
	if (!dat)
		return;
	for (size_t i = 0; i < dat->part_cnt; i++)
		free(dat->parts[i]);
	for (uint32_t cpu = 0; dat->cpus && cpu < dat->facts.cpu_cnt; cpu++)
		free(dat->cpus[cpu].chunk);
	free(dat->parts);
	free(dat->types);
	free(dat->names);
	free(dat->syms);
	free(dat->tasks);
	free(dat->cpus);
	free(dat->heap);
	free(dat);
}

const struct dat_facts *dat_facts_get(const struct dat *dat)
{
	return &dat->facts;
}

const struct dat_stats *dat_stats_get(const struct dat *dat)
{
	return &dat->stats;
}
