#include "options/opttab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/graphopts.h"
#include "base/log.h"
#include "select/preset.h"
#include "format/profile.h"

#define ARRAY_SIZE(a)    (sizeof(a) / sizeof((a)[0]))
#define TID_MAX          4194303 /* PID_MAX_LIMIT - 1, the same on every 64-bit kernel */
#define FUNCS_MAX        65535   /* NFG_FUNC_CNT */
#define DEPTH_MAX        65535
#define TASKS_MAX        262144
#define FILE_MIN_BYTES   (4 << 10)
#define ROTATE_MAX       1000
#define BUFFER_MIN_BYTES (4 << 10)
#define BUFFER_MAX_BYTES (1ull << 30)
#define RATE_MAX         1000000000ull

static const char *no_memory = "does not fit in memory";

static const char *add_str(struct str_list *list, const char *text)
{
	const char **items;

	if (!*text)
		return "is empty";
	items = realloc(list->items, (list->cnt + 1) * sizeof(*items));
	if (!items)
		return no_memory;
	items[list->cnt++] = text;
	list->items = items;
	return NULL;
}

static const char *apply_trace(struct opts *opts, const char *text)
{
	return add_str(&opts->trace_funcs, text);
}

const char *opts_add_trace(struct opts *opts, const char *text)
{
	return apply_trace(opts, text);
}

const char *opts_add_latency(struct opts *opts, const char *text)
{
	return add_str(&opts->latency_funcs, text);
}

static const char *apply_format(struct opts *opts, const char *text)
{
	opts->has_format = true;
	return format_by_name(text, &opts->format)
		       ? "is no format (text, json, chrome, perfetto, folded, trace.dat or trace.dat.v7)"
		       : NULL;
}

static const char *apply_total(struct opts *opts, const char *text)
{
	(void)text;
	opts->is_total_time = true;
	return NULL;
}

static const char *apply_from(struct opts *opts, const char *text)
{
	if (strcmp(text, "ftrace"))
		return "is nothing that can be read (ftrace is)";
	opts->input_is_text = true;
	return NULL;
}

static const char *apply_follow(struct opts *opts, const char *text)
{
	(void)text;
	opts->input_is_followed = true;
	return NULL;
}

static const char *apply_input(struct opts *opts, const char *text)
{
	if (!*text)
		return "is empty where a file name is needed";
	opts->input_path = text;
	return NULL;
}

static const char *apply_sort(struct opts *opts, const char *text)
{
	enum profile_sort sort;

	if (profile_sort_by_name(text, &sort))
		return "is nothing to sort by (total, self, count, avg, max, p99 or name)";
	opts->profile_sort = sort;
	return NULL;
}

static const char *apply_callers(struct opts *opts, const char *text)
{
	(void)text;
	opts->has_callers = true;
	return NULL;
}

static const char *apply_rows(struct opts *opts, const char *text)
{
	uint64_t cnt;
	const char *why = parse_u64(text, 1, FUNCS_MAX, &cnt);

	if (!why)
		opts->profile_rows = (uint32_t)cnt;
	return why;
}

static const char *apply_by_event(struct opts *opts, const char *text)
{
	(void)text;
	opts->by_event = true;
	return NULL;
}

static const char *apply_max_tasks(struct opts *opts, const char *text)
{
	uint64_t cnt;
	const char *why = parse_u64(text, 1, TASKS_MAX, &cnt);

	if (!why)
		opts->task_cnt = (uint32_t)cnt;
	return why;
}

static const char *apply_graph(struct opts *opts, const char *text)
{
	return add_str(&opts->graph_funcs, text);
}

static const char *apply_nograph(struct opts *opts, const char *text)
{
	return add_str(&opts->nograph_funcs, text);
}

static const char *apply_slower(struct opts *opts, const char *text)
{
	return parse_duration(text, &opts->slower_ns);
}

static const char *apply_packet(struct opts *opts, const char *text)
{
	static char why[512];
	int err;

	pcapfilter_release(&opts->packet);
	err = pcapfilter_compile(&opts->packet, text, why, sizeof(why));
	return err == -ENOMEM ? no_memory : err ? why : NULL;
}

static const char *apply_terminal(struct opts *opts, const char *text)
{
	(void)text;
	opts->include_terminal = true;
	return NULL;
}

static const char *apply_user(struct opts *opts, const char *text)
{
	if (!*text)
		return "is empty";
	opts->user = text;
	return NULL;
}

