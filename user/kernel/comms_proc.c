/* What /proc says of a task at this moment. */
#include "kernel/comms.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* /proc/TID serves every thread, though it lists only leaders. Return: how many bytes of its @file were read. */
static size_t read_of(uint32_t tid, const char *file, char *text, size_t size)
{
	char path[32];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", tid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, size);
	close(fd);
	return len > 0 ? (size_t)len : 0;
}

size_t comms_read_proc(void *ctx, uint32_t tid, char comm[COMMS_BYTES])
{
	char text[COMMS_BYTES + 1];
	size_t len = read_of(tid, "comm", text, sizeof(text));

	(void)ctx;
	if (len && text[len - 1] == '\n')
		len--;
	if (len > COMMS_BYTES)
		len = COMMS_BYTES;
	memcpy(comm, text, len);
	return len;
}

uint32_t comms_read_proc_process(void *ctx, uint32_t tid)
{
	char text[1024];
	const char *at;

	(void)ctx;
	text[read_of(tid, "status", text, sizeof(text) - 1)] = '\0';
	at = strstr(text, "\nTgid:\t"); /* a name has its newlines escaped there */
	return at ? (uint32_t)strtoul(at + 7, NULL, 10) : 0;
}
