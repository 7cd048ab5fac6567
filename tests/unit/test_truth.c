/*
 * Nothing that is shown as a call may differ from one that happened, whatever was lost, and what is not shown is
 * counted. NFG_LONG=1 makes 10 million calls of it.
 */
#include "format/calltree.h"
#include "format/format.h"
#include "trace/graph.h"
#include "harness.h"
#include "format/profile.h"
#include "attach/rings.h"
#include "trace/starts.h"
#include "truth.h"

#define CALL_CNT      30000
#define LONG_CALL_CNT 850000 /* of each case; there are fifteen */

#define FUNC(str)     ((struct func){ .name = { str, sizeof(str) - 1 } })
static struct func funcs[TRUTH_FUNC_CNT] = {
	FUNC("f0"), FUNC("f1"), FUNC("f2"), FUNC("f3"), FUNC("f4"),  FUNC("f5"),
	FUNC("f6"), FUNC("f7"), FUNC("f8"), FUNC("f9"), FUNC("f10"), FUNC("f11"),
};
static const struct functab functab = { .funcs = funcs, .cnt = TRUTH_FUNC_CNT };

struct bench {
	struct truth truth;
	struct starts *roots; /* NULL: everything is shown */
	struct starts_config starts_config;
	struct graph *graph;
	struct calltree *tree;
	struct profile *profile;
	struct format *json;
	struct format *folded;
	struct strbuf json_out;
	struct strbuf folded_out;
	bool is_lossless;
	/* what was shown */
	uint64_t whole_cnt;     /* calls with both ends */
	uint64_t outermost_cnt; /* of these: at depth 0 */
	uint64_t open_cnt;      /* only an entry */
	uint64_t stray_cnt;     /* only a return */
	uint64_t json_whole_cnt;
	/* with truth_config.irq_loss */
	struct rings_memory mem;
	struct rings rings;
	uint64_t torn_cnt;
};

#define REC_CNT 4096u

static uint16_t func_number(const char *name, size_t len)
{
	for (uint16_t i = 0; i < TRUTH_FUNC_CNT; i++) {
		if (funcs[i].name.len == len && !memcmp(funcs[i].name.ptr, name, len))
			return i;
	}
	CHECK(!"a function that is not there");
}

/* Every call in the tree did happen, below its true caller. */
static void on_call(void *ctx, struct calltask *task, struct call *call)
{
	struct bench *b = ctx;
	const struct truth_call *real;

	CHECK(call->sym);
	CHECK(!call->depth ||
	      call[-1].has_entry); /* a leaf has no children, a child has its caller */
	CHECK(call->has_duration == (call->has_entry && call->has_return));
	b->open_cnt += !call->has_return;
	b->stray_cnt += !call->has_entry;
	if (!call->has_duration)
		return;
	CHECK(call->begin_ns < call->end_ns && call->child_ns <= call->duration_ns);
	b->whole_cnt++;
	b->outermost_cnt += !call->depth;
	if (b->truth.config.is_silent)
		return;
	real = truth_ended(&b->truth, call->end_ns);
	CHECK(real && real->start_ns == call->begin_ns && real->duration_ns == call->duration_ns);
	CHECK(real->func == func_number(call->sym->name.ptr, call->sym->name.len));
	if (call->depth)
		CHECK(real->caller_ns == call[-1].begin_ns);
	if (call->depth)
		return;
	CHECK(real->duration_ns >= b->starts_config.want.slower_ns);
	if (b->starts_config.has_starts)
		CHECK(b->starts_config.kinds[real->func] == STARTS_OPEN);
	if (!b->truth.config.ring_loss && !b->truth.config.guard_loss && !b->roots &&
	    !b->truth.config.is_late)
		CHECK(!real->caller_ns);
}

/* ---- the formats say the same ---- */

/* A number behind @key of the line. Return: false when it is null. */
static bool json_number(const char *line, const char *key, uint64_t *number)
{
	const char *at = strstr(line, key);

	CHECK(at);
	at += strlen(key);
	*number = strtoull(at, NULL, 10);
	return *at != 'n';
}

