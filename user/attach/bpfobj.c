#include "attach/bpfobj.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "attach/kprofile.h"
#include "attach/mapmem.h"
#include "attach/rt.h"
#include "attach/scopebytes.h"
#include "base/host.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "netfgraph.skel.h"
#include "kernel/policy.h"
#include "kernel/probe.h"
#include "kernel/release.h"

/* array_map_alloc_check of 5.10: an element may be KMALLOC_MAX_SIZE at most */
#define ELEMENT_MAX_BYTES (4u << 20)
#define FLAT_MAX_BYTES    (1u << 29) /* the verifier's bound of offsets, BPF_MAX_VAR_OFF */
/* What the kernel gives at a time (bpf_seq_read). */
#define WALK_BYTES (32u << 10)
#define FILES_MIN  100

/* The largest power of two of records that fits in @bytes and in a map. */
static uint32_t rec_cnt_for(const struct bpfobj *obj, uint64_t bytes)
{
	uint64_t most_bytes =
		obj->plan.is_flat ? FLAT_MAX_BYTES / obj->config.want.cpu_cnt : ELEMENT_MAX_BYTES;
	uint32_t cnt = NFG_REC_CNT_MIN;

	if (bytes > most_bytes)
		log_warn("--buffer-size: more than %" PRIu64
			 "K for each CPU does not fit this kernel's maps",
			 most_bytes >> 10);
	else
		most_bytes = bytes;
	while (cnt * 2ull * sizeof(struct nfg_rec) <= most_bytes)
		cnt *= 2;
	return cnt;
}

static void raise_limit(int resource, rlim_t want)
{
	struct rlimit lim = { .rlim_cur = want, .rlim_max = want };

	if (!setrlimit((__rlimit_resource_t)resource, &lim) ||
	    getrlimit((__rlimit_resource_t)resource, &lim))
		return;
	lim.rlim_cur = lim.rlim_max;
	setrlimit((__rlimit_resource_t)resource, &lim);
}

/* Four descriptors a function: two programs, two links. Maps and programs are locked memory up to 5.10. */
static void raise_limits(void)
{
	raise_limit(RLIMIT_NOFILE, 1 << 20);
	if (!release_has(RELEASE_CHARGES_MEMCG))
		raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
}

/* Less than maps and templates take. Asked before, as libbpf has many words for EMFILE. */
static bool lacks_files(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rlimit lim;

	if (fd < 0)
		return errno == EMFILE;
	close(fd);
	return !getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur < (rlim_t)fd + FILES_MIN;
}

/* ---- before load ---- */

static struct progs choose_progs(const struct bpfobj *obj, enum attach_mode mode)
{
	const struct bpfobj_config *config = &obj->config;
	const struct progs_want want = {
		.mode = mode,
		.is_flat = obj->plan.is_flat,
		.looks_at_packets = config->cfg.scope_packets,
		.has_marks = config->cfg.marks != 0,
		.has_values = (config->cfg.want_values & ~NFG_WANT_STACK) != 0,
		.starts_have_values = config->cfg.want_values != 0,
		.by_starts = config->cfg.by_starts,
		.has_switches = config->want_switches,
		.sums_up = config->cfg.sum_up,
		.follows_irqs = config->follows_irqs,
	};

	return progs_choose(obj->skel, &want);
}

/* A program that clone.c loads and others attach. */
static int configure_copied(struct bpfobj *obj, struct bpf_program *prog)
{
	return prog ? loader_keep(&obj->loader, prog) : 0;
}

static int configure_rings(struct bpfobj *obj)
{
	struct netfgraph_bpf *skel = obj->skel;
	uint32_t cpu_cnt = obj->config.want.cpu_cnt;
	uint64_t bytes = obj->config.buffer_bytes;
	int err = bpf_map__set_max_entries(skel->maps.gaps, cpu_cnt);

	obj->rec_cnt =
		rec_cnt_for(obj, bytes ? bytes
				       : rings_bytes_default(cpu_cnt, host_memory_limit_bytes()));
	for (obj->all_cnt = obj->rec_cnt; obj->all_cnt < (uint64_t)obj->rec_cnt * cpu_cnt;)
		obj->all_cnt *= 2;
	if (err || obj->plan.is_flat)
		return err;
	err = bpf_map__set_value_size(skel->maps.rings, obj->rec_cnt * sizeof(struct nfg_rec));
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.rings, cpu_cnt);
	return err;
}

