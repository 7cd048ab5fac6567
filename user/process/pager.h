#ifndef NFG_PROCESS_PAGER_H
#define NFG_PROCESS_PAGER_H

#include <stdbool.h>

#include "base/output.h"

/*
 * A pager between us and the terminal that is our standard output: $NETFGRAPH_PAGER, $PAGER, or less -FRX. None where
 * that is empty or "cat", on a dumb terminal, in the background, and where less is not installed.
 *
 * The pager begins with the first byte that it gets; until then Ctrl-C ends us, later it is the pager's. Whoever leaves
 * the pager has seen enough, which is no failure (output_leavable). Meanwhile messages are held back. SIGTERM ends the
 * pager, and then us once the messages are out; a second one ends us at once.
 */

/* pager_start - Return: whether there is one; then pager_end must follow. */
bool pager_start(void);

/*
 * pager_end - after the last write: wait until its user leaves it, then show the messages. Does not return if SIGTERM
 * came meanwhile.
 *
 * Return: 0, or -ECHILD after an error message: it could not be run, and nothing was shown.
 */
int pager_end(void);

/* pager_page - output_page, through a pager if @is_wanted. */
int pager_page(struct strbuf *text, color_find *paint, bool is_wanted);

#endif
