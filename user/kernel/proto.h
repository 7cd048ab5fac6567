#ifndef NFG_KERNEL_PROTO_H
#define NFG_KERNEL_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "kernel/kbtf.h"
#include "nfg_abi.h"
#include "trace/row.h"

/*
 * The arguments and result of a function, and how their values are shown: by the kernel's rules
 * (print_function_args and print_graph_retval of kernel/trace), with the types from BTF.
 */
enum proto_kind {
	PROTO_VOID,
	PROTO_POINTER,
	PROTO_SIGNED,
	PROTO_UNSIGNED,
	PROTO_BOOL,
	PROTO_ENUM,
	PROTO_OTHER, /* a type without a scalar value: ?0x... */
	/* Only fields of tracepoints (proto_fields): */
	PROTO_DECIMAL, /* unsigned, shown in decimal */
	PROTO_BE,      /* the same, big-endian */
	PROTO_BE_HEX,  /* unsigned, big-endian */
	PROTO_IPV4,
	PROTO_IPV6,  /* two words */
	PROTO_CHARS, /* two words: up to 16 bytes of text, padded with NULs */
	PROTO_CODE,  /* an address in a function */
	PROTO_INET, /* two words: a union nf_inet_addr, whose bytes after an IPv4 address are zero */
	PROTO_FLAGS, /* a number whose bits have names: the values of its enum */
	PROTO_KIND_CNT,
};

struct proto_type {
	uint8_t kind;  /* enum proto_kind */
	uint8_t bytes; /* 1, 2, 4 or 8; 8 if the kind has no width */
	uint16_t
		enum_id; /* PROTO_ENUM and PROTO_FLAGS: 1 + its index among the table's enums; 0: unknown */
};

#define PROTO_ARG_MAX 12 /* MAX_BPF_FUNC_ARGS */

struct proto_arg {
	struct text name; /* len 0: the prototype has none */
	struct proto_type type;
};

struct proto {
	struct proto_type ret;
	uint8_t arg_cnt;
	struct proto_arg args[PROTO_ARG_MAX];
};

/* How values are shown. */
struct proto_style {
	bool has_args;
	bool has_ret;
	bool is_ret_hex;     /* always the register's value in hexadecimal */
	bool is_old_dialect; /* "= -22" as in 6.5 to 6.12, not "ret=-22" */
	bool hides_pointers; /* write a hash instead, consistent throughout a run */
	uint64_t hash_key;
};

struct enumerator {
	uint64_t value; /* the low bytes of its enum's width; zeros above */
	struct text name;
};

struct proto_enum {
	const void *key; /* BTF type, for later lookups; NULL: unpacked */
	uint8_t bytes;   /* 1, 2, 4 or 8 */
	bool is_signed;
	uint32_t cnt;
	struct text prefix; /* what nearly all names begin with: SKB_DROP_REASON_; len 0: nothing */
	struct enumerator *enumerators; /* by value, each value once */
};

struct proto_table {
	struct proto *protos;
	uint32_t cnt;
	size_t cap;
	struct proto_enum *enums;
	uint32_t enum_cnt;
	size_t enum_cap;
	uint32_t enumerator_cnt; /* in all enums */
	struct name_block *names;
};

/* The prototypes of the traced functions, by func_id, and the enums they name. */
struct proto_table;

/* proto_table_new - create an empty table. Return: 0 or -ENOMEM. Caller frees with proto_table_free. */
int proto_table_new(struct proto_table **out);
void proto_table_free(struct proto_table *table);

/*
 * proto_table_add - add the next function's prototype from BTF; a function without a prototype has no values.
 *
 * All functions of a table come from one @kb, which the table does not need afterwards.
 * @func: only module, btf_id and btf_fd are used; NULL: not in BTF.
 * Return: 0, -ENOMEM, or -E2BIG: more functions than events can identify.
 */
int proto_table_add(struct proto_table *table, const struct kbtf *kb, const struct kbtf_func *func);

/* proto_table_get - the prototype of @func_id, or NULL. Borrowed; valid until a function is added. */
const struct proto *proto_table_get(const struct proto_table *table, uint32_t func_id);

/*
 * proto_enumerator - the value of the enumerator @symbol of the enum @type; it may lack what nearly all of them begin with:
 * NO_SOCKET. Return: whether there is one.
 */
bool proto_enumerator(const struct proto_table *table, const struct proto_type *type,
		      struct text symbol, int64_t *value);

/*
 * proto_enumerators - call @visit for each enumerator of the enum @type, and for its shorter name if it has one; none for other
 * types.
 */
void proto_enumerators(const struct proto_table *table, const struct proto_type *type,
		       void (*visit)(void *ctx, struct text name), void *ctx);

#define PROTO_PIECE_MIN 4096 /* bytes: enough for any function */

/*
 * proto_table_pack - the table as bytes for a recording, in pieces of at most @max_bytes.
 *
 * Enums come before the functions that use them. An enum too large for a piece loses the names of its highest values.
 * include/recording.md, chunk TYPE, describes the bytes.
 * @piece: called with the pieces in order; a nonzero return value ends the packing.
 * Return: 0, -ENOMEM, -EINVAL: @max_bytes is below PROTO_PIECE_MIN, or the nonzero value from @piece.
 */
int proto_table_pack(const struct proto_table *table, size_t max_bytes,
		     int (*piece)(void *ctx, const void *bytes, size_t len), void *ctx);

/* How much of a table has been packed; zeroed: nothing. */
struct proto_packed {
	uint32_t enum_cnt;
	uint32_t cnt; /* functions */
};

/*
 * proto_table_pack_more - as proto_table_pack, of what was added since *@done, which advances unless it fails. The pieces
 * follow those that were packed before.
 */
