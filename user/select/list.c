#include "select/list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/parse.h"
#include "select/presets.h"

#define LINE_WIDTH        80
#define PRESET_NAME_WIDTH 18
#define PLAN_NAME_WIDTH   12
#define MIB               1048576.0

/* What a program at a tracepoint takes on an emulated CPU, to load and to attach, and of memory. */
#define POINT_ATTACH_US 20000
#define POINT_BYTES     8192

/* The same as LIST_LOAD_TIMES with the programs of sleeps, which the verifier looks at longest. */
#define SLEEPS_LOAD_TIMES 6

uint64_t list_load_us(uint64_t find_us, bool has_sleeps)
{
	return find_us * (has_sleeps ? SLEEPS_LOAD_TIMES : LIST_LOAD_TIMES);
}

/* ---- functions ---- */

/* A listed function; everything is borrowed. */
struct list_func {
	const char *name;
	const char *module; /* NULL: none */
	struct text
		source; /* where it begins, "net/socket.c:2104"; len 0: unknown, or not asked for */
	const char *reason; /* why it is not chosen; NULL: it is */
	bool is_chosen;
	bool is_verbose;
};

static void put_func(struct strbuf *out, const void *row)
{
	const struct list_func *func = row;

	clean_func(out, text_from(func->name), text_from(func->module), CLEAN_WORD);
	if (func->source.len)
		strbuf_printf(out, " (%.*s)", (int)func->source.len, func->source.ptr);
	if (func->is_verbose)
		strbuf_printf(out, ": %s", func->reason ? func->reason : "chosen");
}

static const struct column func_columns[] = {
	{ "host", .cell = CELL_HOST },
	{ "func", COLUMN_AT(struct list_func, name) },
	{ "module", COLUMN_AT(struct list_func, module) },
	{ "source", COLUMN_AT(struct list_func, source) },
	{ "chosen", COLUMN_AT(struct list_func, is_chosen) },
	{ "reason", COLUMN_AT(struct list_func, reason) },
	{ .title = "", .put = put_func },
};

static const struct table func_table = TABLE("list", func_columns);

static void func_found(const struct list_config *config, const char *name, const char *module,
		       const char *reason)
{
	const struct list_func func = {
		.name = name,
		.module = module,
		.source = module ? (struct text){ 0 } : srcline_entry(config->srcline, name),
		.reason = reason,
		.is_chosen = !reason,
		.is_verbose = config->is_verbose,
	};

	tablew_row(config->table, &func_table, &func);
}

static void verdict_found(void *ctx, const struct kbtf_func *func, const char *reason)
{
	func_found(ctx, func->name, func->module, reason);
}

/* ---- plan ---- */

/* The cost of a plan. */
struct list_cost {
	const struct attach_way *by;
	const char *attach; /* by->name */
	size_t func_cnt;
	size_t module_func_cnt;  /* how many of them are in modules ... */
	size_t prog_func_cnt;    /* ... and in BPF programs */
	size_t extra_cnt;        /* how many of them kprobe.session takes besides tracing_multi */
	size_t pair_cnt;         /* how many of them get fentry and fexit for ... */
	const char *pair_option; /* ... this option */
	struct attach_bill bill; /* an upper bound, from an emulated CPU */
	uint64_t find_us;
	uint64_t load_us;
	uint64_t start_us;   /* until the first row */
	const char *held_up; /* see struct list_plan */
	bool is_held_up;     /* attaching takes ... */
	uint64_t held_up_us; /* ... so much longer, which @attach_us and @start_us have */
	uint64_t attach_us;
	uint64_t detach_us;
	uint64_t detach_more_us; /* of @detach_us, because of the same */
	uint64_t program_bytes;
	size_t point_cnt;
	const char *point_names;
	bool has_sleeps;
	uint32_t cpu_cnt;
	uint64_t buffer_bytes; /* per CPU */
	uint64_t self_bytes;   /* what a trace takes besides rings and programs */
	uint64_t sums_bytes;   /* what a table takes instead */
	uint64_t thread_bytes; /* that threads keep until they end */
	struct forecast forecast;
	size_t near_cnt; /* functions with FORECAST_NEAR_DEPTH as --callee-depth; 0: not asked ... */
	struct forecast near; /* ... and what these would cost */
};

static void plan_name(struct strbuf *out, const char *name)
{
	strbuf_printf(out, "%-*s", PLAN_NAME_WIDTH, name);
}

static void plan_time(struct strbuf *out, const char *name, uint64_t us)
{
	plan_name(out, name);
	if (us >= 10000000)
		strbuf_printf(out, "%" PRIu64 " s", (us + 500000) / 1000000);
	else
		strbuf_printf(out, "%.1f s", (double)us / 1e6);
}

