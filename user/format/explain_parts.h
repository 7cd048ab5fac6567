#ifndef NFG_FORMAT_EXPLAIN_PARTS_H
#define NFG_FORMAT_EXPLAIN_PARTS_H

#include "base/json.h"
#include "format/causes.h"
#include "format/explain.h"
#include "format/likely.h"

/* What explain.c says and explain_json.c says, too. Private to user/format/. */

/* A cause is named if it has a hundredth of the excess, and is not behind so many others. */
#define CAUSES_SHOWN_MAX 8
#define EVENTS_SHOWN_MAX 5

struct explain {
	struct slowcalls *sc;
	const struct explain_view *view;
	const struct causes_groups *groups;
	const struct causes *causes; /* one of groups */
	struct strbuf *out;
	uint64_t slower_ns; /* 0: the rule of slowgroups.h */
	size_t shown_cnt;   /* of causes->items, from the first on */
	size_t timed_cnt;   /* of causes->items: those before events */
	int64_t rest_ns;    /* the excess of those not shown, */
	int64_t less_ns; /* and of those among them of which slow calls have less than others: below 0 */
	size_t less_cnt;
};

/* explain_choose - go on with group @i. */
void explain_choose(struct explain *ex, size_t i);

const struct cause_key *explain_key(const struct explain *ex, const struct cause *cause);

/* explain_put_name - append a name, "?" for SLOWCALLS_NONE. */
void explain_put_name(struct explain *ex, uint32_t name);

/* explain_name_is - whether the name is @word. */
bool explain_name_is(const struct explain *ex, uint32_t name, const char *word);

/* explain_percent - the part of all excess. */
double explain_percent(const struct explain *ex, int64_t ns);

/* explain_has_details - whether causes of this kind have parts that are told apart. */
bool explain_has_details(uint32_t kind);

/* explain_has_within - whether it says something that most of the running excess is in one place with what that calls. */
bool explain_has_within(const struct explain *ex);

/* explain_likely - @likely: room for LIKELY_MAX. Return: their number. */
size_t explain_likely(struct explain *ex, struct likely *likely);

/* explain_put_likely - append what it says, with the waker that it is of, without the counter. */
void explain_put_likely(struct explain *ex, const struct likely *likely, struct strbuf *out);

/* What a tracepoint says of packets. */
enum explain_freed {
	FREED_NOTHING, /* it is none that frees packets */
	FREED_PACKET,  /* dropped it */
	FREED_PARTS,   /* what it consists of went with it: dropped or received */
};
enum explain_freed explain_freed(const struct explain *ex, const struct cause *cause);

/* explain_is_likely_event - whether the event at @cause, which is shown, is likely why the calls were slow. */
bool explain_is_likely_event(const struct explain *ex, const struct cause *cause);

/* explain_shows_event - whether the event at causes->items[@i] came with slow calls more than with others. */
bool explain_shows_event(const struct explain *ex, size_t i);

/* explain_put_events - append a line for each event that is shown. @are_likely: those that are, or else the others. */
void explain_put_events(struct explain *ex, bool are_likely);

/*
 * explain_hanging - a start function, from the *@i-th on, that has a call a flight recorder waited for that had not returned at the
 * end; NULL: none. *@i is behind it then.
 */
const struct startfunc *explain_hanging(const struct slowcalls *sc, const struct explain_view *view,
					uint32_t *i);

/* explain_text - what is said of the slow calls of one start function, and with trees the slowest of them. */
void explain_text(struct explain *ex);

/* explain_page_part - the same as a page's part: the text, and a tree that opens. */
void explain_page_part(struct explain *ex);

/* explain_text_hanging - calls that a flight recorder waited for and that had not returned at the end. */
void explain_text_hanging(const struct slowcalls *sc, const struct explain_view *view,
			  struct strbuf *out);

/* explain_text_left - functions that a limit left out: a cause may be in what was not traced until the end. */
void explain_text_left(const struct explain_view *view, struct strbuf *out);

/* explain_text_counted - the kernel's counters that went up meanwhile. They do not tell whose calls became slow. */
void explain_text_counted(const struct netstat *counted, struct strbuf *out);

/* explain_text_others - that a flight recorder's file has slow calls of @cnt other start functions, and how long they took. */
void explain_text_others(const struct slowcalls *sc, const struct slowstart *others, uint32_t cnt,
			 struct strbuf *out);

/* Members of the whole, and of one start function's object. */
void explain_json_begin(const struct explain_view *view, struct jsonw *w);
void explain_json_func(struct explain *ex, struct jsonw *w);
void explain_json_hanging(const struct slowcalls *sc, const struct explain_view *view,
			  struct jsonw *w);
void explain_json_left(const struct explain_view *view, struct jsonw *w);
void explain_json_counted(const struct netstat *counted, struct jsonw *w);

#endif
