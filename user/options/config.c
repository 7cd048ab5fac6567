#include "options/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/privdrop.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "options/contradict.h"
#include "options/graphopts.h"
#include "options/opttab.h"

enum { GROUP_NONE, GROUP_ATTACH, GROUP_FORMAT, GROUP_SIZE };

static bool is_trace(const struct opts *opts)
{
	return !opts->input_path;
}

static bool lists_points(const struct opts *opts)
{
	return opts->verb == VERB_LIST && opts->events.cnt;
}

static bool excludes_funcs(const struct opts *opts)
{
	return is_trace(opts) && !lists_points(opts);
}

/* For list they would take the place of the functions. */
static bool shows_points(const struct opts *opts)
{
	return is_trace(opts) && (opts->verb == VERB_TRACE || opts->verb == VERB_RECORD);
}

/*
 * Whether the default functions apply. latency measures the functions that it is given, or those of its stages; list
 * --presets and --containers list no functions. Start functions, and names after list, replace the default.
 */
static bool chooses_funcs(const struct opts *opts)
{
	return is_trace(opts) && opts->verb != VERB_LATENCY && !opts->list_presets &&
	       !opts->list_containers && !lists_points(opts) && !opts->graph_funcs.cnt &&
	       !opts->presets.cnt && !opts->trace_funcs.cnt;
}

static bool chooses_columns(const struct opts *opts)
{
	return is_trace(opts) && !opts->consumer;
}

/* A format applies to traces and their tables: other output is for people, unless the command line has --format. */
static bool prints_calls(const struct opts *opts)
{
	return opts->verb == VERB_TRACE || opts->verb == VERB_REPORT ||
	       opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY;
}

/*
 * Options that describe one run (its calls, tasks and files) belong on the command line: in a file they would
 * hide everything else.
 *
 * The order is that in which defaults are set: the format before the options that depend on it. Defaults that
 * contradict the command line do not apply (contradict.h); the functions here exclude those that do not contradict it
 * but would mean something else.
 */
const struct config_rule config_rules[] = {
	{ "format", GROUP_FORMAT, prints_calls },
	{ "for", GROUP_FORMAT, NULL },
	{ "trace-funcs", 0, chooses_funcs },
	{ "notrace-funcs", 0, excludes_funcs },
	{ "event", 0, shows_points },
	{ "nosleep-time", 0, NULL },
	{ "callee-depth", 0, NULL },
	{ "all", 0, NULL },
	{ "learn", 0, NULL },
	{ "max-funcs", 0, NULL },
	{ "user", 0, NULL },
	{ "include-terminal", 0, NULL },
	{ "graph-depth", 0, NULL },
	{ "dialect", 0, NULL },
	{ "pointers", 0, NULL },
	{ "graph-opts", 0, chooses_columns },
	{ "sort", 0, NULL },
	{ "callers", 0, NULL },
	{ "rows", 0, NULL },
	{ "max-tasks", 0, NULL },
	{ "by-event", 0, NULL },
	{ "max-size", GROUP_SIZE, NULL },
	{ "rotate", GROUP_SIZE, NULL },
	{ "host", 0, is_trace },
	{ "timeout", 0, NULL },
	{ "buffer-size", 0, NULL },
	{ "max-overhead", 0, NULL },
	{ "max-events", 0, NULL },
	{ "attach", GROUP_ATTACH, NULL },
	{ "complete", GROUP_ATTACH, NULL },
	{ "cheap", GROUP_ATTACH, NULL },
	{ "wait-detach", 0, NULL },
	{ "strict", 0, NULL },
	{ "color", 0, NULL },
	{ "no-pager", 0, NULL },
	{ "verbose", 0, NULL },
	{ "quiet", 0, NULL },
};
const size_t config_rule_cnt = sizeof(config_rules) / sizeof(config_rules[0]);

const struct config_rule *config_rule_of(const struct opt_def *def)
{
	for (size_t i = 0; i < config_rule_cnt; i++) {
		if (!strcmp(config_rules[i].name, def->name))
			return &config_rules[i];
	}
	return NULL;
}

/* config_name - the name of the option @i that a file may set, from 0 on; NULL after the last one. */
static const char *config_name(int i)
{
	return (size_t)i < config_rule_cnt ? config_rules[i].name : NULL;
}

/* config_is_given - whether the command line has the option or another of its group. */
static bool config_is_given(const struct opts *opts, const struct opt_def *def)
{
	const struct config_rule *rule = config_rule_of(def);

	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct config_rule *other = config_rule_of(&opt_defs[i]);

		if (opts->given[i] && (&opt_defs[i] == def || (rule && rule->group && other &&
							       other->group == rule->group)))
			return true;
	}
	return false;
}

