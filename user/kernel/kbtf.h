#ifndef NFG_KERNEL_KBTF_H
#define NFG_KERNEL_KBTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel's type information: the functions that exist, and those that a trampoline accepts. */
struct kbtf;

/* libbpf's */
struct btf;
struct btf_type;

/* The prefix of the typedefs of tracepoints. */
#define TRACEPOINT_PREFIX "btf_trace_"

/* Whose function it is; of a BPF program's main function the kind tells what its results mean. */
enum kbtf_owner {
	KBTF_KERNEL,       /* or a module */
	KBTF_SUBPROG_FLOW, /* of a flow dissector: a __sk_buff is no packet there */
	KBTF_SUBPROG,
	KBTF_PROG,        /* any other program */
	KBTF_PROG_XDP,    /* results of enum xdp_action */
	KBTF_PROG_TC,     /* TC_ACT_* */
	KBTF_PROG_SK,     /* results of enum sk_action */
	KBTF_PROG_RET,    /* results of enum bpf_ret_code */
	KBTF_PROG_FLOW,   /* the same, of a flow dissector */
	KBTF_PROG_NF,     /* NF_DROP or NF_ACCEPT */
	KBTF_PROG_CGROUP, /* allows or denies */
	KBTF_PROG_SOCK,   /* the same, and its context is a struct sock */
	KBTF_OWNER_CNT,
};

#define KBTF_DROP_REASON "skb_drop_reason" /* an enum, since 5.17 */

struct kbtf_func {
	const char *name;   /* borrowed; valid until kbtf_free */
	const char *module; /* NULL: built in; of a BPF program: "bpf:ID" */
	uint32_t btf_id;
	int btf_fd; /* of the module's BTF, or of the BPF program; 0 for vmlinux. Owned by the kbtf. */
	uint8_t owner; /* enum kbtf_owner */
};

/* A BPF program's types, and its name in place of a module's. */
struct kbtf_prog {
	const struct btf *btf;
	const char *module;
};

/* Arguments and result of a function, as far as programs need them. */
struct kbtf_shape {
	const char *
		obstacle; /* why its prototype allows no trampoline (then only integer results are known); NULL: it allows one */
	uint8_t arg_kind; /* enum nfg_arg_kind: a sock argument, else an sk_buff ... */
	uint8_t arg_idx;  /* ... and its index */
	uint8_t skb_arg;  /* index of its first sk_buff argument, plus one; 0: none */
	uint8_t msg_arg; /* the same of a msghdr, which has the destination of what the sock sends */
	uint8_t reason_arg; /* the same of the reason of a drop */
	uint8_t arg_cnt;
	uint8_t ret_kind; /* enum nfg_ret_kind */
	bool has_ret;     /* it returns something */
	bool reads_clock; /* it reads a clock source, which each of our programs may do: u64 (struct clocksource *) */
};

/*
 * kbtf_new - read vmlinux BTF and, where the kernel shows them, the modules'.
 *
 * Modules need CAP_SYS_ADMIN (BPF_BTF_GET_NEXT_ID) and kernel 5.11; otherwise only built-in functions are listed.
 * Return: 0 or -errno; -ENOENT when the kernel has no BTF. Caller frees with kbtf_free.
 */
int kbtf_new(struct kbtf **out);

/* kbtf_new_at - as kbtf_new, from a file, raw BTF or ELF; without modules. */
int kbtf_new_at(struct kbtf **out, const char *path);
void kbtf_free(struct kbtf *kb);

/*
 * kbtf_add_prog - add the types of a BPF program, for kbtf_proto and kbtf_shape of its functions. These are not among
 * kbtf_funcs, and kbtf_next does not find them: another program may have a function of the same name.
 *
 * @btf_id: of its types, which are read once for all programs that share them. @fd: of the program; taken over on
 * success. @module: copied. *out is valid until kbtf_free or kbtf_drop_prog. Return: 0 or -errno.
 */
int kbtf_add_prog(struct kbtf *kb, uint32_t btf_id, int fd, const char *module,
		  struct kbtf_prog *out);

/* kbtf_drop_prog - undo the last kbtf_add_prog if it was of @module: nothing borrows from it. */
void kbtf_drop_prog(struct kbtf *kb, const char *module);

/*
 * kbtf_close_progs - close the descriptors of all programs, which keep these loaded. From then on kbtf_proto and
 * kbtf_shape do not know their functions.
 */
void kbtf_close_progs(struct kbtf *kb);

/*
 * kbtf_type - the type @type_id of @btf behind its names and qualifiers; NULL: void, or unknown.
 *
 * @id: set to its own id, 0 for NULL; may be NULL.
 */
const struct btf_type *kbtf_type(const struct btf *btf, uint32_t type_id, uint32_t *id);

/* kbtf_base - vmlinux's types. Borrowed; valid until kbtf_free. */
const struct btf *kbtf_base(const struct kbtf *kb);

/* Types of vmlinux, or of a module: its own follow those of vmlinux. All borrowed. */
struct kbtf_types {
	const struct btf *btf;
	const char *module; /* NULL: vmlinux */
	int fd;             /* 0 for vmlinux */
	uint32_t first_id;  /* of its own types */
};

/*
 * kbtf_types_next - iterate over vmlinux and the modules that have types. @at: 0 at first.
 *
 * Return: false: there are no more.
 */
bool kbtf_types_next(const struct kbtf *kb, size_t *at, struct kbtf_types *out);

