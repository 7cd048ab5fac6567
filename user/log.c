#include "log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static int verbosity;
static bool has_progress;

static void clear_progress(void)
{
	if (has_progress)
		fputs("\r\033[K", stderr);
	has_progress = false;
}

/* One write per line, so that lines of the traced command do not cut into it. */
static void line(const char *prefix, const char *fmt, va_list ap)
{
	char text[2048];
	int len = vsnprintf(text, sizeof(text), fmt, ap);

	clear_progress();
	if (len >= 0)
		fprintf(stderr, "%s: %s\n", prefix, text);
	fflush(stderr);
}

#define DEFINE_LOG(name, prefix, level)  \
	void name(const char *fmt, ...)  \
	{                                \
		va_list ap;              \
                                         \
		if (verbosity < (level)) \
			return;          \
		va_start(ap, fmt);       \
		line(prefix, fmt, ap);   \
		va_end(ap);              \
	}

DEFINE_LOG(log_error, "netfgraph", 0)
DEFINE_LOG(log_warn, "netfgraph", 0)
DEFINE_LOG(log_info, "netfgraph", 1)
DEFINE_LOG(log_debug, "netfgraph", 2)
DEFINE_LOG(log_hint, "hint", 0)

void log_progress(const char *fmt, ...)
{
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\033[K", stderr);
	fflush(stderr);
	has_progress = true;
}

void log_progress_done(void)
{
	clear_progress();
	fflush(stderr);
}

int log_verbosity(void)
{
	return verbosity;
}

void log_set_verbosity(int level)
{
	verbosity = level;
}
