#include "attach/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "attach/detach.h"
#include "attach/detaching.h"
#include "attach/kprobe.h"
#include "attach/multi.h"
#include "attach/template.h"
#include "base/arch.h"
#include "base/host.h"
#include "base/log.h"
#include "base/vec.h"
#include "filter/filter.h"
#include "kernel/probe.h"
#include "netfgraph.skel.h"

/* If functions are attached one by one, calibration takes a small part of the start only beside at least this many. */
#define CALIBRATE_FUNC_MIN 8

/* As long as anybody waits. */
#define UNKNOWN_NS 3600000000000ull

struct attach {
	struct fd_list progs;
	struct fd_list links;
	struct fd_list
		extra_progs; /* programs of func.is_extra functions, if plan.mode does not attach them */
	size_t func_cnt;
	size_t pair_cnt;     /* functions that the shared programs refused */
	size_t shared_first; /* shared links among @links: the first ... */
	size_t shared_cnt;
	size_t counted_cnt;          /* calls missed by shared links before this index are losses */
	struct fd_list around_progs; /* see struct kprobe_fds */
	uint64_t gone_missed_cnt;    /* counts of links that are closed */
	uint64_t paused_missed_cnt;  /* total when attach_pause began */
	uint64_t early_missed_cnt;   /* total while nothing was to be recorded */
	uint64_t early_at_kprobes_cnt; /* part of early_missed_cnt */
	size_t own_cnt;                /* number of functions with their own links ... */
	uint64_t own_attach_ns;        /* ... and the time it took to attach each */
	enum attach_mode own_mode;     /* of these functions */
	bool is_held_up;               /* another netfgraph detached while they were attached */
	bool takes_progs;              /* functions of BPF programs may have links */
	uint32_t *own_links; /* by func_id: 1 + the index of its own first link; 0: none */
};

static const char *refusal(int err)
{
	switch (-err) {
	case EBUSY:
		return "not patchable, or in use by another tracer or a live patch";
	case E2BIG:
		return "too many programs on it already";
	case ENOTSUPP_KERNEL:
	case EOPNOTSUPP:
		return "arguments that this kernel's trampolines do not support";
	case EINVAL:
		return "the kernel does not allow a program here";
	case EEXIST:
		return "its address collides with another function's (use --attach pair)";
	case ENOENT:
		return "not found by the kernel";
	case EXDEV: /* ours: see refuse_rest */
		return "needs a trampoline, which --all with __rcu_read_lock excludes (-N '__rcu_read_*')";
	default:
		return strerror(-err);
	}
}

/* Whether the function's module was unloaded after its types were read. */
static bool is_gone(const struct func *func)
{
	char path[256];

	if (!func->module.len || func->prog_id || func->is_attached)
		return false;
	snprintf(path, sizeof(path), "/sys/module/%s", func->module.ptr);
	return access(path, F_OK) && errno == ENOENT;
}

static const char *refusal_of(const struct func *func, int err)
{
	/* trampolines of a program have no other reason to be busy */
	return func->prog_id && err == -EBUSY ? "an extension has replaced this program (freplace)"
					      : refusal(err);
}

static void refused(const struct func *func, int err)
{
	if (func->is_named && !is_gone(func)) /* tell_gone_modules warns about the module */
		log_warn("cannot attach to '%s': %s", func->name.ptr, refusal_of(func, err));
	else
		log_debug("cannot attach to '%s': %s", func->name.ptr, refusal_of(func, err));
}

/* A shared program refuses the function. If another attempt follows, the refusal of that attempt is final. */
static void refused_by_shared(const struct func *func, int err)
{
	log_debug("'%s' needs its own programs: %s", func->name.ptr, refusal(err));
}

static size_t attached_cnt(const struct functab *tab)
{
	size_t cnt = 0;

	for (size_t i = 0; i < tab->cnt; i++)
		cnt += tab->funcs[i].is_attached;
	return cnt;
}

static size_t attached_prog_cnt(const struct functab *tab)
{
	size_t cnt = 0;

	for (size_t i = 0; i < tab->cnt; i++)
		cnt += tab->funcs[i].is_attached && tab->funcs[i].prog_id;
	return cnt;
}

/* ---- one program for each function, or for each end of it ---- */

/* Load and attach a copy of @tmpl. Return: 0 with both descriptors in the lists, or -errno with both closed. */
static int copy_attach(struct fd_list *progs, struct fd_list *links, const struct bpfobj *obj,
		       const struct loader_template *tmpl, const struct template_spec *spec)
{
	int prog_fd;
	int link_fd;
	int err = fd_list_reserve(progs, 1);

	if (!err)
		err = fd_list_reserve(links, 1);
	if (err)
		return err;
	prog_fd = template_load(obj, tmpl, spec);
	if (prog_fd < 0)
		return prog_fd;
	link_fd = bpf_raw_tracepoint_open(NULL, prog_fd);
	if (link_fd < 0) {
		close(prog_fd);
		return link_fd;
	}
	fd_list_add(progs, prog_fd);
	fd_list_add(links, link_fd);
	return 0;
}

