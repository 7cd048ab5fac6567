#ifndef NFG_ATTACH_LOADER_H
#define NFG_ATTACH_LOADER_H

#include <stddef.h>
#include <stdint.h>

#include "attach/attach_plan.h"
#include "kernel/kbtf.h"

struct bpf_insn;
struct bpf_program;
struct netfgraph_bpf;

#define LOADER_SECTION_CNT 7

/* A program that is loaded only as copies, each with its own constants. */
struct loader_template {
	const struct bpf_program *prog;
	struct bpf_insn *insns; /* as libbpf would have loaded them; NULL before loading */
	uint32_t insn_cnt;
};

/*
 * Makes libbpf load the BPF object with types that are already parsed. On its own it reads and parses all of vmlinux
 * again and searches it for every name: a fifth of the start time.
 *
 * Opened by loader_open; it must not move afterwards. loader_close also accepts zeroed storage.
 */
struct loader {
	const struct kbtf *kb;
	struct kernel_ids ids;
	struct netfgraph_bpf *skel;
	struct coretypes types;
	int handlers[LOADER_SECTION_CNT]; /* libbpf's numbers; 0: none */
	struct loader_template *templates;
	size_t template_cnt;
	size_t template_cap;
};

/*
 * loader_open - open the object and patch @ids into it.
 *
 * @kb: borrowed until the object is loaded. Return: 0 or -errno; call loader_close in either case.
 */
int loader_open(struct loader *loader, const struct kbtf *kb, const struct kernel_ids *ids);

/*
 * loader_keep - make @prog a template: the kernel gets an empty program instead, because verifying the template in
 * addition to its copies costs a tenth of the start time. loader_kept returns its instructions.
 *
 * Call it before loader_load; a program may be kept twice. Return: 0 or -errno.
 */
int loader_keep(struct loader *loader, struct bpf_program *prog);

/*
 * loader_kept - the template of @prog, after loader_load; empty for NULL. The loader owns its instructions until
 * loader_close.
 */
struct loader_template loader_kept(const struct loader *loader, const struct bpf_program *prog);

/*
 * loader_missed - how often the kernel skipped a program because it was already running on that CPU; 0: never, or
 * before 5.12.
 */
uint64_t loader_missed(int prog_fd);

/* loader_load - load the maps and the programs that are set to be loaded. Return: 0 or -errno. */
int loader_load(struct loader *loader);

/*
 * loader_attach - attach the programs that are loaded and set to be attached; they stay until loader_close.
 *
 * netfgraph_bpf__attach would call our section handlers, which attach nothing. All these programs are for BTF-typed
 * tracepoints. Return: 0 or -errno.
 */
int loader_attach(struct loader *loader);
void loader_close(struct loader *loader);

struct bpf_insn;

/* A map that is no longer written: loads from it are constants. */
struct livecode_data {
	int map_fd;
	const void *bytes;
	size_t size;
};

/*
 * livecode_keep - remove the instructions of a program that never run with the settings in @data.
 *
 * A template contains the code for each option, and each of its copies goes through the verifier. The verifier would
 * find the same dead code, but for each copy again it walks, patches, moves and counts instructions before it drops
 * them. Constants that exist only in registers are ignored, because copies of a template patch them.
 *
 * @insns: linked, with the map's descriptor where its values are loaded; changed in place. Return: the number of
 * remaining instructions, all of them if one is unknown to this function; -ENOMEM.
 */
int livecode_keep(struct bpf_insn *insns, uint32_t cnt, const struct livecode_data *data);

#endif
