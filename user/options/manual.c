#include "options/manual.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "options/graphopts.h"
#include "options/refuse.h"
#include "options/opttab.h"
#include "select/list.h"
#include "select/presets.h"
#include "trace/loss.h"

static const char man_synopsis[] = "[VERB] [OPTION...] [[--] COMMAND [ARG...]]";

static const char man_about[] =
	"Prints the calls of the kernel's network functions as the kernel's function_graph tracer would, "
	"using BPF programs at function entry and exit; tracefs, debugfs and the kernel's tracers are not touched. "
	"With COMMAND, that command and the processes it starts are traced from its first instruction until it ends, "
	"and its exit status is passed on. Processes that it leaves in the background are no longer traced. "
	"With an option that selects tasks (-p, --tid, --comm, --cgroup, --container, --pod, --netns), the tasks that it "
	"selects are traced instead, until the command ends. "
	"Ctrl-C ends the trace and leaves the command running.";

struct man_example {
	const char *command;
	const char *what;
};

static const struct man_example man_examples[] = {
	{ "netfgraph curl -s http://localhost/", "what the kernel does for one request" },
	{ "netfgraph -T 'tcp_*' -p 1234 --timeout 5s", "all TCP functions of one process" },
	{ "netfgraph --packet 'host 10.0.0.7 and tcp port 443'", "the path of these packets only" },
	{ "netfgraph -G inet_stream_connect --filter 'retval == -ECONNREFUSED'",
	  "refused connects only" },
	{ "netfgraph --for sleepgraph -o trace.txt",
	  "all tasks, in the columns that sleepgraph reads" },
	{ "netfgraph -T tcp_v4_rcv -T 'veth_* [veth]' -C 0", "one CPU, functions of a module too" },
};

/* An option on the first screen of help. */
struct man_brief {
	const char *option; /* its name */
	const char *what;   /* fits a line */
};

static const struct man_brief man_briefs[] = {
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

/* The four examples of that screen. */
static const struct man_example man_first_examples[] = {
	{ "netfgraph curl -s http://localhost/", "one command" },
	{ "netfgraph -G __sys_sendto -p 1234 --timeout 5s", "one function, one process" },
	{ "netfgraph --packet 'tcp port 443' --timeout 10s", "the path of packets" },
	{ "netfgraph profile -T 'tcp_*' --timeout 10s", "a table of functions" },
};

/* A group of options: a subsection of the man page, and a topic of help. */
struct man_topic {
	const char *name;
	const char *first_option; /* its name; the group ends before the next topic's */
	const char *title;
};

static const struct man_topic man_topics[] = {
	{ "functions", "trace-funcs", "Which functions, which calls" },
	{ "tasks", "pid", "Whose calls" },
	{ "columns", "graph-depth", "Output" },
	{ "reports", "from", "Reading files, tables" },
	{ "limits", "output", "Output files and limits" },
	{ "attaching", "attach", "Others" },
};

/* man_topic_at - the group whose first option is @name; NULL: none. */
static const struct man_topic *man_topic_at(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(man_topics); i++) {
		if (!strcmp(man_topics[i].first_option, name))
			return &man_topics[i];
	}
	return NULL;
}

enum man_kind {
	MAN_SECTION,    /* a chapter, called tag */
	MAN_SUBSECTION, /* a section inside a chapter */
	MAN_TEXT,       /* a paragraph */
	MAN_ITEM,       /* a tag and its meaning */
	MAN_CODE,       /* verbatim lines */
	/* from tables */
	MAN_VERBS,
	MAN_OPTIONS,
	MAN_GRAPH_OPTS,
	MAN_CONSUMERS,
	MAN_MAIN_PATH,
	MAN_STATUSES,
	MAN_EXAMPLES,
};

struct man_block {
	enum man_kind kind;
	const char *tag;
	const char *text;
};

