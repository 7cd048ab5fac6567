#ifndef NFG_OPTIONS_EXPLAINOPTS_H
#define NFG_OPTIONS_EXPLAINOPTS_H

#include "options/opts.h"

/*
 * What a trace records so that slow calls can be explained: sleeps, and unless options choose functions, those that the
 * start functions call directly, those in which calls are known to lose time, and the packets that calls lose.
 */

/* explainopts_settle - what explain without a FILE traces, also for list --explain. Return: NULL, or the complaint (static). */
const char *explainopts_settle(struct opts *opts);

/*
 * explainopts_settle_recorder - what a flight recorder traces for its conditions, unless options choose functions: for
 * calls that take longer the same as explain, with the functions of the conditions as start functions; for drops their
 * reasons.
 *
 * Return: NULL, or the complaint (static).
 */
const char *explainopts_settle_recorder(struct opts *opts);

/* explainopts_starts_at - whether the recorder starts at this function beside those of -G: it drops, and --when waits for drops. */
bool explainopts_starts_at(const struct opts *opts, const char *func);

/* explainopts_is_drops_point - whether it is the tracepoint that all drops hit. */
bool explainopts_is_drops_point(const char *system, const char *name);

/*
 * explainopts_droppers - the functions that a recorder with opts.drops_by_point does not trace: the tracepoint of drops has where they
 * return to as the place of a drop, which tracing hides. Return: *@cnt names.
 */
const char *const *explainopts_droppers(size_t *cnt);

/* explainopts_waited - the first function of which --when waits for a long call; NULL: none, or only patterns. */
const char *explainopts_waited(const struct opts *opts);

#endif