static int end_attach(struct attach *at, const struct bpfobj *obj,
		      const struct loader_template *tmpl, const struct template_spec *spec)
{
	return copy_attach(&at->progs, &at->links, obj, tmpl, spec);
}

/*
 * Attach one end with the code that is its own: the conditions of --filter at a start function, and at the entry the members of
 * --show. @is_direct: members are loaded, not read by the helper.
 */
static int own_end_attach(struct attach *at, const struct bpfobj *obj,
			  const struct loader_template *tmpl, struct template_spec *spec,
			  bool is_start, bool is_direct)
{
	const struct filter *filter = is_start ? obj->config.call_filter : NULL;
	const enum filter_end end = spec->ends == TEMPLATE_ENTRY ? FILTER_AT_ENTRY : FILTER_AT_EXIT;
	struct bpf_insn code[FILTER_INSN_MAX];
	struct bpf_insn show[SHOWN_INSN_MAX];
	int err;

	spec->code = code;
	spec->code_cnt = 0;
	if (filter)
		spec->code_cnt = filter_code(filter, obj->config.protos, spec->func_id, end,
					     spec->arg_cnt, is_direct, code);
	spec->show = show;
	spec->shown_cnt = 0;
	spec->show_cnt = 0;
	if (obj->config.shown && end == FILTER_AT_ENTRY)
		spec->shown_cnt = shown_word_cnt(obj->config.shown, spec->func_id);
	if (spec->shown_cnt)
		spec->show_cnt = shown_code(obj->config.shown, spec->func_id, is_direct, show);
	err = end_attach(at, obj, tmpl, spec);
	spec->code = spec->show = NULL;
	return err;
}

/* If the verifier knows a type otherwise than we do, members are read in the other way. */
static int each_end_attach(struct attach *at, const struct bpfobj *obj,
			   const struct loader_template *tmpl, struct template_spec *spec,
			   bool is_start)
{
	const struct filter *filter = is_start ? obj->config.call_filter : NULL;
	int err = own_end_attach(at, obj, tmpl, spec, is_start, true);

	if ((err == -EACCES || err == -EINVAL) &&
	    (spec->shown_cnt || (filter && filter->member_cnt)))
		err = own_end_attach(at, obj, tmpl, spec, is_start, false);
	return err;
}

/* Attaches the exit first, so that each recorded entry has an exit program. */
static int func_attach_as(struct attach *at, const struct bpfobj *obj, const struct func *func,
			  uint32_t func_id)
{
	const struct bpfobj_ends *ends =
		attach_is_shared(obj->plan.mode) ? &obj->fallback : &obj->ends;
	struct template_spec spec = {
		.way = attach_way(at->own_mode),
		.btf_id = func->btf_id,
		.btf_fd = func->btf_fd,
		.func_id = func_id,
		.arg_kind = func->arg_kind,
		.arg_idx = func->arg_idx,
		.skb_arg = func->skb_arg,
		.msg_arg = func->msg_arg,
		.drop_arg = template_drop_arg(func),
		.arg_cnt = func->arg_cnt,
		.ret_kind = func->ret_kind,
		.has_ret = func->has_ret,
	};
	bool is_start = bpfobj_is_start(obj, func);
	int err;

	if (spec.way->has_both_ends)
		return end_attach(at, obj, is_start ? &ends->start_entry : &ends->entry, &spec);
	spec.ends = TEMPLATE_EXIT;
	err = each_end_attach(at, obj, is_start ? &ends->start_exit : &ends->exit, &spec, is_start);
	if (err)
		return err;
	spec.ends = TEMPLATE_ENTRY;
	err = each_end_attach(at, obj, is_start ? &ends->start_entry : &ends->entry, &spec,
			      is_start);
	if (err) /* the exit program stays open until the end: a task may be about to call it */
		fd_list_cut(&at->links, at->links.cnt - 1);
	return err;
}

/*
 * Where the verifier does not trust a BPF program's type, the packet argument is just a number to it. Then we do without
 * the argument.
 */
static int func_attach(struct attach *at, const struct bpfobj *obj, struct func *func,
		       uint32_t func_id)
{
	int err = func_attach_as(at, obj, func, func_id);

	if (err != -EACCES || !func->prog_id || func->arg_kind == NFG_ARG_NONE)
		return err;
	func->arg_kind = NFG_ARG_NONE;
	func->skb_arg = 0;
	return func_attach_as(at, obj, func, func_id);
}

