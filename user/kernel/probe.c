#include "kernel/probe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/capability.h>

#include "base/arch.h"
#include "base/host.h"
#include "base/log.h"
#include "base/privdrop.h"
#include "kernel/release.h"
#include "nfg_abi.h"

/* more than array_map_alloc_check of 5.10 allows, and only just: KMALLOC_MAX_SIZE is 4 MiB */
#define LARGE_ELEMENT_BYTES ((4u << 20) + 8)

static bool closes(int fd)
{
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

bool probe_fetching_atomics(void)
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

	return closes(bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "nfg_probe", "GPL", insns,
				    sizeof(insns) / sizeof(insns[0]), NULL));
}

/* Probed only once, because the kernel clears the memory it allocates. */
bool probe_large_elements(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	static enum { NOT_ASKED, YES, NO } answer;

	if (answer == NOT_ASKED)
		answer = closes(bpf_map_create(BPF_MAP_TYPE_ARRAY, "nfg_probe", 4,
					       LARGE_ELEMENT_BYTES, 1, &opts))
				 ? YES
				 : NO;
	return answer == YES;
}

bool probe_bounded_cpu_id(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_smp_processor_id },
		{ .code = BPF_JMP | BPF_JGT | BPF_K,
		  .dst_reg = BPF_REG_0,
		  .off = 2,
		  .imm = NFG_CPU_CNT - 1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
		/* r9 is uninitialized: the verifier accepts this only if it proves the code unreachable */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_9 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return closes(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nfg_probe", "GPL", insns,
				    sizeof(insns) / sizeof(insns[0]), NULL));
}

/* Load an empty program. Return: its descriptor, which the caller closes, or -errno. */
static int load_as(enum bpf_prog_type type, uint32_t attach_type, uint32_t btf_id)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)attach_type,
		    .attach_btf_id = btf_id);

	return bpf_prog_load(type, "nfg_probe", "GPL", insns, 2, &opts);
}

bool probe_tracing_is_refused(uint32_t btf_id)
{
	int fd = load_as(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, btf_id);

	return !closes(fd) && fd == -EPERM;
}

bool probe_trampolines(uint32_t btf_id)
{
	int fd = load_as(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, btf_id);
	int link_fd;

	if (fd < 0)
		return true;
	link_fd = bpf_raw_tracepoint_open(NULL, fd);
	close(fd);
	return closes(link_fd) || link_fd != -ENOTSUPP_KERNEL;
}

/* The part of union bpf_attr that link_create uses. */
struct link_request {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	union {
		struct {
			uint32_t flags;
			uint32_t cnt;
			uint64_t syms;
			uint64_t addrs;
			uint64_t cookies;
		} kprobe;
		uint64_t multi[4]; /* ids, cookies, count */
	};
};

/* Ask for a link that cannot exist. Return: the error, negative; 0: the program does not load. */
static int try_link(enum bpf_prog_type type, struct link_request *request)
{
	int prog_fd = load_as(type, request->attach_type, 0);
	int err;

	if (prog_fd < 0)
		return 0;
	request->prog_fd = (uint32_t)prog_fd;
	err = closes((int)syscall(SYS_bpf, BPF_LINK_CREATE, request, sizeof(*request))) ? 0
											: -errno;
	close(prog_fd);
	return err;
}

/* Ask for a link without functions: as of 7.2, other architectures than x86-64 load the programs and return EOPNOTSUPP. */
static bool reads_ids(uint32_t attach_type)
{
	struct link_request request = {
		.attach_type = attach_type,
		.multi = { UINT32_MAX },
	};

	return try_link(BPF_PROG_TYPE_TRACING, &request) == -EINVAL;
}

/* Ask for a link with an unreadable address list: a kernel that does not know the attach type does not read it. */
static bool reads_addresses(uint32_t attach_type)
{
	struct link_request request = {
		.attach_type = attach_type,
		.kprobe = { .cnt = 1, .addrs = 1 },
	};

	return try_link(BPF_PROG_TYPE_KPROBE, &request) == -EFAULT;
}

