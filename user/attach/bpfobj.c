#include "attach/bpfobj.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "attach/kprofile.h"
#include "attach/scopebytes.h"
#include "base/host.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "kernel/attachmode.h"
#include "kernel/probe.h"
#include "kernel/release.h"
#include "kernel/sleep.h"
#include "netfgraph.skel.h"
#include "nfg_abi.h"
#include "nfg_progs.h"

/* The programs to use; NULL: not needed. An exit is also NULL if the entry serves both ends. */
struct progs {
	struct bpf_program *entry;
	struct bpf_program *exit;
	struct bpf_program *start_entry;
	struct bpf_program *start_exit;
	struct bpf_program *task_switch;         /* at sched_switch, always ... */
	struct bpf_program *record_switch;       /* ... and after it, with want_switches */
	struct bpf_program *irqs[PROGS_IRQ_CNT]; /* with follows_irqs; none before 5.12 */
	struct bpf_program *point;               /* with has_points */
};

/* outcalls_configure - set the size of the map of calls by function, before it is created. Return: 0 or -errno. */
static int outcalls_configure(const struct bpfobj *obj)
{
	const size_t func_cnt = obj->config.want.func_max;

	return func_cnt ? bpf_map__set_max_entries(obj->skel->maps.out_calls, (uint32_t)func_cnt)
			: 0;
}

static size_t map_bytes(const struct bpfobj *obj)
{
	return bpf_map__max_entries(obj->skel->maps.out_calls) * sizeof(*obj->out_calls);
}

/* outcalls_map - map it after load; bpfobj_release unmaps it. Return: 0 or -errno. */
static int outcalls_map(struct bpfobj *obj)
{
	obj->out_calls = mapmem_share(bpf_map__fd(obj->skel->maps.out_calls), map_bytes(obj));
	return obj->out_calls ? 0 : -errno;
}

static void outcalls_unmap(struct bpfobj *obj)
{
	if (obj->out_calls)
		munmap(obj->out_calls, map_bytes(obj));
	obj->out_calls = NULL;
}

/* Whether @cpu counts calls now, and will until its task leaves it. */
static bool counts(const struct bpfobj *obj, uint32_t cpu)
{
	const uint32_t gate = __atomic_load_n(&obj->skel->data_cpus->cpus[cpu % NFG_CPU_CNT].gate,
					      __ATOMIC_RELAXED);
	const uint32_t by_packet = NFG_GATE_PACKET | NFG_GATE_SELF;

	return (gate && !(gate & NFG_GATE_OPEN)) || (gate & by_packet) == by_packet;
}

static int count(struct bpfobj *obj, bool on)
{
	int err = 0;

	__atomic_store_n(&obj->skel->data->counts_out, on, __ATOMIC_SEQ_CST);
	for (uint32_t cpu = 0; cpu < obj->config.want.cpu_cnt; cpu++) {
		int cpu_err = on || counts(obj, cpu) ? bpfobj_sync_cpu(obj, cpu) : 0;

		err = err ? err : cpu_err;
	}
	return err;
}

int outcalls_sample(struct bpfobj *obj, uint64_t window_ns, struct outcalls *cnts)
{
	const struct timespec window = { .tv_nsec = (long)window_ns };
	struct nfg_guard *guards = obj->skel->data->guards;
	const uint32_t cpu_cnt = obj->config.want.cpu_cnt;
	uint64_t begin_ns;
	int err;

	memset(obj->out_calls, 0, map_bytes(obj));
	for (uint32_t cpu = 0; cpu < cpu_cnt; cpu++) {
		guards[cpu].out_cnt = 0;
		cnts->packet_cnts[cpu] = __atomic_load_n(&guards[cpu].packet_cnt, __ATOMIC_RELAXED);
	}
	begin_ns = host_time_ns();
	err = count(obj, true);
	if (!err)
		nanosleep(&window, NULL);
	cnts->took_ns = host_time_ns() - begin_ns;
	for (uint32_t cpu = 0; cpu < cpu_cnt; cpu++) {
		cnts->cpu_cnts[cpu] = __atomic_load_n(&guards[cpu].out_cnt, __ATOMIC_RELAXED);
		cnts->packet_cnts[cpu] =
			__atomic_load_n(&guards[cpu].packet_cnt, __ATOMIC_RELAXED) -
			cnts->packet_cnts[cpu];
	}
	if (count(obj, false) && !err)
		err = -EIO;
	return err;
}

