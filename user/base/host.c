#include "base/host.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <time.h>

#define FIRST_TIME_INUM 0xEFFFFFFAu /* PROC_TIME_INIT_INO of linux/proc_ns.h */

/* Longer paths than the kernel takes: none is cut to one that exists. */
#define PATH_BYTES (PATH_MAX + 300)

FILE *host_open(const char *fmt, ...)
{
	char path[PATH_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	return fopen(path, "re");
}

int host_link(char *target, size_t size, const char *fmt, ...)
{
	char path[PATH_BYTES];
	va_list args;
	ssize_t len;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	len = readlink(path, target, size - 1);
	if (len < 0)
		return -errno;
	target[len] = '\0';
	return (int)len;
}

uint32_t host_namespace(const char *proc, const char *task, const char *type)
{
	char link[64];
	unsigned int inum;

	if (host_link(link, sizeof(link), "%s/%s/ns/%s", proc, task, type) < 0)
		return 0;
	return sscanf(link, "%*[a-z]:[%10u]", &inum) == 1 ? inum : 0;
}

/* In a line such as "0::/system.slice/x.service". */
bool host_cgroup(const char *proc, const char *task, char *path)
{
	FILE *file = host_open("%s/%s/cgroup", proc, task);
	char line[PATH_MAX];
	bool is_found = false;

	while (file && !is_found && fgets(line, sizeof(line), file))
		is_found = !strncmp(line, "0::/", 4);
	if (file)
		fclose(file);
	if (!is_found)
		return false;
	line[strcspn(line, "\n")] = '\0';
	strcpy(path, line + 3);
	return true;
}

bool host_waited_ns(uint64_t *ns)
{
	FILE *file = host_open("/proc/self/schedstat");
	bool is_known = file && fscanf(file, "%*u %" SCNu64, ns) == 1;

	if (file)
		fclose(file);
	return is_known;
}

void host_comm(const char *proc, const char *task, char *comm, size_t size)
{
	FILE *file = host_open("%s/%s/comm", proc, task);

	if (!file || !fgets(comm, (int)size, file))
		snprintf(comm, size, "?");
	comm[strcspn(comm, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* Takes "0-3" or "0,2-7": the last number is the highest CPU. */
int host_cpu_cnt(void)
{
	unsigned int number = 0;
	unsigned int last = 0;
	FILE *file;
	int c;

	file = fopen("/sys/devices/system/cpu/possible", "re");
	if (!file)
		return -errno;
	while ((c = getc(file)) != EOF && c != '\n') {
		if (c >= '0' && c <= '9') {
			number = number * 10 + (unsigned int)(c - '0');
			last = number;
		} else {
			number = 0;
		}
	}
	fclose(file);
	return (int)last + 1;
}

int host_cpus(struct cpu_set_list *cpus, char *text, size_t size)
{
	FILE *file = fopen("/sys/devices/system/cpu/present", "re");
	bool is_read;

	*cpus = (struct cpu_set_list){ 0 };
	if (!file)
		return -errno;
	is_read = fgets(text, (int)size, file);
	fclose(file);
	if (!is_read)
		return -EIO;
	text[strcspn(text, "\n")] = '\0';
	return parse_cpu_list(text, cpus) ? -EIO : 0;
}

/* Our CLOCK_MONOTONIC minus the kernel's. */
static int64_t clock_offset_ns;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

uint64_t host_time_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC) - (uint64_t)clock_offset_ns;
}

uint64_t host_cpu_time_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t host_real_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t host_real_offset_ns(void)
{
	uint64_t least_ns = UINT64_MAX;
	uint64_t offset_ns = 0;

	for (int i = 0; i < 8; i++) {
		const uint64_t begin_ns = host_time_ns();
		const uint64_t real_ns = host_real_ns();
		const uint64_t span_ns = host_time_ns() - begin_ns;

		if (span_ns >= least_ns)
			continue;
		least_ns = span_ns;
		offset_ns = real_ns - begin_ns - span_ns / 2;
	}
	return offset_ns;
}

int host_find_clock(const char *proc)
{
	const uint32_t ours = host_namespace(proc, "self", "time");
	char line[128];
	long long sec;
	long nsec;
	int err = -EPROTO;
	FILE *file;

	clock_offset_ns = 0;
	if (!ours || ours == FIRST_TIME_INUM)
		return 0;
	if (ours != host_namespace(proc, "self", "time_for_children"))
		return -EXDEV;
	file = host_open("%s/self/timens_offsets", proc);
	if (!file)
		return -errno;
	while (err && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "monotonic %lld %ld", &sec, &nsec) != 2)
			continue;
		clock_offset_ns = sec * 1000000000ll + nsec;
		err = 0;
	}
	fclose(file);
	return err;
}

