#include "format/dathead.h"

#include "base/cleantext.h"

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

static void put_u16(struct strbuf *out, uint16_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void put_u32(struct strbuf *out, uint32_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void put_u64(struct strbuf *out, uint64_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void put_sized(struct strbuf *out, const char *text)
{
	put_u64(out, strlen(text));
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
	put_u64(out, head->cmdlines.len);
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

static void put_option(struct strbuf *out, uint16_t id, const void *data, size_t len)
{
	put_u16(out, id);
	put_u32(out, (uint32_t)len);
	strbuf_add(out, data, len);
}

/* The kernel's release as uname(1) has it; readers print it. */
static void put_release(struct strbuf *out, const char *release)
{
	struct strbuf text = { 0 };

	clean_add(&text, release, strlen(release), CLEAN_WORD);
	strbuf_char(&text, 0);
	put_option(out, OPTION_UNAME, text.ptr, text.len);
	out->failed |= text.failed;
	strbuf_release(&text);
}

/* ---- version 6 ---- */

/* The position of each CPU's pages, after all of this. */
static void put_places(const struct dathead *head, struct strbuf *out)
{
	uint64_t at = page_up(out->len + (uint64_t)head->cpu_cnt * 16);

	for (uint32_t cpu = 0; cpu < head->cpu_cnt; cpu++) {
		put_u64(out, at);
		put_u64(out, head->cpu_bytes[cpu]);
		at += head->cpu_bytes[cpu];
	}
	pad_to_page(out);
}

void dathead_write_v6(const struct dathead *head, struct strbuf *out)
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
		put_u16(out, OPTION_DONE);
	}
	strbuf_add(out, "flyrecord", 10);
	put_places(head, out);
}

/* ---- version 7 ---- */

/* Options with the position of a section have its number. */
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

/* What a section is for, in words that the strings section keeps: trace-cmd's own. */
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
	put_u16(out, (uint16_t)id);
	put_u16(out, 0); /* not compressed */
	put_u32(out, section_words_at(id));
	put_u64(out, bytes);
}

/* Appends @body as a section and empties it; @options gets the option with its position. */
static void put_section(struct strbuf *out, enum section id, struct strbuf *body,
			struct strbuf *options)
{
	uint64_t at = out->len;

	put_section_head(out, id, body->len);
	strbuf_add(out, body->ptr, body->len);
	if (options)
		put_option(options, (uint16_t)id, &at, sizeof(at));
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

	put_u64(body, at);
	strbuf_add(body, "", 1);     /* the instance: the only one */
	strbuf_add(body, "mono", 5); /* its clock */
	put_u32(body, DATHEAD_PAGE_BYTES);
	put_u32(body, head->cpu_cnt);
	for (uint32_t cpu = 0; cpu < head->cpu_cnt; cpu++) {
		put_u32(body, cpu);
		put_u64(body, page_at);
		put_u64(body, head->cpu_bytes[cpu]);
		page_at += head->cpu_bytes[cpu];
	}
	put_option(options, OPTION_BUFFER, body->ptr, body->len);
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

void dathead_write_v7(const struct dathead *head, struct strbuf *out)
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
	put_u64(out, 0); /* of the options, known below */
	put_meta_sections(head, out, &body, &options);
	put_option(&options, OPTION_CPUCOUNT, &head->cpu_cnt, sizeof(head->cpu_cnt));
	if (head->release)
		put_release(&options, head->release);
	options_at = out->len;
	buffer_at = options_at + SECTION_HEAD_BYTES + options.len + buffer_option_bytes(head) + 14;
	put_buffer_option(head, buffer_at, &body, &options);
	put_option(&options, OPTION_DONE, &none, sizeof(none)); /* no more options */
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