static bool looks_at_args(const struct bpfobj *obj)
{
	const struct nfg_cfg *cfg = &obj->config.cfg;

	return cfg->scope_packets || cfg->by_packet || cfg->want_values || cfg->marks;
}

static int configure_templates(struct bpfobj *obj, const struct progs *progs)
{
	struct bpf_program *const all[] = { progs->entry, progs->exit, progs->start_entry,
					    progs->start_exit };
	int err = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && !err; i++)
		err = configure_copied(obj, all[i]);
	return err;
}

/* At functions the third would cost each packet more than it is worth. */
#define FUNC_COPY_CNT 2

/* Load @cnt copies of a program that is skipped while a task is preempted inside it. Before 5.12 none is skipped. */
static int configure_copies(const struct netfgraph_bpf *skel, enum progs_copied which, size_t cnt)
{
	struct bpf_program *copies[NFG_COPY_CNT];
	int err = 0;

	if (!probe_fetching_atomics())
		cnt = 1;
	progs_copies(skel, which, copies);
	for (size_t i = 0; i < cnt && !err; i++)
		err = bpf_program__set_autoload(copies[i], true);
	return err;
}

/* The programs that follow cgroups, and as long as sockets decide, where packets meet these. */
static int configure_cgroups(const struct netfgraph_bpf *skel, const struct nfg_cfg *cfg,
			     const struct kbtf *kb)
{
	int err = configure_copies(skel, PROGS_COPIED_cgroup_made, NFG_COPY_CNT);

	if (!err)
		err = configure_copies(skel, PROGS_COPIED_cgroup_joined, NFG_COPY_CNT);
	if (!err && cfg->scope_packets && kbtf_func_id(kb, "sk_filter_trim_cap"))
		err = configure_copies(skel, PROGS_COPIED_owner_found, FUNC_COPY_CNT);
	return err;
}

/* The programs that follow softirqs, cgroups and namespaces. */
static int configure_scope(const struct bpfobj *obj)
{
	const struct netfgraph_bpf *skel = obj->skel;
	const struct nfg_cfg *cfg = &obj->config.cfg;
	int err = 0;

	if (cfg->comm_glob_cnt || cfg->sum_up) /* other traces have nothing to do at exec */
		err = configure_copies(skel, PROGS_COPIED_task_exec, NFG_COPY_CNT);
	if (cfg->by_packet == NFG_BY_PACKET_ANEW && !cfg->scope_packets && !rt_is_kernel()) {
		bpf_program__set_autoload(skel->progs.start_softirq_entry, true);
		bpf_program__set_autoload(skel->progs.start_softirq_exit, true);
	}
	if (!err && cfg->scope_packets)
		err = bpf_program__set_autoload(skel->progs.packet_softirq_entry, true);
	if (!err && cfg->scope_packets)
		err = bpf_program__set_autoload(skel->progs.packet_softirq_exit, true);
	if (!err && (cfg->scope_packets || cfg->scope_by_netns))
		err = bpf_program__set_autoload(skel->progs.netns_told, true);
	if (!err && (cfg->scope_packets || cfg->scope_by_netns) &&
	    kbtf_func_id(obj->config.kb, "sk_alloc"))
		err = configure_copies(skel, PROGS_COPIED_socket_made, FUNC_COPY_CNT);
	if (!err && cfg->scope_by_cgroup)
		err = configure_cgroups(skel, cfg, obj->config.kb);
	return err;
}

