#include "kernel/probe.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "nfg_abi.h"

/* more than array_map_alloc_check of 5.10 takes, and no more than that: KMALLOC_MAX_SIZE is 4 MiB */
#define LARGE_ELEMENT_BYTES ((4u << 20) + 8)

static bool closes(int fd)
{
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

bool probe_fetching_atomics(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW,
		  .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_0,
		  .off = -8 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
		  .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_0,
		  .off = -8,
		  .imm = BPF_ADD | BPF_FETCH },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return closes(bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "nfg_probe", "GPL", insns,
				    sizeof(insns) / sizeof(insns[0]), NULL));
}

/* Probed once: the kernel clears the memory it allocates. */
bool probe_large_elements(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	static enum { NOT_ASKED, YES, NO } answer;

	if (answer == NOT_ASKED)
		answer = closes(bpf_map_create(BPF_MAP_TYPE_ARRAY, "nfg_probe", 4,
					       LARGE_ELEMENT_BYTES, 1, &opts))
				 ? YES
				 : NO;
	return answer == YES;
}

bool probe_bounded_cpu_id(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_smp_processor_id },
		{ .code = BPF_JMP | BPF_JGT | BPF_K,
		  .dst_reg = BPF_REG_0,
		  .off = 2,
		  .imm = NFG_CPU_CNT - 1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
		/* nothing has been put there, so only code that is never reached may take it */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_9 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return closes(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nfg_probe", "GPL", insns,
				    sizeof(insns) / sizeof(insns[0]), NULL));
}

/* An empty program. Return: its descriptor, the caller's, or -errno. */
static int load_as(enum bpf_prog_type type, uint32_t attach_type, uint32_t btf_id)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)attach_type,
		    .attach_btf_id = btf_id);

	return bpf_prog_load(type, "nfg_probe", "GPL", insns, 2, &opts);
}

bool probe_tracing_is_refused(uint32_t btf_id)
{
	int fd = load_as(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, btf_id);

	return !closes(fd) && fd == -EPERM;
}

bool probe_trampolines(uint32_t btf_id)
{
	int fd = load_as(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, btf_id);
	int link_fd;

	if (fd < 0)
		return true;
	link_fd = bpf_raw_tracepoint_open(NULL, fd);
	close(fd);
	return closes(link_fd) || link_fd != -ENOTSUPP_KERNEL;
}

bool probe_session(uint32_t btf_id)
{
	return closes(load_as(BPF_PROG_TYPE_TRACING, NFG_BPF_TRACE_FSESSION, btf_id));
}

/* Of union bpf_attr, as link_create has it. */
struct link_request {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	union {
		struct {
			uint32_t flags;
			uint32_t cnt;
			uint64_t syms;
			uint64_t addrs;
			uint64_t cookies;
		} kprobe;
		uint64_t multi[4]; /* ids, cookies, how many */
	};
};

/* Asks for a link that cannot exist. Return: the error, negative; 0: there is no such program. */
static int try_link(enum bpf_prog_type type, struct link_request *request)
{
	int prog_fd = load_as(type, request->attach_type, 0);
	int err;

	if (prog_fd < 0)
		return 0;
	request->prog_fd = (uint32_t)prog_fd;
	err = closes((int)syscall(SYS_bpf, BPF_LINK_CREATE, request, sizeof(*request))) ? 0
											: -errno;
	close(prog_fd);
	return err;
}

/* For no function: a kernel that only loads the programs returns EOPNOTSUPP. */
bool probe_multi(void)
{
	struct link_request request = {
		.attach_type = NFG_BPF_TRACE_FENTRY_MULTI,
		.multi = { UINT32_MAX },
	};

	return try_link(BPF_PROG_TYPE_TRACING, &request) == -EINVAL;
}

/* For an address that nobody can read: a kernel that does not know the attach type does not try to. */
static bool reads_addresses(uint32_t attach_type)
{
	struct link_request request = {
		.attach_type = attach_type,
		.kprobe = { .cnt = 1, .addrs = 1 },
	};

	return try_link(BPF_PROG_TYPE_KPROBE, &request) == -EFAULT;
}

bool probe_kprobe(void)
{
	return reads_addresses(NFG_BPF_TRACE_KPROBE_SESSION);
}

bool probe_kprobes(void)
{
	return reads_addresses(NFG_BPF_TRACE_KPROBE_MULTI);
}

bool probe_attach(enum attach_mode way, uint32_t btf_id)
{
	switch (way) {
	case ATTACH_MULTI:
		return probe_multi();
	case ATTACH_KPROBE:
		return probe_kprobe();
	case ATTACH_KPROBES:
		return probe_kprobes();
	case ATTACH_SESSION:
		return btf_id && probe_session(btf_id);
	default:
		return true;
	}
}
