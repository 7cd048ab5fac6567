/* BPF programs as functions, and those that come and go, on a host whose programs are this file. */
#include "kernel/bpfprog.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "base/log.h"
#include "fakekernel.h"
#include "kernel/probe.h"
#include "kernel/proto.h"
#include "kernel/release.h"
#include "options/opts.h"
#include "report/pipeline.h"
#include "scratch.h"
#include "select/select.h"
#include "session/progwatch.h"
#include "words.h"

/* ---- what the host has loaded ---- */

enum host_prog_kind { TRUSTED, UNTRUSTED, NO_BTF, NOT_JITED, BAD_BTF, OFFLOADED };

struct host_prog {
	uint32_t id;
	uint32_t type;
	const char *name;
	enum host_prog_kind kind;
	uint32_t btf_id;   /* 0: as id */
	uint32_t func_cnt; /* 0: two */
	uint32_t attach_type;
};

/* What the iterator gives to read. */
struct held_rec {
	uint64_t id, ref_cnt, attach_type;
};

static struct host_prog host[128];
static size_t host_cnt;
static bool may_not_look;
static size_t fd_max = CNT_OF(host); /* no more of its programs can be opened */
static unsigned int btf_load_cnt;
static bool has_ret_code;
static bool is_old_kernel;
static bool has_iterator; /* its types; then the file gives what the host has loaded */

#define FD_BASE 1000 /* no descriptor of this process */

static const struct host_prog *prog_of(uint32_t fd)
{
	CHECK(fd >= FD_BASE && fd - FD_BASE < host_cnt);
	return &host[fd - FD_BASE];
}

bool release_has(enum release_fact fact)
{
	return fact != RELEASE_VERIFIES_AT_STRUCT_OPS || !is_old_kernel;
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
			return i < fd_max ? FD_BASE + (int)i : -EMFILE;
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
	for (uint32_t i = 0; recs && i < info->nr_func_info; i++)
		recs[i].type_id = i ? 6 : 4;
	info->id = prog->id;
	info->type = prog->type;
	info->jited_prog_len = prog->kind == NOT_JITED || prog->kind == OFFLOADED ? 0 : 100;
	info->ifindex = prog->kind == OFFLOADED ? 2 : 0;
	info->btf_id = prog->kind == NO_BTF ? 0 : prog->btf_id ? prog->btf_id : prog->id;
	info->nr_func_info = prog->kind == NO_BTF ? 0 : prog->func_cnt ? prog->func_cnt : 2;
	info->func_info_rec_size = sizeof(*recs);
	snprintf(info->name, sizeof(info->name), "%s", prog->name);
	return 0;
}

struct btf *btf__load_from_kernel_by_id(__u32 id)
{
	const struct host_prog *prog = &host[bpf_prog_get_fd_by_id(id) - FD_BASE];
	struct btf *btf;
	int number, ctx, proto;

	btf_load_cnt++;
	if (prog->kind == BAD_BTF) {
		errno = EBADMSG;
		return NULL;
	}
	btf = btf__new_empty();
	number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	ctx = btf__add_ptr(btf, btf__add_struct(btf, "__sk_buff", 0));
	CHECK(number == 1 && ctx == 3);
	/* types are added in the order of their ids: the function's prototype comes behind it */
	CHECK(btf__add_func(btf, prog->name, BTF_FUNC_GLOBAL, 5) == 4);
	proto = btf__add_func_proto(btf, number);
	CHECK(proto == 5 && !btf__add_func_param(btf, "skb", ctx));
	CHECK(btf__add_func(btf, "tcp_push", BTF_FUNC_STATIC, 5) == 6);
	return btf;
}

