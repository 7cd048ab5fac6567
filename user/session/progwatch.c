#include "session/progwatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/bpfprog.h"

#define LOOK_EVERY_NS 1000000000ull

int progwatch_init(struct progwatch *pw, const struct functab *functab, const struct bpfobj *obj,
		   struct kbtf *kb)
{
	const size_t cnt = functab_prog_cnt(functab);

	*pw = (struct progwatch){ .functab = functab, .obj = obj };
	kbtf_close_progs(kb);
	if (!cnt)
		return 0;
	pw->func_ids = calloc(cnt, sizeof(*pw->func_ids));
	pw->gone_ids = calloc(cnt, sizeof(*pw->gone_ids));
	if (!pw->func_ids || !pw->gone_ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < functab->cnt; i++) {
		if (functab->funcs[i].prog_id)
			pw->func_ids[pw->func_cnt++] = i;
	}
	pw->holders_fd = bpfprog_holders_open(kb);
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

/* Note the functions of a program that only our links hold. */
static void holders_found(void *ctx, uint32_t prog_id, uint64_t ref_cnt)
{
	struct progwatch *pw = ctx;
	const size_t before_cnt = pw->gone_cnt;

	for (size_t i = 0; i < pw->func_cnt; i++) {
		const struct func *func = &pw->functab->funcs[pw->func_ids[i]];

		if (func->prog_id == prog_id && func->is_attached)
			pw->gone_ids[pw->gone_cnt++] = pw->func_ids[i];
	}
	if (ref_cnt > (pw->gone_cnt - before_cnt) * pw->link_cnt)
		pw->gone_cnt = before_cnt;
}

int progwatch_tick(struct progwatch *pw, struct attach *at, struct functab *functab,
		   uint64_t now_ns, const volatile int *stop_cnt)
{
	int err;

	if (!pw->holders_fd || now_ns < pw->next_ns)
		return 0;
	pw->next_ns = now_ns + LOOK_EVERY_NS;
	pw->gone_cnt = 0;
	pw->link_cnt = attach_own_link_cnt(at);
	err = bpfprog_holders_read(pw->holders_fd, holders_found, pw);
	if (err) {
		log_info("cannot see who holds BPF programs any longer: %s", strerror(-err));
		close(pw->holders_fd);
		pw->holders_fd = 0;
		return 0;
	}
	for (size_t i = 0; i < pw->gone_cnt; i++) {
		const struct func *func = &functab->funcs[pw->gone_ids[i]];

		log_info("'%s' [%s] is not traced any longer: its program was unloaded",
			 func->name.ptr, func->module.ptr);
	}
	return pw->gone_cnt ? attach_leave_out(at, pw->obj, functab, pw->gone_ids, pw->gone_cnt,
					       stop_cnt)
			    : 0;
}