/* If one packet costs n nanoseconds, a million cost n milliseconds. */
static void forecast_print(struct strbuf *out, const struct list_cost *cost)
{
	const struct forecast *all = &cost->forecast;

	plan_name(out, "packets");
	if (!all->call_cnt) {
		strbuf_str(
			out,
			"a datagram between two sockets of this host passes none of these functions\n");
		return;
	}
	strbuf_printf(
		out,
		"%" PRIu32 " %s for a datagram between two sockets of this host; a million cost "
		"about %.1f s of CPU time if traced, %.1f s if not, estimated by how fast this CPU does arithmetic; an emulated one takes about five times as long\n",
		all->call_cnt, plural(all->call_cnt, "call", "calls"), all->traced_ns / 1e3,
		all->others_ns / 1e3);
	plan_name(out, "others");
	strbuf_printf(out,
		      "keep about %" PRIu32
		      " %% of their speed if they do nothing but send such datagrams, "
		      "until --max-overhead leaves functions out\n",
		      all->kept_pct);
	if (!cost->near_cnt)
		return;
	plan_name(out, "");
	strbuf_printf(out, "with --callee-depth %d: %zu functions, about %" PRIu32 " %%\n",
		      FORECAST_NEAR_DEPTH, cost->near_cnt, cost->near.kept_pct);
}

/* How long it takes until tracing begins, and to attach; and the number for detaching. */
static void times_print(struct strbuf *out, const struct list_cost *cost)
{
	plan_time(out, "start", cost->start_us);
	strbuf_printf(
		out,
		"%s until tracing begins: %.1f s to read this kernel and to choose functions, as it took just now, %.1f s at most to load programs, and attaching\n",
		cost->is_held_up ? " estimated" : " at most on an idle host",
		(double)cost->find_us / 1e6, (double)cost->load_us / 1e6);
	if (cost->is_held_up) {
		plan_name(out, "");
		strbuf_printf(out, "%s\n", cost->held_up);
	}
	plan_time(out, "attach", cost->attach_us);
	if (cost->is_held_up)
		strbuf_printf(
			out,
			" estimated: %.1f s at most on an idle emulated CPU, and %.1f s because of the earlier netfgraph\n",
			(double)cost->bill.attach_us / 1e6, (double)cost->held_up_us / 1e6);
	else
		strbuf_str(out,
			   " at most, on an idle emulated CPU; others are several times faster\n");
	plan_time(out, "detach", cost->detach_us);
	if (cost->detach_more_us)
		strbuf_printf(out, " estimated, %.1f s of it because of the earlier netfgraph",
			      (double)cost->detach_more_us / 1e6);
}

/* How many tracepoints, and what these take of the time until tracing begins; and those of sleeps. */
static void points_print(struct strbuf *out, const struct list_cost *cost)
{
	const char *names = cost->point_names;

	if (cost->point_cnt) {
		plan_name(out, "tracepoints");
		strbuf_printf(
			out,
			"%zu%s%s%s, which %s %.1f s of the start at most, on an idle emulated CPU\n",
			cost->point_cnt, *names ? " (" : "", names, *names ? ")" : "",
			plural(cost->point_cnt, "takes", "take"),
			(double)cost->point_cnt * POINT_ATTACH_US / 1e6);
	}
	if (cost->has_sleeps) {
		plan_name(out, "sleeps");
		strbuf_str(
			out,
			"recorded: programs run at each sched_switch and sched_waking of the host\n");
	}
}

static void cost_print(struct strbuf *out, const struct list_cost *cost)
{
	const double program_bytes = (double)cost->program_bytes;
	const double other_bytes = (double)cost->buffer_bytes * cost->cpu_cnt + program_bytes;

	plan_name(out, "functions");
	strbuf_printf(out, "%zu, %zu of them in modules", cost->func_cnt, cost->module_func_cnt);
	if (cost->prog_func_cnt)
		strbuf_printf(
			out,
			", %zu in BPF programs, which no other program can replace (freplace) meanwhile",
			cost->prog_func_cnt);
	strbuf_char(out, '\n');
	plan_name(out, "by");
	strbuf_printf(out, "%s, %s", cost->by->link, cost->by->programs);
	if (cost->extra_cnt)
		strbuf_printf(out, " but %zu, which kprobe.session takes", cost->extra_cnt);
	if (cost->pair_cnt)
		strbuf_printf(out, " but %zu, which get fentry and fexit for %s", cost->pair_cnt,
			      cost->pair_option);
	strbuf_char(out, '\n');
	points_print(out, cost);
	times_print(out, cost);
	strbuf_printf(
		out, "%s\n",
		cost->bill.waits
			? ": in the background, as this kernel waits for a grace period at each function"
			: " at most, on an idle emulated CPU too");
	plan_name(out, "memory");
	strbuf_printf(
		out,
		"%.1f MiB at most for a trace: %" PRIu32
		" rings of %.2f MiB, %.1f MiB of programs, %.1f MiB for what is read of the kernel and for shared tables; %.1f MiB for profile and latency\n",
		(other_bytes + (double)cost->self_bytes) / MIB, cost->cpu_cnt,
		(double)cost->buffer_bytes / MIB, program_bytes / MIB,
		(double)cost->self_bytes / MIB, (other_bytes + (double)cost->sums_bytes) / MIB);
	forecast_print(out, cost);
	if (!cost->thread_bytes)
		return;
	plan_name(out, "threads");
	strbuf_printf(out,
		      "%.1f MiB: what the kernel keeps for the host's threads until they end\n",
		      (double)cost->thread_bytes / MIB);
}

