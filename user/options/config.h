#ifndef NFG_OPTIONS_CONFIG_H
#define NFG_OPTIONS_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "options/opttab.h"

/*
 * Configuration files: default values of options, one per line, as "NAME VALUE" with the option's long name.
 *
 * A later file replaces an option's value from an earlier one; only the words of graph-opts add up. Errors are logged
 * here, with file and line.
 */
#define CONFIG_BYTES_MAX (64u << 10) /* limit for a file */

/* Paths of the files, in the order in which they are read; "": none. */
struct config_places {
	char paths[2][PATH_MAX];
	bool is_named; /* NETFGRAPH_CONFIG names it: it must exist */
};

/*
 * config_places_find - find the paths in the environment: only the file that NETFGRAPH_CONFIG names (none if it is
 * empty); without that variable /etc/netfgraph.conf, and netfgraph/config in XDG_CONFIG_HOME or in .config of HOME.
 */
void config_places_find(struct config_places *places);

struct config_line {
	const struct opt_def *def;
	const char *text; /* NULL: the option takes no value */
	bool is_off;      /* "no": cancels the flag of an earlier file */
	size_t file;
	unsigned int number; /* from 1 */
};

struct config {
	char *paths[2];
	char *texts[2];
	size_t file_cnt;
	struct config_line *lines;
	size_t line_cnt;
	size_t line_cap;
};

/*
 * config_read - read the files that exist into the zeroed @config.
 *
 * Refuses a file that is not regular, exceeds CONFIG_BYTES_MAX, or that users other than root and the caller own or
 * may write to. Return: 0, or after a message VERDICT_USAGE, or VERDICT_FAILED without memory. Caller frees with config_release in all cases.
 */
int config_read(struct config *config, const struct config_places *places);

/* config_read_text - as config_read, for the contents of one more file, which are copied; @path is for messages. */
int config_read_text(struct config *config, const char *path, const char *bytes, size_t len);
void config_release(struct config *config);

/*
 * config_apply - set the options that the command line did not.
 *
 * @opts must contain the command line. An option on it replaces the files' values of that option and of options that
 * exclude it. Values that contradict this command line, or would mean something else with it, are ignored.
 */
void config_apply(const struct config *config, struct opts *opts);

/* config_print - append the effective lines, with their files and line numbers, as a configuration file. */
void config_print(const struct config *config, const struct config_places *places,
		  struct strbuf *out);

/* An option that a configuration file may set, and the condition for its value to apply. */
struct config_rule {
	const char *name; /* name of the option */
	int group;        /* options of the same group exclude each other; 0: none */
	/* whether a value has the same meaning with this command line; NULL: always */
	bool (*suits)(const struct opts *opts);
};

extern const struct config_rule config_rules[];
extern const size_t config_rule_cnt;

/* config_rule_of - the option's rule; NULL: a configuration file may not set it. */
const struct config_rule *config_rule_of(const struct opt_def *def);

#endif
