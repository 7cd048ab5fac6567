#include "format/text_kind.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/unpack.h"
#include "base/vec.h"

static bool text_kind_has(struct text text, const char *what)
{
	return memmem(text.ptr, text.len, what, strlen(what)) != NULL;
}

static bool text_kind_begins(struct text text, const char *what)
{
	return text.len >= strlen(what) && !memcmp(text.ptr, what, strlen(what));
}

/* ---- by the first bytes ---- */

#define HINT_UNPACK "unpack it first"
#define HINT_TEXT \
	"such text comes from netfgraph, perf ftrace and the kernel's tracer function_graph"
#define HINT_TRACE_CMD "'trace-cmd report -i FILE' makes a text of it, which is read"

static const struct {
	const char *magic;
	uint8_t len;
	struct text_kind kind;
} magics[] = {
	{ "\x17\x08\x44tracing6",
	  11,
	  { "a recording of trace-cmd (trace.dat, version 6)", HINT_TRACE_CMD } },
	{ "\x17\x08\x44tracing7",
	  11,
	  { "a recording of trace-cmd (trace.dat, version 7)", HINT_TRACE_CMD } },
	{ "\x17\x08\x44tracing", 10, { "a recording of trace-cmd (trace.dat)", HINT_TRACE_CMD } },
	{ "PERFILE2",
	  8,
	  { "a recording of perf (perf.data)",
	    "perf ftrace writes function_graph text; perf.data has other events" } },
	{ "\xd4\xc3\xb2\xa1", 4, { "a packet capture (pcap)", "tcpdump -r reads it" } },
	{ "\xa1\xb2\xc3\xd4", 4, { "a packet capture (pcap)", "tcpdump -r reads it" } },
	{ "\x4d\x3c\xb2\xa1", 4, { "a packet capture (pcap)", "tcpdump -r reads it" } },
	{ "\xa1\xb2\x3c\x4d", 4, { "a packet capture (pcap)", "tcpdump -r reads it" } },
	{ "\x0a\x0d\x0d\x0a", 4, { "a packet capture (pcapng)", "tcpdump -r reads it" } },
	{ "\x7f"
	  "ELF",
	  4,
	  { "a program or a library (ELF), neither a recording nor function_graph text",
	    HINT_TEXT } },
	{ "BZh", 3, { "packed by bzip2", HINT_UNPACK } },
	{ "\x04\x22\x4d\x18", 4, { "packed by lz4", HINT_UNPACK } },
	{ "PK\x03\x04", 4, { "a zip archive", HINT_UNPACK } },
	{ "7z\xbc\xaf\x27\x1c", 6, { "a 7z archive", HINT_UNPACK } },
	{ "LPKSHHRH", 8, { "a journal of systemd", "journalctl -k -o cat --file FILE prints it" } },
	{ "%PDF-", 5, { "a PDF document", HINT_TEXT } },
};

/* No text has such a byte; colours, tabs and the like are no such. */
static bool is_control(unsigned char c)
{
	return c == 0x7f || (c < ' ' && (c < '\a' || c > '\r') && c != '\x1b');
}

static size_t count_controls(struct text text)
{
	size_t cnt = 0;

	for (size_t i = 0; i < text.len; i++)
		cnt += is_control((unsigned char)text.ptr[i]);
	return cnt;
}

/* Whether a line is of bytes that texts have: not one control character, and at most an eighth is no UTF-8. */
static bool is_text(struct text line)
{
	const char *end = line.ptr + line.len;
	size_t bad_cnt = 0;
	uint32_t code;

	if (count_controls(line))
		return false;
	for (const char *at = line.ptr; at < end;) {
		const size_t len = clean_utf8(at, end, &code);

		bad_cnt += !len;
		at += len ? len : 1;
	}
	return bad_cnt <= line.len / 8;
}

#define TAR_AT 257