/* The man page from DESCRIPTION on. */
static const struct man_block man_blocks[] = {
	{ MAN_SECTION, "DESCRIPTION", NULL },
	{ MAN_TEXT, NULL, man_about },
	{ MAN_TEXT, NULL,
	  "Without COMMAND and without an option that selects tasks, every task is traced, except netfgraph itself "
	  "and the processes that forward its output to the terminal. Without -T, -G and --preset, functions "
	  "are traced that a TCP or UDP packet passes between system call and device (see Default functions)." },
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

	{ MAN_SUBSECTION, "Default functions", NULL },
	{ MAN_TEXT, NULL,
	  "Without -T, -G and --preset these are traced, as far as the kernel has them; those of modules (kernel TLS) once "
	  "these are loaded, from Linux 5.11 on. netfgraph list shows those of the running kernel." },
	{ MAN_MAIN_PATH, NULL, NULL },

	{ MAN_SUBSECTION, "Completion", NULL },
	{ MAN_TEXT, NULL,
	  "bash (with the package bash-completion), zsh and fish complete verbs, options and their values, such as functions "
	  "of the running kernel, presets, processes, cgroups and containers. --print-completion bash, zsh or fish prints "
	  "the script that the shell needs." },

	{ MAN_SECTION, "FILTER SYNTAX", NULL },
	{ MAN_SUBSECTION, "--packet: packets", NULL },
	{ MAN_CODE, NULL,
	  "tcp port 443\n"
	  "udp dst port 53 and host 10.0.0.7\n"
	  "tcp and (src port 80 or dst port 80) and not net 10.0.0.0/8\n"
	  "tcp[tcpflags] & (tcp-syn|tcp-rst) != 0" },
	{ MAN_TEXT, NULL,
	  "The syntax is that of pcap-filter(7), for packets that begin with the IP header; host names are looked up "
	  "once. libpcap, which compiles it, is needed only here. The filter sees the IP header and the 20 bytes after "
	  "it; in a tunnel, the header that the function works on. IP and TCP options are skipped correctly. Deeper "
	  "bytes, offsets computed from the packet, and layer 2 (vlan, ether, arp) are refused." },
	{ MAN_TEXT, NULL,
	  "Where there is no IP header yet, or the function has only a socket, the socket is matched as if it were "
	  "sending. Fields that a socket lacks, such as TCP flags or len, do not match, even after not. The same goes for all "
	  "packets of a recording, which has them if it was made with --graph-opts packet." },
	{ MAN_TEXT, NULL,
	  "With --track a packet that matched has a number, and keeps it through copies, segments, fragments, NAT, "
	  "tunnels and namespaces. Its argument pkt is at the first call of a start function with it in a graph. A reply is "
	  "another packet." },
	{ MAN_SUBSECTION, "--filter: calls by arguments and result", NULL },
	{ MAN_TEXT, NULL, "An expression compares names with numbers:" },
	{ MAN_CODE, NULL,
	  "retval < 0\n"
	  "retval == -ECONNREFUSED && addrlen == 16\n"
	  "!(flags & 0x40) || len > 1000\n"
	  "reason == NO_SOCKET\n"
	  "skb.mark == 5 && skb.dev.name == \"lo\"\n"
	  "sk.sk_wmem_queued > 100000 || sk:tcp_sock.snd_cwnd < 10" },
	{ MAN_ITEM, "NAME",
	  "retval, or an argument's name in the kernel; --graph-opts args shows these. Types are the kernel's. A pointer "
	  "or an unsigned number of 64 bits is negative if it is an error (ERR_PTR)." },
	{ MAN_ITEM, "NAME.MEMBER NAME->MEMBER NAME[N] NAME:STRUCT.MEMBER",
	  "a member of the struct to which NAME points, read when the call begins, or when it returns if NAME is retval; "
	  "further members follow it, through pointers, too. One || cannot have both. :STRUCT is the struct to which the pointer really points. Bit fields, unnamed structs and macros "
	  "such as sk_state are members. Numbers of the types __be16, __be32 and __be64 are converted. What cannot be read is "
	  "0. Recordings have no members." },
	{ MAN_ITEM, "== != < <= > >= &",
	  "comparisons; & is true if NAME and NUMBER have a bit in common." },
	{ MAN_ITEM, "NUMBER",
	  "decimal or hexadecimal, with - before it if negative; the name of an errno; an enumerator of the argument's "
	  "or member's type, whole or without what nearly all of that type begin with (SKB_DROP_REASON_NO_SOCKET, NO_SOCKET); another NAME.MEMBER, but not with &; \"TEXT\" with == and != for arrays of characters and pointers to them." },
	{ MAN_ITEM, "&& || ! ()", "combine comparisons; && binds tighter than ||." },
	{ MAN_SUBSECTION, "--show: members of the structs behind arguments", NULL },
	{ MAN_TEXT, NULL,
	  "A list of members, written as in --filter and read when the call begins: skb.len,sk.sk_state,skb.dev.name. At most 8. "
	  "Each function shows those that its own types have, as further arguments. A text is cut after 16 bytes, which ... says; "
	  "(null) stands for a member behind a pointer that is NULL, (fault) for one that could not be read." },

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
	  "Messages go to standard error. A line says that tracing has begun: what is called from then on is traced, and "
	  "the file of -o is there. -q leaves it out, and --ready-fd tells a program instead. If "
	  "standard error is a terminal, and netfgraph in its foreground, a line says how it ended. While it runs, unless there is a COMMAND or rows go to a terminal or pipe, a line "
	  "shows every second the time, calls per second, calls, lost events, the share of a CPU, and the size of the file." },
	{ MAN_TEXT, NULL,
	  "A reader that is too slow costs events, which are marked as lost; it does not "
	  "delay Ctrl-C or --timeout." },

	{ MAN_SECTION, "FILES", NULL },
	{ MAN_ITEM, "FILE of -o",
	  "appears when tracing has begun, with its first lines, and not at all if it does not begin. It has mode 0600, because arguments contain kernel addresses. If a disk is full, it ends with its last whole row "
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
	{ MAN_ITEM, "CAP_SYS_ADMIN", "functions of modules, BPF programs." },
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
	{ MAN_ITEM, "NOTIFY_SOCKET",
	  "set by a service manager (Type=notify): the UNIX socket that is told READY=1 when tracing has begun." },
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
	  "Calls that are not recorded (of untraced tasks, outside a start function, for other packets) cost time, too. "
	  "--max-overhead bounds that cost, which is estimated from samples of 5 ms a second and from what a call costs here, measured at the start." },
	{ MAN_TEXT, NULL,
	  "In softirqs, calls above the first function that has a packet or a socket as an argument belong to no cgroup, "
	  "container or namespace. On PREEMPT_RT, --cgroup, --container, --pod and --netns are refused." },
};

