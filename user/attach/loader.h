#ifndef NFG_ATTACH_LOADER_H
#define NFG_ATTACH_LOADER_H

#include "attach/attach_plan.h"
#include "kernel/kbtf.h"

struct bpf_insn;
struct bpf_program;
struct netfgraph_bpf;

#define LOADER_SECTION_CNT 4

/* A program that is loaded in copies only, each with constants of its own. */
struct loader_template {
	const struct bpf_program *prog;
	struct bpf_insn *insns; /* as libbpf would have loaded them; NULL before that */
	uint32_t insn_cnt;
};

/*
 * Has libbpf load the BPF object with types that are known already. Left alone it reads and parses all of
 * vmlinux once more and looks through it for every name: a fifth of a start.
 *
 * Opened by loader_open, at an address that stays; loader_close also closes zeroed storage.
 */
struct loader {
	const struct kbtf *kb;
	struct kernel_ids ids;
	struct netfgraph_bpf *skel;
	int types_fd;
	int handlers[LOADER_SECTION_CNT]; /* libbpf's numbers; 0: none */
	struct loader_template *templates;
	size_t template_cnt;
	size_t template_cap;
};

/*
 * loader_open - open the object, with what @ids says put into it.
 *
 * @kb: borrowed until the object is loaded. Return: 0 or -errno; loader_close in either case.
 */
int loader_open(struct loader *loader, const struct kbtf *kb, const struct kernel_ids *ids);

/*
 * loader_keep - @prog is a template: the kernel gets an empty program instead, for to verify it once more than its
 * copies costs a tenth of a start; loader_kept has what it is made of.
 *
 * Before loader_load; a program may be kept twice. Return: 0 or -errno.
 */
int loader_keep(struct loader *loader, struct bpf_program *prog);

/* loader_kept - the template of @prog, after loader_load; empty for NULL. Its instructions are the loader's until loader_close. */
struct loader_template loader_kept(const struct loader *loader, const struct bpf_program *prog);

/* loader_load - load maps and those programs that are set to be. Return: 0 or -errno. */
int loader_load(struct loader *loader);

/*
 * loader_attach - attach the programs that are loaded and set to be attached; they stay until loader_close.
 *
 * netfgraph_bpf__attach would ask the handlers of the programs' sections, which are ours and attach nothing.
 * All of them are for tracepoints, by type. Return: 0 or -errno.
 */
int loader_attach(struct loader *loader);
void loader_close(struct loader *loader);

#endif
