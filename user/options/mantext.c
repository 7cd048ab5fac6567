#include "options/mantext.h"

#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

const char man_synopsis[] = "[VERB] [OPTION...] [[--] COMMAND [ARG...]]";

const char man_about[] =
	"Prints the calls of the kernel's network functions as the kernel's function_graph tracer would, "
	"using BPF programs at function entry and exit; tracefs, debugfs and the kernel's tracers are not touched. "
	"With COMMAND, that command and the processes it starts are traced from its first instruction until it ends, "
	"and its exit status is passed on. Processes that it leaves in the background are no longer traced. "
	"With an option that selects tasks (-p, --tid, --comm, --cgroup, --container, --pod, --netns), the tasks that it "
	"selects are traced instead, until the command ends. "
	"Ctrl-C ends the trace and leaves the command running.";

/* ---- verbs ---- */

#define COMMAND       "[[--] COMMAND [ARG...]]"
#define BEHIND_DASHES "[-- COMMAND [ARG...]]"

const struct man_verb man_verbs[] = {
	{ "record",
	  "write a recording to -o FILE instead of text",
	  COMMAND,
	  { "netfgraph record -o web.rec curl -s http://localhost/",
	    "netfgraph record -o web.rec -G tcp_v4_rcv --timeout 10s" } },
	{ "report FILE",
	  "print a recording, or function_graph text, from FILE or a pipe, as text or in another --format; -T, -N, -C, "
	  "--tid, --comm, -G, -g, --preset, --slower-than and, if the recording has values, "
	  "--errors-only and --filter select from it",
	  NULL,
	  { "netfgraph report web.rec --graph-opts abstime,proc",
	    "netfgraph report web.rec --format perfetto -o web.pftrace" } },
	{ "info FILE",
	  "describe a recording: its command line, host, kernel, time, values, functions and losses; see "
	  "--format",
	  NULL,
	  { "netfgraph info web.rec", "netfgraph info web.rec --sort name --rows 50" } },
	{ "diff A B",
	  "compare two recordings, or function_graph texts: functions by the change of their counts and times, and "
	  "the pairs of caller and function that only one of them has; see --per, --sort and --format",
	  NULL,
	  { "netfgraph diff before.rec after.rec --sort p99 --rows 20",
	    "netfgraph diff before.rec after.rec --format json" } },
	{ "profile",
	  "print a table of functions, live (summed up in the kernel) or from --input",
	  COMMAND,
	  { "netfgraph profile -T 'tcp_*' --timeout 10s --sort self",
	    "netfgraph profile --input web.rec --callers" } },
	{ "latency FUNC...",
	  "print histograms of the durations of these functions (or of those of -T), live (summed up in the kernel; put -- before a "
	  "COMMAND) or from --input",
	  BEHIND_DASHES,
	  { "netfgraph latency tcp_sendmsg --timeout 10s",
	    "netfgraph latency tcp_sendmsg -- curl -s http://localhost/" } },
	{ "latency --by stage",
	  "print how long packets (--packet) stayed in each stage of the stack, live or from --input",
	  BEHIND_DASHES,
	  { "netfgraph latency --by stage --packet 'tcp port 443' --timeout 10s", NULL } },
	{ "list [GLOB...]",
	  "list the functions that would be traced; -v: why others are not; see --presets, --plan, --containers and --format",
	  NULL,
	  { "netfgraph list 'tcp_*'", "netfgraph list -G __sys_sendto --plan" } },
	{ "check",
	  "print the features of this kernel; see --format",
	  NULL,
	  { "netfgraph check", "netfgraph check --format json" } },
	{ "help [TOPIC|--OPTION]",
	  "print the options of a topic or of a verb, or the text of an --OPTION, or with help all, all of them",
	  NULL,
	  { "netfgraph help tasks", "netfgraph help --graph-opts" } },
};
const size_t man_verb_cnt = ARRAY_SIZE(man_verbs);

