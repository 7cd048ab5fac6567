#include "offcpu.h"

#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "clone.h"
#include "log.h"

static int attach(struct offcpu *off, const struct bpfobj *obj)
{
	struct clone_spec spec = {
		.attach_type = BPF_TRACE_RAW_TP,
		.func_id = NFG_FUNC_SWITCH,
	};
	int btf_id = libbpf_find_vmlinux_btf_id("sched_switch", BPF_TRACE_RAW_TP);

	if (btf_id < 0)
		return btf_id;
	spec.btf_id = (uint32_t)btf_id;
	off->prog_fd = clone_load(obj, &obj->sched, &spec);
	if (off->prog_fd < 0)
		return off->prog_fd;
	off->link_fd = bpf_raw_tracepoint_open(NULL, off->prog_fd);
	return off->link_fd < 0 ? off->link_fd : 0;
}

int offcpu_attach(struct offcpu *off, const struct bpfobj *obj)
{
	int err;

	*off = OFFCPU_NONE;
	err = attach(off, obj);
	if (!err)
		return 0;
	log_error("--nosleep-time: cannot follow the scheduler: %s", strerror(-err));
	offcpu_detach(off);
	return err;
}

void offcpu_detach(struct offcpu *off)
{
	if (off->link_fd >= 0)
		close(off->link_fd);
	if (off->prog_fd >= 0)
		close(off->prog_fd);
	*off = OFFCPU_NONE;
}
