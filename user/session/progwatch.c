#include "session/progwatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "filter/filter.h"
#include "kernel/bpfprog.h"
#include "report/pipeline.h"
#include "select/funcrule.h"
#include "select/select.h"

#define LOOK_EVERY_NS 1000000000ull
/* How many functions of new programs a trace takes. */
#define NEW_FUNCS_MAX 128
/* How many of them between two looks at the rings: each takes up to six runs of the verifier. */
#define FUNCS_PER_PASS 4
/* So many failures in a row are told. */
#define FAILURES_TOLD 3

bool progwatch_follows(const struct opts *opts)
{
	for (size_t i = 0; i < opts->trace_funcs.cnt; i++) {
		const char *rule = opts->trace_funcs.items[i];

		if (funcrule_names_progs(rule + (*rule == '+')))
			return true;
	}
	return false;
}

int progwatch_make_room(struct functab *tab)
{
	const size_t wanted = tab->cnt + NEW_FUNCS_MAX;
	const size_t room = wanted < NFG_FUNC_CNT ? wanted : NFG_FUNC_CNT;
	struct func *funcs;

	if (room <= tab->cnt)
		return 0;
	funcs = realloc(tab->funcs, room * sizeof(*funcs));
	if (!funcs)
		return -ENOMEM;
	memset(&funcs[tab->cnt], 0, (room - tab->cnt) * sizeof(*funcs));
	tab->funcs = funcs;
	tab->room = room;
	return 0;
}

static void note_progs(struct progwatch *pw, size_t first)
{
	const struct functab *tab = pw->config.functab;

	for (size_t i = first; i < tab->cnt; i++) {
		if (tab->funcs[i].prog_id)
			pw->func_ids[pw->func_cnt++] = (uint32_t)i;
	}
}

int progwatch_init(struct progwatch *pw, const struct progwatch_config *config)
{
	const struct functab *tab = config->functab;
	const size_t max_cnt = functab_prog_cnt(tab) + functab_max(tab) - tab->cnt;

	*pw = (struct progwatch){ .config = *config };
	kbtf_close_progs(config->facts->kbtf);
	bpfprogs_forget(&config->facts->progs);
	if (!max_cnt)
		return 0;
	pw->func_ids = calloc(max_cnt, sizeof(*pw->func_ids));
	pw->gone_ids = calloc(max_cnt, sizeof(*pw->gone_ids));
	if (!pw->func_ids || !pw->gone_ids)
		return -ENOMEM;
	note_progs(pw, 0);
	pw->follows = tab->room && attach_takes_progs(config->attach);
	if (tab->room && !pw->follows)
		log_warn(
			"new BPF programs are not traced: they take fentry and fexit programs, which this trace excludes");
	pw->holders_fd = bpfprog_holders_open(config->facts->kbtf);
	if (pw->holders_fd > 0)
		return 0;
	log_warn(
		"this kernel does not show who holds a BPF program: traced ones stay loaded until the trace ends");
	pw->holders_fd = 0;
	return 0;
}

void progwatch_release(struct progwatch *pw)
{
	if (pw->holders_fd)
		close(pw->holders_fd);
	free(pw->func_ids);
	free(pw->gone_ids);
	*pw = (struct progwatch){ 0 };
}

/* ---- programs that only we hold ---- */

/* Note the functions of a program that only our links hold. */
static void holders_found(void *ctx, const struct bpfprog_held *held)
{
	struct progwatch *pw = ctx;
	const size_t before_cnt = pw->gone_cnt;

	for (size_t i = 0; i < pw->func_cnt; i++) {
		const struct func *func = &pw->config.functab->funcs[pw->func_ids[i]];

		if (func->prog_id == held->prog_id && func->is_attached)
			pw->gone_ids[pw->gone_cnt++] = pw->func_ids[i];
	}
	if (held->ref_cnt > (pw->gone_cnt - before_cnt) * pw->link_cnt)
		pw->gone_cnt = before_cnt;
}

static int let_go(struct progwatch *pw)
{
	const struct progwatch_config *config = &pw->config;
	int err;

	pw->gone_cnt = 0;
	pw->link_cnt = attach_own_link_cnt(config->attach);
	err = bpfprog_holders_read(pw->holders_fd, holders_found, pw);
	pw->failure_cnt = err ? pw->failure_cnt + 1 : 0;
	if (pw->failure_cnt == FAILURES_TOLD)
		log_warn(
			"cannot see who holds BPF programs: %s: traced ones stay loaded until this works or the trace ends",
			strerror(-err));
	if (err)
		return 0;
	for (size_t i = 0; i < pw->gone_cnt; i++) {
		const struct func *func = &config->functab->funcs[pw->gone_ids[i]];

		log_info("'%s' [%s] is not traced any longer: its program was unloaded",
			 func->name.ptr, func->module.ptr);
	}
	return pw->gone_cnt ? attach_leave_out(config->attach, config->obj, config->functab,
					       pw->gone_ids, pw->gone_cnt, config->stop_cnt)
			    : 0;
}

