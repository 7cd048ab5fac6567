#ifndef NFG_BASE_LOG_H
#define NFG_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/color.h"
#include "base/strbuf.h"

/*
 * Messages on standard error, one line each; the trace never goes here. Bytes in names and paths that would control a
 * terminal are written as \xNN (cleantext.h). The part before the colon has a colour on a terminal (color.h).
 *
 *	netfgraph: cannot write 'x': No space left on device    log_error
 *	netfgraph: lost 17 events: ring full; ...                log_warn
 *	hint: ...                                                log_hint: what to do about it
 *	netfgraph: 23 calls in 46 rows; ...                      log_info, with -v
 *	netfgraph: left out 'x': ...                             log_debug, with -vv
 *	netfgraph: tracing 40 functions to 'x'                   log_begin, not with -q
 *	netfgraph: traced 23 calls in 1.2 s; ...                 log_note, on a terminal only, not with -q
 *	attaching 412/1024                                       log_progress, log_status: the same
 *
 * If nobody reads standard error, a message waits for a second and is then dropped.
 */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * log_warn_cnt - unless @cnt is 0, warn: "@cnt @what", with @what from plural(). @path: the file that the warning
 * concerns; NULL: a live trace.
 */
void log_warn_cnt(uint64_t cnt, const char *path, const char *what);

/* log_has_error - whether log_error was called. */
bool log_has_error(void);

/*
 * log_unsaid - at the end of a command that failed with @err: log it if it is -errno, unless an error was already
 * logged.
 */
void log_unsaid(int err);

/* log_begin - log that something has begun, for which a person or a script may wait. */
void log_begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * log_note - log a message for a person who is watching: only if standard error is a terminal and we are in its
 * foreground.
 */
void log_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * log_progress - replace the progress line, under the same condition; a narrow terminal cuts it off. Any other
 * message removes it.
 */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* log_progress_mute - true: log_progress does nothing from now on. */
void log_progress_mute(bool mutes);

/* log_status - as log_progress, for an ASCII text, with @alarm coloured if its len is not 0. */
void log_status(const struct strbuf *text, const struct color_span *alarm);

/* log_progress_done - remove the progress line. */
void log_progress_done(void);

/* log_hold - true: keep messages from now on; false: print them. Progress is not shown meanwhile. */
void log_hold(bool holds);

/* log_open - called by main: send messages through a private descriptor (stream_own) instead of standard error's. */
void log_open(void);

/* log_verbosity - how often -v was given; log_set_verbosity sets it. */
int log_verbosity(void);
void log_set_verbosity(int level);

/* log_quiet - nothing of log_begin, log_note, log_progress and log_status is said from now on. */
void log_quiet(void);

#endif