/* Without cgroups a kernel has no such tracepoint. */
static int configure_places(const struct bpfobj *obj)
{
	const struct kbtf *kb = obj->config.kb;
	int err = 0;

	if (!obj->config.wants_places && !obj->config.cfg.pid_ns)
		return 0;
	bpf_program__set_autoattach(obj->skel->progs.task_found, false);
	if (kbtf_func_id(kb, "bpf_iter_task"))
		err = bpf_program__set_autoload(obj->skel->progs.task_found, true);
	if (!err && obj->config.wants_places && kbtf_tracepoint_id(kb, "cgroup_attach_task"))
		err = bpf_program__set_autoload(obj->skel->progs.task_placed, true);
	return err;
}

static int configure(struct bpfobj *obj, const struct progs *progs)
{
	struct netfgraph_bpf *skel = obj->skel;
	const struct nfg_cfg *cfg = &obj->config.cfg;
	int err = configure_rings(obj);

	skel->rodata->cfg = *cfg;
	skel->rodata->cfg.self_tgid = cfg->pid_ns ? UINT32_MAX : (uint32_t)getpid();
	skel->rodata->cfg.has_active_var =
		attach_is_by_site(obj->plan.mode) && obj->config.want.ids.active_var;
	if (!err && cfg->sum_up)
		err = kprofile_configure(skel, &obj->config.sums);
	if (!err && attach_uses_sites(&obj->plan))
		err = sites_configure(skel, looks_at_args(obj));
	if (!err)
		err = scopebytes_configure(skel, cfg);
	if (!err)
		err = configure_scope(obj);
	if (!err)
		err = configure_places(obj);
	if (!err)
		err = configure_templates(obj, progs);
	if (!err && cfg->want_values & NFG_WANT_STACK)
		err = bpf_map__set_max_entries(skel->maps.tree_stacks, NFG_STACKS_CNT);
	if (!err && !cfg->by_starts)
		err = bpf_map__set_max_entries(skel->maps.open_starts, 1);
	if (!err)
		err = configure_copied(obj, progs->task_switch);
	if (!err)
		err = configure_copied(obj, progs->record_switch);
	for (uint32_t i = 0; i < PROGS_IRQ_CNT && !err; i++)
		err = configure_copied(obj, progs->irqs[i]);
	if (err)
		log_error("cannot configure the BPF object: %s", strerror(-err));
	return err;
}

/* ---- after load ---- */

static struct bpfobj_ends ends_of(const struct loader *loader, const struct progs *progs)
{
	return (struct bpfobj_ends){
		.entry = loader_kept(loader, progs->entry),
		.exit = loader_kept(loader, progs->exit),
		.start_entry = loader_kept(loader, progs->start_entry),
		.start_exit = loader_kept(loader, progs->start_exit),
	};
}

static int make_flat(struct bpfobj *obj)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	obj->small_flat_fd = bpf_map__fd(obj->skel->maps.data_flat);
	obj->flat_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "nfg_recs", sizeof(__u32),
				      obj->all_cnt * (uint32_t)sizeof(struct nfg_rec), 1, &opts);
	return obj->flat_fd < 0 ? obj->flat_fd : 0;
}

static int map_rings(struct bpfobj *obj)
{
	struct rings_memory mem = {
		.cpus = obj->skel->data_cpus->cpus,
		.cpu_cnt = obj->config.want.cpu_cnt,
		.rec_cnt = obj->rec_cnt,
		.values = obj->config.values,
		.skips_whole_calls =
			obj->plan.mode == ATTACH_SESSION || obj->plan.mode == ATTACH_KPROBE,
	};
	int err = obj->plan.is_flat ? make_flat(obj) : 0;

	if (err)
		return err;
	obj->rings_map_bytes =
		(size_t)obj->rec_cnt * obj->config.want.cpu_cnt * sizeof(struct nfg_rec);
	obj->rings_map =
		mapmem_share(obj->plan.is_flat ? obj->flat_fd : bpf_map__fd(obj->skel->maps.rings),
			     obj->rings_map_bytes);
	obj->gaps = mapmem_share(bpf_map__fd(obj->skel->maps.gaps),
				 obj->config.want.cpu_cnt * sizeof(struct nfg_gaps));
	if (!obj->rings_map || !obj->gaps)
		return -errno;
	mem.recs = obj->rings_map;
	mem.gaps = obj->gaps;
	return rings_init(&obj->rings, &mem);
}