static void check_json_line(struct bench *b, const char *line)
{
	const struct truth_call *real;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t duration_ns;
	bool has_begin;
	bool has_end;
	bool has_duration;
	const char *name;

	if (!strstr(line, ",\"begin_ns\":"))
		return;
	has_begin = json_number(line, "\"begin_ns\":", &begin_ns);
	has_end = json_number(line, "\"end_ns\":", &end_ns);
	has_duration = json_number(line, "\"duration_ns\":", &duration_ns);
	CHECK((strstr(line, "\"complete\":true") != NULL) == has_duration);
	CHECK(has_duration == (has_begin && has_end) && (has_begin || has_end));
	b->json_whole_cnt += has_duration;
	if (!has_duration || b->truth.config.is_silent)
		return;
	real = truth_ended(&b->truth, end_ns);
	name = strstr(line, "\"func\":\"") + 8;
	CHECK(real && real->start_ns == begin_ns && real->duration_ns == duration_ns);
	CHECK(real->func == func_number(name, strcspn(name, "\"")));
}

static void check_json(struct bench *b)
{
	char *line = b->json_out.ptr;
	char *end = line + b->json_out.len;

	while (line < end) {
		char *next = memchr(line, '\n', (size_t)(end - line));

		CHECK(next);
		*next = '\0';
		check_json_line(b, line);
		line = next + 1;
	}
	strbuf_reset(&b->json_out);
}

/* "comm;f1;f2 700": each function was called by the one before it, and the last had so much time. */
static void check_folded_line(struct bench *b, char *line, uint64_t *self_ns)
{
	char *number = strrchr(line, ' ');
	char *part = strchr(line, ';');
	int caller = -1;

	CHECK(number && part);
	*number = '\0';
	for (; part; part = strchr(part + 1, ';')) {
		uint16_t func = func_number(part + 1, strcspn(part + 1, ";"));

		CHECK(caller < 0 || b->truth.funcs[func].is_called_by[caller]);
		caller = func;
	}
	self_ns[caller] += strtoull(number + 1, NULL, 10);
}

static void check_folded(struct bench *b)
{
	uint64_t self_ns[TRUTH_FUNC_CNT] = { 0 };
	char *line;

	CHECK(!format_finish(b->folded));
	strbuf_char(&b->folded_out, '\0');
	line = b->folded_out.ptr;
	while (*line) {
		char *next = strchr(line, '\n');

		*next = '\0';
		check_folded_line(b, line, self_ns);
		line = next + 1;
	}
	/* a softirq that is left out is in the time of the call that it came into */
	for (int i = 0; i < TRUTH_FUNC_CNT && !b->roots && !b->truth.config.irq_loss; i++)
		CHECK(b->is_lossless && !b->truth.config.is_late
			      ? self_ns[i] == b->truth.funcs[i].self_ns
			      : self_ns[i] <= b->truth.funcs[i].self_ns);
}

static void check_profile(struct bench *b)
{
	uint64_t call_cnt = 0;

	profile_finish(b->profile);
	for (uint32_t i = 0; i < profile_func_cnt(b->profile); i++) {
		const struct truth_func *real;
		struct profile_func f;

		profile_func_get(b->profile, i, &f);
		real = &b->truth.funcs[func_number(f.name.ptr, f.name.len)];
		CHECK(f.self_ns <= f.total_ns);
		CHECK(f.call_cnt <= real->call_cnt);
		if (!b->truth.config.is_silent)
			CHECK(f.max_ns <= real->max_ns);
		/* -g hides calls inside */
		if (!b->truth.config.is_silent && !b->roots && !b->truth.config.irq_loss)
			CHECK(f.self_ns <= real->self_ns);
		call_cnt += f.call_cnt;
	}
	CHECK(call_cnt == b->whole_cnt);
	CHECK(profile_partial_cnt(b->profile) == b->open_cnt);
	CHECK(profile_stray_cnt(b->profile) == b->stray_cnt);
}

/* ---- from events to rows ---- */

static void on_row(void *ctx, struct row *row)
{
	struct bench *b = ctx;

	if (row->kind != ROW_LOST)
		row->task.comm = (struct text){ "task", 4 };
	CHECK(row->depth < (b->truth.config.is_silent ? CALLSTACK_DEPTH_MAX : TRUTH_DEPTH_MAX));
	CHECK(!row->lacks_duration || (row->kind == ROW_RETURN && !row->depth && row->is_named));
	CHECK(!calltree_row(b->tree, row) && !profile_row(b->profile, row));
	CHECK(!format_row(b->json, row) && !format_row(b->folded, row));
	if (b->json_out.len > 60000)
		check_json(b);
}

