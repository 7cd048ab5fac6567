#include "options/refuse.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/suggest.h"
#include "filter/pcapsyntax.h"
#include "options/graphopts.h"
#include "options/manual.h"

#define PERF 0x100u /* a word of perf ftrace, listed by help perf */

/*
 * Words that users of perf ftrace, trace-cmd, tcpdump and other tools may type. {X} in a text is an example, which is
 * replaced by the given value.
 */
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
	{ FOREIGN_OPTION | PERF, "-E --events",
	  "-e {skb:kfree_skb} shows tracepoints between the calls" },
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
	{ FOREIGN_OPTION, "--silent",
	  "-q says less; messages go to standard error, and 2>/dev/null hides them all" },
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
	{ FOREIGN_MISPLACED, "report/show profile/show explain/show",
	  "netfgraph record --show {skb.len} keeps them, and a report of that file shows them" },
	{ FOREIGN_MISPLACED, "explain/input",
	  "explain takes FILE itself: netfgraph explain {FILE}" },
	{ FOREIGN_MISPLACED, "info/input info/interval",
	  "info takes FILE itself: netfgraph info {FILE}" },
	{ FOREIGN_MISPLACED, "diff/input", "diff takes both files itself: netfgraph diff A B" },
	{ FOREIGN_MISPLACED, "report/sort report/callers report/callees report/rows",
	  "netfgraph profile --input FILE prints tables" },
	{ FOREIGN_MISPLACED, "record/json",
	  "netfgraph report FILE --format json prints a recording as JSON" },
	{ FOREIGN_MISPLACED, "any/json", "--format json prints JSON" },
	{ FOREIGN_MISPLACED, "any/ring",
	  "a flight recorder has a condition, too: netfgraph record --ring {64M} --when 'FUNC > 10ms' -o DIR" },
	{ FOREIGN_MISPLACED, "any/when",
	  "a flight recorder waits for it: netfgraph record --ring 64M --when {'FUNC > 10ms'} -o DIR" },
	{ FOREIGN_MISPLACED, "any/window",
	  "a flight recorder has it: netfgraph record --ring 64M --when 'FUNC > 10ms' --window {1s} -o DIR" },
	{ FOREIGN_MISPLACED, "any/pause",
	  "a flight recorder has it: netfgraph record --ring 64M --when 'FUNC > 10ms' --pause {1m} -o DIR" },
	{ FOREIGN_MISPLACED, "any/max-disk",
	  "a flight recorder has it: netfgraph record --ring 64M --when 'FUNC > 10ms' --max-disk {1G} -o DIR" },
	{ FOREIGN_MISPLACED, "list/graph-depth",
	  "--callee-depth {3} limits the functions that -G finds" },
	{ FOREIGN_MISPLACED, "any/follow",
	  "--track follows packets; report --follow reads a recording that is still being made" },
	{ FOREIGN_MISPLACED, "explain/host-side explain/track",
	  "from a recording: netfgraph record --host-side (or --track), then netfgraph explain FILE" },
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
	  "container containers cgroup cgroups pod pods netns task process processes thread threads scope "
	  "docker podman kubernetes lxc systemd",
	  "tasks" },
	{ FOREIGN_TOPIC,
	  "func funcs function glob globs start starts start-function start-functions",
	  "functions" },
	{ FOREIGN_TOPIC, "preset", "presets" },
	{ FOREIGN_TOPIC, "ftrace perf-ftrace", "perf" },
	{ FOREIGN_TOPIC, "option options", "all" },
	{ FOREIGN_TOPIC, "recipe recipes example howto", "examples" },
	{ FOREIGN_TOPIC, "configuration environment env", "config" },
	{ FOREIGN_TOPIC, "defaults default-functions", "default" },
	{ FOREIGN_TOPIC, "limit overhead cost", "limits" },
	{ FOREIGN_TOPIC, "losses loss lose lost-events lost-event", "lost" },
	{ FOREIGN_TOPIC, "attach detach detaching kernel kernels startup start-up", "attaching" },
	{ FOREIGN_TOPIC, "root sudo capabilities permission permissions security", "privileges" },
	{ FOREIGN_TOPIC, "exit exits errors statuses exit-status exit-code exit-codes", "status" },
	{ FOREIGN_TOPIC, "verb commands", "verbs" },
	{ FOREIGN_TOPIC, "man manual", "all" },
	/* presets and verbs */
	{ FOREIGN_TOPIC, "drops dropped discards", "drop" },
	{ FOREIGN_TOPIC, "duration durations latencies histogram histograms", "latency" },
	{ FOREIGN_TOPIC, "recording recordings", "record" },
	{ FOREIGN_TOPIC, "requirement requirements support supported", "check" },
	/* options */
	{ FOREIGN_TOPIC, "flight recorder", "ring" },
	{ FOREIGN_TOPIC, "events tracepoint tracepoints", "event" },
	{ FOREIGN_TOPIC, "buffer buffers", "buffer-size" },
	{ FOREIGN_TOPIC, "stage stages", "by" },
	{ FOREIGN_TOPIC, "metrics prometheus openmetrics", "format" },
	{ FOREIGN_TOPIC, "colour colors colours", "color" },
	{ FOREIGN_TOPIC, "pager less", "no-pager" },
};
#define FOREIGN_CNT (sizeof(foreigns) / sizeof(foreigns[0]))

