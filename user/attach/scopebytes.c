/*
 * Which tasks are recorded: the bytes by tid, the maps of the programs that follow tasks, and what these programs
 * missed.
 */
#include "attach/scopebytes.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/bpfobj.h"
#include "netfgraph.skel.h"

int scopebytes_configure(const struct netfgraph_bpf *skel, const struct nfg_cfg *cfg)
{
	int err = 0;

	if (cfg->comm_glob_cnt)
		err = bpf_map__set_value_size(skel->maps.task_in_comms, NFG_SCOPE_CNT);
	if (!err && cfg->comm_glob_cnt)
		err = bpf_map__set_max_entries(skel->maps.comm_globs, cfg->comm_glob_cnt);
	if (!err && cfg->by_cpu)
		err = bpf_map__set_value_size(skel->maps.task_away, NFG_SCOPE_CNT);
	if (!err && cfg->sleep_point)
		err = bpf_map__set_value_size(skel->maps.task_asleep, NFG_SCOPE_CNT);
	if (!err && cfg->sleep_point)
		err = bpf_map__set_value_size(skel->maps.sleep_stack, NFG_SLEEP_SCRATCH_BYTES);
	return err;
}

int scopebytes_map(struct bpfobj *obj)
{
	if (!obj->config.cfg.comm_glob_cnt)
		return 0;
	obj->in_comms = mapmem_share(bpf_map__fd(obj->skel->maps.task_in_comms), NFG_SCOPE_CNT);
	return obj->in_comms ? 0 : -errno;
}

void scopebytes_unmap(struct bpfobj *obj)
{
	if (obj->in_comms)
		munmap(obj->in_comms, NFG_SCOPE_CNT);
}

static uint8_t *scope_byte(const struct bpfobj *obj, uint32_t tid)
{
	return &obj->skel->bss->task_scope[tid % NFG_SCOPE_CNT];
}