/* ---- the man page ---- */

/* Escape @text for roff, so that nothing in it is a request or an escape. */
static void roff(struct strbuf *out, const char *text)
{
	for (const char *at = text; *at; at++) {
		bool is_begin = at == text || at[-1] == '\n';

		if (is_begin && (*at == '.' || *at == '\''))
			strbuf_str(out, "\\&");
		if (*at == '-')
			strbuf_str(out, "\\-");
		else if (*at == '\\')
			strbuf_str(out, "\\e");
		else if (*at == '\'')
			strbuf_str(out, "\\(aq");
		else
			strbuf_char(out, *at);
	}
}

static void manual_line(struct strbuf *out, const char *before, const char *text, const char *after)
{
	strbuf_str(out, before);
	roff(out, text);
	strbuf_str(out, after);
}

/* A tag in bold, followed by its meaning. */
static void item(struct strbuf *out, const char *tag, const char *text)
{
	manual_line(out, ".TP\n.B ", tag, "\n");
	manual_line(out, "", text, "\n");
}

static void manual_put_verbs(struct strbuf *out)
{
	for (size_t i = 0; i < man_verb_cnt; i++)
		item(out, man_verbs[i].name, man_verbs[i].what);
}

static void manual_put_option(struct strbuf *out, const struct opt_def *def)
{
	const struct man_topic *topic = man_topic_at(def->name);

	if (topic)
		manual_line(out, ".SS ", topic->title, "\n");
	strbuf_str(out, ".TP\n\\fB");
	if (def->letter)
		strbuf_printf(out, "\\-%c\\fR, \\fB", def->letter);
	manual_line(out, "\\-\\-", def->name, "\\fR");
	if (def->arg)
		strbuf_printf(out, "%s\\fI%s\\fR", opt_def_has_choice(def) ? "" : " ", def->arg);
	manual_line(out, "\n", def->help, "\n");
}

static void manual_put_options(struct strbuf *out)
{
	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (opt_defs[i].help)
			manual_put_option(out, &opt_defs[i]);
	}
}

static void manual_put_graph_opts(struct strbuf *out)
{
	for (size_t i = 0; i < graph_opt_def_cnt; i++) {
		manual_line(out, ".TP\n\\fB", graph_opt_defs[i].name, "\\fR");
		manual_line(out, graph_opt_defs[i].is_on ? " (on by default)\n" : "\n",
			    graph_opt_defs[i].help, "\n");
	}
}

static void put_consumers(struct strbuf *out)
{
	struct strbuf text = { 0 };

	for (size_t i = 0; i < consumer_def_cnt; i++) {
		consumer_describe(&text, &consumer_defs[i]);
		item(out, consumer_defs[i].name, text.ptr ? text.ptr : "");
	}
	strbuf_release(&text);
}

static void put_main_path(struct strbuf *out)
{
	for (size_t i = 0; i < preset_main_path_cnt; i++)
		item(out, preset_main_path[i].title, preset_main_path[i].funcs);
}

static void put_statuses(struct strbuf *out)
{
	for (size_t i = 0; i < exit_status_def_cnt; i++) {
		strbuf_printf(out, ".TP\n%d\n", exit_status_defs[i].status);
		manual_line(out, "", exit_status_defs[i].help, "\n");
	}
}

