// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attach BPF programs that bpftool cannot attach, and send what runs them, until standard input ends.
 *
 *	netkinds N KIND [FOLDER [DEVICE]]
 *
 * FOLDER has the programs of netkinds.bpf.c, as bpftool pins them, and the map; for netfilter it is their object. KIND:
 * traffic (attaches nothing), filter and reuseport (at a socket), sockmap, lookup (at the network namespace), tcx (at
 * DEVICE), netfilter. It says "attached", or why it cannot, with status 1. For each line it sends, over loopback, N
 * datagrams from a socket that is connected anew for each, N from another that is not, and N messages over TCP; sets and
 * gets an option of a socket N times; and says "done".
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/netfilter.h>

/* What older headers lack. */
#define TYPE_NETFILTER      32 /* BPF_PROG_TYPE_NETFILTER, 6.4 */
#define AT_NETFILTER        45 /* BPF_NETFILTER */
#define AT_TCX_INGRESS      46 /* BPF_TCX_INGRESS, 6.6 */
#define SET_REUSEPORT_EBPF  52 /* SO_ATTACH_REUSEPORT_EBPF */
#define DENIED_PORT         1  /* of netkinds.bpf.c */
#define RECEIVE_TIMEOUT_SEC 20

/* union bpf_attr as BPF_LINK_CREATE has it */
struct link_create {
	__u32 prog_fd;
	__u32 target;
	__u32 attach_type;
	__u32 flags;
	__u32 pf;
	__u32 hook;
	__s32 priority;
	__u32 nf_flags;
};

/* The sockets of this host's only peer, itself. */
struct ends {
	int receiver; /* of datagrams */
	struct sockaddr_in at;
	int connected;
	int unconnected;
	int sending; /* a connection */
	int receiving;
};

static void fail(const char *what)
{
	printf("cannot %s: %s\n", what, strerror(errno));
	exit(1);
}

static void want(bool is_done, const char *what)
{
	if (!is_done)
		fail(what);
}

static int new_socket(int type)
{
	const struct timeval timeout = { .tv_sec = RECEIVE_TIMEOUT_SEC };
	const int yes = 1;
	const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	want(fd >= 0, "make a socket");
	want(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) &&
		     !setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)),
	     "set up a socket");
	return fd;
}

static int new_bound(int type, struct sockaddr_in *at)
{
	const int fd = new_socket(type);
	socklen_t len = sizeof(*at);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	want(!bind(fd, (struct sockaddr *)at, len) && !getsockname(fd, (struct sockaddr *)at, &len),
	     "bind a socket");
	return fd;
}

static void ends_open(struct ends *ends)
{
	struct sockaddr_in at;
	const int listener = new_bound(SOCK_STREAM, &at);

	ends->receiver = new_bound(SOCK_DGRAM, &ends->at);
	ends->connected = new_socket(SOCK_DGRAM);
	ends->unconnected = new_socket(SOCK_DGRAM);
	ends->sending = new_socket(SOCK_STREAM);
	want(!listen(listener, 1) && !connect(ends->sending, (struct sockaddr *)&at, sizeof(at)),
	     "connect");
	ends->receiving = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	want(ends->receiving >= 0, "accept");
	close(listener);
}

static void exchange(const struct ends *ends)
{
	const struct sockaddr *at = (const struct sockaddr *)&ends->at;
	struct timeval timeout;
	socklen_t len = sizeof(timeout);
	char text[] = "message";

	want(!connect(ends->connected, at, sizeof(ends->at)) &&
		     send(ends->connected, text, sizeof(text), 0) > 0 &&
		     recv(ends->receiver, text, sizeof(text), 0) > 0,
	     "send from a connected socket");
	want(sendto(ends->unconnected, text, sizeof(text), 0, at, sizeof(ends->at)) > 0 &&
		     recv(ends->receiver, text, sizeof(text), 0) > 0,
	     "send from an unconnected socket");
	want(send(ends->sending, text, sizeof(text), 0) > 0 &&
		     recv(ends->receiving, text, sizeof(text), MSG_WAITALL) > 0,
	     "send over a connection");
	want(!getsockopt(ends->receiver, SOL_SOCKET, SO_RCVTIMEO, &timeout, &len) &&
		     !setsockopt(ends->receiver, SOL_SOCKET, SO_RCVTIMEO, &timeout, len),
	     "set an option");
}

