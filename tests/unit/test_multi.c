/* Attaching by tracing_multi. This file plays the kernel: it replaces template_load() and the system call. */
#include "attach/multi.h"

#include <stdarg.h>
#include <sys/syscall.h>

#include <linux/bpf.h>

#include "attach/template.h"
#include "harness.h"
#include "kernel/probe.h"

#define FUNC_CNT  100
#define MODULE_FD 77 /* BTF of the module */

/* link_create with tracing_multi */
struct attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t ids, cookies;
	uint32_t cnt;
};

static struct func funcs[FUNC_CNT];
static struct functab tab = { .funcs = funcs, .cnt = FUNC_CNT };
static const struct bpfobj obj = { .config.cfg.by_starts = 1 };
static struct fd_list progs;
static struct fd_list links;
static bool is_refused_by_kernel[FUNC_CNT];
static int told[FUNC_CNT];
static unsigned int linked[2][FUNC_CNT]; /* at exits, at entries */
static int load_err;                     /* for the module */
static int stop_cnt;

int template_load(const struct bpfobj *of, const struct loader_template *tmpl,
		  const struct template_spec *spec)
{
	return spec->btf_fd && load_err ? load_err : dup(0);
}

/* A function's id is 1000 + its place. */
static long link_create(const struct attr *attr)
{
	const uint32_t *ids = (const uint32_t *)(uintptr_t)attr->ids;
	const uint64_t *cookies = (const uint64_t *)(uintptr_t)attr->cookies;
	bool is_entry = attr->attach_type == NFG_BPF_TRACE_FENTRY_MULTI;

	for (uint32_t i = 0; i < attr->cnt; i++) {
		CHECK((cookies[i] & 0xffff) == ids[i] - 1000);
		CHECK(funcs[ids[i] - 1000].btf_fd == funcs[ids[0] - 1000].btf_fd);
		CHECK(funcs[ids[i] - 1000].is_start == funcs[ids[0] - 1000].is_start);
		if (is_refused_by_kernel[ids[i] - 1000]) {
			errno = ENOENT;
			return -1;
		}
	}
	for (uint32_t i = 0; i < attr->cnt; i++)
		linked[is_entry][ids[i] - 1000]++;
	return dup(0);
}

long syscall(long nr, ...)
{
	const struct attr *attr;
	va_list ap;
	int cmd;

	va_start(ap, nr);
	cmd = va_arg(ap, int);
	attr = va_arg(ap, const struct attr *);
	va_end(ap);
	CHECK(nr == SYS_bpf && cmd == BPF_LINK_CREATE);
	return link_create(attr);
}

static void refused(const struct func *func, int err)
{
	CHECK(func >= funcs && func < funcs + FUNC_CNT && err == (load_err ? load_err : -ENOENT));
	told[func - funcs]++;
}

static bool is_of_module(size_t idx)
{
	return idx % 3 == 1;
}

static int run(void)
{
	for (size_t i = 0; i < FUNC_CNT; i++) {
		funcs[i] = (struct func){
			.btf_id = 1000 + (uint32_t)i,
			.btf_fd = is_of_module(i) ? MODULE_FD : 0,
			.arg_kind = 3, /* a cookie is more than a place */
			.arg_cnt = 6,
			.skb_arg = 2,
			.has_ret = true,
			.is_start = i % 10 == 0,
		};
	}
	return multi_attach(&progs, &links, &obj, &tab, refused, &stop_cnt);
}

static void check_all(void)
{
	for (size_t i = 0; i < FUNC_CNT; i++) {
		bool is_out = is_refused_by_kernel[i] || (load_err && is_of_module(i));

		CHECK(funcs[i].is_attached == !is_out && told[i] == is_out);
		CHECK(linked[0][i] == linked[1][i] && !linked[0][i] == is_out);
	}
}

static void check_run(void)
{
	CHECK(!run());
	check_all();
}

TEST(all_are_attached)
{
	check_run();
	/* 12 sets of the kernel's, 12 of the module's, roots apart, of which there are few */
	CHECK(progs.cnt == links.cnt && progs.cnt <= 4 * 2 * 12);
}

TEST(what_is_refused_is_told_by_its_name)
{
	is_refused_by_kernel[0] = is_refused_by_kernel[50] = is_refused_by_kernel[51] = true;
	is_refused_by_kernel[99] = true;
	check_run();
}

TEST(the_functions_of_a_module_are_refused)
{
	for (size_t i = 0; i < FUNC_CNT; i++)
		is_refused_by_kernel[i] = is_of_module(i);
	check_run();
}

TEST_ONE(all_are_refused, memset(is_refused_by_kernel, 1, sizeof(is_refused_by_kernel)),
	 check_run(), CHECK(!links.cnt));

TEST(the_programs_of_a_module_do_not_load)
{
	load_err = -ENXIO;
	check_run();
}

TEST(stopped_before_it_begins)
{
	stop_cnt = 1;
	CHECK(run() == -EINTR && !links.cnt);
}
