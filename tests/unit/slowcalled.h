#ifndef NFG_TEST_SLOWCALLED_H
#define NFG_TEST_SLOWCALLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/causes.h"
#include "format/slowcalls.h"
#include "kernel/netstat.h"

/* Calls of f by task curl-77 on CPU 1, of which some are slow. Each test has its own. */
extern struct slowcalls *sc;
extern struct causes_groups groups;
extern struct causes causes; /* of the first group */

#define US                   1000ll

#define CHECK_INT(got, want) check_int(__LINE__, (int64_t)(got), (int64_t)(want))
void check_int(int line, int64_t got, int64_t want);

/* A note of a sleep of 50 ms. */
#define SLEPT                                                                                       \
	"slept: us=50000 state=S in=wait_more+0x1/0x20 waker=task waker_comm=a server waker_pid=9 " \
	"from=send_it+0x2/0x30 queued_us=2000 prev_comm=hog prev_pid=7"

#define WOKEN_BY(waker)                                                                       \
	"slept: us=50000 state=S in=sk_wait_data+0x1/0x20 waker=" waker " waker_comm=server " \
	"waker_pid=9 from=tcp_data_queue+0x2/0x30 queued_us=0"

/* What that waker did meanwhile. */
#define DID(ran, queued, faults, asleep, longest, state_in)                      \
	"waker_did: us=50000 ran_us=" ran " queued_us=" queued " faults=" faults \
	" asleep_us=" asleep " longest_us=" longest " " state_in

/* What is said if nothing is known of it. */
#define LATE_BY_SERVER                                                                           \
	"Likely: the data came late, by server-9; what it did meanwhile is not known: a task "   \
	"is followed only once it has woken one inside a traced call, or left a CPU inside one " \
	"(--tid traces the task itself).\n"

/* For BEFORE and AFTER. */
void calls_begin(void);
void calls_free(void);

void put(enum row_kind kind, uint32_t depth, uint64_t at_us, uint64_t took_us, const char *name);

/* put_note - what --graph-opts sleep adds, as a text has it. */
void put_note(uint64_t at_us, const char *text);

/* put_point - a tracepoint, as a recording has it. */
void put_point(uint64_t at_us, const char *system, const char *name, const struct value *fields,
	       uint32_t cnt);

#define FIELD_TEXT(key, word)                         \
	{                                             \
		.name = TEXT(key), .text = TEXT(word) \
	}

/* put_usual - a usual call of f: 100 us, 40 of which in g. Return: when the next one may begin. */
uint64_t put_usual(uint64_t at_us);
uint64_t put_usuals(uint64_t at_us, int cnt);

/* put_slow - a slow one, which has a note inside and takes so much longer. */
uint64_t put_slow(uint64_t at_us, uint64_t more_us, const char *note);

/* put_slow_did - a slow call like put_slow, which slept once for each pair of @notes. */
uint64_t put_slow_did(uint64_t at_us, const char *const notes[], size_t cnt);

/* find - finish, and find the causes of the slow calls of f; 0: without being told what is slow. */
void find(uint64_t slower_us);
void find_again(uint64_t slower_us);

/* name_at - valid for four calls. */
const char *name_at(uint32_t name);

/* check_cause - cause @i: its kind and function, and its excess. */
void check_cause(size_t i, enum cause_kind kind, const char *func, int64_t excess_us);

/* check_whole - all of the excess is in the causes, or said to be in none. */
void check_whole(void);

/* check_has - finish, and check whether @want stands in the text that explain makes. @counted: NULL: not known. */
void check_has(const struct netstat *counted, const char *want, bool has);
/* check_slower_has - the same of --slower-than. */
void check_slower_has(uint64_t slower_us, const struct netstat *counted, const char *want,
		      bool has);

#endif
