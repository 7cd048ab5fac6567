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
#include "base/vec.h"
#include "kernel/probe.h"
#include "netfgraph.skel.h"
#include "nfg_abi.h"

/*
 * Programs for tracing are typed: they are attached to an id in vmlinux. Until they are loaded they have a type for
 * which libbpf does not look the id up.
 */
static const struct section {
	const char *name;
	enum bpf_prog_type prog_type;
	enum bpf_attach_type type;
} sections[LOADER_SECTION_CNT] = {
	{ "fentry", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_FENTRY },
	{ "fexit", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_FEXIT },
	{ "tp_btf+", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_RAW_TP },
	{ "kprobe.multi", BPF_PROG_TYPE_KPROBE, 0 },
	{ "func+", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_FENTRY }, /* an entry, by name */
	{ "iter+", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_ITER },
};

/* Replace a placeholder in one instruction by its value from @ids. */
static void use_ids(struct bpf_insn *insn, const struct kernel_ids *ids)
{
	const uint8_t mov = BPF_MOV | BPF_K;

	if (insn->code == (BPF_LD | BPF_DW | BPF_IMM) && !insn->src_reg && !insn->off &&
	    insn->imm == NFG_PATCH_PREEMPT_VAR && ids->preempt_var) {
		insn->src_reg = BPF_PSEUDO_BTF_ID;
		insn->imm = (int)ids->preempt_var;
	} else if (insn->code == (BPF_LD | BPF_DW | BPF_IMM) && !insn->src_reg && !insn->off &&
		   insn->imm == NFG_PATCH_ACTIVE_VAR && ids->active_var) {
		insn->src_reg = BPF_PSEUDO_BTF_ID;
		insn->imm = (int)ids->active_var;
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
 * Placeholders become what libbpf makes of __ksym and CO-RE. Placeholders for things that this kernel lacks remain in
 * programs that are not loaded, or in code that a setting disables.
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

static struct loader_template *template_find(const struct loader *loader,
					     const struct bpf_program *prog)
{
	for (size_t i = 0; i < loader->template_cnt; i++) {
		if (loader->templates[i].prog == prog)
			return &loader->templates[i];
	}
	return NULL;
}

/* The program no longer has data about its sources. */
static int empty_program(struct bpf_program *prog, struct bpf_prog_load_opts *opts)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	opts->prog_btf_fd = 0;
	opts->func_info = NULL;
	opts->func_info_cnt = 0;
	opts->line_info = NULL;
	opts->line_info_cnt = 0;
	return bpf_program__set_insns(prog, insns, sizeof(insns) / sizeof(insns[0]));
}

static int keep_insns(struct loader_template *tmpl)
{
	size_t cnt = bpf_program__insn_cnt(tmpl->prog);

	tmpl->insns = malloc(cnt * sizeof(*tmpl->insns));
	if (!tmpl->insns)
		return -ENOMEM;
	memcpy(tmpl->insns, bpf_program__insns(tmpl->prog), cnt * sizeof(*tmpl->insns));
	tmpl->insn_cnt = (uint32_t)cnt;
	return 0;
}

static uint32_t attach_id(const struct loader *loader, const char *section)
{
	const char *name = strchr(section, '/');

	if (!name)
		return loader->ids.template_func;
	if (!strncmp(section, "func/", 5))
		return kbtf_func_id(loader->kb, name + 1);
	if (strcmp(section, "iter/task"))
		return kbtf_tracepoint_id(loader->kb, name + 1);
	return kbtf_func_id(loader->kb, "bpf_iter_task");
}

/* Called by libbpf for each program that it is about to load. */
static int prepare(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct loader *loader = (const struct loader *)cookie;
	struct loader_template *tmpl = template_find(loader, prog);
	int err = tmpl ? keep_insns(tmpl) : 0;

	if (!err && tmpl)
		err = empty_program(prog, opts);
	if (err || bpf_program__type(prog) == BPF_PROG_TYPE_KPROBE)
		return err;
	opts->attach_btf_id = attach_id(loader, bpf_program__section_name(prog));
	return opts->attach_btf_id ? bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING) : -ESRCH;
}

static int handlers_add(struct loader *loader)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)loader,
		    .prog_prepare_load_fn = prepare);

	for (size_t i = 0; i < LOADER_SECTION_CNT; i++) {
		const struct section *section = &sections[i];
		int id = libbpf_register_prog_handler(section->name, section->prog_type,
						      section->type, &opts);

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

int loader_keep(struct loader *loader, struct bpf_program *prog)
{
	if (template_find(loader, prog))
		return 0;
	if (VEC_RESERVE(loader->templates, loader->template_cap, loader->template_cnt + 1))
		return -ENOMEM;
	loader->templates[loader->template_cnt++] = (struct loader_template){ .prog = prog };
	bpf_program__set_autoattach(prog, false);
	return bpf_program__set_autoload(prog, true);
}

struct loader_template loader_kept(const struct loader *loader, const struct bpf_program *prog)
{
	const struct loader_template *tmpl = prog ? template_find(loader, prog) : NULL;

	return tmpl ? *tmpl : (struct loader_template){ 0 };
}

int loader_load(struct loader *loader)
{
	int err = netfgraph_bpf__load(loader->skel);

	if (loader->types_fd > 0)
		close(loader->types_fd);
	loader->types_fd = 0;
	/* the first error about a program need not be why the kernel refuses all of them */
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

uint64_t loader_missed(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &len) ? 0 : info.recursion_misses;
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
	for (size_t i = 0; i < loader->template_cnt; i++)
		free(loader->templates[i].insns);
	free(loader->templates);
	*loader = (struct loader){ 0 };
}