const struct man_example man_examples[] = {
	{ "netfgraph curl -s http://localhost/", "what the kernel does for one request" },
	{ "netfgraph -T 'tcp_*' -p 1234 --timeout 5s", "all TCP functions of one process" },
	{ "netfgraph --packet 'host 10.0.0.7 and tcp port 443'", "the path of these packets only" },
	{ "netfgraph -G inet_stream_connect --filter 'retval == -ECONNREFUSED'",
	  "refused connects only" },
	{ "netfgraph --for sleepgraph -o trace.txt",
	  "all tasks, in the columns that sleepgraph reads" },
	{ "netfgraph -T tcp_v4_rcv -T 'veth_* [veth]' -C 0", "one CPU, functions of a module too" },
};
const size_t man_example_cnt = ARRAY_SIZE(man_examples);

const struct man_brief man_briefs[] = {
	{ "graph-funcs", "trace FUNC and what it calls in the network stack" },
	{ "trace-funcs", "trace the functions whose names match" },
	{ "preset", "functions of one question: tcp-connect, drop, ..." },
	{ "packet", "only the path of matching packets: 'tcp port 443'" },
	{ "pid", "these processes; or --cgroup, --container, --pod" },
	{ "slower-than", "only calls at least this long: 10ms" },
	{ "errors-only", "only calls that failed; or --filter 'retval < 0'" },
	{ "graph-opts", "columns: args,retval,retaddr,packet,proc,abstime" },
	{ "timeout", "stop after this time: 5s; else Ctrl-C stops it" },
	{ "output", "write to FILE" },
};
const size_t man_brief_cnt = ARRAY_SIZE(man_briefs);

const struct man_example man_first_examples[] = {
	{ "netfgraph curl -s http://localhost/", "one command" },
	{ "netfgraph -G __sys_sendto -p 1234 --timeout 5s", "one function, one process" },
	{ "netfgraph --packet 'tcp port 443' --timeout 10s", "the path of packets" },
	{ "netfgraph profile -T 'tcp_*' --timeout 10s", "a table of functions" },
};
const size_t man_first_example_cnt = ARRAY_SIZE(man_first_examples);

const struct man_topic man_topics[] = {
	{ "functions", "trace-funcs", "Which functions, which calls" },
	{ "tasks", "pid", "Whose calls" },
	{ "columns", "graph-depth", "Output" },
	{ "reports", "from", "Reading files, tables" },
	{ "limits", "output", "Output files and limits" },
	{ "attaching", "attach", "Others" },
};
const size_t man_topic_cnt = ARRAY_SIZE(man_topics);

const struct man_topic *man_topic_at(const char *name)
{
	for (size_t i = 0; i < man_topic_cnt; i++) {
		if (!strcmp(man_topics[i].first_option, name))
			return &man_topics[i];
	}
	return NULL;
}

