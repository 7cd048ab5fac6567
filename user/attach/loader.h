#ifndef NFG_ATTACH_LOADER_H
#define NFG_ATTACH_LOADER_H

#include "attach/attach_plan.h"
#include "kernel/kbtf.h"

struct netfgraph_bpf;

#define LOADER_SECTION_CNT 3

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
};

/*
 * loader_open - open the object, with what @ids says put into it.
 *
 * @kb: borrowed until the object is loaded. Return: 0 or -errno; loader_close in either case.
 */
int loader_open(struct loader *loader, const struct kbtf *kb, const struct kernel_ids *ids);

/* loader_load - load maps and those programs that are set to be. Return: 0 or -errno. */
int loader_load(struct loader *loader);

/*
 * loader_attach - attach the programs that are loaded and set to be attached; they stay until loader_close.
 *
 * All of them are for tracepoints, by type. Return: 0 or -errno.
 */
int loader_attach(struct loader *loader);
void loader_close(struct loader *loader);

#endif