/* kbtf_struct_id - the id of vmlinux's struct @name; 0 if there is none. */
uint32_t kbtf_struct_id(const struct kbtf *kb, const char *name);

/* kbtf_var_id - the id of vmlinux's per-CPU variable @name; 0 if there is none. */
uint32_t kbtf_var_id(const struct kbtf *kb, const char *name);

/* kbtf_struct_bytes - the size of vmlinux's struct @name; 0 if there is none. */
uint32_t kbtf_struct_bytes(const struct kbtf *kb, const char *name);

/* kbtf_has_enumerator - whether vmlinux's enum @name has a value of that name. */
bool kbtf_has_enumerator(const struct kbtf *kb, const char *name, const char *enumerator);

/* kbtf_func_id - the id of vmlinux's function @name; 0 if there is none. */
uint32_t kbtf_func_id(const struct kbtf *kb, const char *name);

/*
 * kbtf_tracepoint_id - the id for attaching a BTF-typed program to vmlinux's tracepoint @name: that of its typedef
 * btf_trace_NAME; 0 if there is none.
 */
uint32_t kbtf_tracepoint_id(const struct kbtf *kb, const char *name);

/*
 * kbtf_preempt_var - the id of vmlinux's per-CPU variable that contains the preemption counter; 0: not in BTF.
 *
 * @offset: the counter's offset in the variable, bytes; set unless 0 is returned.
 */
uint32_t kbtf_preempt_var(const struct kbtf *kb, uint32_t *offset);

/* A member of a struct, in bytes. */
struct kbtf_member {
	uint32_t offset;
	uint32_t bytes;
};

/*
 * kbtf_struct_member - the member @member of vmlinux's struct @name; includes members of unnamed structs in it.
 *
 * Return: whether there is one.
 */
bool kbtf_struct_member(const struct kbtf *kb, const char *name, const char *member,
			struct kbtf_member *out);

/* kbtf_member_type - the name of the type of member @member in vmlinux's struct @name, or NULL. */
const char *kbtf_member_type(const struct kbtf *kb, const char *name, const char *member);

/* kbtf_has_nested - whether member @member of vmlinux's struct @name is a struct that has a member @nested. */
bool kbtf_has_nested(const struct kbtf *kb, const char *name, const char *member,
		     const char *nested);

/*
 * kbtf_next - iterate over the functions with exactly this name.
 *
 * @after: the previous function; NULL at first. Return: NULL if there are no more.
 */
const struct kbtf_func *kbtf_next(const struct kbtf *kb, const char *name,
				  const struct kbtf_func *after);

/*
 * kbtf_proto - the prototype of @func; uses only its module, btf_id and btf_fd.
 *
 * @btf: set to the BTF of its types and names. A type of vmlinux has the same address whichever module refers to it.
 * Return: a BTF_KIND_FUNC_PROTO, or NULL if there is none. Borrowed, as @btf; valid until kbtf_free.
 */
const struct btf_type *kbtf_proto(const struct kbtf *kb, const struct kbtf_func *func,
				  const struct btf **btf);

/* kbtf_shape - the shape of @func, computed on each call because most functions are never queried. */
struct kbtf_shape kbtf_shape(const struct kbtf *kb, const struct kbtf_func *func);

/*
 * kbtf_packet_kind - enum nfg_arg_kind of an argument of the type @type_id: a pointer to struct sock or sk_buff, or to
 * what a BPF program calls them in its context.
 */
uint8_t kbtf_packet_kind(const struct btf *btf, uint32_t type_id, enum kbtf_owner owner);

/* kbtf_has_arg - whether one of @func's arguments is a pointer to the struct @name. */
bool kbtf_has_arg(const struct kbtf *kb, const struct kbtf_func *func, const char *name);

/* Function types by which packets enter a driver: ndo_start_xmit, a NAPI poll, an rx_handler. */
enum kbtf_entry {
	KBTF_NO_ENTRY,
	KBTF_XMIT,    /* netdev_tx_t f(struct sk_buff *, struct net_device *) */
	KBTF_POLL,    /* int f(struct napi_struct *, int) */
	KBTF_RECEIVE, /* rx_handler_result_t f(struct sk_buff **), a bridge's */
};

/* kbtf_driver_entry - the type of @func, if it is one of these. */
enum kbtf_entry kbtf_driver_entry(const struct kbtf *kb, const struct kbtf_func *func);

/* kbtf_funcs - every function, vmlinux first. Borrowed; valid until kbtf_free. */
const struct kbtf_func *kbtf_funcs(const struct kbtf *kb, size_t *cnt);

/* A file without a name, from which libbpf reads types. */
struct coretypes {
	int fd;
	char path[32];
};

/* coretypes_open - an empty one. Return: 0 or -errno; coretypes_close in either case. */
int coretypes_open(struct coretypes *types);

/*
 * coretypes_write - write to @types, as a BTF file, the types of @kernel that relocating programs (CO-RE) needs.
 *
 * Otherwise libbpf would read all types of vmlinux once more, and search them for each type of the programs. The file
 * has every struct, union and enum with a name from @local, the types of the programs (without the flavour, which
 * follows "___"), and their members. Pointers in it point to void. Its type ids are not the kernel's, so
 * bpf_core_type_id_kernel() is useless with it.
 * Return: 0 or -errno.
 */
int coretypes_write(const struct coretypes *types, const struct btf *kernel,
		    const struct btf *local);
void coretypes_close(struct coretypes *types);

#endif
