#include "scope/netns.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "nfg_abi.h"

#define FIRST_INUM 0xEFFFFFFCu /* PROC_PID_INIT_INO of linux/proc_ns.h */

/*
 * Our ids: in the namespace of @proc, and in those below it down to ours. A kernel without pid namespaces reports only
 * the first. Return: how many, 0: none, -errno: we are not in @proc.
 */
static int read_own_ids(const char *proc, uint32_t *first)
{
	FILE *file = host_open("%s/self/status", proc);
	char line[512];
	int cnt = 0;

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		char *rest = NULL;

		if (!strncmp(line, "Tgid:", 5))
			*first = (uint32_t)strtoul(line + 5, NULL, 10);
		if (strncmp(line, "NStgid:", 7))
			continue;
		for (char *id = strtok_r(line + 7, " \t\n", &rest); id;
		     id = strtok_r(NULL, " \t\n", &rest))
			cnt++;
	}
	fclose(file);
	return cnt;
}

static int netns_refuse(const char *proc)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/uptime", proc);
	if (access(path, F_OK)) {
		log_error("/proc is not mounted");
		log_hint("mount -t proc proc /proc");
		return -ENOENT;
	}
	log_error("/proc belongs to another pid namespace: its process ids are not ours");
	log_hint(
		"mount a /proc of this namespace (mount -t proc proc /proc), or enter the other one as well (nsenter "
		"--pid --mount)");
	return -EXDEV;
}

int pidns_find(struct pidns *ns, const char *proc)
{
	int id_cnt;

	*ns = (struct pidns){ .proc_is_first = true };
	id_cnt = read_own_ids(proc, &ns->proc_tgid);
	if (id_cnt < 0)
		return netns_refuse(proc);
	ns->inum = host_namespace(proc, "self", "pid");
	if (ns->inum == FIRST_INUM)
		ns->inum = 0;
	if (!ns->inum)
		return 0;
	ns->proc_is_first = id_cnt > 1;
	if (ns->proc_is_first) {
		uint32_t first_inum = host_namespace(proc, "1", "pid");

		/* our ids do not show which namespace @proc has; its process 1 does */
		if (!first_inum) {
			log_error(
				"cannot tell which pid namespace %s belongs to: no permission to inspect its process 1",
				proc);
			log_hint("run it with CAP_SYS_PTRACE, or mount a /proc of this namespace");
			return -EACCES;
		}
		if (first_inum != FIRST_INUM)
			return netns_refuse(proc);
	}
	ns->tids = calloc(NFG_SCOPE_CNT, sizeof(*ns->tids));
	ns->ids = calloc(NFG_SCOPE_CNT, sizeof(*ns->ids));
	return ns->tids && ns->ids ? 0 : -ENOMEM;
}

void pidns_release(struct pidns *ns)
{
	free(ns->tids);
	free(ns->ids);
	*ns = (struct pidns){ 0 };
}

void pidns_take(struct pidns *ns, uint32_t id, uint32_t tid)
{
	if (!ns->inum || tid >= NFG_SCOPE_CNT || id >= NFG_SCOPE_CNT)
		return;
	ns->ids[tid] = id;
	if (!id)
		return;
	if (ns->tids[id] != tid && ns->ids[ns->tids[id]] == id)
		ns->ids[ns->tids[id]] = 0; /* another task had the id before */
	ns->tids[id] = tid;
}

uint32_t pidns_tid(const struct pidns *ns, uint32_t id)
{
	if (!ns->inum)
		return id;
	return id < NFG_SCOPE_CNT ? ns->tids[id] : 0;
}

uint32_t pidns_proc_id(const struct pidns *ns, uint32_t tid)
{
	if (ns->proc_is_first)
		return tid;
	return tid < NFG_SCOPE_CNT ? ns->ids[tid] : 0;
}

#define NSFS_MAGIC_NUMBER 0x6e736673 /* NSFS_MAGIC of linux/magic.h */
#define CANDIDATES_SHOWN  16

/* The kernel numbers namespaces from 0xF0000000; since 6.18 the first namespaces have the numbers just below. */
#define INUM_MIN 0xEFFFFFF0u

static int nsfs_inum(const char *path, uint32_t *inum)
{
	struct statfs fs;
	struct stat st;
	int err = 0;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) || fstat(fd, &st))
		err = -errno;
	else if ((uint32_t)fs.f_type != NSFS_MAGIC_NUMBER ||
		 ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET)
		err = -EINVAL;
	else
		*inum = (uint32_t)st.st_ino;
	close(fd);
	return err;
}

void netns_host_init(struct netns_host *host)
{
	*host = (struct netns_host){
		.proc = "/proc",
		.run = "/run/netns",
		.inum_of = nsfs_inum,
	};
}

/* "net:[4026531840]" */
static bool inum_parse(const char *text, uint32_t *inum)
{
	unsigned int number;
	int used = 0;

	if (sscanf(text, "net:[%10u]%n", &number, &used) != 1 || !used || text[used])
		return false;
	*inum = number;
	return true;
}