#define IDS_BYTES     (NFG_SITE_CNT * sizeof(uint16_t))
#define COOKIES_BYTES (NFG_FUNC_CNT * sizeof(uint64_t))

/* sites_configure - call it before @skel is loaded. @has_args: programs read arguments. Return: 0 or -errno. */
static int sites_configure(const struct netfgraph_bpf *skel, bool has_args)
{
	return has_args ? bpf_map__set_max_entries(skel->maps.site_cookies, NFG_FUNC_CNT) : 0;
}

/* sites_open - call it after @skel is loaded. Return: 0 or -errno; call sites_close in both cases. */
static int sites_open(struct sites *sites, const struct netfgraph_bpf *skel, bool has_args)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "nfg_sites", sizeof(__u32), IDS_BYTES, 1, &opts);

	if (fd < 0)
		return fd;
	sites->small_fd = bpf_map__fd(skel->maps.data_sites);
	sites->fd = fd;
	sites->func_ids = mapmem_share(fd, IDS_BYTES);
	if (!sites->func_ids) {
		int err = -errno;

		close(fd);
		return err;
	}
	if (!has_args)
		return 0;
	sites->cookies = mapmem_share(bpf_map__fd(skel->maps.site_cookies), COOKIES_BYTES);
	return sites->cookies ? 0 : -errno;
}

static void sites_close(struct sites *sites)
{
	if (sites->cookies)
		munmap(sites->cookies, COOKIES_BYTES);
	if (sites->func_ids) {
		munmap(sites->func_ids, IDS_BYTES);
		close(sites->fd);
	}
	*sites = (struct sites){ 0 };
}

struct pair {
	struct bpf_program *entry; /* or both ends */
	struct bpf_program *exit;
};

const char *const progs_irq_tracepoints[PROGS_IRQ_CNT] = {
	"softirq_entry",
	"softirq_exit",
	"irq_handler_entry",
	"irq_handler_exit",
};

#define STRING(word) #word,

static const char *const slots[] = { NFG_SLOTS(STRING) };
static const char *const jobs[] = { NFG_JOBS(STRING) };

/* The program "@begin@middle_@end", @middle being "" or begun by "_"; NULL: there is none. The object owns it. */
static struct bpf_program *prog_named(const struct bpfobj *obj, const char *begin,
				      const char *middle, const char *end)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s_%s", begin, middle, end);
	return bpf_object__find_program_by_name(obj->skel->obj, name);
}

static enum nfg_slot bpfobj_slot_of(const struct bpfobj *obj)
{
	if (obj->plan.is_flat)
		return NFG_SLOT_flat;
	return probe_fetching_atomics() ? NFG_SLOT_lookup : NFG_SLOT_nested;
}

static enum nfg_job job_of(const struct bpfobj *obj, const struct attach_way *way)
{
	const struct nfg_cfg *cfg = &obj->config.cfg;

	if (cfg->sum_up)
		return NFG_JOB_sums;
	if (cfg->want_values & ~(uint32_t)(NFG_WANT_STACK | NFG_WANT_USTACK | NFG_WANT_PKT))
		return NFG_JOB_values;
	/* shared programs check packets if packets decide; at kprobes, each end with its own program knows the end */
	if (way->is_shared ? way->is_by_site && !way->has_both_ends : cfg->scope_packets)
		return NFG_JOB_packet;
	return cfg->marks ? NFG_JOB_packet : NFG_JOB_record;
}

static enum nfg_job start_job_of(const struct nfg_cfg *cfg)
{
	if (cfg->sum_up)
		return NFG_JOB_sums_start;
	return cfg->want_values & ~(uint32_t)NFG_WANT_PKT ? NFG_JOB_values_start : NFG_JOB_start;
}

static struct pair pair_of(const struct bpfobj *obj, const struct attach_way *way, enum nfg_job job,
			   enum nfg_slot slot)
{
	const char *suffix = way->suffix ? way->suffix : slots[slot];
	struct pair pair = { 0 };

