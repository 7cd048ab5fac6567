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
#include "base/suggest.h"
#include "base/vec.h"
#include "options/configrules.h"
#include "options/optvalue.h"
#include "process/privdrop.h"

#define BLANKS " \t\r"

/* ---- a line ---- */

/* Where the reader is, for messages. */
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
	return EXIT_STATUS_USAGE;
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
		return EXIT_STATUS_USAGE;
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
	return EXIT_STATUS_USAGE;
}

/* Check the value by setting it in scratch options. Return: as optvalue_set. */
static const char *wrong_with(const struct opt_def *def, const char *text)
{
	struct opts probe = { 0 };
	const char *why = optvalue_set(&probe, def, text);

	optvalue_release(&probe, def);
	return why;
}

/* No value, or what switches on and off; an option with a choice of values may have these, too. */
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
		return EXIT_STATUS_FAILED;
	}
	config->lines[config->line_cnt++] = line;
	return 0;
}

/* @line: without its end; it is cut into name and value. */
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
			return EXIT_STATUS_USAGE;
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
		return EXIT_STATUS_FAILED;
	}
	memcpy(text, bytes, len);
	text[len] = '\0';
	return read_lines(config, name, text, text + len);
}

/* ---- files ---- */

static int refuse_file(const char *path, const char *why, const char *hint)
{
	log_error("%s: %s", path, why);
	log_hint("%s; --no-config ignores it", hint);
	return EXIT_STATUS_USAGE;
}

/* Other users must not decide how root's trace runs. */
static int check_file(int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st))
		return refuse_file(path, strerror(errno), "make it readable");
	if (!S_ISREG(st.st_mode))
		return refuse_file(path, "not a regular file", "remove it, or make it a file");
	if (st.st_uid && st.st_uid != geteuid())
		return refuse_file(path, "belongs to another user",
				   "it must belong to root or to the user who runs netfgraph");
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return refuse_file(path, "other users may write to it", "chmod go-w makes it safe");
	return 0;
}

/* Return: bytes, more than CONFIG_BYTES_MAX: too many, or -errno. */
static ssize_t read_all(int fd, char *bytes)
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
		len = read_all(fd, bytes);
	if (!status && !bytes)
		status = refuse_file(path, "does not fit in memory", "free some memory");
	else if (!status && len < 0)
		status = refuse_file(path, strerror((int)-len), "make it readable");
	else if (!status && len > (ssize_t)CONFIG_BYTES_MAX)
		status = refuse_file(path, "longer than 64K", "shorten it");
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

/* With another user's HOME (setpriv, su) what cannot be reached there is not this user's file. */
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
			status = refuse_file(path, strerror(-fd), "make it readable");
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
		*user = '\0'; /* no file can have that path */
}