/* The number from the target of the link /proc/PID/ns/net. Return: 0, -ESRCH, or another -errno. */
static int inum_of_pid(const struct netns_host *host, const char *pid, uint32_t *inum)
{
	char link[64];
	int len = host_link(link, sizeof(link), "%s/%s/ns/net", host->proc, pid);

	if (len < 0)
		return len == -ENOENT ? -ESRCH : len;
	if (!len)
		return -EACCES; /* since 5.10 */
	return inum_parse(link, inum) ? 0 : -EINVAL;
}

static bool netns_is_number(const char *text)
{
	return text[0] && !text[strspn(text, "0123456789")];
}

/* ---- candidates ---- */

struct holders {
	struct strbuf line;
	uint32_t inums[CANDIDATES_SHOWN];
	size_t cnt;
	size_t more; /* names not shown */
};

static bool holders_has(const struct holders *holders, uint32_t inum)
{
	for (size_t i = 0; i < holders->cnt; i++) {
		if (holders->inums[i] == inum)
			return true;
	}
	return false;
}

static bool holders_add(struct holders *holders, uint32_t inum)
{
	if (holders->cnt >= CANDIDATES_SHOWN) {
		holders->more++;
		return false;
	}
	holders->inums[holders->cnt++] = inum;
	if (holders->cnt > 1)
		strbuf_str(&holders->line, ", ");
	return true;
}

/* The namespaces with names, and one process of each that has none. */
static void hint_candidates(const struct netns_host *host)
{
	struct holders holders = { 0 };
	char path[PATH_MAX + 300];
	const struct dirent *entry;
	char comm[32];
	uint32_t inum;
	DIR *dir;

	dir = opendir(host->run);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", host->run, entry->d_name);
		if (!host->inum_of(path, &inum) && holders_add(&holders, inum))
			strbuf_str(&holders.line, entry->d_name);
	}
	if (dir)
		closedir(dir);
	dir = opendir(host->proc);
	while (dir && holders.cnt < CANDIDATES_SHOWN && (entry = readdir(dir))) {
		if (!netns_is_number(entry->d_name) || inum_of_pid(host, entry->d_name, &inum) ||
		    holders_has(&holders, inum))
			continue;
		holders_add(&holders, inum);
		host_comm(host->proc, entry->d_name, comm, sizeof(comm));
		strbuf_printf(&holders.line, "%s (%s)", entry->d_name, comm);
	}
	if (dir)
		closedir(dir);
	if (holders.more)
		strbuf_printf(&holders.line, " and %zu more names", holders.more);
	if (holders.cnt)
		log_hint("network namespaces here, by name or process: %s",
			 strbuf_cstr(&holders.line));
	else
		log_hint("give a process id, or the path of a namespace such as /proc/PID/ns/net");
	strbuf_release(&holders.line);
}

/* ---- the forms ---- */

static int explain(const struct netns_host *host, const char *text, int err)
{
	if (err == -EACCES || err == -EPERM) {
		log_error("cannot see the network namespace of '%s': %s", text, strerror(-err));
		log_hint(
			geteuid()
				? "run it with sudo: only the owner and CAP_SYS_PTRACE may read /proc/PID/ns/net"
				: "reading /proc/PID/ns/net takes CAP_SYS_PTRACE, which root lacks here, "
				  "as in a container");
		return err;
	}
	if (err == -EINVAL)
		log_error("'%s' is not a network namespace", text);
	else if (err == -ESRCH)
		log_error("no process %s", text);
	else if (err == -ENOENT)
		log_error("no network namespace '%s'", text);
	else
		log_error("cannot open network namespace '%s': %s", text, strerror(-err));
	hint_candidates(host);
	return err;
}

