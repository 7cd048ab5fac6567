// SPDX-License-Identifier: GPL-2.0
/*
 * What the call graph finds in a kernel, for measuring it and for curating its table of hops.
 *
 *	callgraph [-a] [-c] [-i] [-s] [-d DEPTH] IMAGE SYMBOLS ROOT...
 *
 * IMAGE is an uncompressed vmlinux or /proc/kcore, SYMBOLS a System.map or /proc/kallsyms of the
 * same addresses. Prints distance and name of every function reached where packets go;
 * sizes and times on standard error.
 *	-a  not only inside the network stack
 *	-s  all of the network stack, with set-up and what is seldom used
 *	-c  print the callees of each root instead, without hops
 *	-i  print only those that call through pointers
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "select/reach.h"
#include "select/callgraph_hops.h"
#include "kernel/ktext.h"

struct symtab {
	struct ksym_text *syms;
	size_t cnt;
	size_t cap;
};

struct report {
	struct callgraph *cg;
	struct callgraph_net *net;
	const struct ksym_text *syms;
	bool only_indirect;
	enum callgraph_kind kind_min;
	size_t cnt;
	uint32_t *found;
	unsigned int *depths;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "callgraph: %s: %s\n", what, err ? strerror(-err) : "not found");
	exit(1);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int sym_compare(const void *a, const void *b)
{
	const struct ksym_text *x = a;
	const struct ksym_text *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void sym_add(struct symtab *tab, struct ksym_text sym)
{
	if (tab->cnt == tab->cap) {
		tab->cap = tab->cap ? tab->cap * 2 : 1 << 16;
		tab->syms = realloc(tab->syms, tab->cap * sizeof(*tab->syms));
		if (!tab->syms)
			die("symbols", -12);
	}
	tab->syms[tab->cnt++] = sym;
}

static void symbols_read(struct symtab *tab, const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned long long addr;
	char module[128];
	char line[1024];
	char name[512];
	char type;

	if (!file)
		die(path, 0);
	while (fgets(line, sizeof(line), file)) {
		int cnt = sscanf(line, "%llx %c %511s [%127[^]]]", &addr, &type, name, module);

		if (cnt < 3 || !strchr("tTwW", type))
			continue;
		sym_add(tab, (struct ksym_text){
				     .addr = addr,
				     .name = strdup(name),
				     .module = cnt == 4 ? strdup(module) : NULL,
			     });
	}
	fclose(file);
	qsort(tab->syms, tab->cnt, sizeof(*tab->syms), sym_compare);
}

static int text_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return ktext_read(ctx, addr, buf, len);
}

static bool keep(void *ctx, uint32_t func)
{
	struct report *report = ctx;

	return callgraph_net_kind(report->net, func) >= report->kind_min;
}

static void visit(void *ctx, uint32_t func, unsigned int depth)
{
	struct report *report = ctx;

	report->found[report->cnt] = func;
	report->depths[report->cnt++] = depth;
}

static void callees_print(const struct report *report, uint32_t func)
{
	const uint32_t *callees;
	size_t cnt;
	int err = callgraph_callees(report->cg, func, &callees, &cnt);

	if (err)
		die("callees", err);
	for (size_t i = 0; i < cnt; i++)
		printf("%s %s\n", report->syms[func].name, report->syms[callees[i]].name);
}

static void report_print(const struct report *report, double built_ms, double reached_ms)
{
	const struct callgraph *cg = report->cg;
	const struct callgraph_net *net = report->net;

	for (size_t i = 0; i < report->cnt; i++) {
		const uint32_t func = callgraph_first_name(cg, report->found[i]);

		if (!report->only_indirect || cg->nodes[func].flags & NODE_INDIRECT)
			printf("%u %s\n", report->depths[i], report->syms[report->found[i]].name);
	}
	if (net->end)
		fprintf(stderr, "net/ %#llx-%#llx\n", (unsigned long long)net->begin,
			(unsigned long long)net->end);
	else
		fprintf(stderr, "net/ not found; by names\n");
	fprintf(stderr, "%zu reached; %zu decoded, %zu calls, %zu hops, %zu unreadable; ",
		report->cnt, cg->decoded_cnt, cg->edge_cnt, cg->hop_cnt, cg->unreadable_cnt);
	fprintf(stderr, "graph %.1f ms, reach %.1f ms\n", built_ms, reached_ms);
}

struct choice {
	bool everything;
	bool stack;
	bool callees;
	bool only_indirect;
	unsigned int depth_max;
};

static void run(const struct choice *choice, struct ktext *text, const struct symtab *tab,
		char **names, size_t name_cnt)
{
	struct report report = {
		.syms = tab->syms,
		.only_indirect = choice->only_indirect,
		.kind_min = choice->stack ? CALLGRAPH_SETUP : CALLGRAPH_PACKET,
	};
	uint32_t *roots = calloc(name_cnt, sizeof(*roots));
	struct callgraph_walk walk = {
		.roots = roots,
		.root_cnt = name_cnt,
		.depth_max = choice->depth_max,
		.keep = choice->everything ? NULL : keep,
		.visit = visit,
		.ctx = &report,
	};
	double start_ms = now_ms();
	double built_ms;
	int err;

	err = callgraph_new(&report.cg, ktext_arch(text), tab->syms, tab->cnt, text_read, text);
	if (!err)
		err = callgraph_net_new(&report.net, report.cg);
	if (!err)
		err = callgraph_hops_add(report.cg, report.net);
	if (err < 0)
		die("graph", err);
	built_ms = now_ms();
	report.found = calloc(tab->cnt, sizeof(*report.found));
	report.depths = calloc(tab->cnt, sizeof(*report.depths));
	for (size_t i = 0; i < name_cnt; i++) {
		roots[i] = callgraph_find(report.cg, text_from(names[i]), NULL);
		if (roots[i] == CALLGRAPH_NO_FUNC)
			die(names[i], 0);
		if (choice->callees)
			callees_print(&report, roots[i]);
	}
	err = choice->callees ? 0 : callgraph_reach(report.cg, &walk);
	if (err)
		die("reach", err);
	report_print(&report, built_ms - start_ms, now_ms() - built_ms);
	callgraph_net_free(report.net);
	callgraph_free(report.cg);
	free(report.found);
	free(report.depths);
	free(roots);
}

int main(int argc, char **argv)
{
	struct choice choice = { 0 };
	struct symtab tab = { 0 };
	struct ktext *text;
	int opt;
	int err;

	while ((opt = getopt(argc, argv, "acisd:")) > 0) {
		choice.everything |= opt == 'a';
		choice.stack |= opt == 's';
		choice.callees |= opt == 'c';
		choice.only_indirect |= opt == 'i';
		if (opt == 'd')
			choice.depth_max = (unsigned int)strtoul(optarg, NULL, 10);
		if (opt == '?')
			return 2;
	}
	if (argc - optind < 3) {
		fprintf(stderr, "usage: callgraph [-acis] [-d DEPTH] IMAGE SYMBOLS ROOT...\n");
		return 2;
	}
	err = ktext_new(&text, argv[optind]);
	if (err)
		die(argv[optind], err);
	symbols_read(&tab, argv[optind + 1]);
	run(&choice, text, &tab, argv + optind + 2, (size_t)(argc - optind - 2));
	ktext_free(text);
	for (size_t i = 0; i < tab.cnt; i++) {
		free((char *)tab.syms[i].name);
		free((char *)tab.syms[i].module);
	}
	free(tab.syms);
	return 0;
}