/* Longer values are not repeated in a hint. */
#define VALUE_MAX 60
#define SAID_MAX  1000 /* bytes of a value in a message */

/* @value: NULL: keep the example. */
static void fill_in(char *out, size_t size, const char *text, const char *value)
{
	struct strbuf filled = { 0 };

	for (; *text; text++) {
		const char *end = *text == '{' ? strchr(text, '}') : NULL;

		if (!end) {
			strbuf_char(&filled, *text);
			continue;
		}
		if (value && strlen(value) <= VALUE_MAX)
			strbuf_shell(&filled, value);
		else
			strbuf_add(&filled, text + 1, (size_t)(end - text - 1));
		text = end;
	}
	snprintf(out, size, "%s", strbuf_cstr(&filled));
	strbuf_release(&filled);
}

const char *foreign_text(enum foreign_place place, const char *word)
{
	static char text[FOREIGN_TEXT_BYTES];
	const size_t len = strcspn(word, "=");
	const char *value = word[len] && word[len + 1] ? word + len + 1 : NULL;

	for (size_t i = 0; len && i < FOREIGN_CNT; i++) {
		if ((foreigns[i].place & ~PERF) != place ||
		    !text_has_word(foreigns[i].words, (struct text){ word, len }))
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

#define DIGITS "0123456789"

int refuse_hint(const struct opts *opts)
{
	if (opts->verb == VERB_HELP)
		log_hint("netfgraph help lists the topics");
	else if (opts->verb == VERB_TRACE)
		log_hint("netfgraph --help shows the main options, and the topics of help");
	else
		log_hint("netfgraph %s --help lists its options",
			 opts_verb_name((int)opts->verb - VERB_LIST));
	return VERDICT_USAGE;
}

static int describe(const struct opt_def *def)
{
	if (def->help)
		log_hint("netfgraph help --%s describes it", def->name);
	else
		log_hint("netfgraph help all lists the options");
	return VERDICT_USAGE;
}

/* ---- options ---- */

/* Hidden options have no name here. */
static const char *opt_name_at(int i)
{
	if ((size_t)i >= opt_def_cnt)
		return NULL;
	return opt_defs[i].help ? opt_defs[i].name : "";
}

/* Append "--a, --b" for all options that begin with @name. Return: their number. */
static size_t begin_so(struct strbuf *out, const char *name)
{
	size_t cnt = 0;

	for (size_t i = 0; *name && i < opt_def_cnt; i++) {
		if (opt_defs[i].help && !strncmp(opt_defs[i].name, name, strlen(name)))
			strbuf_printf(out, "%s--%s", cnt++ ? ", " : "", opt_defs[i].name);
	}
	strbuf_char(out, '\0');
	return cnt;
}

/* Options with similar names, or with names that contain @name. */
static const char *options_near(const char *name)
{
	struct suggest near;

	suggest_begin(&near, name);
	for (int i = 0; opt_name_at(i); i++)
		suggest_add(&near, opt_name_at(i));
	return suggest_text_with(&near, "--");
}

static bool hint_option(const char *word, const char *name)
{
	const char *hint = foreign_text(FOREIGN_OPTION, word);
	const char *near;

	if (!hint && !*name)
		return false;
	if (!hint && !graphopts_is_word(name)) {
		near = options_near(name);
		if (*near)
			log_hint("did you mean %s?", near);
		return *near;
	}
	if (hint)
		log_hint("%s", hint);
	else
		log_hint("--graph-opts %s shows that", name);
	return true;
}

int refuse_unknown(const struct opts *opts, const char *word)
{
	char name[SUGGEST_NAME_BYTES] = "";
	struct strbuf begin = { 0 };
	size_t cnt = 0;

	if (word[0] == '-' && word[1] == '-')
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	if (!foreign_text(FOREIGN_OPTION, word))
		cnt = begin_so(&begin, name);
	if (cnt)
		log_error("'%s' may be %s", word, begin.ptr);
	else
		log_error("unknown option '%s'", word);
	strbuf_release(&begin);
	if (!cnt && hint_option(word, name))
		return VERDICT_USAGE;
	return refuse_hint(opts);
}

/* The only verb that takes the option; NULL: there are more. */
static const char *only_verb(const struct opt_def *def)
{
	const char *only = NULL;
	int cnt = (def->verbs & 1u << VERB_TRACE) != 0;

	for (int i = 0; opts_verb_name(i); i++) {
		if (!opt_def_is_of(def, (enum opts_verb)(VERB_LIST + i)))
			continue;
		only = opts_verb_name(i);
		cnt++;
	}
	return cnt == 1 ? only : NULL;
}

static void refuse_put_verbs(struct strbuf *out, const struct opt_def *def)
{
	const char *between = "";

	if (def->verbs & 1u << VERB_TRACE) {
		strbuf_str(out, "the trace");
		between = ", ";
	}
	for (int i = 0; opts_verb_name(i); i++) {
		if (!opt_def_is_of(def, (enum opts_verb)(VERB_LIST + i)))
			continue;
		strbuf_printf(out, "%s%s", between, opts_verb_name(i));
		between = ", ";
	}
}

/* A whole command line with the option, of the only verb that takes it. */
static void hint_verb(const char *verb, const struct opt_def *def, const char *text)
{
	static const struct {
		const char *verb;
		const char *needs;
	} others[] = {
		{ "record", " -o FILE" }, { "report", " FILE" },  { "info", " FILE" },
		{ "explain", " FILE" },   { "latency", " FUNC" }, { "diff", " A B" },
	};
	struct strbuf line = { 0 };

	strbuf_printf(&line, "netfgraph %s --%s", verb, def->name);
	if (text) {
		strbuf_char(&line, opt_def_has_choice(def) ? '=' : ' ');
		strbuf_shell(&line, text);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!strcmp(others[i].verb, verb))
			strbuf_str(&line, others[i].needs);
	}
	log_hint("%s", strbuf_cstr(&line));
	strbuf_release(&line);
}

/* "-i (--interval)" if the letter was typed, "--interval" otherwise. */
static void put_typed(struct strbuf *out, const struct opts *opts, const struct opt_def *def)
{
	for (char **word = opts->words; def->letter && word && *word; word++) {
		if ((*word)[0] == '-' && (*word)[1] == def->letter) {
			strbuf_printf(out, "-%c (--%s)", def->letter, def->name);
			return;
		}
	}
	strbuf_printf(out, "--%s", def->name);
}

int refuse_misplaced(const struct opts *opts, const struct opt_def *def, const char *text)
{
	const char *verb = opts->verb ? opts_verb_name((int)opts->verb - VERB_LIST) : "trace";
	const char *value = text && strlen(text) <= VALUE_MAX ? text : "";
	struct strbuf said = { 0 };
	const char *hint;
	char word[128];

	put_typed(&said, opts, def);
	strbuf_str(&said, " belongs to: ");
	refuse_put_verbs(&said, def);
	log_error("%s", strbuf_cstr(&said));
	strbuf_release(&said);
	snprintf(word, sizeof(word), "%s/%s=%s", verb, def->name, value);
	hint = foreign_text(FOREIGN_MISPLACED, word);
	if (!hint) {
		snprintf(word, sizeof(word), "any/%s=%s", def->name, value);
		hint = foreign_text(FOREIGN_MISPLACED, word);
	}
	if (hint)
		log_hint("%s", hint);
	else if (only_verb(def))
		hint_verb(only_verb(def), def, text);
	else
		return describe(def);
	return VERDICT_USAGE;
}

int refuse_missing(const struct opt_def *def)
{
	log_error("option --%s needs a value: %s", def->name, def->arg);
	return describe(def);
}

int refuse_excess(const struct opt_def *def, const char *value)
{
	log_error("option --%s takes no value", def->name);
	if (def->letter != 'h')
		return describe(def);
	log_hint("netfgraph help %s", value && *value ? value : "TOPIC");
	return VERDICT_USAGE;
}

/* ---- values ---- */

static bool is_func_option(const struct opt_def *def)
{
	return !strcmp(def->name, "trace-funcs") || !strcmp(def->name, "notrace-funcs") ||
	       !strcmp(def->name, "graph-funcs") || !strcmp(def->name, "nograph-funcs");
}

/* "-T a -T b" from "a,b". */
static const char *repeated(const struct opt_def *def, const char *text)
{
	static char hint[240];
	struct strbuf line = { 0 };
	char part[128];

	for (;; text++) {
		const size_t len = strcspn(text, ",");

		snprintf(part, sizeof(part), "%.*s", (int)(len < VALUE_MAX ? len : VALUE_MAX),
			 text);
		if (def->letter)
			strbuf_printf(&line, "%s-%c ", line.len ? " " : "", def->letter);
		else
			strbuf_printf(&line, "%s--%s ", line.len ? " " : "", def->name);
		strbuf_shell(&line, part);
		text += len;
		if (!*text || line.len > sizeof(hint))
			break;
	}
	snprintf(hint, sizeof(hint), "%s", strbuf_cstr(&line));
	strbuf_release(&line);
	return hint;
}

const char *refuse_option_for(struct opts *opts, const struct opt_def *def, const char *text)
{
	if (!text || !is_func_option(def))
		return NULL;
	if (text[0] == '-') {
		opts->hint = "the function's name must follow this option";
		return "is an option, not a function";
	}
	if (!strchr(text, ',') || strchr(text, '['))
		return NULL;
	opts->hint = repeated(def, text);
	return "has a comma, which no function's name has";
}

static const char *duration_hint(const struct opt_def *def, const char *text)
{
	static char hint[160];

	if (!*text || text[strspn(text, DIGITS ".")])
		return NULL;
	if (!text[strspn(text, "0.")]) {
		snprintf(hint, sizeof(hint),
			 "--%s takes a duration above zero, with a unit: --%s 10ms", def->name,
			 def->name);
		return hint;
	}
	snprintf(hint, sizeof(hint), "--%s %.20ss is seconds; ns, us, ms, m and h are units, too",
		 def->name, text);
	return hint;
}

static const char *size_hint(const struct opt_def *def, const char *text)
{
	static char hint[160];
	const size_t digits = strspn(text, DIGITS);
	const char *unit = text + digits;

	if (!digits || !*unit || !strchr("kKmMgG", *unit) || !unit[1] || !strchr("iIbB", unit[1]))
		return NULL;
	snprintf(hint, sizeof(hint), "--%s %.*s%c: K, M and G are 1024s of bytes", def->name,
		 (int)(digits > 20 ? 20 : digits), text, toupper((unsigned char)*unit));
	return hint;
}

static const char *number_hint(const struct opt_def *def, const char *text)
{
	static char hint[160];
	const size_t digits = strspn(text, DIGITS);

	if (!digits || strcmp(text + digits, "%") != 0)
		return NULL;
	snprintf(hint, sizeof(hint), "--%s %.*s, without %%", def->name,
		 (int)(digits > 20 ? 20 : digits), text);
	return hint;
}

static const char *task_hint(const struct opt_def *def, const char *text)
{
	static char hint[FOREIGN_TEXT_BYTES];

	if ((strcmp(def->name, "pid") != 0 && strcmp(def->name, "tid") != 0) ||
	    !isalpha((unsigned char)*text))
		return NULL;
	fill_in(hint, sizeof(hint), "--comm {NAME} selects tasks by name; pidof {NAME} prints ids",
		text);
	return hint;
}

static const char *format_hint(const struct opt_def *def, const char *text)
{
	static char hint[160];

	if (strcmp(def->name, "format") != 0)
		return NULL;
	for (int i = 0; consumer_name(i); i++) {
		if (strcmp(consumer_name(i), text) != 0)
			continue;
		snprintf(hint, sizeof(hint), "--for %s chooses what that program reads", text);
		return hint;
	}
	return foreign_text(FOREIGN_FORMAT, text);
}

/* The hint for the first word that --graph-opts does not know. */
static const char *column_hint(const struct opt_def *def, const char *text)
{
	char word[64];
	size_t len;

	if (strcmp(def->name, "graph-opts") != 0)
		return NULL;
	if (strchr(text, ' '))
		return "commas go between the words: --graph-opts args,retval";
	for (;; text += len + 1) {
		len = strcspn(text, ",");
		snprintf(word, sizeof(word), "%.*s", (int)(len < 60 ? len : 60), text);
		if (!graphopts_is_word(word))
			return foreign_text(FOREIGN_COLUMN, word);
		if (!text[len])
			return NULL;
	}
}

static const char *preset_hint(const struct opt_def *def, const char *text)
{
	if (strcmp(def->name, "preset") != 0)
		return NULL;
	return strchr(text, ',') ? repeated(def, text)
				 : "netfgraph list --presets lists the presets";
}

/* The hint for words about packets in --filter, and for comparisons in --packet. */
static const char *expression_hint(const struct opt_def *def, const char *text)
{
	static const char *const words[] = { "tcp",  "udp",  "icmp", "ip",  "ip6",
					     "host", "port", "net",  "src", "dst" };
	static const char syntax[] =
		"netfgraph help filter has the syntax of --packet and --filter";
	const size_t len = strcspn(text, " ");

	if (!strcmp(def->name, "packet"))
		return strstr(text, "retval")
			       ? "--filter 'retval < 0' compares arguments and results"
		       : *pcapsyntax_link_word(text)
			       ? "--filter tests what else packets have: skb.dev.name, skb.vlan_tci, skb.protocol"
			       : syntax;
	if (strcmp(def->name, "filter") != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i]) == len && !memcmp(words[i], text, len))
			return "--packet 'tcp port 443' selects packets";
	}
	return !*text || strpbrk(text, " <>=&|!()")
		       ? syntax
		       : "the expression needs quotes: --filter 'retval < 0'";
}

