#include "select/list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "select/preset.h"

#define PRESET_NAME_WIDTH 18
#define LINE_WIDTH        80
#define PLAN_NAME_WIDTH   12
#define MIB               1048576.0

/* ---- functions ---- */

struct listing {
	struct strbuf *out;
	struct srcline *srcline;
};

static void func_print(const struct listing *listing, const char *name, const char *module)
{
	struct text line = { 0 };

	strbuf_str(listing->out, name);
	if (module)
		strbuf_printf(listing->out, " [%s]", module);
	else
		line = srcline_entry(listing->srcline, name);
	if (line.len)
		strbuf_printf(listing->out, " (%.*s)", (int)line.len, line.ptr);
}

static void verdict_print(void *ctx, const struct kbtf_func *func, const char *reason)
{
	const struct listing *listing = ctx;

	func_print(listing, func->name, func->module);
	strbuf_printf(listing->out, ": %s\n", reason ? reason : "chosen");
}

static void funcs_print(const struct listing *listing, const struct functab *tab)
{
	for (size_t i = 0; i < tab->cnt; i++) {
		func_print(listing, tab->funcs[i].name.ptr,
			   tab->funcs[i].module.len ? tab->funcs[i].module.ptr : NULL);
		strbuf_char(listing->out, '\n');
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

static void plan_print(struct strbuf *out, const struct list_plan *plan, const struct functab *tab,
		       enum attach_mode mode)
{
	const struct attach_words *words = attach_words(mode);
	const struct attach_cost *cost = attach_cost(mode, plan->kernel);
	const struct attach_cost *extra = attach_cost(ATTACH_KPROBE, plan->kernel);
	/* that kprobe.session takes beside tracing_multi */
	const uint64_t extras = mode == ATTACH_MULTI ? functab_extra_cnt(tab) : 0;
	const uint64_t cnt = tab->cnt - extras;
	const double program_bytes = (double)(cost->bytes * cnt + extra->bytes * extras);

	plan_name(out, "functions");
	strbuf_printf(out, "%zu, %zu of them in modules\n", tab->cnt, module_func_cnt(tab));
	plan_name(out, "by");
	strbuf_printf(out, "%s, %s", words->link, words->programs);
	if (extras)
		strbuf_printf(out, " but %" PRIu64 ", which kprobe.session takes", extras);
	strbuf_char(out, '\n');
	plan_time(out, "attach", cost->attach_us * cnt + extra->attach_us * extras);
	strbuf_str(out, " at most: on an emulated CPU; others are several times faster\n");
	plan_time(out, "detach", cost->detach_us * cnt + extra->detach_us * extras);
	strbuf_printf(
		out, "%s\n",
		cost->waits
			? ": in the background, as this kernel waits for a grace period at each function"
			: " at most, likewise");
	plan_name(out, "memory");
	strbuf_printf(out, "%.1f MiB: %" PRIu32 " rings of %.2f MiB, %.1f MiB of programs\n",
		      ((double)plan->buffer_bytes * plan->cpu_cnt + program_bytes) / MIB,
		      plan->cpu_cnt, (double)plan->buffer_bytes / MIB, program_bytes / MIB);
}

void list_kernel(unsigned int version[2])
{
	struct utsname uts;

	version[0] = 0;
	version[1] = 0;
	if (!uname(&uts))
		sscanf(uts.release, "%u.%u", &version[0], &version[1]);
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

void list_presets(struct strbuf *out)
{
	for (size_t i = 0; i < preset_def_cnt; i++) {
		strbuf_printf(out, "%-*s%s", PRESET_NAME_WIDTH, preset_defs[i].name,
			      preset_defs[i].help);
		starts_print(out, preset_defs[i].starts);
	}
}

int list_run(const struct list_config *config, struct strbuf *out)
{
	struct listing listing = { out, config->srcline };
	struct select_rules rules = config->rules;
	enum attach_mode mode;
	struct functab tab;
	int err;

	rules.verdict = config->is_verbose && !config->plan ? verdict_print : NULL;
	rules.verdict_ctx = &listing;
	err = select_funcs(&tab, &rules, config->kbtf, config->ksyms);
	if (err)
		return err;
	if (config->plan) {
		err = config->plan->mode(config->plan->ctx, &tab, &mode);
		if (!err)
			plan_print(out, config->plan, &tab, mode);
	} else if (!config->is_verbose) {
		funcs_print(&listing, &tab);
	}
	functab_release(&tab);
	if (err)
		return err;
	return strbuf_ok(out) ? 0 : -ENOMEM;
}
