// SPDX-License-Identifier: GPL-2.0
/*
 * What KernelShark's library understands of a trace.dat: time, CPU, task, event and info of each
 * entry, by tabs. Built by tests/readers/run only, where libkshark-dev is there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <libkshark.h>

static void print_entry(struct kshark_entry *entry)
{
	char *name = kshark_get_event_name(entry);
	char *info = kshark_get_info(entry);

	printf("%" PRId64 "\t%d\t%d\t%s\t%s\n", entry->ts, entry->cpu, kshark_get_pid(entry),
	       name ? name : "?", info ? info : "?");
	free(name);
	free(info);
}

int main(int argc, char **argv)
{
	struct kshark_context *context = NULL;
	struct kshark_entry **entries = NULL;
	ssize_t cnt;
	int stream;

	if (argc != 2 || !kshark_instance(&context))
		return 2;
	stream = kshark_open(context, argv[1]);
	if (stream < 0) {
		fprintf(stderr, "kshark: cannot open '%s': %d\n", argv[1], stream);
		return 1;
	}
	cnt = kshark_load_entries(context, stream, &entries);
	if (cnt < 0) {
		fprintf(stderr, "kshark: cannot load '%s'\n", argv[1]);
		return 1;
	}
	for (ssize_t i = 0; i < cnt; i++) {
		print_entry(entries[i]);
		free(entries[i]);
	}
	free(entries);
	kshark_close(context, stream);
	kshark_free(context);
	return 0;
}