const struct text_kind *text_kind_of_head(struct text head)
{
	static const struct text_kind twice = { "packed twice", HINT_UNPACK };
	static const struct text_kind tar = { "a tar archive", HINT_UNPACK };
	static const struct text_kind binary = {
		"binary data, neither a recording nor function_graph text", HINT_TEXT
	};
	static const struct text_kind wide = { "UTF-16 without its byte order mark",
					       "iconv -f UTF-16LE -t UTF-8 converts it" };

	size_t nul_cnt = 0;

	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		if (head.len >= magics[i].len && !memcmp(head.ptr, magics[i].magic, magics[i].len))
			return &magics[i].kind;
	}
	if (unpack_knows(head.ptr, head.len))
		return &twice;
	if (head.len >= TAR_AT + 5 && !memcmp(head.ptr + TAR_AT, "ustar", 5))
		return &tar;
	for (size_t i = 0; i < head.len; i++)
		nul_cnt += !head.ptr[i];
	/* a text may be damaged */
	if (nul_cnt <= head.len / 8)
		return count_controls(head) > head.len / 32 + 1 ? &binary : NULL;
	return head.len > 8 && head.ptr[0] && !head.ptr[1] && head.ptr[2] && !head.ptr[3] &&
			       head.ptr[4] && !head.ptr[5]
		       ? &wide
		       : &binary;
}

/* ---- by a line ---- */