static const char *apply_nosleep(struct opts *opts, const char *text)
{
	(void)text;
	opts->nosleep_time = true;
	return NULL;
}

static const char *apply_errors(struct opts *opts, const char *text)
{
	(void)text;
	opts->errors_only = true;
	return NULL;
}

static const char *apply_filter(struct opts *opts, const char *text)
{
	filter_free(opts->filter);
	opts->filter = NULL;
	return filter_parse(&opts->filter, text);
}

static const char *apply_preset(struct opts *opts, const char *text)
{
	return preset_find(text) ? add_str(&opts->presets, text)
				 : "is no preset (netfgraph list --presets shows them)";
}

static const char *apply_callee_depth(struct opts *opts, const char *text)
{
	uint64_t depth;
	const char *why = parse_u64(text, 1, DEPTH_MAX, &depth);

	if (!why)
		opts->callee_depth = (uint32_t)depth;
	return why;
}

static const char *apply_presets(struct opts *opts, const char *text)
{
	(void)text;
	opts->list_presets = true;
	return NULL;
}

static const char *apply_plan(struct opts *opts, const char *text)
{
	(void)text;
	opts->list_plan = true;
	return NULL;
}

static const char *apply_json(struct opts *opts, const char *text)
{
	(void)text;
	opts->json = true;
	return NULL;
}

static const char *apply_notrace(struct opts *opts, const char *text)
{
	return add_str(&opts->notrace_funcs, text);
}

static const char *apply_pid(struct opts *opts, const char *text)
{
	return parse_num_list(text, 1, TID_MAX, &opts->pids);
}

static const char *apply_tid(struct opts *opts, const char *text)
{
	return parse_num_list(text, 1, TID_MAX, &opts->tids);
}

static const char *apply_cgroup(struct opts *opts, const char *text)
{
	return add_str(&opts->cgroups, text);
}

static const char *apply_container(struct opts *opts, const char *text)
{
	return add_str(&opts->containers, text);
}

static const char *apply_netns(struct opts *opts, const char *text)
{
	return add_str(&opts->netns, text);
}

static const char *apply_comm(struct opts *opts, const char *text)
{
	return add_str(&opts->comms, text);
}

static const char *apply_cpu(struct opts *opts, const char *text)
{
	opts->has_cpus = true;
	return parse_cpu_list(text, &opts->cpus);
}

static const char *apply_depth(struct opts *opts, const char *text)
{
	uint64_t depth;
	const char *why = parse_u64(text, 1, DEPTH_MAX, &depth);

	if (!why)
		opts->graph_depth = (uint32_t)depth;
	return why;
}

static const char *apply_max_funcs(struct opts *opts, const char *text)
{
	uint64_t cnt;
	const char *why = parse_u64(text, 1, FUNCS_MAX, &cnt);

	if (!why)
		opts->max_funcs = (uint32_t)cnt;
	return why;
}

static const char *apply_output(struct opts *opts, const char *text)
{
	if (!*text)
		return "is empty where a file name is needed";
	opts->output_path = text;
	return NULL;
}

static const char *apply_file_size(const char *text, uint64_t *bytes)
{
	const char *why = parse_size(text, bytes);

	if (why)
		return why;
	return *bytes < FILE_MIN_BYTES ? "is too small (4K is the least)" : NULL;
}

static const char *apply_max_size(struct opts *opts, const char *text)
{
	return apply_file_size(text, &opts->max_bytes);
}

static const char *apply_rotate(struct opts *opts, const char *text)
{
	const char *comma = strchr(text, ',');
	char size[32];
	uint64_t cnt;
	const char *why;

	if (!comma || (size_t)(comma - text) >= sizeof(size))
		return "is not SIZE,N";
	memcpy(size, text, (size_t)(comma - text));
	size[comma - text] = 0;
	why = apply_file_size(size, &opts->rotate_bytes);
	if (!why)
		why = parse_u64(comma + 1, 2, ROTATE_MAX, &cnt);
	if (!why)
		opts->rotate_cnt = (uint32_t)cnt;
	return why;
}

static const char *apply_timeout(struct opts *opts, const char *text)
{
	return parse_duration(text, &opts->timeout_ns);
}

