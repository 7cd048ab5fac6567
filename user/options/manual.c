#include "options/manual.h"

#include <string.h>

#include "options/consumer.h"
#include "options/foreign.h"
#include "options/graphopts.h"
#include "options/mantext.h"
#include "options/opttab.h"
#include "select/list.h"

/* --help and help TOPIC, from the tables in opttab.c, graphopts.c, consumer.c and mantext.c. */

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

static void option_name(struct strbuf *out, const struct opt_def *def)
{
	if (def->letter)
		strbuf_printf(out, "  -%c, --%s", def->letter, def->name);
	else
		strbuf_printf(out, "      --%s", def->name);
	if (def->arg)
		strbuf_printf(out, "%s%s", opt_def_has_choice(def) ? "" : " ", def->arg);
}

static void help_option(struct strbuf *out, const struct opt_def *def)
{
	size_t begin = out->len;

	option_name(out, def);
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

static void help_verbs(struct strbuf *out)
{
	strbuf_str(out, "verbs (put -- before a COMMAND of the same name):\n");
	for (size_t i = 0; i < man_verb_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "  %s", man_verbs[i].name);
		help_item(out, begin, man_verbs[i].what);
	}
}

static void help_columns(struct strbuf *out)
{
	strbuf_str(out, "\nwords of --graph-opts (* is on by default):\n");
	for (size_t i = 0; i < graph_opt_def_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "    %c %s", graph_opt_defs[i].is_on ? '*' : ' ',
			      graph_opt_defs[i].name);
		help_item(out, begin, graph_opt_defs[i].help);
	}
}

static void help_statuses(struct strbuf *out)
{
	strbuf_str(out, "exit status:\n");
	for (size_t i = 0; i < exit_status_def_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "    %3d", exit_status_defs[i].status);
		help_item(out, begin, exit_status_defs[i].help);
	}
}

static void help_examples(struct strbuf *out)
{
	strbuf_str(out, "examples:\n");
	for (size_t i = 0; i < man_example_cnt; i++)
		strbuf_printf(out, "  %s\n      %s\n", man_examples[i].command,
			      man_examples[i].what);
}

static void help_all(struct strbuf *out)
{
	strbuf_printf(out, "usage: netfgraph %s\n\n", man_synopsis);
	wrap(out, man_about, 0, 0);
	strbuf_char(out, '\n');
	help_verbs(out);
	strbuf_str(out, "\noptions:\n");
	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (opt_defs[i].help)
			help_option(out, &opt_defs[i]);
	}
	help_columns(out);
	help_consumers(out);
	strbuf_char(out, '\n');
	help_statuses(out);
	strbuf_char(out, '\n');
	help_examples(out);
}

/* ---- the first screen ---- */

#define BRIEF_INDENT  29
#define EXAMPLE_WIDTH 51

static void brief(struct strbuf *out, const struct man_brief *brief)
{
	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct opt_def *def = &opt_defs[i];
		size_t begin = out->len;

		if (strcmp(def->name, brief->option) != 0)
			continue;
		option_name(out, def);
		strbuf_fill(out, ' ', BRIEF_INDENT - (out->len - begin));
		strbuf_printf(out, "%s\n", brief->what);
	}
}

static void names(struct strbuf *out, const char *title, const char *(*name)(int i))
{
	struct strbuf line = { 0 };

	strbuf_str(&line, title);
	for (int i = 0; name(i); i++)
		strbuf_printf(&line, " %s", name(i));
	strbuf_char(&line, '\0');
	wrap(out, line.ptr ? line.ptr : "", 0, 0);
	strbuf_release(&line);
}

void manual_help(struct strbuf *out)
{
	strbuf_printf(out, "usage: netfgraph %s\n", man_synopsis);
	names(out, "VERB:", opts_verb_name);
	strbuf_str(
		out,
		"\nPrints the calls of the kernel's network functions as function_graph does.\n\n");
	for (size_t i = 0; i < man_brief_cnt; i++)
		brief(out, &man_briefs[i]);
	strbuf_char(out, '\n');
	for (size_t i = 0; i < man_first_example_cnt; i++)
		strbuf_printf(out, "  %-*s%s\n", EXAMPLE_WIDTH, man_first_examples[i].command,
			      man_first_examples[i].what);
	names(out, "\nMore: man netfgraph, netfgraph VERB --help, netfgraph help TOPIC. TOPIC:",
	      manual_topic_name);
}

/* ---- a verb, a topic ---- */

/* The lines of usage, each with what it does, and the examples. */
static void verb_head(struct strbuf *out, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < man_verb_cnt; i++) {
		const struct man_verb *verb = &man_verbs[i];

		if (strncmp(verb->name, name, len) != 0)
			continue;
		strbuf_printf(out, "usage: netfgraph %s [OPTION...]%s%s\n\n", verb->name,
			      verb->command ? " " : "", verb->command ? verb->command : "");
		wrap(out, verb->what, 0, 0);
		strbuf_char(out, '\n');
		for (size_t k = 0; k < 2 && verb->examples[k]; k++)
			strbuf_printf(out, "  %s\n", verb->examples[k]);
		strbuf_str(out, verb->examples[0] ? "\n" : "");
	}
}