void bpfobj_scope(struct bpfobj *obj, uint32_t tid, uint8_t set, uint8_t clear)
{
	if ((set | clear) & NFG_SCOPE_COMM)
		__atomic_store_n(&obj->in_comms[tid % NFG_SCOPE_CNT], (set & NFG_SCOPE_COMM) != 0,
				 __ATOMIC_SEQ_CST);
	set &= (uint8_t)~NFG_SCOPE_COMM;
	__atomic_fetch_and(scope_byte(obj, tid), (uint8_t)~clear, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(scope_byte(obj, tid), set, __ATOMIC_SEQ_CST);
}

uint8_t bpfobj_scope_get(const struct bpfobj *obj, uint32_t tid)
{
	uint8_t scope = __atomic_load_n(scope_byte(obj, tid), __ATOMIC_SEQ_CST);

	if (obj->in_comms && __atomic_load_n(&obj->in_comms[tid % NFG_SCOPE_CNT], __ATOMIC_SEQ_CST))
		scope |= NFG_SCOPE_COMM;
	return scope;
}

int bpfobj_scope_comm(const struct bpfobj *obj, uint32_t nr, const struct nfg_comm_glob *glob)
{
	return bpf_map_update_elem(bpf_map__fd(obj->skel->maps.comm_globs), &nr, glob, BPF_ANY);
}

/* Cgroups that were out of scope may be in scope now. */
static void forget_verdicts(const struct bpfobj *obj)
{
	struct netfgraph_bpf__data_places *places = obj->skel->data_places;

	__atomic_fetch_add(&places->cgroup_age, 1, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < NFG_CGROUP_SLOTS; i++)
		__atomic_store_n(&places->cgroup_verdicts[i], 0, __ATOMIC_SEQ_CST);
}

/* Programs do not follow longer paths: user space finds their cgroups later (taskscope_tick). */
static int scope_follow_path(const struct bpfobj *obj, const char *path)
{
	char key[NFG_CGROUP_PATH_BYTES] = "";
	const uint8_t in = 1;
	size_t len = strlen(path);

	if (!len || len >= sizeof(key) - 1) /* the program cuts longer paths to this length */
		return 0;
	memcpy(key, path, len);
	return bpf_map_update_elem(bpf_map__fd(obj->skel->maps.scope_paths), key, &in, BPF_ANY);
}

int bpfobj_scope_cgroup(const struct bpfobj *obj, uint64_t id, const char *path)
{
	const uint8_t in = 1;
	int err =
		bpf_map_update_elem(bpf_map__fd(obj->skel->maps.scope_cgroups), &id, &in, BPF_ANY);

	if (!err)
		err = scope_follow_path(obj, path);
	forget_verdicts(obj);
	return err;
}

bool bpfobj_has_cgroup(const struct bpfobj *obj, uint64_t id)
{
	uint8_t in;

	return !bpf_map_lookup_elem(bpf_map__fd(obj->skel->maps.scope_cgroups), &id, &in);
}

int bpfobj_scope_socket(const struct bpfobj *obj, uint64_t inode)
{
	const uint8_t in = 1;

	return bpf_map_update_elem(bpf_map__fd(obj->skel->maps.carrier_sockets), &inode, &in,
				   BPF_ANY);
}

int bpfobj_scope_netns(const struct bpfobj *obj, uint32_t inum, enum nfg_netns_news news,
		       uint64_t time_ns)
{
	uint64_t args[] = { inum, news, time_ns };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	return bpf_prog_test_run_opts(bpf_program__fd(obj->skel->progs.netns_told), &opts);
}

int bpfobj_shared_netns(const struct bpfobj *obj, int (*visit)(void *ctx, uint32_t inum), void *ctx)
{
	int fd = bpf_map__fd(obj->skel->maps.scope_netns);
	struct nfg_netns known;
	uint32_t *before = NULL;
	uint32_t inum;
	int err = 0;

	while (!err && !bpf_map_get_next_key(fd, before, &inum)) {
		if (!bpf_map_lookup_elem(fd, &inum, &known) && known.is_used &&
		    known.stranger_ns > known.settled_ns)
			err = visit(ctx, inum);
		before = &inum;
	}
	return err;
}

uint64_t bpfobj_netns_news(const struct bpfobj *obj)
{
	return __atomic_load_n(&obj->skel->data_places->netns_news_cnt, __ATOMIC_SEQ_CST);
}

bool bpfobj_has_doubted(const struct bpfobj *obj)
{
	return __atomic_load_n(&obj->skel->data_places->has_doubted, __ATOMIC_RELAXED) != 0;
}

bool bpfobj_gate_fits(const struct bpfobj *obj, uint32_t cpu, bool is_in)
{
	const struct nfg_cpu *data = &obj->skel->data_cpus->cpus[cpu % NFG_CPU_CNT];
	uint32_t gate = __atomic_load_n(obj->config.cfg.by_starts ? &data->start_gate : &data->gate,
					__ATOMIC_RELAXED);

	return !(gate & NFG_GATE_PACKET) && ((gate & NFG_GATE_OPEN) != 0) == is_in;
}

/* ---- what programs missed ---- */

static uint64_t missed_cnt(const struct bpf_program *prog)
{
	return bpf_program__autoload(prog) ? loader_missed(bpf_program__fd(prog)) : 0;
}

/* A change is missed only if all copies missed it: at most as many as the copy with the fewest misses. */
static uint64_t copies_missed_cnt(const struct bpfobj *obj, enum progs_copied which)
{
	struct bpf_program *copies[NFG_COPY_CNT];
	uint64_t least = UINT64_MAX;

	progs_copies(obj->skel, which, copies);
	for (size_t i = 0; i < NFG_COPY_CNT; i++) {
		uint64_t cnt = bpf_program__autoload(copies[i]) ? missed_cnt(copies[i]) : least;

		if (cnt < least)
			least = cnt;
	}
	return least == UINT64_MAX ? 0 : least;
}

static uint64_t scope_missed_cnt(const struct bpfobj *obj)
{
	uint64_t cnt = missed_cnt(obj->skel->progs.task_born) +
		       missed_cnt(obj->skel->progs.packet_softirq_entry) +
		       missed_cnt(obj->skel->progs.packet_softirq_exit);

	for (enum progs_copied which = 0; which < PROGS_COPIED_skb_copied; which++)
		cnt += copies_missed_cnt(obj, which);
	return cnt;
}

static uint64_t packets_missed_cnt(const struct bpfobj *obj)
{
	uint64_t cnt = 0;

	for (enum progs_copied which = PROGS_COPIED_skb_copied; which < PROGS_COPIED_CNT; which++)
		cnt += copies_missed_cnt(obj, which);
	return cnt;
}

void bpfobj_count_missed(struct bpfobj *obj)
{
	obj->early_missed_cnt = scope_missed_cnt(obj);
	obj->early_missed_packet_cnt = packets_missed_cnt(obj);
}

uint64_t bpfobj_missed_scope(const struct bpfobj *obj)
{
	return scope_missed_cnt(obj) - obj->early_missed_cnt;
}

uint64_t bpfobj_missed_packets(const struct bpfobj *obj)
{
	return packets_missed_cnt(obj) - obj->early_missed_packet_cnt;
}

uint64_t bpfobj_missed_names(const struct bpfobj *obj)
{
	return missed_cnt(obj->skel->progs.task_renamed) + missed_cnt(obj->skel->progs.task_exit) +
	       missed_cnt(obj->skel->progs.task_placed);
}
