#ifndef NFG_KERNEL_TRACEPOINT_H
#define NFG_KERNEL_TRACEPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "kernel/kbtf.h"
#include "kernel/proto.h"
#include "trace/functab.h"

struct bpf_insn;

/*
 * The tracepoints of the kernel and its modules, without tracefs: their names and arguments are in BTF. BTF has neither the system of a
 * tracepoint (skb of skb:kfree_skb) nor the way in which it computes its fields from its arguments, so there are
 * tables of both: of systems in tracepoint.c, of fields in pointfields.h. A tracepoint that is not in the tables has no system, and its arguments are its fields.
 */

#define TRACEPOINT_STEP_MAX 4

/* What a program reads. */
enum tracepoint_what {
	TRACEPOINT_VALUE,
	TRACEPOINT_HEADER, /* a value in a header of a packet: its place in the headers is added to skb->head */
	TRACEPOINT_SHARED, /* a value behind the packet's bytes, in the struct skb_shared_info */
	TRACEPOINT_OFFSET, /* how far the header is behind skb->data */
};

/* Of a packet: where its members are. */
struct tracepoint_packet {
	uint32_t head;
	uint32_t data;
	uint32_t protocol;
	uint32_t place;  /* of the number that is added to head */
	uint16_t at;     /* in the header */
	uint16_t wanted; /* skb->protocol, as it is in memory: others have no value; 0: all have */
	bool is_swapped; /* the value is shown in the host's byte order */
};

/* How a program reads a field: from an argument through pointers. */
struct tracepoint_read {
	enum tracepoint_what what : 8;
	bool is_instead; /* of the field before, if that one's argument is NULL */
	uint8_t bit_begin;
	uint8_t bit_cnt;                 /* of a bit field; 0: of none */
	struct tracepoint_packet packet; /* unless it is a VALUE */
	uint8_t arg;
	uint8_t step_cnt; /* 0: the argument itself is the field */
	uint8_t bytes;    /* of the last load; 16: two words */
	bool is_probed; /* the context cannot be loaded from, or BTF has another type: by a helper */
	bool is_cast;   /* it points to another struct than BTF says, or it may be NULL */
	bool is_string;   /* the last step loads the address of a string */
	uint32_t type_id; /* struct to which the argument points */
	uint32_t offsets[TRACEPOINT_STEP_MAX];
};

struct tracepoint {
	const char *name;      /* borrowed from the kbtf */
	const char *system;    /* "": unknown */
	const char *module;    /* NULL: built in; borrowed from the kbtf, like the next two */
	const struct btf *btf; /* of its types ... */
	int btf_fd;            /* ... 0 for vmlinux */
	uint32_t btf_id;       /* for attaching */
	uint8_t arg_kind;      /* as in struct func */
	uint8_t arg_idx;
	uint8_t skb_arg;
	uint8_t word_cnt; /* of all fields */
	uint8_t read_cnt;
	uint8_t cut_cnt; /* fields for which there is no room */
	bool is_named;   /* asked for by its name, not by a pattern */
	struct tracepoint_read reads[2 * PROTO_ARG_MAX]; /* each field, and what is read instead */
};

struct tracepoint_list {
	struct tracepoint *items;
	size_t cnt;
	size_t cap;
};

/*
 * tracepoint_find - the tracepoints that match one of @globs, in the order of names: SYSTEM:NAME, or NAME of any
 * system. All of them if there is no glob.
 *
 * @missed: set to the first glob that matches none, or NULL. Return: 0 or -ENOMEM. Caller releases the list.
 */
int tracepoint_find(struct tracepoint_list *out, const struct kbtf *kb,
		    const struct str_list *globs, const char **missed);
void tracepoint_list_release(struct tracepoint_list *list);

/*
 * tracepoint_is_denied - whether the kernel would call a program there while it enters or leaves a program. tracepoint_find leaves
 * these out unless a glob is their name, or matches nothing else.
 */
bool tracepoint_is_denied(const struct tracepoint *tp);

/* tracepoint_matches - whether @glob has the tracepoint: SYSTEM:NAME, or NAME of any system. */
bool tracepoint_matches(const char *glob, const char *system, const char *name);

/* tracepoint_suggest - names near @glob, as "a, b or c"; "": none. Valid until the next call. */
const char *tracepoint_suggest(const struct kbtf *kb, const char *glob);

/*
 * tracepoint_names - call @visit with the full name of each tracepoint in the BTF files of the directory @dir
 * (/sys/kernel/btf), in no order, without reading types: for completion. @ctx: given to it. The name is valid during the
 * call.
 */
void tracepoint_names(const char *dir, void (*visit)(void *ctx, const char *full_name), void *ctx);

/*
 * tracepoint_fields - find out how to read the fields of @tp, and add their types to @types, as those of the next
 * tracepoint.
 *
 * @has_casts: programs have bpf_rdonly_cast(). Return: 0, -ENOMEM or -E2BIG.
 */
int tracepoint_fields(struct tracepoint *tp, const struct kbtf *kb, bool has_casts,
		      struct proto_table *types);

/*
 * tracepoint_named - make @type, a number, one whose values have the names of a list of pointfields.h: PROTO_ENUM, or PROTO_FLAGS
 * if it is one of bits. A list that is unknown leaves @type as it is. Return: 0 or -ENOMEM.
 */
int tracepoint_named(struct proto_table *types, const char *list, struct proto_type *type);

/* tracepoint_full_name - "skb:kfree_skb", or its name alone. Valid until the next call. */
const char *tracepoint_full_name(const struct tracepoint *tp);

#define TRACEPOINT_INSN_MAX 1000

/*
 * tracepoint_code - a function that puts the fields of @tp into a record (tracepoint_code.c): its arguments are the program's context
 * and the address of the record, behind which there is room for word_cnt values, one at least.
 *
 * @cast_id: of bpf_rdonly_cast(), 0 without has_casts. @is_careful: no argument is loaded from as the verifier knows it; for a
 * kernel that refuses that. @insns: room for TRACEPOINT_INSN_MAX. Return: their number.
 */
uint32_t tracepoint_code(const struct tracepoint *tp, uint32_t cast_id, bool is_careful,
			 struct bpf_insn *insns);

#endif
