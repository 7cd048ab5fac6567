#include "options/foreign.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PERF 0x100u /* a word of perf ftrace: help perf lists it */

/* The words of perf ftrace, trace-cmd, tcpdump and of habit. {X} in a text is an example, which a given value replaces. */
static const struct foreign {
	unsigned int place; /* enum foreign_place, and PERF */
	const char *words;
	const char *text;
} foreigns[] = {
	{ FOREIGN_OPTION | PERF, "-a --all-cpus", "without COMMAND and -p, all tasks are traced" },
	{ FOREIGN_OPTION | PERF, "-F --funcs", "netfgraph list 'tcp_*' lists functions" },
	{ FOREIGN_OPTION | PERF, "-t --tracer",
	  "there is one tracer; --graph-opts noduration,retaddr shows what the tracer function shows" },
	{ FOREIGN_OPTION | PERF, "-m --mmap-pages",
	  "--buffer-size {64M} sets the buffer of each CPU" },
	{ FOREIGN_OPTION | PERF, "--inherit", "the processes that COMMAND starts are traced, too" },
	{ FOREIGN_OPTION | PERF, "-b --use-bpf", "netfgraph always traces with BPF" },
	{ FOREIGN_OPTION | PERF, "-n --use-nsec", "durations are in us, with three decimals" },
	{ FOREIGN_OPTION | PERF, "-E -e --event --events",
	  "netfgraph traces functions, not events: latency FUNC measures one function" },
	{ FOREIGN_OPTION | PERF, "--bucket-range --min-latency --max-latency --hide-empty",
	  "a row of a histogram is a power of two" },
	{ FOREIGN_OPTION | PERF, "--func-opts", "--graph-opts {args,retval} chooses columns" },
	{ FOREIGN_OPTION | PERF, "--delay", "start netfgraph later: sleep {5}; netfgraph" },
	{ FOREIGN_OPTION, "--depth --max-depth",
	  "-D {3} limits the depth of the graph, --callee-depth {3} the functions that -G finds" },
	{ FOREIGN_OPTION, "--duration --time",
	  "--timeout {5s} ends the trace, --slower-than 10ms selects long calls" },
	{ FOREIGN_OPTION, "--min-duration --threshold --thresh --tracing-thresh",
	  "--slower-than {10ms} selects calls that took that long" },
	{ FOREIGN_OPTION, "--process --task --name", "--comm {curl} or -p PID selects tasks" },
	{ FOREIGN_OPTION, "-q --quiet --silent",
	  "messages go to standard error; 2>/dev/null hides them" },
	{ FOREIGN_OPTION, "--opts --options --columns",
	  "--graph-opts {args,retval} chooses columns" },
	{ FOREIGN_OPTION, "--stdio", "report prints to standard output unless -o is given" },
	{ FOREIGN_OPTION, "--function --func --filter-func", "-T {tcp_sendmsg} traces a function" },
	{ FOREIGN_OPTION, "--exclude", "-N {tcp_ack} leaves a function out" },
	{ FOREIGN_OPTION, "--port --proto --protocol", "--packet 'tcp port 443' selects packets" },
	{ FOREIGN_OPTION, "-w --write", "-o {FILE} writes to a file" },
	{ FOREIGN_OPTION, "-r --read", "netfgraph report {FILE} reads a recording" },
	{ FOREIGN_OPTION, "-u --uid", "--user NAME runs COMMAND as that user" },
	{ FOREIGN_OPTION, "-l --list", "netfgraph list 'tcp_*' lists functions" },
	{ FOREIGN_OPTION, "-? --usage", "netfgraph --help shows the main options" },

	{ FOREIGN_MISPLACED, "report/input report/interval",
	  "report takes FILE itself: netfgraph report {FILE}" },
	{ FOREIGN_MISPLACED, "info/input info/interval",
	  "info takes FILE itself: netfgraph info {FILE}" },
	{ FOREIGN_MISPLACED, "diff/input", "diff takes both files itself: netfgraph diff A B" },
	{ FOREIGN_MISPLACED, "report/sort report/callers report/callees report/rows",
	  "netfgraph profile --input FILE prints tables" },
	{ FOREIGN_MISPLACED, "any/json", "--format json prints JSON" },
	{ FOREIGN_MISPLACED, "list/graph-depth",
	  "--callee-depth {3} limits the functions that -G finds" },
	{ FOREIGN_MISPLACED, "list/sort", "the lines of a list can go through sort" },
	{ FOREIGN_MISPLACED, "record/format record/graph-depth record/for",
	  "a recording has everything: netfgraph report FILE chooses the format and the depth" },
	{ FOREIGN_MISPLACED, "any/sort any/callers any/callees any/interval",
	  "netfgraph profile prints tables" },

	{ FOREIGN_COLUMN | PERF, "verbose", "--graph-opts abstime,proc shows time and task" },
	{ FOREIGN_COLUMN | PERF, "thresh tracing-thresh",
	  "--slower-than {100}us selects calls that took that long" },
	{ FOREIGN_COLUMN | PERF, "nosleep-time sleep-time noselftime",
	  "--nosleep-time excludes the time off the CPU" },
	{ FOREIGN_COLUMN | PERF, "depth max-depth", "-D {3} limits the depth" },
	{ FOREIGN_COLUMN, "return returns result results ret-value", "retval shows results" },
	{ FOREIGN_COLUMN, "arguments params parameters", "args shows arguments" },
	{ FOREIGN_COLUMN, "time timestamp", "abstime shows the time" },
	{ FOREIGN_COLUMN, "task pid comm", "proc shows the task" },
	{ FOREIGN_COLUMN, "caller callers", "retaddr shows callers" },

	{ FOREIGN_FORMAT, "svg", "--for flamegraph writes what flamegraph.pl makes an SVG from" },
	{ FOREIGN_FORMAT, "ftrace function_graph txt", "--format text is function_graph's" },
	{ FOREIGN_FORMAT, "prometheus metrics", "--format openmetrics is for Prometheus" },
	{ FOREIGN_FORMAT, "ctf dat", "--format trace.dat is for Trace Compass and trace-cmd" },

	{ FOREIGN_COMMAND | PERF, "trace ftrace perf-ftrace graph function_graph",
	  "netfgraph traces without a verb: netfgraph -G tcp_v4_rcv" },
	{ FOREIGN_COMMAND, "version", "netfgraph --version prints it" },
	{ FOREIGN_COMMAND, "print-config config",
	  "netfgraph --print-config prints the defaults from files" },
	{ FOREIGN_COMMAND, "completion completions",
	  "netfgraph --print-completion bash prints the script for bash" },
	{ FOREIGN_COMMAND, "presets containers",
	  "netfgraph list --presets and list --containers list them" },
	{ FOREIGN_COMMAND, "functions funcs", "netfgraph list 'tcp_*' lists functions" },
	{ FOREIGN_COMMAND, "replay show view print", "netfgraph report FILE prints a recording" },
	{ FOREIGN_COMMAND, "hist histogram", "netfgraph latency FUNC prints histograms" },
	{ FOREIGN_COMMAND, "stats table", "netfgraph profile prints a table" },

	{ FOREIGN_LIST, "presets preset", "netfgraph list --presets lists the presets" },
	{ FOREIGN_LIST, "containers container pods",
	  "netfgraph list --containers lists containers and pods" },
	{ FOREIGN_LIST, "functions funcs all", "netfgraph list '*' lists all functions" },
	{ FOREIGN_LIST, "plan", "netfgraph list --plan shows what attaching takes" },
	{ FOREIGN_FUNCTION, "drop dropped",
	  "drops counts dropped packets: --when 'drops > 100/s'" },
	{ FOREIGN_FUNCTION, "loss lost", "losses counts lost events: --when 'losses > 1/s'" },

	{ FOREIGN_NAME, "dport sport port saddr daddr host src dst proto",
	  "--packet 'tcp port 443' selects packets by address and port" },
	{ FOREIGN_NAME, "ret result return rc", "retval is what a function returns" },
	{ FOREIGN_NAME, "duration time", "--slower-than 10ms selects calls by duration" },
	{ FOREIGN_NAME, "pid tid comm", "-p, --tid and --comm select tasks" },

	{ FOREIGN_TOPIC, "packet packets filters pcap", "filter" },
	{ FOREIGN_TOPIC, "output formats consumers", "format" },
	{ FOREIGN_TOPIC, "column graph args retval retaddr abstime proc", "columns" },
	{ FOREIGN_TOPIC, "table tables reading files", "reports" },
	{ FOREIGN_TOPIC,
	  "container containers cgroup cgroups pod pods netns task process processes docker podman kubernetes lxc "
	  "systemd",
	  "tasks" },
	{ FOREIGN_TOPIC, "func funcs function glob globs", "functions" },
	{ FOREIGN_TOPIC, "preset", "presets" },
	{ FOREIGN_TOPIC, "ftrace perf-ftrace", "perf" },
	{ FOREIGN_TOPIC, "option options", "all" },
	{ FOREIGN_TOPIC, "recipe recipes example howto", "examples" },
	{ FOREIGN_TOPIC, "configuration defaults environment env", "config" },
	{ FOREIGN_TOPIC, "limit overhead cost losses lost", "limits" },
	{ FOREIGN_TOPIC, "attach kernel kernels", "attaching" },
	{ FOREIGN_TOPIC, "root sudo capabilities permissions", "privileges" },
	{ FOREIGN_TOPIC, "exit exits errors statuses", "status" },
	{ FOREIGN_TOPIC, "verb commands", "verbs" },
	{ FOREIGN_TOPIC, "man manual", "all" },
	/* options */
	{ FOREIGN_TOPIC, "flight recorder", "ring" },
	{ FOREIGN_TOPIC, "stage stages", "by" },
	{ FOREIGN_TOPIC, "metrics prometheus openmetrics", "format" },
	{ FOREIGN_TOPIC, "colour colors colours", "color" },
	{ FOREIGN_TOPIC, "pager less", "no-pager" },
};
#define FOREIGN_CNT (sizeof(foreigns) / sizeof(foreigns[0]))

