#include <string.h>

#include "options/graphopts.h"
#include "options/opttab.h"
#include "options/consumer.h"

/* --help and the man page, both from the tables in opttab.c and graphopts.c. */

#define WIDTH       80
#define HELP_INDENT 26

static const char synopsis[] = "[WORD] [OPTION...] [[--] COMMAND [ARG...]]";

static const char about[] =
	"Prints what the kernel's network functions call, as the kernel's function_graph tracer would, "
	"with BPF programs at their entries and exits; ftrace, tracefs and debugfs are not touched. "
	"With COMMAND, that command and the processes it starts are traced from its first instruction, "
	"and its exit status is passed on. Ctrl-C ends the trace and leaves the command running.";

static const struct {
	const char *name;
	const char *what;
} verbs[] = {
	{ "record", "write a recording to -o FILE instead of a text" },
	{ "report FILE",
	  "turn a recording, or with --from ftrace a text, into text or --format; with -T, -N, -C, "
	  "--tid, --comm, -G, -g, --preset, --slower-than, and of a recording with values "
	  "--errors-only and --filter, what these choose of it" },
	{ "profile",
	  "a table of functions instead of calls, now (summed up in the kernel) or from --input" },
	{ "latency FUNC...",
	  "histograms of how long these functions take, now (summed up in the kernel) or from --input" },
	{ "list [GLOB...]",
	  "what would be traced; with -v why the rest is not; --presets, --plan" },
	{ "check", "what this kernel offers; --json" },
};
#define VERB_CNT (sizeof(verbs) / sizeof(verbs[0]))

static const char losses[] =
	"An event that could not be kept is never silently absent: a row 'CPU:N [LOST n EVENTS]' stands "
	"where it happened, and the sums are printed by reason on standard error at the end. A return "
	"has no duration where events may be missing between it and its entry.";

static const char privileges[] =
	"Root may trace whatever lockdown and kernel.kptr_restrict leave. Anybody else needs CAP_BPF and CAP_PERFMON, "
	"and until kernel 5.10 CAP_SYS_RESOURCE or a high limit of locked memory (ulimit -l). More capabilities allow "
	"more: CAP_SYSLOG names of callers; that, CAP_DAC_READ_SEARCH and CAP_SYS_RAWIO what roots call by the "
	"kernel's text, else it is guessed from types and names; CAP_SYS_PTRACE the network namespaces of others; "
	"CAP_SYS_ADMIN functions of modules. In lockdown's confidentiality mode there are no arguments, results, callers, "
	"packets, cgroups, containers and namespaces. 'netfgraph check' tells what holds for who runs it. Once "
	"everything is attached, or a file to report is open, privileges are given up; COMMAND keeps them.";

static const char names[] =
	"Names of tasks, cgroups and files, and what a recording or a text brings with it, are printed so "
	"that they cannot control a terminal or begin a new column or line: a byte that could is written "
	"as \\xNN, in JSON as \\uXXXX. README has the table.";

static const struct {
	const char *command;
	const char *what;
} examples[] = {
	{ "netfgraph curl -s http://localhost/", "what the kernel does for one request" },
	{ "netfgraph -T 'tcp_*' -p 1234 --timeout 5s", "all TCP functions in one process" },
	{ "netfgraph --packet 'host 10.0.0.7 and tcp port 443'",
	  "the way of some packets, and no others" },
	{ "netfgraph -G tcp_v4_connect --filter 'retval == -ECONNREFUSED'",
	  "connects that were refused, and no others" },
	{ "netfgraph --for sleepgraph -o trace.txt",
	  "everybody, in the columns that sleepgraph reads" },
	{ "netfgraph -T tcp_v4_rcv -T 'veth_* [veth]' -C 0", "one CPU, module functions too" },
};
#define EXAMPLE_CNT (sizeof(examples) / sizeof(examples[0]))

/* Words of @text from column @at on, later lines from @indent on. */
static void wrap(struct strbuf *out, const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (at + len > WIDTH && at > indent) {
			strbuf_char(out, '\n');
			strbuf_fill(out, ' ', indent);
			at = indent;
		}
		strbuf_add(out, text, len);
		at += len + 1;
		text += len;
		if (*text == ' ') {
			text++;
			if (at + strcspn(text, " ") <= WIDTH)
				strbuf_char(out, ' ');
		}
	}
	strbuf_char(out, '\n');
}

static void help_item(struct strbuf *out, size_t begin, const char *text)
{
	size_t at = out->len - begin;

	if (at + 2 > HELP_INDENT) {
		strbuf_char(out, '\n');
		at = 0;
	}
	strbuf_fill(out, ' ', HELP_INDENT - at);
	wrap(out, text, HELP_INDENT, HELP_INDENT);
}

static void help_option(struct strbuf *out, const struct opt_def *def)
{
	size_t begin = out->len;

	if (def->letter)
		strbuf_printf(out, "  -%c, --%s", def->letter, def->name);
	else
		strbuf_printf(out, "      --%s", def->name);
	if (def->arg)
		strbuf_printf(out, " %s", def->arg);
	help_item(out, begin, def->help);
}

/* What --for gives this reader, and why. */
static void reader_text(struct strbuf *text, const struct consumer *reader)
{
	strbuf_reset(text);
	if (reader->columns)
		strbuf_printf(text, "--graph-opts %s: ", reader->columns);
	else
		strbuf_printf(text, "--format %s: ", format_name(reader->format));
	strbuf_str(text, reader->help);
	strbuf_char(text, '\0');
}