static void put_examples(struct strbuf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(man_examples); i++)
		item(out, man_examples[i].command, man_examples[i].what);
}

static void put_block(struct strbuf *out, const struct man_block *block)
{
	static void (*const tables[])(struct strbuf * out) = {
		[MAN_VERBS] = manual_put_verbs,
		[MAN_OPTIONS] = manual_put_options,
		[MAN_GRAPH_OPTS] = manual_put_graph_opts,
		[MAN_CONSUMERS] = put_consumers,
		[MAN_MAIN_PATH] = put_main_path,
		[MAN_STATUSES] = put_statuses,
		[MAN_EXAMPLES] = put_examples,
	};

	switch (block->kind) {
	case MAN_SECTION:
		manual_line(out, ".SH ", block->tag, "\n");
		break;
	case MAN_SUBSECTION:
		manual_line(out, ".SS ", block->tag, "\n");
		break;
	case MAN_TEXT:
		manual_line(out, ".PP\n", block->text, "\n");
		break;
	case MAN_ITEM:
		item(out, block->tag, block->text);
		break;
	case MAN_CODE:
		manual_line(out, ".PP\n.RS 4\n.nf\n", block->text, "\n.fi\n.RE\n");
		break;
	default:
		tables[block->kind](out);
	}
}

void manual_man(struct strbuf *out)
{
	strbuf_str(out, ".TH NETFGRAPH 8 \"\" \"netfgraph " NFG_VERSION "\"\n.SH NAME\n"
			"netfgraph \\- function graph of the kernel's network stack\n"
			".SH SYNOPSIS\n.B netfgraph\n");
	manual_line(out, "", man_synopsis, "\n");
	for (size_t i = 0; i < ARRAY_SIZE(man_blocks); i++)
		put_block(out, &man_blocks[i]);
	strbuf_str(
		out,
		".SH SEE ALSO\n.BR perf\\-ftrace (1),\n.BR trace\\-cmd (1),\n.BR tcpdump (8),\n"
		".BR bpftool (8),\n.BR pcap\\-filter (7),\n.BR capabilities (7),\n.BR cgroups (7)\n");
}

/* ---- --help and help TOPIC ---- */

#define WIDTH       80
#define HELP_INDENT 26

/* Wrap @text: its first line begins in column @at, the others in column @indent. */
static void wrap(struct strbuf *out, const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (at + len > WIDTH && at > indent) {
			strbuf_char(out, '\n');
			strbuf_fill(out, ' ', indent);
			at = indent;
		}
		strbuf_add(out, text, len);
		at += len + 1;
		text += len;
		if (*text == ' ') {
			text++;
			if (at + strcspn(text, " ") <= WIDTH)
				strbuf_char(out, ' ');
		}
	}
	strbuf_char(out, '\n');
}

static void help_item(struct strbuf *out, size_t begin, const char *text)
{
	size_t at = out->len - begin;

	if (at + 2 > HELP_INDENT) {
		strbuf_char(out, '\n');
		at = 0;
	}
	strbuf_fill(out, ' ', HELP_INDENT - at);
	wrap(out, text, HELP_INDENT, HELP_INDENT);
}

static void option_name(struct strbuf *out, const struct opt_def *def)
{
	if (def->letter)
		strbuf_printf(out, "  -%c, --%s", def->letter, def->name);
	else
		strbuf_printf(out, "      --%s", def->name);
	if (def->arg)
		strbuf_printf(out, "%s%s", opt_def_has_choice(def) ? "" : " ", def->arg);
}

static void help_option(struct strbuf *out, const struct opt_def *def)
{
	size_t begin = out->len;

	option_name(out, def);
	help_item(out, begin, def->help);
}

static void help_consumers(struct strbuf *out)
{
	struct strbuf text = { 0 };

	strbuf_str(out, "\nconsumers for --for, and what they need:\n");
	for (size_t i = 0; i < consumer_def_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "      %s", consumer_defs[i].name);
		consumer_describe(&text, &consumer_defs[i]);
		help_item(out, begin, text.ptr ? text.ptr : "");
	}
	strbuf_release(&text);
}

static void help_verbs(struct strbuf *out)
{
	strbuf_str(out, "verbs (put -- before a COMMAND of the same name):\n");
	for (size_t i = 0; i < man_verb_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "  %s", man_verbs[i].name);
		help_item(out, begin, man_verbs[i].what);
	}
}

static void help_columns(struct strbuf *out)
{
	strbuf_str(out, "\nwords of --graph-opts (* is on by default):\n");
	for (size_t i = 0; i < graph_opt_def_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "    %c %s", graph_opt_defs[i].is_on ? '*' : ' ',
			      graph_opt_defs[i].name);
		help_item(out, begin, graph_opt_defs[i].help);
	}
}

