#ifndef NFG_BASE_PAGER_H
#define NFG_BASE_PAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/output.h"

/*
 * A pager between us and the terminal, if that is standard output: $NETFGRAPH_PAGER, $PAGER, or less -FRX. No pager
 * runs if the variable is empty or "cat", on a dumb terminal, in the background, or if less is not installed.
 *
 * The pager starts when the first byte arrives; until then Ctrl-C ends us, later the pager handles it. Quitting the
 * pager early is not an error (output_leavable). Messages are held until the pager ends. SIGTERM ends the pager, and
 * then us after the messages are printed; a second one ends us at once.
 */

/* pager_start - Return: whether there is a pager; then pager_end must follow. */
bool pager_start(void);

/*
 * pager_end - after the last write: wait until the user quits the pager, then print the messages. Does not return if
 * SIGTERM arrived meanwhile.
 *
 * Return: 0, or -ECHILD after an error message: it could not be run, and nothing was shown.
 */
int pager_end(void);

/*
 * pager_table - announce that what @text has from @start on is a table, with one column per byte. If it is the pager's
 * first text and has rows wider than the terminal, less cuts the rows there instead of wrapping them (-S), and waits for
 * keys.
 */
void pager_table(const struct strbuf *text, size_t start);

/* pager_page - output_page, through a pager if @is_wanted. */
int pager_page(struct strbuf *text, color_find *paint, bool is_wanted);

#endif
