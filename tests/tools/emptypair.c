// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor that no tracer of this kind can get below: programs that do nothing at the entry and the
 * exit of one kernel function.
 *
 *	emptypair FUNC COMMAND [ARG...]	by fentry and fexit
 *	emptypair -k FUNC COMMAND [ARG...]	by one program of kprobe.session
 *	emptypair -e FUNC COMMAND [ARG...]	the same, but its entry refuses the return, like that of a call out of scope
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/bpf.h>

#define KPROBE_SESSION 56 /* enum bpf_attach_type, 6.10 */

static struct bpf_insn insns[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
	{ .code = BPF_JMP | BPF_EXIT },
};

static int attach_empty(__u32 btf_id, enum bpf_attach_type type)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type,
		    .attach_btf_id = btf_id);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "empty", "GPL", insns, 2, &opts);

	return fd < 0 ? fd : bpf_raw_tracepoint_open(NULL, fd);
}

static int attach_pair(const char *func)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, func, BTF_KIND_FUNC) : -1;
	int fd = id < 0 ? id : attach_empty((__u32)id, BPF_TRACE_FEXIT);

	if (fd >= 0)
		fd = attach_empty((__u32)id, BPF_TRACE_FENTRY);
	btf__free(btf);
	return fd;
}

static int attach_session(const char *func)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)KPROBE_SESSION);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "empty", "GPL", insns, 2, &opts);
	union bpf_attr attr = {
		.link_create = {
			.prog_fd = (__u32)fd,
			.attach_type = KPROBE_SESSION,
			.kprobe_multi = { .cnt = 1, .syms = (uintptr_t)&func },
		},
	};

	return fd < 0 ? fd : (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

int main(int argc, char **argv)
{
	const int is_entry = argc > 1 && !strcmp(argv[1], "-e");
	const int is_session = is_entry || (argc > 1 && !strcmp(argv[1], "-k"));
	int status;
	pid_t pid;

	argc -= is_session;
	argv += is_session;
	insns[0].imm = is_entry;
	if (argc < 3)
		return 2;
	if ((is_session ? attach_session(argv[1]) : attach_pair(argv[1])) < 0) {
		perror("emptypair");
		return 1;
	}
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && !status ? 0 : 1;
}
