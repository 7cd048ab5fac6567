#include "bpfobj.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "log.h"
#include "netfgraph.skel.h"
#include "policy.h"

#define BUFFER_TOTAL_BYTES (64u << 20)
#define BUFFER_MIN_BYTES   (64u << 10)
#define BUFFER_MAX_BYTES   (2u << 20)
/* array_map_alloc_check, before 6.12: an element may be KMALLOC_MAX_SIZE at most */
#define ELEMENT_MAX_BYTES (4u << 20)

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	if (log_verbosity() < 2)
		return 0;
	return vfprintf(stderr, fmt, ap);
}

/* Whether BPF_ATOMIC | BPF_FETCH loads: 5.12, commit 5ca419f2864a. */
static bool has_fetching_atomics(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW,
		  .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_0,
		  .off = -8 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
		  .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_0,
		  .off = -8,
		  .imm = BPF_ADD | BPF_FETCH },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "nfg_probe", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), NULL);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* A question of speed alone, nothing can be probed: both bodies work everywhere from 5.12 on. */
static bool has_inlined_cpu_id(void)
{
	unsigned int major = 0;
	unsigned int minor = 0;
	struct utsname uts;

	if (uname(&uts) || sscanf(uts.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 10);
}

static enum bpfobj_body choose_body(void)
{
	if (!has_fetching_atomics())
		return BODY_NESTED;
	return has_inlined_cpu_id() ? BODY_INLINE : BODY_ATOMIC;
}

/* The largest power of two of records that fits @bytes and one map element. */
static uint32_t rec_cnt_for(uint64_t bytes)
{
	uint32_t cnt = 1024;

	while (cnt * 2ull * sizeof(struct nfg_rec) <= bytes &&
	       rings_bytes(cnt * 2) <= ELEMENT_MAX_BYTES)
		cnt *= 2;
	return cnt;
}

static uint64_t buffer_bytes_default(uint32_t cpu_cnt)
{
	uint64_t bytes = BUFFER_TOTAL_BYTES / cpu_cnt;

	if (bytes < BUFFER_MIN_BYTES)
		return BUFFER_MIN_BYTES;
	return bytes > BUFFER_MAX_BYTES ? BUFFER_MAX_BYTES : bytes;
}

/* Four descriptors a function: two programs, two links. */
static void raise_limits(void)
{
	struct rlimit lim = { .rlim_cur = 1 << 20, .rlim_max = 1 << 20 };

	if (!setrlimit(RLIMIT_NOFILE, &lim))
		return;
	if (getrlimit(RLIMIT_NOFILE, &lim))
		return;
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
}

static struct bpf_program *entry_prog(const struct bpfobj *obj)
{
	switch (obj->body) {
	case BODY_NESTED:
		return obj->skel->progs.entry_nested;
	case BODY_ATOMIC:
		return obj->skel->progs.entry_atomic;
	case BODY_INLINE:
		break;
	}
	return obj->skel->progs.entry_inline;
}

static struct bpf_program *exit_prog(const struct bpfobj *obj)
{
	switch (obj->body) {
	case BODY_NESTED:
		return obj->skel->progs.exit_nested;
	case BODY_ATOMIC:
		return obj->skel->progs.exit_atomic;
	case BODY_INLINE:
		break;
	}
	return obj->skel->progs.exit_inline;
}

static int configure(struct bpfobj *obj, const struct bpfobj_config *config)
{
	struct netfgraph_bpf *skel = obj->skel;
	struct bpf_program *entry = entry_prog(obj);
	struct bpf_program *exit = exit_prog(obj);
	uint64_t bytes = config->buffer_bytes;
	int err;

	if (!bytes)
		bytes = buffer_bytes_default(config->cpu_cnt);
	obj->rec_cnt = rec_cnt_for(bytes);
	skel->rodata->cfg.scope_tasks = config->scope_tasks;
	skel->rodata->cfg.skip_hardirq = config->skip_hardirq;
	skel->rodata->cfg.self_tgid = (uint32_t)getpid();
	err = bpf_map__set_value_size(skel->maps.rings, (uint32_t)rings_bytes(obj->rec_cnt));
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.rings, config->cpu_cnt);
	if (!err)
		err = bpf_program__set_attach_target(entry, 0, config->template_func);
	if (!err)
		err = bpf_program__set_attach_target(exit, 0, config->template_func);
	if (!err)
		err = bpf_program__set_autoload(entry, true);
	if (!err)
		err = bpf_program__set_autoload(exit, true);
	bpf_program__set_autoattach(entry, false);
	bpf_program__set_autoattach(exit, false);
	return err;
}

