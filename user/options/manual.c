#include "options/manual.h"

#include <string.h>

#include "options/consumer.h"
#include "options/graphopts.h"
#include "options/opttab.h"

/* --help and the man page, both from the tables in opttab.c, graphopts.c and consumer.c. */

#define WIDTH       80
#define HELP_INDENT 26

static const char synopsis[] = "[VERB] [OPTION...] [[--] COMMAND [ARG...]]";

static const char about[] =
	"Prints the calls of the kernel's network functions as the kernel's function_graph tracer would, "
	"using BPF programs at function entry and exit; ftrace, tracefs and debugfs are not touched. "
	"With COMMAND, that command and the processes it starts are traced from its first instruction, "
	"and its exit status is passed on. Ctrl-C ends the trace and leaves the command running.";

static const struct {
	const char *name;
	const char *what;
} verbs[] = {
	{ "record", "write a recording to -o FILE instead of text" },
	{ "report FILE",
	  "print a recording, or with --from ftrace a text, as text or in another --format; -T, -N, -C, "
	  "--tid, --comm, -G, -g, --preset, --slower-than and, if the recording has values, "
	  "--errors-only and --filter select from it" },
	{ "profile",
	  "print a table of functions, of now (summed up in the kernel) or from --input" },
	{ "latency FUNC...",
	  "print histograms of the durations of these functions, of now (summed up in the kernel) or from --input" },
	{ "list [GLOB...]",
	  "print what would be traced; -v: why the rest is not; see --presets and --plan" },
	{ "check", "print what this kernel offers; see --json" },
};
#define VERB_CNT (sizeof(verbs) / sizeof(verbs[0]))

static const char losses[] =
	"Lost events never go unmentioned: a row 'CPU:N [LOST n EVENTS]' stands where they were lost, and their "
	"number, by reason, is printed on standard error at the end. A return has no duration if events may be "
	"missing between it and its entry.";

static const char privileges[] =
	"Root may trace whatever lockdown and kernel.kptr_restrict allow. Other users need CAP_BPF and CAP_PERFMON and, "
	"up to kernel 5.10, CAP_SYS_RESOURCE or a high limit of locked memory (ulimit -l). Further capabilities add "
	"features: CAP_SYSLOG, names of callers; CAP_SYSLOG, CAP_DAC_READ_SEARCH and CAP_SYS_RAWIO together, the calls "
	"of start functions as found in the kernel's code, which are otherwise guessed from types and names; "
	"CAP_SYS_PTRACE, network namespaces of other users' processes; CAP_SYS_ADMIN, functions of modules. Lockdown's "
	"confidentiality mode excludes arguments, results, callers, packets, cgroups, containers and namespaces. "
	"'netfgraph check' shows what the current user may do. Once everything is attached, or the file to report is "
	"open, netfgraph gives up its privileges; COMMAND keeps them.";

static const char names[] =
	"Names of tasks, cgroups and files, and text from recordings and traces, are printed so that they cannot "
	"control a terminal or start a new column or line: such a byte is written as \\xNN, in JSON as \\uXXXX. README "
	"has the table.";

static const struct {
	const char *command;
	const char *what;
} examples[] = {
	{ "netfgraph curl -s http://localhost/", "what the kernel does for one request" },
	{ "netfgraph -T 'tcp_*' -p 1234 --timeout 5s", "all TCP functions of one process" },
	{ "netfgraph --packet 'host 10.0.0.7 and tcp port 443'", "the path of these packets only" },
	{ "netfgraph -G tcp_v4_connect --filter 'retval == -ECONNREFUSED'",
	  "refused connects only" },
	{ "netfgraph --for sleepgraph -o trace.txt",
	  "all tasks, in the columns that sleepgraph reads" },
	{ "netfgraph -T tcp_v4_rcv -T 'veth_* [veth]' -C 0", "one CPU, functions of a module too" },
};
#define EXAMPLE_CNT (sizeof(examples) / sizeof(examples[0]))

/* Wrap @text: its first line begins in column @at, the others in column @indent. */
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

/* What --for chooses for a consumer, and why. */
static void consumer_text(struct strbuf *text, const struct consumer *consumer)
{
	strbuf_reset(text);
	if (consumer->columns)
		strbuf_printf(text, "--graph-opts %s: ", consumer->columns);
	else
		strbuf_printf(text, "--format %s: ", format_name(consumer->format));
	strbuf_str(text, consumer->help);
	strbuf_char(text, '\0');
}

static void help_consumers(struct strbuf *out)
{
	struct strbuf text = { 0 };

	strbuf_str(out, "\nconsumers for --for, and what they need:\n");
	for (size_t i = 0; i < consumer_def_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "      %s", consumer_defs[i].name);
		consumer_text(&text, &consumer_defs[i]);
		help_item(out, begin, text.ptr ? text.ptr : "");
	}
	strbuf_release(&text);
}

void manual_help(struct strbuf *out)
{
	strbuf_printf(out, "usage: netfgraph %s\n\n", synopsis);
	wrap(out, about, 0, 0);
	strbuf_str(out, "\nverbs (put -- before a COMMAND of the same name):\n");
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
	strbuf_str(out, "\nwords of --graph-opts (* is on by default):\n");
	for (size_t i = 0; i < graph_opt_def_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "    %c %s", graph_opt_defs[i].is_on ? '*' : ' ',
			      graph_opt_defs[i].name);
		help_item(out, begin, graph_opt_defs[i].help);
	}
	help_consumers(out);
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

/* Escape @text for roff, so that nothing in it is a request or an escape. */
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

static void man_consumers(struct strbuf *out)
{
	struct strbuf text = { 0 };

	strbuf_str(out, ".SS Consumers for \\-\\-for\n");
	for (size_t i = 0; i < consumer_def_cnt; i++) {
		consumer_text(&text, &consumer_defs[i]);
		roff_line(out, ".TP\n.B ", consumer_defs[i].name);
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
	strbuf_str(out, ".SH VERBS\n");
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
			      graph_opt_defs[i].is_on ? " (on by default)" : "");
		roff_line(out, "", graph_opt_defs[i].help);
	}
	man_consumers(out);
	roff_line(out, ".SH PRIVILEGES\n", privileges);
	roff_line(out, ".SH NAMES CHOSEN BY OTHERS\n", names);
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