static const char *apply_buffer(struct opts *opts, const char *text)
{
	const char *why = parse_size(text, &opts->buffer_bytes);

	if (why)
		return why;
	if (opts->buffer_bytes < BUFFER_MIN_BYTES)
		return "is too small (4K is the least)";
	return opts->buffer_bytes > BUFFER_MAX_BYTES ? "is too large (1G is the most)" : NULL;
}

static const char *apply_overhead(struct opts *opts, const char *text)
{
	uint64_t pct;
	const char *why = parse_u64(text, 1, 100, &pct);

	if (!why)
		opts->overhead_pct = (uint32_t)pct;
	return why;
}

static const char *apply_max_events(struct opts *opts, const char *text)
{
	uint64_t rate;
	const char *why = parse_count(text, &rate);

	if (why)
		return why;
	if (rate > RATE_MAX)
		return "is too large (1G is the most)";
	opts->max_events_sec = rate;
	return NULL;
}

static const char *apply_attach(struct opts *opts, const char *text)
{
	static const char *const names[] = {
		[ATTACH_AUTO] = "auto",
		[ATTACH_MULTI] = "multi",
		[ATTACH_SESSION] = "session",
		[ATTACH_PAIR] = "pair",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], text)) {
			opts->attach_mode = (enum attach_mode)i;
			return NULL;
		}
	}
	return "is no way to attach (auto, multi, session or pair)";
}

static const char *apply_strict(struct opts *opts, const char *text)
{
	(void)text;
	opts->strict = true;
	return NULL;
}

static const char *apply_verbose(struct opts *opts, const char *text)
{
	(void)opts;
	(void)text;
	log_set_verbosity(log_verbosity() + 1);
	return NULL;
}

static const char *apply_dialect(struct opts *opts, const char *text)
{
	static const char *const old[] = { "6.1", "6.12" };

	opts->is_old_dialect = false;
	for (size_t i = 0; i < ARRAY_SIZE(old); i++)
		opts->is_old_dialect |= !strcmp(text, old[i]);
	return opts->is_old_dialect || !strcmp(text, "7.2") ? NULL
							    : "is no dialect (6.1, 6.12 or 7.2)";
}

static const char *apply_pointers(struct opts *opts, const char *text)
{
	(void)text;
	opts->pointers = true;
	return NULL;
}

/* ---- options that answer and end ---- */

static const char *print(struct opts *opts, struct strbuf *text)
{
	bool is_fine = strbuf_ok(text) && fwrite(text->ptr, 1, text->len, stdout) == text->len &&
		       !fflush(stdout);

	strbuf_release(text);
	opts->is_done = true;
	return is_fine ? NULL : "cannot be written to standard output";
}

static const char *apply_help(struct opts *opts, const char *text)
{
	struct strbuf out = { 0 };

	(void)text;
	manual_help(&out);
	return print(opts, &out);
}

static const char *apply_man(struct opts *opts, const char *text)
{
	struct strbuf out = { 0 };

	(void)text;
	manual_man(&out);
	return print(opts, &out);
}

static const char *apply_version(struct opts *opts, const char *text)
{
	struct strbuf out = { 0 };

	(void)text;
	strbuf_str(&out, "netfgraph " NFG_VERSION "\n");
	return print(opts, &out);
}

#define OF(verb) (1u << (verb))
#define SHOWS    (OF(VERB_TRACE) | OF(VERB_REPORT))
#define SUMS     (OF(VERB_PROFILE) | OF(VERB_LATENCY))
#define WRITES   (SHOWS | SUMS | OF(VERB_RECORD))
/* a list shows what a trace with the same options would do; what a file cannot tell has a complaint of its own */
#define SELECTS (WRITES | OF(VERB_LIST))
#define RUNS    (OF(VERB_TRACE) | OF(VERB_RECORD) | OF(VERB_PROFILE))
#define ALL     (~0u)

