#ifndef NFG_REPORT_START_SETUP_H
#define NFG_REPORT_START_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/functab.h"
#include "options/opts.h"
#include "kernel/proto.h"
#include "trace/starts.h"
#include "nfg_abi.h"

/* start_setup_are_wanted - whether only calls of start functions are shown: -G, --preset, --packet, --filter. */
bool start_setup_are_wanted(const struct opts *opts);

/* start_setup_has_marks - whether the BPF programs mark the exits of calls that match: --filter, --errors-only. */
bool start_setup_has_marks(const struct opts *opts);

/* start_setup_configure - what the BPF programs have to know of that, in @cfg. */
void start_setup_configure(const struct opts *opts, struct nfg_cfg *cfg);

/*
 * start_setup_check - whether the functions support --packet.
 *
 * Return: 0, or -ENOENT when a function of -G, or every function, lacks a packet argument (already logged).
 */
int start_setup_check(const struct opts *opts, const struct functab *functab);

/*
 * start_setup_check_filter - whether the functions support --filter. Sets fits_filter of each function that has
 * everything the filter names.
 *
 * Return: 0, or -ENOENT when a function of -G, or every function, lacks something (already logged).
 */
int start_setup_check_filter(const struct opts *opts, struct functab *functab,
			     const struct proto_table *protos);

/*
 * start_setup_new - set up -G, -g, --preset, --packet, --slower-than, --errors-only and --filter.
 *
 * Sets is_start of each start function in @functab. *kinds: the kind of each function, read by *out. Both are
 * unchanged if none of the options is given. Return: 0 or -ENOMEM. Caller frees *out with starts_free, then *kinds
 * with free.
 */
int start_setup_new(struct starts **out, uint8_t **kinds, const struct opts *opts,
		    struct functab *functab);

/* start_setup_cnt - how many start functions there are; after start_setup_check_filter. */
size_t start_setup_cnt(const struct opts *opts, const struct functab *functab);

/*
 * start_setup_say - warn of graphs that are not shown whole; with -v, log how many calls of start functions there were,
 * and how many were shown. @path: of the recording, NULL if live.
 */
void start_setup_say(const struct starts *starts, const char *path);

/* start_setup_say_unmatched - warn if no call matched --filter, --errors-only or --slower-than. */
void start_setup_say_unmatched(const struct opts *opts, const struct starts *starts);

#endif