static bool has_word(const char *words, const char *word, size_t len)
{
	while (*words) {
		size_t part = strcspn(words, " ");

		if (part == len && !memcmp(words, word, len))
			return true;
		words += part + strspn(words + part, " ");
	}
	return false;
}

/* @value: NULL: the example stays. */
static void fill_in(char *out, size_t size, const char *text, const char *value)
{
	size_t len = 0;

	for (; *text && len + 1 < size; text++) {
		const char *end = *text == '{' ? strchr(text, '}') : NULL;

		if (!end) {
			out[len++] = *text;
			continue;
		}
		if (value)
			len += (size_t)snprintf(out + len, size - len, "%.60s", value);
		else
			len += (size_t)snprintf(out + len, size - len, "%.*s",
						(int)(end - text - 1), text + 1);
		text = end;
	}
	out[len < size ? len : size - 1] = '\0';
}

const char *foreign_text(enum foreign_place place, const char *word)
{
	static char text[FOREIGN_TEXT_BYTES];
	const size_t len = strcspn(word, "=");
	const char *value = word[len] && word[len + 1] ? word + len + 1 : NULL;

	for (size_t i = 0; len && i < FOREIGN_CNT; i++) {
		if ((foreigns[i].place & ~PERF) != place || !has_word(foreigns[i].words, word, len))
			continue;
		fill_in(text, sizeof(text), foreigns[i].text, value);
		return text;
	}
	return NULL;
}

bool foreign_perf(struct foreign_line *line, size_t *next)
{
	for (size_t i = *next; i < FOREIGN_CNT; i++) {
		if (!(foreigns[i].place & PERF))
			continue;
		snprintf(line->words, sizeof(line->words), "%s%s",
			 foreigns[i].place == (FOREIGN_COLUMN | PERF) ? "--graph-opts " : "",
			 foreigns[i].words);
		fill_in(line->text, sizeof(line->text), foreigns[i].text, NULL);
		*next = i + 1;
		return true;
	}
	return false;
}
