#include "trace/trigger.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/vec.h"
#include "trace/netcost.h"

/* ---- the text of a condition ---- */

static struct text strip(const char *begin, const char *end)
{
	while (begin < end && isspace((unsigned char)*begin))
		begin++;
	while (end > begin && isspace((unsigned char)end[-1]))
		end--;
	return (struct text){ begin, (size_t)(end - begin) };
}

/* Parse "N/s" or a duration. */
static const char *parse_limit(struct trigger_cond *cond, struct text limit)
{
	static char why[160];
	char buf[64];
	const char *wrong;
	const bool is_rate = limit.len > 2 && !memcmp(limit.ptr + limit.len - 2, "/s", 2);

	if (!limit.len || limit.len >= sizeof(buf))
		return "has no limit after '>' (1s, 500ms, 100/s)";
	memcpy(buf, limit.ptr, limit.len);
	buf[limit.len - (is_rate ? 2 : 0)] = '\0';
	if (is_rate)
		wrong = parse_count(buf, &cond->per_sec);
	else if (cond->what == TRIGGER_FUNCS)
		wrong = parse_duration(buf, &cond->longer_ns);
	else
		return "has a limit that is not a rate: drops and losses need a number per second (100/s)";
	if (!wrong)
		return NULL;
	snprintf(why, sizeof(why), "has an invalid limit: '%s' %s", buf, wrong);
	return why;
}

/*
 * The end of what begins at @at: at "||" or, with @closing, at the ) of a ( before it, whichever is outside of other
 * parentheses and of strings. NULL: there is no ).
 */
static const char *part_end(const char *at, const char *end, bool closing)
{
	bool is_quoted = false;

	for (int depth = 0; at < end; at++) {
		if (*at == '"')
			is_quoted = !is_quoted;
		if (is_quoted)
			continue;
		if (closing && *at == ')' && !depth)
			return at;
		if (!closing && !depth && *at == '|' && at + 1 < end && at[1] == '|')
			return at;
		depth += (*at == '(') - (*at == ')' && depth);
	}
	return closing ? NULL : end;
}

/* Parse "(TEST)" at @at, of which *@sign becomes the '>' behind it; NULL: each call that passes is one. */
static const char *parse_test(struct trigger_cond *cond, const char *at, const char **sign)
{
	const char *const end = cond->text.ptr + cond->text.len;
	const char *close = part_end(at + 1, end, true);
	struct text rest;

	if (!close)
		return "lacks a )";
	cond->test = strip(at + 1, close);
	if (!cond->test.len)
		return "has nothing between its parentheses (tcp_sendmsg(size > 1000))";
	rest = strip(close + 1, end);
	*sign = rest.len ? rest.ptr : NULL;
	return rest.len && *rest.ptr != '>' ? "has something other than '> LIMIT' behind its )"
					    : NULL;
}

/* Whether a condition without a ( or before it is a test, whose function is missing: skb.mark == 5. @sign: its '>'; NULL: none. */
static bool is_test_alone(struct text text, const char *sign)
{
	const char *const end = text.ptr + text.len;
	const struct text name = strip(text.ptr, sign ? sign : end);
	size_t at = 0;

	for (size_t i = 0; i < name.len; i++) {
		if (strchr("=!<&", name.ptr[i]))
			return true;
	}
	if (!sign || !name.len)
		return false;
	if (name.ptr[name.len - 1] == '-') /* skb->len */
		return true;
	/* names of functions have dots, too, but their limits are no numbers */
	while (sign + 1 + at < end && strchr("= 0123456789xabcdef", sign[1 + at]))
		at++;
	return sign + 1 + at == end && memchr(name.ptr, '.', name.len);
}

static const char *complain_test_alone(struct text text)
{
	static char why[280];
	const struct text test = text.len > 60 ? text_from("TEST") : text;

	snprintf(
		why, sizeof(why),
		"tests values of no function; 'FUNCTION(%.*s)' tests each call of one, '*(%.*s)' those of all that are traced",
		(int)test.len, test.ptr, (int)test.len, test.ptr);
	return why;
}

