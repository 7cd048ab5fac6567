/*
 * Attaching with links that serve many functions, by kprobe.session, and what is attached otherwise. This file plays
 * the kernel: it replaces template_load() and the system call.
 */
#include "attach/attach.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "attach/template.h"
#include "harness.h"
#include "kernel/probe.h"
#include "netfgraph.skel.h"
#include "scratch.h"

#define FUNC_CNT 6
#define FD_MAX   1024
#define ADDR(i)  (0xffffffff81000000ull + 64 * (i))

/* link_create with kprobe_multi */
struct attr {
	uint32_t prog_fd, target_fd, attach_type, flags, multi_flags, cnt;
	uint64_t syms, addrs;
};

/* The last ones are of BPF programs, NEW of one that appears. */
enum { PLAIN, OTHER, LOCK, REFUSED, PROG, NEW };

static struct func funcs[FUNC_CNT];
static struct functab tab = { .funcs = funcs };
static struct bpfobj obj;
static struct netfgraph_bpf skel;
static uint64_t missed[FD_MAX]; /* by a link's descriptor */
static bool is_link[FD_MAX];
static bool has_lock[FD_MAX]; /* the link serves LOCK */
static unsigned int pair_cnt; /* ends attached at trampolines */
static int stop_cnt;
static unsigned int number_due; /* in the table of function graph's users */
static bool takes_numbers;      /* links do, in turn */
static bool lacks_kprobes;      /* no program at kprobes loads */
static bool refuses_progs;      /* ... and none at BPF programs */

/* ---- the kernel ---- */

static int new_fd(void)
{
	int fd = dup(0);

	CHECK(fd >= 0 && fd < FD_MAX);
	is_link[fd] = false;
	return fd;
}

int template_load(const struct bpfobj *of, const struct loader_template *tmpl,
		  const struct template_spec *spec)
{
	if ((spec->way->is_by_site && lacks_kprobes) || (spec->btf_fd && refuses_progs))
		return -EINVAL;
	return new_fd();
}

int template_check(const struct bpfobj *of)
{
	return 0;
}

static long link_create(const struct attr *attr)
{
	const uint64_t *addrs = (const uint64_t *)(uintptr_t)attr->addrs;
	int fd;

	for (uint32_t i = 0; i < attr->cnt; i++) {
		if (addrs[i] != ADDR(REFUSED))
			continue;
		errno = EINVAL;
		return -1;
	}
	CHECK(!takes_numbers || number_due || attr->cnt == 1);
	number_due += takes_numbers;
	fd = new_fd();
	is_link[fd] = true;
	has_lock[fd] = addrs[0] == ADDR(LOCK);
	missed[fd] = 0;
	return fd;
}

/* Of a link: how many calls it missed. Of a program: that no trampoline calls it. */
static long get_info(const union bpf_attr *attr)
{
	uint64_t *info = (uint64_t *)(uintptr_t)attr->info.info;

	if (attr->info.bpf_fd == UINT32_MAX) { /* of a program that did not load */
		errno = EBADF;
		return -1;
	}
	CHECK(attr->info.bpf_fd < FD_MAX);
	if (!is_link[attr->info.bpf_fd]) {
		*(uint32_t *)info = BPF_PROG_TYPE_KPROBE;
		return 0;
	}
	*(uint32_t *)info = NFG_BPF_LINK_KPROBE_MULTI;
	info[4] = missed[attr->info.bpf_fd];
	return 0;
}

long syscall(long nr, ...)
{
	const void *attr;
	va_list ap;
	int cmd;

	va_start(ap, nr);
	cmd = va_arg(ap, int);
	attr = va_arg(ap, const void *);
	va_end(ap);
	if (nr == SYS_bpf && cmd == BPF_LINK_CREATE)
		return link_create(attr);
	if (nr == SYS_bpf && cmd == BPF_OBJ_GET_INFO_BY_FD)
		return get_info(attr);
	CHECK(nr == SYS_bpf && cmd == BPF_RAW_TRACEPOINT_OPEN);
	pair_cnt++;
	return new_fd();
}

int bpf_prog_test_run_opts(int prog_fd, struct bpf_test_run_opts *opts)
{
	CHECK(prog_fd == obj.fgraph_fd);
	opts->retval = number_due;
	return 0;
}

/* ---- what is attached ---- */

static void choose(bool with_lock)
{
	static const char *const names[] = { "plain",   "other", "__rcu_read_lock",
					     "refused", "prog",  "new" };

	obj = (struct bpfobj){
		.skel = &skel,
		.plan = { .mode = ATTACH_KPROBE, .extras = ATTACH_KPROBE, .fallback = ATTACH_PAIR },
		.config.want.cpu_cnt = 2,
		.sites.func_ids = calloc(NFG_SITE_CNT, sizeof(uint16_t)),
	};
	skel.data = calloc(1, sizeof(*skel.data));
	CHECK(obj.sites.func_ids && skel.data);
	for (size_t i = 0; i < FUNC_CNT; i++) {
		funcs[i] = (struct func){ .addr = ADDR(i), .is_named = true };
		func_set_name(&funcs[i], text_from(names[i]), text_from(NULL));
	}
	funcs[LOCK].runs_around = with_lock;
	tab.cnt = PROG;
	tab.room = 0;
	pair_cnt = 0;
	lacks_kprobes = refuses_progs = false;
}