static void begin(struct bench *b)
{
	const struct graph_config graph = {
		.functab = &functab, .cpu_cnt = TRUTH_CPU_CNT, .emit = on_row, .ctx = b
	};
	const struct calltree_config tree = { .end = on_call, .ctx = b };
	const struct profile_config profile = { .has_callers = true };

	CHECK(!graph_new(&b->graph, &graph) && !calltree_new(&b->tree, &tree));
	CHECK(!profile_new(&b->profile, &profile));
	CHECK(!format_new(&b->json, &(const struct format_config){ .kind = FORMAT_JSON },
			  &b->json_out));
	CHECK(!format_new(&b->folded, &(const struct format_config){ .kind = FORMAT_FOLDED },
			  &b->folded_out));
	if (b->starts_config.has_starts || b->starts_config.want.slower_ns) {
		b->starts_config.func_cnt = TRUTH_FUNC_CNT;
		CHECK(!starts_new(&b->roots, &b->starts_config));
	}
}

static void feed_events(struct bench *b, const struct event *events, size_t cnt)
{
	if (b->roots)
		CHECK(!starts_feed(b->roots, events, cnt, &events, &cnt));
	CHECK(!graph_feed(b->graph, events, cnt));
}

/* ---- through rings, as the programs write them ---- */

static void rings_begin_bench(struct bench *b)
{
	b->mem = (struct rings_memory){
		.recs = calloc(TRUTH_CPU_CNT * REC_CNT, sizeof(struct nfg_rec)),
		.gaps = calloc(TRUTH_CPU_CNT, sizeof(struct nfg_gaps)),
		.cpus = calloc(TRUTH_CPU_CNT, sizeof(struct nfg_cpu)),
		.cpu_cnt = TRUTH_CPU_CNT,
		.rec_cnt = REC_CNT,
	};
	CHECK(b->mem.recs && b->mem.gaps && b->mem.cpus && !rings_init(&b->rings, &b->mem));
}

static void rings_end_bench(struct bench *b)
{
	CHECK(rings_is_drained(&b->rings));
	b->torn_cnt = b->rings.torn_cnt;
	rings_release(&b->rings);
	free(b->mem.recs);
	free(b->mem.gaps);
	free(b->mem.cpus);
}

static void write_record(const struct bench *b, const struct event *ev)
{
	struct nfg_cpu *cpu = &b->mem.cpus[ev->cpu];
	struct nfg_rec rec = {
		.time_ns = ev->time_ns, .task = ev->tid, .func_id = ev->func_id, .frame = ev->frame
	};

	CHECK(cpu->head_bytes < cpu->limit_bytes);
	if (ev->kind == EVENT_EXIT || ev->kind == EVENT_OUT || ev->kind == TRUTH_IRQ_ENDS)
		rec.task |= NFG_TASK_EXIT;
	if (ev->kind >= TRUTH_IRQ_BEGINS)
		rec.task |= NFG_SWITCH_DOUBT | NFG_SWITCH_IRQ;
	if (ev->kind > EVENT_EXIT)
		rec.func_id = NFG_FUNC_SWITCH;
	b->mem.recs[ev->cpu * REC_CNT + cpu->head_bytes / NFG_REC_BYTES % REC_CNT] = rec;
	cpu->head_bytes += NFG_REC_BYTES;
}

static void read_rings(struct bench *b, uint64_t now_ns)
{
	struct event events[256];
	size_t cnt;

	rings_begin(&b->rings, now_ns, 0);
	while ((cnt = rings_read(&b->rings, events, 256)))
		feed_events(b, events, cnt);
}

/* A softirq that runs when the trace ends is traced to its end, as when programs are switched off. */
static void end_irqs(struct bench *b)
{
	for (uint32_t i = 0; i < TRUTH_CPU_CNT; i++) {
		struct event ev = { .time_ns = ++b->truth.number * TRUTH_TIME_STEP,
				    .cpu = (uint16_t)i,
				    .kind = TRUTH_IRQ_ENDS };

		if (b->truth.cpus[i].is_irq_skipped)
			write_record(b, &ev);
	}
}

static void feed_rings(struct bench *b)
{
	uint64_t cnt = 0;
	struct event ev;

	rings_begin_bench(b);
	while (truth_next(&b->truth, &ev)) {
		write_record(b, &ev);
		if (!(++cnt % 100))
			read_rings(b, ev.time_ns);
	}
	end_irqs(b);
	read_rings(b, UINT64_MAX);
	rings_end_bench(b);
}

