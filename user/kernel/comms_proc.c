/* What /proc says of a task at this moment. */
#include "kernel/comms.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* /proc/TID serves every thread, though it lists only leaders. */
size_t comms_read_proc(void *ctx, uint32_t tid, char comm[COMMS_BYTES])
{
	char text[COMMS_BYTES + 1];
	char path[32];
	ssize_t len;
	int fd;

	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text));
	close(fd);
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (len <= 0)
		return 0;
	if (len > COMMS_BYTES)
		len = COMMS_BYTES;
	memcpy(comm, text, (size_t)len);
	return (size_t)len;
}

uint32_t comms_read_proc_process(void *ctx, uint32_t tid)
{
	char text[1024];
	char path[32];
	const char *at;
	ssize_t len;
	int fd;

	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	at = strstr(text, "\nTgid:\t"); /* a name has its newlines escaped there */
	return at ? (uint32_t)strtoul(at + 7, NULL, 10) : 0;
}