static const struct attach_cost *cost_of(enum attach_mode mode)
{
	unsigned int version[2];

	host_kernel_version(version);
	return attach_cost(mode, arch_host(), version);
}

/* Look whether others detach: then attaching is held up from now on. */
static void look_for_others(struct attach *at, struct attach_pace *pace)
{
	const struct attach_shares left = { .mode = at->own_mode,
					    .func_cnt = pace->cnt - pace->done_cnt };
	const struct detaching_others others = detaching_tell(DETACHING_PATH, &left);
	unsigned int version[2];

	host_kernel_version(version);
	at->is_held_up |= others.cnt > 0;
	pace->is_held_up = at->is_held_up;
	pace->others_ns = others.cnt && !others.left_ns ? UNKNOWN_NS : others.left_ns;
	pace->cost = cost_of(at->own_mode);
	pace->held_up_ns = others.cnt * attach_own_link_cnt(at) *
			   attach_turn_us(arch_host(), version) * 1000 / 2;
}

/* Say how long attaching takes, once, also where nobody watches a progress line. Return: whether it was said. */
static bool tell_long(struct attach *at, struct attach_pace *pace, size_t func_cnt)
{
	char of[32] = "";
	uint64_t sec;

	look_for_others(at, pace);
	sec = attach_long_sec(pace);
	if (func_cnt > pace->cnt) /* links that they share, or none, serve the others */
		snprintf(of, sizeof(of), " of %zu", func_cnt);
	if (sec)
		log_begin("attaching %zu%s functions takes about %" PRIu64 " s", pace->cnt, of,
			  sec);
	return sec != 0;
}

/* Errors that would also occur with every other function: memory, descriptors, permission. */
static bool is_fatal(int err)
{
	return multiset_is_fatal(err) || err == -EPERM;
}

/* Whether each_attach is to attach the function, with programs of its own. */
static bool is_due(const struct func *func, bool only_progs)
{
	return !func->is_attached && (!only_progs || func->prog_id);
}

static size_t due_cnt(const struct functab *tab, size_t first, bool only_progs)
{
	size_t cnt = 0;

	for (size_t i = first; i < tab->cnt; i++)
		cnt += is_due(&tab->funcs[i], only_progs) && !tab->funcs[i].is_extra;
	return cnt;
}

/* Another function is attached, or refused. @took_ns: all of them. */
static void pace_add(struct attach_pace *pace, uint64_t took_ns)
{
	const uint64_t one_ns = took_ns - pace->took_ns;

	pace->done_cnt++;
	pace->took_ns = took_ns;
	if (one_ns < pace->least_ns)
		pace->least_ns = one_ns;
}

/* Attach each function from @first on that is not attached yet. @only_progs: those of BPF programs. */
static int each_attach(struct attach *at, const struct bpfobj *obj, struct functab *tab,
		       size_t first, bool only_progs, const volatile int *stop_cnt)
{
	const uint64_t begin_ns = host_time_ns();
	struct attach_pace pace = { .cnt = due_cnt(tab, first, only_progs),
				    .least_ns = UNKNOWN_NS };
	bool is_told = only_progs;

	at->own_mode = only_progs                         ? obj->plan.progs
		       : attach_is_shared(obj->plan.mode) ? obj->plan.fallback
							  : obj->plan.mode;
	if (!is_told)
		look_for_others(at, &pace);
	for (size_t i = first; i < tab->cnt; i++) {
		struct func *func = &tab->funcs[i];
		int err;

		if (!is_due(func, only_progs))
			continue;
		if (func->is_extra) { /* trampolines must not serve it */
			refused(func, -EOPNOTSUPP);
			continue;
		}
		if (*stop_cnt)
			return -EINTR;
		if (!is_told)
			is_told = tell_long(at, &pace, tab->cnt - first);
		log_progress("attaching %zu/%zu", i + 1, tab->cnt);
		at->own_links[i] = (uint32_t)at->links.cnt + 1;
		err = func_attach(at, obj, func, (uint32_t)i);
		if (is_fatal(err))
			return err;
		pace_add(&pace, host_time_ns() - begin_ns);
		func->is_attached = !err;
		if (!err) {
			at->own_cnt++;
			at->own_attach_ns = pace.took_ns / at->own_cnt;
			continue;
		}
		at->own_links[i] = 0;
		refused(func, err);
	}
	return 0;
}