/* Whether a condition without '>' sets a lower limit: "FUNCTION < 5ms", "drops <= 100/s". */
static bool is_below(struct text text)
{
	const char *const end = text.ptr + text.len;
	const char *sign = memchr(text.ptr, '<', text.len);
	struct trigger_cond cond = { 0 };

	if (!sign || !strip(text.ptr, sign).len)
		return false;
	sign += sign + 1 < end && sign[1] == '=';
	return !parse_limit(&cond, strip(sign + 1, end));
}

static const char *parse_cond(struct trigger_cond *cond, struct text text)
{
	const char *sign = memchr(text.ptr, '>', text.len);
	const char *open = memchr(text.ptr, '(', text.len);
	const char *wrong;
	struct text name;

	*cond = (struct trigger_cond){ .text = text };
	if (!text.len)
		return "lacks a condition (FUNCTION > 1s, FUNCTION > 100/s, drops > 100/s or losses > 1/s)";
	if (!sign && !open && is_below(text))
		return "has '<' before its limit: a duration or a rate is compared with '>' alone";
	if (is_test_alone(open ? (struct text){ text.ptr, (size_t)(open - text.ptr) } : text,
			  open && sign > open ? NULL : sign))
		return complain_test_alone(text);
	if (!sign && !open)
		return "has no '>' (FUNCTION > 1s, FUNCTION > 100/s, drops > 100/s or losses > 1/s)";
	if (open && sign && sign < open)
		open = NULL;
	name = strip(text.ptr, open ? open : sign);
	if (!name.len || name.len + 1 >= sizeof(cond->rule))
		return open ? "has no name before '('" : "has no name before '>'";
	wrong = open ? parse_test(cond, open, &sign) : NULL;
	if (wrong)
		return wrong;
	cond->rule[0] = '+';
	memcpy(cond->rule + 1, name.ptr, name.len);
	cond->pattern = cond->rule + 1;
	if (strpbrk(cond->pattern, " \t\n|&<>=!(){},;'\"/"))
		return open ? "has no function before '('" : "has no function before '>'";
	if (!strcmp(cond->pattern, "drops"))
		cond->what = TRIGGER_DROPS;
	else if (!strcmp(cond->pattern, "losses"))
		cond->what = TRIGGER_LOSSES;
	if (open && cond->what != TRIGGER_FUNCS)
		return "tests drops or losses, which have no values; name the function: kfree_skb_reason(reason == NO_SOCKET)";
	return sign ? parse_limit(cond, strip(sign + 1, text.ptr + text.len)) : NULL;
}

const char *trigger_parse(struct trigger_rule *rule, const char *text)
{
	rule->cnt = 0;
	for (;;) {
		const char *const text_end = text + strlen(text);
		const char *end = part_end(text, text_end, false);
		const char *why;

		if (rule->cnt == TRIGGER_CONDS_MAX)
			return "has more than 16 conditions";
		why = parse_cond(&rule->conds[rule->cnt], strip(text, end));
		if (why)
			return why;
		rule->cnt++;
		if (end == text_end)
			return NULL;
		text = end + 2;
	}
}

/* ---- long calls, and rates ---- */

/* A second is counted in parts: a count covers at most a second, and at least a second less one part. */
#define PART_CNT 10
#define PART_NS  (1000000000ull / PART_CNT)

#define OPEN_MAX 65536u

/* A call that has not returned. */
struct open {
	uint64_t task;
	uint64_t begin_ns;
	uint64_t
		due_ns; /* when it exceeds its next limit, without tracing; UINT64_MAX: no more limits */
	uint64_t below_cnt; /* traced calls below it until now */
	uint32_t call;      /* event_call */
	uint32_t tid;
	uint16_t conds;   /* a bit for each condition on its duration */
	bool is_doubtful; /* its return may be missed */
};

