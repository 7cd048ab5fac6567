#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "cgroup.h"
#include "kbtf.h"
#include "ksyms.h"
#include "ktext.h"
#include "policy.h"
#include "probe.h"

#define PROBE_FUNC    "tcp_v4_rcv"
#define FEATURE_WIDTH 22

static const char *const features[CHECK_ROW_CNT] = {
	[CHECK_BTF] = "BTF",
	[CHECK_MODULE_BTF] = "module BTF",
	[CHECK_FENTRY] = "fentry",
	[CHECK_FEXIT] = "fexit",
	[CHECK_FSESSION] = "fsession",
	[CHECK_TRACING_MULTI] = "tracing_multi",
	[CHECK_FETCHING_ATOMICS] = "fetching atomics",
	[CHECK_LARGE_ELEMENTS] = "large map elements",
	[CHECK_RECURSION_COUNTERS] = "recursion counters",
	[CHECK_PREEMPT_COUNT] = "per-CPU preempt count",
	[CHECK_ADDRESSES] = "kallsyms addresses",
	[CHECK_TEXT] = "kernel text",
	[CHECK_CGROUP2] = "cgroup v2",
	[CHECK_NO_LOCKDOWN] = "no lockdown",
	[CHECK_UNPRIVILEGED_BPF] = "unprivileged BPF",
	[CHECK_CAPABILITIES] = "capabilities",
};

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
	if (has_module)
		yes(&rows[CHECK_MODULE_BTF]);
	else
		no(&rows[CHECK_MODULE_BTF], "no module loaded has it (Linux 5.11 or newer)");
	if (kb && (kbtf_has_var(kb, "__preempt_count") || kbtf_has_var(kb, "pcpu_hot")))
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
		no(row, "cannot be asked without permission to load programs");
}

static void progs_check(struct check_row *rows, uint32_t btf_id)
{
	bool can_ask;

	load_check(&rows[CHECK_FENTRY], BPF_TRACE_FENTRY, btf_id);
	load_check(&rows[CHECK_FEXIT], BPF_TRACE_FEXIT, btf_id);
	can_ask = rows[CHECK_FENTRY].available;
	feature_check(&rows[CHECK_FSESSION], btf_id && probe_session(btf_id), can_ask, "Linux 7.0");
	feature_check(&rows[CHECK_TRACING_MULTI], probe_multi(), can_ask, "Linux 7.2 on x86-64");
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
	char byte;
	int err = ktext_new(&text);

	if (err) {
		no(row, "/proc/kcore: %s", strerror(-err));
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

static void symbols_check(struct check_row *rows)
{
	struct ksyms *ks;
	uint64_t addr = 0;
	int err = ksyms_new(&ks);

	if (!err) {
		addr = ksyms_addr(ks, PROBE_FUNC);
		ksyms_free(ks);
	}
	if (addr)
		yes(&rows[CHECK_ADDRESSES]);
	else if (err)
		no(&rows[CHECK_ADDRESSES], "/proc/kallsyms: %s", strerror(-err));
	else
		no(&rows[CHECK_ADDRESSES], "hidden (kernel.kptr_restrict, CAP_SYSLOG)");
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

static void policy_check(struct check_row *rows)
{
	char text[96];

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

void check_fill(struct check_row rows[CHECK_ROW_CNT])
{
	struct kbtf *kb = NULL;
	int err = kbtf_new(&kb);

	for (size_t i = 0; i < CHECK_ROW_CNT; i++)
		rows[i] = (struct check_row){ .feature = features[i] };
	btf_check(rows, err ? NULL : kb, err);
	progs_check(rows, err ? 0 : kbtf_func_id(kb, PROBE_FUNC));
	symbols_check(rows);
	cgroup_check(&rows[CHECK_CGROUP2]);
	policy_check(rows);
	if (!err)
		kbtf_free(kb);
}

bool check_is_possible(const struct check_row rows[CHECK_ROW_CNT])
{
	return rows[CHECK_BTF].available && rows[CHECK_FENTRY].available &&
	       rows[CHECK_FEXIT].available;
}

/* ---- as text ---- */

void check_text(const struct check_row *rows, size_t cnt, struct strbuf *out)
{
	for (size_t i = 0; i < cnt; i++) {
		strbuf_printf(out, "%-*s  ", FEATURE_WIDTH, rows[i].feature);
		if (rows[i].available)
			strbuf_str(out, "yes\n");
		else
			strbuf_printf(out, "no   %s\n", rows[i].reason);
	}
}

static void json_string(struct strbuf *out, const char *text)
{
	strbuf_char(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			strbuf_printf(out, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			strbuf_printf(out, "\\u%04x", (unsigned int)*text);
		else
			strbuf_char(out, *text);
	}
	strbuf_char(out, '"');
}

void check_json(const struct check_row *rows, size_t cnt, struct strbuf *out)
{
	strbuf_str(out, "[\n");
	for (size_t i = 0; i < cnt; i++) {
		strbuf_str(out, "  {\"feature\": ");
		json_string(out, rows[i].feature);
		strbuf_printf(out, ", \"available\": %s, \"reason\": ",
			      rows[i].available ? "true" : "false");
		if (rows[i].available)
			strbuf_str(out, "null");
		else
			json_string(out, rows[i].reason);
		strbuf_printf(out, "}%s\n", i + 1 < cnt ? "," : "");
	}
	strbuf_str(out, "]\n");
}
