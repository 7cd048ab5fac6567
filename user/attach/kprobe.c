#include "attach/kprobe.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "attach/multi.h"
#include "attach/template.h"
#include "base/log.h"
#include "kernel/probe.h"

/* Functions in the same set share programs. */
enum set {
	SET_STARTS,
	SET_OTHERS,
	SET_AROUND, /* func.runs_around */
};

struct context {
	struct fd_list *progs;
	struct fd_list *links;
	const struct bpfobj *obj;
	const struct attach_way *way; /* of plan.extras */
	struct functab *tab;
	void (*refused)(const struct func *func, int err);
	const volatile int *should_stop;
	enum template_ends ends;
	int prog_fd;        /* for these ends */
	size_t prog_cnt;    /* number of @progs in use */
	bool is_for_extras; /* all other functions are attached in another mode */
	bool is_loaded;     /* @progs are from an earlier call */
	size_t link_first;  /* index of our first link in @links: exits come before entries */
	uint64_t *addrs;
	uint32_t *idxs; /* indexes of these functions in @tab */
	uint32_t cnt;
	uint32_t pad_cnt; /* minimum number of addresses of a link */
};

/* link_create of union bpf_attr with kprobe_multi, which libbpf 1.1 supports only for its own types. */
struct link_create_kprobe {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint32_t multi_flags;
	uint32_t cnt;
	uint64_t syms;
	uint64_t addrs;
	uint64_t cookies;
};

/* As in struct bpf_link_info, where "missed" was added in 6.7 (e2b2cd592adc). */
struct link_info_kprobe {
	uint32_t type;
	uint32_t id;
	uint32_t prog_id;
	uint32_t pad;
	uint64_t addrs;
	uint32_t cnt;
	uint32_t flags;
	uint64_t missed_cnt;
	uint64_t rest[8];
};

int kprobe_link(int prog_fd, const struct attach_way *way, enum template_ends ends,
		const uint64_t *addrs, uint32_t cnt)
{
	struct link_create_kprobe attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = way->entry_type,
		.multi_flags = ends == TEMPLATE_EXIT ? NFG_BPF_KPROBE_MULTI_RETURN : 0,
		.cnt = cnt,
		.addrs = (uintptr_t)addrs,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

/*
 * Avoid number 0. The kernel sets its bit in the frame of each call (set_fgraph_index_bitmap), whichever user follows
 * the call. If number 0 is a kprobe link's, the kernel warns when a call returns that has no data of that link: one that
 * began in an earlier trace and has slept since. With panic_on_warn this crashes the host. Numbers are assigned in turn, so a short-lived link takes
 * number 0.
 */
static void pass_fgraph_zero(const struct context *ctx, const uint64_t *addr)
{
	int fd;

	if (ctx->ends == TEMPLATE_ENTRY || ctx->links->cnt > ctx->link_first ||
	    !bpfobj_is_fgraph_zero_due(ctx->obj))
		return;
	fd = kprobe_link(ctx->prog_fd, ctx->way, ctx->ends, addr, 1);
	if (fd < 0)
		return;
	close(fd);
	log_debug("skipped number 0 of the kernel's function graph users");
}

static int link_at(const struct context *ctx, const uint64_t *addrs, uint32_t cnt)
{
	pass_fgraph_zero(ctx, addrs);
	return kprobe_link(ctx->prog_fd, ctx->way, ctx->ends, addrs, cnt);
}

/* Find the functions of a set that the kernel refuses. Accepted ones are attached briefly. */
static int find_refused(struct context *ctx, uint32_t first, uint32_t cnt)
{
	int fd = *ctx->should_stop ? -EINTR : link_at(ctx, ctx->addrs + first, cnt);
	int err;

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd == -EINTR || multiset_is_fatal(fd))
		return fd;
	if (cnt == 1) {
		ctx->refused(&ctx->tab->funcs[ctx->idxs[first]], fd);
		ctx->addrs[first] = 0;
		return 0;
	}
	err = find_refused(ctx, first, cnt / 2);
	return err ? err : find_refused(ctx, first + cnt / 2, cnt - cnt / 2);
}

static void kprobe_drop_refused(struct context *ctx)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < ctx->cnt; i++) {
		if (!ctx->addrs[i])
			continue;
		ctx->addrs[cnt] = ctx->addrs[i];
		ctx->idxs[cnt++] = ctx->idxs[i];
	}
	ctx->cnt = cnt;
}