int proto_table_pack_more(const struct proto_table *table, struct proto_packed *done,
			  size_t max_bytes, int (*piece)(void *ctx, const void *bytes, size_t len),
			  void *ctx);

/*
 * proto_table_unpack - add the contents of one piece; pieces come in the order they were packed.
 *
 * The bytes are untrusted. Bytes after the piece are ignored.
 * Return: 0, -ENOMEM, or -EBADMSG: the bytes are malformed or not the next piece; then nothing is added.
 */
int proto_table_unpack(struct proto_table *table, const void *bytes, size_t len);

/*
 * proto_args - the function's arguments, as the kernel shows them.
 *
 * Missing values become one, the text "...". None for a style without has_args.
 * @out: room for PROTO_ARG_MAX; its texts are the table's. Return: their number.
 */
uint32_t proto_args(const struct proto_table *table, uint32_t func_id, const uint64_t *values,
		    size_t cnt, const struct proto_style *style, struct value *out);

#define PROTO_FIELD_TEXT 200 /* bytes for any address or name, and for the names of many bits */

/* Texts of values that no table has. */
struct proto_texts {
	char bytes[PROTO_ARG_MAX][PROTO_FIELD_TEXT];
};

/* proto_kind_words - the number of words that a field of the kind takes. */
static inline uint32_t proto_kind_words(uint8_t kind)
{
	return kind == PROTO_IPV6 || kind == PROTO_CHARS || kind == PROTO_INET ? 2 : 1;
}

/*
 * proto_fields - the fields of the tracepoint @id, of which @table has types, as text shows them: numbers, names of
 * enumerators, addresses.
 *
 * Fields whose words are missing are left out. @place: names an address of code, its text outlives @out; NULL: they are
 * shown as numbers. @texts: has texts of @out. @out: room for PROTO_ARG_MAX. Return: their number.
 */
uint32_t proto_fields(const struct proto_table *table, uint32_t id, const uint64_t *words,
		      size_t cnt, const struct proto_style *style,
		      struct text (*place)(void *ctx, uint64_t addr), void *ctx,
		      struct proto_texts *texts, struct value *out);

/*
 * proto_field_type - the type of the field @name of the tracepoint or the members @id. *@word: the first of its words.
 *
 * Return: NULL: there is none.
 */
const struct proto_type *proto_field_type(const struct proto_table *table, uint32_t id,
					  struct text name, uint32_t *word);

/* proto_field_number - the word of a field as a number of this host; of texts and long addresses it has no meaning. */
uint64_t proto_field_number(const struct proto_type *type, uint64_t word);

/* proto_code_fields - call @visit with each word that is an address in a function. */
void proto_code_fields(const struct proto_table *table, uint32_t id, const uint64_t *words,
		       size_t cnt, void (*visit)(void *ctx, uint64_t addr), void *ctx);

/*
 * proto_named_enum - append " reason=SKB_DROP_REASON_NO_SOCKET" for the argument @name, if it is an enum and the
 * enumerator is known.
 */
void proto_named_enum(const struct proto_table *table, uint32_t func_id, const char *name,
		      const uint64_t *values, size_t cnt, struct strbuf *out);

/*
 * proto_ret - the function's result; its name is "ret", in the old dialect none.
 *
 * Return: false, with @out unchanged, for a function that returns nothing and a style without has_ret.
 */
bool proto_ret(const struct proto_table *table, uint32_t func_id, uint64_t value,
	       const struct proto_style *style, struct value *out);

/* Internals of the table of prototypes. */

#define PROTOTAB_NAME_MAX       255 /* bytes */
#define PROTOTAB_ENUM_MAX       UINT16_MAX
#define PROTOTAB_ENUMERATOR_MAX (1u << 20) /* in all enums; kernels have less than a tenth */

struct name_block;

/* prototab_has_width - whether values can have @bytes bytes. */
static inline bool prototab_has_width(uint64_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* prototab_cut - the lowest @bytes of @value, zeros above. */
static inline uint64_t prototab_cut(uint64_t value, uint8_t bytes)
{
	unsigned int shift = 64 - 8u * bytes;

	return value << shift >> shift;
}

/* prototab_keep - copy @name for the life of the table. Return: 0 or -ENOMEM. */
int prototab_keep(struct proto_table *table, struct text name, struct text *out);

/*
 * prototab_enum_begin - a new enum with room for @cnt enumerators, which the caller fills in.
 *
 * It joins the table with prototab_enum_end.
 * Return: NULL if out of memory. Borrowed; valid until the next one.
 */
struct proto_enum *prototab_enum_begin(struct proto_table *table, uint32_t cnt);
void prototab_enum_end(struct proto_table *table);

/*
 * prototab_named - set @type to an enum of @bytes bytes with @cnt values, in ascending order.
 *
 * @key: identifies the enum in this table; a known key needs no values. Return: 0 or -ENOMEM; without room for its
 * values the enum is unknown.
 */
struct proto_name {
	uint64_t value;
	const char *name;
};
int prototab_named(struct proto_table *table, const void *key, uint8_t bytes,
		   const struct proto_name *names, uint32_t cnt, struct proto_type *type);

/*
 * prototab_stripped - as prototab_named, with the values of BTF's enum @btf_type, whose names lose @prefix.
 */
int prototab_stripped(struct proto_table *table, const struct btf *btf,
		      const struct btf_type *btf_type, const char *prefix, struct proto_type *type);

/* prototab_type - the type @type_id of @btf. Return: 0 or -ENOMEM. */
int prototab_type(struct proto_table *table, const struct btf *btf, uint32_t type_id,
		  struct proto_type *type);

/* prototab_add - add the next function; the table must own its names already. Return: 0 or -errno. */
int prototab_add(struct proto_table *table, const struct proto *proto);

#endif
