/* The profile against a naive account: every call kept, every sum made from them. */
#include "format/profile.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "profiled.h"

#define SIM_FUNC_CNT  7
#define SIM_TASK_CNT  6
#define SIM_CALL_CNT  20000
#define SIM_DEPTH_MAX 12
#define SIM_OUTERMOST SIM_FUNC_CNT

static const char *const sim_names[SIM_FUNC_CNT] = { "f0", "f1", "f2", "f3", "f4", "f5", "f6" };

struct sim_call {
	unsigned int func;
	unsigned int caller;
	uint64_t begin_ns;
	uint64_t duration_ns;
	uint64_t child_ns;
	unsigned int task;
	unsigned int around; /* depths of the calls of its function around it, a bit each */
};

struct sim {
	struct profile *p;
	uint64_t random;
	uint64_t now_ns;
	struct sim_call open[SIM_TASK_CNT][SIM_DEPTH_MAX];
	unsigned int depth[SIM_TASK_CNT];
	struct sim_call done[SIM_CALL_CNT];
	size_t done_cnt;
};

static uint64_t sim_random(struct sim *s)
{
	s->random = s->random * 6364136223846793005u + 1442695040888963407u;
	return s->random >> 33;
}

static void sim_row(struct sim *s, unsigned int task, enum row_kind kind, unsigned int func,
		    uint64_t duration_ns)
{
	struct row row = call_row(kind, s->depth[task], s->now_ns, duration_ns, sim_names[func]);

	row.task.tid = 100 + task;
	row.cpu = (uint32_t)sim_random(s) % 3; /* tasks move all the time */
	CHECK(!profile_row(s->p, &row));
}

static struct sim_call *sim_enter(struct sim *s, unsigned int task)
{
	struct sim_call *open = s->open[task];
	unsigned int depth = s->depth[task];

	open[depth] = (struct sim_call){
		.func = (unsigned int)sim_random(s) % SIM_FUNC_CNT,
		.caller = depth ? open[depth - 1].func : SIM_OUTERMOST,
		.begin_ns = s->now_ns,
		.task = task,
	};
	for (unsigned int i = 0; i < depth; i++)
		open[depth].around |= (unsigned int)(open[i].func == open[depth].func) << i;
	return &open[depth];
}

static void sim_done(struct sim *s, unsigned int task, struct sim_call *call)
{
	s->done[s->done_cnt++] = *call;
	if (s->depth[task])
		s->open[task][s->depth[task] - 1].child_ns += call->duration_ns;
}

/* A task, by chance, makes a leaf call, begins a call, or ends one. */
static void sim_step(struct sim *s)
{
	unsigned int task = (unsigned int)sim_random(s) % SIM_TASK_CNT;
	unsigned int what = (unsigned int)sim_random(s) % 8;
	struct sim_call *call;

	s->now_ns += 1 + (sim_random(s) >> (sim_random(s) % 31));
	if (what < 5 && s->depth[task] < SIM_DEPTH_MAX) {
		call = sim_enter(s, task);
		if (what >= 2) {
			sim_row(s, task, ROW_ENTRY, call->func, 0);
			s->depth[task]++;
			return;
		}
		call->duration_ns = 1 + (sim_random(s) >> (sim_random(s) % 31));
		sim_row(s, task, ROW_LEAF, call->func, call->duration_ns);
		s->now_ns += call->duration_ns;
		sim_done(s, task, call);
	} else if (s->depth[task]) {
		call = &s->open[task][--s->depth[task]];
		call->duration_ns = s->now_ns - call->begin_ns;
		sim_row(s, task, ROW_RETURN, call->func, call->duration_ns);
		sim_done(s, task, call);
	}
}

static struct sim *sim_run(void)
{
	const struct profile_config config = { .has_callers = true };
	struct sim *s = calloc(1, sizeof(*s));

	CHECK(s);
	s->random = 4711;
	CHECK(!profile_new(&s->p, &config));
	while (s->done_cnt < SIM_CALL_CNT)
		sim_step(s);
	profile_finish(s->p);
	return s;
}

/*
 * Whether an enclosing call of the same function has returned too; one still open at the end has no
 * duration.
 */
static bool sim_is_recursive(const struct sim *s, const struct sim_call *call)
{
	const struct sim_call *open = s->open[call->task];

	for (unsigned int i = 0; i < SIM_DEPTH_MAX; i++) {
		bool is_open = i < s->depth[call->task] && open[i].begin_ns <= call->begin_ns;

		if (call->around >> i & 1 && !is_open)
			return true;
	}
	return false;
}