static void keep_templates(struct bpfobj *obj, const struct progs *progs,
			   const struct progs *fallback, const struct progs *extras)
{
	obj->ends = ends_of(&obj->loader, progs);
	obj->fallback = ends_of(&obj->loader, fallback);
	obj->extras = ends_of(&obj->loader, extras);
	obj->task_switch = loader_kept(&obj->loader, progs->task_switch);
	obj->record_switch = loader_kept(&obj->loader, progs->record_switch);
	for (uint32_t i = 0; i < PROGS_IRQ_CNT; i++)
		obj->irqs[i] = loader_kept(&obj->loader, progs->irqs[i]);
}

static int load(struct bpfobj *obj)
{
	struct progs fallback = { 0 };
	struct progs extras;
	struct progs progs;
	int err = attach_plan_choose(&obj->plan, &obj->config.want);

	if (!err)
		err = loader_open(&obj->loader, obj->config.kb, &obj->config.want.ids);
	if (err)
		return err;
	obj->skel = obj->loader.skel;
	progs = choose_progs(obj, obj->plan.mode);
	if (obj->plan.fallback != ATTACH_AUTO)
		fallback = choose_progs(obj, obj->plan.fallback);
	extras = choose_progs(obj, obj->plan.extras);
	err = configure(obj, &progs);
	if (!err)
		err = configure_templates(obj, &fallback);
	if (!err)
		err = configure_templates(obj, &extras);
	if (err)
		return err;
	err = loader_load(&obj->loader);
	if (err) {
		policy_explain(err);
		return err;
	}
	keep_templates(obj, &progs, &fallback, &extras);
	err = map_rings(obj);
	if (!err && attach_uses_sites(&obj->plan))
		err = sites_open(&obj->sites, obj->skel, looks_at_args(obj));
	if (!err)
		err = scopebytes_map(obj);
	if (err)
		log_error("cannot map the event rings: %s", strerror(-err));
	return err;
}

int bpfobj_load(struct bpfobj *obj, const struct bpfobj_config *config)
{
	int err;

	*obj = (struct bpfobj){ .config = *config, .flat_fd = -1 };
	raise_limits();
	if (lacks_files()) {
		policy_explain(-EMFILE);
		return -EMFILE;
	}
	err = load(obj);
	if (err)
		bpfobj_release(obj);
	return err;
}

void bpfobj_release(struct bpfobj *obj)
{
	ring_buffer__free(obj->names);
	rings_release(&obj->rings);
	if (obj->rings_map)
		munmap(obj->rings_map, obj->rings_map_bytes);
	scopebytes_unmap(obj);
	if (obj->gaps)
		munmap(obj->gaps, obj->config.want.cpu_cnt * sizeof(struct nfg_gaps));
	sites_close(&obj->sites);
	if (obj->flat_fd >= 0)
		close(obj->flat_fd);
	loader_close(&obj->loader);
	*obj = (struct bpfobj){ .flat_fd = -1 };
}

static int take_task(void *ctx, void *data, size_t bytes)
{
	const struct bpfobj *obj = ctx;

	if (bytes >= sizeof(struct nfg_task_seen))
		obj->take_task(obj->take_ctx, data);
	return 0;
}

int bpfobj_follow(struct bpfobj *obj, void (*take)(void *ctx, const struct nfg_task_seen *seen),
		  void *ctx)
{
	int err;

	bpf_program__set_autoattach(obj->skel->progs.gate_sync, false);
	bpf_program__set_autoattach(obj->skel->progs.netns_told, false);
	obj->take_task = take;
	obj->take_ctx = ctx;
	obj->names = ring_buffer__new(bpf_map__fd(obj->skel->maps.task_recs), take_task, obj, NULL);
	if (!obj->names) {
		err = -errno;
		log_error("cannot read the task records: %s", strerror(-err));
		return err;
	}
	err = loader_attach(&obj->loader);
	if (err)
		log_error("cannot attach the programs that follow tasks and packets: %s",
			  strerror(-err));
	return err;
}