static void say_pairs(const struct bpfobj *obj, size_t cnt)
{
	const char *mode = attach_way(obj->plan.mode)->link;

	if (obj->plan.members_by_pair)
		log_info(
			"%zu functions get fentry and fexit programs of their own, which read members, "
			"or because %s refuses them",
			cnt, mode);
	else if (obj->plan.starts_by_pair)
		log_info("%zu start functions, or functions that %s refuses, get fentry and fexit "
			 "programs of their own, which have the filter",
			 cnt, mode);
	else
		log_info("%zu functions are refused by %s: trying fentry and fexit for each", cnt,
			 mode);
}

static int by_kprobe(struct attach *at, struct fd_list *progs, const struct bpfobj *obj,
		     struct functab *tab, void (*tell)(const struct func *func, int err),
		     const volatile int *stop_cnt)
{
	struct kprobe_fds fds = {
		.progs = progs,
		.around_progs = &at->around_progs,
		.links = &at->links,
		.counted_cnt = at->links.cnt,
	};
	int err = kprobe_attach(&fds, obj, tab, tell, stop_cnt);

	at->counted_cnt = fds.counted_cnt;
	return err;
}

/* A calibrate_link. */
static int one_link(const struct template_spec *spec, int prog_fd, uint32_t btf_id, uint64_t addr)
{
	const uint64_t cookie = NFG_COOKIE(spec->func_id, NFG_ARG_NONE, 0, 0, 0, spec->arg_cnt,
					   spec->has_ret, spec->ret_kind);

	if (spec->way->is_by_site)
		return kprobe_link(prog_fd, spec->way, spec->ends, &addr, 1);
	if (spec->way->is_shared)
		return multi_link(prog_fd,
				  spec->ends == TEMPLATE_EXIT ? MULTISET_EXIT : MULTISET_ENTRY,
				  &btf_id, &cookie, 1);
	return bpf_raw_tracepoint_open(NULL, prog_fd);
}

static int shared_attach(struct attach *at, const struct bpfobj *obj, struct functab *tab,
			 void (*tell)(const struct func *func, int err),
			 const volatile int *stop_cnt)
{
	size_t multi_done_cnt;
	int err;

	if (attach_is_by_site(obj->plan.mode))
		return by_kprobe(at, &at->progs, obj, tab, tell, stop_cnt);
	err = multi_attach(&at->progs, &at->links, obj, tab, tell, stop_cnt);
	at->counted_cnt = at->links.cnt;
	if (err || !attach_is_by_site(obj->plan.extras))
		return err;
	multi_done_cnt = attached_cnt(tab);
	err = by_kprobe(at, &at->extra_progs, obj, tab, tell, stop_cnt);
	if (!err && !at->func_cnt) /* not repeated in each window */
		log_info("%zu more functions by kprobe.session",
			 attached_cnt(tab) - multi_done_cnt);
	return err;
}

/* Values that the guard found earlier are invalid without it. */
static void guard_set(const struct bpfobj *obj, bool is_needed)
{
	struct nfg_guard *guards = obj->skel->data->guards;

	obj->skel->data->needs_guard = is_needed;
	for (size_t i = 0; !is_needed && i < NFG_CPU_CNT; i++)
		guards[i].stuck_cnt = 0;
}

/* Refuse the functions that need their own programs, if there may be none. @only_progs: the others are refused already. */
static void refuse_rest(const struct functab *tab, bool only_progs)
{
	for (size_t i = 0; i < tab->cnt; i++) {
		const struct func *func = &tab->funcs[i];

		if (!func->is_attached && !func->is_left_out && (func->prog_id || !only_progs))
			refused(func, -EXDEV);
	}
}

/* Functions that shared programs refuse, possibly all, get a pair of programs each. */
static int shared_or_each_attach(struct attach *at, const struct bpfobj *obj, struct functab *tab,
				 const volatile int *stop_cnt)
{
	bool has_fallback = obj->plan.fallback != ATTACH_AUTO;
	bool has_progs = obj->plan.progs != ATTACH_AUTO;
	int err = shared_attach(at, obj, tab, has_fallback ? refused_by_shared : refused, stop_cnt);
	const size_t done_cnt = attached_cnt(tab);
	const size_t prog_cnt = functab_prog_cnt(tab);

	at->shared_cnt = at->links.cnt;
	if (at->counted_cnt < at->shared_cnt && (has_fallback || has_progs)) {
		/* the kernel also calls these functions around fentry and fexit programs */
		refuse_rest(tab, !has_fallback);
		has_fallback = has_progs = false;
	}
	at->takes_progs = has_progs;
	if (err && (err == -EINTR || is_fatal(err) || !has_fallback))
		return err;
	if (err)
		log_info("the shared programs do not load: %s", strerror(-err));
	err = 0;
	if (has_fallback && done_cnt + prog_cnt < tab->cnt)
		say_pairs(obj, tab->cnt - done_cnt - prog_cnt);
	if ((has_fallback || has_progs) && done_cnt < tab->cnt)
		err = each_attach(at, obj, tab, 0, !has_fallback, stop_cnt);
	at->pair_cnt = attached_cnt(tab) - done_cnt;
	/* as long as functions may be added, it cannot be switched off: what it finds must be complete */
	guard_set(obj,
		  !attach_is_by_site(obj->plan.mode) || at->pair_cnt || (has_progs && tab->room));
	return err;
}

