/*
 * The BPF object, relocated by libbpf for kernels that lack something. This file plays the kernel: it replaces the
 * system call, takes the programs that libbpf would load, and looks for what the verifier would refuse.
 */
#include "attach/loader.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "fakekernel.h"
#include "harness.h"
#include "netfgraph.skel.h"

#define PROG_MAX 64
#define STEP_MAX 1000000

/* libbpf puts a call of this helper, which does not exist, in the place of what it cannot relocate. */
#define POISON 0xbad2310

static struct {
	char name[BPF_OBJ_NAME_LEN];
	struct bpf_insn *insns;
	uint32_t insn_cnt;
} progs[PROG_MAX];
static size_t prog_cnt;
static struct loader loader;
static int constants_fd; /* the map of .rodata, whose values the verifier knows */

/* ---- the kernel ---- */

static int map_create(const union bpf_attr *attr)
{
	int fd = memfd_create("map", 0);

	CHECK(fd >= 0);
	CHECK(!ftruncate(fd, (off_t)attr->value_size * attr->max_entries));
	if (strstr(attr->map_name, ".rodata"))
		constants_fd = fd;
	return fd;
}

static int map_update(const union bpf_attr *attr)
{
	struct stat st;

	CHECK(!fstat((int)attr->map_fd, &st));
	if ((int)attr->map_fd == constants_fd)
		CHECK(pwrite(constants_fd, (const void *)(uintptr_t)attr->value, (size_t)st.st_size,
			     0) == st.st_size);
	return 0;
}

static int prog_load(const union bpf_attr *attr)
{
	size_t bytes = attr->insn_cnt * sizeof(struct bpf_insn);

	CHECK(prog_cnt < PROG_MAX);
	memcpy(progs[prog_cnt].name, attr->prog_name, sizeof(progs[prog_cnt].name));
	progs[prog_cnt].insns = malloc(bytes);
	CHECK(progs[prog_cnt].insns);
	memcpy(progs[prog_cnt].insns, (const void *)(uintptr_t)attr->insns, bytes);
	progs[prog_cnt++].insn_cnt = attr->insn_cnt;
	return dup(0);
}

long syscall(long nr, ...)
{
	const union bpf_attr *attr;
	va_list ap;
	int cmd;

	va_start(ap, nr);
	cmd = va_arg(ap, int);
	attr = va_arg(ap, const union bpf_attr *);
	va_end(ap);
	if (nr == SYS_bpf && cmd == BPF_MAP_CREATE)
		return map_create(attr);
	if (nr == SYS_bpf && cmd == BPF_MAP_UPDATE_ELEM)
		return map_update(attr);
	if (nr == SYS_bpf && cmd == BPF_PROG_LOAD)
		return prog_load(attr);
	if (nr == SYS_bpf && cmd == BPF_BTF_LOAD)
		return dup(0);
	if (nr == SYS_bpf && cmd == BPF_MAP_FREEZE)
		return 0;
	errno = EINVAL;
	return -1;
}

/* ---- its types ---- */

static int new_struct(const char *name)
{
	int id = btf__add_struct(fake.btf, name, 256);

	CHECK(id > 0);
	return id;
}

/* With one member, a pointer to @to. Return: a pointer to it. */
static int new_link(const char *name, const char *member, int to)
{
	int id = new_struct(name);

	CHECK(!btf__add_field(fake.btf, member, to, 0, 0));
	return btf__add_ptr(fake.btf, id);
}

static void add_tracepoints(int to)
{
	EACH_PART(
		name,
		"btf_trace_sched_wakeup_new; btf_trace_task_rename; btf_trace_sched_process_exec; "
		"btf_trace_sched_process_exit")
		CHECK(btf__add_typedef(fake.btf, name, to) > 0);
}

/* What the programs read of a task, but for @missing. */
static void add_types(const char *missing)
{
	int word = btf__add_int(fake.btf, "unsigned int", 4, 0);
	int number = btf__add_int(fake.btf, "unsigned long long", 8, 0);
	int letter = btf__add_int(fake.btf, "char", 1, BTF_INT_SIGNED);
	int comm = btf__add_array(fake.btf, word, letter, 16);
	int ns = new_struct("ns_common");
	int node, group, set, net, proxy;

	btf__add_field(fake.btf, "inum", word, 0, 0);
	net = new_link("net", "ns", ns);
	proxy = new_link("nsproxy", "net_ns", net);
	new_struct("kernfs_node");
	btf__add_field(fake.btf, "id", number, 0, 0);
	node = btf__add_ptr(fake.btf, btf__find_by_name(fake.btf, "kernfs_node"));
	group = new_link("cgroup", "kn", node);
	set = new_link("css_set", "dfl_cgrp", group);
	new_struct("task_struct");
	const struct {
		const char *name;
		int type;
	} members[] = {
		{ "__state", word }, { "flags", word },    { "pid", word },    { "tgid", word },
		{ "comm", comm },    { "nsproxy", proxy }, { "cgroups", set },
	};

	for (uint32_t i = 0; i < CNT_OF(members); i++) {
		if (strcmp(members[i].name, missing) != 0)
			CHECK(!btf__add_field(fake.btf, members[i].name, members[i].type, i * 128,
					      0));
	}
	add_tracepoints(btf__add_ptr(fake.btf, 0));
}

static void load_without(const char *missing)
{
	const struct kernel_ids ids = { .template_func = 1 };

	fake_begin();
	fake_func("inet_getname", FAKE_PLAIN);
	add_types(missing);
	fake_end();
	CHECK(!loader_open(&loader, fake.kb, &ids));
	loader.skel->rodata->cfg.comm_glob_cnt = 1; /* so that a task's name is read at exec */
	CHECK(!bpf_program__set_autoload(loader.skel->progs.task_exec_1, true));
	prog_cnt = 0;
	CHECK(!loader_load(&loader));
}