static void take_templates(struct bpfobj *obj)
{
	obj->entry.insns = bpf_program__insns(entry_prog(obj));
	obj->entry.insn_cnt = (uint32_t)bpf_program__insn_cnt(entry_prog(obj));
	obj->exit.insns = bpf_program__insns(exit_prog(obj));
	obj->exit.insn_cnt = (uint32_t)bpf_program__insn_cnt(exit_prog(obj));
}

static int load(struct bpfobj *obj, const struct bpfobj_config *config)
{
	int err;

	obj->cpu_cnt = config->cpu_cnt;
	obj->body = choose_body();
	obj->skel = netfgraph_bpf__open();
	if (!obj->skel)
		return -errno;
	err = configure(obj, config);
	if (err) {
		log_error("cannot configure the BPF object (%d)", err);
		return err;
	}
	err = netfgraph_bpf__load(obj->skel);
	if (err) {
		policy_explain(err);
		return err;
	}
	take_templates(obj);
	err = rings_init(&obj->rings, bpf_map__fd(obj->skel->maps.rings),
			 obj->skel->data_cpus->cpus, config->cpu_cnt, obj->rec_cnt);
	if (err)
		log_error("cannot map the event rings (%d)", err);
	return err;
}

int bpfobj_load(struct bpfobj *obj, const struct bpfobj_config *config)
{
	int err;

	*obj = (struct bpfobj){ 0 };
	libbpf_set_print(print_libbpf);
	raise_limits();
	err = load(obj, config);
	if (err)
		bpfobj_release(obj);
	return err;
}

void bpfobj_release(struct bpfobj *obj)
{
	ring_buffer__free(obj->names);
	rings_release(&obj->rings);
	netfgraph_bpf__destroy(obj->skel);
	*obj = (struct bpfobj){ 0 };
}

static int take_task_rec(void *ctx, void *data, size_t bytes)
{
	const struct bpfobj *obj = ctx;

	if (bytes >= sizeof(struct nfg_task_rec))
		obj->take_name(obj->take_ctx, data);
	return 0;
}

int bpfobj_follow(struct bpfobj *obj, void (*take)(void *ctx, const struct nfg_task_rec *rec),
		  void *ctx)
{
	int err;

	bpf_program__set_autoattach(obj->skel->progs.gate_sync, false);
	obj->take_name = take;
	obj->take_ctx = ctx;
	obj->names =
		ring_buffer__new(bpf_map__fd(obj->skel->maps.task_recs), take_task_rec, obj, NULL);
	if (!obj->names) {
		err = -errno;
		log_error("cannot read the task records (%d)", err);
		return err;
	}
	err = netfgraph_bpf__attach(obj->skel);
	if (err)
		log_error("cannot attach to the scheduler's tracepoints (%d)", err);
	return err;
}

void bpfobj_names(struct bpfobj *obj)
{
	ring_buffer__consume(obj->names);
}

/* Runs on each CPU by an interrupt there (1b4d60ec162f, 5.10); a CPU that is off has none to run. */
static int sync_gates(const struct bpfobj *obj)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU);
	int err;

	for (uint32_t cpu = 0; cpu < obj->cpu_cnt; cpu++) {
		opts.cpu = cpu;
		err = bpf_prog_test_run_opts(bpf_program__fd(obj->skel->progs.gate_sync), &opts);
		if (err && err != -ENXIO)
			return err;
	}
	return 0;
}

int bpfobj_arm(struct bpfobj *obj, bool on)
{
	int err;

	__atomic_store_n(&obj->skel->data->armed, on, __ATOMIC_SEQ_CST);
	err = sync_gates(obj);
	if (err)
		log_error("cannot switch the trace %s (%d)", on ? "on" : "off", err);
	return err;
}

void bpfobj_scope(struct bpfobj *obj, uint32_t tid, uint8_t scope)
{
	__atomic_store_n(&obj->skel->bss->task_scope[tid % NFG_SCOPE_CNT], scope, __ATOMIC_SEQ_CST);
}

uint8_t bpfobj_scope_get(const struct bpfobj *obj, uint32_t tid)
{
	return __atomic_load_n(&obj->skel->bss->task_scope[tid % NFG_SCOPE_CNT], __ATOMIC_SEQ_CST);
}

uint64_t bpfobj_lost_names(const struct bpfobj *obj)
{
	return __atomic_load_n(&obj->skel->data->lost_task_recs, __ATOMIC_RELAXED);
}