/* Return: the descriptor of a walk through all tasks, or -errno. */
static int walk_open(const struct bpfobj *obj)
{
	int link_fd = bpf_link_create(bpf_program__fd(obj->skel->progs.task_found), 0,
				      BPF_TRACE_ITER, NULL);
	int fd = link_fd < 0 ? link_fd : bpf_iter_create(link_fd);

	if (link_fd >= 0)
		close(link_fd);
	return fd;
}

/* A record may come in two pieces. */
static int walk_read(int fd, struct strbuf *recs)
{
	ssize_t len = 1;

	while (len > 0) {
		if (!strbuf_reserve(recs, WALK_BYTES))
			return -ENOMEM;
		len = read(fd, recs->ptr + recs->len, recs->cap - recs->len);
		if (len < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (len < 0)
			len = 1;
		else
			recs->len += (size_t)len;
	}
	return 0;
}

int bpfobj_each_task(const struct bpfobj *obj,
		     void (*take)(void *ctx, const struct nfg_task_seen *seen), void *ctx)
{
	struct strbuf recs = { 0 };
	int err;
	int fd;

	if (!bpf_program__autoload(obj->skel->progs.task_found))
		return -EOPNOTSUPP;
	fd = walk_open(obj);
	if (fd < 0)
		return fd;
	err = walk_read(fd, &recs);
	close(fd);
	for (size_t at = 0; at + sizeof(struct nfg_task_seen) <= recs.len;
	     at += sizeof(struct nfg_task_seen))
		take(ctx, (const void *)(recs.ptr + at));
	strbuf_release(&recs);
	return err;
}

int bpfobj_find_tasks(struct bpfobj *obj)
{
	int err;

	if (!bpf_program__autoload(obj->skel->progs.task_found))
		return 0;
	__atomic_store_n(&obj->skel->data->names_follow, 1, __ATOMIC_SEQ_CST);
	err = bpfobj_each_task(obj, obj->take_task, obj->take_ctx);
	if (!err || err == -ENOMEM)
		return err;
	log_info("cgroups and namespaces of some tasks are unknown: %s", strerror(-err));
	return 0;
}

void bpfobj_names(struct bpfobj *obj)
{
	ring_buffer__consume(obj->names);
}

/* By an interrupt there (1b4d60ec162f, 5.10); a CPU that is off has none to run. */
int bpfobj_sync_cpu(const struct bpfobj *obj, uint32_t cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (int)cpu);
	int err = bpf_prog_test_run_opts(bpf_program__fd(obj->skel->progs.gate_sync), &opts);

	return err == -ENXIO ? 0 : err;
}

int bpfobj_sync(const struct bpfobj *obj)
{
	int err = 0;

	for (uint32_t cpu = 0; cpu < obj->config.want.cpu_cnt && !err; cpu++)
		err = bpfobj_sync_cpu(obj, cpu);
	return err;
}

int bpfobj_arm(struct bpfobj *obj, bool on)
{
	int err;

	if (on)
		__atomic_store_n(&obj->skel->data->names_follow, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&obj->skel->data->armed, on, __ATOMIC_SEQ_CST);
	err = bpfobj_sync(obj);
	if (err)
		log_error("cannot switch the trace %s: %s", on ? "on" : "off", strerror(-err));
	return err;
}

uint64_t bpfobj_lost_starts(const struct bpfobj *obj)
{
	return __atomic_load_n(&obj->skel->data->lost_starts, __ATOMIC_RELAXED);
}

uint32_t bpfobj_stack(void *ctx, uint32_t nr, uint64_t *addrs)
{
	const struct bpfobj *obj = ctx;
	uint32_t cnt = 0;

	memset(addrs, 0, NFG_STACK_FRAMES * sizeof(*addrs));
	if (bpf_map_lookup_elem(bpf_map__fd(obj->skel->maps.tree_stacks), &nr, addrs))
		return 0;
	while (cnt < NFG_STACK_FRAMES && addrs[cnt])
		cnt++;
	return cnt;
}

uint64_t bpfobj_lost_names(const struct bpfobj *obj)
{
	return __atomic_load_n(&obj->skel->data->lost_task_recs, __ATOMIC_RELAXED);
}