/* The probe at a function's exit reads what is behind its arguments, of which there is one. */
int bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
		  const struct bpf_insn *insns, size_t cnt, const struct bpf_prog_load_opts *opts)
{
	unsigned int arg_cnt;

	(void)name;
	(void)license;
	if (opts->expected_attach_type == BPF_TRACE_ITER)
		return dup(0);
	arg_cnt = prog_of(opts->attach_prog_fd)->kind == TRUSTED ? 1 : 5;
	CHECK(type == BPF_PROG_TYPE_TRACING && cnt == 3);
	return insns[0].off <= (int)(8 * arg_cnt) ? dup(0) : -EACCES;
}

int bpf_link_create(int prog_fd, int target_fd, enum bpf_attach_type type,
		    const struct bpf_link_create_opts *opts)
{
	(void)target_fd;
	(void)opts;
	CHECK(type == BPF_TRACE_ITER);
	return dup(prog_fd);
}

static void load(uint32_t id, uint32_t type, const char *name, enum host_prog_kind kind)
{
	host[host_cnt++] = (struct host_prog){ id, type, name, kind };
}

static struct bpfprogs progs;

static void add_iterator(void)
{
	const int word = btf__add_int(fake.btf, "long", 8, BTF_INT_SIGNED);
	const int number = btf__find_by_name(fake.btf, "int");

	btf__add_struct(fake.btf, "bpf_prog", 16);
	btf__add_field(fake.btf, "aux", word, 0, 0);
	btf__add_field(fake.btf, "type", number, 64, 0);
	btf__add_field(fake.btf, "expected_attach_type", number, 96, 0);
	btf__add_struct(fake.btf, "bpf_prog_aux", 24);
	btf__add_field(fake.btf, "refcnt", word, 0, 0);
	btf__add_field(fake.btf, "id", number, 64, 0);
	btf__add_field(fake.btf, "name", word, 128, 0);
	fake_func("bpf_iter_bpf_prog", FAKE_PLAIN);
}

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
	if (has_ret_code) {
		btf__add_enum(fake.btf, "bpf_ret_code", 4);
		btf__add_enum_value(fake.btf, "BPF_OK", 0);
		btf__add_enum_value(fake.btf, "BPF_DROP", 2);
	}
	if (has_iterator)
		add_iterator();
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

/* Of a program in a network device the kernel tells no length of compiled code, either. */
TEST(a_program_of_a_device_runs_on_no_cpu)
{
	begin();
	load(9, BPF_PROG_TYPE_XDP, "card_xdp", OFFLOADED);
	CHECK(!bpfprogs_read(&progs, fake.kb) && progs.cnt == 7);
	CHECK_STR(progs.funcs[6].func.name, "card_xdp");
	CHECK_STR(progs.funcs[6].reason,
		  "this BPF program runs on its network device (offload), not on this host's CPUs");
	end();
}

/* There a probe would be an oops. */
TEST(a_kernel_that_would_crash_is_not_tried)
{
	for (int is_old = 0; is_old <= 1; is_old++) {
		is_old_kernel = is_old;
		begin();
		load(9, BPF_PROG_TYPE_STRUCT_OPS, "my_cong_avoid", UNTRUSTED);
		CHECK(!bpfprogs_read(&progs, fake.kb) && progs.cnt == (is_old ? 7 : 8));
		CHECK_STR(progs.funcs[6].func.name, "my_cong_avoid");
		CHECK(is_old ? strstr(progs.funcs[6].reason, "before 5.18") != NULL
			     : !progs.funcs[6].reason);
		end();
	}
	is_old_kernel = false;
}

/* libbpf gives all programs of an object the same types. */
TEST(types_are_read_once)
{
	begin();
	btf_load_cnt = 0;
	for (uint32_t id = 20; id < 30; id++) {
		load(id, BPF_PROG_TYPE_XDP, "of_one_object", TRUSTED);
		host[host_cnt - 1].btf_id = 20;
	}
	CHECK(!bpfprogs_read(&progs, fake.kb) && progs.cnt == 6 + 20 && btf_load_cnt == 1);
	CHECK(kbtf_shape(fake.kb, &progs.funcs[24].func).arg_kind == NFG_ARG_SKB);
	end();
}