const struct opt_def opt_defs[] = {
	{ 'T', "trace-funcs", "GLOB",
	  "Trace the functions that match; repeatable. 'GLOB [MODULE]' takes those of a module only. "
	  "Without it: the main road of TCP, UDP and IP through the kernel.",
	  apply_trace, SELECTS },
	{ 'N', "notrace-funcs", "GLOB", "Leave these functions out; repeatable; wins over -T.",
	  apply_notrace, SELECTS },
	{ 'G', "graph-funcs", "FUNC",
	  "Print the graph only below this function; repeatable. Without -T, the functions traced are those "
	  "that the packet may come through below it, found by the calls in the kernel's text.",
	  apply_graph, SELECTS },
	{ 'g', "nograph-funcs", "FUNC",
	  "Print nothing of this function and below it; repeatable; it has to be among those traced.",
	  apply_nograph, SELECTS },
	{ 0, "packet", "EXPRESSION",
	  "Print the graph only of packets that match, in the syntax of tcpdump (pcap-filter(7)), such as 'tcp "
	  "port 443'. It begins at the first traced function, with -G or --preset the first of those, that has such "
	  "a packet or its socket as an argument. The kernel decides; of others nothing is recorded. A socket is "
	  "looked at where there is no IP header yet: src is its own end, dst the peer.",
	  apply_packet, SELECTS },
	{ 0, "slower-than", "DURATION",
	  "Print only calls of roots (-G, --preset; else outermost calls) that took at least this long, each "
	  "with all that it called, in the order in which they ended.",
	  apply_slower, SELECTS },
	{ 0, "nosleep-time", NULL,
	  "Durations, also for --slower-than, without the time in which the task had no processor (the "
	  "kernel's option sleep-time, off). Costs a record whenever a traced task loses or gets one.",
	  apply_nosleep, SELECTS },
	{ 0, "errors-only", NULL,
	  "Print only calls of roots that returned an error (an integer from -4095 to -1), each with all that "
	  "it called, in the order in which they ended.",
	  apply_errors, SELECTS },
	{ 0, "filter", "EXPRESSION",
	  "Print only calls of roots (-G, --preset; else of functions that have what it names) for which that is so, "
	  "each with all that it called, in the order in which they ended: comparisons (== != < <= > >= and & for bits) of retval or an argument, by its name in the "
	  "kernel, with a number, an errno's name or an enumerator's, with && || ! and (). The kernel decides, when "
	  "the call returns.",
	  apply_filter, SELECTS },
	{ 0, "preset", "NAME",
	  "A set of such functions by the name of a question, such as tcp-connect or drop; "
	  "netfgraph list --presets shows them; repeatable.",
	  apply_preset, SELECTS },
	{ 0, "callee-depth", "N",
	  "With -G or --preset and without -T: trace what is called up to N levels below.",
	  apply_callee_depth, SELECTS },
	{ 0, "max-funcs", "N",
	  "Trace no more than N functions; the rest is left out, and that is said.",
	  apply_max_funcs, SELECTS },
	{ 'p', "pid", "LIST",
	  "Trace these processes (numbers, separated by commas), with the threads they have and "
	  "will have. Without -p and COMMAND every task is traced but this program itself.",
	  apply_pid, SELECTS },
	{ 0, "tid", "LIST", "Trace these tasks alone, without the other threads of their process.",
	  apply_tid, SELECTS },
	{ 0, "cgroup", "PATH|ID",
	  "Trace the tasks in this cgroup (v2) and those below it, and in softirqs the packets of their "
	  "sockets and network namespaces; repeatable.",
	  apply_cgroup, SELECTS },
	{ 0, "container", "NAME|ID",
	  "The same for a container, found by its cgroup: docker, containerd, podman, CRI-O, Kubernetes, "
	  "systemd-nspawn, LXC; four digits of an id are enough; repeatable.",
	  apply_container, SELECTS },
	{ 0, "netns", "PATH|PID|INODE",
	  "Trace the tasks in this network namespace, and in softirqs its packets; repeatable.",
	  apply_netns, SELECTS },
	{ 0, "comm", "GLOB",
	  "Trace tasks whose name matches; repeatable. A name given by exec counts within 10 ms. Options of "
	  "different kinds (-p, --cgroup, --netns, --comm) narrow each other.",
	  apply_comm, SELECTS },
	{ 0, "user", "NAME",
	  "Run COMMAND as this user (a name or a number), with that user's groups, HOME, USER, LOGNAME and SHELL. "
	  "Without it COMMAND runs as whoever runs this program: under sudo as root.",
	  apply_user, RUNS },
	{ 0, "include-terminal", NULL,
	  "Trace those too who carry what is printed here to you: the processes that hold the other end of this "
	  "terminal, such as sshd, sudo, script, and tmux with its clients. Without it they are left out, as is "
	  "this program, unless -p or --tid names them.",
	  apply_terminal, SELECTS },
	{ 'C', "cpu", "LIST", "Trace what runs on these CPUs, such as 0,2-5.", apply_cpu, SELECTS },
	{ 'D', "graph-depth", "N", "Print no calls below the Nth level.", apply_depth,
	  SHOWS | SUMS },
	{ 0, "graph-opts", "WORDS",
	  "Columns, by the kernel's own option names, separated by commas; 'no' before a word turns "
	  "it off, and the kernel's prefix funcgraph- may stand before it.",
	  graphopts_apply, WRITES | OF(VERB_LIST) },
	{ 0, "dialect", "RELEASE",
	  "How results are written: 7.2 (the default: /* ret=-22 */, bool and enum by name) or 6.1, 6.12 (/* = -22 */).",
	  apply_dialect, SHOWS },
	{ 0, "pointers", NULL,
	  "Write kernel addresses in arguments and results as they are. Root sees them anyway unless "
	  "kernel.kptr_restrict is 2; else each is replaced by the same number all through.",
	  apply_pointers, SHOWS },
	{ 0, "format", "NAME",
	  "text (the kernel's), json (a call a line), chrome and perfetto (for ui.perfetto.dev), folded (for "
	  "flame graphs), trace.dat (for trace-cmd, KernelShark and Trace Compass), trace.dat.v7 (the same in "
	  "version 7 of that format, which Trace Compass does not read).",
	  apply_format, SHOWS },
	{ 0, "for", "READER",
	  "The format and the columns that a reader needs, by the reader's name (below). What --format and "
	  "--graph-opts say holds, before or behind it; if the reader cannot read that, it is refused.",
	  graphopts_apply_reader, SHOWS },
	{ 0, "total-time", NULL, "With --format folded: time with what is called, not without.",
	  apply_total, SHOWS },
	{ 0, "from", "KIND",
	  "With report, profile and latency: FILE is function_graph text (ftrace).", apply_from,
	  OF(VERB_REPORT) | SUMS },
	{ 0, "follow", NULL, "With report: FILE is still being recorded; wait for more.",
	  apply_follow, OF(VERB_REPORT) },
	{ 0, "input", "FILE",
	  "With profile and latency: take this recording instead of tracing now.", apply_input,
	  SUMS },
	{ 0, "sort", "KEY", "With profile: total, self, count, avg, max, p99 or name.", apply_sort,
	  OF(VERB_PROFILE) },
	{ 0, "callers", NULL, "With profile: who called, below each function.", apply_callers,
	  OF(VERB_PROFILE) },
	{ 0, "rows", "N", "With profile: no more than N functions.", apply_rows, OF(VERB_PROFILE) },
	{ 0, "max-tasks", "N",
	  "With profile and latency, where the kernel sums up: room for N tasks at once that have called a "
	  "traced function (16384); each takes 1.6 KB. Calls of more tasks are not counted, and that is said.",
	  apply_max_tasks, SUMS },
	{ 0, "by-event", NULL,
	  "With profile and latency: let every call come to user space, instead of summing up in the kernel. "
	  "Costs more, and calls are lost when the buffer is full. Done anyway where the kernel's sums would not "
	  "be the same: with --cgroup, --container, --netns, --packet, --slower-than, --errors-only, --filter, "
	  "--nosleep-time, -g, -D and --attach session; -v says which it is.",
	  apply_by_event, SUMS },
	{ 'o', "output", "FILE",
	  "Write the trace there; standard output without it. The file is made with mode 0600. One that is there is "
	  "replaced when the trace begins, and left as it is if it does not; where everybody may make files (/tmp), "
	  "links and files of other users are refused.",
	  apply_output, WRITES },
	{ 0, "max-size", "SIZE",
	  "Stop when the output has reached this size, such as 100M, and say so. Text and --format json end with "
	  "the last row that fits; a recording may be up to 1M larger.",
	  apply_max_size, OF(VERB_TRACE) | OF(VERB_RECORD) },
	{ 0, "rotate", "SIZE,N",
	  "Begin a new file whenever -o FILE has reached SIZE (a recording: or up to 1M more), and keep N files: FILE is the newest, then FILE.1 and "
	  "so on. Each can be read alone: a text has its header, a recording all that it needs. Calls that "
	  "are under way at a change are begun in one file and ended in another.",
	  apply_rotate, OF(VERB_TRACE) | OF(VERB_RECORD) },
	{ 0, "timeout", "DURATION", "Stop after this long, such as 500ms or 10s.", apply_timeout,
	  SELECTS },
	{ 0, "buffer-size", "SIZE",
	  "Buffer for each CPU, such as 256K or 4M, rounded down to a power of two. Without it: 64K to "
	  "2M, by the number of CPUs. Not used where the kernel sums up (profile, latency).",
	  apply_buffer, SELECTS },
	{ 0, "max-overhead", "PCT",
	  "How much of a CPU's time tracing may take: calls that are recorded, estimated from their number, and the "
	  "reader; not what calls of other tasks take, which nobody counts. Above it the hottest functions that call no "
	  "traced function are left out, then their callers, each named on standard error and in a comment of the trace "
	  "(a recording's report has it too); when that is not enough the trace ends with status 5. "
	  "Start functions and functions given to -T by full name stay. 25 without COMMAND; 100, which is no limit, "
	  "with it. Where the kernel sums up (profile, latency) there is no limit, unless this is given: then every "
	  "call comes to user space.",
	  apply_overhead, OF(VERB_TRACE) | OF(VERB_RECORD) | SUMS },
	{ 0, "max-events", "RATE",
	  "How many events a second may be recorded, such as 50K or 2M (thousands, millions): entries and exits, two "
	  "for a call. What a second has beyond that is not kept: it stands in the trace as lost, and is counted at the "
	  "end. Then the hottest functions that call no traced function are left out, as with --max-overhead, "
	  "so that 70 % of RATE should be left; when that is not enough the trace ends with status 5. A second "
	  "begins with the first event behind the one before. No limit without it. Where the kernel sums up "
	  "(profile, latency) no event is recorded.",
	  apply_max_events, OF(VERB_TRACE) | OF(VERB_RECORD) | SUMS },
	{ 0, "attach", "MODE",
	  "How programs get to functions: multi (12 pairs of programs for all functions; Linux 7.2), "
	  "session (a program for each function; 7.0), pair (two for each function), or auto, the first of these "
	  "that the kernel has.",
	  apply_attach, SELECTS },
	{ 0, "presets", NULL, "With list: the presets, and the functions they begin at.",
	  apply_presets, OF(VERB_LIST) },
	{ 0, "plan", NULL,
	  "With list: how many functions, and what attaching and detaching them takes.", apply_plan,
	  OF(VERB_LIST) },
	{ 0, "json", NULL, "With check: the table as JSON.", apply_json, OF(VERB_CHECK) },
	{ 0, "strict", NULL,
	  "Exit with 4 when any event was lost, with report also when the recorder of FILE was killed.",
	  apply_strict, WRITES },
	{ 'v', "verbose", NULL,
	  "Say more on standard error: a summary at the end; twice: why a function was left out.",
	  apply_verbose, ALL },
	{ 'V', "version", NULL, "Print the version and exit.", apply_version, ALL },
	{ 'h', "help", NULL, "Print this and exit.", apply_help, ALL },
	{ 0, "print-man", NULL, NULL, apply_man, ALL },
};
const size_t opt_def_cnt = ARRAY_SIZE(opt_defs);

