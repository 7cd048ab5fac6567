#include "options/consumer.h"

const struct consumer consumer_defs[] = {
	{ "sleepgraph", FORMAT_TEXT, true, "abstime,cpu,proc,duration,tail",
	  "pm-graph's call graphs: time and task in each row, every } named" },
	{ "bootgraph", FORMAT_TEXT, true, "abstime,cpu,proc,duration,tail", "the same" },
	{ "vim", FORMAT_TEXT, true, "abstime,cpu,proc,duration,notail",
	  "the kernel's function-graph-fold.vim, for traces of one CPU: a } ends its line, and the third "
	  "column is the duration that a closed fold shows; vim folds 20 levels, so add -D 20" },
	{ "perf", FORMAT_TEXT, true, "noabstime,cpu,noproc,duration,tail",
	  "parsers like that of perf ftrace profile: the default columns, every } named" },
	{ "ftrace-chart", FORMAT_TEXT, false, "noabstime,cpu,noproc,duration,notail",
	  "the default columns: one | per row" },
	{ "trace-cmd", FORMAT_TRACEDAT, false, NULL, "trace-cmd report -i FILE" },
	{ "kernelshark", FORMAT_TRACEDAT, false, NULL, "the same file" },
	{ "trace-compass", FORMAT_TRACEDAT, false, NULL, "the same file, version 6" },
	{ "perfetto", FORMAT_PERFETTO, false, NULL, "ui.perfetto.dev, trace_processor" },
	{ "speedscope", FORMAT_SPEEDSCOPE, false, NULL,
	  "a frame for each function, without arguments; speedscope misreads files called *.chrome.json" },
	{ "browser", FORMAT_HTML, false, NULL, "a page that shows the trace" },
	{ "flamegraph", FORMAT_FOLDED, false, NULL, "flamegraph.pl, inferno" },
	{ "opentelemetry", FORMAT_OTLP, false, NULL,
	  "receivers of OTLP as JSON lines, such as a collector's otlpjsonfile" },
	{ "jq", FORMAT_JSON, false, NULL, "one call per line" },
};
const size_t consumer_def_cnt = sizeof(consumer_defs) / sizeof(consumer_defs[0]);

const char *consumer_name(int i)
{
	return (size_t)i < consumer_def_cnt ? consumer_defs[i].name : NULL;
}

void consumer_describe(struct strbuf *text, const struct consumer *consumer)
{
	strbuf_reset(text);
	if (consumer->columns)
		strbuf_printf(text, "--graph-opts %s: ", consumer->columns);
	else
		strbuf_printf(text, "--format %s: ", format_name(consumer->format));
	strbuf_str(text, consumer->help);
	strbuf_char(text, '\0');
}
