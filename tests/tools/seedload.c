/*
 * The work that the traces in tests/golden/seeds show, for tests/live/seeds.sh:
 *
 *	seedload serve PORT		accept one TCP connection, read to its end
 *	seedload connect ADDRESS PORT	socket, connect, write "test\n", close
 *	seedload recv MS		one recv() of a TCP connection that sleeps MS milliseconds
 *	seedload udp-recv PORT [N]	recvfrom() of a datagram, or of N
 *	seedload udp-send ADDRESS PORT N	connect, then N datagrams, 20 ms apart
 *	seedload sockmap		one send() that a BPF program hands to another socket
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE     "test\n"
#define MESSAGE_LEN 5

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "seedload: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The value of a call that fails below zero. */
static int sure(const char *what, long value)
{
	if (value < 0)
		die(what);
	return (int)value;
}

static struct sockaddr_in address(const char *text, const char *port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
	};

	if (inet_pton(AF_INET, text, &addr.sin_addr) != 1)
		die(text);
	return addr;
}

static int bound(int type, const char *text, const char *port)
{
	struct sockaddr_in addr = address(text, port);
	int fd = sure("socket", socket(AF_INET, type, 0));
	int on = 1;

	sure("SO_REUSEADDR", setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	sure("bind", bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

static int serve(const char *port)
{
	char buf[64];
	int listener = bound(SOCK_STREAM, "0.0.0.0", port);
	int fd;

	sure("listen", listen(listener, 8));
	puts("listening");
	fflush(stdout);
	fd = sure("accept", accept(listener, NULL, NULL));
	while (sure("read", read(fd, buf, sizeof(buf))) > 0)
		;
	return 0;
}

static int connect_to(const char *text, const char *port)
{
	struct sockaddr_in addr = address(text, port);
	int fd = sure("socket", socket(AF_INET, SOCK_STREAM, 0));

	sure("connect", connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	sure("write", write(fd, MESSAGE, MESSAGE_LEN));
	close(fd);
	return 0;
}

/* Both ends of a TCP connection over loopback. */
static void tcp_pair(int ends[2])
{
	int listener = bound(SOCK_STREAM, "127.0.0.1", "0");
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	sure("listen", listen(listener, 1));
	sure("getsockname", getsockname(listener, (struct sockaddr *)&addr, &len));
	ends[0] = sure("socket", socket(AF_INET, SOCK_STREAM, 0));
	sure("connect", connect(ends[0], (struct sockaddr *)&addr, sizeof(addr)));
	ends[1] = sure("accept", accept(listener, NULL, NULL));
	close(listener);
}

static int recv_late(const char *ms)
{
	int ends[2];
	char buf[64];
	pid_t pid;
	int status;

	tcp_pair(ends);
	pid = sure("fork", fork());
	if (!pid) {
		usleep((useconds_t)strtoul(ms, NULL, 10) * 1000);
		sure("send", send(ends[0], MESSAGE, MESSAGE_LEN, 0));
		_exit(0);
	}
	sure("recv", recv(ends[1], buf, sizeof(buf), 0));
	sure("waitpid", waitpid(pid, &status, 0));
	return status != 0;
}

static int udp_recv(const char *port, const char *cnt)
{
	int fd = bound(SOCK_DGRAM, "0.0.0.0", port);
	char buf[64];

	puts("listening");
	fflush(stdout);
	for (unsigned long n = strtoul(cnt, NULL, 10); n; n--)
		sure("recvfrom", recvfrom(fd, buf, sizeof(buf), 0, NULL, NULL));
	return 0;
}

static int udp_send(const char *text, const char *port, const char *cnt)
{
	struct sockaddr_in addr = address(text, port);
	int fd = sure("socket", socket(AF_INET, SOCK_DGRAM, 0));

	sure("connect", connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	for (unsigned long n = strtoul(cnt, NULL, 10); n; n--) {
		sure("send", send(fd, MESSAGE, MESSAGE_LEN, 0));
		usleep(20000);
	}
	return 0;
}

/* A program that hands what is sent to the socket under key 1, as if it had come in there. */
static int redirect_prog(int map)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4, .imm = 1 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = map },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X,
		  .dst_reg = BPF_REG_3,
		  .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_3, .imm = -4 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_4, .imm = BPF_F_INGRESS },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_msg_redirect_hash },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return sure("prog_load", bpf_prog_load(BPF_PROG_TYPE_SK_MSG, "redirect", "GPL", insns,
					       sizeof(insns) / sizeof(*insns), NULL));
}

static int sockmap(void)
{
	int map = sure("map_create", bpf_map_create(BPF_MAP_TYPE_SOCKHASH, "socks", 4, 4, 8, NULL));
	char buf[64];
	int from[2];
	int to[2];
	uint32_t key;

	tcp_pair(from);
	tcp_pair(to);
	sure("prog_attach", bpf_prog_attach(redirect_prog(map), map, BPF_SK_MSG_VERDICT, 0));
	key = 0;
	sure("map_update", bpf_map_update_elem(map, &key, &from[0], BPF_ANY));
	key = 1;
	sure("map_update", bpf_map_update_elem(map, &key, &to[1], BPF_ANY));
	sure("send", send(from[0], MESSAGE, MESSAGE_LEN, 0));
	return recv(to[1], buf, sizeof(buf), 0) != MESSAGE_LEN;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 3 && !strcmp(what, "serve"))
		return serve(argv[2]);
	if (argc == 4 && !strcmp(what, "connect"))
		return connect_to(argv[2], argv[3]);
	if (argc == 3 && !strcmp(what, "recv"))
		return recv_late(argv[2]);
	if ((argc == 3 || argc == 4) && !strcmp(what, "udp-recv"))
		return udp_recv(argv[2], argc == 4 ? argv[3] : "1");
	if (argc == 5 && !strcmp(what, "udp-send"))
		return udp_send(argv[2], argv[3], argv[4]);
	if (argc == 2 && !strcmp(what, "sockmap"))
		return sockmap();
	fputs("usage: seedload serve PORT | connect ADDRESS PORT | recv MS | udp-recv PORT [N] |\n"
	      "       udp-send ADDRESS PORT N | sockmap\n",
	      stderr);
	return 2;
}
