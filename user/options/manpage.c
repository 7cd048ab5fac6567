#include "options/manual.h"

#include <stddef.h>

#include "options/consumer.h"
#include "options/graphopts.h"
#include "options/mantext.h"
#include "options/opttab.h"

/* The man page: mantext.c has its order and its words, the tables their parts. */

/* Escape @text for roff, so that nothing in it is a request or an escape. */
static void roff(struct strbuf *out, const char *text)
{
	for (const char *at = text; *at; at++) {
		bool is_begin = at == text || at[-1] == '\n';

		if (is_begin && (*at == '.' || *at == '\''))
			strbuf_str(out, "\\&");
		if (*at == '-')
			strbuf_str(out, "\\-");
		else if (*at == '\\')
			strbuf_str(out, "\\e");
		else if (*at == '\'')
			strbuf_str(out, "\\(aq");
		else
			strbuf_char(out, *at);
	}
}

static void line(struct strbuf *out, const char *before, const char *text, const char *after)
{
	strbuf_str(out, before);
	roff(out, text);
	strbuf_str(out, after);
}

/* A tag in bold, followed by its meaning. */
static void item(struct strbuf *out, const char *tag, const char *text)
{
	line(out, ".TP\n.B ", tag, "\n");
	line(out, "", text, "\n");
}

static void put_verbs(struct strbuf *out)
{
	for (size_t i = 0; i < man_verb_cnt; i++)
		item(out, man_verbs[i].name, man_verbs[i].what);
}

static void put_option(struct strbuf *out, const struct opt_def *def)
{
	const struct man_topic *topic = man_topic_at(def->name);

	if (topic)
		line(out, ".SS ", topic->title, "\n");
	strbuf_str(out, ".TP\n\\fB");
	if (def->letter)
		strbuf_printf(out, "\\-%c\\fR, \\fB", def->letter);
	line(out, "\\-\\-", def->name, "\\fR");
	if (def->arg)
		strbuf_printf(out, "%s\\fI%s\\fR", opt_def_has_choice(def) ? "" : " ", def->arg);
	line(out, "\n", def->help, "\n");
}

static void put_options(struct strbuf *out)
{
	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (opt_defs[i].help)
			put_option(out, &opt_defs[i]);
	}
}

static void put_graph_opts(struct strbuf *out)
{
	for (size_t i = 0; i < graph_opt_def_cnt; i++) {
		line(out, ".TP\n\\fB", graph_opt_defs[i].name, "\\fR");
		line(out, graph_opt_defs[i].is_on ? " (on by default)\n" : "\n",
		     graph_opt_defs[i].help, "\n");
	}
}

static void put_consumers(struct strbuf *out)
{
	struct strbuf text = { 0 };

	for (size_t i = 0; i < consumer_def_cnt; i++) {
		consumer_describe(&text, &consumer_defs[i]);
		item(out, consumer_defs[i].name, text.ptr ? text.ptr : "");
	}
	strbuf_release(&text);
}

static void put_statuses(struct strbuf *out)
{
	for (size_t i = 0; i < exit_status_def_cnt; i++) {
		strbuf_printf(out, ".TP\n%d\n", exit_status_defs[i].status);
		line(out, "", exit_status_defs[i].help, "\n");
	}
}

static void put_examples(struct strbuf *out)
{
	for (size_t i = 0; i < man_example_cnt; i++)
		item(out, man_examples[i].command, man_examples[i].what);
}

static void put_block(struct strbuf *out, const struct man_block *block)
{
	static void (*const tables[])(struct strbuf * out) = {
		[MAN_VERBS] = put_verbs,           [MAN_OPTIONS] = put_options,
		[MAN_GRAPH_OPTS] = put_graph_opts, [MAN_CONSUMERS] = put_consumers,
		[MAN_STATUSES] = put_statuses,     [MAN_EXAMPLES] = put_examples,
	};

	switch (block->kind) {
	case MAN_SECTION:
		line(out, ".SH ", block->tag, "\n");
		break;
	case MAN_SUBSECTION:
		line(out, ".SS ", block->tag, "\n");
		break;
	case MAN_TEXT:
		line(out, ".PP\n", block->text, "\n");
		break;
	case MAN_ITEM:
		item(out, block->tag, block->text);
		break;
	case MAN_CODE:
		line(out, ".PP\n.RS 4\n.nf\n", block->text, "\n.fi\n.RE\n");
		break;
	default:
		tables[block->kind](out);
	}
}

void manual_man(struct strbuf *out)
{
	strbuf_str(out, ".TH NETFGRAPH 8 \"\" \"netfgraph " NFG_VERSION "\"\n.SH NAME\n"
			"netfgraph \\- function graph of the kernel's network stack\n"
			".SH SYNOPSIS\n.B netfgraph\n");
	line(out, "", man_synopsis, "\n");
	for (size_t i = 0; i < man_block_cnt; i++)
		put_block(out, &man_blocks[i]);
	strbuf_str(
		out,
		".SH SEE ALSO\n.BR perf\\-ftrace (1),\n.BR trace\\-cmd (1),\n.BR tcpdump (8),\n"
		".BR bpftool (8),\n.BR pcap\\-filter (7),\n.BR capabilities (7),\n.BR cgroups (7)\n");
}