/* A file that refers to the namespace @wanted, in @path; false: neither a name nor a process has it. */
static bool find_holder(const struct netns_host *host, uint32_t wanted, char *path, size_t size)
{
	const struct dirent *entry;
	bool held = false;
	uint32_t inum;
	DIR *dir;

	dir = opendir(host->run);
	while (dir && !held && (entry = readdir(dir))) {
		snprintf(path, size, "%s/%s", host->run, entry->d_name);
		held = !host->inum_of(path, &inum) && inum == wanted;
	}
	if (dir)
		closedir(dir);
	dir = opendir(host->proc);
	while (dir && !held && (entry = readdir(dir))) {
		held = netns_is_number(entry->d_name) && !inum_of_pid(host, entry->d_name, &inum) &&
		       inum == wanted;
		if (held)
			snprintf(path, size, "%s/%s/ns/net", host->proc, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return held;
}

static bool is_held(const struct netns_host *host, uint32_t wanted)
{
	char path[PATH_MAX + 300];

	return find_holder(host, wanted, path, sizeof(path));
}

static int resolve_inum(const struct netns_host *host, uint32_t number, uint32_t *inum)
{
	if (!is_held(host, number))
		log_warn(
			"no process and no name in %s has network namespace %u: nothing is shown until one has",
			host->run, number);
	*inum = number;
	return 0;
}

static int resolve_name(const struct netns_host *host, const char *text, uint32_t *inum)
{
	char path[PATH_MAX + 300];

	if (strlen(text) > NAME_MAX || !strcmp(text, ".") || !strcmp(text, ".."))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/%s", host->run, text);
	return host->inum_of(path, inum);
}

/* Resolve a pid, else a name of digits, else a namespace's number. */
static int resolve_number(const struct netns_host *host, const char *text, uint32_t *inum)
{
	uint64_t number;
	int err = -ESRCH;

	if (strlen(text) <= 10)
		err = inum_of_pid(host, text, inum);
	if (err != -ESRCH)
		return err ? explain(host, text, err) : 0;
	if (!resolve_name(host, text, inum))
		return 0;
	if (!parse_u64(text, INUM_MIN, UINT32_MAX, &number))
		return resolve_inum(host, (uint32_t)number, inum);
	return explain(host, text, -ESRCH);
}

int netns_resolve(const struct netns_host *host, const char *text, uint32_t *inum)
{
	uint32_t number;
	char link[64];
	int len;
	int err;

	if (!text[0]) {
		log_error("the name of the network namespace is empty");
		hint_candidates(host);
		return -EINVAL;
	}
	if (inum_parse(text, &number))
		return resolve_inum(host, number, inum);
	if (strchr(text, '/')) {
		len = host_link(link, sizeof(link), "%s", text);
		if (len > 0 && inum_parse(link, inum))
			return 0;
		err = len ? host->inum_of(text, inum) : -EACCES;
		return err ? explain(host, text, err == -ENOTDIR ? -ENOENT : err) : 0;
	}
	if (netns_is_number(text))
		return resolve_number(host, text, inum);
	err = resolve_name(host, text, inum);
	return err ? explain(host, text, err) : 0;
}

/* ---- what a namespace has ---- */

static bool is_link_local(const struct sockaddr *addr)
{
	const uint8_t *bytes;

	if (addr->sa_family == AF_INET6) {
		bytes = ((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr.s6_addr;
		return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
	}
	bytes = (const uint8_t *)&((const struct sockaddr_in *)(const void *)addr)->sin_addr;
	return bytes[0] == 169 && bytes[1] == 254;
}

static void put_address(FILE *out, const struct ifaddrs *item)
{
	char text[INET6_ADDRSTRLEN];
	const void *bytes;

	if (!item->ifa_addr || item->ifa_flags & IFF_LOOPBACK)
		return;
	if (item->ifa_addr->sa_family == AF_INET)
		bytes = &((const struct sockaddr_in *)(const void *)item->ifa_addr)->sin_addr;
	else if (item->ifa_addr->sa_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)(const void *)item->ifa_addr)->sin6_addr;
	else
		return;
	if (!is_link_local(item->ifa_addr) &&
	    inet_ntop(item->ifa_addr->sa_family, bytes, text, sizeof(text)))
		fprintf(out, "%s\n", text);
}

/* In the child. Return: 0 or an errno. */
static int put_addresses(int space_fd, int out_fd)
{
	struct ifaddrs *list;
	FILE *out;

	if (setns(space_fd, CLONE_NEWNET) || getifaddrs(&list))
		return errno;
	out = fdopen(out_fd, "w");
	if (!out)
		return errno;
	for (const struct ifaddrs *item = list; item; item = item->ifa_next)
		put_address(out, item);
	return fclose(out) ? errno : 0;
}

/* Append what comes until the end. Return: 0 or -errno. */
static int read_all(int fd, struct strbuf *out)
{
	char bytes[4096];
	ssize_t len;

	while ((len = read(fd, bytes, sizeof(bytes))) > 0 || (len < 0 && errno == EINTR)) {
		if (len > 0)
			strbuf_add(out, bytes, (size_t)len);
	}
	return len < 0 ? -errno : 0;
}

/* A process of its own enters the namespace, for a thread cannot leave it without further privileges. */
static int ask_child(int space_fd, struct strbuf *out)
{
	int ends[2], status, err;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid == 0)
		_exit(put_addresses(space_fd, ends[1]));
	err = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (!err)
		err = read_all(ends[0], out);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (err || pid <= 0)
		return err;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

int netns_addresses(const struct netns_host *host, uint32_t inum, struct strbuf *out)
{
	char path[PATH_MAX + 300];
	struct stat st;
	int fd = -1;
	int err = -ENOENT;

	if (find_holder(host, inum, path, sizeof(path))) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		err = fd < 0 || fstat(fd, &st) ? -errno : 0;
		if (!err) /* the process may have gone, and its number may be another's */
			err = st.st_ino == inum ? ask_child(fd, out) : -ENOENT;
	}
	if (fd >= 0)
		close(fd);
	if (!err)
		return 0;
	log_error("cannot read the addresses of network namespace %u: %s", inum, strerror(-err));
	if (err == -EPERM || err == -EACCES)
		log_hint("entering it takes CAP_SYS_ADMIN: run it with sudo");
	return err;
}