/* Return: the link's descriptor, or -errno. */
static int link_padded(const struct context *ctx)
{
	/* entries use no hooks */
	uint32_t pad_cnt = ctx->ends == TEMPLATE_ENTRY ? 0 : ctx->pad_cnt;
	uint32_t cnt = ctx->cnt < pad_cnt ? pad_cnt : ctx->cnt;

	for (uint32_t i = ctx->cnt; i < cnt; i++)
		ctx->addrs[i] = ctx->addrs[i - ctx->cnt];
	return link_at(ctx, ctx->addrs, cnt);
}

static int set_link(struct context *ctx)
{
	int err = fd_list_reserve(ctx->links, 1);
	int fd;

	if (err)
		return err;
	fd = link_padded(ctx);
	if (fd < 0 && !multiset_is_fatal(fd)) {
		err = find_refused(ctx, 0, ctx->cnt);
		kprobe_drop_refused(ctx);
		if (err || !ctx->cnt)
			return err;
		fd = link_padded(ctx);
	}
	if (fd < 0)
		return fd;
	fd_list_add(ctx->links, fd);
	return 0;
}

/*
 * The program for @ends: loaded now, or by an earlier call. If it did not load, its place holds -1 for the next call:
 * its functions were attached in another mode.
 */
static int prog_get(struct context *ctx, const struct loader_template *tmpl,
		    enum template_ends ends, int *prog_fd)
{
	const struct template_spec spec = { .way = ctx->way, .ends = ends };
	int err;

	if (ctx->is_loaded) {
		*prog_fd = ctx->prog_cnt < ctx->progs->cnt ? ctx->progs->fds[ctx->prog_cnt++] : -1;
		return 0;
	}
	err = fd_list_reserve(ctx->progs, 1);
	if (err)
		return err;
	*prog_fd = template_load(ctx->obj, tmpl, &spec);
	fd_list_add(ctx->progs, *prog_fd < 0 ? -1 : *prog_fd);
	return *prog_fd < 0 ? *prog_fd : 0;
}

static uint32_t site_of(const struct func *func)
{
	return (uint32_t)(func->addr >> NFG_SITE_SHIFT) & (NFG_SITE_CNT - 1);
}

/* A free site has id 0. Return: 0, or the reason why programs could not identify this function. */
static int site_take(const struct context *ctx, uint32_t idx)
{
	const struct func *funcs = ctx->tab->funcs;
	const uint32_t site = site_of(&funcs[idx]);
	const uint32_t owner = ctx->obj->sites.func_ids[site];

	if (!funcs[idx].addr)
		return -ENOENT;
	if (owner != idx && funcs[owner].addr && site_of(&funcs[owner]) == site)
		return -EEXIST;
	ctx->obj->sites.func_ids[site] = (uint16_t)idx;
	if (ctx->obj->sites.cookies)
		ctx->obj->sites.cookies[idx] = template_cookie(&funcs[idx], idx);
	return 0;
}

static enum set set_of(const struct context *ctx, const struct func *func)
{
	if (bpfobj_is_start(ctx->obj, func))
		return SET_STARTS;
	return func->runs_around ? SET_AROUND : SET_OTHERS;
}

static void kprobe_set_fill(struct context *ctx, enum set set)
{
	ctx->cnt = 0;
	for (size_t i = 0; i < ctx->tab->cnt; i++) {
		const struct func *func = &ctx->tab->funcs[i];
		int err;

		if (func->prog_id || set_of(ctx, func) != set ||
		    bpfobj_needs_own(ctx->obj, func, i) ||
		    (ctx->is_for_extras && !func->is_extra) || func->is_attached ||
		    func->is_left_out)
			continue;
		err = site_take(ctx, (uint32_t)i);
		if (err) {
			ctx->refused(func, err);
			continue;
		}
		ctx->addrs[ctx->cnt] = func->addr;
		ctx->idxs[ctx->cnt++] = (uint32_t)i;
	}
}

/* Create a link for one end, or both, of the functions of the set. */
static int kprobe_end_link(struct context *ctx, enum template_ends ends, int prog_fd)
{
	ctx->ends = ends;
	ctx->prog_fd = prog_fd;
	return ctx->cnt ? set_link(ctx) : 0;
}

/* Links exits first. A function whose entry is refused must have no exit. */
static int split_link(struct context *ctx, const int *prog_fds)
{
	const size_t link_cnt = ctx->links->cnt;
	uint32_t exit_cnt;
	int err;

	do {
		fd_list_cut(ctx->links, link_cnt);
		err = kprobe_end_link(ctx, TEMPLATE_EXIT, prog_fds[1]);
		exit_cnt = ctx->cnt;
		if (!err)
			err = kprobe_end_link(ctx, TEMPLATE_ENTRY, prog_fds[0]);
	} while (!err && ctx->cnt < exit_cnt);
	if (err)
		fd_list_cut(ctx->links, link_cnt);
	return err;
}