TEST(types_that_cannot_be_read_are_a_reason)
{
	begin();
	load(9, BPF_PROG_TYPE_XDP, "bad_xdp", BAD_BTF);
	CHECK(!bpfprogs_read(&progs, fake.kb) && progs.cnt == 7);
	CHECK_STR(progs.funcs[6].func.name, "bad_xdp");
	CHECK_STR(progs.funcs[6].func.module, "bpf:9");
	CHECK_STR(progs.funcs[6].reason, "its types (BTF) cannot be read: Bad message");
	CHECK(progs.funcs[6].prog_id == 9 && progs.funcs[6].func.owner == KBTF_PROG_XDP);
	end();
}

/* Then the others are no programs either: there would be no descriptors for anything else. */
TEST(too_many_to_open_are_an_error)
{
	begin();
	for (uint32_t id = 20; id < 40; id++)
		load(id, BPF_PROG_TYPE_XDP, "many", TRUSTED);
	fd_max = 15;
	CHECK(bpfprogs_read(&progs, fake.kb) == -EMFILE && progs.cnt == 6 + 20);
	bpfprogs_give_up(&progs, fake.kb, "too many");
	CHECK_STR(progs.funcs[0].reason, "too many");
	CHECK(strstr(progs.funcs[2].reason, "no type (BTF)"));
	bpfprogs_forget(&progs);
	fd_max = CNT_OF(host);
	CHECK(bpfprogs_read_next(&progs, fake.kb) == 1 && progs.cnt == 2);
	CHECK_STR(progs.funcs[0].func.module, "bpf:30");
	end();
}

/* strerror() would make the text of a number that it does not know anew each time. */
TEST(refusals_are_never_freed)
{
	CHECK(strstr(bpfprog_refusal(-ENOTSUPP_KERNEL), "do not support"));
	CHECK(bpfprog_refusal(-9999) == bpfprog_refusal(-9998));
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
	CHECK(bpfprog_owner(BPF_PROG_TYPE_LWT_OUT) == KBTF_PROG_RET);
	CHECK(bpfprog_owner(BPF_PROG_TYPE_SOCKET_FILTER) == KBTF_PROG);
	CHECK_STR(bpfprog_result(bpfprog_owner(32), 1, &value), "NF_ACCEPT"); /* netfilter */
	CHECK_STR(bpfprog_result(bpfprog_owner(BPF_PROG_TYPE_CGROUP_SOCKOPT), 0, &value), "deny");
	CHECK_STR(bpfprog_result(bpfprog_owner(BPF_PROG_TYPE_CGROUP_SOCK), 1, &value), "allow");
	CHECK_STR(bpfprog_result(bpfprog_owner(BPF_PROG_TYPE_SK_MSG), 1, &value), "SK_PASS");
	CHECK(value == 1 && !bpfprog_result(KBTF_PROG, 0, &value));
	CHECK(bpfprog_is_module("bpf:12") && !bpfprog_is_module("bpfilter"));
}

/* Its main function and its subprograms get a struct bpf_flow_dissector for what they call a packet. */
TEST(a_flow_dissector_has_no_packet)
{
	begin();
	load(9, BPF_PROG_TYPE_FLOW_DISSECTOR, "my_dissector", TRUSTED);
	CHECK(!bpfprogs_read(&progs, fake.kb) && progs.cnt == 8);
	for (size_t i = 6; i < 8; i++) {
		CHECK(kbtf_shape(fake.kb, &progs.funcs[i].func).arg_kind == NFG_ARG_NONE);
		CHECK(!kbtf_shape(fake.kb, &progs.funcs[i].func).skb_arg);
	}
	CHECK(kbtf_shape(fake.kb, &progs.funcs[1].func).arg_kind == NFG_ARG_SKB);
	end();
}

