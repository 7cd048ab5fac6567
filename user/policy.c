#include "policy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "log.h"

#define CAP_DAC_READ_SEARCH_BIT 2
#define CAP_SYS_RAWIO_BIT       17
#define CAP_SYS_ADMIN_BIT       21
#define CAP_SYSLOG_BIT          34
#define CAP_PERFMON_BIT         38
#define CAP_BPF_BIT             39

static bool line_read(const char *path, char *buf, size_t size)
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

static uint64_t caps_effective(void)
{
	unsigned long long caps = 0;
	char line[128];
	FILE *file;

	file = fopen("/proc/self/status", "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	}
	fclose(file);
	return caps;
}

static bool has_cap(uint64_t caps, int bit)
{
	return caps >> bit & 1;
}

static bool lacks_caps(void)
{
	uint64_t caps = caps_effective();

	if (has_cap(caps, CAP_SYS_ADMIN_BIT))
		return false;
	return !has_cap(caps, CAP_BPF_BIT) || !has_cap(caps, CAP_PERFMON_BIT);
}

bool policy_missing_caps(char *names, size_t size)
{
	static const struct {
		int bit;
		const char *name;
	} wanted[] = {
		{ CAP_BPF_BIT, "CAP_BPF" },
		{ CAP_PERFMON_BIT, "CAP_PERFMON" },
		{ CAP_DAC_READ_SEARCH_BIT, "CAP_DAC_READ_SEARCH" },
		{ CAP_SYSLOG_BIT, "CAP_SYSLOG" },
		{ CAP_SYS_RAWIO_BIT, "CAP_SYS_RAWIO" },
		{ CAP_SYS_ADMIN_BIT, "CAP_SYS_ADMIN" },
	};
	uint64_t caps = caps_effective();
	size_t len = 0;

	names[0] = '\0';
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && len < size; i++) {
		if (!has_cap(caps, wanted[i].bit))
			len += (size_t)snprintf(names + len, size - len, " %s", wanted[i].name);
	}
	return len;
}

bool policy_unprivileged_bpf(char *setting, size_t size)
{
	if (line_read("/proc/sys/kernel/unprivileged_bpf_disabled", setting, size))
		return !strcmp(setting, "0");
	snprintf(setting, size, "not readable");
	return false;
}

/* "none [integrity] confidentiality": the word in brackets. False when off or unknown. */
bool policy_lockdown(char *mode, size_t size)
{
	char line[128];
	char *end;
	char *start;

	if (!line_read("/sys/kernel/security/lockdown", line, sizeof(line)))
		return false;
	start = strchr(line, '[');
	end = start ? strchr(start, ']') : NULL;
	if (!end)
		return false;
	*end = '\0';
	snprintf(mode, size, "%s", start + 1);
	return strcmp(mode, "none") != 0;
}

static void explain_missing_btf(void)
{
	log_error("this kernel has no type information (BTF): /sys/kernel/btf/vmlinux is missing");
	log_hint(
		"boot a kernel built with CONFIG_DEBUG_INFO_BTF=y; distribution kernels since 2021 are");
}

static void explain_caps(void)
{
	char setting[16];

	if (line_read("/proc/sys/kernel/unprivileged_bpf_disabled", setting, sizeof(setting)) &&
	    strcmp(setting, "0"))
		log_error(
			"the kernel refuses tracing programs: CAP_BPF and CAP_PERFMON are missing and kernel.unprivileged_bpf_disabled is %s",
			setting);
	else
		log_error(
			"the kernel refuses tracing programs: CAP_BPF and CAP_PERFMON are missing");
	log_hint(
		"run it with sudo, or: setcap cap_bpf,cap_perfmon,cap_dac_read_search,cap_sys_resource+ep netfgraph");
}

static void explain_refusal(void)
{
	char mode[64];

	if (lacks_caps()) {
		explain_caps();
		return;
	}
	if (policy_lockdown(mode, sizeof(mode))) {
		log_error("the kernel refuses tracing programs: lockdown is in %s mode", mode);
		log_hint(
			"lockdown is set at boot (lockdown=, Secure Boot); only another boot setting lifts it");
		return;
	}
	log_error(
		"the kernel refuses tracing programs even to root: a security policy (lockdown or another LSM) denies BPF_PROG_LOAD");
	log_hint(
		"see the kernel log and /sys/kernel/security/lsm; `make demo` shows the trace in a virtual machine");
}

void policy_explain(int err)
{
	struct utsname uts;

	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		explain_missing_btf();
	} else if (err == -EPERM) {
		explain_refusal();
	} else {
		uname(&uts);
		log_error("kernel %s does not load the tracing programs: %s", uts.release,
			  strerror(-err));
		log_hint(
			"fentry and fexit need Linux 5.10 or newer on x86-64; -vv shows what the verifier said; EACCES without its words is a security module's no");
	}
}