static void help_statuses(struct strbuf *out)
{
	strbuf_str(out, "exit status:\n");
	for (size_t i = 0; i < exit_status_def_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "    %3d", exit_status_defs[i].status);
		help_item(out, begin, exit_status_defs[i].help);
	}
}

static void help_examples(struct strbuf *out)
{
	strbuf_str(out, "examples:\n");
	for (size_t i = 0; i < ARRAY_SIZE(man_examples); i++)
		strbuf_printf(out, "  %s\n      %s\n", man_examples[i].command,
			      man_examples[i].what);
}

static void help_all(struct strbuf *out)
{
	strbuf_printf(out, "usage: netfgraph %s\n\n", man_synopsis);
	wrap(out, man_about, 0, 0);
	strbuf_char(out, '\n');
	help_verbs(out);
	strbuf_str(out, "\noptions:\n");
	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (opt_defs[i].help)
			help_option(out, &opt_defs[i]);
	}
	help_columns(out);
	help_consumers(out);
	strbuf_char(out, '\n');
	help_statuses(out);
	strbuf_char(out, '\n');
	help_examples(out);
}

/* ---- the first screen ---- */

#define BRIEF_INDENT  29
#define EXAMPLE_WIDTH 51

static void brief(struct strbuf *out, const struct man_brief *brief)
{
	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct opt_def *def = &opt_defs[i];
		size_t begin = out->len;

		if (strcmp(def->name, brief->option) != 0)
			continue;
		option_name(out, def);
		strbuf_fill(out, ' ', BRIEF_INDENT - (out->len - begin));
		strbuf_printf(out, "%s\n", brief->what);
	}
}

static void names(struct strbuf *out, const char *title, const char *(*name)(int i))
{
	struct strbuf line = { 0 };

	strbuf_str(&line, title);
	for (int i = 0; name(i); i++)
		strbuf_printf(&line, " %s", name(i));
	strbuf_char(&line, '\0');
	wrap(out, line.ptr ? line.ptr : "", 0, 0);
	strbuf_release(&line);
}

void manual_help(struct strbuf *out)
{
	strbuf_printf(out, "usage: netfgraph %s\n", man_synopsis);
	names(out, "VERB:", opts_verb_name);
	strbuf_str(
		out,
		"\nPrints the calls of the kernel's network functions as function_graph does.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(man_briefs); i++)
		brief(out, &man_briefs[i]);
	strbuf_char(out, '\n');
	for (size_t i = 0; i < ARRAY_SIZE(man_first_examples); i++)
		strbuf_printf(out, "  %-*s%s\n", EXAMPLE_WIDTH, man_first_examples[i].command,
			      man_first_examples[i].what);
	names(out, "\nMore: man netfgraph, netfgraph VERB --help, netfgraph help TOPIC. TOPIC:",
	      manual_topic_name);
}

/* ---- a verb, a topic ---- */

/* Append the lines of usage, each with its description, and the examples. */
static void verb_head(struct strbuf *out, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < man_verb_cnt; i++) {
		const struct man_verb *verb = &man_verbs[i];

		if (strncmp(verb->name, name, len) != 0)
			continue;
		strbuf_printf(out, "usage: netfgraph %s [OPTION...]%s%s\n\n", verb->name,
			      verb->command ? " " : "", verb->command ? verb->command : "");
		wrap(out, verb->what, 0, 0);
		strbuf_char(out, '\n');
		for (size_t k = 0; k < 2 && verb->examples[k]; k++)
			strbuf_printf(out, "  %s\n", verb->examples[k]);
		strbuf_str(out, verb->examples[0] ? "\n" : "");
	}
}

void manual_verb(struct strbuf *out, enum opts_verb verb)
{
	const struct man_topic *topic = NULL;
	const struct man_topic *said = NULL;

	verb_head(out, opts_verb_name((int)verb - VERB_LIST));
	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct man_topic *begins = man_topic_at(opt_defs[i].name);

		topic = begins ? begins : topic;
		if (!opt_defs[i].help || !opt_def_is_of(&opt_defs[i], verb))
			continue;
		if (topic != said)
			strbuf_printf(out, "%s%s:\n", said ? "\n" : "", topic->title);
		said = topic;
		help_option(out, &opt_defs[i]);
	}
}

bool manual_option(struct strbuf *out, const char *name, size_t len)
{
	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct opt_def *def = &opt_defs[i];
		const bool is_letter = len == 1 && def->letter == *name;

		if (!def->help || (!is_letter && (strlen(def->name) != len ||
						  strncmp(def->name, name, len) != 0)))
			continue;
		help_option(out, def);
		if (!strcmp(def->name, "graph-opts"))
			help_columns(out);
		else if (!strcmp(def->name, "for"))
			help_consumers(out);
		return true;
	}
	return false;
}

