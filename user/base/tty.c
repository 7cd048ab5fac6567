#include "base/tty.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_DEFAULT 80

bool tty_is_foreground(int fd)
{
	pid_t group = isatty(fd) ? tcgetpgrp(fd) : -1;

	/* another terminal than the one that controls us has no jobs of ours */
	return isatty(fd) && (group < 0 || group == getpgrp());
}

unsigned int tty_columns(int fd)
{
	struct winsize size = { 0 };

	return !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : COLUMNS_DEFAULT;
}