static void help_readers(struct strbuf *out)
{
	struct strbuf text = { 0 };

	strbuf_str(out, "\nreaders of --for, and what it stands for:\n");
	for (size_t i = 0; i < reader_def_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "      %s", reader_defs[i].name);
		reader_text(&text, &reader_defs[i]);
		help_item(out, begin, text.ptr ? text.ptr : "");
	}
	strbuf_release(&text);
}

void manual_help(struct strbuf *out)
{
	strbuf_printf(out, "usage: netfgraph %s\n\n", synopsis);
	wrap(out, about, 0, 0);
	strbuf_str(out, "\nfirst words (a command of such a name needs -- before it):\n");
	for (size_t i = 0; i < VERB_CNT; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "  %s", verbs[i].name);
		help_item(out, begin, verbs[i].what);
	}
	strbuf_str(out, "\noptions:\n");
	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (opt_defs[i].help)
			help_option(out, &opt_defs[i]);
	}
	strbuf_str(out, "\nwords of --graph-opts (* is on by itself):\n");
	for (size_t i = 0; i < graph_opt_def_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "    %c %s", graph_opt_defs[i].is_on ? '*' : ' ',
			      graph_opt_defs[i].name);
		help_item(out, begin, graph_opt_defs[i].help);
	}
	help_readers(out);
	strbuf_str(out, "\nexit status:\n");
	for (size_t i = 0; i < exit_status_def_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "    %3d", exit_status_defs[i].status);
		help_item(out, begin, exit_status_defs[i].help);
	}
	strbuf_str(out, "\nexamples:\n");
	for (size_t i = 0; i < EXAMPLE_CNT; i++)
		strbuf_printf(out, "  %s\n      %s\n", examples[i].command, examples[i].what);
}

/* ---- man page ---- */

/* Text as roff: nothing in it is a request or an escape. */
static void roff(struct strbuf *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		strbuf_str(out, "\\&");
	for (; *text; text++) {
		if (*text == '-')
			strbuf_str(out, "\\-");
		else if (*text == '\\')
			strbuf_str(out, "\\e");
		else if (*text == '\'')
			strbuf_str(out, "\\(aq");
		else
			strbuf_char(out, *text);
	}
}

static void roff_line(struct strbuf *out, const char *before, const char *text)
{
	strbuf_str(out, before);
	roff(out, text);
	strbuf_char(out, '\n');
}

static void man_option(struct strbuf *out, const struct opt_def *def)
{
	strbuf_str(out, ".TP\n\\fB");
	if (def->letter)
		strbuf_printf(out, "\\-%c\\fR, \\fB", def->letter);
	strbuf_str(out, "\\-\\-");
	roff(out, def->name);
	strbuf_str(out, "\\fR");
	if (def->arg)
		strbuf_printf(out, " \\fI%s\\fR", def->arg);
	roff_line(out, "\n", def->help);
}

static void man_readers(struct strbuf *out)
{
	struct strbuf text = { 0 };

	strbuf_str(out, ".SS Readers of \\-\\-for\n");
	for (size_t i = 0; i < reader_def_cnt; i++) {
		reader_text(&text, &reader_defs[i]);
		roff_line(out, ".TP\n.B ", reader_defs[i].name);
		roff_line(out, "", text.ptr ? text.ptr : "");
	}
	strbuf_release(&text);
}

void manual_man(struct strbuf *out)
{
	strbuf_str(out, ".TH NETFGRAPH 8 \"\" \"netfgraph " NFG_VERSION "\"\n.SH NAME\n"
			"netfgraph \\- function graph of the kernel's network stack\n"
			".SH SYNOPSIS\n.B netfgraph\n");
	roff_line(out, "", synopsis);
	roff_line(out, ".SH DESCRIPTION\n", about);
	roff_line(out, ".PP\n", losses);
	strbuf_str(out, ".SH FIRST WORDS\n");
	for (size_t i = 0; i < VERB_CNT; i++) {
		roff_line(out, ".TP\n.B ", verbs[i].name);
		roff_line(out, "", verbs[i].what);
	}
	strbuf_str(out, ".SH OPTIONS\n");
	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (opt_defs[i].help)
			man_option(out, &opt_defs[i]);
	}
	strbuf_str(out, ".SS Words of \\-\\-graph\\-opts\n");
	for (size_t i = 0; i < graph_opt_def_cnt; i++) {
		strbuf_printf(out, ".TP\n\\fB%s\\fR%s\n", graph_opt_defs[i].name,
			      graph_opt_defs[i].is_on ? " (on by itself)" : "");
		roff_line(out, "", graph_opt_defs[i].help);
	}
	man_readers(out);
	roff_line(out, ".SH PRIVILEGES\n", privileges);
	roff_line(out, ".SH NAMES THAT OTHERS CHOSE\n", names);
	strbuf_str(out, ".SH EXIT STATUS\n");
	for (size_t i = 0; i < exit_status_def_cnt; i++) {
		strbuf_printf(out, ".TP\n%d\n", exit_status_defs[i].status);
		roff_line(out, "", exit_status_defs[i].help);
	}
	strbuf_str(out, ".SH EXAMPLES\n");
	for (size_t i = 0; i < EXAMPLE_CNT; i++) {
		roff_line(out, ".TP\n.B ", examples[i].command);
		roff_line(out, "", examples[i].what);
	}
	strbuf_str(out,
		   ".SH SEE ALSO\n.BR trace\\-cmd (1),\n.BR perf\\-ftrace (1),\n.BR bpftool (8),\n"
		   ".BR pcap\\-filter (7)\n");
}