static const char *value_hint(const struct opt_def *def, const char *text)
{
	static const char *(*const of_option[])(const struct opt_def *def, const char *text) = {
		task_hint, format_hint, column_hint, preset_hint, expression_hint
	};
	const char *hint = NULL;

	switch (def->value.type) {
	case OPT_DURATION:
		return duration_hint(def, text);
	case OPT_SIZE:
		return size_hint(def, text);
	case OPT_NUMBER:
	case OPT_COUNT:
		return number_hint(def, text);
	default:
		break;
	}
	for (size_t i = 0; !hint && i < sizeof(of_option) / sizeof(of_option[0]); i++)
		hint = of_option[i](def, text);
	return hint;
}

int refuse_value(const struct opts *opts, const struct opt_def *def, const char *text,
		 const char *why)
{
	const char *hint = opts->hint ? opts->hint : value_hint(def, text);
	const bool is_long = strlen(text) > SAID_MAX;

	/* the reason comes last, and a message has an end */
	log_error("--%s: '%.*s%s' %s", def->name, SAID_MAX, text, is_long ? "..." : "", why);
	if (!hint)
		return describe(def);
	log_hint("%s", hint);
	return opts->host_lacks ? VERDICT_FAILED : VERDICT_USAGE;
}

/* The hint: both values of an option as one. */
static void hint_join(const char *option, const char *first, const char *second)
{
	static const struct {
		const char *option;
		const char *before, *between, *behind;
		const char *rest;
	} joins[] = {
		{ "packet", "(", ") and (", ")",
		  "takes packets that match both, with 'or' those that match either" },
		{ "filter", "(", ") && (", ")",
		  "takes calls that match both, with '||' those that match either" },
		{ "when", "", " || ", "", "waits for either" },
	};
	const bool is_long = strlen(first) > VALUE_MAX || strlen(second) > VALUE_MAX;
	struct strbuf hint = { 0 };
	char joined[2 * VALUE_MAX + 16];

	first = is_long ? "A" : first;
	second = is_long ? "B" : second;
	for (size_t i = 0; i < sizeof(joins) / sizeof(joins[0]); i++) {
		if (strcmp(joins[i].option, option) != 0)
			continue;
		snprintf(joined, sizeof(joined), "%s%s%s%s%s", joins[i].before, first,
			 joins[i].between, second, joins[i].behind);
		strbuf_printf(&hint, "--%s ", option);
		strbuf_shell(&hint, joined);
		strbuf_printf(&hint, " %s", joins[i].rest);
	}
	log_hint("%s", hint.len ? strbuf_cstr(&hint) : "leave one of them out");
	strbuf_release(&hint);
}

