#ifndef NFG_TEST_WORKLOAD_H
#define NFG_TEST_WORKLOAD_H

/* See workload.c. What cannot be done ends the program with a message. */
/* What nearly every part of it takes from the C library. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void fail(const char *what);
void fail_msg(const char *what);

/* Text must not wait in a buffer when this forks, or when a reader waits for it. */
void say(const char *fmt, unsigned long n);

int new_socket(int family, int type);

/* Bind to 127.0.0.1 and a free port; *addr says which. */
void bind_loopback(int fd, struct sockaddr_in *addr);

int listen_loopback(struct sockaddr_in *addr);
int connect_loopback(const struct sockaddr_in *addr);
int accept_one(int listener);
void send_msg(int fd);

/* One recv() for one message; false at the end of the stream. */
bool recv_msg(int fd);

/* One send() and one recv() on a socket that is connected to itself. */
void send_to_self(int fd);

/* There and back again: two send() and two recv(). */
void round_trip(int a, int b);

void ask_name(int fd);
unsigned long now_ms(void);
void sleep_ms(unsigned long ms);

/* Keep to one CPU, if there are as many. */
void pin_to(unsigned int nth);

/* Wait for one child, whichever if pid is -1. */
void reap(pid_t pid);

pid_t new_child(void);

/* The commands, each beside what it guarantees. Return: the exit status. */
int run_tcp(unsigned long n);
int run_udp(unsigned long n);
int run_tcp6(unsigned long n);
int run_overflow(unsigned long n);
int run_mptcp(unsigned long n);
int run_udp6(unsigned long n);
int run_bound(unsigned long seconds);
int run_stamped(unsigned long n);
int run_same_ports(unsigned long n);
int run_unix(unsigned long n);
int run_vsock(unsigned long n);
int run_recv_block(unsigned long ms);
int run_recv_block_unix(unsigned long ms);
int run_connect_refused(unsigned long n);
int run_pingpong(unsigned long seconds);
int run_flood(unsigned long n);
int run_uneven(unsigned long n);
int run_blast(unsigned long n);
int run_odd(unsigned long n);
int run_connects(unsigned long n);
int run_hog(unsigned long n);
int run_storm(unsigned long ms);
int run_udp_to(unsigned long n);
int run_drops(unsigned long n);
int run_relay(unsigned long n);
int run_terminal(unsigned long n);
int run_calls(unsigned long n);
int run_pace(unsigned long n);
int run_asked(unsigned long n);
int run_timed(unsigned long n);
int run_longest(unsigned long n);
int run_timed_udp(unsigned long n);
int run_timed_fork(unsigned long n);
int run_timed_tcp(unsigned long n);
int run_rate(unsigned long n);
int run_fork(unsigned long n);
int run_threads(unsigned long n);
int run_sleepers(unsigned long n);
int run_names(unsigned long n);
int run_hold(unsigned long seconds);
int run_notified(unsigned long n);
int run_no_links(unsigned long err);
int run_no_cap(unsigned long cap);
int run_old_name(unsigned long n);
int run_new_time(unsigned long seconds);

#define RATE_MAX 600 /* the longest run_rate() */

#endif