struct rate {
	uint64_t parts[PART_CNT];
	uint64_t part; /* number of the newest part: ns since boot / PART_NS */
	uint64_t sum;
	uint64_t quiet_ns; /* no report before this time */
};

struct trigger {
	const struct trigger_rule *rule;
	struct rate rates[TRIGGER_CONDS_MAX];
	uint16_t *longer; /* by func_id: a bit for each condition on the duration */
	uint16_t
		*often; /* by func_id: a bit for each condition on the call rate, or on each call */
	size_t func_cnt;
	struct open *open; /* OPEN_MAX, of which open_cnt are used */
	uint32_t open_cnt;
	struct hash by_task;   /* index of open calls: a task has few */
	uint64_t doubts[1024]; /* CPUs between EVENT_DOUBT and EVENT_SURE, one bit each */
	uint64_t due_ns;       /* no call is due before this time */
	uint64_t now_ns;       /* no later event is older than this */
	struct trigger_stats stats;
	struct trigger_ops ops;
};

/* ---- the functions of a condition ---- */

/* The first of these functions that exists frees every packet that is counted as dropped. */
static const char *const drop_rules[] = {
	"+sk_skb_reason_drop", /* 6.11, ba8de796baf4 */
	"+kfree_skb_reason",   /* 5.17, c504e5c2f964 */
	"+kfree_skb",
};

const char *trigger_wants(const struct trigger_cond *cond,
			  bool (*exists)(void *ctx, const char *name), void *ctx)
{
	if (cond->what == TRIGGER_FUNCS)
		return glob_is_plain(cond->pattern) ? cond->rule : NULL;
	for (size_t i = 0; cond->what == TRIGGER_DROPS && i < ARRAY_SIZE(drop_rules); i++) {
		if (exists(ctx, drop_rules[i] + 1))
			return drop_rules[i];
	}
	return NULL;
}

bool trigger_drops_in(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(drop_rules); i++) {
		if (!strcmp(drop_rules[i] + 1, name))
			return true;
	}
	return false;
}

static bool has_func(void *ctx, const char *name)
{
	const struct functab *functab = ctx;

	for (size_t i = 0; i < functab->cnt; i++) {
		if (!strcmp(functab->funcs[i].name.ptr, name))
			return true;
	}
	return false;
}

/* Watch the functions of condition @idx that @pattern matches, from function @first on. Return: whether there is one. */
static bool watch_from(struct trigger *t, uint32_t idx, const char *pattern,
		       const struct functab *functab, size_t first)
{
	const struct trigger_cond *cond = &t->rule->conds[idx];
	uint16_t *const masks = cond->longer_ns ? t->longer : t->often;
	bool found = false;

	for (size_t i = first; i < functab->cnt; i++) {
		if (!glob_match(pattern, functab->funcs[i].name.ptr) ||
		    (cond->test.len && !t->ops.fits(t->ops.ctx, idx, (uint32_t)i)))
			continue;
		masks[i] |= (uint16_t)(1u << idx);
		found = true;
	}
	return found;
}

static bool trigger_watch(struct trigger *t, uint32_t idx, const struct functab *functab)
{
	const struct trigger_cond *cond = &t->rule->conds[idx];
	const char *rule;

	if (cond->what == TRIGGER_LOSSES || (cond->what == TRIGGER_DROPS && t->ops.drop_point))
		return true;
	if (cond->what == TRIGGER_FUNCS)
		return watch_from(t, idx, cond->pattern, functab, 0);
	rule = trigger_wants(cond, has_func, (void *)functab);
	return watch_from(t, idx, rule ? rule + 1 : "", functab, 0);
}

void trigger_add(struct trigger *t, const struct functab *functab)
{
	for (uint32_t i = 0; i < t->rule->cnt; i++) {
		if (t->rule->conds[i].what == TRIGGER_FUNCS)
			watch_from(t, i, t->rule->conds[i].pattern, functab, t->func_cnt);
	}
	t->func_cnt = functab->cnt;
}