/* Only a parser's result is a length, and the kernel knows which one was loaded as a parser. */
TEST(a_stream_parser_gives_no_verdict)
{
	for (int has = 0; has <= 1; has++) {
		has_iterator = has;
		begin();
		load(9, BPF_PROG_TYPE_SK_SKB, "my_parser", TRUSTED);
		host[host_cnt - 1].attach_type = BPF_SK_SKB_STREAM_PARSER;
		load(10, BPF_PROG_TYPE_SK_SKB, "my_verdict", TRUSTED);
		host[host_cnt - 1].attach_type = BPF_SK_SKB_STREAM_VERDICT;
		CHECK(!bpfprogs_read(&progs, fake.kb) && progs.cnt == 10);
		CHECK(progs.funcs[6].func.owner == (has ? KBTF_PROG : KBTF_PROG_SK));
		CHECK(progs.funcs[8].func.owner == KBTF_PROG_SK);
		end();
	}
	has_iterator = false;
}

/* Those of LWT are the kernel's own, where its types have them. */
TEST(results_of_lwt_are_the_kernels)
{
	struct kbtf_func func;
	struct proto_table *table;

	for (int has = 0; has <= 1; has++) {
		has_ret_code = has;
		begin();
		func = progs.funcs[4].func;
		func.owner = KBTF_PROG_RET;
		CHECK(!proto_table_new(&table) && !proto_table_add(table, fake.kb, &func));
		CHECK(has ? !strncmp(result(0, table, 2), "BPF_DROP", 8) : !*result(0, table, 2));
		CHECK(table->enum_cnt == (uint32_t)has);
		CHECK_STR(result(0, table, 1), "");
		proto_table_free(table);
		end();
	}
	has_ret_code = false;
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

/* ---- programs that come and go ---- */

static struct functab tab;
static struct opts opts;
static struct details details;
static struct facts facts;
static struct progwatch watch;
static uint8_t *start_kinds;
static struct starts *starts;
static uint64_t now_ns;
static bool excludes_progs, refuses_progs;
static size_t left_out_cnt;
static int iter_fd; /* what the iterator gives to read, or -errno */

bool attach_takes_progs(const struct attach *at)
{
	return !excludes_progs;
}

int attach_add_progs(struct attach *at, const struct bpfobj *obj, struct functab *to, size_t first,
		     const volatile int *stop_cnt)
{
	for (size_t i = first; i < to->cnt; i++)
		to->funcs[i].is_attached = !refuses_progs;
	return 0;
}

size_t attach_own_link_cnt(const struct attach *at)
{
	return 2;
}

int attach_leave_out(struct attach *at, const struct bpfobj *obj, struct functab *of,
		     const uint32_t *ids, size_t cnt, const volatile int *stop_cnt)
{
	for (size_t i = 0; i < cnt; i++)
		of->funcs[ids[i]].is_attached = false;
	left_out_cnt += cnt;
	return 0;
}

/* All programs of the host, each with one reference. */
static int host_holders(void)
{
	int ends[2];

	CHECK(!pipe(ends));
	for (size_t i = 0; i < host_cnt; i++) {
		const struct held_rec rec = { .id = host[i].id,
					      .ref_cnt = 2,
					      .attach_type = host[i].attach_type };

		CHECK(write(ends[1], &rec, sizeof(rec)) == sizeof(rec));
	}
	close(ends[1]);
	return ends[0];
}

int bpf_iter_create(int link_fd)
{
	return has_iterator ? host_holders() : iter_fd;
}

/* A sink has new functions before their first event can come. */
static size_t told_cnt;

static void be_told(struct sink *sink)
{
	(void)sink;
	CHECK(!tab.funcs[tab.cnt - 1].is_attached);
	CHECK(!details.protos || details.protos->cnt == tab.cnt);
	told_cnt = tab.cnt;
}

static const struct sink_ops told_ops = { .added = be_told };
static struct sink told_sink = { .ops = &told_ops };

/* A trace of these options begins beside the programs of begin(). */
static void watch_begin(const char *line)
{
	const struct progwatch_config config = {
		.opts = &opts,
		.functab = &tab,
		.facts = &facts,
		.details = &details,
		.sink = &told_sink,
	};
	struct select_rules rules;
	struct details_want want;

	begin();
	opts = opts_of(line);
	want = wants_details(&opts);
	rules = (struct select_rules){ .trace = opts.trace_funcs.items,
				       .trace_cnt = opts.trace_funcs.cnt,
				       .progs = &progs,
				       .text = fake.kt };
	CHECK(!select_funcs(&tab, &rules, fake.kb, fake.ks) && progwatch_follows(&opts));
	CHECK(!progwatch_make_room(&tab) && !details_init(&details, &want, NULL));
	CHECK(!details_funcs(&details, &tab, fake.kb));
	CHECK(!start_setup_check_filter(&opts, &tab, details.protos, fake.kb));
	CHECK(!start_setup_new(&starts, &start_kinds, &opts, &tab, NULL));
	facts = (struct facts){ .kbtf = fake.kb, .progs = progs };
	listen_begin();
	CHECK(!progwatch_init(&watch, &config));
	watch.config.start_kinds = start_kinds;
	now_ns = watch.next_ns;
	CHECK(!progwatch_tick(&watch, now_ns));
	log_set_verbosity(1);
}

static void watch_end(void)
{
	listen_end();
	progwatch_release(&watch);
	details_release(&details);
	functab_release(&tab);
	starts_free(starts);
	free(start_kinds);
	opts_release(&opts);
	progs = facts.progs;
	end();
}

/* The next pass of the loop, or the first one of the next second. */
static size_t pass(uint64_t after_ns)
{
	const size_t before_cnt = tab.cnt;

	now_ns += after_ns;
	CHECK(!progwatch_tick(&watch, now_ns));
	return tab.cnt - before_cnt;
}

TEST(programs_that_appear_are_taken_bit_by_bit)
{
	size_t cnt = 0;

	watch_begin("-T '* [bpf]'");
	for (uint32_t id = 20; id < 40; id++)
		load(id, BPF_PROG_TYPE_XDP, "new_xdp", TRUSTED);
	host[host_cnt - 1].func_cnt = 11;
	CHECK(!pass(999999999));
	for (size_t taken_cnt = pass(1); taken_cnt; taken_cnt = pass(1)) {
		CHECK(taken_cnt <= 4);
		cnt += taken_cnt;
	}
	CHECK(cnt == 38 + 11);
	watch_end();
	CHECK(strstr(said, "'new_xdp' [bpf:39] is traced from here on\n"));
}

TEST(a_recording_takes_programs_that_appear)
{
	EACH_PART(line, "record -o f -T '* [bpf]'; record -o d --ring 16M --when 'my_xdp > 1ms' "
			"-T '* [bpf]' --graph-opts args") {
		watch_begin(line);
		load(20, BPF_PROG_TYPE_XDP, "new_xdp", TRUSTED);
		CHECK(pass(1000000000) == 2 && told_cnt == tab.cnt);
		watch_end();
		CHECK(strstr(said, "'new_xdp' [bpf:20] is traced from here on\n"));
	}
}

TEST(all_the_room_is_taken_once)
{
	watch_begin("-T '* [bpf]'");
	for (uint32_t id = 20; id < 100; id++)
		load(id, BPF_PROG_TYPE_XDP, "new_xdp", TRUSTED);
	for (int i = 0; i < 200; i++)
		pass(1000000000);
	CHECK(tab.cnt == tab.room && !watch.follows);
	watch_end();
	CHECK(strstr(said, "not traced from here on: a trace takes 128 functions of them\n"));
}

/* Their types would stay as long as the trace runs. */
TEST(nothing_stays_of_programs_that_are_not_asked_for)
{
	watch_begin("-T 'my_* [bpf]'");
	btf_load_cnt = 0;
	for (uint32_t id = 20; id < 30; id++) {
		load(id, BPF_PROG_TYPE_XDP, id % 2 ? "my_xdp" : "other_xdp", TRUSTED);
		host[host_cnt - 1].btf_id = id % 2 ? 21 : 20;
	}
	for (int i = 0; i < 20; i++)
		pass(1000000000);
	CHECK(tab.cnt == 2 + 5 && !facts.progs.cnt && !facts.progs.name_cnt);
	CHECK(btf_load_cnt == 5 + 1);
	watch_end();
}

TEST(refused_programs_are_not_said_to_be_traced)
{
	watch_begin("-T '* [bpf]'");
	refuses_progs = true;
	load(20, BPF_PROG_TYPE_XDP, "new_xdp", TRUSTED);
	CHECK(pass(1000000000) == 2);
	watch_end();
	CHECK(!strstr(said, "is traced"));
}

TEST(programs_that_appear_open_the_graph)
{
	watch_begin("-T '* [bpf]' --filter 'retval == 1'");
	load(20, BPF_PROG_TYPE_XDP, "new_xdp", TRUSTED);
	CHECK(pass(1000000000) == 2);
	for (size_t i = tab.cnt - 2; i < tab.cnt; i++)
		CHECK(tab.funcs[i].fits_filter && tab.funcs[i].is_start && start_kinds[i]);
	watch_end();
}

TEST(a_trace_that_excludes_them_says_so)
{
	excludes_progs = true;
	watch_begin("-T '* [bpf]'");
	load(20, BPF_PROG_TYPE_XDP, "new_xdp", TRUSTED);
	CHECK(!pass(1000000000));
	watch_end();
	CHECK(strstr(said, "new BPF programs are not traced: "));
}

/* A table of @cnt functions has room up to the ids that mean something else. */
TEST(room_ends_where_ids_end)
{
	tab = (struct functab){ .funcs = calloc(65500, sizeof(struct func)), .cnt = 65500 };
	CHECK(!progwatch_make_room(&tab) && tab.room == NFG_FUNC_CNT);
	tab.cnt = tab.room;
	CHECK(!progwatch_make_room(&tab) && functab_max(&tab) == NFG_FUNC_CNT);
	functab_release(&tab);
}

/* How many references programs 3 and 8 have, and the iterator's. */
static void holders(uint64_t of_3, uint64_t of_8)
{
	const struct held_rec recs[] = { { 3, of_3 + 1, 0 }, { 8, of_8 + 1, 0 } };
	int ends[2];

	CHECK(!pipe(ends) && write(ends[1], recs, sizeof(recs)) == sizeof(recs));
	close(ends[1]);
	iter_fd = ends[0];
}

/* Two functions of each with two links. */
TEST(programs_that_only_we_hold_are_let_go)
{
	watch_begin("-T '* [bpf]'");
	CHECK(tab.cnt == 4);
	for (size_t i = 0; i < tab.cnt; i++)
		tab.funcs[i].is_attached = true;
	watch.holders_fd = dup(0);
	holders(5, 4);
	pass(1000000000);
	CHECK(left_out_cnt == 2 && tab.funcs[0].is_attached && !tab.funcs[3].is_attached);
	for (int i = 0; i < 5; i++) {
		iter_fd = -EMFILE;
		pass(1000000000);
	}
	holders(4, 4);
	pass(1000000000);
	CHECK(left_out_cnt == 4);
	watch_end();
	CHECK(strstr(said, "'my_tc' [bpf:8] is not traced any longer: its program was unloaded\n"));
	CHECK(strstr(said, "cannot see who holds BPF programs: Too many open files"));
	CHECK(strstr(strstr(said, "cannot see") + 1, "cannot see") == NULL);
}