bool probe_attach(enum attach_mode mode, uint32_t btf_id)
{
	const struct attach_way *way = attach_way(mode);

	if (way->is_by_site)
		return reads_addresses(way->entry_type);
	if (way->is_shared)
		return reads_ids(way->entry_type);
	return btf_id && closes(load_as(BPF_PROG_TYPE_TRACING, way->entry_type, btf_id));
}

/* ---- what policies refuse ---- */

static bool probe_line_read(const char *path, char *buf, size_t size)
{
	FILE *file = fopen(path, "re");
	bool is_read;

	if (!file)
		return false;
	is_read = fgets(buf, (int)size, file);
	fclose(file);
	if (is_read)
		buf[strcspn(buf, "\n")] = '\0';
	return is_read;
}

bool policy_missing_caps(char *names, size_t size)
{
	static const struct {
		int cap;
		const char *name;
	} wanted[] = {
		{ CAP_BPF, "CAP_BPF" },
		{ CAP_PERFMON, "CAP_PERFMON" },
		{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
		{ CAP_SYSLOG, "CAP_SYSLOG" },
		{ CAP_SYS_RAWIO, "CAP_SYS_RAWIO" },
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	};
	size_t len = 0;

	names[0] = '\0';
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && len < size; i++) {
		if (!privdrop_has(wanted[i].cap))
			len += (size_t)snprintf(names + len, size - len, " %s", wanted[i].name);
	}
	return len;
}

bool policy_unprivileged_bpf(char *setting, size_t size)
{
	if (probe_line_read("/proc/sys/kernel/unprivileged_bpf_disabled", setting, size))
		return !strcmp(setting, "0");
	snprintf(setting, size, "not readable");
	return false;
}

/* Parse "none [integrity] confidentiality": the word in brackets. False if off or unknown. */
bool policy_lockdown(char *mode, size_t size)
{
	char line[128];
	char *end;
	char *start;

	if (!probe_line_read("/sys/kernel/security/lockdown", line, sizeof(line)))
		return false;
	start = strchr(line, '[');
	end = start ? strchr(start, ']') : NULL;
	if (!end)
		return false;
	*end = '\0';
	snprintf(mode, size, "%s", start + 1);
	return strcmp(mode, "none") != 0;
}

static bool is_setting(const char *path, const char *value)
{
	char setting[16];

	return probe_line_read(path, setting, sizeof(setting)) && !strcmp(setting, value);
}

bool policy_bpf_stats_are_on(void)
{
	return is_setting("/proc/sys/kernel/bpf_stats_enabled", "1");
}

bool policy_ftrace_is_off(void)
{
	return is_setting("/proc/sys/kernel/ftrace_enabled", "0");
}

bool policy_refuses_ftrace(void)
{
	if (!policy_ftrace_is_off())
		return false;
	log_error(
		"kernel.ftrace_enabled is 0: the kernel would attach the programs and never call them");
	log_hint("sysctl kernel.ftrace_enabled=1 enables it");
	return true;
}

static void explain_missing_btf(void)
{
	log_error("this kernel has no type information (BTF): /sys/kernel/btf/vmlinux is missing");
	log_hint(
		"boot a kernel built with CONFIG_DEBUG_INFO_BTF=y; distribution kernels since 2021 are");
}

bool policy_is_confidential(void)
{
	char mode[64];

	return policy_lockdown(mode, sizeof(mode)) && !strcmp(mode, "confidentiality");
}

/* ---- why something is unavailable ---- */

/* Checks the conditions of kallsyms_show_value(). */
void policy_hidden_addresses(char *why, size_t size)
{
	char level[16] = "?";

	probe_line_read("/proc/sys/kernel/kptr_restrict", level, sizeof(level));
	if (strcmp(level, "0") && strcmp(level, "1"))
		snprintf(why, size, "kernel.kptr_restrict is %s", level);
	else if (!privdrop_has(CAP_SYSLOG))
		snprintf(why, size, "CAP_SYSLOG is missing");
	else
		snprintf(why, size, "the kernel hides them");
}

