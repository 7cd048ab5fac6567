/* BPF programs as functions, on a host whose programs are this file. */
#include "kernel/bpfprog.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "fakekernel.h"
#include "kernel/proto.h"
#include "select/select.h"

/* ---- what the host has loaded ---- */

enum host_prog_kind { TRUSTED, UNTRUSTED, NO_BTF, NOT_JITED };

struct host_prog {
	uint32_t id;
	uint32_t type;
	const char *name;
	enum host_prog_kind kind;
};

static struct host_prog host[128];
static size_t host_cnt;
static bool may_not_look;

#define FD_BASE 1000 /* no descriptor of this process */

static const struct host_prog *prog_of(uint32_t fd)
{
	CHECK(fd >= FD_BASE && fd - FD_BASE < host_cnt);
	return &host[fd - FD_BASE];
}

int bpf_prog_get_next_id(__u32 id, __u32 *next)
{
	for (size_t i = 0; i < host_cnt && !may_not_look; i++) {
		if (host[i].id <= id)
			continue;
		*next = host[i].id;
		return 0;
	}
	return may_not_look ? -EPERM : -ENOENT;
}

int bpf_prog_get_fd_by_id(__u32 id)
{
	for (size_t i = 0; i < host_cnt; i++) {
		if (host[i].id == id)
			return FD_BASE + (int)i;
	}
	return -ENOENT;
}

/* A main function, which is type 4 of the program's BTF, and a subprogram, type 6. */
int bpf_obj_get_info_by_fd(int fd, void *out, __u32 *len)
{
	const struct host_prog *prog = prog_of((uint32_t)fd);
	struct bpf_prog_info *info = out;
	struct bpf_func_info *recs = (void *)(uintptr_t)info->func_info;

	CHECK(*len == sizeof(*info));
	if (recs && info->nr_func_info == 2) {
		recs[0].type_id = 4;
		recs[1].type_id = 6;
	}
	info->id = prog->id;
	info->type = prog->type;
	info->jited_prog_len = prog->kind == NOT_JITED ? 0 : 100;
	info->btf_id = prog->kind == NO_BTF ? 0 : prog->id;
	info->nr_func_info = prog->kind == NO_BTF ? 0 : 2;
	info->func_info_rec_size = sizeof(*recs);
	snprintf(info->name, sizeof(info->name), "%s", prog->name);
	return 0;
}

struct btf *btf__load_from_kernel_by_id(__u32 id)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int ctx = btf__add_ptr(btf, btf__add_struct(btf, "__sk_buff", 0));
	int proto;

	CHECK(number == 1 && ctx == 3);
	/* types are added in the order of their ids: the function's prototype comes behind it */
	CHECK(btf__add_func(btf, host[bpf_prog_get_fd_by_id(id) - FD_BASE].name, BTF_FUNC_GLOBAL,
			    5) == 4);
	proto = btf__add_func_proto(btf, number);
	CHECK(proto == 5 && !btf__add_func_param(btf, "skb", ctx));
	CHECK(btf__add_func(btf, "tcp_push", BTF_FUNC_STATIC, 5) == 6);
	return btf;
}

/* The probe at a function's exit reads what is behind its arguments, of which there is one. */
int bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
		  const struct bpf_insn *insns, size_t cnt, const struct bpf_prog_load_opts *opts)
{
	const enum host_prog_kind kind = prog_of(opts->attach_prog_fd)->kind;
	const unsigned int arg_cnt = kind == TRUSTED ? 1 : 5;

	(void)name;
	(void)license;
	CHECK(type == BPF_PROG_TYPE_TRACING && cnt == 3);
	return insns[0].off <= (int)(8 * arg_cnt) ? dup(0) : -EACCES;
}

static void load(uint32_t id, uint32_t type, const char *name, enum host_prog_kind kind)
{
	host[host_cnt++] = (struct host_prog){ id, type, name, kind };
}

static struct bpfprogs progs;

static void begin(void)
{
	host_cnt = 0;
	load(3, BPF_PROG_TYPE_XDP, "my_xdp", TRUSTED);
	load(4, BPF_PROG_TYPE_SCHED_CLS, "old_tc", NO_BTF);
	load(6, BPF_PROG_TYPE_TRACING, "a_tracer", TRUSTED);
	load(7, BPF_PROG_TYPE_CGROUP_SKB, "slow_egress", NOT_JITED);
	load(8, BPF_PROG_TYPE_SCHED_CLS, "my_tc", UNTRUSTED);
	fake_begin();
	fake_func("tcp_v4_rcv", FAKE_SKB);
	fake_func("tcp_push", FAKE_PLAIN);
	fake_func("kfree", FAKE_PLAIN);
	fake_end();
	CHECK(!bpfprogs_read(&progs, fake.kb));
}

static void end(void)
{
	bpfprogs_release(&progs);
	fake_release();
}

/* ---- the programs ---- */

TEST(programs_of_the_network_stack_are_functions)
{
	begin();
	CHECK(progs.cnt == 6);
	CHECK_STR(progs.funcs[0].func.name, "my_xdp");
	CHECK_STR(progs.funcs[0].func.module, "bpf:3");
	CHECK(progs.funcs[0].func.owner == KBTF_PROG_XDP && progs.funcs[0].prog_id == 3);
	CHECK_STR(progs.funcs[1].func.name, "tcp_push");
	CHECK(progs.funcs[1].func.owner == KBTF_SUBPROG && !progs.funcs[1].reason);
	CHECK_STR(progs.funcs[2].func.name, "old_tc");
	CHECK(strstr(progs.funcs[2].reason, "no type (BTF)"));
	CHECK(strstr(progs.funcs[3].reason, "interprets"));
	CHECK_STR(progs.funcs[4].func.module, "bpf:8");
	end();
}

