#include "attach/multi.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/template.h"
#include "base/log.h"
#include "kernel/probe.h"

#define IDX_REFUSED UINT32_MAX

bool multiset_is_fatal(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

static int link_halves(struct multiset *set, struct fd_list *links, const struct multiset_ops *ops,
		       enum multiset_end end, uint32_t first, uint32_t cnt)
{
	int err;
	int fd;

	if (*ops->should_stop)
		return -EINTR;
	err = fd_list_reserve(links, 1);
	if (err)
		return err;
	fd = ops->link(ops->ctx, end, set->ids + first, set->cookies + first, cnt);
	if (fd >= 0) {
		fd_list_add(links, fd);
		return 0;
	}
	if (multiset_is_fatal(fd))
		return fd;
	if (cnt == 1) {
		ops->refused(ops->ctx, set->idxs[first], fd);
		set->idxs[first] = IDX_REFUSED;
		return 0;
	}
	err = link_halves(set, links, ops, end, first, cnt / 2);
	if (!err)
		err = link_halves(set, links, ops, end, first + cnt / 2, cnt - cnt / 2);
	return err;
}

static void multi_drop_refused(struct multiset *set)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < set->cnt; i++) {
		if (set->idxs[i] == IDX_REFUSED)
			continue;
		set->ids[cnt] = set->ids[i];
		set->cookies[cnt] = set->cookies[i];
		set->idxs[cnt++] = set->idxs[i];
	}
	set->cnt = cnt;
}

static int multi_end_link(struct multiset *set, struct fd_list *links,
			  const struct multiset_ops *ops, enum multiset_end end)
{
	int err = set->cnt ? link_halves(set, links, ops, end, 0, set->cnt) : 0;

	multi_drop_refused(set);
	return err;
}

int multiset_link(struct multiset *set, struct fd_list *links, const struct multiset_ops *ops)
{
	size_t link_cnt = links->cnt;
	uint32_t exit_cnt;
	int err;

	do {
		fd_list_cut(links, link_cnt); /* of the previous round: exits without entries */
		err = multi_end_link(set, links, ops, MULTISET_EXIT);
		exit_cnt = set->cnt;
		if (!err)
			err = multi_end_link(set, links, ops, MULTISET_ENTRY);
	} while (!err && set->cnt < exit_cnt);
	return err;
}

#define SET_CNT 12

struct context {
	struct fd_list *progs;
	struct fd_list *links;
	const struct bpfobj *obj;
	struct functab *tab;
	void (*refused)(const struct func *func, int err);
	struct multiset_ops ops;
	struct multiset set;
	int prog_fds[2]; /* programs of the set, by enum multiset_end */
	size_t prog_cnt; /* number of @progs in use */
	bool is_loaded;  /* @progs are from an earlier call */
	size_t done_cnt;
};

/* link_create of union bpf_attr with tracing_multi (7.2), which older headers lack. */
struct link_create_multi {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t ids;
	uint64_t cookies;
	uint32_t cnt;
	uint32_t pad;
};

static const uint32_t attach_types[] = {
	[MULTISET_EXIT] = NFG_BPF_TRACE_FEXIT_MULTI,
	[MULTISET_ENTRY] = NFG_BPF_TRACE_FENTRY_MULTI,
};