static void topic_options(struct strbuf *out, const struct man_topic *topic)
{
	bool is_inside = false;

	strbuf_printf(out, "%s:\n", topic->title);
	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct man_topic *begins = man_topic_at(opt_defs[i].name);

		if (begins)
			is_inside = begins == topic;
		if (is_inside && opt_defs[i].help)
			help_option(out, &opt_defs[i]);
	}
}

static void help_block(struct strbuf *out, const struct man_block *block)
{
	size_t begin = out->len;

	if (block->kind == MAN_ITEM) {
		strbuf_printf(out, "  %s", block->tag);
		help_item(out, begin, block->text);
	} else if (block->kind == MAN_TEXT) {
		wrap(out, block->text, 0, 0);
	} else if (block->kind == MAN_CODE) {
		strbuf_printf(out, "%s\n", block->text);
	} else {
		strbuf_printf(out, "%s%s\n", block->kind == MAN_SECTION ? "" : "\n", block->tag);
	}
}

/* Append a chapter of the man page, called @tag. */
static void chapter(struct strbuf *out, const char *tag)
{
	bool is_inside = false;

	for (size_t i = 0; i < ARRAY_SIZE(man_blocks); i++) {
		if (man_blocks[i].kind == MAN_SECTION)
			is_inside = !strcmp(man_blocks[i].tag, tag);
		if (is_inside)
			help_block(out, &man_blocks[i]);
	}
}

static void topic_filter(struct strbuf *out)
{
	chapter(out, "FILTER SYNTAX");
}

static void topic_format(struct strbuf *out)
{
	chapter(out, "OUTPUT");
	help_consumers(out);
}

static void topic_privileges(struct strbuf *out)
{
	chapter(out, "PRIVILEGES");
}

static void help_main_path(struct strbuf *out)
{
	for (size_t i = 0; i < preset_main_path_cnt; i++) {
		size_t begin = out->len;

		strbuf_printf(out, "  %s", preset_main_path[i].title);
		help_item(out, begin, preset_main_path[i].funcs);
	}
}

static void topic_presets(struct strbuf *out)
{
	list_presets(&(struct tablew){ .out = out }, &(struct str_list){ 0 });
	strbuf_str(out, "\nwithout --preset, -T and -G:\n");
	help_main_path(out);
}

static void topic_default(struct strbuf *out)
{
	strbuf_str(out, "functions without -T, -G and --preset:\n");
	help_main_path(out);
	strbuf_char(out, '\n');
	wrap(out,
	     "Of these, those that the kernel has: 'netfgraph list' lists them. -T +GLOB adds functions, -N GLOB leaves "
	     "some out, -T GLOB takes others instead. Defaults of options are with each option, and in configuration "
	     "files (netfgraph help config).",
	     0, 0);
}

static void topic_lost(struct strbuf *out)
{
	wrap(out,
	     "'CPU:1 [LOST 17 EVENTS]' in a text stands where 17 entries and returns of calls on that CPU are missing, "
	     "as in function_graph; [LOST EVENTS], where nobody knows how many. A call that was open there is shown "
	     "without its duration, and one whose entry or return was among them in part, or not at all. Tables do not "
	     "count it. With --strict, the exit status is 4. Standard error says at the end how many were lost, by "
	     "reason:",
	     0, 0);
	for (enum loss_reason reason = 0; reason < LOSS_CNT; reason++) {
		const struct loss_words *words = loss_words(reason);
		const size_t begin = out->len;

		strbuf_printf(out, "  %s %s", words->verb, words->many);
		help_item(out, begin, words->live);
	}
}

static void topic_config(struct strbuf *out)
{
	strbuf_str(out, "configuration files:\n");
	for (size_t i = 0; i < ARRAY_SIZE(man_blocks); i++) {
		if (man_blocks[i].kind == MAN_ITEM && strstr(man_blocks[i].tag, "netfgraph.conf"))
			help_block(out, &man_blocks[i]);
	}
	strbuf_char(out, '\n');
	chapter(out, "ENVIRONMENT");
}

static void topic_perf(struct strbuf *out)
{
	struct foreign_line line;
	size_t next = 0;

	wrap(out,
	     "-T, -N, -G, -g, -D, -C, -p, --tid and most words of --graph-opts are those of perf ftrace. What takes the "
	     "place of others:",
	     0, 0);
	while (foreign_perf(&line, &next)) {
		strbuf_printf(out, "  %s\n      ", line.words);
		wrap(out, line.text, 6, 6);
	}
}