TEST(new_programs_are_added)
{
	begin();
	CHECK(!bpfprogs_read(&progs, fake.kb) && progs.cnt == 6);
	load(9, BPF_PROG_TYPE_XDP, "new_xdp", TRUSTED);
	CHECK(!bpfprogs_read(&progs, fake.kb) && progs.cnt == 8);
	CHECK_STR(progs.funcs[6].func.name, "new_xdp");
	end();
}

TEST(without_the_right_to_look_there_are_none)
{
	may_not_look = true;
	begin();
	CHECK(!progs.cnt);
	may_not_look = false;
	end();
}

TEST(arguments_are_five_where_the_type_is_not_trusted)
{
	begin();
	CHECK(bpfprog_arg_cnt(&progs.funcs[0].func, 1) == 1);
	CHECK(bpfprog_arg_cnt(&progs.funcs[0].func, 2) == -EACCES);
	CHECK(bpfprog_arg_cnt(&progs.funcs[4].func, 1) == 5);
	end();
}

TEST(the_packet_is_the_context)
{
	begin();
	CHECK(kbtf_shape(fake.kb, &progs.funcs[4].func).arg_kind == NFG_ARG_SKB);
	CHECK(kbtf_shape(fake.kb, &progs.funcs[4].func).ret_kind == NFG_RET_NONE); /* no errno */
	CHECK(kbtf_shape(fake.kb, &progs.funcs[1].func).ret_kind == NFG_RET_INT);
	end();
}

/* ---- results ---- */

static const char *result(uint32_t func_id, struct proto_table *table, int value)
{
	static struct value out;
	const struct proto_style style = { .has_ret = true };

	CHECK(proto_ret(table, func_id, (uint32_t)value, &style, &out));
	return out.text.len ? out.text.ptr : "";
}

TEST(results_have_names)
{
	struct proto_table *table;

	begin();
	CHECK(!proto_table_new(&table));
	for (size_t i = 0; i < progs.cnt; i++)
		CHECK(!proto_table_add(table, fake.kb, &progs.funcs[i].func));
	CHECK(!strncmp(result(0, table, 2), "XDP_PASS", 8));
	CHECK_STR(result(1, table, 2), ""); /* a subprogram */
	CHECK(!strncmp(result(4, table, 2), "TC_ACT_SHOT", 11));
	CHECK(!strncmp(result(4, table, -1), "TC_ACT_UNSPEC", 13));
	CHECK_STR(result(4, table, 99), "");
	CHECK(table->enum_cnt == 2);
	proto_table_free(table);
	end();
}

TEST(kinds_of_programs)
{
	int value;

	CHECK(bpfprog_owner(BPF_PROG_TYPE_KPROBE) == KBTF_KERNEL);
	CHECK(bpfprog_owner(BPF_PROG_TYPE_EXT) == KBTF_KERNEL);
	CHECK(bpfprog_owner(BPF_PROG_TYPE_STRUCT_OPS) == KBTF_PROG);
	CHECK_STR(bpfprog_result(bpfprog_owner(BPF_PROG_TYPE_SK_MSG), 1, &value), "SK_PASS");
	CHECK(value == 1 && !bpfprog_result(KBTF_PROG, 0, &value));
	CHECK(bpfprog_is_module("bpf:12") && !bpfprog_is_module("bpfilter"));
}

/* ---- selection ---- */

static struct strbuf chosen;

static void verdict(void *ctx, const struct kbtf_func *func, const char *reason)
{
	(void)ctx;
	if (!reason)
		strbuf_printf(&chosen, "%s %s\n", func->name, func->module ? func->module : "-");
}

/* What a trace with these rules has, one a line with its module. */
static const char *selected(const char *trace, const char *notrace)
{
	const struct select_rules rules = { .trace = &trace,
					    .trace_cnt = trace != NULL,
					    .notrace = &notrace,
					    .notrace_cnt = notrace != NULL,
					    .progs = &progs,
					    .text = fake.kt,
					    .verdict = verdict };
	struct functab tab;

	strbuf_reset(&chosen);
	if (!select_funcs(&tab, &rules, fake.kb, fake.ks))
		functab_release(&tab);
	strbuf_char(&chosen, '\0');
	return chosen.ptr;
}

TEST(patterns_name_programs)
{
	begin();
	CHECK_STR(selected("my_* [bpf]", NULL), "my_xdp bpf:3\nmy_tc bpf:8\n");
	CHECK_STR(selected("* [bpf:8]", NULL), "my_tc bpf:8\ntcp_push bpf:8\n");
	CHECK_STR(selected("my_xdp", NULL), "my_xdp bpf:3\n");
	CHECK_STR(selected("tcp_push [bpf:3]", NULL), "tcp_push bpf:3\n");
	CHECK_STR(selected("kfree [bpf]", NULL), "");
	CHECK_STR(selected("old_tc", NULL), "");
	end();
	strbuf_release(&chosen);
}

TEST(programs_are_taken_where_packets_pass)
{
	begin();
	CHECK(strstr(selected(NULL, NULL), "my_xdp bpf:3\n"));
	CHECK_STR(selected(NULL, "* [bpf]"), "tcp_v4_rcv -\n");
	CHECK_STR(selected("kfree", NULL), "kfree -\n");
	CHECK(strstr(selected("+kfree", NULL), "my_tc bpf:8\n"));
	for (uint32_t id = 20; id < 80; id++)
		load(id, BPF_PROG_TYPE_XDP, "many", TRUSTED);
	CHECK(!bpfprogs_read(&progs, fake.kb));
	CHECK_STR(selected(NULL, NULL), "tcp_v4_rcv -\n"); /* too many */
	end();
	strbuf_release(&chosen);
}