const struct exit_status_def exit_status_defs[] = {
	{ EXIT_STATUS_OK, "Traced, until Ctrl-C or --timeout; with COMMAND: its own exit status "
			  "(128 + N when signal N killed it)." },
	{ EXIT_STATUS_FAILED,
	  "This host refuses, or the output cannot be written: no room, its reader is gone, or at the end of the "
	  "trace reads nothing for 2 s (30 s in all; until a second Ctrl-C)." },
	{ EXIT_STATUS_USAGE, "The command line is wrong, or -o names the file that is read." },
	{ EXIT_STATUS_NOTHING,
	  "A -T names no function of this kernel, or of the recording, or none is left to trace, or "
	  "with --packet to begin at." },
	{ EXIT_STATUS_LOSSES, "Events were lost and --strict was given." },
	{ EXIT_STATUS_OVERHEAD,
	  "Tracing took more than --max-overhead or --max-events, and nothing was left to leave out." },
	{ EXIT_STATUS_NOT_RUN, "COMMAND cannot be run." },
	{ EXIT_STATUS_NOT_FOUND, "COMMAND was not found." },
	{ EXIT_STATUS_SIGNAL,
	  "And N: signal N came before tracing began (130: Ctrl-C). Nothing was traced, COMMAND did not run, and FILE is as it was." },
};
const size_t exit_status_def_cnt = ARRAY_SIZE(exit_status_defs);