int refuse_twice(const struct opt_def *def, const char *first, const char *second)
{
	if (!first || !second)
		log_error("--%s is given twice, once without a value", def->name);
	else
		log_error("--%s takes one value, and '%s' and '%s' are two", def->name, first,
			  second);
	hint_join(def->name, first ? first : "", second ? second : "");
	return VERDICT_USAGE;
}

/* ---- the command line as a whole ---- */

/* The first option that @why names; NULL: none. */
static const struct opt_def *option_in(const char *why)
{
	for (const char *at = strstr(why, "--"); at; at = strstr(at + 2, "--")) {
		const size_t len = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");

		for (size_t i = 0; i < opt_def_cnt; i++) {
			if (strlen(opt_defs[i].name) == len &&
			    !strncmp(opt_defs[i].name, at + 2, len))
				return &opt_defs[i];
		}
	}
	return NULL;
}

int refuse_together(const struct opts *opts, const char *why)
{
	const struct opt_def *def = option_in(why);

	log_error("%s", why);
	if (opts->hint) {
		log_hint("%s", opts->hint);
		return VERDICT_USAGE;
	}
	return def ? describe(def) : refuse_hint(opts);
}

/* ---- help ---- */

/* The words that help accepts: topics, then verbs. */
static const char *topic_at(int i)
{
	int topic_cnt = 0;

	while (topic_cnt <= i && manual_topic_name(topic_cnt))
		topic_cnt++;
	return i < topic_cnt ? manual_topic_name(i) : opts_verb_name(i - topic_cnt);
}

bool refuse_topic_is_near(const char *word)
{
	return *suggest_of(word, topic_at);
}

int refuse_topic(const char *word)
{
	const char *near = suggest_of(word, topic_at);

	log_error("help has no topic '%s'", word);
	if (*near)
		log_hint("did you mean %s?", near);
	else if (strlen(word) > 2 && strlen(word) < 32 && !word[strspn(word, FUNC_NAME_LETTERS)])
		log_hint(
			"netfgraph help lists the topics; netfgraph list '*%s*' lists functions, and -T '+*%s*' adds them to a trace",
			word, word);
	else
		log_hint("netfgraph help lists the topics");
	return VERDICT_USAGE;
}
