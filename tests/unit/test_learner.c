#include "trace/learner.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "harness.h"

static struct learner ln;

static void end(void)
{
	learner_release(&ln);
}
AFTER(end);

#define SECOND_NS 1000000000ull

enum { START, CALLED, NEAR, NAMED, UNCALLED, REFUSED, FUNC_CNT };

static struct func funcs[FUNC_CNT] = {
	[START] = { .is_attached = true, .is_start = true },
	[CALLED] = { .is_attached = true },
	[NEAR] = { .is_attached = true },
	[NAMED] = { .is_attached = true, .is_named = true },
	[UNCALLED] = { .is_attached = true },
	[REFUSED] = { .is_attached = false },
};
static const struct functab functab = { funcs, FUNC_CNT };

static void call(uint64_t time_ns, uint16_t func_id)
{
	const struct event ev = { .time_ns = time_ns, .func_id = func_id, .kind = EVENT_ENTRY };

	learner_feed(&ln, &ev, 1);
}

TEST(the_time_runs_from_the_first_call)
{
	const struct event gap = { .time_ns = 5, .kind = EVENT_GAP };

	CHECK(!learner_init(&ln, &functab, SECOND_NS));
	CHECK(!learner_is_due(&ln, 100 * SECOND_NS));
	learner_feed(&ln, &gap, 1);
	CHECK(!learner_is_due(&ln, 100 * SECOND_NS));
	call(7 * SECOND_NS, CALLED);
	call(7 * SECOND_NS + 5, CALLED);
	CHECK(!learner_is_due(&ln, 8 * SECOND_NS - 1));
	CHECK(learner_is_due(&ln, 8 * SECOND_NS));
}

TEST(what_is_neither_called_nor_near_goes)
{
	struct strbuf text = { 0 };
	const struct leftout *lo;

	CHECK(!learner_init(&ln, &functab, SECOND_NS));
	call(SECOND_NS, CALLED);
	call(SECOND_NS, FUNC_CNT); /* another's, or damaged */
	ln.is_near[NEAR] = true;
	lo = learner_decide(&ln, 2 * SECOND_NS);
	CHECK(lo->func_cnt == 1 && lo->func_ids[0] == UNCALLED);
	CHECK(lo->limit == LEFTOUT_LEARNED && lo->measured == 4 && !lo->is_end);
	CHECK(!learner_is_due(&ln, 100 * SECOND_NS)); /* once */
	call(3 * SECOND_NS, UNCALLED);
	CHECK(!ln.is_called[UNCALLED]);
	leftout_text(&text, lo, &functab);
	strbuf_char(&text, '\0');
	CHECK_STR(
		text.ptr,
		"left out 1 function, not called within 1.000 s, nor called by those that were: 4 stay, --learn");
	strbuf_release(&text);
}

static void lose(uint64_t time_ns)
{
	const struct event ev = { .time_ns = time_ns, .kind = EVENT_LOST, .lost_cnt = 1 };

	learner_feed(&ln, &ev, 1);
}

/* Among lost events may be a function's only calls. */
TEST(where_events_are_lost_the_time_begins_anew)
{
	CHECK(!learner_init(&ln, &functab, SECOND_NS));
	lose(SECOND_NS); /* before there is anything to learn */
	call(10 * SECOND_NS, CALLED);
	CHECK(learner_is_due(&ln, 11 * SECOND_NS));
	lose(10 * SECOND_NS + 5);
	CHECK(!learner_is_due(&ln, 11 * SECOND_NS));
	CHECK(learner_is_due(&ln, 11 * SECOND_NS + 5));
	CHECK(!learner_has_lost(&ln));
	/* but not for ever */
	lose(13 * SECOND_NS + 7);
	CHECK(!learner_is_due(&ln, 14 * SECOND_NS - 1));
	CHECK(learner_is_due(&ln, 14 * SECOND_NS));
	CHECK(learner_has_lost(&ln));
	learner_release(&ln);
	/* nothing was attached in between: that is no time since the loss */
	CHECK(!learner_init(&ln, &functab, SECOND_NS));
	call(10 * SECOND_NS, CALLED);
	lose(10 * SECOND_NS + 5);
	learner_pause(&ln, 3 * SECOND_NS);
	CHECK(!learner_is_due(&ln, 14 * SECOND_NS));
	CHECK(learner_is_due(&ln, 14 * SECOND_NS + 5));
}

TEST(without_the_option_nothing_is_learned)
{
	CHECK(!learner_init(&ln, &functab, 0));
	call(SECOND_NS, CALLED);
	CHECK(!learner_is_due(&ln, 100 * SECOND_NS));
}