static void feed(struct bench *b)
{
	struct event ev;

	if (b->truth.config.irq_loss)
		feed_rings(b);
	while (truth_next(&b->truth, &ev))
		feed_events(b, &ev, 1);
	graph_finish(b->graph);
	calltree_finish(b->tree);
	CHECK(!format_finish(b->json));
	check_json(b);
}

/* Every return is shown, counted with its reason, or lost. */
static void check_sums(const struct bench *b)
{
	const struct graph_stats *stats = graph_stats_get(b->graph);
	const struct callstack_stats *pairs = &stats->pairs;
	const struct truth *t = &b->truth;

	CHECK(!stats->bad_cnt && !pairs->deep_cnt && !pairs->deep_return_cnt);
	CHECK(b->whole_cnt == pairs->pair_cnt && b->json_whole_cnt == pairs->pair_cnt);
	CHECK(b->open_cnt == pairs->unsure_cnt + pairs->unclosed_cnt + stats->open_cnt);
	CHECK(b->stray_cnt == pairs->unsure_cnt + pairs->orphan_cnt);
	if (b->roots)
		return;
	CHECK(stats->call_cnt ==
	      pairs->pair_cnt + pairs->unsure_cnt + pairs->unclosed_cnt + stats->open_cnt);
	CHECK(t->entry_cnt + t->exit_cnt ==
	      stats->call_cnt + pairs->pair_cnt + pairs->unsure_cnt + pairs->orphan_cnt +
		      pairs->early_return_cnt + t->lost_entry_cnt + t->lost_exit_cnt + b->torn_cnt);
	if (t->config.irq_loss) {
		CHECK(!pairs->unsure_cnt && !pairs->unclosed_cnt && !pairs->orphan_cnt);
		return;
	}
	CHECK(t->entry_cnt == stats->call_cnt + t->lost_entry_cnt);
	CHECK(t->exit_cnt == pairs->pair_cnt + pairs->unsure_cnt + pairs->orphan_cnt +
				     pairs->early_return_cnt + t->lost_exit_cnt);
	if (!b->is_lossless)
		return;
	CHECK(!pairs->unsure_cnt && !pairs->unclosed_cnt && !pairs->orphan_cnt);
	CHECK(!pairs->early_return_cnt || t->config.is_late);
}

static void check_roots(const struct bench *b)
{
	const struct starts_stats *stats = b->roots ? starts_stats_get(b->roots) : NULL;

	if (!stats)
		return;
	if (b->starts_config.want.slower_ns)
		CHECK(stats->shown_cnt == b->outermost_cnt);
	if (!b->is_lossless)
		return;
	CHECK(!stats->broken_cnt);
	if (b->starts_config.has_starts)
		return;
	CHECK(stats->start_cnt == b->truth.outermost_cnt[0]);
	CHECK(stats->shown_cnt == b->truth.outermost_cnt[1]);
}

static void end(struct bench *b)
{
	check_sums(b);
	check_profile(b);
	if (!b->truth.config.is_silent)
		check_folded(b);
	check_roots(b);
	printf("  %llu calls, %llu ends lost: %llu shown whole, %llu entries and %llu returns alone\n",
	       (unsigned long long)b->truth.entry_cnt,
	       (unsigned long long)(b->truth.lost_entry_cnt + b->truth.lost_exit_cnt),
	       (unsigned long long)b->whole_cnt, (unsigned long long)b->open_cnt,
	       (unsigned long long)b->stray_cnt);
	/* that much is certain that it is worth showing */
	if (!b->roots && b->truth.config.ring_loss + b->truth.config.guard_loss < 0.002 &&
	    b->truth.config.irq_loss < 0.1)
		CHECK(b->whole_cnt > b->truth.entry_cnt / 2);
	if (b->truth.config.irq_loss)
		CHECK(b->truth.lost_entry_cnt && b->truth.lost_exit_cnt && b->torn_cnt);
	starts_free(b->roots);
	graph_free(b->graph);
	calltree_free(b->tree);
	profile_free(b->profile);
	format_free(b->json);
	format_free(b->folded);
	strbuf_release(&b->json_out);
	strbuf_release(&b->folded_out);
	truth_release(&b->truth);
}

