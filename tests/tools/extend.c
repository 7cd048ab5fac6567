// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replace a function of a loaded BPF program (freplace) until standard input ends.
 *
 *	extend OBJECT PINNED-PROGRAM FUNCTION
 *
 * OBJECT's only program takes its place. It says "replaced", or why it cannot be, with status 1.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int no_words(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static int cannot(const char *what, long err)
{
	printf("cannot %s: %s\n", what, strerror((int)-err));
	return 1;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	struct bpf_program *prog;
	struct bpf_link *link;
	char c;
	int fd;
	int err;

	if (argc != 4)
		return 2;
	libbpf_set_print(no_words);
	fd = bpf_obj_get(argv[2]);
	object = bpf_object__open(argv[1]);
	prog = object ? bpf_object__next_program(object, NULL) : NULL;
	if (fd < 0 || !prog)
		return cannot("open", -errno);
	err = bpf_program__set_attach_target(prog, fd, argv[3]);
	if (!err)
		err = bpf_object__load(object);
	if (err)
		return cannot("load", err);
	link = bpf_program__attach_freplace(prog, 0, NULL);
	if (!link)
		return cannot("replace", -errno);
	puts("replaced");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
