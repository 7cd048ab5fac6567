#include "session/check.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/bpfobj.h"
#include "attach/attach_plan.h"
#include "base/arch.h"
#include "base/output.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"
#include "kernel/probe.h"
#include "options/opts.h"
#include "scope/cgroup.h"
#include "session/verbs.h"

#define PROBE_FUNC    "tcp_v4_rcv"
#define FEATURE_WIDTH 22

static const char *const features[CHECK_ROW_CNT] = {
	[CHECK_BTF] = "BTF",
	[CHECK_MODULE_BTF] = "module BTF",
	[CHECK_MAP_MEMORY] = "map memory",
	[CHECK_FENTRY] = "fentry",
	[CHECK_FEXIT] = "fexit",
	[CHECK_FETCHING_ATOMICS] = "fetching atomics",
	[CHECK_LARGE_ELEMENTS] = "large map elements",
	[CHECK_RECURSION_COUNTERS] = "recursion counters",
	[CHECK_PREEMPT_COUNT] = "per-CPU preempt count",
	[CHECK_NO_PREEMPTION] = "unpreempted programs",
	[CHECK_MEMORY_READS] = "kernel memory reads",
	[CHECK_ADDRESSES] = "kallsyms addresses",
	[CHECK_TEXT] = "kernel text",
	[CHECK_CGROUP2] = "cgroup v2",
	[CHECK_NAMESPACES] = "others' namespaces",
	[CHECK_NO_LOCKDOWN] = "no lockdown",
	[CHECK_UNPRIVILEGED_BPF] = "unprivileged BPF",
	[CHECK_CAPABILITIES] = "capabilities",
};

static struct check_row *way_row(struct check_row *rows, enum attach_mode way)
{
	return &rows[CHECK_ATTACH + way - ATTACH_WAY_FIRST];
}

static void yes(struct check_row *row)
{
	row->available = true;
	row->reason[0] = '\0';
}

__attribute__((format(printf, 2, 3))) static void no(struct check_row *row, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(row->reason, sizeof(row->reason), fmt, ap);
	va_end(ap);
	row->available = false;
}

/* ---- types ---- */

static void btf_check(struct check_row *rows, const struct kbtf *kb, int err)
{
	const struct dirent *entry;
	bool has_module = false;
	uint32_t offset;
	DIR *dir;

	if (kb)
		yes(&rows[CHECK_BTF]);
	else
		no(&rows[CHECK_BTF], "/sys/kernel/btf/vmlinux: %s", strerror(-err));
	dir = opendir("/sys/kernel/btf");
	while (dir && (entry = readdir(dir)))
		has_module |= entry->d_name[0] != '.' && strcmp(entry->d_name, "vmlinux") != 0;
	if (dir)
		closedir(dir);
	if (!has_module)
		no(&rows[CHECK_MODULE_BTF], "no module loaded has it (Linux 5.11 or newer)");
	else if (policy_hides_modules())
		no(&rows[CHECK_MODULE_BTF], "CAP_SYS_ADMIN is missing");
	else
		yes(&rows[CHECK_MODULE_BTF]);
	if (kb && (arch_host()->has_task_preempt_cnt || kbtf_preempt_var(kb, &offset)))
		yes(&rows[CHECK_PREEMPT_COUNT]);
	else
		no(&rows[CHECK_PREEMPT_COUNT], "not in BTF; found by its address instead");
}

/* ---- programs ---- */

/* Return: the program's descriptor or -errno. */
static int prog_load(enum bpf_attach_type type, uint32_t btf_id)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type,
		    .attach_btf_id = btf_id);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "nfg_check", "GPL", insns, 2, &opts);

	return fd < 0 ? -errno : fd;
}

static void load_check(struct check_row *row, enum bpf_attach_type type, uint32_t btf_id)
{
	int fd = btf_id ? prog_load(type, btf_id) : -ENOENT;

	if (fd >= 0) {
		close(fd);
		yes(row);
	} else if (!btf_id) {
		no(row, "no BTF");
	} else {
		no(row, "the kernel refuses to load it: %s", strerror(-fd));
	}
}

/* Try a map of one CPU's default --buffer-size: it exceeds the old default of RLIMIT_MEMLOCK. */
static void map_check(struct check_row *row)
{
	const uint32_t bytes = rings_bytes_default(1, 0);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "nfg_check", 4, bytes, 1, NULL);
	uint64_t limit_kib;
	int err = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	if (!err)
		yes(row);
	else if (policy_lacks_memlock(&limit_kib))
		no(row, "RLIMIT_MEMLOCK is %" PRIu64 " KiB and CAP_SYS_RESOURCE is missing",
		   limit_kib);
	else
		no(row, "the kernel refuses a map of %u KiB: %s", bytes >> 10, strerror(err));
}

/* Values and the owners of packets need bpf_probe_read_kernel(). */
static void reads_check(struct check_row *row, bool can_ask)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "nfg_check", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), NULL);
	int err = fd < 0 ? errno : 0;
	char mode[64];

	if (fd >= 0)
		close(fd);
	if (!err)
		yes(row);
	else if (can_ask && policy_lockdown(mode, sizeof(mode)))
		no(row, "lockdown is in %s mode", mode);
	else
		no(row, "the kernel refuses to load it: %s", strerror(err));
}

