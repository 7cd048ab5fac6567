#ifndef NFG_SESSION_SILENCE_H
#define NFG_SESSION_SILENCE_H

#include <stdbool.h>

struct session;

/*
 * silence_say - at the end of a trace, after its losses were counted: if no call was seen, warn of it in the words of
 * the options that chose functions and tasks, with a hint where a likely reason is known.
 *
 * Return: whether no call was seen.
 */
bool silence_say(struct session *ses);

#endif