/* ---- all modes ---- */

/* CPU time spent in user space so far; the rest is spent in the kernel. */
static uint64_t own_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return 0;
	return (uint64_t)usage.ru_utime.tv_sec * 1000000000 +
	       (uint64_t)usage.ru_utime.tv_usec * 1000;
}

/* Start functions have separate programs, which may be refused even if the others are accepted. */
static bool lacks_starts(const struct bpfobj *obj, const struct functab *tab)
{
	for (size_t i = 0; i < tab->cnt; i++) {
		if (tab->funcs[i].is_attached && tab->funcs[i].is_start)
			return false;
	}
	return obj->config.cfg.by_starts;
}

static void tell_gone_modules(const struct functab *tab)
{
	const char *told = NULL;

	for (size_t i = 0; i < tab->cnt; i++) {
		const struct func *func = &tab->funcs[i];
		size_t first = 0;

		if (func->module.ptr == told || !is_gone(func))
			continue;
		while (tab->funcs[first].module.ptr != func->module.ptr ||
		       tab->funcs[first].is_attached)
			first++;
		if (first == i)
			log_warn("module '%s' was unloaded: its functions are not traced",
				 func->module.ptr);
		told = func->module.ptr;
	}
}

/* Whether the kernel refuses all our programs, not just these functions; logs the reason if so. */
static bool is_refused_by_policy(const struct bpfobj *obj)
{
	int err = template_check(obj);

	if (err)
		policy_explain(err);
	return err != 0;
}

static int check_attached(struct attach *at, const struct bpfobj *obj, const struct functab *tab,
			  uint64_t took_ns, uint64_t own_took_ns)
{
	const bool has_progs = obj->plan.progs != ATTACH_AUTO;

	at->func_cnt = attached_cnt(tab);
	log_info("attached %zu %s in %" PRIu64 " ms (%" PRIu64
		 " in user space), %zu refused by the kernel",
		 at->func_cnt, plural(at->func_cnt, "function", "functions"), took_ns / 1000000,
		 own_took_ns / 1000000,
		 tab->cnt - at->func_cnt - (has_progs ? 0 : functab_prog_cnt(tab)));
	tell_gone_modules(tab);
	if (at->func_cnt && !lacks_starts(obj, tab)) {
		attach_plan_warn(&obj->plan, &obj->config.want,
				 at->pair_cnt - (at->pair_cnt ? attached_prog_cnt(tab) : 0));
		return 0;
	}
	if (is_refused_by_policy(obj))
		return -ENOENT;
	log_error(at->func_cnt ? "none of the start functions could be attached"
			       : "no function could be attached");
	log_hint("-vv shows why for each");
	return -ENOENT;
}

int attach_new(struct attach **out, const struct bpfobj *obj, struct functab *tab,
	       const volatile int *stop_cnt)
{
	struct attach *at = calloc(1, sizeof(*at));
	uint64_t begin_ns = host_time_ns();
	uint64_t own_begin_ns = own_ns();
	int err;

	if (!at)
		return -ENOMEM;
	at->own_links = calloc(functab_max(tab), sizeof(*at->own_links));
	if (!at->own_links) {
		free(at);
		return -ENOMEM;
	}
	/* fail early, or each function would be refused one by one */
	if (policy_is_confidential() && is_refused_by_policy(obj)) {
		attach_free(at, false, stop_cnt);
		return -EPERM;
	}
	at->takes_progs = true;
	if (attach_is_shared(obj->plan.mode))
		err = shared_or_each_attach(at, obj, tab, stop_cnt);
	else
		err = each_attach(at, obj, tab, 0, false, stop_cnt);
	log_progress_done();
	/* an attach that a signal interrupted was not refused by the kernel */
	if (*stop_cnt && !is_fatal(err))
		err = -EINTR;
	if (!err)
		err = check_attached(at, obj, tab, host_time_ns() - begin_ns,
				     own_ns() - own_begin_ns);
	else if (err == -EMFILE || err == -EPERM)
		policy_explain(err);
	else if (err != -EINTR && (is_fatal(err) || !is_refused_by_policy(obj)))
		log_error("cannot attach: %s", strerror(-err));
	if (err) {
		at->func_cnt = attached_cnt(tab);
		attach_free(at, false, stop_cnt);
		return err;
	}
	*out = at;
	return 0;
}

