#include "options/manual.h"

#include <string.h>

#include "options/consumer.h"
#include "options/graphopts.h"
#include "options/mantext.h"
#include "options/opttab.h"

/* --help, from the tables in opttab.c, graphopts.c and consumer.c. */

#define WIDTH       80
#define HELP_INDENT 26

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

static void help_consumers(struct strbuf *out)
{
	struct strbuf text = { 0 };

	strbuf_str(out, "\nconsumers for --for, and what they need:\n");
	for (size_t i = 0; i < consumer_def_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "      %s", consumer_defs[i].name);
		consumer_describe(&text, &consumer_defs[i]);
		help_item(out, begin, text.ptr ? text.ptr : "");
	}
	strbuf_release(&text);
}

void manual_help(struct strbuf *out)
{
	strbuf_printf(out, "usage: netfgraph %s\n\n", man_synopsis);
	wrap(out, man_about, 0, 0);
	strbuf_str(out, "\nverbs (put -- before a COMMAND of the same name):\n");
	for (size_t i = 0; i < man_verb_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "  %s", man_verbs[i].name);
		help_item(out, begin, man_verbs[i].what);
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
	for (size_t i = 0; i < man_example_cnt; i++)
		strbuf_printf(out, "  %s\n      %s\n", man_examples[i].command,
			      man_examples[i].what);
}