static void check_truth(struct truth_config config, const struct starts_config *roots)
{
	struct bench b = { 0 };
	uint64_t cnt = getenv("NFG_LONG") ? LONG_CALL_CNT : CALL_CNT;

	/* several hosts: where the stacks lie is random once */
	for (uint64_t seed = 1; seed <= 5; seed++) {
		config.seed = seed;
		config.call_cnt = cnt / 5;
		memset(&b.truth, 0, sizeof(b) - offsetof(struct bench, truth));
		b.is_lossless = !config.ring_loss && !config.guard_loss && !config.irq_loss;
		if (roots)
			b.starts_config = *roots;
		truth_init(&b.truth, &config);
		b.truth.slow_ns = b.starts_config.want.slower_ns;
		begin(&b);
		feed(&b);
		end(&b);
	}
}

static const uint8_t kinds[TRUTH_FUNC_CNT] = {
	[1] = STARTS_OPEN, [4] = STARTS_OPEN, [5] = STARTS_OPEN, [7] = STARTS_CLOSE
};

#define TRUTH(...) check_truth((struct truth_config){ __VA_ARGS__ }, NULL)
#define TRUTH_OF_ROOTS(roots, ...) \
	check_truth((struct truth_config){ __VA_ARGS__ }, &(const struct starts_config)roots)

TEST_ONE(truth_is_shown_whole_when_nothing_is_lost, TRUTH(.seed = 1));
TEST_ONE(truth_is_shown_whole_without_its_sleeps, TRUTH(.has_switches = true, .is_late = true));
TEST_ONE(truth_with_a_ring_that_loses_little, TRUTH(.ring_loss = 0.001));
TEST_ONE(truth_with_a_ring_that_loses_much, TRUTH(.ring_loss = 0.05, .is_late = true),
	 TRUTH(.ring_loss = 0.5));
TEST_ONE(truth_with_a_guard_that_skips_little, TRUTH(.guard_loss = 0.001));
TEST_ONE(truth_with_a_guard_that_skips_much, TRUTH(.guard_loss = 0.1, .is_late = true),
	 TRUTH(.guard_loss = 0.9));
TEST_ONE(truth_with_both, TRUTH(.ring_loss = 0.01, .guard_loss = 0.05),
	 TRUTH(.ring_loss = 0.002, .guard_loss = 0.5, .has_switches = true));

/* Nothing but such softirqs is touched: no call lacks an end, and each has its true caller. */
TEST_ONE(truth_with_softirqs_inside_programs, TRUTH(.irq_loss = 0.05),
	 TRUTH(.irq_loss = 0.9, .has_switches = true));

static const uint8_t plain_kinds[TRUTH_FUNC_CNT];

/* Durations may then be wrong, but no tree is impossible. */
TEST_ONE(truth_that_is_lost_in_silence,
	 TRUTH(.ring_loss = 0.01, .guard_loss = 0.1, .is_silent = true),
	 TRUTH(.guard_loss = 0.9, .has_switches = true, .is_silent = true),
	 TRUTH(.ring_loss = 0.3, .is_late = true, .is_silent = true));

#define ROOTS_SLOW                                           \
	{                                                    \
		.kinds = plain_kinds, .want.slower_ns = 1500 \
	}
#define ROOTS_G                                    \
	{                                          \
		.kinds = kinds, .has_starts = true \
	}
#define ROOTS_SLOW_G                                                      \
	{                                                                 \
		.kinds = kinds, .has_starts = true, .want.slower_ns = 700 \
	}

TEST_ONE(truth_of_slow_roots, TRUTH_OF_ROOTS(ROOTS_SLOW, .seed = 1),
	 TRUTH_OF_ROOTS(ROOTS_SLOW, .ring_loss = 0.005, .guard_loss = 0.05),
	 TRUTH_OF_ROOTS(ROOTS_SLOW_G, .ring_loss = 0.005, .guard_loss = 0.05,
			.has_switches = true));
TEST_ONE(truth_of_slow_roots_with_softirqs_inside_programs,
	 TRUTH_OF_ROOTS(ROOTS_SLOW, .irq_loss = 0.3));
TEST_ONE(truth_of_roots, TRUTH_OF_ROOTS(ROOTS_G, .seed = 1),
	 TRUTH_OF_ROOTS(ROOTS_G, .ring_loss = 0.005, .guard_loss = 0.05));