int multi_link(int prog_fd, enum multiset_end end, const uint32_t *ids, const uint64_t *cookies,
	       uint32_t cnt)
{
	struct link_create_multi attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = attach_types[end],
		.ids = (uintptr_t)ids,
		.cookies = (uintptr_t)cookies,
		.cnt = cnt,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

static int link_set(void *arg, enum multiset_end end, const uint32_t *ids, const uint64_t *cookies,
		    uint32_t cnt)
{
	const struct context *ctx = arg;

	return multi_link(ctx->prog_fds[end], end, ids, cookies, cnt);
}

static void tell_refused(void *arg, uint32_t idx, int err)
{
	const struct context *ctx = arg;

	ctx->refused(&ctx->tab->funcs[idx], err);
}

static int end_load(struct context *ctx, enum multiset_end end, const struct loader_template *tmpl,
		    int btf_fd)
{
	const struct template_spec spec = {
		.way = attach_way(ATTACH_MULTI),
		.btf_fd = btf_fd,
		.ends = end == MULTISET_EXIT ? TEMPLATE_EXIT : TEMPLATE_ENTRY,
	};
	int fd;

	if (ctx->is_loaded) {
		ctx->prog_fds[end] = ctx->progs->fds[ctx->prog_cnt++];
		return ctx->prog_fds[end] < 0 ? -ENOENT : 0;
	}
	fd = template_load(ctx->obj, tmpl, &spec);
	if (fd < 0)
		return fd;
	fd_list_add(ctx->progs, fd);
	ctx->prog_fds[end] = fd;
	return 0;
}

/*
 * Fill the set with every SET_CNT-th function of one BTF object, start functions or others, beginning with the
 * @set_idx-th. Return: whether there is such a function, even if none is to be attached now.
 */
static bool multi_set_fill(struct context *ctx, int btf_fd, bool of_starts, uint32_t set_idx)
{
	uint32_t seen_cnt = 0;

	ctx->set.cnt = 0;
	for (size_t i = 0; i < ctx->tab->cnt; i++) {
		const struct func *func = &ctx->tab->funcs[i];

		if (func->prog_id || func->btf_fd != btf_fd ||
		    bpfobj_is_start(ctx->obj, func) != of_starts ||
		    bpfobj_needs_own(ctx->obj, func, i) ||
		    (func->is_extra && ctx->obj->plan.extras != ATTACH_MULTI) ||
		    seen_cnt++ % SET_CNT != set_idx || func->is_attached || func->is_left_out)
			continue;
		ctx->set.ids[ctx->set.cnt] = func->btf_id;
		ctx->set.idxs[ctx->set.cnt] = (uint32_t)i;
		ctx->set.cookies[ctx->set.cnt++] = template_cookie(func, (uint32_t)i);
	}
	return seen_cnt > set_idx;
}

static int set_load(struct context *ctx, int btf_fd, bool of_starts)
{
	const struct bpfobj_ends *ends = &ctx->obj->ends;
	size_t place = ctx->is_loaded ? ctx->prog_cnt : ctx->progs->cnt;
	int err = fd_list_reserve(ctx->progs, 2);

	if (!err)
		err = end_load(ctx, MULTISET_EXIT, of_starts ? &ends->start_exit : &ends->exit,
			       btf_fd);
	if (!err)
		err = end_load(ctx, MULTISET_ENTRY, of_starts ? &ends->start_entry : &ends->entry,
			       btf_fd);
	ctx->prog_cnt = place + 2;
	/* a program that did not load keeps its place, so that each set finds its own next time */
	while (err != -ENOMEM && !ctx->is_loaded && ctx->progs->cnt < place + 2)
		fd_list_add(ctx->progs, -1);
	return err;
}

static int multi_set_attach(struct context *ctx, int btf_fd, bool of_starts)
{
	int err = set_load(ctx, btf_fd, of_starts);

	if (err && btf_fd && !multiset_is_fatal(err)) { /* the module is being unloaded */
		for (uint32_t i = 0; i < ctx->set.cnt; i++)
			tell_refused(ctx, ctx->set.idxs[i], err);
		return 0;
	}
	if (!err)
		err = multiset_link(&ctx->set, ctx->links, &ctx->ops);
	for (uint32_t i = 0; i < ctx->set.cnt && !err; i++)
		ctx->tab->funcs[ctx->set.idxs[i]].is_attached = true;
	return err;
}

static int group_attach(struct context *ctx, int btf_fd, bool of_starts)
{
	int err = 0;

	for (uint32_t i = 0; i < SET_CNT && !err; i++) {
		if (!multi_set_fill(ctx, btf_fd, of_starts, i))
			break;
		ctx->done_cnt += ctx->set.cnt;
		log_progress("attaching %zu/%zu", ctx->done_cnt, ctx->tab->cnt);
		err = multi_set_attach(ctx, btf_fd, of_starts);
	}
	return err;
}

/* Whether funcs[@idx] is the first of its BTF object. */
static bool begins_group(const struct functab *tab, size_t idx)
{
	for (size_t i = 0; i < idx; i++) {
		if (tab->funcs[i].btf_fd == tab->funcs[idx].btf_fd)
			return false;
	}
	return true;
}

int multi_attach(struct fd_list *progs, struct fd_list *links, const struct bpfobj *obj,
		 struct functab *tab, void (*refused)(const struct func *func, int err),
		 const volatile int *should_stop)
{
	struct context ctx = {
		.progs = progs,
		.links = links,
		.obj = obj,
		.tab = tab,
		.is_loaded = progs->cnt > 0,
		.refused = refused,
		.ops = { .link = link_set,
			 .refused = tell_refused,
			 .ctx = &ctx,
			 .should_stop = should_stop },
		.set = { .ids = calloc(tab->cnt, sizeof(uint32_t)),
			 .cookies = calloc(tab->cnt, sizeof(uint64_t)),
			 .idxs = calloc(tab->cnt, sizeof(uint32_t)) },
	};
	int err = ctx.set.ids && ctx.set.cookies && ctx.set.idxs ? 0 : -ENOMEM;

	for (size_t i = 0; i < tab->cnt && !err; i++) {
		if (tab->funcs[i].prog_id || !begins_group(tab, i))
			continue;
		err = group_attach(&ctx, tab->funcs[i].btf_fd, false);
		if (!err && !obj->plan.starts_by_pair)
			err = group_attach(&ctx, tab->funcs[i].btf_fd, true);
	}
	free(ctx.set.ids);
	free(ctx.set.cookies);
	free(ctx.set.idxs);
	return err;
}