/* A program may deny it. */
static void connect_denied(const struct ends *ends)
{
	struct sockaddr_in at = ends->at;

	at.sin_port = htons(DENIED_PORT);
	puts(connect(ends->connected, (struct sockaddr *)&at, sizeof(at)) ? "denied" : "allowed");
}

static int pinned(const char *folder, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = bpf_obj_get(path);
	want(fd >= 0, path);
	return fd;
}

static void link_create(const struct link_create *how, size_t bytes)
{
	want(syscall(__NR_bpf, BPF_LINK_CREATE, how, bytes) >= 0, "attach by a link");
}

static void attach_to_socket(int fd, int option, int prog_fd)
{
	want(!setsockopt(fd, SOL_SOCKET, option, &prog_fd, sizeof(prog_fd)), "attach to a socket");
}

static void attach_sockmap(const struct ends *ends, const char *folder)
{
	static const struct {
		const char *name;
		enum bpf_attach_type type;
	} progs[] = {
		{ "kind_msg", BPF_SK_MSG_VERDICT },
		{ "kind_parser", BPF_SK_SKB_STREAM_PARSER },
		{ "kind_verdict", BPF_SK_SKB_STREAM_VERDICT },
	};
	const int map_fd = pinned(folder, "kind_socks");
	const int fds[] = { ends->sending, ends->receiving };

	for (size_t i = 0; i < sizeof(progs) / sizeof(progs[0]); i++)
		want(!bpf_prog_attach(pinned(folder, progs[i].name), map_fd, progs[i].type, 0),
		     progs[i].name);
	for (int key = 0; key < 2; key++)
		want(!bpf_map_update_elem(map_fd, &key, &fds[key], 0), "fill the map");
}

static void attach_netfilter(const char *path)
{
	struct bpf_object *object = bpf_object__open(path);
	struct bpf_program *prog = object ? bpf_object__next_program(object, NULL) : NULL;
	struct link_create how = { .attach_type = AT_NETFILTER,
				   .pf = NFPROTO_IPV4,
				   .hook = NF_INET_LOCAL_IN };

	want(prog != NULL, "open");
	bpf_program__set_type(prog, (enum bpf_prog_type)TYPE_NETFILTER);
	bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)AT_NETFILTER);
	want(!bpf_object__load(object), "load");
	how.prog_fd = (__u32)bpf_program__fd(prog);
	link_create(&how, sizeof(how));
}

static void attach(const struct ends *ends, const char *kind, const char *folder,
		   const char *device)
{
	struct link_create how = { 0 };

	if (!strcmp(kind, "filter")) {
		attach_to_socket(ends->receiver, SO_ATTACH_BPF, pinned(folder, "kind_filter"));
	} else if (!strcmp(kind, "reuseport")) {
		attach_to_socket(ends->receiver, SET_REUSEPORT_EBPF,
				 pinned(folder, "kind_reuseport"));
	} else if (!strcmp(kind, "sockmap")) {
		attach_sockmap(ends, folder);
	} else if (!strcmp(kind, "netfilter")) {
		attach_netfilter(folder);
	} else if (!strcmp(kind, "lookup")) {
		how.prog_fd = (__u32)pinned(folder, "kind_lookup");
		how.target = (__u32)open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		how.attach_type = BPF_SK_LOOKUP;
		link_create(&how, offsetof(struct link_create, pf));
	} else if (!strcmp(kind, "tcx")) {
		how.prog_fd = (__u32)pinned(folder, "kind_tcx");
		how.target = if_nametoindex(device);
		how.attach_type = AT_TCX_INGRESS;
		link_create(&how, offsetof(struct link_create, pf));
	}
}

int main(int argc, char **argv)
{
	struct ends ends;
	char line[16];

	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	ends_open(&ends);
	attach(&ends, argv[2], argc > 3 ? argv[3] : "", argc > 4 ? argv[4] : "");
	puts("attached");
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = atoi(argv[1]); i > 0; i--)
			exchange(&ends);
		connect_denied(&ends);
		puts("done");
	}
	return 0;
}
