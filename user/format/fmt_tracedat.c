#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleantext.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "format/fmt.h"
#include "format/format.h"
#include "format/render.h"
#include "trace/row.h"

/* ---- the head of a file, before its pages, in both versions of the format ---- */

#define DATHEAD_PAGE_BYTES 4096

/* Event types described by the formats in the file; the numbers are the kernel's. */
#define DATHEAD_ID_PRINT 5
#define DATHEAD_ID_EXIT  10
#define DATHEAD_ID_ENTRY 11

struct dathead {
	const char *release; /* uname -r; NULL: unknown */
	struct text kallsyms;
	struct text cmdlines;
	const uint64_t *cpu_bytes; /* whole pages of each CPU, which follow in this order */
	uint32_t cpu_cnt;
};

static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

static const char header_event[] = "# compressed entry header\n"
				   "\ttype_len    :    5 bits\n"
				   "\ttime_delta  :   27 bits\n"
				   "\tarray       :   32 bits\n"
				   "\n"
				   "\tpadding     : type == 29\n"
				   "\ttime_extend : type == 30\n"
				   "\ttime_stamp : type == 31\n"
				   "\tdata max type_len  == 28\n";

#define COMMON_FIELDS                                                                  \
	"format:\n"                                                                    \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"                     \
	"\n"

static const char *const event_formats[] = {
	"name: funcgraph_entry\nID: 11\n" COMMON_FIELDS
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\n"
	"print fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n",

	"name: funcgraph_exit\nID: 10\n" COMMON_FIELDS
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\n"
	"print fmt: \"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, "
	"REC->depth, REC->calltime, REC->rettime, REC->depth\n",

	"name: print\nID: 5\n" COMMON_FIELDS
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"
	"\n"
	"print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n",
};

#define EVENT_FORMAT_CNT (sizeof(event_formats) / sizeof(event_formats[0]))