/* The kernel fills in as much of the structure as it knows. */
static bool has_recursion_counters(uint32_t btf_id)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int fd = btf_id ? prog_load(BPF_TRACE_FENTRY, btf_id) : -ENOENT;
	int err;

	if (fd < 0)
		return false;
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	close(fd);
	return !err && len >= offsetof(struct bpf_prog_info, recursion_misses) +
				       sizeof(info.recursion_misses);
}

static void feature_check(struct check_row *row, bool has, bool can_ask, const char *since)
{
	if (has)
		yes(row);
	else if (can_ask)
		no(row, "needs %s", since);
	else
		no(row, "unknown without permission to load programs");
}

/* A kernel may load programs for functions and still be unable to attach them. */
static void trampolines_check(struct check_row *rows, bool can_ask, uint32_t btf_id)
{
	const char *since = arch_host()->trampolines_since;

	if (!can_ask || !since || probe_trampolines(btf_id))
		return;
	no(&rows[CHECK_FENTRY], "not attached by this kernel: needs %s", since);
	no(&rows[CHECK_FEXIT], "not attached by this kernel: needs %s", since);
}

static void progs_check(struct check_row *rows, uint32_t btf_id)
{
	bool can_ask;

	map_check(&rows[CHECK_MAP_MEMORY]);
	load_check(&rows[CHECK_FENTRY], BPF_TRACE_FENTRY, btf_id);
	load_check(&rows[CHECK_FEXIT], BPF_TRACE_FEXIT, btf_id);
	can_ask = rows[CHECK_FENTRY].available;
	trampolines_check(rows, can_ask, btf_id);
	reads_check(&rows[CHECK_MEMORY_READS], can_ask);
	for (enum attach_mode way = ATTACH_WAY_FIRST; way < ATTACH_PAIR; way++)
		feature_check(way_row(rows, way), probe_attach(way, btf_id), can_ask,
			      attach_way(way)->since);
	feature_check(&rows[CHECK_FETCHING_ATOMICS], probe_fetching_atomics(), can_ask,
		      "Linux 5.12");
	feature_check(&rows[CHECK_LARGE_ELEMENTS], probe_large_elements(), can_ask,
		      "a newer kernel than 5.10");
	feature_check(&rows[CHECK_RECURSION_COUNTERS], has_recursion_counters(btf_id), can_ask,
		      "Linux 5.12");
}

/* ---- symbols and text ---- */

static void text_check(struct check_row *row, uint64_t addr)
{
	struct ktext *text;
	char why[96];
	char byte;
	int err = ktext_new(&text, KTEXT_RUNNING);

	if (err) {
		policy_hidden_text(why, sizeof(why), err);
		no(row, "%s", why);
		return;
	}
	err = addr ? ktext_read(text, addr, &byte, 1) : 0;
	if (err)
		no(row, "/proc/kcore: %s", strerror(-err));
	else if (!addr)
		no(row, "addresses are hidden");
	else
		yes(row);
	ktext_free(text);
}

/* Whether fentry and fexit see all calls, and what a trace does where they do not. */
static void preemption_check(struct check_row *row, enum preemption preemption, bool has_session)
{
	if (preemption == PREEMPTION_OFF)
		yes(row);
	else if (preemption == PREEMPTION_UNKNOWN)
		no(row, "cannot tell whether tasks are preempted inside fentry programs");
	else if (has_session)
		no(row,
		   "tasks are preempted inside fentry programs: kprobe.session is the default");
	else
		no(row, "tasks are preempted inside fentry programs: calls may be missed");
}

/* A kernel may crash when programs are attached, although it loads them. */
static void fault_check(struct check_row *rows, const struct kbtf *kb, const struct ksyms *ks)
{
	const struct kernel_ids ids = kernel_ids_find(kb);
	const struct kernel_fault *fault = attach_plan_fault(ks, &ids);

	if (!fault)
		return;
	no(&rows[CHECK_FENTRY], "%s", fault->what);
	no(&rows[CHECK_FEXIT], "%s", fault->what);
}

static void symbols_check(struct check_row *rows, const struct kbtf *kb)
{
	enum preemption preemption = PREEMPTION_UNKNOWN;
	struct ksyms *ks;
	uint64_t addr = 0;
	char why[64];
	int err = ksyms_new(&ks, NULL);

	if (!err) {
		addr = ksyms_addr(ks, PROBE_FUNC);
		if (kb) {
			preemption = preemption_of(kb, ks);
			fault_check(rows, kb, ks);
		}
		ksyms_free(ks);
	}
	preemption_check(&rows[CHECK_NO_PREEMPTION], preemption,
			 way_row(rows, ATTACH_KPROBE)->available);
	if (addr)
		yes(&rows[CHECK_ADDRESSES]);
	else if (err)
		no(&rows[CHECK_ADDRESSES], "/proc/kallsyms: %s", strerror(-err));
	else {
		policy_hidden_addresses(why, sizeof(why));
		no(&rows[CHECK_ADDRESSES], "hidden: %s", why);
	}
	text_check(&rows[CHECK_TEXT], addr);
}

