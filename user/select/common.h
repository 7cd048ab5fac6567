#ifndef NFG_SELECT_COMMON_H
#define NFG_SELECT_COMMON_H

#include <stdint.h>

/*
 * Functions that common traffic comes through. Where only so many functions can be attached, these are worth more than others
 * that are as near to a start function.
 */

/* Below which functions it was seen. */
enum common_below {
	COMMON_SEND = 1 << 0, /* send(), sendto(), sendmsg() */
	COMMON_WRITE = 1 << 1,
	COMMON_CONNECT = 1 << 2,
	COMMON_ACCEPT = 1 << 3,
	COMMON_RECEIVE = 1 << 4, /* recv(), recvfrom(), recvmsg() */
	COMMON_READ = 1 << 5,
	COMMON_SOFTIRQ = 1 << 6,
};

/* common_below - bits of enum common_below for the function @name; 0: common traffic does not come through it. */
uint32_t common_below(const char *name);

/*
 * common_datagram_calls - how often the kernel calls the function @name for one datagram that a task sends to a socket on the
 * same host and reads there; 0: not at all, as far as is known. At most: kernels differ.
 */
unsigned int common_datagram_calls(const char *name);

#endif
