#include "session/progwatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/bpfprog.h"
#include "report/pipeline.h"
#include "select/funcrule.h"
#include "select/select.h"

#define LOOK_EVERY_NS 1000000000ull
/* How many functions of new programs a trace takes. */
#define NEW_FUNCS_MAX 128

bool progwatch_follows(const struct opts *opts)
{
	for (size_t i = 0; i < opts->trace_funcs.cnt && opts->verb != VERB_RECORD; i++) {
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
	log_info(
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
static void holders_found(void *ctx, uint32_t prog_id, uint64_t ref_cnt)
{
	struct progwatch *pw = ctx;
	const size_t before_cnt = pw->gone_cnt;

	for (size_t i = 0; i < pw->func_cnt; i++) {
		const struct func *func = &pw->config.functab->funcs[pw->func_ids[i]];

		if (func->prog_id == prog_id && func->is_attached)
			pw->gone_ids[pw->gone_cnt++] = pw->func_ids[i];
	}
	if (ref_cnt > (pw->gone_cnt - before_cnt) * pw->link_cnt)
		pw->gone_cnt = before_cnt;
}

static int let_go(struct progwatch *pw)
{
	const struct progwatch_config *config = &pw->config;
	int err;

	pw->gone_cnt = 0;
	pw->link_cnt = attach_own_link_cnt(config->attach);
	err = bpfprog_holders_read(pw->holders_fd, holders_found, pw);
	if (err) {
		log_info("cannot see who holds BPF programs any longer: %s", strerror(-err));
		close(pw->holders_fd);
		pw->holders_fd = 0;
		return 0;
	}
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

static bool is_listed(const struct str_list *rules, const struct kbtf_func *func)
{
	for (size_t i = 0; i < rules->cnt; i++) {
		const char *rule = rules->items[i];

		if (funcrule_text_matches(rule + (*rule == '+'), func->name, func->module))
			return true;
	}
	return false;
}

static void func_found(struct progwatch *pw, const struct bpfprog_func *prog)
{
	const struct opts *opts = pw->config.opts;
	struct functab *tab = pw->config.functab;
	const char *reason;

	if (!is_listed(&opts->trace_funcs, &prog->func) ||
	    is_listed(&opts->notrace_funcs, &prog->func))
		return;
	if (tab->cnt == tab->room) {
		if (pw->follows)
			log_warn(
				"new BPF programs are not traced from here on: %d functions of them are",
				NEW_FUNCS_MAX);
		pw->follows = false;
		return;
	}
	reason = select_prog(&tab->funcs[tab->cnt], prog, pw->config.facts->kbtf);
	if (reason) {
		log_debug("left out '%s' [%s]: %s", prog->func.name, prog->func.module, reason);
		return;
	}
	tab->cnt++;
	log_info("'%s' [%s] is traced from here on", prog->func.name, prog->func.module);
}

static int follow(struct progwatch *pw)
{
	const struct progwatch_config *config = &pw->config;
	struct bpfprogs *progs = &config->facts->progs;
	const size_t known_cnt = progs->cnt;
	const size_t first = config->functab->cnt;
	int err = bpfprogs_read(progs, config->facts->kbtf);

	for (size_t i = known_cnt; i < progs->cnt; i++)
		func_found(pw, &progs->funcs[i]);
	if (!err && config->functab->cnt > first)
		err = details_funcs(config->details, config->functab, config->facts->kbtf);
	if (!err && config->start_kinds)
		start_setup_add(config->start_kinds, config->opts, config->functab, first);
	if (!err && config->functab->cnt > first)
		err = attach_add_progs(config->attach, config->obj, config->functab, first,
				       config->stop_cnt);
	kbtf_close_progs(config->facts->kbtf);
	note_progs(pw, first);
	if (err && err != -ENOMEM && err != -EINTR) {
		log_warn("new BPF programs are not traced from here on: %s", strerror(-err));
		pw->follows = false;
	}
	return err == -ENOMEM ? err : 0;
}

int progwatch_tick(struct progwatch *pw, uint64_t now_ns)
{
	int err = 0;

	if ((!pw->holders_fd && !pw->follows) || now_ns < pw->next_ns)
		return 0;
	pw->next_ns = now_ns + LOOK_EVERY_NS;
	if (pw->holders_fd && pw->func_cnt)
		err = let_go(pw);
	return err || !pw->follows ? err : follow(pw);
}