int trigger_new(struct trigger **out, const struct trigger_rule *rule,
		const struct functab *functab, const struct trigger_ops *ops,
		const struct trigger_cond **missing)
{
	struct trigger *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->rule = rule;
	t->ops = *ops;
	t->func_cnt = functab->cnt;
	t->due_ns = UINT64_MAX;
	t->longer = calloc(functab_max(functab) + 1, sizeof(*t->longer));
	t->often = calloc(functab_max(functab) + 1, sizeof(*t->often));
	t->open = malloc(OPEN_MAX * sizeof(*t->open));
	if (!t->longer || !t->often || !t->open) {
		trigger_free(t);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < rule->cnt; i++) {
		if (trigger_watch(t, i, functab))
			continue;
		*missing = &rule->conds[i];
		trigger_free(t);
		return -ENOENT;
	}
	*out = t;
	return 0;
}

void trigger_free(struct trigger *t)
{
	if (!t)
		return;
	hash_release(&t->by_task);
	free(t->open);
	free(t->often);
	free(t->longer);
	free(t);
}

#define TRIGGER_WORDS "trigger '"

void trigger_text(struct strbuf *out, struct text condition, struct text func, uint32_t tid,
		  uint64_t took_ns)
{
	const size_t at = out->len;

	strbuf_str(out, TRIGGER_WORDS);
	clean_add(out, condition.ptr, condition.len, CLEAN_WORD);
	strbuf_char(out, '\'');
	/* a file may have anything there, also the end of a comment */
	for (size_t i = at; strbuf_ok(out) && i + 1 < out->len; i++) {
		if (out->ptr[i] == '*' && out->ptr[i + 1] == '/')
			out->ptr[i + 1] = '?';
	}
	if (!func.len)
		return;
	strbuf_printf(out,
		      ": %.*s in task %" PRIu32 ", which began %" PRIu64 ".%06" PRIu64 " s before",
		      (int)func.len, func.ptr, tid, took_ns / 1000000000,
		      took_ns % 1000000000 / 1000);
}

struct text trigger_text_condition(struct text comment)
{
	const struct text words = text_from(TRIGGER_WORDS);
	const char *begin = comment.ptr + words.len;
	const char *end;

	if (comment.len <= words.len || memcmp(comment.ptr, words.ptr, words.len) != 0)
		return (struct text){ 0 };
	/* a test in it may have more of them */
	end = memrchr(begin, '\'', comment.len - words.len);
	return end ? (struct text){ begin, (size_t)(end - begin) } : (struct text){ 0 };
}

struct text trigger_text_func(struct text comment)
{
	static const char lead[] = "': ";
	const struct text condition = trigger_text_condition(comment);
	const char *behind;
	const char *blank;
	size_t len;

	if (!condition.len)
		return (struct text){ 0 };
	behind = condition.ptr + condition.len;
	len = (size_t)(comment.ptr + comment.len - behind);
	if (len <= strlen(lead) || memcmp(behind, lead, strlen(lead)) != 0)
		return (struct text){ 0 };
	behind += strlen(lead);
	len -= strlen(lead);
	blank = memchr(behind, ' ', len);
	return (struct text){ behind, blank ? (size_t)(blank - behind) : len };
}

bool trigger_text_call(struct text comment, uint32_t *tid, uint64_t *took_ns)
{
	const struct text func = trigger_text_func(comment);
	const char *behind;
	uint64_t seconds;
	uint64_t us;
	char rest[96];

	if (!func.len)
		return false;
	behind = func.ptr + func.len;
	snprintf(rest, sizeof(rest), "%.*s", (int)(comment.ptr + comment.len - behind), behind);
	if (sscanf(rest, " in task %" SCNu32 ", which began %" SCNu64 ".%6" SCNu64 " s before", tid,
		   &seconds, &us) != 3 ||
	    seconds >= UINT64_MAX / 1000000000)
		return false;
	*took_ns = seconds * 1000000000 + us * 1000;
	return true;
}

