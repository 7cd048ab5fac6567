/*
 * Calls a system call below functions of known names, for tests of --graph-opts ustack: main, outer, middle, inner. The
 * call is inline, so that the innermost function has a frame pointer, too: those of libc may not.
 *
 *	usercalls connect|sendto [COMMAND ARGUMENT...]
 *
 * connect to a closed port of 127.0.0.1, or sendto there by UDP; then sleep for a second, because names are found while
 * the process lives, or run COMMAND instead.
 */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __clang__
#define KNOWN __attribute__((noinline))
#else
#define KNOWN __attribute__((noinline, noclone))
#endif

#if defined(__x86_64__)
static inline __attribute__((always_inline)) long inline_call(long nr, const long *args)
{
	register long flags __asm__("r10") = args[3];
	register long addr __asm__("r8") = args[4];
	register long len __asm__("r9") = args[5];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(args[0]), "S"(args[1]), "d"(args[2]), "r"(flags), "r"(addr),
			   "r"(len)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline __attribute__((always_inline)) long inline_call(long nr, const long *args)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = args[0];
	register long x1 __asm__("x1") = args[1];
	register long x2 __asm__("x2") = args[2];
	register long x3 __asm__("x3") = args[3];
	register long x4 __asm__("x4") = args[4];
	register long x5 __asm__("x5") = args[5];

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#endif

/* A function that calls none needs no frame, and gets none, whatever the compiler is asked for. */
static KNOWN void keep_frame(void)
{
	__asm__ volatile("" ::: "memory");
}

static KNOWN long inner(long nr, const long *args)
{
	long ret = inline_call(nr, args);

	keep_frame();
	return ret;
}

static KNOWN long middle(long nr, const long *args)
{
	long ret = inner(nr, args);

	keep_frame();
	return ret;
}

static KNOWN long outer(long nr, const long *args)
{
	long ret = middle(nr, args);

	keep_frame();
	return ret;
}

int main(int argc, char **argv)
{
	const int sends = argc > 1 && !strcmp(argv[1], "sendto");
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(9) };
	const int fd = socket(AF_INET, sends ? SOCK_DGRAM : SOCK_STREAM, 0);
	const long connect_args[6] = { fd, (long)&addr, sizeof(addr) };
	const long sendto_args[6] = { fd, (long)"x", 1, 0, (long)&addr, sizeof(addr) };

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	outer(sends ? SYS_sendto : SYS_connect, sends ? sendto_args : connect_args);
	if (argc > 2)
		execv(argv[2], argv + 2);
	sleep(1);
	return 0;
}