#define COST(member) COLUMN_AT(struct list_cost, member)

static const struct column plan_columns[] = {
	{ "host", .cell = CELL_HOST },
	{ "functions", COST(func_cnt) },
	{ "module_functions", COST(module_func_cnt) },
	{ "program_functions", COST(prog_func_cnt) },
	{ "attach", COST(attach) },
	{ "kprobe_functions", COST(extra_cnt) },
	{ "pair_functions", COST(pair_cnt) },
	{ "start_us", COST(start_us) },
	{ "attach_us", COST(attach_us) },
	{ "detach_us", COST(detach_us) },
	{ "detach_waits", COST(bill.waits) },
	{ "cpus", COST(cpu_cnt) },
	{ "cpu_buffer_bytes", COST(buffer_bytes) },
	{ "program_bytes", COST(program_bytes) },
	{ "self_bytes", COST(self_bytes) },
	{ "thread_bytes", COST(thread_bytes) },
	{ "datagram_calls", COST(forecast.call_cnt) },
	{ "datagram_traced_ns", COST(forecast.traced_ns) },
	{ "datagram_others_ns", COST(forecast.others_ns) },
	{ "others_kept_pct", COST(forecast.kept_pct) },
	{ "held_up", COST(is_held_up) },
	{ "held_up_us", COST(held_up_us) },
	{ "tracepoints", COST(point_cnt) },
};

static const struct table plan_table = TABLE("plan", plan_columns);

/* Report nothing: functions that are left out have been reported once. */
static void no_verdict(void *ctx, const struct kbtf_func *func, const char *reason)
{
	(void)ctx;
	(void)func;
	(void)reason;
}

/* Find the cost if only functions near below the start functions are traced. Only text shows it. */
static void find_near(struct list_cost *cost, const struct list_config *config)
{
	struct select_rules rules = config->rules;
	struct functab tab;

	if (config->table->form != TABLE_TEXT || cost->forecast.kept_pct >= FORECAST_LITTLE_PCT ||
	    rules.callee_depth || (!rules.start_cnt && !rules.preset_cnt))
		return;
	rules.callee_depth = FORECAST_NEAR_DEPTH;
	rules.verdict = no_verdict;
	if (select_funcs(&tab, &rules, config->kbtf, config->ksyms))
		return;
	cost->near_cnt = tab.cnt;
	cost->near = config->plan->forecast(config->plan->ctx, &tab);
	functab_release(&tab);
}

/* What a trace beside @plan->others takes in addition, if it ends as soon as it has begun, and attaches @before_us from now. */
static struct attach_beside beside_of(const struct list_plan *plan,
				      const struct attach_shares *shares, uint64_t before_us)
{
	uint64_t left_ns[ATTACH_OTHERS_MAX];
	const size_t cnt = plan->others.cnt;
	const struct attach_others others = { left_ns, cnt };
	struct attach_beside beside;

	for (size_t i = 0; i < cnt; i++)
		left_ns[i] = plan->others.left_ns[i];
	attach_others_pass(left_ns, cnt, before_us);
	beside = attach_beside_of(shares, plan->arch, plan->kernel, &others);
	if (beside.others_us)
		beside.others_us += before_us;
	return beside;
}

/* The same in @cost, if it matters. */
static void find_beside(struct list_cost *cost, const struct list_plan *plan,
			const struct attach_shares *shares)
{
	const struct attach_beside beside = beside_of(plan, shares, cost->start_us);

	cost->held_up = plan->others.cnt ? plan->held_up(plan->ctx, beside.others_us) : NULL;
	cost->is_held_up = cost->held_up != NULL;
	if (!cost->is_held_up)
		return;
	cost->held_up_us = beside.attach_us;
	cost->detach_more_us = beside.detach_us;
	cost->detach_us += beside.detach_us;
}