/* Topics that are not groups of options. */
static const struct {
	const char *name;
	void (*print)(struct strbuf *out);
} other_topics[] = {
	{ "format", topic_format },   { "filter", topic_filter },
	{ "presets", topic_presets }, { "perf", topic_perf },
	{ "default", topic_default }, { "lost", topic_lost },
	{ "config", topic_config },   { "privileges", topic_privileges },
	{ "status", help_statuses },  { "examples", help_examples },
	{ "verbs", help_verbs },      { "all", help_all },
};
#define OTHER_TOPICS ((int)(sizeof(other_topics) / sizeof(other_topics[0])))

static void topic_preset(struct strbuf *out, const struct preset *preset)
{
	const size_t begin = out->len;

	strbuf_printf(out, "preset %s: ", preset->name);
	wrap(out, preset->help, out->len - begin, 2);
	strbuf_char(out, '\n');
	strbuf_printf(out, "  netfgraph --preset %s --timeout 10s\n", preset->name);
	strbuf_printf(out, "  netfgraph record --preset %s -o FILE --timeout 10s\n", preset->name);
	strbuf_str(out, "\nstart functions:\n  ");
	wrap(out, preset->starts, 2, 2);
	if (preset->filter) {
		strbuf_str(out, "\nfilter:\n  ");
		wrap(out, preset->filter, 2, 2);
	}
}

const char *manual_topic_name(int i)
{
	const int group_cnt = (int)ARRAY_SIZE(man_topics);

	if (i < group_cnt)
		return man_topics[i].name;
	return i - group_cnt < OTHER_TOPICS ? other_topics[i - group_cnt].name : NULL;
}

/* ---- help WORD: where the word is ---- */

#define SEARCH_LETTERS 3
#define SEARCH_INDENT  34

/* What is searched for. */
struct search {
	const char *word;
	bool is_whole;      /* not the beginning of a longer word */
	const char *except; /* an option that is left out; NULL: none */
};

/* Where @text has the word; NULL: nowhere. */
static const char *word_in(const char *text, const struct search *search)
{
	const size_t len = strlen(search->word);

	for (const char *at = text; (at = strcasestr(at, search->word)); at++) {
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    !(search->is_whole && isalnum((unsigned char)at[len])))
			return at;
	}
	return NULL;
}

/*
 * What @at is part of: a sentence, or what is between two marks of a list, with all that is in parentheses. Return: its
 * beginning; *len: its length.
 */
static const char *part_of(const char *text, const char *at, size_t *len)
{
	const char *begin = text;
	int depth = 0;

	for (; *text; text++) {
		const bool is_end = text[1] == ' ' || !text[1];

		depth += (*text == '(') - (*text == ')');
		if (depth > 0 || !is_end)
			continue;
		if (text < at && strchr(".;:", *text))
			begin = text + 1 + (text[1] == ' ');
		else if (text >= at && strchr(".;", *text))
			break;
	}
	*len = (size_t)(text - begin);
	return begin;
}

/* The command that shows it, and @len bytes of the text in which the word is. */
static void found(struct strbuf *out, const char *command, const char *text, size_t len)
{
	const size_t begin = out->len;
	char *part = strndup(text, len);
	size_t used;

	strbuf_printf(out, "  netfgraph %s", command);
	used = out->len - begin;
	strbuf_fill(out, ' ', used < SEARCH_INDENT ? SEARCH_INDENT - used : 2);
	used = out->len - begin;
	if (part)
		wrap(out, part, used, SEARCH_INDENT);
	else
		out->failed = true;
	free(part);
}

/* Append what is called @name, if its name or text has the word. */
static bool search_one(struct strbuf *out, const struct search *search, const char *before,
		       const char *name, const char *text)
{
	const char *at = word_in(text, search);
	char command[64];
	size_t len;

	if (!at && word_in(name, search))
		at = text;
	if (!at)
		return false;
	snprintf(command, sizeof(command), "%s%.*s", before, (int)strcspn(name, " "), name);
	text = part_of(text, at, &len);
	found(out, command, text, len);
	return true;
}

/* The start functions of presets come last: a part of a name is the least that a word can mean. */
static bool search_starts(struct strbuf *out, const struct search *search,
			  const struct preset *preset)
{
	const char *at = word_in(preset->starts, search);
	char command[64];

	if (!at || word_in(preset->help, search) || word_in(preset->name, search))
		return false;
	while (at > preset->starts && at[-1] != ' ')
		at--;
	snprintf(command, sizeof(command), "help %s", preset->name);
	found(out, command, at, strcspn(at, " "));
	return true;
}