const struct man_block man_blocks[] = {
	{ MAN_SECTION, "DESCRIPTION", NULL },
	{ MAN_TEXT, NULL, man_about },
	{ MAN_TEXT, NULL,
	  "Without COMMAND and without an option that selects tasks, every task is traced, except netfgraph itself "
	  "and the processes that forward its output to the terminal. Without -T, -G and --preset, about 45 "
	  "functions are traced that a TCP or UDP packet passes between system call and device." },
	{ MAN_TEXT, NULL,
	  "A start function (-G, --preset) is a function at which a graph begins: only its calls and the calls "
	  "below them are recorded. --packet makes start functions of the traced functions that have a packet or a "
	  "socket as an argument." },
	{ MAN_SUBSECTION, "Verbs", NULL },
	{ MAN_TEXT, NULL,
	  "Without a verb, a trace is printed. Put -- before a COMMAND that has the name of a verb." },
	{ MAN_VERBS, NULL, NULL },

	{ MAN_SECTION, "OPTIONS", NULL },
	{ MAN_TEXT, NULL,
	  "A DURATION has a unit: ns, us, ms, s, m or h. A SIZE may have K, M or G (1024s), a RATE the same letters "
	  "(thousands). A GLOB has *, ? and [...] as in a shell." },
	{ MAN_OPTIONS, NULL, NULL },
	{ MAN_SUBSECTION, "Words of --graph-opts", NULL },
	{ MAN_GRAPH_OPTS, NULL, NULL },
	{ MAN_SUBSECTION, "Consumers for --for", NULL },
	{ MAN_CONSUMERS, NULL, NULL },

	{ MAN_SUBSECTION, "Completion", NULL },
	{ MAN_TEXT, NULL,
	  "bash (with the package bash-completion), zsh and fish complete verbs, options and their values, such as functions "
	  "of the running kernel, presets, processes, cgroups and containers. --print-completion bash, zsh or fish prints "
	  "the script that the shell needs." },

	{ MAN_SECTION, "FILTER SYNTAX", NULL },
	{ MAN_SUBSECTION, "--filter: calls by arguments and result", NULL },
	{ MAN_TEXT, NULL, "An expression compares names with numbers:" },
	{ MAN_CODE, NULL,
	  "retval < 0\n"
	  "retval == -ECONNREFUSED && addrlen == 16\n"
	  "!(flags & 0x40) || len > 1000\n"
	  "reason == SKB_DROP_REASON_NO_SOCKET" },
	{ MAN_ITEM, "NAME",
	  "retval, or an argument's name in the kernel; --graph-opts args shows these. Types are the kernel's. A pointer "
	  "or an unsigned number of 64 bits is negative if it is an error (ERR_PTR)." },
	{ MAN_ITEM, "== != < <= > >= &",
	  "comparisons; & is true if NAME and NUMBER have a bit in common." },
	{ MAN_ITEM, "NUMBER",
	  "decimal or hexadecimal, with - before it if negative; the name of an errno; an enumerator of the argument's "
	  "type." },
	{ MAN_ITEM, "&& || ! ()", "combine comparisons; && binds tighter than ||." },
	{ MAN_SUBSECTION, "--packet: packets", NULL },
	{ MAN_TEXT, NULL,
	  "The syntax is that of pcap-filter(7), for packets that begin with the IP header; host names are looked up "
	  "once. libpcap, which compiles it, is needed only here. The filter sees the IP header and the 20 bytes after "
	  "it; in a tunnel, the header that the function works on. IP and TCP options are skipped correctly. Deeper "
	  "bytes, offsets computed from the packet, and layer 2 (vlan, ether) are refused." },
	{ MAN_TEXT, NULL,
	  "Where there is no IP header yet, or the function has only a socket, the socket is matched as if it were "
	  "sending. Fields that a socket lacks, such as TCP flags or len, do not match, even after not." },

	{ MAN_SECTION, "OUTPUT", NULL },
	{ MAN_TEXT, NULL,
	  "Text has the kernel's format, byte for byte (Documentation/trace/ftrace.rst in the kernel's source):" },
	{ MAN_CODE, NULL,
	  "# CPU  DURATION                  FUNCTION CALLS\n"
	  "# |     |   |                     |   |   |   |\n"
	  " 0)               |            __dev_queue_xmit() {\n"
	  " 0) ! 497.200 us  |              loopback_xmit();\n"
	  " 0)               |              udp_rcv() {\n"
	  " 0)               |                __udp4_lib_rcv() {\n"
	  " 0) ! 113.835 us  |                  sock_def_readable();\n"
	  " 0) # 1390.331 us |                }\n"
	  " 0) # 1587.542 us |              }\n"
	  " 0) # 3864.760 us |            }" },
	{ MAN_ITEM, "f();",
	  "a call that began and returned with nothing traced in between on its CPU." },
	{ MAN_ITEM, "f() { ... }",
	  "a call with something inside. Its duration is at its end, and includes time asleep." },
	{ MAN_ITEM, "} /* f */",
	  "the end of a call whose opening brace is not the last at its depth on this CPU. Without a duration: a return "
	  "whose entry is not certain, because events may be missing between the two." },
	{ MAN_ITEM, "CPU:N [LOST n EVENTS]",
	  "events are missing here. Their number, by reason, is printed on standard error at the end; --strict makes it "
	  "exit status 4." },
	{ MAN_ITEM, "/* ... */",
	  "the caller (<-f+0x10/0x20), the result (ret=-22), or on a row of its own a comment: the packet or socket, or "
	  "the functions that a limit left out." },
	{ MAN_TEXT, NULL,
	  "Names of tasks, cgroups and files, and text from recordings and traces, are printed so that they cannot "
	  "control a terminal or start a new column or line: such a byte is written as \\xNN, in JSON as \\uXXXX." },
	{ MAN_TEXT, NULL,
	  "Messages go to standard error. If that is a terminal, and netfgraph in its foreground, a line says when a trace "
	  "begins, and one how it ended. While it runs, unless there is a COMMAND or rows go to a terminal or pipe, a line "
	  "shows every second the time, calls per second, calls, lost events, the share of a CPU, and the size of the file." },
	{ MAN_TEXT, NULL,
	  "A reader that is too slow costs events, which are marked as lost; it does not "
	  "delay Ctrl-C or --timeout." },

	{ MAN_SECTION, "FILES", NULL },
	{ MAN_ITEM, "FILE of -o",
	  "has mode 0600, because arguments contain kernel addresses. If a disk is full, it ends with its last whole row "
	  "or, a recording, its last whole chunk." },
	{ MAN_ITEM, "/etc/netfgraph.conf, ~/.config/netfgraph/config",
	  "defaults of options, one per line: the long name without dashes, a blank and the value, such as "
	  "'timeout 10s'. Lines that begin with # are comments. A flag stands alone, or with yes or no. The second "
	  "file overrides the first, and the command line overrides both, also for options that exclude its own; "
	  "lists are replaced as a whole, only the words of graph-opts add up. A default that does not apply to a "
	  "command line is ignored: one of another verb, one for traces when a file is read, trace-funcs beside "
	  "-T, -G or --preset. Settings of a single run belong on the command line and are refused in a file: "
	  "tasks, start functions, filters, FILE. So are a wrong line, and a file that belongs to neither root nor "
	  "the current user or that others may write to: status 2. Under sudo(8), ~ is usually root's." },
	{ MAN_ITEM, "/sys/kernel/btf", "types of functions; required." },
	{ MAN_ITEM, "/proc/kallsyms, /proc/kcore",
	  "addresses, and the kernel's text: which functions start functions call. If they cannot be read, these are "
	  "guessed from types and names." },
	{ MAN_ITEM, "/sys/fs/cgroup", "cgroups and containers, where cgroup v2 is mounted." },
	{ MAN_ITEM,
	  "/var/lib/docker, /var/lib/containers, /run/containers, /run/containerd, /run/k3s, /var/lib/nerdctl, /var/log/pods, "
	  "/var/log/containers, ~/.local/share",
	  "names of containers and pods; read once, at the start. Most can be read by root only; without them, --container takes ids." },
	{ MAN_ITEM, "/var/tmp",
	  "pages of --format trace.dat until they are written, in an unlinked file; see TMPDIR." },

	{ MAN_SECTION, "PRIVILEGES", NULL },
	{ MAN_TEXT, NULL,
	  "Root may trace whatever lockdown and kernel.kptr_restrict allow. Other users need CAP_BPF and CAP_PERFMON and, "
	  "up to kernel 5.10, CAP_SYS_RESOURCE or a high limit of locked memory (ulimit -l). Further capabilities add "
	  "features:" },
	{ MAN_ITEM, "CAP_SYSLOG", "names of callers." },
	{ MAN_ITEM, "CAP_SYSLOG, CAP_DAC_READ_SEARCH, CAP_SYS_RAWIO",
	  "the callees of start functions, found in the kernel's code; otherwise they are guessed." },
	{ MAN_ITEM, "CAP_SYS_PTRACE", "network namespaces of other users' processes." },
	{ MAN_ITEM, "CAP_SYS_ADMIN", "functions of modules." },
	{ MAN_TEXT, NULL,
	  "Lockdown's confidentiality mode excludes arguments, results, callers, packets, cgroups, containers and "
	  "namespaces. 'netfgraph check' shows what the current user may do. list, check, report, info and diff need no privilege. "
	  "Once everything is attached, or the file to report is open, netfgraph gives up its privileges; COMMAND keeps "
	  "them." },

	{ MAN_SECTION, "EXIT STATUS", NULL },
	{ MAN_STATUSES, NULL, NULL },

	{ MAN_SECTION, "ENVIRONMENT", NULL },
	{ MAN_ITEM, "NETFGRAPH_CONFIG", "the only configuration file to read; empty: none." },
	{ MAN_ITEM, "XDG_CONFIG_HOME",
	  "the directory to look in for netfgraph/config, instead of ~/.config." },
	{ MAN_ITEM, "TMPDIR",
	  "the directory for the pages of --format trace.dat; default /var/tmp, then /tmp." },
	{ MAN_ITEM, "NO_COLOR", "if not empty: no colours unless --color always is given." },
	{ MAN_ITEM, "TERM",
	  "if dumb, empty or unset: no colours, unless --color always is given, and no pager." },
	{ MAN_ITEM, "NETFGRAPH_PAGER, PAGER",
	  "the program that shows reports, lists and help on a terminal, the first that is set; default less -FRX, and for "
	  "tables wider than the terminal less -RSX. Empty or cat: none. LESS is set to the same unless it is set." },
	{ MAN_ITEM, "SUDO_USER",
	  "set by sudo(8): then a warning says that COMMAND runs as root, unless --user is given." },

	{ MAN_SECTION, "EXAMPLES", NULL },
	{ MAN_EXAMPLES, NULL, NULL },
	{ MAN_ITEM, "netfgraph --container shop_web --slower-than 10ms",
	  "one container, and only the calls that took long" },
	{ MAN_ITEM, "netfgraph --preset tcp-connect --graph-opts args,retval,packet --timeout 10s",
	  "connections being opened, with arguments, results and packets" },
	{ MAN_ITEM, "netfgraph list -G __sys_sendto --plan",
	  "how many functions this traces, and how long attaching takes" },
	{ MAN_ITEM, "netfgraph profile -T 'tcp_*' --timeout 10s --sort self",
	  "a table: count, total, self and p99 of each function" },
	{ MAN_ITEM, "netfgraph record -o web.rec --cgroup /sys/fs/cgroup/web",
	  "record a cgroup now ..." },
	{ MAN_ITEM, "netfgraph report web.rec --format perfetto -o web.pftrace",
	  "... and look at it later in ui.perfetto.dev" },

	{ MAN_SECTION, "BUGS", NULL },
	{ MAN_TEXT, NULL,
	  "Functions that the compiler inlined, and those that the kernel forbids for BPF, cannot be traced; -vv "
	  "prints the reason for each. Calls before the programs were attached are not seen, so a call in progress "
	  "then shows only its return. Durations contain the cost of tracing the calls below." },
	{ MAN_TEXT, NULL,
	  "Before Linux 6.7, without CONFIG_FPROBE (6.12 for arm64), and with --attach pair or session, functions are "
	  "attached one by one, 20 to 46 ms each, and "
	  "detached one by one, up to 130 ms each. The trace is complete and printed before they are detached; a process in "
	  "the background does that unless --wait-detach is given." },
	{ MAN_TEXT, NULL,
	  "From Linux 5.12 on, the kernel skips a program while another task of the same CPU is preempted inside it. Where "
	  "this can happen, functions are attached by kprobe.session (6.10) or kprobe.multi (6.7), which it does not touch. On "
	  "other kernels, and with --cheap or --filter, the calls concerned have no duration, and are counted." },
	{ MAN_TEXT, NULL,
	  "--max-overhead does not see calls of untraced tasks, calls outside a start function, and calls that "
	  "--packet refuses. If many other tasks call the traced functions, trace fewer functions." },
	{ MAN_TEXT, NULL,
	  "In softirqs, calls above the first function that has a packet or a socket as an argument belong to no cgroup, "
	  "container or namespace. On PREEMPT_RT, --cgroup, --container, --pod and --netns are refused." },
};
const size_t man_block_cnt = ARRAY_SIZE(man_blocks);
