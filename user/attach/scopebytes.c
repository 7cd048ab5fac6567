/* Which tasks are recorded: the bytes by tid, and what the programs look up that follow them. */
#include "attach/scopebytes.h"

#include <errno.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/mapmem.h"
#include "netfgraph.skel.h"

static const uint8_t followed_bits[BPFOBJ_FOLLOWED_CNT] = { NFG_SCOPE_CGROUP, NFG_SCOPE_NETNS,
							    NFG_SCOPE_COMM };

/* The map of bytes for one of followed_bits; NULL: the scope does not need it. */
static struct bpf_map *followed_map(const struct netfgraph_bpf *skel, const struct nfg_cfg *cfg,
				    size_t nr)
{
	switch (followed_bits[nr]) {
	case NFG_SCOPE_CGROUP:
		return cfg->scope_by_cgroup ? skel->maps.task_in_cgroup : NULL;
	case NFG_SCOPE_NETNS:
		return cfg->scope_by_netns ? skel->maps.task_in_netns : NULL;
	default:
		return cfg->comm_glob_cnt ? skel->maps.task_in_comms : NULL;
	}
}

int scopebytes_configure(const struct netfgraph_bpf *skel, const struct nfg_cfg *cfg)
{
	int err = 0;

	for (size_t i = 0; i < BPFOBJ_FOLLOWED_CNT && !err; i++) {
		struct bpf_map *map = followed_map(skel, cfg, i);

		if (map)
			err = bpf_map__set_value_size(map, NFG_SCOPE_CNT);
	}
	if (!err && cfg->comm_glob_cnt)
		err = bpf_map__set_max_entries(skel->maps.comm_globs, cfg->comm_glob_cnt);
	if (!err && cfg->by_cpu)
		err = bpf_map__set_value_size(skel->maps.task_away, NFG_SCOPE_CNT);
	return err;
}

int scopebytes_map(struct bpfobj *obj)
{
	for (size_t i = 0; i < BPFOBJ_FOLLOWED_CNT; i++) {
		const struct bpf_map *map = followed_map(obj->skel, &obj->config.cfg, i);

		if (!map)
			continue;
		obj->followed[i] = mapmem_share(bpf_map__fd(map), NFG_SCOPE_CNT);
		if (!obj->followed[i])
			return -errno;
	}
	return 0;
}

void scopebytes_unmap(struct bpfobj *obj)
{
	for (size_t i = 0; i < BPFOBJ_FOLLOWED_CNT; i++) {
		if (obj->followed[i])
			munmap(obj->followed[i], NFG_SCOPE_CNT);
	}
}

static uint8_t *scope_byte(const struct bpfobj *obj, uint32_t tid)
{
	return &obj->skel->bss->task_scope[tid % NFG_SCOPE_CNT];
}

void bpfobj_scope(struct bpfobj *obj, uint32_t tid, uint8_t set, uint8_t clear)
{
	for (size_t i = 0; i < BPFOBJ_FOLLOWED_CNT; i++) {
		const uint8_t bit = followed_bits[i];

		if ((set | clear) & bit)
			__atomic_store_n(&obj->followed[i][tid % NFG_SCOPE_CNT], (set & bit) != 0,
					 __ATOMIC_SEQ_CST);
		set &= (uint8_t)~bit;
	}
	__atomic_fetch_and(scope_byte(obj, tid), (uint8_t)~clear, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(scope_byte(obj, tid), set, __ATOMIC_SEQ_CST);
}

uint8_t bpfobj_scope_get(const struct bpfobj *obj, uint32_t tid)
{
	uint8_t scope = __atomic_load_n(scope_byte(obj, tid), __ATOMIC_SEQ_CST);

	for (size_t i = 0; i < BPFOBJ_FOLLOWED_CNT; i++) {
		const uint8_t *bytes = obj->followed[i];

		if (bytes && __atomic_load_n(&bytes[tid % NFG_SCOPE_CNT], __ATOMIC_SEQ_CST))
			scope |= followed_bits[i];
	}
	return scope;
}

int bpfobj_scope_comm(const struct bpfobj *obj, uint32_t nr, const struct nfg_comm_glob *glob)
{
	return bpf_map_update_elem(bpf_map__fd(obj->skel->maps.comm_globs), &nr, glob, BPF_ANY);
}

int bpfobj_scope_cgroup(const struct bpfobj *obj, uint64_t id)
{
	const uint8_t in = 1;

	return bpf_map_update_elem(bpf_map__fd(obj->skel->maps.scope_cgroups), &id, &in, BPF_ANY);
}

int bpfobj_scope_socket(const struct bpfobj *obj, uint64_t inode)
{
	const uint8_t in = 1;

	return bpf_map_update_elem(bpf_map__fd(obj->skel->maps.carrier_sockets), &inode, &in,
				   BPF_ANY);
}

int bpfobj_scope_netns(const struct bpfobj *obj, uint32_t inum, uint8_t whose)
{
	return bpf_map_update_elem(bpf_map__fd(obj->skel->maps.scope_netns), &inum, &whose,
				   BPF_ANY);
}