/* Return: 0 or -errno, already logged. */
static int plan_print(const struct list_config *config, struct functab *tab)
{
	const struct list_plan *plan = config->plan;
	struct attach_shares shares;
	const uint64_t find_us = plan->find_us(plan->ctx);
	const uint64_t load_us = list_load_us(find_us, plan->has_sleeps);
	struct list_cost cost;
	int err = plan->shares(plan->ctx, tab, &shares);

	if (err)
		return err;
	cost = (struct list_cost){
		.by = attach_way(shares.mode),
		.attach = attach_way(shares.mode)->name,
		.func_cnt = tab->cnt,
		.prog_func_cnt = functab_prog_cnt(tab),
		.extra_cnt = shares.extra_cnt,
		.pair_cnt = shares.pair_cnt,
		.pair_option = shares.pair_option,
		.bill = attach_bill_of(&shares, plan->arch, plan->kernel),
		.find_us = find_us,
		.load_us = load_us,
		.start_us = find_us + load_us + plan->point_cnt * POINT_ATTACH_US,
		.point_cnt = plan->point_cnt,
		.point_names = plan->point_names,
		.has_sleeps = plan->has_sleeps,
		.cpu_cnt = plan->cpu_cnt,
		.buffer_bytes = plan->buffer_bytes,
		.self_bytes = plan->self_bytes,
		.sums_bytes = plan->sums_bytes,
		.thread_bytes = shares.thread_bytes,
		.forecast = plan->forecast(plan->ctx, tab),
	};
	cost.detach_us = cost.bill.detach_us;
	find_beside(&cost, plan, &shares);
	cost.attach_us = cost.bill.attach_us + cost.held_up_us;
	cost.start_us += cost.attach_us;
	cost.program_bytes = cost.bill.bytes + plan->point_cnt * POINT_BYTES;
	for (size_t i = 0; i < tab->cnt; i++)
		cost.module_func_cnt += tab->funcs[i].module.len > 0 && !tab->funcs[i].prog_id;
	find_near(&cost, config);
	if (config->table->form == TABLE_TEXT)
		cost_print(config->table->out, &cost);
	else
		tablew_row(config->table, &plan_table, &cost);
	return 0;
}

/* ---- presets ---- */

/* Its start functions, as many to a line as fit. */
static void starts_print(struct strbuf *out, const char *names)
{
	size_t at = LINE_WIDTH;

	for (struct text name; (name = text_word(&names)).len;) {
		if (at + 1 + name.len > LINE_WIDTH) {
			strbuf_printf(out, "\n%*s", PRESET_NAME_WIDTH, "");
			at = PRESET_NAME_WIDTH;
		} else {
			strbuf_char(out, ' ');
			at++;
		}
		strbuf_add(out, name.ptr, name.len);
		at += name.len;
	}
}

static void put_preset(struct strbuf *out, const void *row)
{
	const struct preset *preset = row;

	strbuf_printf(out, "%-*s%s", PRESET_NAME_WIDTH, preset->name, preset->help);
	starts_print(out, preset->starts);
}

static const struct column preset_columns[] = {
	{ "preset", COLUMN_AT(struct preset, name) },
	{ "description", COLUMN_AT(struct preset, help) },
	{ "starts", COLUMN_AS(CELL_WORDS, struct preset, starts) },
	{ .title = "", .put = put_preset },
};

static const struct table preset_table = TABLE("presets", preset_columns);

void list_presets(struct tablew *w, const struct str_list *globs)
{
	tablew_head(w, &preset_table);
	for (size_t i = 0; i < preset_def_cnt; i++) {
		bool has = !globs->cnt;

		for (size_t k = 0; k < globs->cnt && !has; k++)
			has = glob_match(globs->items[k], preset_defs[i].name);
		if (has)
			tablew_row(w, &preset_table, &preset_defs[i]);
	}
}

void list_head(struct tablew *w, bool is_plan)
{
	tablew_head(w, is_plan ? &plan_table : &func_table);
}

int list_run(const struct list_config *config)
{
	struct select_rules rules = config->rules;
	const bool lists_funcs = !config->plan && !config->is_verbose;
	struct functab tab;
	int err;

	if (config->is_verbose && !config->plan)
		rules.verdict = verdict_found;
	rules.verdict_ctx = (void *)config;
	err = select_funcs(&tab, &rules, config->kbtf, config->ksyms);
	if (err)
		return err;
	if (config->check)
		err = config->check(config->check_ctx, &tab);
	if (!err && config->plan)
		err = plan_print(config, &tab);
	for (size_t i = 0; i < tab.cnt && lists_funcs && !err; i++) {
		const struct func *func = &tab.funcs[i];

		func_found(config, func->name.ptr, func->module.len ? func->module.ptr : NULL,
			   NULL);
	}
	functab_release(&tab);
	if (err)
		return err;
	return strbuf_ok(config->table->out) ? 0 : -ENOMEM;
}
