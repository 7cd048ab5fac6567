#ifndef NFG_TRACE_ROW_H
#define NFG_TRACE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "trace/netcost.h"

/*
 * A row of function_graph text in binary form. The graph makes rows from events, the text parser makes them from a
 * trace file, and render turns them into bytes; the three are independent of each other.
 *
 *  0)               |  tcp_connect() {             ROW_ENTRY    depth 0
 *  0)   0.163 us    |    tcp_connect_init();       ROW_LEAF     depth 1
 *  0) + 10.204 us   |  } / * tcp_connect * /       ROW_RETURN   depth 0, named
 *  0)               |    / * hello * /             ROW_COMMENT
 * CPU:0 [LOST 17 EVENTS]                           ROW_LOST
 */
enum row_kind {
	ROW_ENTRY,
	ROW_LEAF,
	ROW_RETURN,
	ROW_COMMENT,
	ROW_LOST,
	ROW_BANNER,  /* context switch: prev_task -> task */
	ROW_OVERRUN, /* " (Overruns: N)" after a return */
	ROW_OTHER,   /* any other line, verbatim in text */
	/* A tracepoint, a comment in text: "/" "* kfree_skb: skbaddr=... *" "/". Its fields are args. */
	ROW_POINT,
};

/* Limits of all kernels; a file that exceeds them is damaged (KSYM_NAME_LEN, MODULE_NAME_LEN, 16 KiB of stack). */
#define ROW_NAME_MAX   511
#define ROW_MODULE_MAX 55
#define ROW_DEPTH_MAX  1024

/*
 * A task as the trace names it. comm is the full name (up to 15 bytes) if it comes from the kernel, at most 7 bytes
 * if it comes from trace text.
 */
struct task_name {
	uint32_t tid;
	struct text comm; /* len 0: unknown, printed as <...> */
};

/* task_is_known - whether the trace shows the task. */
static inline bool task_is_known(const struct task_name *task)
{
	return task->tid || task->comm.len;
}

/* Where a task is; 0: not known. */
struct task_place {
	uint64_t cgroup_id; /* in the v2 tree: the inode number of the cgroup's directory */
	uint32_t netns;     /* network namespace: the inode number of /proc/TID/ns/net */
};

/* What a value of a call is. */
enum value_kind {
	VALUE_TEXT, /* none of the others, or a number with its enumerator */
	VALUE_INT,
	VALUE_POINTER, /* an address, or a number that is shown in hexadecimal */
	VALUE_BOOL,
	VALUE_FLAGS, /* a number whose bits have names: text has them, with "|" between */
};

/* How it is written. */
enum value_form {
	FORM_TEXT,     /* as text has it: the form of all values in rows of a text */
	FORM_DECIMAL,  /* -22 */
	FORM_UNSIGNED, /* 22 */
	FORM_HEX,      /* 0x16 */
	FORM_HASH,     /* 0x00000016, in place of an address */
	FORM_UNTYPED,  /* ?0x16 */
	FORM_BOOL,     /* true */
};

/* An argument, or a result. */
struct value {
	struct text name; /* of the argument; len 0: none */
	struct text text; /* FORM_TEXT: the value; else the enumerator of number, len 0: none */
	uint64_t number;  /* INT: an int64_t */
	enum value_kind kind : 8;
	enum value_form form : 8;
	bool has_equals; /* written with "=", although it has no name */
	bool is_brief;   /* text ends with the row: keep a copy */
};

/* Where a call returns to. */
struct caller {
	struct text place;   /* "veth_xmit+0x4b/0x4f [veth]"; len 0: unknown */
	struct text source;  /* its source line; len 0: unknown */
	struct value symbol; /* place without its module; POINTER: just an address is known */
	struct value module; /* text of len 0: built in, or unknown */
};

/* A place in a user stack. */
struct user_frame {
	uint64_t ip;         /* 0: hidden; file and offset are known */
	uint64_t offset;     /* from the beginning of symbol; without one: in file */
	uint64_t size_bytes; /* of symbol */
	struct text symbol;  /* len 0: unknown */
	struct text file; /* path in the process's mount namespace, or "[vdso]"; len 0: in none */
	struct text build_id; /* of file, in hexadecimal; len 0: unknown */
};