static const struct {
	const char *name;
	struct text_kind kind;
} tracers[] = {
	{ "function",
	  { "text of the tracer function, which shows no ends of calls",
	    "echo function_graph >/sys/kernel/tracing/current_tracer chooses the other" } },
	{ "nop",
	  { "text of the tracer nop, which has events and no calls",
	    "echo function_graph >/sys/kernel/tracing/current_tracer chooses the one with calls" } },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static struct text skip_blanks(struct text text)
{
	while (text.len && (*text.ptr == ' ' || *text.ptr == '\t'))
		text = (struct text){ text.ptr + 1, text.len - 1 };
	return text;
}

static struct text skip(struct text text, bool (*is_one)(char c))
{
	while (text.len && is_one(*text.ptr))
		text = (struct text){ text.ptr + 1, text.len - 1 };
	return text;
}

/* "connect(3, {sa_family=AF_INET, ...}, 16) = 0", after "[pid 1] ", "1 " or a time. */
static bool is_strace(struct text line)
{
	const char *end = memmem(line.ptr, line.len, ") = ", 4);
	struct text name;

	if (!end)
		end = memmem(line.ptr, line.len, ")   ", 4);
	if (!end || !text_kind_has(line, " = "))
		return false;
	if (text_kind_begins(line, "[pid "))
		line = skip((struct text){ line.ptr + 5, line.len - 5 }, is_digit);
	while (line.len && !is_letter(*line.ptr))
		line = (struct text){ line.ptr + 1, line.len - 1 };
	name = line;
	line = skip(line, is_letter);
	line = skip(line, is_digit);
	return line.ptr > name.ptr && line.len && *line.ptr == '(' && line.ptr < end;
}

/* "[001] ", perhaps with flags behind it, and a time with a colon: what follows. NULL: it is no event. */
static const char *event_of(struct text line)
{
	const char *cpu = memchr(line.ptr, '[', line.len);
	struct text rest;
	const char *colon;

	if (!cpu || cpu == line.ptr || (cpu[-1] != ' ' && cpu[-1] != '\t'))
		return NULL;
	rest = skip((struct text){ cpu + 1, (size_t)(line.ptr + line.len - cpu) - 1 }, is_digit);
	if (rest.ptr == cpu + 1 || !text_kind_begins(rest, "]"))
		return NULL;
	colon = memmem(rest.ptr, rest.len, ": ", 2);
	return colon && is_digit(colon[-1]) ? colon + 2 : NULL;
}

/* " 0.143 us [  1234] | main() {" */
static bool is_uftrace(struct text line)
{
	const char *open = memchr(line.ptr, '[', line.len);
	struct text rest;

	if (text_kind_has(line, "DURATION") && text_kind_has(line, " TID ") &&
	    text_kind_has(line, "FUNCTION"))
		return true;
	if (!open)
		return false;
	rest = skip_blanks((struct text){ open + 1, (size_t)(line.ptr + line.len - open) - 1 });
	return rest.len && is_digit(*rest.ptr) && text_kind_begins(skip(rest, is_digit), "] |");
}

/* The end of a sample of perf script: "  7f1234 main+0x12 (/usr/bin/x)" or "... cycles: ". */
static bool is_perf_script(struct text line)
{
	const struct text at = skip_blanks(line);
	size_t hex = 0;

	while (hex < at.len &&
	       (is_digit(at.ptr[hex]) || (at.ptr[hex] >= 'a' && at.ptr[hex] <= 'f')))
		hex++;
	if (at.ptr > line.ptr && hex >= 8 && hex < at.len && at.ptr[hex] == ' ' &&
	    at.ptr[at.len - 1] == ')')
		return true;
	return text_kind_has(line, " cycles:") || text_kind_has(line, " cpu-clock:") ||
	       text_kind_has(line, " task-clock:") || text_kind_has(line, " cycles:P:") ||
	       text_kind_has(line, " instructions:");
}

static const struct text_kind *kind_of_event(struct text event)
{
	static const struct text_kind raw = {
		"text of 'trace-cmd report -R', which has addresses and no names of functions",
		"'trace-cmd report' without -R makes one that is read"
	};
	static const struct text_kind graph = {
		"text of function_graph's records without their tracer (graph_ent)",
		"choose the tracer function_graph before the trace is read"
	};
	static const struct text_kind events = {
		"text of events, and has no call of function_graph", HINT_TEXT
	};

	if (text_kind_begins(event, "funcgraph_"))
		return text_kind_has(event, " func=") || text_kind_has(event, "\tfunc=") ? &raw
											 : NULL;
	if (text_kind_begins(event, "graph_ent") || text_kind_begins(event, "graph_ret"))
		return &graph;
	if (text_kind_has(event, " <-"))
		return &tracers[0].kind;
	return &events;
}

static const struct text_kind *kind_of_tracer(struct text name)
{
	static const struct text_kind other = { "text of another tracer than function_graph",
						HINT_TEXT };

	if (text_kind_begins(name, "function_graph"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(tracers); i++) {
		if (text_equal(name, text_from(tracers[i].name)))
			return &tracers[i].kind;
	}
	return &other;
}

bool text_kind_lacks_depth(struct text line)
{
	return is_text(line) && (text_kind_has(line, ") | ") || text_kind_has(line, " us | ")) &&
	       memchr(line.ptr, '(', line.len);
}

const struct text_kind *text_kind_of_line(struct text line)
{
	static const char tracer[] = "# tracer: ";
	static const struct text_kind uftrace = {
		"text of uftrace, which traces programs, not the kernel", HINT_TEXT
	};
	static const struct text_kind perf = {
		"text of perf script, which has samples and no calls",
		"'perf ftrace' writes function_graph text"
	};
	static const struct text_kind strace = {
		"text of strace, which shows system calls, not the kernel's functions", HINT_TEXT
	};
	static const struct text_kind json = { "JSON, neither a recording nor function_graph text",
					       HINT_TEXT };
	const char *event;

	if (!is_text(line))
		return NULL;
	while (line.len && (line.ptr[line.len - 1] == '\r' || line.ptr[line.len - 1] == ' '))
		line.len--;
	if (text_kind_begins(line, tracer))
		return kind_of_tracer(
			(struct text){ line.ptr + strlen(tracer), line.len - strlen(tracer) });
	if (is_uftrace(line))
		return &uftrace;
	if (is_perf_script(line))
		return &perf;
	event = event_of(line);
	if (event) {
		const struct text rest = { event, (size_t)(line.ptr + line.len - event) };

		return kind_of_event(skip_blanks(rest));
	}
	if (is_strace(line))
		return &strace;
	return text_kind_begins(line, "{\"") || text_kind_begins(line, "[{") ? &json : NULL;
}