/* Multiply, add, count, branch: four instructions; each multiplication waits for the previous one. */
#define SPIN_CNT       10000
#define SPIN_INSNS     (4 * SPIN_CNT)
#define SPIN_TRIES_CNT 5

uint32_t host_insn_ps(void)
{
	static uint32_t insn_ps; /* 0: not measured yet */
	uint64_t best_ns = UINT64_MAX;

	if (insn_ps)
		return insn_ps;
	for (int i = 0; i < SPIN_TRIES_CNT; i++) {
		uint64_t begin_ns = host_time_ns();
		uint64_t value = begin_ns;
		uint64_t took_ns;

		for (int k = 0; k < SPIN_CNT; k++) {
			value = value * 6364136223846793005u + 1;
			__asm__ volatile("" : "+r"(value));
		}
		took_ns = host_time_ns() - begin_ns;
		if (took_ns < best_ns)
			best_ns = took_ns;
	}
	insn_ps = (uint32_t)(best_ns * 1000 / SPIN_INSNS) + 1;
	return insn_ps;
}

void host_release(char *out, size_t size)
{
	struct utsname uts;

	snprintf(out, size, "%s", uname(&uts) ? "" : uts.release);
}

void host_node(char *out, size_t size)
{
	struct utsname uts;

	snprintf(out, size, "%s", uname(&uts) ? "" : uts.nodename);
}

int host_threads(uint32_t tgid, void (*visit)(void *ctx, uint32_t tid), void *ctx)
{
	const struct dirent *entry;
	char path[32];
	int cnt = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", tgid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		visit(ctx, (uint32_t)strtoul(entry->d_name, NULL, 10));
		cnt++;
	}
	closedir(dir);
	return cnt;
}

const char *host_no_task_hint(const char *proc, uint32_t id)
{
	static char hint[128];
	FILE *file = host_open("%s/sys/kernel/pid_max", proc);
	uint32_t max = 0;

	if (file && fscanf(file, "%" SCNu32, &max) == 1 && id >= max)
		snprintf(hint, sizeof(hint),
			 "numbers of tasks end at %" PRIu32 " here: %s/sys/kernel/pid_max", max - 1,
			 proc);
	else
		snprintf(
			hint, sizeof(hint),
			"ps -e lists processes; one in a container has another number inside it than here");
	if (file)
		fclose(file);
	return hint;
}

int host_processes(void (*visit)(void *ctx, uint32_t tgid), void *ctx)
{
	const struct dirent *entry;
	DIR *dir = opendir("/proc");

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			visit(ctx, (uint32_t)strtoul(entry->d_name, NULL, 10));
	}
	closedir(dir);
	return 0;
}

#define STAT_CPU_FIELD 36 /* "processor", counted from "state", after the name; proc(5) */