/* ---- the files, and their effective lines ---- */

static bool is_words(const struct opt_def *def)
{
	return def->value.apply == graphopts_apply;
}

/* Whether @line sets the option of @def, or an option that excludes it. */
static bool is_about(const struct config_line *line, const struct opt_def *def)
{
	const struct config_rule *rule = config_rule_of(def);

	return line->def == def || (rule->group && config_rule_of(line->def)->group == rule->group);
}

/* Whether no later file overrides @line, and no later line of its file turns the flag off. */
static bool is_in_force(const struct config *config, const struct config_line *line)
{
	if (line->is_off)
		return false;
	for (size_t i = 0; i < config->line_cnt && !is_words(line->def); i++) {
		const struct config_line *other = &config->lines[i];

		if (other->file > line->file && is_about(other, line->def))
			return false;
		if (other > line && other->is_off && other->def == line->def)
			return false;
	}
	return true;
}

/* Whether the option has a meaning for this command line, which does not contain it. */
static bool config_suits(const struct opts *opts, const struct opt_def *def)
{
	const struct config_rule *rule = config_rule_of(def);

	if (!(def->verbs & 1u << opts->verb))
		return false;
	return !rule->suits || rule->suits(opts);
}

static void apply_line(const struct config_line *line, struct opts *opts)
{
	if (is_words(line->def)) {
		opts->has_columns = true;
		graphopts_apply_default(opts, line->text);
	} else {
		/* as on the command line: a flag, and an option without its optional value, has no text */
		optvalue_set(opts, line->def, line->text);
	}
}

/* Forget the files' values of its group: two such lines contradict each other, and that must be reported. */
static void forget_group(struct opts *opts, const struct opt_def *def)
{
	const int group = config_rule_of(def)->group;

	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct config_rule *rule = config_rule_of(&opt_defs[i]);

		if (&opt_defs[i] == def || (group && rule && rule->group == group))
			optvalue_forget(opts, &opt_defs[i]);
	}
}

/* Whether this default adds a contradiction to the command line, which may contain others. */
static bool is_contradicted(const struct config_line *line, const struct opts *opts)
{
	struct opts probe = *opts;
	bool is_worse;

	if (!line->def->value.size)
		return false; /* it is not in struct opts (-v) */
	forget_group(&probe, line->def);
	apply_line(line, &probe);
	is_worse = contradict_adds(opts, &probe);
	optvalue_release(&probe, line->def);
	return is_worse;
}

void config_apply(const struct config *config, struct opts *opts)
{
	/*
	 * in the order of the table: --for precedes options that depend on the format. Of a list option only the first
	 * line is checked, because a line that was applied would exclude the next.
	 */
	for (size_t i = 0; i < config_rule_cnt; i++) {
		const struct config_line *line;
		bool is_first = true;

		for (size_t k = 0; k < config->line_cnt; k++) {
			line = &config->lines[k];
			if (strcmp(line->def->name, config_rules[i].name) != 0 ||
			    !is_in_force(config, line))
				continue;
			if (is_first &&
			    ((!is_words(line->def) && config_is_given(opts, line->def)) ||
			     !config_suits(opts, line->def)))
				break;
			is_first = false;
			if (!is_contradicted(line, opts))
				apply_line(line, opts);
		}
	}
	graphopts_settle_defaults(opts);
}

void config_print(const struct config *config, const struct config_places *places,
		  struct strbuf *out)
{
	bool has_line = false;

	for (size_t i = 0; i < config->line_cnt; i++) {
		const struct config_line *line = &config->lines[i];

		if (!is_in_force(config, line))
			continue;
		strbuf_printf(out, "# %s:%u\n%s", config->paths[line->file], line->number,
			      line->def->name);
		if (line->text)
			strbuf_printf(out, " %s", line->text);
		strbuf_char(out, '\n');
		has_line = true;
	}
	if (has_line)
		return;
	strbuf_str(out, "# no defaults from files\n");
	for (size_t i = 0; i < sizeof(places->paths) / sizeof(places->paths[0]); i++) {
		if (*places->paths[i])
			strbuf_printf(out, "# looked for: %s\n", places->paths[i]);
	}
}

#define BLANKS " \t\r"

/* ---- a line ---- */

/* The reader's position, for messages. */
struct place {
	const char *path;
	unsigned int number;
};

static int hint_names(const char *word)
{
	const char *near = suggest_of(word, config_name);

	if (*near)
		log_hint("did you mean %s?", near);
	else
		log_hint("write the long name of an option and its value, as in 'timeout 10s'");
	return VERDICT_USAGE;
}

