// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor that no tracer of this kind can get below: programs that do nothing at the entry and the
 * exit of one kernel function.
 *
 *	emptypair FUNC COMMAND [ARG...]
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/bpf.h>

static int attach_empty(__u32 btf_id, enum bpf_attach_type type)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type,
		    .attach_btf_id = btf_id);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "empty", "GPL", insns, 2, &opts);

	return fd < 0 ? fd : bpf_raw_tracepoint_open(NULL, fd);
}

int main(int argc, char **argv)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int status;
	pid_t pid;
	int id;

	if (argc < 3 || !btf)
		return 2;
	id = btf__find_by_name_kind(btf, argv[1], BTF_KIND_FUNC);
	if (id < 0 || attach_empty((__u32)id, BPF_TRACE_FEXIT) < 0 ||
	    attach_empty((__u32)id, BPF_TRACE_FENTRY) < 0) {
		perror("emptypair");
		return 1;
	}
	btf__free(btf);
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && !status ? 0 : 1;
}