int host_thread_stat(uint32_t tgid, uint32_t tid, struct host_thread_stat *out)
{
	char text[1024];
	char *at;
	size_t len;
	FILE *file = host_open("/proc/%u/task/%u/stat", tgid, tid);

	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	len = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[len] = '\0';
	at = strrchr(text, ')'); /* a name may contain ')' too */
	if (!at || at[1] != ' ')
		return -ESRCH;
	at += 2;
	out->state = *at;
	for (int field = 0; field < STAT_CPU_FIELD && at; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -EINVAL;
	out->cpu = (uint32_t)strtoul(at, NULL, 10);
	return 0;
}

/* Includes all pid namespaces. */
uint64_t host_thread_cnt(void)
{
	FILE *file = fopen("/proc/loadavg", "re");
	uint64_t cnt = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*s %*s %*s %*u/%" SCNu64, &cnt) != 1)
		cnt = 0;
	fclose(file);
	return cnt;
}

uint64_t host_memory_bytes(void)
{
	long page_cnt = sysconf(_SC_PHYS_PAGES);
	long page_bytes = sysconf(_SC_PAGESIZE);

	return page_cnt > 0 && page_bytes > 0 ? (uint64_t)page_cnt * (uint64_t)page_bytes : 0;
}

uint64_t host_memory_limit_bytes(void)
{
	static const char root[] = "/sys/fs/cgroup";
	char dir[PATH_MAX];
	char path[PATH_MAX];
	uint64_t least = host_memory_bytes();
	FILE *file;

	if (!host_cgroup("/proc", "self", path))
		return least;
	snprintf(dir, sizeof(dir), "%s%.*s", root, (int)(sizeof(dir) - sizeof(root)), path);
	while (strlen(dir) >= sizeof(root)) {
		uint64_t bytes;

		file = host_open("%s/memory.max", dir);
		/* without a limit it has "max" */
		if (file && fscanf(file, "%" SCNu64, &bytes) == 1 && bytes < least)
			least = bytes;
		if (file)
			fclose(file);
		*strrchr(dir, '/') = '\0';
	}
	return least;
}

/* A number of a cgroup's file @name, alone in it, or behind @key; 0: there is none. */
static uint64_t cgroup_number(const char *dir, const char *name, const char *key)
{
	FILE *file = host_open("%s/%s", dir, name);
	const size_t len = key ? strlen(key) : 0;
	uint64_t bytes = 0;
	char line[128];

	while (file && !bytes && fgets(line, sizeof(line), file)) {
		if (key && (strncmp(line, key, len) != 0 || line[len] != ' '))
			continue;
		bytes = strtoull(line + len, NULL, 10); /* without a limit it has "max" */
	}
	if (file)
		fclose(file);
	return bytes;
}

void host_memory_left(const char *proc, const char *cgroups, struct host_memory *out)
{
	const size_t root_len = strlen(cgroups);
	char dir[PATH_MAX];
	char path[PATH_MAX];

	*out = (struct host_memory){ .left_bytes = UINT64_MAX };
	if (!host_cgroup(proc, "self", path))
		return;
	snprintf(dir, sizeof(dir), "%s%.*s", cgroups, (int)(sizeof(dir) - root_len - 1), path);
	while (strlen(dir) > root_len) {
		const uint64_t limit = cgroup_number(dir, "memory.max", NULL);
		const uint64_t cached = cgroup_number(dir, "memory.stat", "inactive_file") +
					cgroup_number(dir, "memory.stat", "active_file");
		const uint64_t current = cgroup_number(dir, "memory.current", NULL);
		const uint64_t used = current > cached ? current - cached : 0;
		const uint64_t left = limit > used ? limit - used : 0;

		if (limit && left < out->left_bytes) {
			out->left_bytes = left;
			out->limit_bytes = limit;
			snprintf(out->cgroup, sizeof(out->cgroup), "%.*s",
				 (int)sizeof(out->cgroup) - 1, dir + root_len);
		}
		*strrchr(dir, '/') = '\0';
	}
}

uint64_t host_peak_bytes(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss << 10;
}

/* @have: such as 6, 12, 118; 0 if unknown. Return: how many numbers the version has. */
static int read_version(unsigned int have[3])
{
	struct utsname uts;

	memset(have, 0, 3 * sizeof(*have));
	return uname(&uts) ? 0 : sscanf(uts.release, "%u.%u.%u", &have[0], &have[1], &have[2]);
}

void host_kernel_version(unsigned int version[2])
{
	unsigned int have[3];

	read_version(have);
	version[0] = have[0];
	version[1] = have[1];
}

bool host_kernel_is_since(unsigned int major, unsigned int minor, unsigned int patch)
{
	unsigned int have[3];

	if (read_version(have) < 2)
		return false;
	if (have[0] != major)
		return have[0] > major;
	if (have[1] != minor)
		return have[1] > minor;
	return have[2] >= patch;
}
