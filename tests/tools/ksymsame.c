/*
 * Whether the symbols as netfgraph reads them are the lines of /proc/kallsyms.
 *
 *	ksymsame	those of the kernel's iterator; its program, which is there meanwhile, does not count
 *	ksymsame FILE	those of a file in that form
 *
 * Prints how many there are, and how many of them have no address and have a module. Status 1: they cannot be read,
 * and why; 2: the first line that differs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"

#define OURS "nfg_ksyms"

static int iter_read(struct strbuf *recs)
{
	struct kbtf *kb;
	int err = kbtf_new(&kb);

	if (err)
		return err;
	err = ksymiter_read(recs, kb);
	kbtf_free(kb);
	return err;
}

/* The next line but ours, "" at the end. */
static void next_line(FILE *file, char *line, size_t size)
{
	do {
		if (!fgets(line, (int)size, file))
			*line = '\0';
	} while (strstr(line, OURS));
}

static void print_line(const struct nfg_ksymrec *rec, char *line, size_t size)
{
	const char *module = ksymrec_module(rec);

	snprintf(line, size, "%016llx %c %s%s%s%s\n", rec->addr, rec->type, ksymrec_name(rec),
		 module ? "\t[" : "", module ? module : "", module ? "]" : "");
}

static void expect_same(const char *got, const char *want)
{
	if (!strcmp(got, want))
		return;
	printf("here: %sfile: %s", got, want);
	exit(2);
}

static void compare(const struct strbuf *recs, FILE *file)
{
	size_t cnt = 0, hidden_cnt = 0, module_cnt = 0;
	char here[1024], line[1024];

	for (size_t at = 0; at < recs->len;) {
		const struct nfg_ksymrec *rec = (const struct nfg_ksymrec *)(recs->ptr + at);

		at += ksymrec_bytes(rec);
		if (!rec->type || strstr(ksymrec_name(rec), OURS))
			continue;
		print_line(rec, here, sizeof(here));
		next_line(file, line, sizeof(line));
		expect_same(here, line);
		cnt++;
		hidden_cnt += !rec->addr;
		module_cnt += rec->module_words != 0;
	}
	next_line(file, line, sizeof(line));
	expect_same("", line);
	printf("%zu symbols, %zu hidden, %zu of modules\n", cnt, hidden_cnt, module_cnt);
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/proc/kallsyms";
	struct strbuf recs = { 0 };
	int err = argc > 1 ? ksymtext_read(&recs, path) : iter_read(&recs);
	FILE *file = fopen(path, "r");

	if (err || !file) {
		fprintf(stderr, "ksymsame: %s\n", err ? strerror(-err) : path);
		return 1;
	}
	compare(&recs, file);
	fclose(file);
	strbuf_release(&recs);
	return 0;
}
