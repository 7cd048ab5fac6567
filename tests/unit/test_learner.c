#include "trace/learner.h"
#include "base/strbuf.h"
#include "harness.h"
#include "script.h"

static struct learner ln;

AT_END(learner_release(&ln));

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
static const struct functab functab = { .funcs = funcs, .cnt = FUNC_CNT };

/* In scripts b is CALLED, e UNCALLED, and g none of them. */
static void feed(const char *script)
{
	SCRIPT_EACH(script, ev)
		learner_feed(&ln, ev, 1);
}

TEST(the_time_runs_from_the_first_call)
{
	CHECK(!learner_init(&ln, &functab, SECOND_NS));
	CHECK(!learner_is_due(&ln, 100 * SECOND_NS));
	feed("5 gap");
	CHECK(!learner_is_due(&ln, 100 * SECOND_NS));
	feed("7s b{ +5 b{");
	CHECK(!learner_is_due(&ln, 8 * SECOND_NS - 1));
	CHECK(learner_is_due(&ln, 8 * SECOND_NS));
}

TEST(what_is_neither_called_nor_near_goes)
{
	struct strbuf text = { 0 };
	const struct leftout *lo;

	CHECK(!learner_init(&ln, &functab, SECOND_NS));
	feed("1s b{ 1s g{"); /* another's, or damaged */
	ln.is_near[NEAR] = true;
	lo = learner_decide(&ln, 2 * SECOND_NS);
	CHECK(lo->func_cnt == 1 && lo->func_ids[0] == UNCALLED);
	CHECK(lo->limit == LEFTOUT_LEARNED && lo->measured == 4 && !lo->is_end);
	CHECK(!learner_is_due(&ln, 100 * SECOND_NS)); /* once */
	feed("3s e{");
	CHECK(!ln.is_called[UNCALLED]);
	leftout_text(&text, lo, &functab, SIZE_MAX);
	CHECK_BUF(
		&text,
		"left out 1 function, not called within 1.000 s, nor called by those that were: 4 stay, --learn");
}

/* Among lost events may be a function's only calls. */
TEST(where_events_are_lost_the_time_begins_anew)
{
	CHECK(!learner_init(&ln, &functab, SECOND_NS));
	feed("1s lost1"); /* before there is anything to learn */
	feed("10s b{");
	CHECK(learner_is_due(&ln, 11 * SECOND_NS));
	feed("10s +5 lost1");
	CHECK(!learner_is_due(&ln, 11 * SECOND_NS));
	CHECK(learner_is_due(&ln, 11 * SECOND_NS + 5) && !learner_has_lost(&ln));
	/* but not for ever */
	feed("13s +7 lost1");
	CHECK(!learner_is_due(&ln, 14 * SECOND_NS - 1));
	CHECK(learner_is_due(&ln, 14 * SECOND_NS) && learner_has_lost(&ln));
	learner_release(&ln);
	/* nothing was attached in between: that is no time since the loss */
	CHECK(!learner_init(&ln, &functab, SECOND_NS));
	feed("10s b{ +5 lost1");
	learner_pause(&ln, 3 * SECOND_NS);
	CHECK(!learner_is_due(&ln, 14 * SECOND_NS));
	CHECK(learner_is_due(&ln, 14 * SECOND_NS + 5));
}

TEST_ONE(without_the_option_nothing_is_learned, CHECK(!learner_init(&ln, &functab, 0)),
	 feed("1s b{"), CHECK(!learner_is_due(&ln, 100 * SECOND_NS)));