/* How much is known about a user stack's names. In recordings, so numbers stay. */
enum user_stack_state {
	USER_STACK_NAMED, /* what could be found */
	USER_STACK_ENDED, /* the process had ended, or ran another program, before its files were read */
	USER_STACK_DENIED, /* the process may not be read */
	USER_STACK_LOST,   /* no frames: the kernel could not take or keep the stack */
	USER_STACK_SLOW,   /* the names took too long */
	USER_STACK_FAILED, /* the names could not be looked up: no memory, or no process that does it */
	USER_STACK_FORGOTTEN, /* no frames: it was not kept until it was shown */
	USER_STACK_STATE_CNT,
};

struct user_stack {
	const struct user_frame *frames; /* innermost first */
	uint32_t frame_cnt;
	enum user_stack_state state;
	bool lacks_files; /* a file that is mapped there could not be read; not in recordings */
};

struct nfg_packet;

struct row {
	enum row_kind kind;
	uint32_t cpu;
	uint32_t depth;       /* calls above this one among the traced calls of the task */
	bool is_named;        /* ROW_RETURN: print the closing comment with the name */
	uint64_t time_ns;     /* entry time for ENTRY and LEAF, return time for RETURN */
	uint64_t duration_ns; /* LEAF and RETURN */
	bool lacks_duration;  /* RETURN: its duration and entry are unknown */
	bool is_below;        /* of a text with net durations: it took less than duration_ns */
	bool is_untimed; /* LEAF and RETURN of a text without durations: duration_ns is unknown */
	bool has_clean_name; /* name and module are known to be CLEAN_SYMBOL; false: unchecked */
	bool is_at_depth;    /* COMMENT and POINT: indented by depth; false: as the kernel does */
	bool keeps_open;     /* LOST: which calls are open is still certain */
	uint32_t func_id;    /* ENTRY, LEAF, RETURN; not of a text. POINT: its index among points */
	uint32_t entry_values;   /* ENTRY, LEAF, POINT: number for values_get; 0: none */
	uint32_t exit_values;    /* LEAF and RETURN: the same */
	uint64_t slept_ns;       /* LEAF: between entry and return but not in duration_ns */
	struct net_time net;     /* LEAF and RETURN: duration_ns without the cost of tracing */
	uint64_t lost_cnt;       /* LOST: 0 means the count is unknown; OVERRUN: the number */
	struct task_name task;   /* BANNER: the next task */
	uint32_t tgid;           /* task's process; 0: unknown or unwanted */
	struct text process;     /* name of its first thread; len 0: unknown or unwanted */
	struct task_place place; /* task's; 0: likewise */
	struct task_name prev;   /* BANNER: the previous task */
	uint64_t prev_ns;        /* BANNER: when prev had its last row */
	struct text name;        /* symbol, without module; of a POINT, without system */
	struct text module;      /* len 0: built in. POINT: its system; len 0: unknown */
	/* What is known of a call beyond names and times. Borrowed. */
	const struct value *args;    /* ENTRY, LEAF and POINT, arg_cnt of them */
	const struct caller *caller; /* ENTRY and LEAF; NULL: unknown */
	const struct value *ret;     /* LEAF and RETURN; NULL: unknown */
	const struct nfg_packet *
		packet; /* ENTRY and LEAF: of the packet or socket among the arguments; NULL: unknown */
	const struct caller
		*frames; /* COMMENT that is a stack: frame_cnt of them, innermost first */
	const struct user_stack *user_stack; /* COMMENT that is a user stack; else NULL */
	uint32_t arg_cnt;
	uint32_t frame_cnt;
	/* The same as a text has it: rows of a text are written as they were read. */
	struct text args_text; /* between the parentheses, "" for none */
	struct text note; /* inside a trailing comment of ENTRY/LEAF (return address, return value),
				    after the name in a RETURN's comment; "" for none */
	struct text flags; /* the latency-format column, "" when that column is off */
	struct text
		text; /* COMMENT: between the comment marks, "" for a stack; OTHER: the whole line; LOST: the same
				    where somebody cut rows out of a text, else "" */
};

/* row_is_call - whether a call begins or ends here, or both. */
static inline bool row_is_call(const struct row *row)
{
	return row->kind == ROW_ENTRY || row->kind == ROW_LEAF || row->kind == ROW_RETURN;
}

#endif
