#include "attach/loader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "attach/coretypes.h"
#include "base/log.h"
#include "kernel/probe.h"
#include "netfgraph.skel.h"
#include "nfg_abi.h"

/* Programs of these are typed: what they are attached to is an id in vmlinux. */
static const struct section {
	const char *name;
	enum bpf_attach_type type;
} sections[LOADER_SECTION_CNT] = {
	{ "fentry", BPF_TRACE_FENTRY },
	{ "fexit", BPF_TRACE_FEXIT },
	{ "tp_btf+", BPF_TRACE_RAW_TP },
};

/* A placeholder in one instruction becomes what @ids says. */
static void use_ids(struct bpf_insn *insn, const struct kernel_ids *ids)
{
	const uint8_t mov = BPF_MOV | BPF_K;

	if (insn->code == (BPF_LD | BPF_DW | BPF_IMM) && !insn->src_reg && !insn->off &&
	    insn->imm == NFG_PATCH_PREEMPT_VAR && ids->preempt_var) {
		insn->src_reg = BPF_PSEUDO_BTF_ID;
		insn->imm = (int)ids->preempt_var;
	} else if (insn->code == (BPF_LDX | BPF_MEM | BPF_W) &&
		   insn->off == NFG_PATCH_PREEMPT_OFFSET) {
		insn->off = (int16_t)ids->preempt_var_offset;
	} else if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
		   insn->imm == NFG_PATCH_RDONLY_CAST && ids->rdonly_cast) {
		insn->src_reg = NFG_BPF_PSEUDO_KFUNC_CALL;
		insn->imm = (int)ids->rdonly_cast;
	} else if (insn->code == (BPF_ALU64 | mov) || insn->code == (BPF_ALU | mov)) {
		if (insn->imm == NFG_PATCH_SKB_TYPE)
			insn->imm = (int)ids->skb_type;
		else if (insn->imm == NFG_PATCH_SOCK_TYPE)
			insn->imm = (int)ids->sock_type;
	}
}

/*
 * Placeholders become what libbpf makes of __ksym and CO-RE. What this kernel does not have stays in programs
 * that are not loaded, or behind a setting.
 */
static void use_kernel_ids(void *elf, size_t bytes, const struct kernel_ids *ids)
{
	struct bpf_insn *insns = elf;

	for (size_t i = 0; i < bytes / sizeof(*insns); i++)
		use_ids(&insns[i], ids);
}

/* In the file itself, for libbpf shows no instructions of functions that programs call. */
static int open_skel(struct netfgraph_bpf **out, const struct kernel_ids *ids,
		     const struct bpf_object_open_opts *opts)
{
	size_t bytes;
	const void *elf = netfgraph_bpf__elf_bytes(&bytes);
	struct netfgraph_bpf *skel = calloc(1, sizeof(*skel));
	void *copy = malloc(bytes);
	int err = -ENOMEM;

	if (skel && copy)
		err = netfgraph_bpf__create_skeleton(skel);
	if (!err) {
		memcpy(copy, elf, bytes);
		use_kernel_ids(copy, bytes, ids);
		skel->skeleton->data = copy;
		err = bpf_object__open_skeleton(skel->skeleton, opts);
	}
	free(copy);
	if (err)
		netfgraph_bpf__destroy(skel);
	else
		*out = skel;
	return err;
}

/* Called by libbpf for each program that it is about to load, as another type: see handlers_add. */
static int set_target(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct loader *loader = (const struct loader *)cookie;
	const char *tracepoint = strchr(bpf_program__section_name(prog), '/');

	opts->attach_btf_id = tracepoint ? kbtf_tracepoint_id(loader->kb, tracepoint + 1)
					 : loader->ids.template_func;
	return opts->attach_btf_id ? bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING) : -ESRCH;
}

/* Until it is loaded a program is of a type for which libbpf does not ask for vmlinux. */
static int handlers_add(struct loader *loader)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)loader,
		    .prog_prepare_load_fn = set_target);

	for (size_t i = 0; i < LOADER_SECTION_CNT; i++) {
		int id =
			libbpf_register_prog_handler(sections[i].name, BPF_PROG_TYPE_RAW_TRACEPOINT,
						     sections[i].type, &opts);

		if (id < 0)
			return id;
		loader->handlers[i] = id;
	}
	return 0;
}

/* With @path as the types that libbpf asks; NULL: the kernel's. */
static int open_with(struct loader *loader, const char *path)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);

	return open_skel(&loader->skel, &loader->ids, &opts);
}

/* libbpf reads the file when the object is loaded. */
static int open_with_types(struct loader *loader)
{
	char path[32];
	int err;

	loader->types_fd = memfd_create("netfgraph-types", MFD_CLOEXEC);
	if (loader->types_fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", loader->types_fd);
	err = open_with(loader, path);
	if (err)
		return err;
	err = coretypes_write(loader->types_fd, kbtf_base(loader->kb),
			      bpf_object__btf(loader->skel->obj));
	if (err) {
		netfgraph_bpf__destroy(loader->skel);
		loader->skel = NULL;
	}
	return err;
}

int loader_open(struct loader *loader, const struct kbtf *kb, const struct kernel_ids *ids)
{
	int err;

	*loader = (struct loader){ .kb = kb, .ids = *ids };
	err = handlers_add(loader);
	if (err)
		return err;
	err = open_with_types(loader);
	if (err) {
		log_debug("libbpf reads the types of vmlinux itself: %s", strerror(-err));
		err = open_with(loader, NULL);
	}
	return err;
}

int loader_load(struct loader *loader)
{
	int err = netfgraph_bpf__load(loader->skel);

	if (loader->types_fd > 0)
		close(loader->types_fd);
	loader->types_fd = 0;
	/* what the kernel says first of a program need not be why it would take none */
	if (err && err != -EPERM && probe_tracing_is_refused(loader->ids.template_func))
		err = -EPERM;
	return err;
}

int loader_attach(struct loader *loader)
{
	const struct bpf_object_skeleton *progs = loader->skel->skeleton;

	for (int i = 0; i < progs->prog_cnt; i++) {
		struct bpf_program *prog = *progs->progs[i].prog;
		struct bpf_link **link = progs->progs[i].link;

		if (!bpf_program__autoload(prog) || !bpf_program__autoattach(prog))
			continue;
		*link = bpf_program__attach_trace(prog);
		if (!*link)
			return -errno;
	}
	return 0;
}

void loader_close(struct loader *loader)
{
	netfgraph_bpf__destroy(loader->skel);
	for (size_t i = 0; i < LOADER_SECTION_CNT; i++) {
		if (loader->handlers[i] > 0)
			libbpf_unregister_prog_handler(loader->handlers[i]);
	}
	if (loader->types_fd > 0)
		close(loader->types_fd);
	*loader = (struct loader){ 0 };
}