static void unload(void)
{
	loader_close(&loader);
	fake_release();
	while (prog_cnt)
		free(progs[--prog_cnt].insns);
}

/* ---- its verifier ---- */

struct reg {
	enum {
		UNKNOWN,
		NUMBER,
		CONSTANTS, /* a place in .rodata */
	} what;
	int64_t value;
};

struct path {
	const struct bpf_insn *insns;
	uint32_t insn_cnt;
	uint32_t at;
	struct reg regs[BPF_REG_10 + 1];
};

static int step_cnt;

static struct reg load(const struct path *path, const struct bpf_insn *insn)
{
	static const uint8_t bytes[] = { 4, 2, 1, 8 };
	const struct reg *from = &path->regs[insn->src_reg];
	struct reg reg = { .what = NUMBER };
	size_t size = bytes[BPF_SIZE(insn->code) >> 3];

	if (from->what != CONSTANTS)
		return (struct reg){ 0 };
	CHECK(pread(constants_fd, &reg.value, size, from->value + insn->off) == (ssize_t)size);
	return reg;
}

static struct reg compute(const struct path *path, const struct bpf_insn *insn)
{
	const struct reg number = { .what = NUMBER, .value = insn->imm };
	const struct reg *b = BPF_SRC(insn->code) == BPF_X ? &path->regs[insn->src_reg] : &number;
	struct reg a = path->regs[insn->dst_reg];

	if (BPF_OP(insn->code) == BPF_MOV)
		return *b;
	if (a.what != NUMBER || b->what != NUMBER)
		return (struct reg){ 0 };
	switch (BPF_OP(insn->code)) {
	case BPF_AND:
		a.value &= b->value;
		return a;
	case BPF_ADD:
		a.value += b->value;
		return a;
	default:
		return (struct reg){ 0 };
	}
}

/* Whether the jump is certain, and then to where. */
static bool is_decided(const struct path *path, const struct bpf_insn *insn, bool *is_taken)
{
	const struct reg *a = &path->regs[insn->dst_reg];

	*is_taken = true;
	if (BPF_OP(insn->code) == BPF_JA)
		return true;
	if (a->what != NUMBER)
		return false;
	if (BPF_SRC(insn->code) == BPF_X) {
		const struct reg *b = &path->regs[insn->src_reg];

		*is_taken = a->value < b->value;
		return b->what == NUMBER && BPF_OP(insn->code) == BPF_JLT;
	}
	*is_taken = (a->value == insn->imm) == (BPF_OP(insn->code) == BPF_JEQ);
	return BPF_OP(insn->code) == BPF_JEQ || BPF_OP(insn->code) == BPF_JNE;
}

static void run_insn(struct path *path, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LD: /* of 64 bits, in two instructions */
		path->regs[insn->dst_reg] =
			insn->src_reg == BPF_PSEUDO_MAP_VALUE && insn->imm == constants_fd
				? (struct reg){ CONSTANTS, insn[1].imm }
				: (struct reg){ 0 };
		path->at++;
		break;
	case BPF_LDX:
		path->regs[insn->dst_reg] = load(path, insn);
		break;
	case BPF_ALU:
	case BPF_ALU64:
		path->regs[insn->dst_reg] = compute(path, insn);
		break;
	case BPF_JMP: /* a call */
		memset(path->regs, 0, (BPF_REG_5 + 1) * sizeof(path->regs[0]));
		break;
	}
}

/* Whether a path from here leads to what libbpf could not relocate. */
static bool is_refused(struct path path)
{
	while (path.at < path.insn_cnt) {
		const struct bpf_insn *insn = &path.insns[path.at];
		uint8_t class = BPF_CLASS(insn->code);
		bool is_call = insn->code == (BPF_JMP | BPF_CALL);
		bool is_taken;

		CHECK(step_cnt++ < STEP_MAX);
		CHECK(!is_call || insn->src_reg != BPF_PSEUDO_CALL);
		if (is_call && insn->imm == POISON)
			return true;
		if (insn->code == (BPF_JMP | BPF_EXIT))
			return false;
		if ((class == BPF_JMP || class == BPF_JMP32) && !is_call) {
			bool is_known = is_decided(&path, insn, &is_taken);
			struct path other = path;

			other.at += 1 + (uint32_t)insn->off;
			if (!is_known && is_refused(other))
				return true;
			if (is_known && is_taken)
				path.at = other.at - 1;
		} else {
			run_insn(&path, insn);
		}
		path.at++;
	}
	return false;
}

static bool is_prog_refused(const char *name)
{
	for (size_t i = 0; i < prog_cnt; i++) {
		if (strcmp(progs[i].name, name) != 0)
			continue;
		step_cnt = 0;
		return is_refused(
			(struct path){ .insns = progs[i].insns, .insn_cnt = progs[i].insn_cnt });
	}
	CHECK(!"libbpf loads no such program");
}

/* ---- what every kernel has to load ---- */

static const char *const always[] = { "gate_sync", "task_born", "task_renamed", "task_exec_1",
				      "task_exit" };

static void check_without(const char *missing, size_t from, bool is_refused)
{
	load_without(missing);
	for (size_t i = from; i < CNT_OF(always); i++)
		CHECK(is_prog_refused(always[i]) == is_refused);
	unload();
}

TEST_ONE(programs_load_on_a_kernel_that_has_all, check_without("nothing", 0, false));
TEST_ONE(what_no_kernel_lacks_is_not_asked_for, check_without("comm", 1, true));
/* CONFIG_CGROUPS=n */
TEST_ONE(programs_load_on_a_kernel_without_cgroups, check_without("cgroups", 0, false));
