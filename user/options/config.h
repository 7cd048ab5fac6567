#ifndef NFG_OPTIONS_CONFIG_H
#define NFG_OPTIONS_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "options/opttab.h"

/*
 * Configuration files: defaults of options, one per line, as "NAME VALUE" with the option's long name.
 *
 * A later file replaces what an earlier one says of an option; only the words of graph-opts add up. What is wrong is
 * said here, with file and line.
 */
#define CONFIG_BYTES_MAX (64u << 10) /* of a file */

/* Where the files are, in the order in which they are read. A place that is "" has none. */
struct config_places {
	char paths[2][PATH_MAX];
	bool is_named; /* by NETFGRAPH_CONFIG: it has to exist */
};

/*
 * config_places_find - from the environment: the file that NETFGRAPH_CONFIG names, and no other (none if it is empty);
 * without that variable /etc/netfgraph.conf, and netfgraph/config in XDG_CONFIG_HOME or in .config of HOME.
 */
void config_places_find(struct config_places *places);

struct config_line {
	const struct opt_def *def;
	const char *text; /* NULL: the option takes no value */
	bool is_off;      /* "no": an earlier file's flag does not count */
	size_t file;
	unsigned int number; /* from 1 on */
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
 * A file is refused that is no regular file, is longer than CONFIG_BYTES_MAX, or that somebody other than root and the
 * current user may write. Return: 0, or EXIT_STATUS_USAGE after a message. Caller frees with config_release, in every case.
 */
int config_read(struct config *config, const struct config_places *places);

/* config_read_text - the same of one more file's contents, which are copied; @path is for messages. */
int config_read_text(struct config *config, const char *path, const char *bytes, size_t len);
void config_release(struct config *config);

/*
 * config_apply - set the options that the command line left alone.
 *
 * The command line in @opts has been read. An option on it replaces all that files say of that option, and of options
 * that exclude it. What has no meaning for this command line is left out.
 */
void config_apply(const struct config *config, struct opts *opts);

/* config_print - the lines in force, with their files and line numbers, as a configuration file. */
void config_print(const struct config *config, const struct config_places *places,
		  struct strbuf *out);

#endif