/* ---- policy ---- */

static void cgroup_check(struct check_row *row)
{
	struct cgroup_host host;

	if (cgroup_host_find(&host, "/proc", NULL))
		no(row, "%s", host.lack ? host.lack : "cannot be found in /proc/self/mountinfo");
	else
		yes(row);
}

static void namespaces_check(struct check_row *row)
{
	char link[64];

	/* 5.10 gives an empty link */
	if (readlink("/proc/1/ns/net", link, sizeof(link)) > 0)
		yes(row);
	else if (policy_hides_processes())
		no(row, "CAP_SYS_PTRACE is missing");
	else
		no(row, "/proc/1/ns/net: %s", strerror(errno));
}

static void policy_check(struct check_row *rows)
{
	char text[112];

	if (policy_lockdown(text, sizeof(text)))
		no(&rows[CHECK_NO_LOCKDOWN], "%s mode", text);
	else
		yes(&rows[CHECK_NO_LOCKDOWN]);
	if (policy_unprivileged_bpf(text, sizeof(text)))
		yes(&rows[CHECK_UNPRIVILEGED_BPF]);
	else
		no(&rows[CHECK_UNPRIVILEGED_BPF], "kernel.unprivileged_bpf_disabled is %s", text);
	if (policy_missing_caps(text, sizeof(text)))
		no(&rows[CHECK_CAPABILITIES], "missing:%s", text);
	else
		yes(&rows[CHECK_CAPABILITIES]);
}

/* Whether nothing can be traced without this feature. */
static bool is_needed(size_t row)
{
	return row == CHECK_BTF || row == CHECK_MAP_MEMORY || row == CHECK_FENTRY ||
	       row == CHECK_FEXIT;
}

void check_fill(struct check_row rows[CHECK_ROW_CNT])
{
	struct kbtf *kb = NULL;
	int err = kbtf_new(&kb);

	for (size_t i = 0; i < CHECK_ROW_CNT; i++)
		rows[i] = (struct check_row){ .feature = features[i], .needed = is_needed(i) };
	for (enum attach_mode way = ATTACH_WAY_FIRST; way < ATTACH_PAIR; way++)
		way_row(rows, way)->feature = attach_way(way)->feature;
	btf_check(rows, err ? NULL : kb, err);
	progs_check(rows, err ? 0 : kbtf_func_id(kb, PROBE_FUNC));
	symbols_check(rows, err ? NULL : kb);
	cgroup_check(&rows[CHECK_CGROUP2]);
	namespaces_check(&rows[CHECK_NAMESPACES]);
	policy_check(rows);
	if (!err)
		kbtf_free(kb);
}

bool check_is_possible(const struct check_row rows[CHECK_ROW_CNT])
{
	for (size_t i = 0; i < CHECK_ROW_CNT; i++) {
		if (rows[i].needed && !rows[i].available)
			return false;
	}
	return true;
}

/* ---- the table ---- */

static void put_verdict(struct strbuf *out, const void *row)
{
	strbuf_str(out, ((const struct check_row *)row)->available ? "yes" : "no");
}

static const struct column columns[] = {
	{ "host", .cell = CELL_HOST, .is_extra = true },
	{ "feature", "", COLUMN_AT(struct check_row, feature), -FEATURE_WIDTH },
	{ "available", "", COLUMN_AT(struct check_row, available), -3, .put = put_verdict },
	{ "needed", COLUMN_AT(struct check_row, needed), .is_extra = true },
	{ "reason", "", COLUMN_AT(struct check_row, reason) },
};

static const struct table table = TABLE("check", columns);

void check_put(struct tablew *w, const struct check_row *rows, size_t cnt)
{
	tablew_head(w, &table);
	for (size_t i = 0; i < cnt; i++)
		tablew_row(w, &table, &rows[i]);
	tablew_end(w);
}

/* The verdicts. */
static bool find_verdict(struct text line, size_t i, struct color_span *span)
{
	const size_t at = FEATURE_WIDTH + 2;
	const bool has_it = line.len > at && line.ptr[at] == 'y';

	*span = (struct color_span){ at, has_it ? 3 : 2,
				     has_it         ? COLOR_GREEN
				     : is_needed(i) ? COLOR_RED
						    : COLOR_YELLOW };
	return line.len > at + 2;
}

enum verdict verbs_check(const struct opts *opts)
{
	struct check_row rows[CHECK_ROW_CNT];
	struct strbuf out = { 0 };
	char host[HOST_MAX];
	struct tablew w = wants_table(opts, host, &out);
	int err;

	check_fill(rows);
	check_put(&w, rows, CHECK_ROW_CNT);
	err = output_page(&out, w.form == TABLE_TEXT ? find_verdict : NULL);
	return !err && check_is_possible(rows) ? VERDICT_OK : VERDICT_FAILED;
}
