#include "options/consumer.h"

#include <string.h>

const struct consumer reader_defs[] = {
	{ "sleepgraph", FORMAT_TEXT, true, "abstime,cpu,proc,duration,tail",
	  "pm-graph's call graphs: time and task in each row, every } named" },
	{ "bootgraph", FORMAT_TEXT, true, "abstime,cpu,proc,duration,tail", "the same" },
	{ "vim", FORMAT_TEXT, true, "abstime,cpu,proc,duration,notail",
	  "the kernel's function-graph-fold.vim, for traces of one CPU: a } is the end of its line, the "
	  "third column is the duration that a closed fold shows; vim folds 20 levels, so add -D 20" },
	{ "perf", FORMAT_TEXT, true, "noabstime,cpu,noproc,duration,tail",
	  "what parses as perf ftrace profile does: the default columns, every } named" },
	{ "ftrace-chart", FORMAT_TEXT, false, "noabstime,cpu,noproc,duration,notail",
	  "the default columns: one | in each row" },
	{ "trace-cmd", FORMAT_TRACEDAT, false, NULL, "trace-cmd report -i FILE" },
	{ "kernelshark", FORMAT_TRACEDAT, false, NULL, "the same file" },
	{ "trace-compass", FORMAT_TRACEDAT, false, NULL, "the same file, version 6" },
	{ "perfetto", FORMAT_PERFETTO, false, NULL, "ui.perfetto.dev, trace_processor" },
	{ "speedscope", FORMAT_CHROME, false, NULL,
	  "speedscope, chrome://tracing; speedscope takes a file called *.chrome.json for something else" },
	{ "flamegraph", FORMAT_FOLDED, false, NULL, "flamegraph.pl, inferno" },
	{ "jq", FORMAT_JSON, false, NULL, "a call a line" },
};
const size_t reader_def_cnt = sizeof(reader_defs) / sizeof(reader_defs[0]);

const struct consumer *consumer_find(const char *name)
{
	for (size_t i = 0; i < reader_def_cnt; i++) {
		if (!strcmp(reader_defs[i].name, name))
			return &reader_defs[i];
	}
	return NULL;
}