bool attach_takes_progs(const struct attach *at)
{
	return at->takes_progs;
}

int attach_add_progs(struct attach *at, const struct bpfobj *obj, struct functab *tab, size_t first,
		     const volatile int *stop_cnt)
{
	int err;

	log_progress_mute(true);
	err = each_attach(at, obj, tab, first, true, stop_cnt);
	log_progress_mute(false);
	at->func_cnt = attached_cnt(tab);
	return err;
}

/* ---- detaching some of the functions ---- */

/*
 * The time to detach @cnt functions on this host, in proportion to the time to attach. What was held up says nothing of the
 * host, unless it was fast all the same.
 */
static uint64_t own_detach_ns(const struct attach *at, size_t cnt)
{
	const struct attach_cost *cost = cost_of(at->own_mode);
	const uint64_t usual_ns = (uint64_t)cost->attach_us * 1000;
	const bool is_usual = at->is_held_up && at->own_attach_ns > usual_ns;

	return cnt * attach_detach_ns(cost, is_usual ? usual_ns : at->own_attach_ns);
}

size_t attach_own_link_cnt(const struct attach *at)
{
	return attach_way(at->own_mode)->has_both_ends ? 1 : 2;
}

/* Move a function's own links to @out. Return: how many, at most two. */
static size_t own_links_take(struct attach *at, uint32_t func_id, int *out)
{
	size_t cnt = attach_own_link_cnt(at);
	int *fds = &at->links.fds[at->own_links[func_id] - 1];

	for (size_t i = 0; i < cnt; i++) {
		out[i] = fds[i];
		fds[i] = -1;
	}
	at->own_links[func_id] = 0;
	at->own_cnt--;
	return cnt;
}

static uint64_t missed_at_kprobes(const struct attach *at)
{
	uint64_t cnt = at->gone_missed_cnt;

	for (size_t i = at->shared_first; i < at->counted_cnt; i++)
		cnt += kprobe_missed(at->links.fds[i]);
	return cnt;
}

static uint64_t all_missed(const struct attach *at)
{
	uint64_t cnt = missed_at_kprobes(at);

	for (size_t i = 0; i < at->progs.cnt; i++)
		cnt += loader_missed(at->progs.fds[i]);
	for (size_t i = 0; i < at->extra_progs.cnt; i++)
		cnt += loader_missed(at->extra_progs.fds[i]);
	return cnt;
}

/* ---- shared links, replaced during a trace ---- */

/* Removes the last links from the list too: a trace may pause and resume for months, and the list must not grow. */
void attach_pause(struct attach *at, struct functab *tab)
{
	const size_t end = at->shared_first + at->shared_cnt;

	at->paused_missed_cnt = all_missed(at);
	for (size_t i = at->shared_first; i < at->counted_cnt; i++)
		at->gone_missed_cnt += kprobe_missed(at->links.fds[i]);
	for (size_t i = at->shared_first; i < end; i++) {
		close(at->links.fds[i]);
		at->links.fds[i] = -1;
	}
	if (end == at->links.cnt)
		fd_list_cut(&at->links, at->shared_first);
	at->shared_first = at->links.cnt;
	at->shared_cnt = 0;
	at->counted_cnt = at->shared_first;
	for (size_t i = 0; i < tab->cnt; i++) {
		struct func *func = &tab->funcs[i];

		func->is_left_out |= !func->is_attached; /* a refusal is final */
		func->is_attached = at->own_links[i];
	}
}

/* Check for modules that are gone and functions that a live patch has replaced. Return: 0, or -ENODATA, logged. */
static int check_again(const struct bpfobj *obj, const struct functab *tab)
{
	const struct func *first = NULL;
	size_t cnt = 0;

	for (size_t i = 0; i < tab->cnt; i++) {
		const struct func *func = &tab->funcs[i];

		if (func->is_attached || func->is_left_out)
			continue;
		first = first ? first : func;
		cnt++;
	}
	if (!cnt)
		return 0;
	if (lacks_starts(obj, tab) || !attached_cnt(tab)) {
		log_error("none of the %sfunctions can be attached any longer",
			  obj->config.cfg.by_starts ? "start " : "");
		return -ENODATA;
	}
	log_warn("the kernel no longer attaches '%.*s'%s: not traced from here on",
		 (int)first->name.len, first->name.ptr, cnt > 1 ? " and others" : "");
	return 0;
}