struct trigger_stats trigger_stats(const struct trigger *t)
{
	return t->stats;
}

static void tell(struct trigger *t, struct trigger_hit hit)
{
	t->stats.hit_cnt++;
	t->ops.hit(t->ops.ctx, &hit);
}

/* ---- rates ---- */

static void rate_add(struct trigger *t, uint32_t idx, const struct event *ev, uint64_t cnt)
{
	const struct trigger_cond *cond = &t->rule->conds[idx];
	struct rate *rate = &t->rates[idx];
	const uint64_t part = ev->time_ns / PART_NS;
	const uint64_t gone = part > rate->part ? part - rate->part : 0;

	for (uint64_t i = 1; i <= gone && i <= PART_CNT; i++) {
		uint64_t *at = &rate->parts[(rate->part + i) % PART_CNT];

		rate->sum -= *at;
		*at = 0;
	}
	rate->part += gone;
	rate->parts[rate->part % PART_CNT] += cnt;
	rate->sum += cnt;
	if (rate->sum <= cond->per_sec || ev->time_ns < rate->quiet_ns)
		return;
	rate->quiet_ns = ev->time_ns + PART_CNT * PART_NS;
	tell(t, (struct trigger_hit){ .cond = cond,
				      .time_ns = ev->time_ns,
				      .tid = ev->kind == EVENT_LOST ? 0 : ev->tid,
				      .func_id = event_is_call(ev) ? ev->func_id : 0 });
}

/* ---- calls ---- */

/* Iterate over the task's open calls: @at is 0 at first. NULL: no more. */
static struct open *open_next(const struct trigger *t, uint64_t task, uint32_t *at)
{
	for (uint32_t item; hash_next(&t->by_task, hash_u64(task), at, &item);) {
		if (t->open[item].task == task)
			return &t->open[item];
	}
	return NULL;
}

static struct open *open_find(const struct trigger *t, const struct event *ev)
{
	const uint64_t task = event_task(ev->tid, ev->cpu);
	const uint32_t call = event_call(ev);
	struct open *open;

	for (uint32_t at = 0; (open = open_next(t, task, &at));) {
		if (open->call == call)
			return open;
	}
	return NULL;
}

/* The last open call moves into its place. */
static void open_remove(struct trigger *t, struct open *open)
{
	const uint32_t item = (uint32_t)(open - t->open);
	const uint32_t last = --t->open_cnt;

	hash_remove(&t->by_task, hash_u64(open->task), item);
	if (item == last)
		return;
	*open = t->open[last];
	hash_remove(&t->by_task, hash_u64(open->task), last);
	hash_add(&t->by_task, hash_u64(open->task), item); /* cannot fail: two were removed */
}

static void put_doubt(struct trigger *t, const struct event *ev, bool is_on)
{
	const uint64_t bit = 1ull << ev->cpu % 64;

	t->doubts[ev->cpu / 64] &= ~bit;
	t->doubts[ev->cpu / 64] |= is_on ? bit : 0;
}

/* Those of the conditions @mask whose test the call passes that begins or returns by @ev. */
static uint16_t passed(struct trigger *t, uint16_t mask, const struct event *ev)
{
	for (uint32_t i = 0; mask >> i; i++) {
		if (mask & 1u << i && t->rule->conds[i].test.len &&
		    !t->ops.passes(t->ops.ctx, i, ev))
			mask &= (uint16_t) ~(1u << i);
	}
	return mask;
}

/* The time of the first limit of @conds that a call exceeds later than @after_ns after its beginning. */
static uint64_t next_due(const struct trigger *t, uint16_t conds, uint64_t begin_ns,
			 uint64_t after_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t i = 0; i < t->rule->cnt; i++) {
		const uint64_t longer_ns = t->rule->conds[i].longer_ns;

		if (conds & 1u << i && longer_ns > after_ns && longer_ns < next_ns)
			next_ns = longer_ns;
	}
	return next_ns == UINT64_MAX ? next_ns : begin_ns + next_ns;
}