	if (way->has_both_ends || way->is_by_site) {
		pair.entry = prog_named(obj, jobs[job], "", suffix);
		return pair;
	}
	pair.entry = prog_named(obj, jobs[job], "_entry", suffix);
	pair.exit = prog_named(obj, jobs[job], "_exit", suffix);
	/* jobs without programs for a flat ring */
	if (!pair.entry && slot == NFG_SLOT_flat)
		return pair_of(obj, way, job, NFG_SLOT_lookup);
	return pair;
}

/* Where packets are followed, the entries of start functions look at each packet. */
static struct pair start_pair_of(const struct bpfobj *obj, const struct attach_way *way,
				 enum nfg_slot slot)
{
	struct pair pair = pair_of(obj, way, start_job_of(&obj->config.cfg), slot);

	if (obj->config.cfg.want_values & NFG_WANT_PKT)
		pair.entry = pair_of(obj, way, NFG_JOB_follow, slot).entry;
	return pair;
}

/* The programs that this kernel can load and that cost a call least. Probes the kernel once. */
static struct progs choose_progs(const struct bpfobj *obj, enum attach_mode mode)
{
	static const char *const irqs[] = { "softirq_begins", "softirq_ends", "hardirq_begins",
					    "hardirq_ends" };
	const struct bpfobj_config *config = &obj->config;
	const struct attach_way *way = attach_way(mode);
	const enum nfg_slot slot = bpfobj_slot_of(obj);
	const struct pair call = pair_of(obj, way, job_of(obj, way), slot);
	struct pair start = { 0 };
	struct progs progs;

	if (config->cfg.by_starts)
		start = start_pair_of(obj, way, slot);
	progs = (struct progs){
		.entry = call.entry,
		.exit = call.exit,
		.start_entry = start.entry,
		.start_exit = start.exit,
		.task_switch = prog_named(obj, "task_switch", "", slots[slot]),
	};
	if (config->has_points)
		progs.point = prog_named(obj, "point", "", slots[slot]);
	if (config->want_switches)
		progs.record_switch = prog_named(obj, "record_switch", "", slots[slot]);
	for (uint32_t i = 0; i < PROGS_IRQ_CNT && config->follows_irqs; i++)
		progs.irqs[i] = prog_named(obj, irqs[i], "", slots[slot]);
	return progs;
}

void progs_copies(const struct netfgraph_bpf *skel, enum progs_copied which,
		  struct bpf_program *out[NFG_COPY_CNT])
{
	struct bpf_program *const all[PROGS_COPIED_CNT][NFG_COPY_CNT] = {
#define COPIED(name, section)         \
	[PROGS_COPIED_##name] = {     \
		skel->progs.name##_1, \
		skel->progs.name##_2, \
		skel->progs.name##_3, \
	},
		NFG_COPIED(COPIED)
#undef COPIED
	};

	for (size_t i = 0; i < NFG_COPY_CNT; i++)
		out[i] = all[which][i];
}

/* array_map_alloc_check of 5.10: an element may be KMALLOC_MAX_SIZE at most */
#define ELEMENT_MAX_BYTES (4u << 20)
#define FLAT_MAX_BYTES    (1u << 29) /* the verifier's bound of offsets, BPF_MAX_VAR_OFF */
/* The size of one read from the kernel (bpf_seq_read). */
#define WALK_BYTES (32u << 10)
#define FILES_MIN  100

#define SIZE_TEXT  24

/* @bytes, which are a KiB or more, as an option takes them: 256M. */
static const char *size_text(char out[SIZE_TEXT], uint64_t bytes)
{
	uint64_t number = bytes - bytes % 1024;
	const char unit = parse_suffix(&number, 1024);

	snprintf(out, SIZE_TEXT, "%" PRIu64 "%c", number, unit);
	return out;
}