static void tracedat_put_u16(struct strbuf *out, uint16_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void put_u32(struct strbuf *out, uint32_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void tracedat_put_u64(struct strbuf *out, uint64_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void put_sized(struct strbuf *out, const char *text)
{
	tracedat_put_u64(out, strlen(text));
	strbuf_str(out, text);
}

/* ---- parts that both versions have ---- */

static void put_header_info(struct strbuf *out)
{
	strbuf_add(out, "header_page", 12); /* with its NUL */
	put_sized(out, header_page);
	strbuf_add(out, "header_event", 13);
	put_sized(out, header_event);
}

static void put_event_formats(struct strbuf *out)
{
	put_u32(out, EVENT_FORMAT_CNT);
	for (size_t i = 0; i < EVENT_FORMAT_CNT; i++)
		put_sized(out, event_formats[i]);
}

static void put_kallsyms(const struct dathead *head, struct strbuf *out)
{
	put_u32(out, (uint32_t)head->kallsyms.len);
	strbuf_add(out, head->kallsyms.ptr, head->kallsyms.len);
}

static void put_cmdlines(const struct dathead *head, struct strbuf *out)
{
	tracedat_put_u64(out, head->cmdlines.len);
	strbuf_add(out, head->cmdlines.ptr, head->cmdlines.len);
}

static uint64_t page_up(uint64_t at)
{
	return (at + DATHEAD_PAGE_BYTES - 1) / DATHEAD_PAGE_BYTES * DATHEAD_PAGE_BYTES;
}

static void pad_to_page(struct strbuf *out)
{
	strbuf_fill(out, '\0', page_up(out->len) - out->len);
}

#define OPTION_DONE     0
#define OPTION_BUFFER   3
#define OPTION_UNAME    5
#define OPTION_CPUCOUNT 8

static void tracedat_put_option(struct strbuf *out, uint16_t id, const void *data, size_t len)
{
	tracedat_put_u16(out, id);
	put_u32(out, (uint32_t)len);
	strbuf_add(out, data, len);
}

/* The kernel's release as uname(1) has it; readers print it. */
static void put_release(struct strbuf *out, const char *release)
{
	struct strbuf text = { 0 };

	clean_add(&text, release, strlen(release), CLEAN_WORD);
	strbuf_char(&text, 0);
	tracedat_put_option(out, OPTION_UNAME, text.ptr, text.len);
	out->failed |= text.failed;
	strbuf_release(&text);
}

/* ---- version 6 ---- */

/* The position of each CPU's pages, after all of this. */
static void put_places(const struct dathead *head, struct strbuf *out)
{
	uint64_t at = page_up(out->len + (uint64_t)head->cpu_cnt * 16);

	for (uint32_t cpu = 0; cpu < head->cpu_cnt; cpu++) {
		tracedat_put_u64(out, at);
		tracedat_put_u64(out, head->cpu_bytes[cpu]);
		at += head->cpu_bytes[cpu];
	}
	pad_to_page(out);
}

/*
 * dathead_write_v6 - version 6: the parts follow each other.
 *
 * @out must be empty; afterwards it holds whole pages. The CPUs' pages come next.
 */
static void dathead_write_v6(const struct dathead *head, struct strbuf *out)
{
	strbuf_add(out, "\x17\x08\x44tracing6", 12);
	strbuf_add(out, "\0\x08", 2); /* little endian, long of 8 bytes */
	put_u32(out, DATHEAD_PAGE_BYTES);
	put_header_info(out);
	put_event_formats(out);
	put_u32(out, 0); /* event systems */
	put_kallsyms(head, out);
	put_u32(out, 0); /* printk formats */
	put_cmdlines(head, out);
	put_u32(out, head->cpu_cnt);
	if (head->release) {
		strbuf_add(out, "options  ", 10);
		put_release(out, head->release);
		tracedat_put_u16(out, OPTION_DONE);
	}
	strbuf_add(out, "flyrecord", 10);
	put_places(head, out);
}

/* ---- version 7 ---- */

/* An option with the position of a section has the section's number. */
enum section {
	SECTION_OPTIONS = 0,
	SECTION_BUFFER = OPTION_BUFFER,
	SECTION_STRINGS = 15,
	SECTION_HEADER_INFO = 16,
	SECTION_FTRACE_EVENTS = 17,
	SECTION_EVENT_FORMATS = 18,
	SECTION_KALLSYMS = 19,
	SECTION_PRINTK = 20,
	SECTION_CMDLINES = 21,
};

#define SECTION_HEAD_BYTES 16

/* The purpose of a section, in trace-cmd's own words, which the strings section keeps. */
struct section_words {
	enum section id;
	const char *words;
};

static const struct section_words section_words[] = {
	{ SECTION_OPTIONS, "options" },
	{ SECTION_BUFFER, "buffer flyrecord" },
	{ SECTION_STRINGS, "strings" },
	{ SECTION_HEADER_INFO, "headers" },
	{ SECTION_FTRACE_EVENTS, "ftrace events" },
	{ SECTION_EVENT_FORMATS, "events format" },
	{ SECTION_KALLSYMS, "kallsyms" },
	{ SECTION_PRINTK, "printk" },
	{ SECTION_CMDLINES, "command lines" },
};

#define SECTION_WORDS_CNT (sizeof(section_words) / sizeof(section_words[0]))

/* The words' place in the strings section. */
static uint32_t section_words_at(enum section id)
{
	size_t at = 0;

	for (size_t i = 0; i < SECTION_WORDS_CNT && section_words[i].id != id; i++)
		at += strlen(section_words[i].words) + 1;
	return (uint32_t)at;
}

static void put_section_head(struct strbuf *out, enum section id, uint64_t bytes)
{
	tracedat_put_u16(out, (uint16_t)id);
	tracedat_put_u16(out, 0); /* not compressed */
	put_u32(out, section_words_at(id));
	tracedat_put_u64(out, bytes);
}

/* Appends @body as a section and empties it; @options gets the option with its position. */
static void put_section(struct strbuf *out, enum section id, struct strbuf *body,
			struct strbuf *options)
{
	uint64_t at = out->len;

	put_section_head(out, id, body->len);
	strbuf_add(out, body->ptr, body->len);
	if (options)
		tracedat_put_option(options, (uint16_t)id, &at, sizeof(at));
	out->failed |= body->failed;
	strbuf_reset(body);
}

static void put_meta_sections(const struct dathead *head, struct strbuf *out, struct strbuf *body,
			      struct strbuf *options)
{
	put_header_info(body);
	put_section(out, SECTION_HEADER_INFO, body, options);
	put_event_formats(body);
	put_section(out, SECTION_FTRACE_EVENTS, body, options);
	put_u32(body, 0);
	put_section(out, SECTION_EVENT_FORMATS, body, options);
	put_kallsyms(head, body);
	put_section(out, SECTION_KALLSYMS, body, options);
	put_u32(body, 0);
	put_section(out, SECTION_PRINTK, body, options);
	put_cmdlines(head, body);
	put_section(out, SECTION_CMDLINES, body, options);
	for (size_t i = 0; i < SECTION_WORDS_CNT; i++)
		strbuf_add(body, section_words[i].words, strlen(section_words[i].words) + 1);
	put_section(out, SECTION_STRINGS, body, NULL);
}

/* The option for the buffer section at @at, with the positions of each CPU's pages. */
static void put_buffer_option(const struct dathead *head, uint64_t at, struct strbuf *body,
			      struct strbuf *options)
{
	uint64_t page_at = page_up(at + SECTION_HEAD_BYTES);

	tracedat_put_u64(body, at);
	strbuf_add(body, "", 1);     /* the instance: the only one */
	strbuf_add(body, "mono", 5); /* its clock */
	put_u32(body, DATHEAD_PAGE_BYTES);
	put_u32(body, head->cpu_cnt);
	for (uint32_t cpu = 0; cpu < head->cpu_cnt; cpu++) {
		put_u32(body, cpu);
		tracedat_put_u64(body, page_at);
		tracedat_put_u64(body, head->cpu_bytes[cpu]);
		page_at += head->cpu_bytes[cpu];
	}
	tracedat_put_option(options, OPTION_BUFFER, body->ptr, body->len);
	options->failed |= body->failed;
	strbuf_reset(body);
}

static uint64_t pages_bytes(const struct dathead *head)
{
	uint64_t bytes = 0;

	for (uint32_t cpu = 0; cpu < head->cpu_cnt; cpu++)
		bytes += head->cpu_bytes[cpu];
	return bytes;
}

/* Bytes the buffer option takes: offset, two strings, page size, CPUs. */
static uint64_t buffer_option_bytes(const struct dathead *head)
{
	return 2 + 4 + 8 + 1 + 5 + 4 + 4 + (uint64_t)head->cpu_cnt * 20;
}

/*
 * dathead_write_v7 - version 7: sections with headers, listed by the options section.
 *
 * @out: as above. Nothing is compressed. The pages belong to the last section.
 */
static void dathead_write_v7(const struct dathead *head, struct strbuf *out)
{
	const uint64_t none = 0;
	struct strbuf options = { 0 };
	struct strbuf body = { 0 };
	uint64_t options_at;
	uint64_t buffer_at;
	size_t place;

	strbuf_add(out, "\x17\x08\x44tracing7", 12);
	strbuf_add(out, "\0\x08", 2); /* little endian, long of 8 bytes */
	put_u32(out, DATHEAD_PAGE_BYTES);
	strbuf_add(out, "none\0", 6); /* compression, and its version */
	place = out->len;
	tracedat_put_u64(out, 0); /* of the options, known below */
	put_meta_sections(head, out, &body, &options);
	tracedat_put_option(&options, OPTION_CPUCOUNT, &head->cpu_cnt, sizeof(head->cpu_cnt));
	if (head->release)
		put_release(&options, head->release);
	options_at = out->len;
	buffer_at = options_at + SECTION_HEAD_BYTES + options.len + buffer_option_bytes(head) + 14;
	put_buffer_option(head, buffer_at, &body, &options);
	tracedat_put_option(&options, OPTION_DONE, &none, sizeof(none)); /* no more options */
	put_section(out, SECTION_OPTIONS, &options, NULL);
	put_section_head(out, SECTION_BUFFER,
			 page_up(buffer_at + SECTION_HEAD_BYTES) - buffer_at - SECTION_HEAD_BYTES +
				 pages_bytes(head));
	pad_to_page(out);
	if (strbuf_ok(out))
		memcpy(out->ptr + place, &options_at, sizeof(options_at));
	strbuf_release(&options);
	strbuf_release(&body);
}

/*
 * trace.dat, as trace-cmd writes it: a head (of version 6 or 7), then for each CPU its ring buffer pages.
 * The head has the CPUs' sizes and the names of functions and tasks, which are known last, so pages wait in an
 * unlinked file until the end.
 *
 * Rows have names but no addresses: a function's address is its place in the kallsyms text of the same file. A call
 * whose entry or return is missing has only the other event; if its duration is not known either, its return is a
 * comment, because an exit event needs one.
 */

#define PAGE_BYTES       DATHEAD_PAGE_BYTES
#define PAGE_HEADER      16 /* time and commit */
#define PAGE_DATA        (PAGE_BYTES - PAGE_HEADER)
#define NO_PAGE          UINT32_MAX
#define COPY_PAGES       64 /* at a time, when the file is put together */
#define COMMIT_MISSED    (1u << 31)
#define COMMIT_COUNTED   (1u << 30) /* the number of missed events follows the data */

#define TYPE_TIME_EXTEND 30
#define DELTA_BITS       27
#define TYPE_LEN_MAX     28 /* payload words that fit in the record's own header */

#define SYM_BASE         0xffffffff81000000u
#define SYM_STEP         16
#define COMMENT_MAX      1000 /* bytes; a longer one ends with "..." */

struct common {
	uint16_t type;
	uint8_t flags;
	uint8_t preempt_cnt;
	int32_t pid;
};

struct entry_event {
	struct common common;
	uint64_t func;
	int32_t depth;
} __attribute__((packed));

struct exit_event {
	struct common common;
	uint64_t func;
	int32_t depth;
	uint32_t overrun;
	uint64_t calltime;
	uint64_t rettime;
} __attribute__((packed));

struct print_event {
	struct common common;
	uint64_t ip;
	char buf[COMMENT_MAX + 8];
} __attribute__((packed));

/* The page a CPU fills. */
struct page {
	uint64_t time_ns; /* of the first record */
	uint64_t commit;
	unsigned char data[PAGE_DATA];
};

struct dat_cpu {
	uint64_t last_ns;
	uint64_t lost_cnt; /* before the page being filled */
	bool has_loss;
	int32_t last_pid;    /* of the last record */
	uint32_t used;       /* bytes of page->data */
	uint32_t first_page; /* in the spool */
	uint32_t last_page;
	uint32_t page_cnt;
	struct page page;
};

struct tracedat {
	struct strbuf *out;
	struct strbuf values; /* of one call, as text */
	struct calltree *tree;
	void (*write_head)(const struct dathead *head, struct strbuf *out);
	char *release;
	uint64_t lost_cnt;   /* in all, before finish */
	uint64_t placed_cnt; /* of those, the ones in rows */
	uint64_t last_ns;    /* of the last row */
	uint32_t last_cpu;
	int fd;
	int err;
	struct dat_cpu **cpus;
	uint32_t cpu_cnt;
	size_t cpu_cap;
	uint32_t *next_page; /* of the same CPU, for each page in the spool */
	uint32_t page_cnt;
	size_t page_cap;
	bool is_copying; /* the head is written */
	uint32_t copy_cpu;
	uint32_t copy_page;
};

/* ---- pages ---- */

static struct dat_cpu *tracedat_cpu_get(struct tracedat *dat, uint32_t cpu)
{
	if (cpu >= dat->cpu_cnt && VEC_RESERVE(dat->cpus, dat->cpu_cap, (size_t)cpu + 1))
		return NULL;
	while (cpu >= dat->cpu_cnt)
		dat->cpus[dat->cpu_cnt++] = NULL;
	if (!dat->cpus[cpu]) {
		dat->cpus[cpu] = calloc(1, sizeof(struct dat_cpu));
		if (!dat->cpus[cpu])
			return NULL;
		dat->cpus[cpu]->first_page = dat->cpus[cpu]->last_page = NO_PAGE;
	}
	return dat->cpus[cpu];
}

static int page_link(struct tracedat *dat, struct dat_cpu *cpu)
{
	if (VEC_RESERVE(dat->next_page, dat->page_cap, dat->page_cnt + 1u))
		return -ENOMEM;
	dat->next_page[dat->page_cnt] = NO_PAGE;
	if (cpu->last_page == NO_PAGE)
		cpu->first_page = dat->page_cnt;
	else
		dat->next_page[cpu->last_page] = dat->page_cnt;
	cpu->last_page = dat->page_cnt++;
	cpu->page_cnt++;
	return 0;
}

static int spool_write(int fd, const void *bytes, size_t len, off_t at)
{
	const char *p = bytes;

	while (len) {
		ssize_t done = pwrite(fd, p, len, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -ENOSPC;
		p += done;
		at += done;
		len -= (size_t)done;
	}
	return 0;
}

/* Put the page away and begin an empty one. */
static void page_flush(struct tracedat *dat, struct dat_cpu *cpu)
{
	struct page *page = &cpu->page;

	if (dat->err || (!cpu->used && !cpu->has_loss))
		return;
	page->commit = cpu->used;
	if (cpu->has_loss) {
		page->commit |= COMMIT_MISSED;
		if (cpu->lost_cnt) {
			page->commit |= COMMIT_COUNTED;
			memcpy(page->data + cpu->used, &cpu->lost_cnt, 8);
			cpu->used += 8;
		}
	}
	memset(page->data + cpu->used, 0, PAGE_DATA - cpu->used);
	dat->err = spool_write(dat->fd, page, PAGE_BYTES, (off_t)dat->page_cnt * PAGE_BYTES);
	if (!dat->err)
		dat->err = page_link(dat, cpu);
	cpu->used = 0;
	cpu->has_loss = false;
	cpu->lost_cnt = 0;
}

static void tracedat_put_word(struct dat_cpu *cpu, uint32_t word)
{
	memcpy(cpu->page.data + cpu->used, &word, 4);
	cpu->used += 4;
}

/* One record, which begins with struct common; @len is a multiple of 4. */
static void put_record(struct tracedat *dat, uint32_t cpu_id, uint64_t time_ns, const void *payload,
		       uint32_t len)
{
	struct dat_cpu *cpu = tracedat_cpu_get(dat, cpu_id);
	uint32_t words = len / 4;
	uint64_t delta;

	if (!cpu) {
		dat->err = -ENOMEM;
		return;
	}
	/* at most a time extension, two header words and the payload; 8 for the number lost */
	if (cpu->used + 16 + len + 8 > PAGE_DATA)
		page_flush(dat, cpu);
	if (time_ns < cpu->last_ns)
		time_ns = cpu->last_ns;
	if (!cpu->used)
		cpu->page.time_ns = cpu->last_ns = time_ns;
	delta = time_ns - cpu->last_ns;
	cpu->last_ns = time_ns;
	if (delta >> DELTA_BITS) {
		tracedat_put_word(cpu, TYPE_TIME_EXTEND | (uint32_t)(delta << 5));
		tracedat_put_word(cpu, (uint32_t)(delta >> DELTA_BITS));
		delta = 0;
	}
	tracedat_put_word(cpu, (words <= TYPE_LEN_MAX ? words : 0) | (uint32_t)delta << 5);
	if (words > TYPE_LEN_MAX)
		tracedat_put_word(cpu, len + 4);
	memcpy(cpu->page.data + cpu->used, payload, len);
	cpu->used += len;
	cpu->last_pid = ((const struct common *)payload)->pid;
}

/* ---- events ---- */

static uint64_t sym_address(const struct callsym *sym)
{
	return SYM_BASE + (sym ? (uint64_t)sym->id + 1 : 0) * SYM_STEP;
}

static struct common common(uint16_t type, const struct calltask *task)
{
	return (struct common){
		.type = type,
		.pid = (int32_t)(task->kind == CALLTASK_UNKNOWN ? task->track : task->tid),
	};
}

static void put_entry(struct tracedat *dat, const struct calltask *task, const struct call *call)
{
	const struct entry_event event = {
		.common = common(DATHEAD_ID_ENTRY, task),
		.func = sym_address(call->sym),
		.depth = (int32_t)call->depth,
	};

	put_record(dat, call->cpu, call->begin_ns, &event, sizeof(event));
}

static void tracedat_on_begin(void *ctx, struct calltask *task, struct call *call)
{
	put_entry(ctx, task, call);
}

/* @event has all but its text. */
static void put_print_event(struct tracedat *dat, uint32_t cpu, uint64_t time_ns,
			    struct print_event *event, struct text text)
{
	char bytes[COMMENT_MAX * 4];
	struct strbuf cleaned = { .ptr = bytes, .cap = sizeof(bytes) }; /* never full */
	uint32_t size;
	uint32_t len;

	clean_add(&cleaned, text.ptr, text.len < COMMENT_MAX ? text.len : COMMENT_MAX, CLEAN_LINE);
	len = cleaned.len < COMMENT_MAX ? (uint32_t)cleaned.len : COMMENT_MAX;
	if (text.len > COMMENT_MAX || cleaned.len > COMMENT_MAX)
		memcpy(bytes + len - strlen("..."), "...", strlen("..."));
	memcpy(event->buf, bytes, len);
	memset(event->buf + len, 0, 8);
	size = (uint32_t)offsetof(struct print_event, buf) + len + 1;
	put_record(dat, cpu, time_ns, event, (size + 3) & ~3u);
}

static void put_print(struct tracedat *dat, const struct calltask *task, uint32_t cpu,
		      uint64_t time_ns, struct text text)
{
	struct print_event event;

	event.common = common(DATHEAD_ID_PRINT, task);
	event.ip = sym_address(task->call_cnt ? task->calls[task->call_cnt - 1].sym : NULL);
	put_print_event(dat, cpu, time_ns, &event, text);
}

/* Put a return whose call's beginning is unknown as a comment: an exit event would claim a duration. */
static void put_unmatched(struct tracedat *dat, const struct calltask *task,
			  const struct call *call)
{
	char bytes[256];
	struct text name = call->sym ? call->sym->name : (struct text){ "unknown", 7 };
	int len = snprintf(bytes, sizeof(bytes), "} %.*s, entered at a time not known",
			   (int)(name.len < 128 ? name.len : 128), name.ptr);

	put_print(dat, task, call->end_cpu, call->end_ns, (struct text){ bytes, (size_t)len });
}

/* Append a value of a call behind @before, and behind others. */
static void put_value(struct strbuf *text, const char *before, const struct value *value)
{
	char bytes[VALUE_TEXT_MAX];
	const struct text word = value_text(value, bytes);

	if (!word.len)
		return;
	if (text->len)
		strbuf_char(text, ' ');
	strbuf_str(text, before);
	strbuf_add(text, word.ptr, word.len);
}

/*
 * The call's values, as a comment behind its end: the kernel's events have no room for them that trace-cmd's readers know. In
 * front of the end it would keep them from printing a leaf as one line.
 */
static void put_values(struct tracedat *dat, const struct calltask *task, const struct call *call)
{
	struct strbuf *text = &dat->values;
	struct print_event event;

	strbuf_reset(text);
	if (call->arg_cnt || call->args_text.len) {
		strbuf_char(text, '(');
		strbuf_add(text, call->args_text.ptr, call->args_text.len);
		if (!call->args_text.len)
			render_args(call->args, call->arg_cnt, text);
		strbuf_char(text, ')');
	}
	if (call->caller)
		put_value(text, "<-", &call->caller->symbol);
	if (call->ret)
		put_value(text, "ret=", call->ret);
	if (text->failed)
		dat->err = -ENOMEM;
	if (!text->len || text->failed)
		return;
	event.common = common(DATHEAD_ID_PRINT, task);
	event.ip = sym_address(call->sym);
	put_print_event(dat, call->end_cpu, call->end_ns, &event,
			(struct text){ text->ptr, text->len });
}

static void put_end(struct tracedat *dat, const struct calltask *task, const struct call *call)
{
	const struct exit_event event = {
		.common = common(DATHEAD_ID_EXIT, task),
		.func = sym_address(call->sym),
		.depth = (int32_t)call->depth,
		.calltime = call->end_ns - call->duration_ns,
		.rettime = call->end_ns,
	};

	if (call->is_leaf)
		put_entry(dat, task, call);
	put_record(dat, call->end_cpu, call->end_ns, &event, sizeof(event));
}

static void tracedat_on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct tracedat *dat = ctx;

	if (call->has_return && call->has_duration)
		put_end(dat, task, call);
	else if (call->has_return)
		put_unmatched(dat, task, call);
	put_values(dat, task, call);
}

static int tracedat_put_comment(struct tracedat *dat, const struct row *row)
{
	struct calltask *task = calltree_task(dat->tree, row);

	if (!task)
		return -ENOMEM;
	put_print(dat, task, row->cpu, calltree_time(dat->tree, row), row->text);
	return 0;
}

/* Mark in the CPU's next page that events are missing before it. */
static int tracedat_put_lost(struct tracedat *dat, const struct row *row)
{
	struct dat_cpu *cpu = tracedat_cpu_get(dat, row->cpu);

	if (!cpu)
		return -ENOMEM;
	if (cpu->used)
		page_flush(dat, cpu);
	cpu->has_loss = true;
	cpu->lost_cnt += row->lost_cnt;
	dat->placed_cnt += row->lost_cnt;
	cpu->page.time_ns = calltree_time(dat->tree, row);
	return dat->err ? dat->err : calltree_row(dat->tree, row);
}

/* Readers tell of a loss before an event, so one behind a CPU's last event gets a comment that follows it. */
static void put_loss_at_end(struct tracedat *dat, uint32_t cpu, const char *words)
{
	struct print_event event;

	event.common = (struct common){ .type = DATHEAD_ID_PRINT, .pid = dat->cpus[cpu]->last_pid };
	event.ip = sym_address(NULL);
	put_print_event(dat, cpu, dat->cpus[cpu]->page.time_ns, &event, text_from(words));
}

/* The losses whose place nobody knows are at the end of the CPU that has the last row. */
static int put_losses_without_place(struct tracedat *dat)
{
	struct dat_cpu *cpu;

	if (dat->lost_cnt <= dat->placed_cnt)
		return 0;
	cpu = tracedat_cpu_get(dat, dat->last_cpu);
	if (!cpu)
		return -ENOMEM;
	page_flush(dat, cpu);
	cpu->has_loss = true;
	cpu->lost_cnt = dat->lost_cnt - dat->placed_cnt;
	cpu->page.time_ns = dat->last_ns;
	put_loss_at_end(dat, dat->last_cpu, "events are missing, nobody knows where");
	return dat->err;
}

/* All that stands behind the last row. */
static int put_ends(struct tracedat *dat)
{
	int err;

	for (uint32_t cpu = 0; cpu < dat->cpu_cnt; cpu++) {
		if (dat->cpus[cpu] && dat->cpus[cpu]->has_loss && !dat->cpus[cpu]->used)
			put_loss_at_end(dat, cpu, "events are missing up to the end of the trace");
	}
	err = put_losses_without_place(dat);
	for (uint32_t cpu = 0; cpu < dat->cpu_cnt; cpu++) {
		if (dat->cpus[cpu])
			page_flush(dat, dat->cpus[cpu]);
	}
	return err ? err : dat->err;
}

/* ---- putting the file together ---- */

static void list_syms(const struct tracedat *dat, struct strbuf *out)
{
	const struct callsym *sym;

	strbuf_printf(out, "%016llx T unknown\n", (unsigned long long)sym_address(NULL));
	for (uint32_t id = 0; (sym = calltree_sym(dat->tree, id)); id++) {
		strbuf_printf(out, "%016llx T ", (unsigned long long)sym_address(sym));
		clean_add(out, sym->name.ptr, sym->name.len, CLEAN_WORD | CLEAN_BLANK);
		if (sym->module.len) {
			strbuf_str(out, "\t[");
			clean_add(out, sym->module.ptr, sym->module.len, CLEAN_WORD | CLEAN_BLANK);
			strbuf_char(out, ']');
		}
		strbuf_char(out, '\n');
	}
}

static void list_tasks(const struct tracedat *dat, struct strbuf *out)
{
	const struct calltask *task;

	for (uint32_t id = 0; (task = calltree_task_at(dat->tree, id)); id++) {
		if (task->kind == CALLTASK_IDLE)
			continue; /* every reader knows tid 0 */
		strbuf_u64(out, task->kind == CALLTASK_UNKNOWN ? task->track : task->tid);
		strbuf_char(out, ' ');
		fmt_task(out, task, CLEAN_WORD);
		strbuf_char(out, '\n');
	}
}

static int tracedat_put_head(struct tracedat *dat)
{
	uint64_t *cpu_bytes = calloc(dat->cpu_cnt, sizeof(*cpu_bytes));
	struct strbuf syms = { 0 };
	struct strbuf tasks = { 0 };
	struct strbuf file = { 0 };
	struct dathead head = {
		.release = dat->release,
		.cpu_bytes = cpu_bytes,
		.cpu_cnt = dat->cpu_cnt,
	};
	bool ok;

	if (!cpu_bytes)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < dat->cpu_cnt; cpu++) {
		if (dat->cpus[cpu])
			cpu_bytes[cpu] = (uint64_t)dat->cpus[cpu]->page_cnt * PAGE_BYTES;
	}
	list_syms(dat, &syms);
	list_tasks(dat, &tasks);
	head.kallsyms = (struct text){ syms.ptr, syms.len };
	head.cmdlines = (struct text){ tasks.ptr, tasks.len };
	dat->write_head(&head, &file);
	ok = strbuf_ok(&syms) && strbuf_ok(&tasks) && strbuf_ok(&file);
	strbuf_add(dat->out, file.ptr, file.len);
	strbuf_release(&syms);
	strbuf_release(&tasks);
	strbuf_release(&file);
	free(cpu_bytes);
	return ok ? 0 : -ENOMEM;
}

static int spool_read(struct tracedat *dat, uint32_t page)
{
	size_t done = 0;

	if (!strbuf_reserve(dat->out, PAGE_BYTES))
		return -ENOMEM;
	while (done < PAGE_BYTES) {
		ssize_t len = pread(dat->fd, dat->out->ptr + dat->out->len, PAGE_BYTES - done,
				    (off_t)page * PAGE_BYTES + (off_t)done);

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return len ? -errno : -EIO;
		dat->out->len += (size_t)len;
		done += (size_t)len;
	}
	return 0;
}

/* Return: 1 when there may be more, 0 at the end, or -errno. */
static int copy_pages(struct tracedat *dat)
{
	unsigned int cnt = 0;

	while (cnt < COPY_PAGES) {
		int err;

		while (dat->copy_page == NO_PAGE) {
			struct dat_cpu *cpu;

			if (dat->copy_cpu == dat->cpu_cnt)
				return 0;
			cpu = dat->cpus[dat->copy_cpu++];
			dat->copy_page = cpu ? cpu->first_page : NO_PAGE;
		}
		err = spool_read(dat, dat->copy_page);
		if (err)
			return err;
		dat->copy_page = dat->next_page[dat->copy_page];
		cnt++;
	}
	return 1;
}

static int tracedat_finish(void *self)
{
	struct tracedat *dat = self;

	if (dat->err)
		return dat->err;
	if (dat->is_copying)
		return copy_pages(dat);
	calltree_finish(dat->tree);
	if (!dat->err)
		dat->err = put_ends(dat);
	if (!dat->cpu_cnt && !tracedat_cpu_get(dat, 0))
		return -ENOMEM;
	if (!dat->err)
		dat->err = tracedat_put_head(dat);
	dat->is_copying = true;
	dat->copy_page = NO_PAGE;
	return dat->err ? dat->err : 1;
}

static int spool_open(const char *dir)
{
	char path[512];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd >= 0 ? fd : -errno;
	if (strlen(dir) + 32 > sizeof(path))
		return -ENAMETOOLONG;
	strcpy(path, dir);
	strcat(path, "/netfgraph.XXXXXX");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

static int tracedat_start(struct tracedat *dat, const struct format_config *config,
			  struct strbuf *out)
{
	dat->out = out;
	/* the release is written last, when the caller's copy may be gone */
	dat->release = config->release ? strdup(config->release) : NULL;
	if (config->release && !dat->release)
		return -ENOMEM;
	dat->fd = spool_open(config->spool_dir ? config->spool_dir : "/var/tmp");
	if (dat->fd < 0)
		return dat->fd;
	if (config->cpu_cnt && !tracedat_cpu_get(dat, config->cpu_cnt - 1))
		return -ENOMEM;
	return fmt_tree(&dat->tree, config, tracedat_on_begin, tracedat_on_end, dat);
}

static int tracedat6_start(void *self, const struct format_config *config, struct strbuf *out)
{
	((struct tracedat *)self)->write_head = dathead_write_v6;
	return tracedat_start(self, config, out);
}

static int tracedat7_start(void *self, const struct format_config *config, struct strbuf *out)
{
	((struct tracedat *)self)->write_head = dathead_write_v7;
	return tracedat_start(self, config, out);
}

static int tracedat_row(void *self, const struct row *row)
{
	struct tracedat *dat = self;
	int err;

	if (row->cpu >= CALLTREE_CPU_MAX)
		return 0;
	dat->last_cpu = row->cpu;
	dat->last_ns = calltree_time(dat->tree, row);
	if (row->kind == ROW_LOST)
		return tracedat_put_lost(dat, row);
	if (row->kind == ROW_COMMENT)
		return tracedat_put_comment(dat, row);
	err = calltree_row(dat->tree, row);
	return dat->err ? dat->err : err;
}

void fmt_tracedat_set_lost(void *self, uint64_t cnt)
{
	((struct tracedat *)self)->lost_cnt = cnt;
}

static void tracedat_release(void *self)
{
	struct tracedat *dat = self;

	free(dat->release);
	strbuf_release(&dat->values);
	calltree_free(dat->tree);
	for (uint32_t cpu = 0; cpu < dat->cpu_cnt; cpu++)
		free(dat->cpus[cpu]);
	free(dat->cpus);
	free(dat->next_page);
	if (dat->fd > 0)
		close(dat->fd);
}

const struct fmt_ops fmt_tracedat = {
	.traits = { .name = "trace.dat", .is_binary = true },
	.size = sizeof(struct tracedat),
	.start = tracedat6_start,
	.row = tracedat_row,
	.finish = tracedat_finish,
	.release = tracedat_release,
};

const struct fmt_ops fmt_tracedat7 = {
	.traits = { .name = "trace.dat.v7", .is_binary = true },
	.size = sizeof(struct tracedat),
	.start = tracedat7_start,
	.row = tracedat_row,
	.finish = tracedat_finish,
	.release = tracedat_release,
};
