#ifndef NFG_KERNEL_MEMBER_H
#define NFG_KERNEL_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* libbpf's */
struct btf;
struct btf_type;

#define MEMBER_STEP_MAX     6
#define MEMBER_ADDRESS_MASK (-8) /* of member.bits_at */
#define MEMBER_WHY          400  /* bytes for any complaint */

/*
 * How to read what a path names, from a pointer on: .MEMBER, ->MEMBER (the same), [INDEX], and :STRUCT, which tells the
 * struct to which the pointer before it really points, or which the array before it has. The path goes through members that are structs, through unnamed
 * structs and unions, and through pointers. Names that the kernel's source has by macros, such as sk_state of a struct
 * sock, are members, too, and so is shinfo of a packet, the struct skb_shared_info behind its bytes.
 */
struct member {
	uint32_t type_id; /* of what is read; its name and qualifiers are resolved */
	uint8_t step_cnt; /* loads; all but the last yield a pointer */
	uint8_t direct_cnt; /* of these, first ones that the verifier allows by the types alone; others take a helper */
	uint8_t bytes; /* of the last load: 1 to 8; 0: an array or a struct, which begins there */
	uint8_t bit_begin; /* of a bit field in these bytes */
	uint8_t bit_cnt;   /* 0: no bit field */
	uint8_t bits_at; /* the number of the load whose low bits are none of the address that it yields; 0: none */
	uint8_t sum_at; /* the number of the load to whose address 4 bytes beside it are added; 0: none */
	bool is_be;          /* a number in network byte order */
	uint32_t elem_cnt;   /* of an array */
	uint32_t sum_offset; /* of these bytes, from the pointer before them */
	uint32_t offsets[MEMBER_STEP_MAX];
};

/*
 * member_resolve - find @path behind a pointer of the type @type_id.
 *
 * @root_len: the bytes before @path that name the pointer; complaints include them. @is_direct: the verifier knows that
 * type, too.
 * @why: MEMBER_WHY bytes for what does not exist, with "; HINT" if there is one: names near it, or where all are. Return: whether everything exists.
 */
bool member_resolve(struct member *out, const struct btf *btf, uint32_t type_id, struct text path,
		    size_t root_len, bool is_direct, char *why);

/* member_path_len - the number of bytes at @text that are a path: 0 if none begins there. */
size_t member_path_len(const char *text);

/* member_is_same - whether two paths are the same, of which either may be written with "->" in place of ".". */
bool member_is_same(struct text a, struct text b);

/* member_put_dotted - copy a path to @out, of @size bytes, with "." in place of "->". */
void member_put_dotted(char *out, size_t size, const char *path);

/* member_arg - the number of the argument @name of the prototype; btf_vlen(proto): it has none. */
uint32_t member_arg(const struct btf *btf, const struct btf_type *proto, struct text name);

/*
 * member_is_loadable - whether programs may load an argument of that type: some kernels refuse pointers to other things
 * than structs.
 */
bool member_is_loadable(const struct btf *btf, uint32_t type_id);

/* member_pointee - the struct to which the pointer @type_id points; 0: it does not. */
uint32_t member_pointee(const struct btf *btf, uint32_t type_id);

#endif