/* The largest power of two of records that fits in @bytes and in a map. */
static uint32_t rec_cnt_for(const struct bpfobj *obj, uint64_t bytes)
{
	uint64_t most_bytes =
		obj->plan.is_flat ? FLAT_MAX_BYTES / obj->config.want.cpu_cnt : ELEMENT_MAX_BYTES;
	const bool is_cut = bytes > most_bytes;
	uint32_t cnt = NFG_REC_CNT_MIN;
	char asked[SIZE_TEXT];
	char used[SIZE_TEXT];

	if (!is_cut)
		most_bytes = bytes;
	while (cnt * 2ull * sizeof(struct nfg_rec) <= most_bytes)
		cnt *= 2;
	if (is_cut)
		log_warn(
			"--buffer-size: this kernel's maps have no room for %s for each CPU: %s is used",
			size_text(asked, bytes), size_text(used, cnt * sizeof(struct nfg_rec)));
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

void bpfobj_raise_limits(void)
{
	raise_limit(RLIMIT_NOFILE, 1 << 20);
	if (!release_has(RELEASE_CHARGES_MEMCG))
		raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
}

/*
 * Whether fewer descriptors are left than maps and templates need. Checked first, because libbpf reports EMFILE in many
 * ways.
 */
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

/* A program of which template.c loads copies, which are attached elsewhere. */
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

	return cfg->scope_packets || cfg->by_packet || cfg->want_values || cfg->marks || cfg->drops;
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

/* At functions a third copy would cost each packet more than it is worth. */
#define FUNC_COPY_CNT 2

/*
 * Load @cnt copies of a program that the kernel skips while a task is preempted inside it. Before 5.12 it skips none.
 */
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

/* Whether a packet that its socket refuses is checked again where the kernel runs the socket's filter. */
static bool checks_owners(const struct nfg_cfg *cfg, const struct kbtf *kb)
{
	return cfg->scope_packets && kbtf_func_id(kb, "sk_filter_trim_cap");
}

/* The programs that follow cgroups and, if sockets decide, the sockets that packets reach. */
static int configure_cgroups(const struct netfgraph_bpf *skel, const struct nfg_cfg *cfg,
			     const struct kbtf *kb)
{
	int err = configure_copies(skel, PROGS_COPIED_cgroup_made, NFG_COPY_CNT);

	if (!err)
		err = configure_copies(skel, PROGS_COPIED_cgroup_joined, NFG_COPY_CNT);
	if (!err && checks_owners(cfg, kb))
		err = configure_copies(skel, PROGS_COPIED_owner_found, FUNC_COPY_CNT);
	return err;
}

/*
 * The functions that say what becomes of a packet, with the programs that listen there. Without one that is needed,
 * packets would get the numbers of others.
 */
static const struct {
	const char *func;
	enum progs_copied progs;
	bool is_needed;
	bool is_end; /* without it a packet may get the number of one before */
} packet_funcs[] = {
	{ "__copy_skb_header", PROGS_COPIED_skb_copied, .is_needed = true },
	/* many end at both, but those of NAPI and of lists only at the first, and those of UDP's readers only at the second */
	{ "skb_release_head_state", PROGS_COPIED_skb_released, .is_needed = true, .is_end = true },
	{ "kfree_skbmem", PROGS_COPIED_skb_freed, .is_needed = true, .is_end = true },
	{ "napi_skb_free_stolen_head", PROGS_COPIED_skb_stolen, .is_end = true },
	{ "napi_reuse_skb", PROGS_COPIED_skb_reused, .is_end = true },
	{ "ip_copy_metadata", PROGS_COPIED_skb_cut, .is_needed = false },
	{ "ip6_copy_metadata", PROGS_COPIED_skb_cut6, .is_needed = false },
};

/* A function that the compiler has split (".isra.0") has its name in BTF, but the kernel does not find it. */
static bool has_func(const struct kbtf *kb, const struct ksyms *ks, const char *name)
{
	return kbtf_func_id(kb, name) && ksyms_count(ks, name) == 1;
}

bool bpfobj_can_follow(const struct kbtf *kb, const struct ksyms *ks)
{
	for (size_t i = 0; i < sizeof(packet_funcs) / sizeof(packet_funcs[0]); i++) {
		const char *name = packet_funcs[i].func;

		if (has_func(kb, ks, name))
			continue;
		if (packet_funcs[i].is_needed) {
			log_error("--track: this kernel has no function %s that can be traced",
				  name);
			log_hint(
				"without --track, --packet shows a packet as long as its headers match");
			return false;
		}
		if (packet_funcs[i].is_end)
			log_warn(
				"--track: this kernel has no function %s that can be traced: packets may have the numbers of others before them",
				name);
		else
			log_info("--track: this kernel has no function %s that can be traced",
				 name);
	}
	return true;
}

/*
 * From the release of the state on, in the order of the kernel's calls. The destructors are called for packets that go on,
 * too, but then these have their numbers.
 */
static const char *const past_end_funcs[] = {
	"skb_release_head_state",
	"sock_wfree",
	"__sock_wfree",
	"tcp_wfree",
	"sock_rfree",
	"sock_efree",
	"sock_edemux",
	"unix_destruct_scm",
	"skb_release_data",
	"skb_free_head",
	"skb_kfree_head",
	"skb_pp_recycle",
	"napi_skb_cache_put",
	"kfree_skbmem",
	"msg_zerocopy_callback",
	"msg_zerocopy_complete",
	"sock_pfree",
	"sock_ofree",
	"mptcp_rfree",
	"xsk_destruct_skb",
	"tpacket_destruct_skb",
	"netlink_skb_destructor",
};

void bpfobj_follow_configure(struct nfg_cfg *cfg, const struct functab *functab)
{
	const size_t name_cnt = sizeof(past_end_funcs) / sizeof(past_end_funcs[0]);
	size_t cnt = 0;

	_Static_assert(sizeof(past_end_funcs) / sizeof(past_end_funcs[0]) <= NFG_PAST_END_CNT,
		       "each has its place");
	for (size_t i = 0; i < functab->cnt; i++)
		for (size_t k = 0; k < name_cnt && cnt < NFG_PAST_END_CNT; k++)
			if (!functab->funcs[i].prog_id &&
			    !strcmp(functab->funcs[i].name.ptr, past_end_funcs[k]))
				cfg->past_end[cnt++] = (uint32_t)i + 1;
}

/* The programs of --track. Without them the map of packets has no room. */
static int configure_follow(const struct bpfobj *obj)
{
	const struct netfgraph_bpf *skel = obj->skel;
	int err = 0;

	if (!(obj->config.cfg.want_values & NFG_WANT_PKT))
		return 0;
	for (size_t i = 0; i < sizeof(packet_funcs) / sizeof(packet_funcs[0]) && !err; i++) {
		if (has_func(obj->config.kb, obj->config.ks, packet_funcs[i].func))
			err = configure_copies(skel, packet_funcs[i].progs, FUNC_COPY_CNT);
	}
	if (!err)
		err = bpf_program__set_autoload(skel->progs.follow_switch, true);
	if (!err)
		err = bpf_program__set_autoload(skel->progs.follow_softirq_exit, true);
	return err ? err : bpf_map__set_max_entries(skel->maps.followed, NFG_FOLLOWED_CNT);
}

/* The program of sleeps that is not in task_switch, and what it looks up. */
static int configure_sleeps(const struct bpfobj *obj)
{
	const struct netfgraph_bpf *skel = obj->skel;
	int err;

	if (!obj->config.cfg.sleep_point)
		return 0;
	err = bpf_program__set_autoload(skel->progs.sleep_waking, true);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.sleeps, NFG_START_TASK_CNT);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.wakers, NFG_WAKER_CNT);
	if (!attach_is_by_site(obj->plan.mode))
		skel->data->sleep_text = (struct nfg_range){ ksyms_addr(obj->config.ks, "_stext"),
							     ksyms_addr(obj->config.ks, "_etext") };
	return err ? err
		   : sleep_ranges(obj->config.ks, skel->data->sleep_skipped,
				  skel->data->softirq_funcs);
}