int attach_resume(struct attach *at, const struct bpfobj *obj, struct functab *tab,
		  const volatile int *stop_cnt)
{
	int err;

	bpfobj_forget_starts(obj);
	at->shared_first = at->links.cnt;
	log_progress_mute(true);
	err = shared_attach(at, obj, tab, refused_by_shared, stop_cnt);
	at->shared_cnt = at->links.cnt - at->shared_first;
	at->early_missed_cnt += all_missed(at) - at->paused_missed_cnt;
	log_progress_mute(false);
	return err || *stop_cnt ? err : check_again(obj, tab);
}

int attach_leave_out(struct attach *at, const struct bpfobj *obj, struct functab *tab,
		     const uint32_t *ids, size_t cnt, const volatile int *stop_cnt)
{
	int *fds = calloc(2 * cnt, sizeof(*fds));
	bool is_any_shared = false;
	size_t fd_cnt = 0;

	if (!fds)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		tab->funcs[ids[i]].is_left_out = true;
		if (at->own_links[ids[i]]) {
			fd_cnt += own_links_take(at, ids[i], fds + fd_cnt);
			tab->funcs[ids[i]].is_attached = false;
		} else {
			is_any_shared = true;
		}
	}
	detach_aside(fds, fd_cnt, &at->links, own_detach_ns(at, fd_cnt / attach_own_link_cnt(at)));
	free(fds);
	if (!is_any_shared)
		return 0;
	attach_pause(at, tab);
	return attach_resume(at, obj, tab, stop_cnt);
}

/* ---- the end ---- */

void attach_free(struct attach *at, bool waits, const volatile int *stop_cnt)
{
	if (!at)
		return;
	detach_all(&at->links, &at->progs,
		   &(struct detach_config){
			   .func_cnt = at->func_cnt,
			   .expected_ns = own_detach_ns(at, at->own_cnt),
			   .waits = waits,
			   .stop_cnt = stop_cnt,
			   .seen_path = DETACHING_PATH,
		   });
	fd_list_release(&at->links);
	fd_list_release(&at->progs);
	fd_list_release(&at->extra_progs);
	fd_list_release(&at->around_progs);
	free(at->own_links);
	free(at);
}

uint32_t attach_call_ps(struct attach *at, const struct bpfobj *obj, uint32_t btf_id, uint64_t addr)
{
	if (!attach_is_shared(obj->plan.mode) && at->own_cnt < CALIBRATE_FUNC_MIN)
		return 0;
	return calibrate_call_ps(&at->progs, obj, btf_id, addr, one_link);
}

const char *attach_net(struct fd_list *progs, struct bpfobj *obj, const struct functab *tab,
		       const struct calibrate_func funcs[2], const struct kprofile *kp,
		       struct netcost *out)
{
	const struct kprofile_spare sums = kprofile_spare_of(kp);

	if (!sums.sums && functab_max(tab) > CALIBRATE_ID(1))
		return "all numbers of functions are in use";
	return calibrate_net(out, progs, obj, funcs, &sums, one_link);
}

size_t attach_own_cnt(const struct attach *at)
{
	return at->own_cnt;
}

bool attach_may_pause(const struct attach *at, const struct functab *tab)
{
	return at->own_cnt <= attached_prog_cnt(tab);
}

void attach_count_missed(struct attach *at)
{
	at->early_missed_cnt = all_missed(at);
	at->early_at_kprobes_cnt = missed_at_kprobes(at);
}

uint64_t attach_missed_at_kprobes(const struct attach *at)
{
	const uint64_t cnt = missed_at_kprobes(at);

	return cnt > at->early_at_kprobes_cnt ? cnt - at->early_at_kprobes_cnt : 0;
}

uint64_t attach_missed(const struct attach *at)
{
	const uint64_t cnt = all_missed(at);

	return cnt > at->early_missed_cnt ? cnt - at->early_missed_cnt : 0;
}

/* ---- programs at tracepoints ---- */

static int point_attach(struct point_links *at, const struct bpfobj *obj,
			const struct tracepoint *tp, uint32_t id)
{
	struct bpf_insn code[TRACEPOINT_INSN_MAX];
	const bool has_casts = obj->skel->rodata->cfg.has_casts;
	const uint32_t cast_id = has_casts && !tp->module ? obj->config.want.ids.rdonly_cast : 0;
	struct template_spec spec = {
		.btf_id = tp->btf_id,
		.btf_fd = tp->btf_fd,
		.func_id = id,
		.arg_kind = tp->arg_kind,
		.arg_idx = tp->arg_idx,
		.arg_cnt = tp->word_cnt ? tp->word_cnt : 1,
		.code = code,
		.code_cnt = tracepoint_code(tp, cast_id, false, code),
		.logs_verifier = true,
	};
	int err = copy_attach(&at->progs, &at->links, obj, &obj->point, &spec);

	if (!cast_id || (err != -EACCES && err != -EINVAL))
		return err;
	/* some members are pointers that this verifier wants to be tested first */
	spec.code_cnt = tracepoint_code(tp, cast_id, true, code);
	return copy_attach(&at->progs, &at->links, obj, &obj->point, &spec);
}

