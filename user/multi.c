#include "multi.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "clone.h"
#include "log.h"
#include "probe.h"

#define SET_CNT 12

/* One end of some functions: what goes into one link. */
struct set {
	uint32_t *ids;     /* BTF ids, and for each ... */
	uint64_t *cookies; /* ... the function's place in the table */
	uint32_t cnt;
};

struct context {
	struct fd_list *progs;
	struct fd_list *links;
	const struct bpfobj *obj;
	struct functab *tab;
	void (*refused)(const struct func *func, int err);
	const volatile int *should_stop;
	struct set set;
	size_t done_cnt;
};

/* union bpf_attr's link_create with tracing_multi (7.2), which older headers lack. */
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

static int link_create(int prog_fd, uint32_t attach_type, const struct set *set, uint32_t first,
		       uint32_t cnt)
{
	struct link_create_multi attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = attach_type,
		.ids = (uintptr_t)(set->ids + first),
		.cookies = (uintptr_t)(set->cookies + first),
		.cnt = cnt,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

/* The kernel says only that some function of the set is impossible: halve until we know which. */
static int link_halves(struct context *ctx, int prog_fd, uint32_t attach_type, uint32_t first,
		       uint32_t cnt)
{
	int fd;
	int err;

	if (!cnt)
		return 0;
	if (*ctx->should_stop)
		return -EINTR;
	err = fd_list_reserve(ctx->links, 1);
	if (err)
		return err;
	fd = link_create(prog_fd, attach_type, &ctx->set, first, cnt);
	if (fd >= 0) {
		fd_list_add(ctx->links, fd);
		return 0;
	}
	if (cnt == 1) {
		struct func *func = &ctx->tab->funcs[ctx->set.cookies[first] % NFG_FUNC_CNT];

		if (func->is_attached)
			ctx->refused(func, fd);
		func->is_attached = false;
		return 0;
	}
	err = link_halves(ctx, prog_fd, attach_type, first, cnt / 2);
	if (!err)
		err = link_halves(ctx, prog_fd, attach_type, first + cnt / 2, cnt - cnt / 2);
	return err;
}

static int set_attach(struct context *ctx, const struct bpfobj_template *tmpl, uint32_t attach_type,
		      int btf_fd)
{
	const struct clone_spec spec = { .attach_type = attach_type, .btf_fd = btf_fd };
	int err = fd_list_reserve(ctx->progs, 1);
	int fd;

	if (err)
		return err;
	fd = clone_load(ctx->obj, tmpl, &spec);
	if (fd < 0)
		return fd;
	fd_list_add(ctx->progs, fd);
	return link_halves(ctx, fd, attach_type, 0, ctx->set.cnt);
}

/* Roots have programs of their own. */
static bool is_root(const struct context *ctx, const struct func *func)
{
	return ctx->obj->by_roots && func->is_root;
}

/* Every SET_CNT-th function of one BTF object, roots or others, beginning with the @set_idx-th. */
static void set_fill(struct context *ctx, int btf_fd, bool of_roots, uint32_t set_idx)
{
	uint32_t seen_cnt = 0;

	ctx->set.cnt = 0;
	for (size_t i = 0; i < ctx->tab->cnt; i++) {
		struct func *func = &ctx->tab->funcs[i];

		if (func->btf_fd != btf_fd || is_root(ctx, func) != of_roots ||
		    seen_cnt++ % SET_CNT != set_idx)
			continue;
		func->is_attached = true;
		ctx->set.ids[ctx->set.cnt] = func->btf_id;
		ctx->set.cookies[ctx->set.cnt++] =
			NFG_COOKIE(i, func->arg_kind, func->arg_idx, func->arg_cnt, func->has_ret);
	}
}

/* The exits first: an entry that is recorded then always has an exit behind it. */
static int group_attach(struct context *ctx, int btf_fd, bool of_roots)
{
	const struct bpfobj *obj = ctx->obj;
	int err = 0;

	for (uint32_t i = 0; i < SET_CNT && !err; i++) {
		set_fill(ctx, btf_fd, of_roots, i);
		if (!ctx->set.cnt)
			break;
		ctx->done_cnt += ctx->set.cnt;
		log_progress("attaching %zu/%zu", ctx->done_cnt, ctx->tab->cnt);
		err = set_attach(ctx, of_roots ? &obj->root_exit : &obj->exit,
				 NFG_BPF_TRACE_FEXIT_MULTI, btf_fd);
		if (!err)
			err = set_attach(ctx, of_roots ? &obj->root_entry : &obj->entry,
					 NFG_BPF_TRACE_FENTRY_MULTI, btf_fd);
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
		.refused = refused,
		.should_stop = should_stop,
		.set = { .ids = calloc(tab->cnt, sizeof(uint32_t)),
			 .cookies = calloc(tab->cnt, sizeof(uint64_t)) },
	};
	int err = ctx.set.ids && ctx.set.cookies ? 0 : -ENOMEM;

	for (size_t i = 0; i < tab->cnt && !err; i++) {
		if (!begins_group(tab, i))
			continue;
		err = group_attach(&ctx, tab->funcs[i].btf_fd, false);
		if (!err)
			err = group_attach(&ctx, tab->funcs[i].btf_fd, true);
	}
	free(ctx.set.ids);
	free(ctx.set.cookies);
	return err;
}