static void check_rank(const uint64_t *sorted, size_t cnt, size_t pct, uint64_t got)
{
	uint64_t want = sorted[(cnt * pct + 99) / 100 - 1];
	uint64_t diff = got > want ? got - want : want - got;

	CHECK(diff * 64 <= want);
}

TEST(sums_and_percentiles_are_those_of_a_naive_account)
{
	static uint64_t sorted[SIM_CALL_CNT];
	struct sim *s = sim_run();
	uint64_t open_cnt = 0;

	for (unsigned int i = 0; i < SIM_TASK_CNT; i++)
		open_cnt += s->depth[i];
	CHECK(open_cnt && profile_partial_cnt(s->p) == open_cnt);
	for (unsigned int func = 0; func < SIM_FUNC_CNT; func++) {
		struct profile_func got = get(s->p, sim_names[func]);
		uint64_t self_ns = 0;
		uint64_t total_ns = 0;
		uint64_t sum_ns = 0;
		size_t cnt = 0;

		for (size_t i = 0; i < s->done_cnt; i++) {
			const struct sim_call *call = &s->done[i];

			if (call->func != func)
				continue;
			sorted[cnt++] = call->duration_ns;
			sum_ns += call->duration_ns;
			total_ns += sim_is_recursive(s, call) ? 0 : call->duration_ns;
			self_ns += call->duration_ns - call->child_ns;
		}
		qsort(sorted, cnt, sizeof(*sorted), compare_u64);
		CHECK(cnt > 1000 && got.call_cnt == cnt && got.total_ns == total_ns);
		CHECK(got.self_ns == self_ns && got.avg_ns == sum_ns / cnt);
		CHECK(got.min_ns == sorted[0] && got.max_ns == sorted[cnt - 1]);
		check_rank(sorted, cnt, 50, got.p50_ns);
		check_rank(sorted, cnt, 99, got.p99_ns);
	}
	profile_free(s->p);
	free(s);
}

/* "COUNT TOTAL.xxx <- NAME" as --callers prints it, from the calls. */
static void caller_line(const struct sim *s, unsigned int func, unsigned int caller,
			struct strbuf *out)
{
	const char *name = caller == SIM_OUTERMOST ? "(outermost)" : sim_names[caller];
	uint64_t sum_ns = 0;
	uint64_t cnt = 0;

	for (size_t i = 0; i < s->done_cnt; i++) {
		if (s->done[i].func != func || s->done[i].caller != caller)
			continue;
		cnt++;
		sum_ns += s->done[i].duration_ns;
	}
	CHECK(cnt);
	strbuf_reset(out);
	strbuf_printf(out, "%10llu %10llu.%03llu", (unsigned long long)cnt,
		      (unsigned long long)(sum_ns / 1000), (unsigned long long)(sum_ns % 1000));
	strbuf_fill(out, ' ', 69);
	strbuf_printf(out, "<- %s\n", name);
}

TEST(callers_are_those_of_a_naive_account)
{
	struct sim *s = sim_run();
	struct strbuf text = { 0 };
	struct strbuf line = { 0 };
	size_t bytes = 0;

	CHECK(!profile_put_table(s->p,
				 &(struct profile_view){ .sort = PROFILE_BY_NAME,
							 .row_max = 0,
							 .has_callers = true },
				 &(struct profile_origin){ 0 }, &(struct tablew){ .out = &text }));
	for (unsigned int func = 0; func < SIM_FUNC_CNT; func++) {
		char heading[8] = { ' ', ' ', sim_names[func][0], sim_names[func][1], '\n' };
		char *part = memmem(text.ptr, text.len, heading, 5);
		char *end = text.ptr + text.len;
		char *next;

		CHECK(part);
		/* up to the next function's row, which has no arrow */
		for (next = part + 5; next < end;
		     next = (char *)memchr(next, '\n', (size_t)(end - next)) + 1) {
			char *stop = memchr(next, '\n', (size_t)(end - next));

			if (!memmem(next, (size_t)(stop - next), "<- ", 3))
				break;
		}
		for (unsigned int caller = 0; caller <= SIM_OUTERMOST; caller++) {
			caller_line(s, func, caller, &line);
			CHECK(memmem(part, (size_t)(next - part), line.ptr, line.len));
			bytes += line.len;
		}
		bytes -= (size_t)(next - part - 5); /* and no other lines */
	}
	CHECK(!bytes);
	strbuf_release(&text);
	strbuf_release(&line);
	profile_free(s->p);
	free(s);
}
