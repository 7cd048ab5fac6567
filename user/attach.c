#include "attach.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "clone.h"
#include "detach.h"
#include "fdlist.h"
#include "filter.h"
#include "host.h"
#include "log.h"
#include "multi.h"
#include "probe.h"

#define ENOTSUPP_KERNEL 524 /* the kernel's ENOTSUPP, which no header for user space has */

struct attach {
	struct fd_list progs;
	struct fd_list links;
	size_t func_cnt;
};

static const char *refusal(int err)
{
	switch (-err) {
	case EBUSY:
		return "not patchable, or another tracer or a live patch holds it";
	case E2BIG:
		return "too many programs on it already";
	case ENOTSUPP_KERNEL:
	case EOPNOTSUPP:
		return "more arguments, or other ones, than this kernel's trampolines take";
	case EINVAL:
		return "the kernel does not allow a program here";
	case ENOENT:
		return "not found by the kernel";
	default:
		return strerror(-err);
	}
}

static void refused(const struct func *func, int err)
{
	if (func->is_named)
		log_warn("cannot attach to '%s': %s", func->name.ptr, refusal(err));
	else
		log_debug("cannot attach to '%s': %s", func->name.ptr, refusal(err));
}

/* ---- a program for each function or end of it ---- */

/* Return: 0 with both descriptors taken into the lists, or -errno with nothing left behind. */
static int end_attach(struct attach *at, const struct bpfobj *obj,
		      const struct bpfobj_template *tmpl, const struct clone_spec *spec)
{
	int prog_fd;
	int link_fd;
	int err = fd_list_reserve(&at->progs, 1);

	if (!err)
		err = fd_list_reserve(&at->links, 1);
	if (err)
		return err;
	prog_fd = clone_load(obj, tmpl, spec);
	if (prog_fd < 0)
		return prog_fd;
	link_fd = bpf_raw_tracepoint_open(NULL, prog_fd);
	if (link_fd < 0) {
		close(prog_fd);
		return link_fd;
	}
	fd_list_add(&at->progs, prog_fd);
	fd_list_add(&at->links, link_fd);
	return 0;
}

static void last_detach(struct attach *at)
{
	close(at->links.fds[--at->links.cnt]);
	close(at->progs.fds[--at->progs.cnt]);
}

/* Exit first: an entry that is recorded then always has an exit program behind it. */
static int func_attach(struct attach *at, const struct bpfobj *obj, const struct func *func,
		       uint32_t func_id)
{
	struct clone_spec spec = {
		.btf_id = func->btf_id,
		.btf_fd = func->btf_fd,
		.func_id = func_id,
		.arg_kind = func->arg_kind,
		.arg_idx = func->arg_idx,
		.skb_arg = func->skb_arg,
		.arg_cnt = func->arg_cnt,
		.ret_kind = func->ret_kind,
		.has_ret = func->has_ret,
	};
	struct bpf_insn code[FILTER_INSN_MAX];
	bool is_root = func->is_root && obj->by_roots;
	int err;

	if (obj->mode == ATTACH_SESSION) {
		spec.attach_type = NFG_BPF_TRACE_FSESSION;
		return end_attach(at, obj, is_root ? &obj->root_entry : &obj->entry, &spec);
	}
	if (obj->call_filter && is_root) {
		spec.code = code;
		spec.code_cnt = filter_code(obj->call_filter, obj->protos, func_id, code);
	}
	spec.attach_type = BPF_TRACE_FEXIT;
	err = end_attach(at, obj, is_root ? &obj->root_exit : &obj->exit, &spec);
	if (err)
		return err;
	spec.attach_type = BPF_TRACE_FENTRY;
	err = end_attach(at, obj, is_root ? &obj->root_entry : &obj->entry, &spec);
	if (err)
		last_detach(at);
	return err;
}

static int each_attach(struct attach *at, const struct bpfobj *obj, struct functab *tab,
		       const volatile int *stop_cnt)
{
	for (size_t i = 0; i < tab->cnt; i++) {
		struct func *func = &tab->funcs[i];
		int err;

		if (*stop_cnt)
			return -EINTR;
		log_progress("attaching %zu/%zu", i + 1, tab->cnt);
		err = func_attach(at, obj, func, (uint32_t)i);
		if (err == -ENOMEM)
			return err;
		func->is_attached = !err;
		if (err)
			refused(func, err);
	}
	return 0;
}

/* ---- all ways ---- */

/* What we ourselves used of the processor so far: the rest of the time is the kernel's. */
static uint64_t own_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return 0;
	return (uint64_t)usage.ru_utime.tv_sec * 1000000000 +
	       (uint64_t)usage.ru_utime.tv_usec * 1000;
}

/* Roots have other programs, which may be refused where those of other functions are not. */
static bool lacks_roots(const struct bpfobj *obj, const struct functab *tab)
{
	for (size_t i = 0; i < tab->cnt; i++) {
		if (tab->funcs[i].is_attached && tab->funcs[i].is_root)
			return false;
	}
	return obj->by_roots;
}

static int check_attached(struct attach *at, const struct bpfobj *obj, const struct functab *tab,
			  uint64_t took_ns, uint64_t own_took_ns)
{
	for (size_t i = 0; i < tab->cnt; i++)
		at->func_cnt += tab->funcs[i].is_attached;
	log_info("attached %zu functions in %" PRIu64 " ms (%" PRIu64
		 " of it ours), %zu refused by the kernel",
		 at->func_cnt, took_ns / 1000000, own_took_ns / 1000000, tab->cnt - at->func_cnt);
	if (at->func_cnt && !lacks_roots(obj, tab))
		return 0;
	log_error(at->func_cnt ? "none of the functions where the graph begins could be attached"
			       : "no function could be attached");
	log_hint("-vv says why for each");
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
	if (obj->mode == ATTACH_MULTI)
		err = multi_attach(&at->progs, &at->links, obj, tab, refused, stop_cnt);
	else
		err = each_attach(at, obj, tab, stop_cnt);
	log_progress_done();
	if (err == -EINTR)
		log_info("stopped before the trace began");
	else if (err)
		log_error("cannot attach: %s", strerror(-err));
	else
		err = check_attached(at, obj, tab, host_time_ns() - begin_ns,
				     own_ns() - own_begin_ns);
	if (err) {
		attach_free(at, stop_cnt);
		return err;
	}
	*out = at;
	return 0;
}

/* ---- the end ---- */

void attach_free(struct attach *at, const volatile int *stop_cnt)
{
	if (!at)
		return;
	detach_links(&at->links, at->func_cnt, stop_cnt);
	fd_list_release(&at->links);
	fd_list_release(&at->progs);
	free(at);
}

static uint64_t prog_missed(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return 0;
	return info.recursion_misses;
}

uint64_t attach_missed(const struct attach *at)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < at->progs.cnt; i++)
		cnt += prog_missed(at->progs.fds[i]);
	return cnt;
}