/* Checks the conditions of open_kcore(), in its order: the mode of the file, then CAP_SYS_RAWIO, then lockdown. */
void policy_hidden_text(char *why, size_t size, int err)
{
	if (err == -EACCES && !privdrop_has(CAP_DAC_READ_SEARCH))
		snprintf(why, size, "/proc/kcore: CAP_DAC_READ_SEARCH is missing");
	else if (err == -EPERM && !privdrop_has(CAP_SYS_RAWIO))
		snprintf(why, size, "/proc/kcore: CAP_SYS_RAWIO is missing");
	else if (err == -EPERM && policy_is_confidential())
		snprintf(why, size, "/proc/kcore: lockdown is in confidentiality mode");
	else
		snprintf(why, size, "/proc/kcore: %s", strerror(-err));
}

bool policy_hides_modules(void)
{
	return !privdrop_has(CAP_SYS_ADMIN);
}

bool policy_hides_processes(void)
{
	return !privdrop_has(CAP_SYS_PTRACE);
}

/* Up to 5.10 maps count against RLIMIT_MEMLOCK, which libbpf raises if permitted. */
bool policy_lacks_memlock(uint64_t *limit_kib)
{
	struct rlimit lim;

	if (release_has(RELEASE_CHARGES_MEMCG) || getrlimit(RLIMIT_MEMLOCK, &lim) ||
	    lim.rlim_cur == RLIM_INFINITY)
		return false;
	*limit_kib = lim.rlim_cur >> 10;
	return !privdrop_has(CAP_SYS_RESOURCE);
}

/* ---- why programs do not load ---- */

/* The missing capability, or both; "": none. CAP_SYS_ADMIN includes both. */
static const char *lacking_caps(void)
{
	bool has_bpf = privdrop_has(CAP_BPF);
	bool has_perfmon = privdrop_has(CAP_PERFMON);

	if (privdrop_has(CAP_SYS_ADMIN) || (has_bpf && has_perfmon))
		return "";
	if (has_bpf)
		return "CAP_PERFMON is";
	return has_perfmon ? "CAP_BPF is" : "CAP_BPF and CAP_PERFMON are";
}

/* BPF ignores capabilities held in a user namespace. */
static bool is_in_user_namespace(void)
{
	unsigned long long inside = 0, outside = 0, cnt = 0;
	char line[64];

	return probe_line_read("/proc/self/uid_map", line, sizeof(line)) &&
	       sscanf(line, "%llu %llu %llu", &inside, &outside, &cnt) == 3 &&
	       (inside || outside || cnt != UINT32_MAX);
}

static void explain_caps(const char *lacking)
{
	log_error("the kernel refuses tracing programs: %s missing", lacking);
	log_hint(
		"run it with sudo, or: setcap cap_bpf,cap_perfmon%s+ep netfgraph; further capabilities add features: see PRIVILEGES in the manual",
		release_has(RELEASE_CHARGES_MEMCG) ? "" : ",cap_sys_resource");
}

/* Up to 5.10 maps and programs count as locked memory of the user. */
static bool explain_memlock(void)
{
	uint64_t limit_kib;

	if (!policy_lacks_memlock(&limit_kib))
		return false;
	log_error(
		"the tracing programs and their maps do not fit into the locked memory allowed here, %" PRIu64
		" KiB (RLIMIT_MEMLOCK)",
		limit_kib);
	log_hint(
		"raise it (ulimit -l unlimited) or grant CAP_SYS_RESOURCE; Linux 5.11 and newer have no such limit");
	return true;
}

static void explain_files(void)
{
	struct rlimit lim = { 0 };

	getrlimit(RLIMIT_NOFILE, &lim);
	log_error("at most %llu files may be open at once (RLIMIT_NOFILE)",
		  (unsigned long long)lim.rlim_cur);
	log_hint(
		"each function takes up to four: trace fewer (--max-funcs), raise it (ulimit -Hn) or grant CAP_SYS_RESOURCE");
}

