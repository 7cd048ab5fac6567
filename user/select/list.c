#include "select/list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "select/preset.h"

#define PRESET_NAME_WIDTH 18
#define LINE_WIDTH        80
#define PLAN_NAME_WIDTH   12
#define MIB               1048576.0

/* ---- functions ---- */

struct listing {
	struct strbuf *out;
	struct srcline *srcline;
	const struct list_taker *taker;
	bool is_verbose;
};

static void func_print(const struct listing *listing, const struct list_func *func)
{
	strbuf_str(listing->out, func->name);
	if (func->module)
		strbuf_printf(listing->out, " [%s]", func->module);
	if (func->source.len)
		strbuf_printf(listing->out, " (%.*s)", (int)func->source.len, func->source.ptr);
	if (listing->is_verbose)
		strbuf_printf(listing->out, ": %s", func->reason ? func->reason : "chosen");
	strbuf_char(listing->out, '\n');
}

static void func_found(const struct listing *listing, const char *name, const char *module,
		       const char *reason)
{
	const struct list_func func = {
		.name = name,
		.module = module,
		.source = module ? (struct text){ 0 } : srcline_entry(listing->srcline, name),
		.reason = reason,
	};

	if (listing->taker)
		listing->taker->func(listing->taker->ctx, &func);
	else
		func_print(listing, &func);
}

static void verdict_found(void *ctx, const struct kbtf_func *func, const char *reason)
{
	func_found(ctx, func->name, func->module, reason);
}

static void funcs_found(const struct listing *listing, const struct functab *tab)
{
	for (size_t i = 0; i < tab->cnt; i++) {
		const struct func *func = &tab->funcs[i];

		func_found(listing, func->name.ptr, func->module.len ? func->module.ptr : NULL,
			   NULL);
	}
}

/* ---- plan ---- */

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

static size_t module_func_cnt(const struct functab *tab)
{
	size_t cnt = 0;

	for (size_t i = 0; i < tab->cnt; i++)
		cnt += tab->funcs[i].module.len > 0;
	return cnt;
}

static struct list_cost cost_of(const struct list_plan *plan, const struct functab *tab,
				const struct attach_shares *shares)
{
	return (struct list_cost){
		.by = attach_words(shares->mode),
		.func_cnt = tab->cnt,
		.module_func_cnt = module_func_cnt(tab),
		.extra_cnt = shares->extra_cnt,
		.pair_cnt = shares->pair_cnt,
		.bill = attach_bill_of(shares, plan->arch, plan->kernel),
		.cpu_cnt = plan->cpu_cnt,
		.buffer_bytes = plan->buffer_bytes,
		.thread_bytes = shares->thread_bytes,
	};
}

static void cost_print(struct strbuf *out, const struct list_cost *cost)
{
	const double program_bytes = (double)cost->bill.bytes;

	plan_name(out, "functions");
	strbuf_printf(out, "%zu, %zu of them in modules\n", cost->func_cnt, cost->module_func_cnt);
	plan_name(out, "by");
	strbuf_printf(out, "%s, %s", cost->by->link, cost->by->programs);
	if (cost->extra_cnt)
		strbuf_printf(out, " but %zu, which kprobe.session takes", cost->extra_cnt);
	if (cost->pair_cnt)
		strbuf_printf(out, " but %zu, which get fentry and fexit for --filter",
			      cost->pair_cnt);
	strbuf_char(out, '\n');
	plan_time(out, "attach", cost->bill.attach_us);
	strbuf_str(out, " at most: on an emulated CPU; others are several times faster\n");
	plan_time(out, "detach", cost->bill.detach_us);
	strbuf_printf(
		out, "%s\n",
		cost->bill.waits
			? ": in the background, as this kernel waits for a grace period at each function"
			: " at most, on an emulated CPU too");
	plan_name(out, "memory");
	strbuf_printf(out, "%.1f MiB: %" PRIu32 " rings of %.2f MiB, %.1f MiB of programs\n",
		      ((double)cost->buffer_bytes * cost->cpu_cnt + program_bytes) / MIB,
		      cost->cpu_cnt, (double)cost->buffer_bytes / MIB, program_bytes / MIB);
	if (!cost->thread_bytes)
		return;
	plan_name(out, "threads");
	strbuf_printf(out,
		      "%.1f MiB: what the kernel keeps for the host's threads until they end\n",
		      (double)cost->thread_bytes / MIB);
}

/* Return: 0 or -errno, already logged. */
static int plan_print(struct strbuf *out, const struct list_config *config, struct functab *tab)
{
	struct attach_shares shares;
	struct list_cost cost;
	int err = config->plan->shares(config->plan->ctx, tab, &shares);

	if (err)
		return err;
	cost = cost_of(config->plan, tab, &shares);
	if (config->taker)
		config->taker->cost(config->taker->ctx, &cost);
	else
		cost_print(out, &cost);
	return 0;
}

/* ---- presets ---- */

/* Its start functions, as many to a line as fit. */
static void starts_print(struct strbuf *out, const char *names)
{
	size_t at = LINE_WIDTH;

	for (size_t len; *names; names += len + (names[len] == ' ')) {
		len = strcspn(names, " ");
		if (at + 1 + len > LINE_WIDTH) {
			strbuf_printf(out, "\n%*s", PRESET_NAME_WIDTH, "");
			at = PRESET_NAME_WIDTH;
		} else {
			strbuf_char(out, ' ');
			at++;
		}
		strbuf_add(out, names, len);
		at += len;
	}
	strbuf_char(out, '\n');
}

bool list_has_preset(const struct str_list *globs, const struct preset *preset)
{
	bool has = !globs->cnt;

	for (size_t i = 0; i < globs->cnt && !has; i++)
		has = glob_match(globs->items[i], preset->name);
	return has;
}

void list_presets(struct strbuf *out, const struct str_list *globs)
{
	for (size_t i = 0; i < preset_def_cnt; i++) {
		if (!list_has_preset(globs, &preset_defs[i]))
			continue;
		strbuf_printf(out, "%-*s%s", PRESET_NAME_WIDTH, preset_defs[i].name,
			      preset_defs[i].help);
		starts_print(out, preset_defs[i].starts);
	}
}

int list_run(const struct list_config *config, struct strbuf *out)
{
	struct listing listing = { out, config->srcline, config->taker, config->is_verbose };
	struct select_rules rules = config->rules;
	struct functab tab;
	int err;

	if (config->is_verbose && !config->plan)
		rules.verdict = verdict_found;
	rules.verdict_ctx = &listing;
	err = select_funcs(&tab, &rules, config->kbtf, config->ksyms);
	if (err)
		return err;
	if (config->check)
		err = config->check(config->check_ctx, &tab);
	if (!err && config->plan)
		err = plan_print(out, config, &tab);
	else if (!err && !config->is_verbose)
		funcs_found(&listing, &tab);
	functab_release(&tab);
	if (err)
		return err;
	return strbuf_ok(out) ? 0 : -ENOMEM;
}
