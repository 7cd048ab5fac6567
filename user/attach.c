#include "attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "log.h"

/*
 * How long links are gone before their programs go: a task preempted in an old
 * trampoline image may still call them (fixed in 7.2.10, not in 6.1.192, 6.12.117).
 */
#define LEAVE_TIME_US 1000000

struct attach_end {
	int prog_fd;
	int link_fd;
};

struct attach_func {
	struct attach_end entry;
	struct attach_end exit;
};

struct attach {
	struct attach_func *funcs;
	size_t cnt;
};

/* Sets the operand of the instructions that have @patch; -ENOENT when there is none. */
static int patch_insns(struct bpf_insn *insns, uint32_t insn_cnt, uint8_t code, int patch,
		       int value)
{
	int err = -ENOENT;

	for (uint32_t i = 0; i < insn_cnt; i++) {
		if (insns[i].code != code || insns[i].imm != patch)
			continue;
		insns[i].imm = value;
		err = 0;
	}
	return err;
}

static int patch_all(const struct bpfobj *obj, struct bpf_insn *insns, uint32_t insn_cnt,
		     uint32_t func_id)
{
	int err = patch_insns(insns, insn_cnt, BPF_ALU64 | BPF_MOV | BPF_K, NFG_PATCH_FUNC_ID,
			      (int)func_id);

	if (err)
		return err;
	return patch_insns(insns, insn_cnt, BPF_ALU64 | BPF_AND | BPF_K, NFG_PATCH_RING_MASK,
			   (int)obj->rec_cnt - 1);
}

static int clone_load(const struct bpfobj *obj, const struct bpfobj_template *tmpl,
		      const struct func *func, uint32_t func_id, enum bpf_attach_type type)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type,
		    .attach_btf_id = func->btf_id, .attach_btf_obj_fd = (__u32)func->btf_fd);
	size_t bytes = tmpl->insn_cnt * sizeof(*tmpl->insns);
	struct bpf_insn *insns = malloc(bytes);
	int err;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, tmpl->insns, bytes);
	err = patch_all(obj, insns, tmpl->insn_cnt, func_id);
	if (!err)
		err = bpf_prog_load(BPF_PROG_TYPE_TRACING, "netfgraph", "GPL", insns,
				    tmpl->insn_cnt, &opts);
	free(insns);
	return err;
}

static void end_release(struct attach_end *end)
{
	if (end->link_fd > 0)
		close(end->link_fd);
	if (end->prog_fd > 0)
		close(end->prog_fd);
	*end = (struct attach_end){ 0 };
}

static int end_attach(struct attach_end *end, const struct bpfobj *obj,
		      const struct bpfobj_template *tmpl, const struct func *func, uint32_t func_id,
		      enum bpf_attach_type type)
{
	int fd = clone_load(obj, tmpl, func, func_id, type);

	if (fd < 0)
		return fd;
	end->prog_fd = fd;
	fd = bpf_raw_tracepoint_open(NULL, end->prog_fd);
	if (fd < 0) {
		end_release(end);
		return fd;
	}
	end->link_fd = fd;
	return 0;
}

/* Exit first: an entry that is recorded then always has an exit program behind it. */
static int func_attach(struct attach_func *af, const struct bpfobj *obj, const struct func *func,
		       uint32_t func_id)
{
	int err = end_attach(&af->exit, obj, &obj->exit, func, func_id, BPF_TRACE_FEXIT);

	if (err)
		return err;
	err = end_attach(&af->entry, obj, &obj->entry, func, func_id, BPF_TRACE_FENTRY);
	if (err)
		end_release(&af->exit);
	return err;
}

static const char *refusal(int err)
{
	switch (-err) {
	case EBUSY:
		return "not patchable, or another tracer or a live patch holds it";
	case E2BIG:
		return "too many programs on it already";
	case ENOTSUP:
		return "this kernel's trampoline does not take its arguments";
	case EINVAL:
		return "the kernel does not allow a program here";
	case ENOENT:
		return "not found by the kernel";
	default:
		return strerror(-err);
	}
}

static int attach_all(struct attach *at, const struct bpfobj *obj, struct functab *tab,
		      const volatile int *should_stop)
{
	int err = 0;

	for (size_t i = 0; i < tab->cnt; i++) {
		struct func *func = &tab->funcs[i];

		if (*should_stop)
			return -EINTR;
		log_progress("attaching %zu/%zu", i + 1, tab->cnt);
		err = func_attach(&at->funcs[i], obj, func, (uint32_t)i);
		func->is_attached = !err;
		at->cnt += !err;
		if (err)
			log_warn("cannot attach to '%s': %s", func->name.ptr, refusal(err));
	}
	log_progress_done();
	if (at->cnt)
		return 0;
	log_error("no function could be attached");
	return err ? err : -ENOENT;
}

int attach_new(struct attach **out, const struct bpfobj *obj, struct functab *tab,
	       const volatile int *should_stop)
{
	struct attach *at = calloc(1, sizeof(*at));
	int err;

	if (!at)
		return -ENOMEM;
	at->funcs = calloc(tab->cnt, sizeof(*at->funcs));
	if (!at->funcs) {
		free(at);
		return -ENOMEM;
	}
	err = attach_all(at, obj, tab, should_stop);
	if (err) {
		log_progress_done();
		at->cnt = tab->cnt;
		attach_free(at);
		return err;
	}
	at->cnt = tab->cnt;
	*out = at;
	return 0;
}

size_t attach_cnt(const struct attach *at)
{
	size_t cnt = 0;

	for (size_t i = 0; i < at->cnt; i++)
		cnt += at->funcs[i].entry.link_fd > 0;
	return cnt;
}

void attach_free(struct attach *at)
{
	size_t linked_cnt;

	if (!at)
		return;
	linked_cnt = attach_cnt(at);
	for (size_t i = 0; i < at->cnt; i++) {
		struct attach_func *af = &at->funcs[i];

		if (af->entry.link_fd <= 0)
			continue;
		log_progress("detaching %zu/%zu", i + 1, at->cnt);
		close(af->entry.link_fd);
		close(af->exit.link_fd);
		af->entry.link_fd = 0;
		af->exit.link_fd = 0;
	}
	log_progress_done();
	if (linked_cnt)
		usleep(LEAVE_TIME_US);
	for (size_t i = 0; i < at->cnt; i++) {
		end_release(&at->funcs[i].entry);
		end_release(&at->funcs[i].exit);
	}
	free(at->funcs);
	free(at);
}

static uint64_t prog_missed(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	if (prog_fd <= 0 || bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return 0;
	return info.recursion_misses;
}

uint64_t attach_missed(const struct attach *at)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < at->cnt; i++)
		cnt += prog_missed(at->funcs[i].entry.prog_fd) +
		       prog_missed(at->funcs[i].exit.prog_fd);
	return cnt;
}