static int kprobe_set_attach(struct context *ctx, enum set set)
{
	const struct loader_template *tmpl =
		set == SET_STARTS ? &ctx->obj->extras.start_entry : &ctx->obj->extras.entry;
	bool is_split = !ctx->way->has_both_ends;
	int prog_fds[2] = { -1, -1 };
	int err = prog_get(ctx, tmpl, is_split ? TEMPLATE_ENTRY : TEMPLATE_BOTH, &prog_fds[0]);

	if (!err && is_split)
		err = prog_get(ctx, tmpl, TEMPLATE_EXIT, &prog_fds[1]);
	if (err || prog_fds[0] < 0 || (is_split && prog_fds[1] < 0))
		return err;
	kprobe_set_fill(ctx, set);
	log_progress("attaching %u/%zu", ctx->cnt, ctx->tab->cnt);
	err = is_split ? split_link(ctx, prog_fds)
		       : kprobe_end_link(ctx, TEMPLATE_BOTH, prog_fds[0]);
	for (uint32_t i = 0; i < ctx->cnt && !err; i++)
		ctx->tab->funcs[ctx->idxs[i]].is_attached = true;
	return err;
}

static uint32_t pad_cnt(const struct attach_want *want)
{
	return want->ids.has_return_hooks
		       ? (KPROBE_OPEN_MAX / 2 + want->cpu_cnt - 1) / want->cpu_cnt
		       : 0;
}

static bool has_around(const struct functab *tab)
{
	for (size_t i = 0; i < tab->cnt; i++) {
		if (tab->funcs[i].runs_around)
			return true;
	}
	return false;
}

/*
 * Only if nothing is attached at trampolines: the kernel calls these functions around trampolines' programs, and those
 * calls would be recorded.
 */
static int around_attach(const struct context *others, struct fd_list *progs)
{
	struct context ctx = *others;

	if (ctx.is_for_extras || ctx.obj->plan.starts_by_pair || ctx.obj->plan.members_by_pair ||
	    !has_around(ctx.tab))
		return 0;
	ctx.progs = progs;
	ctx.is_loaded = progs->cnt > 0;
	ctx.prog_cnt = 0;
	return kprobe_set_attach(&ctx, SET_AROUND);
}

/* Attaches start functions first: until one is attached, calls below it do not open a graph. */
static int sets_attach(struct context *ctx, struct kprobe_fds *fds)
{
	const struct bpfobj *obj = ctx->obj;
	int err = 0;

	if (obj->config.cfg.by_starts && !obj->plan.starts_by_pair && !ctx->is_for_extras)
		err = kprobe_set_attach(ctx, SET_STARTS);
	if (!err && *ctx->should_stop)
		err = -EINTR;
	if (!err)
		err = kprobe_set_attach(ctx, SET_OTHERS);
	fds->counted_cnt = ctx->links->cnt;
	return err ? err : around_attach(ctx, fds->around_progs);
}

int kprobe_attach(struct kprobe_fds *fds, const struct bpfobj *obj, struct functab *tab,
		  void (*refused)(const struct func *func, int err),
		  const volatile int *should_stop)
{
	struct context ctx = {
		.obj = obj,
		.way = attach_way(obj->plan.extras),
		.tab = tab,
		.is_for_extras = !attach_is_by_site(obj->plan.mode),
		.progs = fds->progs,
		.is_loaded = fds->progs->cnt > 0,
		.links = fds->links,
		.link_first = fds->links->cnt,
		.pad_cnt = pad_cnt(&obj->config.want),
		.refused = refused,
		.should_stop = should_stop,
	};
	const size_t room = tab->cnt > ctx.pad_cnt ? tab->cnt : ctx.pad_cnt;
	int err = -ENOMEM;

	ctx.addrs = calloc(room, sizeof(*ctx.addrs));
	ctx.idxs = calloc(tab->cnt, sizeof(*ctx.idxs));
	if (ctx.addrs && ctx.idxs)
		err = sets_attach(&ctx, fds);
	free(ctx.addrs);
	free(ctx.idxs);
	return err;
}

uint64_t kprobe_missed(int link_fd)
{
	struct link_info_kprobe info = { 0 };
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(link_fd, &info, &len) || info.type != NFG_BPF_LINK_KPROBE_MULTI)
		return 0;
	return info.missed_cnt;
}
