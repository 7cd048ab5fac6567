#ifndef NFG_REPORT_REPORT_PARTS_H
#define NFG_REPORT_REPORT_PARTS_H

#include "format/dat_parse.h"
#include "report/report.h"

/*
 * What the readers of the kinds of files share. Private to report.c, report_text.c, report_dat.c and datinfo.c; choose.c
 * asks report_dat_knows, verbs.c that and report_text_refuse.
 */

/* report_check_input - refuse to overwrite the input @fd. Return: 0 or VERDICT_USAGE, already logged. */
int report_check_input(const struct report_config *config, int fd);

/*
 * report_no_match - called if a file has calls and none of them is shown.
 *
 * Return: VERDICT_NOTHING, already logged, if that is because options selected none; else 0.
 */
int report_no_match(const struct report_config *config);

/* report_is_stopped - whether to end early. */
bool report_is_stopped(const struct report_config *config);

/* report_text_run - report_run for a text. */
int report_text_run(const struct report_config *config, struct report_stats *stats);

/*
 * report_text_refuse - say what a file is that is no recording, as report does if its first bytes tell. @opened: called
 * when the file is open.
 *
 * Return: VERDICT_NOTHING; -EBADMSG: it may be a text; or -errno. Already logged unless -ENOMEM.
 */
int report_text_refuse(const char *path, void (*opened)(void));

/* A file of trace-cmd in memory. */
struct dat_file {
	struct dat *dat;
	unsigned char *bytes; /* mapped, or of a pipe */
	size_t len;
	bool is_mapped;
};

/*
 * dat_file_open - read up to where privileges can be given up; dat_open comes next. @config: whose output must not be this
 * file; NULL: not checked. Call dat_file_close in all cases.
 *
 * Return: 0, -errno or VERDICT_USAGE, already logged unless -ENOMEM.
 */
int dat_file_open(struct dat_file *file, const char *path, const struct report_config *config);
void dat_file_close(struct dat_file *file);

/* dat_file_refuse - log that it cannot be read. Return: -EBADMSG. */
int dat_file_refuse(const char *path, const char *error);

/* report_dat_knows - whether a file, or a pipe that is open already, is one of trace-cmd. Reads nothing from a pipe. */
bool report_dat_knows(const char *path);

/* report_dat_run - report_run for such a file. */
int report_dat_run(const struct report_config *config, struct report_stats *stats);

#endif