/* The programs that follow softirqs, cgroups and namespaces. */
static int configure_scope(const struct bpfobj *obj)
{
	const struct netfgraph_bpf *skel = obj->skel;
	const struct nfg_cfg *cfg = &obj->config.cfg;
	int err = 0;

	if (cfg->comm_glob_cnt || cfg->sum_up || obj->config.begins_at_exec)
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

/* Kernels without cgroups lack this tracepoint. */
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

/* A template, for the kernel may refuse it, as under lockdown=confidentiality: then nobody looks. */
static int configure_fgraph(struct bpfobj *obj)
{
	if (!attach_uses_sites(&obj->plan) || obj->config.want.ids.has_return_hooks)
		return 0;
	return loader_keep(&obj->loader, obj->skel->progs.fgraph_number_due);
}

static void load_fgraph(struct bpfobj *obj)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_SLEEPABLE);
	const struct loader_template tmpl =
		loader_kept(&obj->loader, obj->skel->progs.fgraph_number_due);

	if (!tmpl.insn_cnt)
		return;
	obj->fgraph_fd = bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "fgraph_number", "GPL", tmpl.insns,
				       tmpl.insn_cnt, &opts);
	if (obj->fgraph_fd < 0)
		log_debug("the numbers of function graph's users cannot be read: %s",
			  strerror(-obj->fgraph_fd));
}