/* The user's choice of kprobes, a BPF program among the functions, and room for more. */
static void choose_with_prog(bool with_lock)
{
	choose(with_lock);
	obj.plan.fallback = ATTACH_AUTO;
	obj.plan.progs = ATTACH_PAIR;
	funcs[PROG].prog_id = funcs[NEW].prog_id = 7;
	funcs[PROG].btf_fd = funcs[NEW].btf_fd = 3;
	tab.cnt = PROG + 1;
	tab.room = NEW + 1;
}

static struct attach *at;

static void attach(void)
{
	listen_begin();
	CHECK(!attach_new(&at, &obj, &tab, &stop_cnt));
	listen_end();
}

static void release(void)
{
	attach_free(at, true, &stop_cnt);
	free(obj.sites.func_ids);
	free(skel.data);
}
AFTER(release);

TEST(what_kprobe_refuses_gets_a_pair)
{
	choose(false);
	attach();
	CHECK(funcs[PLAIN].is_attached && funcs[LOCK].is_attached && funcs[REFUSED].is_attached);
	CHECK(pair_cnt == 2 && !strstr(said, "cannot attach"));
}

/* A link for a moment has it, never one that stays (pass_fgraph_zero). */
TEST(number_zero_is_passed_by)
{
	choose(false);
	obj.fgraph_fd = 3;
	takes_numbers = true;
	number_due = 0;
	attach();
	CHECK(number_due > 1 && funcs[PLAIN].is_attached);
}

/* Around the programs of a pair the kernel would call the lock. */
TEST(with_the_locks_of_rcu_no_function_gets_a_pair)
{
	choose(true);
	attach();
	CHECK(funcs[PLAIN].is_attached && funcs[LOCK].is_attached && !funcs[REFUSED].is_attached);
	CHECK(!pair_cnt);
	CHECK(strstr(said, "cannot attach to 'refused': needs a trampoline, which --all with "
			   "__rcu_read_lock excludes (-N '__rcu_read_*')\n"));
	CHECK(!strstr(said, "does not allow a program"));
}

static void miss(uint64_t of_others)
{
	for (int fd = 0; fd < FD_MAX; fd++)
		missed[fd] += has_lock[fd] ? 1000 : of_others;
}

/* The kernel skips and counts the locks' program around each program, so nothing is lost. */
TEST(missed_calls_of_the_locks_of_rcu_are_no_losses)
{
	const uint32_t ids[] = { OTHER };

	choose(true);
	attach();
	attach_count_missed(at);
	miss(3);
	CHECK(attach_missed(at) == 3);
	CHECK(!attach_leave_out(at, &obj, &tab, ids, 1, &stop_cnt));
	CHECK(!funcs[OTHER].is_attached && funcs[PLAIN].is_attached && funcs[LOCK].is_attached);
	CHECK(attach_missed(at) == 3);
	miss(2);
	CHECK(attach_missed(at) == 5);
}

/* ---- with BPF programs ---- */

TEST(programs_get_pairs_beside_kprobes)
{
	choose_with_prog(false);
	attach();
	CHECK(funcs[PLAIN].is_attached && funcs[PROG].is_attached && !funcs[REFUSED].is_attached);
	CHECK(pair_cnt == 2 && attach_takes_progs(at) && skel.data->needs_guard);
	tab.cnt = NEW + 1;
	CHECK(!attach_add_progs(at, &obj, &tab, NEW, &stop_cnt));
	CHECK(pair_cnt == 4 && funcs[NEW].is_attached);
}

/* A trace of programs alone would look as if the kernel's functions were never called. */
TEST(without_kprobes_programs_do_not_hide_the_error)
{
	choose_with_prog(false);
	lacks_kprobes = true;
	listen_begin();
	CHECK(attach_new(&at, &obj, &tab, &stop_cnt) == -EINVAL);
	listen_end();
	CHECK(strstr(said, "cannot attach: Invalid argument\n") && !pair_cnt);
	at = NULL;
}

TEST(with_the_locks_of_rcu_no_program_gets_a_pair)
{
	choose_with_prog(true);
	attach();
	CHECK(funcs[PLAIN].is_attached && funcs[LOCK].is_attached && !funcs[PROG].is_attached);
	CHECK(!pair_cnt && !attach_takes_progs(at));
	CHECK(strstr(said, "cannot attach to 'prog': needs a trampoline"));
	CHECK(!strstr(said, "cannot attach to 'refused': needs a trampoline"));
}

/* Programs that appear are preempted and interrupted like those that were there. */
TEST(the_guard_waits_for_programs_that_may_appear)
{
	choose_with_prog(false);
	refuses_progs = true;
	attach();
	CHECK(!pair_cnt && skel.data->needs_guard);
	release();
	choose_with_prog(false);
	refuses_progs = true;
	tab.room = 0;
	attach();
	CHECK(!skel.data->needs_guard);
}

/* Those of the kernel that have their own links stay attached, however many programs were refused. */
TEST(windows_need_shared_links_of_all_but_programs)
{
	choose_with_prog(false);
	attach();
	CHECK(attach_own_cnt(at) == 1 && attach_may_pause(at, &tab));
	release();
	choose_with_prog(false);
	obj.plan.fallback = ATTACH_PAIR;
	refuses_progs = true;
	attach();
	CHECK(funcs[REFUSED].is_attached && attach_own_cnt(at) == 1 && !attach_may_pause(at, &tab));
}
