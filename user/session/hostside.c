#include "session/hostside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "filter/pcapfilter.h"
#include "scope/cgroup.h"
#include "scope/netns.h"
#include "session/taskscope.h"

/* The namespaces of what the options choose. Zeroed: none. */
struct spaces {
	struct netns_host host;
	struct cgroup_host cgroups;
	struct num_list inums; /* each once */
	int err;               /* the first error of a process's namespace, but that it has gone */
};

static int space_add(struct spaces *spaces, uint32_t inum)
{
	struct num_list *inums = &spaces->inums;

	if (num_list_has(inums, inum))
		return 0;
	if (VEC_RESERVE(inums->items, inums->cap, inums->cnt + 1))
		return -ENOMEM;
	inums->items[inums->cnt++] = inum;
	return 0;
}

static int space_of(struct spaces *spaces, uint32_t pid)
{
	char path[64];
	uint32_t inum;
	int err;

	snprintf(path, sizeof(path), "/proc/%u/ns/net", pid);
	err = spaces->host.inum_of(path, &inum);
	return err ? err : space_add(spaces, inum);
}

/* Of -p. Return: 0 or -errno, logged. */
static int add_named(struct spaces *spaces, uint32_t pid)
{
	const int err = space_of(spaces, pid);

	if (err)
		log_error("-p %u: cannot see its network namespace: %s", pid,
			  err == -ENOENT ? "no such process" : strerror(-err));
	return err;
}

static void add_process(void *ctx, uint32_t pid)
{
	struct spaces *spaces = ctx;
	/* 0: of a pid namespace that we cannot see */
	const int err = pid ? space_of(spaces, pid) : 0;

	if (err && err != -ENOENT && err != -ESRCH && !spaces->err)
		spaces->err = err;
}

static int add_cgroup(void *ctx, const struct cgroup *cg)
{
	struct spaces *spaces = ctx;
	const int cnt = cgroup_pids(&spaces->cgroups, cg->path, add_process, spaces);

	return cnt < 0 ? cnt : 0;
}

static int spaces_find(struct spaces *spaces, const struct opts *opts)
{
	uint32_t inum;
	int err;

	netns_host_init(&spaces->host);
	err = taskscope_each_cgroup(opts, &spaces->cgroups, add_cgroup, spaces);
	for (size_t i = 0; i < opts->netns.cnt && !err; i++) {
		err = netns_resolve(&spaces->host, opts->netns.items[i], &inum);
		if (!err)
			err = space_add(spaces, inum);
	}
	for (size_t i = 0; i < opts->pids.cnt && !err; i++)
		err = add_named(spaces, (uint32_t)opts->pids.items[i]);
	return err;
}

/* Refuse a scope that has no namespace of its own. Return: 0 or -errno, logged. */
static int spaces_check(const struct spaces *spaces)
{
	uint32_t own;

	if (!spaces->inums.cnt && spaces->err) {
		log_error("cannot see the network namespace of the processes in this scope: %s",
			  strerror(-spaces->err));
		log_hint("reading /proc/PID/ns/net takes CAP_SYS_PTRACE");
		return spaces->err;
	}
	if (!spaces->inums.cnt) {
		log_error(
			"--host-side: no process is in this scope, so its network namespace is not known");
		log_hint(
			"start it first, or name the namespace (--netns) or the addresses (--packet 'host ADDRESS' --track)");
		return -ESRCH;
	}
	if (!spaces->host.inum_of("/proc/self/ns/net", &own) && num_list_has(&spaces->inums, own)) {
		log_error(
			"--host-side: netfgraph's own network namespace is in this scope, so its packets are those of the host");
		log_hint(
			"--packet EXPRESSION chooses among them, and without --host-side its sockets do");
		return -EINVAL;
	}
	return 0;
}

void hostside_expression(struct strbuf *out, const char *addresses, const char *expression)
{
	const char *sep = "";

	if (expression)
		strbuf_printf(out, "(%s) and (", expression);
	while (*addresses) {
		const size_t len = strcspn(addresses, "\n");

		strbuf_printf(out, "%shost %.*s", sep, (int)len, addresses);
		sep = " or ";
		addresses += len + (addresses[len] != 0);
	}
	if (expression)
		strbuf_char(out, ')');
}

static int packet_compile(struct opts *out, const char *addresses)
{
	struct strbuf expression = { 0 };
	char why[512];
	int err = -ENOMEM;

	hostside_expression(&expression, addresses, out->packet_text);
	if (strbuf_ok(&expression)) {
		log_begin("--host-side: --packet '%s' --track", strbuf_cstr(&expression));
		err = pcapfilter_compile(&out->packet, strbuf_cstr(&expression), why, sizeof(why));
		if (err && err != -ENOMEM)
			log_error("--host-side: '%s' %s", strbuf_cstr(&expression), why);
	}
	strbuf_release(&expression);
	return err;
}

int hostside_opts(struct opts *out, const struct opts *opts)
{
	struct strbuf addresses = { 0 };
	struct spaces spaces = { 0 };
	int err;

	*out = *opts;
	out->packet = (struct pcapfilter){ 0 };
	out->cgroups.cnt = out->containers.cnt = out->pods.cnt = out->netns.cnt = out->pids.cnt = 0;
	out->follows = true;
	err = spaces_find(&spaces, opts);
	if (!err)
		err = spaces_check(&spaces);
	for (size_t i = 0; i < spaces.inums.cnt && !err; i++)
		err = netns_addresses(&spaces.host, (uint32_t)spaces.inums.items[i], &addresses);
	if (!err && strbuf_ok(&addresses) && !addresses.len) {
		log_error(
			"--host-side: the network namespace of this scope has only loopback's and link-local addresses");
		log_hint("give it an address, or choose packets of its device with --filter");
		err = -EADDRNOTAVAIL;
	}
	if (!err)
		err = strbuf_ok(&addresses) ? packet_compile(out, strbuf_cstr(&addresses))
					    : -ENOMEM;
	strbuf_release(&addresses);
	num_list_release(&spaces.inums);
	return err;
}

void hostside_release(struct opts *out)
{
	pcapfilter_release(&out->packet);
}