/* ---- new programs ---- */

/* Add a function that a rule asks for to the table. Return: whether the kernel was asked about it. */
static bool func_found(struct progwatch *pw, const struct bpfprog_func *prog)
{
	const struct opts *opts = pw->config.opts;
	struct functab *tab = pw->config.functab;
	const struct kbtf_func *func = &prog->func;
	const char *reason;

	if (!funcrule_list_matches(&opts->trace_funcs, true, func->name, func->module) ||
	    funcrule_list_matches(&opts->notrace_funcs, false, func->name, func->module))
		return false;
	if (tab->cnt == tab->room) {
		if (pw->follows)
			log_warn(
				"new BPF programs are not traced from here on: a trace takes %d functions of them",
				NEW_FUNCS_MAX);
		pw->follows = false;
		return false;
	}
	reason = select_prog(&tab->funcs[tab->cnt], prog, pw->config.facts->kbtf);
	if (reason) {
		log_debug("left out '%s' [%s]: %s", prog->func.name, prog->func.module, reason);
	} else {
		tab->cnt++;
		pw->has_taken = true;
	}
	return true;
}

/* What start_setup_check_filter does for the functions of the beginning. */
static int fit_filter(const struct progwatch_config *config, size_t first)
{
	struct filter *filter = config->opts->filter;
	struct text missing;
	int err = 0;

	for (size_t i = first; filter && !err && i < config->functab->cnt; i++)
		err = start_setup_fit(filter, &config->functab->funcs[i], (uint32_t)i,
				      config->details->protos, config->facts->kbtf, &missing);
	return err;
}

/* Attach the functions that were added to the table. */
static int add_funcs(struct progwatch *pw, size_t first)
{
	const struct progwatch_config *config = &pw->config;
	struct functab *tab = config->functab;
	int err = details_funcs(config->details, tab, config->facts->kbtf);

	if (!err)
		err = fit_filter(config, first);
	if (!err && config->start_kinds)
		start_setup_add(config->start_kinds, config->opts, tab, first);
	if (!err && config->sink && config->sink->ops->added)
		config->sink->ops->added(config->sink);
	if (!err)
		err = attach_add_progs(config->attach, config->obj, tab, first, config->stop_cnt);
	for (size_t i = first; i < tab->cnt; i++) {
		if (tab->funcs[i].is_attached)
			log_info("'%s' [%s] is traced from here on", tab->funcs[i].name.ptr,
				 tab->funcs[i].module.ptr);
	}
	note_progs(pw, first);
	return err;
}

/* All functions of a new program were looked at. Of one that is not traced nothing may stay: a trace may run for months. */
static void finish_prog(struct progwatch *pw)
{
	struct facts *facts = pw->config.facts;

	kbtf_close_progs(facts->kbtf);
	if (!pw->has_taken && facts->progs.cnt)
		kbtf_drop_prog(facts->kbtf, facts->progs.funcs[0].func.module);
	bpfprogs_forget(&facts->progs);
	pw->next_row = 0;
	pw->has_taken = false;
}

/*
 * Take some functions of a new program. The rest, and the next program, wait until the rings were read: many programs
 * appear at once just when there is much to read.
 */
static int follow(struct progwatch *pw)
{
	struct facts *facts = pw->config.facts;
	const size_t first = pw->config.functab->cnt;
	size_t asked_cnt = 0;
	int err = 0;

	if (!facts->progs.cnt) {
		err = bpfprogs_read_next(&facts->progs, facts->kbtf);
		pw->is_behind = err > 0;
	}
	while (pw->next_row < facts->progs.cnt && asked_cnt < FUNCS_PER_PASS)
		asked_cnt += func_found(pw, &facts->progs.funcs[pw->next_row++]);
	err = err < 0 ? err : 0;
	if (!err && pw->config.functab->cnt > first)
		err = add_funcs(pw, first);
	if (pw->next_row == facts->progs.cnt || err)
		finish_prog(pw);
	if (err && err != -ENOMEM && err != -EINTR) {
		log_warn("new BPF programs are not traced from here on: %s", strerror(-err));
		pw->follows = false;
	}
	return err == -ENOMEM ? err : 0;
}

int progwatch_tick(struct progwatch *pw, uint64_t now_ns)
{
	const bool is_due = now_ns >= pw->next_ns;
	int err = 0;

	if ((!pw->holders_fd && !pw->follows) || (!is_due && !pw->is_behind))
		return 0;
	if (is_due) {
		pw->next_ns = now_ns + LOOK_EVERY_NS;
		if (pw->holders_fd && pw->func_cnt)
			err = let_go(pw);
	}
	return err || !pw->follows ? err : follow(pw);
}