/* Functions that have the word in their names, if it can be one. */
static void search_functions(struct strbuf *out, const char *word)
{
	char command[80], text[128];
	char lower[32];
	size_t len = 0;

	for (; word[len] && len + 1 < sizeof(lower); len++)
		lower[len] = (char)tolower((unsigned char)word[len]);
	lower[len] = '\0';
	if (word[len] || lower[strspn(lower, FUNC_NAME_LETTERS)])
		return;
	snprintf(command, sizeof(command), "list '*%s*'", lower);
	snprintf(text, sizeof(text), "functions of this kernel; -T '+*%s*' adds them to a trace",
		 lower);
	found(out, command, text, strlen(text));
}

static size_t search_all(struct strbuf *out, const struct search *search)
{
	size_t cnt = 0;

	for (size_t i = 0; i < ARRAY_SIZE(man_topics); i++)
		cnt += search_one(out, search, "help ", man_topics[i].name, man_topics[i].title);
	for (size_t i = 0; i < preset_def_cnt; i++) {
		const struct preset *preset = &preset_defs[i];

		cnt += search_one(out, search, "help ", preset->name, preset->help);
	}
	for (size_t i = 0; i < man_verb_cnt; i++)
		cnt += man_verbs[i].examples[0] &&
		       search_one(out, search, "help ", man_verbs[i].name, man_verbs[i].what);
	for (size_t i = 0; i < opt_def_cnt; i++)
		cnt += opt_defs[i].help &&
		       (!search->except || strcmp(search->except, opt_defs[i].name) != 0) &&
		       search_one(out, search, "help --", opt_defs[i].name, opt_defs[i].help);
	for (size_t i = 0; i < graph_opt_def_cnt; i++)
		cnt += search_one(out, search, "--graph-opts ", graph_opt_defs[i].name,
				  graph_opt_defs[i].help);
	for (size_t i = 0; i < preset_def_cnt; i++)
		cnt += search_starts(out, search, &preset_defs[i]);
	return cnt;
}

/* Search for the word, or else for that of which it is the plural. Return: whether there is one; if not, @out is empty. */
static bool search_stem(struct strbuf *out, const char *word, bool is_whole)
{
	char stem[32];
	const struct search search = { .word = stem, .is_whole = is_whole };
	size_t len = strlen(word);

	if (len < SEARCH_LETTERS || len >= sizeof(stem) || !isalnum((unsigned char)*word))
		return false;
	memcpy(stem, word, len + 1);
	for (;; stem[--len] = '\0') {
		strbuf_printf(out, "'%s' is in:\n", stem);
		if (search_all(out, &search)) {
			search_functions(out, stem);
			return true;
		}
		strbuf_reset(out);
		/* reasons: one of them is a reason */
		if (stem[len - 1] != 's' || len == SEARCH_LETTERS || word[len])
			return false;
	}
}

bool manual_search(struct strbuf *out, const char *word)
{
	return search_stem(out, word, false);
}

bool manual_has_word(const char *word)
{
	struct strbuf out = { 0 };
	const bool has = search_stem(&out, word, true);

	strbuf_release(&out);
	return has;
}

/* Where else the name of an option is. */
static void search_also(struct strbuf *out, const char *name)
{
	const struct search search = { .word = name, .is_whole = true, .except = name };
	struct strbuf places = { 0 };

	if (strlen(name) >= SEARCH_LETTERS && search_all(&places, &search)) {
		strbuf_printf(out, "\n'%s' is also in:\n", name);
		strbuf_add(out, places.ptr, places.len);
	}
	out->failed |= places.failed;
	strbuf_release(&places);
}

bool manual_topic(struct strbuf *out, const char *word)
{
	const char *other = foreign_text(FOREIGN_TOPIC, word);
	const char *topic = other ? other : word;
	const enum opts_verb verb = opts_verb_of(topic);

	if (verb != VERB_TRACE) {
		manual_verb(out, verb);
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(man_topics); i++) {
		if (strcmp(man_topics[i].name, topic) != 0)
			continue;
		topic_options(out, &man_topics[i]);
		if (!strcmp(topic, "columns"))
			help_columns(out);
		return true;
	}
	for (int i = 0; i < OTHER_TOPICS; i++) {
		if (strcmp(other_topics[i].name, topic) != 0)
			continue;
		other_topics[i].print(out);
		return true;
	}
	if (preset_find(topic)) {
		topic_preset(out, preset_find(topic));
		return true;
	}
	/* an option without its dashes: it may be of something else, too */
	if (strlen(topic) < 2 || !manual_option(out, topic, strlen(topic)))
		return false;
	if (topic == word)
		search_also(out, word);
	return true;
}
