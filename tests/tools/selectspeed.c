// SPDX-License-Identifier: GPL-2.0
/*
 * How long selecting functions takes, from saved facts of some kernel, and what is selected.
 *
 *	selectspeed [-n] [-v] [-d DEPTH] [-m MAX] [-l LIMIT_MS] VMLINUX KALLSYMS ROOT...
 *
 * VMLINUX is an uncompressed image with BTF, KALLSYMS that kernel's /proc/kallsyms. A ROOT may be
 * the name of a preset. Prints "name" of each function chosen; with -v also "name: reason" of the
 * others. Times are of the CPU, the best of five, on standard error.
 *	-n  as if the text could not be read
 *	-l  fail when all of it takes longer
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "select/select.h"

#define ROUND_CNT 5

struct facts {
	struct kbtf *kb;
	struct ksyms *ks;
	struct ktext *text;
};

struct times {
	double btf_ms;
	double syms_ms;
	double select_ms;
	double all_ms;
};

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* a busy host counts for nothing */
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void die(const char *what, int err)
{
	fprintf(stderr, "selectspeed: %s: %s\n", what,
		err < 0 ? strerror(-err) : "nothing is selected");
	exit(1);
}

static void facts_release(struct facts *facts)
{
	kbtf_free(facts->kb);
	ksyms_free(facts->ks);
	ktext_free(facts->text);
}

static struct times once(struct facts *facts, struct functab *tab, struct select_rules *rules,
			 const char *image, const char *symbols)
{
	struct times times;
	double start_ms = now_ms();
	double at_ms;
	int err = kbtf_new_at(&facts->kb, image);

	if (err)
		die(image, err);
	times.btf_ms = now_ms() - start_ms;
	at_ms = now_ms();
	err = ksyms_new_at(&facts->ks, symbols);
	if (err)
		die(symbols, err);
	times.syms_ms = now_ms() - at_ms;
	at_ms = now_ms();
	err = ktext_new(&facts->text, image);
	if (err)
		die(image, err);
	rules->text = rules->text_err ? NULL : facts->text;
	err = select_funcs(tab, rules, facts->kb, facts->ks);
	if (err)
		die("select", err);
	times.select_ms = now_ms() - at_ms;
	times.all_ms = now_ms() - start_ms;
	return times;
}

static void verdict_print(void *ctx, const struct kbtf_func *func, const char *reason)
{
	(void)ctx;
	if (reason)
		printf("%s: %s\n", func->name, reason);
}

static double measure(struct select_rules *rules, bool is_verbose, const char *image,
		      const char *symbols)
{
	struct times best = { .all_ms = 1e9 };
	struct functab tab = { 0 };
	struct facts facts;
	size_t func_cnt = 0;

	for (int i = 0; i < ROUND_CNT; i++) {
		struct times times;

		rules->verdict = is_verbose && i == ROUND_CNT - 1 ? verdict_print : NULL;
		times = once(&facts, &tab, rules, image, symbols);
		if (times.all_ms < best.all_ms)
			best = times;
		func_cnt = tab.cnt;
		for (size_t k = 0; i == ROUND_CNT - 1 && k < tab.cnt; k++)
			printf("%s\n", tab.funcs[k].name.ptr);
		functab_release(&tab);
		facts_release(&facts);
	}
	fprintf(stderr, "%zu functions; BTF %.1f ms, symbols %.1f ms, selection %.1f ms: %.1f ms\n",
		func_cnt, best.btf_ms, best.syms_ms, best.select_ms, best.all_ms);
	return best.all_ms;
}

int main(int argc, char **argv)
{
	struct select_rules rules = { 0 };
	const struct preset **presets = calloc((size_t)argc, sizeof(*presets));
	const char **roots = calloc((size_t)argc, sizeof(*roots));
	bool is_verbose = false;
	double limit_ms = 0;
	double all_ms;
	int opt;

	while ((opt = getopt(argc, argv, "nvd:m:l:")) > 0) {
		if (opt == 'n')
			rules.text_err = -1;
		is_verbose |= opt == 'v';
		if (opt == 'd')
			rules.callee_depth = (unsigned int)strtoul(optarg, NULL, 10);
		if (opt == 'm')
			rules.max_cnt = strtoul(optarg, NULL, 10);
		if (opt == 'l')
			limit_ms = strtod(optarg, NULL);
		if (opt == '?')
			return 2;
	}
	if (argc - optind < 2 || !presets || !roots) {
		fprintf(stderr, "usage: selectspeed [-nv] [-d DEPTH] [-m MAX] [-l LIMIT_MS] "
				"VMLINUX KALLSYMS ROOT...\n");
		return 2;
	}
	for (int i = optind + 2; i < argc; i++) {
		if (preset_find(argv[i]))
			presets[rules.preset_cnt++] = preset_find(argv[i]);
		else
			roots[rules.start_cnt++] = argv[i];
	}
	rules.starts = roots;
	rules.presets = presets;
	all_ms = measure(&rules, is_verbose, argv[optind], argv[optind + 1]);
	free(presets);
	free(roots);
	if (limit_ms && all_ms > limit_ms) {
		fprintf(stderr, "selectspeed: longer than %.0f ms\n", limit_ms);
		return 1;
	}
	return 0;
}