static const struct opt_def *def_called(const char *name)
{
	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (!strcmp(opt_defs[i].name, name))
			return &opt_defs[i];
	}
	return NULL;
}

static int refuse_name(const struct place *place, const char *name)
{
	const struct opt_def *def = def_called(name);

	if (def) {
		log_error("%s:%u: '%s' belongs on the command line", place->path, place->number,
			  name);
		log_hint("a configuration file may only set options that suit every run");
		return VERDICT_USAGE;
	}
	log_error("%s:%u: there is no option '%s'", place->path, place->number, name);
	return hint_names(name + strspn(name, "-"));
}

static int refuse_value(const struct place *place, const struct opt_def *def, const char *text,
			const char *why)
{
	log_error("%s:%u: %s: '%s' %s", place->path, place->number, def->name, text, why);
	if (*text == '=')
		log_hint("write '%s %s', without '='", def->name,
			 text + 1 + strspn(text + 1, BLANKS));
	else
		log_hint("'netfgraph help all' describes %s", def->name);
	return VERDICT_USAGE;
}

/* Check the value by setting it in scratch options. Return: as optvalue_set. */
static const char *wrong_with(const struct opt_def *def, const char *text)
{
	struct opts probe = { 0 };
	const char *why = optvalue_set(&probe, def, text);

	optvalue_release(&probe, def);
	return why;
}

/* Whether @text is absent, or turns something on or off; options with a choice of values may have such values, too. */
static bool is_switch(const struct opt_def *def, const char *text)
{
	return !def->arg ||
	       (opt_def_has_choice(def) && (!*text || !strcmp(text, "yes") || !strcmp(text, "no")));
}

static int add_line(struct config *config, const struct place *place, const struct opt_def *def,
		    const char *text)
{
	struct config_line line = {
		.def = def,
		.file = config->file_cnt - 1,
		.number = place->number,
	};
	const char *why = NULL;

	if (is_switch(def, text)) {
		line.is_off = !strcmp(text, "no");
		if (*text && !line.is_off && strcmp(text, "yes") != 0)
			why = "is neither yes nor no";
	} else {
		line.text = text;
		why = *text ? wrong_with(def, text) : "is empty";
	}
	if (why)
		return refuse_value(place, def, text, why);
	if (VEC_RESERVE(config->lines, config->line_cap, config->line_cnt + 1)) {
		log_error("%s does not fit in memory", place->path);
		return VERDICT_FAILED;
	}
	config->lines[config->line_cnt++] = line;
	return 0;
}

/* @line: without its end; it is split into name and value. */
static int read_line(struct config *config, const struct place *place, char *line)
{
	char *name = line + strspn(line, BLANKS);
	const struct opt_def *def;
	char *text;
	size_t len;

	if (!*name || *name == '#')
		return 0;
	text = name + strcspn(name, BLANKS);
	len = strlen(text);
	while (len && strchr(BLANKS, text[len - 1]))
		text[--len] = '\0';
	if (len) {
		*text++ = '\0';
		text += strspn(text, BLANKS);
	}
	def = def_called(name);
	if (!def || !config_rule_of(def))
		return refuse_name(place, name);
	return add_line(config, place, def, text);
}

/* ---- a file ---- */

/* @text: a copy of the contents, with a zero byte at @end. */
static int read_lines(struct config *config, const char *path, char *text, const char *end)
{
	struct place place = { .path = path };
	char *line = text;
	int status = 0;

	while (!status && line < end) {
		char *line_end = memchr(line, '\n', (size_t)(end - line));

		place.number++;
		if (!line_end)
			line_end = line + (end - line);
		*line_end = '\0';
		if (line + strlen(line) != line_end) {
			log_error("%s:%u: the line has a zero byte", path, place.number);
			log_hint(
				"a configuration file is text: comments after #, and OPTION VALUE");
			return VERDICT_USAGE;
		}
		status = read_line(config, &place, line);
		line = line_end + 1;
	}
	return status;
}

int config_read_text(struct config *config, const char *path, const char *bytes, size_t len)
{
	char *name = strdup(path);
	char *text = malloc(len + 1);

	config->paths[config->file_cnt] = name;
	config->texts[config->file_cnt] = text;
	config->file_cnt++;
	if (!name || !text) {
		log_error("%s does not fit in memory", path);
		return VERDICT_FAILED;
	}
	memcpy(text, bytes, len);
	text[len] = '\0';
	return read_lines(config, name, text, text + len);
}

/* ---- files ---- */