int points_attach(struct point_links *at, const struct bpfobj *obj,
		  const struct tracepoint_list *points)
{
	const uint64_t begin_ns = host_time_ns();
	int last_err = 0;

	for (size_t i = 0; i < points->cnt; i++) {
		const int err = point_attach(at, obj, &points->items[i], (uint32_t)i);

		if (is_fatal(err)) {
			policy_explain(err);
			log_error("cannot attach to the tracepoint '%s': %s",
				  tracepoint_full_name(&points->items[i]), strerror(-err));
			return err;
		}
		if (!err)
			continue;
		last_err = err;
		log_warn("cannot attach to the tracepoint '%s': %s",
			 tracepoint_full_name(&points->items[i]), strerror(-err));
	}
	if (last_err && !at->links.cnt) {
		policy_explain(last_err);
		log_error("none of the tracepoints could be attached");
		log_hint("-vv shows why for each");
		return last_err;
	}
	if (points->cnt)
		log_info("attached %zu %s in %" PRIu64 " ms", at->links.cnt,
			 plural(at->links.cnt, "tracepoint", "tracepoints"),
			 (host_time_ns() - begin_ns) / 1000000);
	return 0;
}

void points_detach(struct point_links *at)
{
	fd_list_release(&at->links);
	fd_list_release(&at->progs);
}

static uint64_t all_points_missed(const struct point_links *at)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < at->progs.cnt; i++)
		cnt += loader_missed(at->progs.fds[i]);
	return cnt;
}

void points_count_missed(struct point_links *at)
{
	at->early_missed_cnt = all_points_missed(at);
}

uint64_t points_missed(const struct point_links *at)
{
	return all_points_missed(at) - at->early_missed_cnt;
}

/* ---- programs at context switches and interrupts ---- */

static int switch_attach(struct switches *switches, uint32_t idx, const struct bpfobj *obj,
			 const struct loader_template *tmpl, const struct kbtf *kb,
			 const char *tracepoint)
{
	struct template_spec spec = {
		.func_id = NFG_FUNC_SWITCH,
		.btf_id = kbtf_tracepoint_id(kb, tracepoint),
		.logs_verifier = true,
	};

	if (!spec.btf_id)
		return -ESRCH;
	switches->prog_fds[idx] = template_load(obj, tmpl, &spec);
	if (switches->prog_fds[idx] < 0)
		return switches->prog_fds[idx];
	switches->link_fds[idx] = bpf_raw_tracepoint_open(NULL, switches->prog_fds[idx]);
	return switches->link_fds[idx] < 0 ? switches->link_fds[idx] : 0;
}

static void attach_detach(struct switches *switches, uint32_t from)
{
	for (uint32_t i = from; i < SWITCHES_CNT; i++) {
		if (switches->link_fds[i] >= 0)
			close(switches->link_fds[i]);
		if (switches->prog_fds[i] >= 0)
			close(switches->prog_fds[i]);
		switches->link_fds[i] = switches->prog_fds[i] = -1;
	}
}

/* Attach all programs or none: otherwise the reader could wait for an end that is never recorded. */
static void attach_irqs(struct switches *switches, const struct bpfobj *obj, const struct kbtf *kb)
{
	int err = 0;

	/* ends first, so that every beginning has one */
	for (uint32_t i = PROGS_IRQ_CNT; i-- > 0 && !err;) {
		if (obj->irqs[i].insn_cnt)
			err = switch_attach(switches, 2 + i, obj, &obj->irqs[i], kb,
					    progs_irq_tracepoints[i]);
	}
	if (!err)
		return;
	log_info("cannot detect interrupts inside programs: %s", strerror(-err));
	attach_detach(switches, 2);
}

int switches_attach(struct switches *switches, const struct bpfobj *obj, const struct kbtf *kb)
{
	int err;

	*switches = SWITCHES_NONE;
	err = switch_attach(switches, 0, obj, &obj->task_switch, kb, "sched_switch");
	if (!err && obj->record_switch.insn_cnt)
		err = switch_attach(switches, 1, obj, &obj->record_switch, kb, "sched_switch");
	if (!err) {
		attach_irqs(switches, obj, kb);
		return 0;
	}
	log_error("cannot follow the scheduler: %s", strerror(-err));
	switches_detach(switches);
	return err;
}

void switches_detach_irqs(struct switches *switches)
{
	attach_detach(switches, 2);
}

void switches_detach(struct switches *switches)
{
	attach_detach(switches, 0);
}
