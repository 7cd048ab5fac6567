#ifndef NFG_BASE_TTY_H
#define NFG_BASE_TTY_H

#include <stdbool.h>

/* tty_is_foreground - whether @fd is a terminal and, if it is our controlling one, we are in its foreground. */
bool tty_is_foreground(int fd);

/* tty_columns - the width of the terminal @fd; 80 if unknown. */
unsigned int tty_columns(int fd);

#endif