static int bpfobj_configure(struct bpfobj *obj, const struct progs *progs)
{
	struct netfgraph_bpf *skel = obj->skel;
	const struct nfg_cfg *cfg = &obj->config.cfg;
	int err = configure_rings(obj);

	skel->rodata->cfg = *cfg;
	skel->rodata->cfg.self_tgid = cfg->pid_ns ? UINT32_MAX : (uint32_t)getpid();
	skel->rodata->cfg.has_casts = obj->config.want.ids.rdonly_cast &&
				      obj->config.want.ids.skb_type &&
				      obj->config.want.ids.sock_type;
	skel->rodata->cfg.checks_owners = checks_owners(cfg, obj->config.kb);
	skel->rodata->cfg.has_active_var =
		attach_is_by_site(obj->plan.mode) && obj->config.want.ids.active_var;
	if (!err && cfg->sum_up)
		err = kprofile_configure(skel, &obj->config.sums);
	if (!err && attach_uses_sites(&obj->plan))
		err = sites_configure(skel, looks_at_args(obj));
	if (!err)
		err = configure_fgraph(obj);
	if (!err)
		err = scopebytes_configure(skel, cfg);
	if (!err)
		err = outcalls_configure(obj);
	if (!err)
		err = configure_scope(obj);
	if (!err)
		err = configure_places(obj);
	if (!err)
		err = configure_follow(obj);
	if (!err)
		err = configure_sleeps(obj);
	if (!err)
		err = configure_templates(obj, progs);
	if (!err && cfg->want_values & NFG_WANT_STACK)
		err = bpf_map__set_max_entries(skel->maps.tree_stacks, NFG_STACKS_CNT);
	if (!err && cfg->want_values & NFG_WANT_USTACK)
		err = bpf_map__set_max_entries(skel->maps.user_stacks, NFG_USTACKS_CNT);
	if (!err && !cfg->by_starts)
		err = bpf_map__set_max_entries(skel->maps.open_starts, 1);
	if (!err)
		err = configure_copied(obj, progs->task_switch);
	if (!err)
		err = configure_copied(obj, progs->record_switch);
	if (!err)
		err = configure_copied(obj, progs->point);
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
		.has_members = obj->config.shown != NULL,
		.ustack = obj->config.ustack,
		.skips_whole_calls = attach_way(obj->plan.mode)->has_both_ends,
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
	obj->point = loader_kept(&obj->loader, progs->point);
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
	if (obj->plan.fallback != ATTACH_AUTO ||
	    (obj->plan.progs == ATTACH_PAIR && attach_is_shared(obj->plan.mode)))
		fallback = choose_progs(obj, ATTACH_PAIR);
	extras = choose_progs(obj, obj->plan.extras);
	err = bpfobj_configure(obj, &progs);
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
	load_fgraph(obj);
	keep_templates(obj, &progs, &fallback, &extras);
	err = map_rings(obj);
	if (!err && attach_uses_sites(&obj->plan))
		err = sites_open(&obj->sites, obj->skel, looks_at_args(obj));
	if (!err)
		err = scopebytes_map(obj);
	if (!err)
		err = outcalls_map(obj);
	if (err)
		log_error("cannot map the event rings: %s", strerror(-err));
	if (err == -ENOMEM)
		policy_explain_memory(NULL, true);
	return err;
}