void policy_explain_memory(const struct host_memory *then, bool rings_help)
{
	struct host_memory memory;

	if (then)
		memory = *then;
	else
		host_memory_left("/proc", "/sys/fs/cgroup", &memory);
	if (memory.limit_bytes)
		log_hint(
			"memory.max of the cgroup %s allows %" PRIu64 " MiB, of which %" PRIu64
			" are left: raise it, %srun netfgraph in another cgroup (systemd-run --scope)%s",
			memory.cgroup, memory.limit_bytes >> 20, memory.left_bytes >> 20,
			rings_help ? "" : "or ",
			rings_help ? ", or make rings smaller (--buffer-size)" : "");
	else
		log_hint(
			"'netfgraph list --plan' shows how much a trace needs; smaller rings (--buffer-size) and fewer functions need less");
}

static void explain_refusal(void)
{
	const char *lacking = lacking_caps();
	char mode[64];

	if (*lacking) {
		explain_caps(lacking);
		return;
	}
	if (is_in_user_namespace()) {
		log_error(
			"the kernel refuses tracing programs: capabilities of a user namespace do not count");
		log_hint("run it outside the container");
		return;
	}
	if (explain_memlock())
		return;
	if (policy_lockdown(mode, sizeof(mode)))
		log_error("the kernel refuses tracing programs: lockdown is in %s mode", mode);
	else
		log_error(
			"the kernel refuses tracing programs despite CAP_BPF and CAP_PERFMON: a security policy (an LSM, seccomp) denies bpf()");
	log_hint(
		"see the kernel log and /sys/kernel/security/lsm; `make demo` shows the trace in a virtual machine");
}

void policy_explain(int err)
{
	const char *since = arch_host()->trampolines_since;
	struct utsname uts;

	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		explain_missing_btf();
	} else if (err == -EPERM) {
		explain_refusal();
	} else if (err == -EMFILE) {
		explain_files();
	} else if (err == -ENOMEM) {
		log_error("the kernel has no memory for the tracing programs");
		policy_explain_memory(NULL, true);
	} else if (policy_is_confidential()) {
		log_error(
			"the kernel refuses these programs: lockdown is in confidentiality mode, and they read kernel memory");
		log_hint(
			"tracing works without: --graph-opts args, retval, retaddr and packet, --packet, --filter, --errors-only, --cgroup, --container, --pod and --netns; only another boot setting lifts lockdown");
	} else {
		uname(&uts);
		log_error("kernel %s does not load the tracing programs: %s", uts.release,
			  strerror(-err));
		log_hint(
			"fentry and fexit need %s; -vv shows the verifier's log; EACCES without a verifier log comes from a security module",
			since ? since : "Linux 5.10 or newer");
	}
}

/* ---- PREEMPT_RT ---- */

bool rt_is_kernel(void)
{
	struct utsname uts;
	FILE *file;
	int c;

	if (!uname(&uts) && strstr(uts.version, "PREEMPT_RT"))
		return true;
	file = fopen("/sys/kernel/realtime", "re");
	if (!file)
		return false;
	c = getc(file);
	fclose(file);
	return c == '1';
}

bool rt_has_sleeping_ringbuf(const struct kbtf *kb)
{
	const char *type = kbtf_member_type(kb, "bpf_ringbuf", "spinlock");

	return type && !strcmp(type, "spinlock_t");
}

const char *rt_obstacle(const struct rt_facts *facts, const char **hint)
{
	if (!facts->is_rt)
		return NULL;
	if (!facts->has_fetching_atomics) {
		*hint = "Linux 5.12 and newer keep these events apart";
		return "this kernel has PREEMPT_RT: tasks that preempt each other would overwrite "
		       "each other's events";
	}
	if (facts->has_sleeping_ringbuf) {
		*hint = "Linux 6.1.115, 6.6.59, 6.11.6, 6.12 and newer have another lock";
		return "this kernel has PREEMPT_RT, and its BPF ring buffers take a lock that sleeps "
		       "where programs must not";
	}
	if (facts->has_packets) {
		*hint = "-p PID, --comm or a command select tasks";
		return "--cgroup, --container, --pod and --netns: this kernel has PREEMPT_RT, where softirqs are "
		       "preempted, so the owner of their packet is unknown";
	}
	return NULL;
}