/* When it exceeds its next limit, with what tracing has added to it until now. */
static uint64_t open_due(const struct trigger *t, const struct open *open)
{
	const struct net_time net = netcost_net(t->ops.cost, 0, open->below_cnt);

	return open->due_ns < UINT64_MAX - net.cost_ns ? open->due_ns + net.cost_ns : UINT64_MAX;
}

/* Report every limit that the call has exceeded since the last check; it was open until @end_ns. */
static void open_look(struct trigger *t, struct open *open, uint64_t end_ns)
{
	const uint16_t func_id = (uint16_t)open->call;

	while (open_due(t, open) < end_ns) {
		const uint64_t took_ns = open->due_ns - open->begin_ns;

		for (uint32_t i = 0; i < t->rule->cnt; i++) {
			const struct trigger_cond *cond = &t->rule->conds[i];

			if (open->conds & 1u << i && cond->longer_ns == took_ns)
				tell(t, (struct trigger_hit){ .cond = cond,
							      .time_ns = open_due(t, open),
							      .begin_ns = open->begin_ns,
							      .tid = open->tid,
							      .func_id = func_id });
		}
		open->due_ns = next_due(t, open->conds, open->begin_ns, took_ns);
	}
}

static int call_begin(struct trigger *t, const struct event *ev)
{
	const uint16_t conds = passed(t, t->longer[ev->func_id], ev);
	struct open *open = open_find(t, ev);
	int err;

	if (open) { /* its return was missed */
		open_remove(t, open);
		t->stats.unwatched_cnt++;
	}
	if (!conds)
		return 0;
	if (t->open_cnt == OPEN_MAX) {
		t->stats.unwatched_cnt++;
		return 0;
	}
	open = &t->open[t->open_cnt];
	*open = (struct open){
		.task = event_task(ev->tid, ev->cpu),
		.begin_ns = ev->time_ns,
		.due_ns = next_due(t, conds, ev->time_ns, 0),
		.call = event_call(ev),
		.tid = ev->tid,
		.conds = conds,
		.is_doubtful = t->doubts[ev->cpu / 64] & 1ull << ev->cpu % 64,
	};
	err = hash_add(&t->by_task, hash_u64(open->task), t->open_cnt);
	if (err)
		return err;
	t->open_cnt++;
	if (open->due_ns < t->due_ns)
		t->due_ns = open->due_ns;
	return 0;
}

/* Returns may be lost, and a call would seem to take long. */
void trigger_forget(struct trigger *t)
{
	t->stats.unwatched_cnt += t->open_cnt;
	t->open_cnt = 0;
	t->due_ns = UINT64_MAX;
	hash_clear(&t->by_task);
}

/* As trigger_forget, for one task. Its returns are seen up to EVENT_DOUBT; until EVENT_SURE they may be missing. */
static void forget_task(struct trigger *t, const struct event *ev)
{
	const uint64_t task = event_task(ev->tid, ev->cpu);
	struct open *open;

	for (uint32_t at = 0; (open = open_next(t, task, &at)); at = 0) {
		if (ev->kind == EVENT_DOUBT && !open->is_doubtful)
			open_look(t, open, ev->time_ns);
		open_remove(t, open);
		t->stats.unwatched_cnt++;
	}
}

/* Check calls that have not returned yet. */
static void look_at_open(struct trigger *t)
{
	uint64_t due_ns = UINT64_MAX;

	for (uint32_t i = 0; i < t->open_cnt; i++) {
		if (t->open[i].is_doubtful) /* it may have returned unseen */
			continue;
		open_look(t, &t->open[i], t->now_ns);
		if (open_due(t, &t->open[i]) < due_ns)
			due_ns = open_due(t, &t->open[i]);
	}
	t->due_ns = due_ns;
}

/* ---- events ---- */