void manual_verb(struct strbuf *out, enum opts_verb verb)
{
	const struct man_topic *topic = NULL;
	const struct man_topic *said = NULL;

	verb_head(out, opts_verb_name((int)verb - VERB_LIST));
	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct man_topic *begins = man_topic_at(opt_defs[i].name);

		topic = begins ? begins : topic;
		if (!opt_defs[i].help || !opt_def_is_of(&opt_defs[i], verb))
			continue;
		if (topic != said)
			strbuf_printf(out, "%s%s:\n", said ? "\n" : "", topic->title);
		said = topic;
		help_option(out, &opt_defs[i]);
	}
}

bool manual_option(struct strbuf *out, const char *name, size_t len)
{
	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct opt_def *def = &opt_defs[i];
		const bool is_letter = len == 1 && def->letter == *name;

		if (!def->help || (!is_letter && (strlen(def->name) != len ||
						  strncmp(def->name, name, len) != 0)))
			continue;
		help_option(out, def);
		if (!strcmp(def->name, "graph-opts"))
			help_columns(out);
		else if (!strcmp(def->name, "for"))
			help_consumers(out);
		return true;
	}
	return false;
}

static void topic_options(struct strbuf *out, const struct man_topic *topic)
{
	bool is_inside = false;

	strbuf_printf(out, "%s:\n", topic->title);
	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct man_topic *begins = man_topic_at(opt_defs[i].name);

		if (begins)
			is_inside = begins == topic;
		if (is_inside && opt_defs[i].help)
			help_option(out, &opt_defs[i]);
	}
}

static void help_block(struct strbuf *out, const struct man_block *block)
{
	size_t begin = out->len;

	if (block->kind == MAN_ITEM) {
		strbuf_printf(out, "  %s", block->tag);
		help_item(out, begin, block->text);
	} else if (block->kind == MAN_TEXT) {
		wrap(out, block->text, 0, 0);
	} else if (block->kind == MAN_CODE) {
		strbuf_printf(out, "%s\n", block->text);
	} else {
		strbuf_printf(out, "%s%s\n", block->kind == MAN_SECTION ? "" : "\n", block->tag);
	}
}

/* A chapter of the man page, called @tag. */
static void chapter(struct strbuf *out, const char *tag)
{
	bool is_inside = false;

	for (size_t i = 0; i < man_block_cnt; i++) {
		if (man_blocks[i].kind == MAN_SECTION)
			is_inside = !strcmp(man_blocks[i].tag, tag);
		if (is_inside)
			help_block(out, &man_blocks[i]);
	}
}

static void topic_filter(struct strbuf *out)
{
	chapter(out, "FILTER SYNTAX");
}

static void topic_format(struct strbuf *out)
{
	chapter(out, "OUTPUT");
	help_consumers(out);
}

static void topic_privileges(struct strbuf *out)
{
	chapter(out, "PRIVILEGES");
}

static void topic_presets(struct strbuf *out)
{
	list_presets(out, &(struct str_list){ 0 });
}

static void topic_config(struct strbuf *out)
{
	strbuf_str(out, "configuration files:\n");
	for (size_t i = 0; i < man_block_cnt; i++) {
		if (man_blocks[i].kind == MAN_ITEM && strstr(man_blocks[i].tag, "netfgraph.conf"))
			help_block(out, &man_blocks[i]);
	}
	strbuf_char(out, '\n');
	chapter(out, "ENVIRONMENT");
}

static void topic_perf(struct strbuf *out)
{
	struct foreign_line line;
	size_t next = 0;

	wrap(out,
	     "-T, -N, -G, -g, -D, -C, -p, --tid and most words of --graph-opts are those of perf ftrace. What takes the "
	     "place of others:",
	     0, 0);
	while (foreign_perf(&line, &next)) {
		strbuf_printf(out, "  %s\n      ", line.words);
		wrap(out, line.text, 6, 6);
	}
}

/* Topics that are no group of options. */
static const struct {
	const char *name;
	void (*print)(struct strbuf *out);
} other_topics[] = {
	{ "format", topic_format },   { "filter", topic_filter },
	{ "presets", topic_presets }, { "perf", topic_perf },
	{ "config", topic_config },   { "privileges", topic_privileges },
	{ "status", help_statuses },  { "examples", help_examples },
	{ "verbs", help_verbs },      { "all", help_all },
};
#define OTHER_TOPICS ((int)(sizeof(other_topics) / sizeof(other_topics[0])))

const char *manual_topic_name(int i)
{
	const int group_cnt = (int)man_topic_cnt;

	if (i < group_cnt)
		return man_topics[i].name;
	return i - group_cnt < OTHER_TOPICS ? other_topics[i - group_cnt].name : NULL;
}

bool manual_topic(struct strbuf *out, const char *word)
{
	const enum opts_verb verb = opts_verb_of(word);
	const char *other = foreign_text(FOREIGN_TOPIC, word);
	const char *topic = other ? other : word;

	if (verb != VERB_TRACE) {
		manual_verb(out, verb);
		return true;
	}
	for (size_t i = 0; i < man_topic_cnt; i++) {
		if (strcmp(man_topics[i].name, topic) != 0)
			continue;
		topic_options(out, &man_topics[i]);
		if (!strcmp(topic, "columns"))
			help_columns(out);
		return true;
	}
	for (int i = 0; i < OTHER_TOPICS; i++) {
		if (strcmp(other_topics[i].name, topic) != 0)
			continue;
		other_topics[i].print(out);
		return true;
	}
	/* an option without its dashes */
	return strlen(topic) > 1 && manual_option(out, topic, strlen(topic));
}
