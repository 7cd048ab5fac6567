#include "attach/switches.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "attach/clone.h"
#include "base/log.h"

static int attach(struct switches *switches, uint32_t idx, const struct bpfobj *obj,
		  const struct loader_template *tmpl, const struct kbtf *kb, const char *tracepoint)
{
	struct clone_spec spec = {
		.attach_type = BPF_TRACE_RAW_TP,
		.func_id = NFG_FUNC_SWITCH,
		.btf_id = kbtf_tracepoint_id(kb, tracepoint),
	};

	if (!spec.btf_id)
		return -ESRCH;
	switches->prog_fds[idx] = clone_load(obj, tmpl, &spec);
	if (switches->prog_fds[idx] < 0)
		return switches->prog_fds[idx];
	switches->link_fds[idx] = bpf_raw_tracepoint_open(NULL, switches->prog_fds[idx]);
	return switches->link_fds[idx] < 0 ? switches->link_fds[idx] : 0;
}

static void detach(struct switches *switches, uint32_t from)
{
	for (uint32_t i = from; i < SWITCHES_CNT; i++) {
		if (switches->link_fds[i] >= 0)
			close(switches->link_fds[i]);
		if (switches->prog_fds[i] >= 0)
			close(switches->prog_fds[i]);
		switches->link_fds[i] = switches->prog_fds[i] = -1;
	}
}

/* All or none: otherwise the reader would wait for an end that is never recorded. */
static void attach_irqs(struct switches *switches, const struct bpfobj *obj, const struct kbtf *kb)
{
	int err = 0;

	/* ends first, so that every beginning has one */
	for (uint32_t i = PROGS_IRQ_CNT; i-- > 0 && !err;) {
		if (obj->irqs[i].insn_cnt)
			err = attach(switches, 2 + i, obj, &obj->irqs[i], kb,
				     progs_irq_tracepoints[i]);
	}
	if (!err)
		return;
	log_info("cannot detect interrupts inside programs: %s", strerror(-err));
	detach(switches, 2);
}

int switches_attach(struct switches *switches, const struct bpfobj *obj, const struct kbtf *kb)
{
	int err;

	*switches = SWITCHES_NONE;
	err = attach(switches, 0, obj, &obj->task_switch, kb, "sched_switch");
	if (!err && obj->record_switch.insn_cnt)
		err = attach(switches, 1, obj, &obj->record_switch, kb, "sched_switch");
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
	detach(switches, 2);
}

void switches_detach(struct switches *switches)
{
	detach(switches, 0);
}