static bool counts(const struct trigger *t, uint32_t idx, const struct event *ev)
{
	return t->rule->conds[idx].what != TRIGGER_DROPS || !t->ops.drops_nothing ||
	       !t->ops.drops_nothing(t->ops.ctx, ev);
}

/* The conditions that ask how often a function is called, or for each call; those tested now are counted now. */
static void count_call(struct trigger *t, const struct event *ev)
{
	uint16_t mask = t->often[ev->func_id];

	for (uint32_t i = 0; mask >> i; i++) {
		if (t->rule->conds[i].tests_result != (ev->kind == EVENT_EXIT))
			mask &= (uint16_t) ~(1u << i);
	}
	mask = mask ? passed(t, mask, ev) : 0;
	for (uint32_t i = 0; mask >> i; i++) {
		if (!(mask & 1u << i))
			continue;
		if (trigger_is_each(&t->rule->conds[i]))
			tell(t, (struct trigger_hit){ .cond = &t->rule->conds[i],
						      .time_ns = ev->time_ns,
						      .tid = ev->tid,
						      .func_id = ev->func_id });
		else if (counts(t, i, ev))
			rate_add(t, i, ev, 1);
	}
}

/* Each call that begins adds to those that its task has open. */
static void count_below(struct trigger *t, const struct event *ev)
{
	const uint64_t task = event_task(ev->tid, ev->cpu);
	struct open *open;

	for (uint32_t at = 0; (open = open_next(t, task, &at));)
		open->below_cnt++;
}

static int feed_call(struct trigger *t, const struct event *ev)
{
	struct open *open;

	if (t->open_cnt && ev->kind == EVENT_ENTRY && netcost_is_known(t->ops.cost))
		count_below(t, ev);
	if (ev->func_id >= t->func_cnt)
		return 0;
	count_call(t, ev);
	if (!t->longer[ev->func_id])
		return 0;
	if (ev->kind == EVENT_ENTRY)
		return call_begin(t, ev);
	open = open_find(t, ev);
	if (open) {
		open_look(t, open, ev->time_ns);
		open_remove(t, open);
	}
	return 0;
}

/* Other than calls, these are all of packets: the function that drops is also called without one. */
static void count_drop(struct trigger *t, const struct event *ev)
{
	if (!t->ops.drop_point || ev->func_id != t->ops.drop_point - 1)
		return;
	for (uint32_t i = 0; i < t->rule->cnt; i++) {
		if (t->rule->conds[i].what == TRIGGER_DROPS)
			rate_add(t, i, ev, 1);
	}
}

static int trigger_feed_one(struct trigger *t, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_ENTRY:
	case EVENT_EXIT:
		return feed_call(t, ev);
	case EVENT_POINT:
		count_drop(t, ev);
		break;
	case EVENT_GAP:
		trigger_forget(t);
		break;
	case EVENT_LOST:
		trigger_forget(t);
		/* the lost events may have included the end of a doubt */
		put_doubt(t, ev, false);
		for (uint32_t i = 0; i < t->rule->cnt; i++) {
			if (t->rule->conds[i].what == TRIGGER_LOSSES)
				rate_add(t, i, ev, ev->lost_cnt);
		}
		break;
	case EVENT_DOUBT:
	case EVENT_SURE:
		forget_task(t, ev);
		put_doubt(t, ev, ev->kind == EVENT_DOUBT);
		break;
	}
	return 0;
}

int trigger_feed(struct trigger *t, const struct event *events, size_t cnt)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		const struct event *ev = &events[i];

		if (ev->time_ns > t->now_ns)
			t->now_ns = ev->time_ns;
		err = trigger_feed_one(t, ev);
	}
	trigger_seen(t, t->now_ns);
	return err;
}

void trigger_seen(struct trigger *t, uint64_t time_ns)
{
	if (time_ns > t->now_ns)
		t->now_ns = time_ns;
	if (t->now_ns > t->due_ns)
		look_at_open(t);
}