static int config_refuse_file(const char *path, const char *why, const char *hint)
{
	log_error("%s: %s", path, why);
	log_hint("%s; --no-config ignores it", hint);
	return VERDICT_USAGE;
}

/* Other users must not control root's trace. */
static int check_file(int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st))
		return config_refuse_file(path, strerror(errno), "make it readable");
	if (!S_ISREG(st.st_mode))
		return config_refuse_file(path, "not a regular file",
					  "remove it, or make it a file");
	if (st.st_uid && st.st_uid != geteuid())
		return config_refuse_file(
			path, "belongs to another user",
			"it must belong to root or to the user who runs netfgraph");
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return config_refuse_file(path, "other users may write to it",
					  "chmod go-w makes it safe");
	return 0;
}

/* Return: the number of bytes; more than CONFIG_BYTES_MAX: the file is too large; or -errno. */
static ssize_t config_read_all(int fd, char *bytes)
{
	size_t len = 0;

	while (len <= CONFIG_BYTES_MAX) {
		ssize_t got = read(fd, bytes + len, CONFIG_BYTES_MAX + 1 - len);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (!got)
			break;
		if (got > 0)
			len += (size_t)got;
	}
	return (ssize_t)len;
}

static int read_open_file(struct config *config, int fd, const char *path)
{
	char *bytes = malloc(CONFIG_BYTES_MAX + 1);
	int status = check_file(fd, path);
	ssize_t len = 0;

	if (!status && bytes)
		len = config_read_all(fd, bytes);
	if (!status && !bytes)
		status = config_refuse_file(path, "does not fit in memory", "free some memory");
	else if (!status && len < 0)
		status = config_refuse_file(path, strerror((int)-len), "make it readable");
	else if (!status && len > (ssize_t)CONFIG_BYTES_MAX)
		status = config_refuse_file(path, "longer than 64K", "shorten it");
	else if (!status)
		status = config_read_text(config, path, bytes, (size_t)len);
	free(bytes);
	return status;
}

struct opening {
	const char *path;
	int fd;
	int err;
};

static bool open_file(void *ctx)
{
	struct opening *opening = ctx;

	opening->fd = open(opening->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	opening->err = opening->fd < 0 ? errno : 0;
	return true;
}

/*
 * A program file with capabilities (setcap) must not show its user lines of files that only the capabilities can read.
 *
 * Return: a descriptor or -errno.
 */
static int open_as_user(const char *path)
{
	struct opening opening = { .path = path, .fd = -1, .err = EACCES };

	if (getauxval(AT_SECURE))
		privdrop_works(open_file, &opening);
	else
		open_file(&opening);
	return opening.fd >= 0 ? opening.fd : -opening.err;
}

/* With another user's HOME (setpriv, su), a file that cannot be reached there is not this user's file. */
static bool is_missing(int err, size_t place)
{
	return err == -ENOENT || err == -ENOTDIR || (place == 1 && err == -EACCES);
}

int config_read(struct config *config, const struct config_places *places)
{
	int status = 0;

	for (size_t i = 0; i < sizeof(places->paths) / sizeof(places->paths[0]) && !status; i++) {
		const char *path = places->paths[i];
		int fd;

		if (!*path)
			continue;
		fd = open_as_user(path);
		if (fd >= 0) {
			status = read_open_file(config, fd, path);
			close(fd);
		} else if (is_missing(fd, i) && !places->is_named) {
			log_debug("no defaults from '%s': %s", path, strerror(-fd));
		} else {
			status = config_refuse_file(
				path, strerror(-fd),
				fd == -ENOENT
					? "NETFGRAPH_CONFIG names it: name a file that is there"
					: "make it readable");
		}
	}
	return status;
}

void config_release(struct config *config)
{
	for (size_t i = 0; i < config->file_cnt; i++) {
		free(config->paths[i]);
		free(config->texts[i]);
	}
	free(config->lines);
	*config = (struct config){ 0 };
}

void config_places_find(struct config_places *places)
{
	const char *named = getenv("NETFGRAPH_CONFIG");
	const char *xdg = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	char *user = places->paths[1];
	const size_t size = sizeof(places->paths[1]);
	int len = 0;

	*places = (struct config_places){ .is_named = named && *named };
	if (named) {
		len = snprintf(user, size, "%s", named);
	} else {
		snprintf(places->paths[0], size, "/etc/netfgraph.conf");
		if (xdg && *xdg == '/')
			len = snprintf(user, size, "%s/netfgraph/config", xdg);
		else if (home && *home == '/')
			len = snprintf(user, size, "%s/.config/netfgraph/config", home);
	}
	if (len >= (int)size && !named)
		*user = '\0'; /* no file can have this path */
}