int bpfobj_load(struct bpfobj *obj, const struct bpfobj_config *config)
{
	int err;

	*obj = (struct bpfobj){ .config = *config, .flat_fd = -1 };
	bpfobj_raise_limits();
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
	outcalls_unmap(obj);
	if (obj->gaps)
		munmap(obj->gaps, obj->config.want.cpu_cnt * sizeof(struct nfg_gaps));
	sites_close(&obj->sites);
	if (obj->flat_fd >= 0)
		close(obj->flat_fd);
	if (obj->fgraph_fd > 0)
		close(obj->fgraph_fd);
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

/* Return: the descriptor of an iterator over all tasks, or -errno. */
static int walk_open(const struct bpfobj *obj)
{
	int link_fd = bpf_link_create(bpf_program__fd(obj->skel->progs.task_found), 0,
				      BPF_TRACE_ITER, NULL);
	int fd = link_fd < 0 ? link_fd : bpf_iter_create(link_fd);

	if (link_fd >= 0)
		close(link_fd);
	return fd;
}

/* Joins records that are split between reads. */
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

/* Runs the program by an interrupt on that CPU (1b4d60ec162f, 5.10); an offline CPU has no task to check. */
int bpfobj_sync_cpu(const struct bpfobj *obj, uint32_t cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (int)cpu);
	int err = bpf_prog_test_run_opts(bpf_program__fd(obj->skel->progs.gate_sync), &opts);

	return err == -ENXIO ? 0 : err;
}

bool bpfobj_is_fgraph_zero_due(const struct bpfobj *obj)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return obj->fgraph_fd > 0 && !bpf_prog_test_run_opts(obj->fgraph_fd, &opts) && !opts.retval;
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

void bpfobj_forget_starts(const struct bpfobj *obj)
{
	const int fd = bpf_map__fd(obj->skel->maps.open_starts);
	uint32_t key;

	if (!obj->config.cfg.by_starts)
		return;
	while (!bpf_map_get_next_key(fd, NULL, &key)) {
		if (bpf_map_delete_elem(fd, &key) && errno != ENOENT)
			return;
	}
}

bool bpfobj_needs_guard(const struct bpfobj *obj)
{
	return obj->skel->data->needs_guard;
}

uint64_t bpfobj_lost(const struct bpfobj *obj, enum bpfobj_loss loss)
{
#define COUNT(id, count) [BPFOBJ_LOST_##id] = &obj->skel->count,
	const __u64 *const counts[] = { BPFOBJ_LOSSES(COUNT) };

	return __atomic_load_n(counts[loss], __ATOMIC_RELAXED);
}

size_t bpfobj_followed_cnt(const struct bpfobj *obj)
{
	const int fd = bpf_map__fd(obj->skel->maps.followed);
	const void *last = NULL;
	size_t cnt = 0;
	uint64_t at;
	uint64_t nr;

	/* one may end meanwhile, and the walk then begins again */
	for (uint32_t i = 0; i < NFG_FOLLOWED_CNT && !bpf_map_get_next_key(fd, last, &at); i++) {
		if (!bpf_map_lookup_elem(fd, &at, &nr) && nr) /* 0: see skb_ended */
			cnt++;
		last = &at;
	}
	return cnt;
}

static uint32_t stack_read(const struct bpf_map *map, uint32_t nr, uint64_t *addrs)
{
	uint32_t cnt = 0;

	memset(addrs, 0, NFG_STACK_FRAMES * sizeof(*addrs));
	if (bpf_map_lookup_elem(bpf_map__fd(map), &nr, addrs))
		return 0;
	while (cnt < NFG_STACK_FRAMES && addrs[cnt])
		cnt++;
	return cnt;
}

uint32_t bpfobj_stack(void *ctx, uint32_t nr, uint64_t *addrs)
{
	const struct bpfobj *obj = ctx;

	return stack_read(obj->skel->maps.tree_stacks, nr, addrs);
}

uint32_t bpfobj_user_stack(void *ctx, uint32_t nr, uint64_t *addrs)
{
	const struct bpfobj *obj = ctx;

	return stack_read(obj->skel->maps.user_stacks, nr, addrs);
}

void *mapmem_share(int map_fd, size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);

	return mem == MAP_FAILED ? NULL : mem;
}
