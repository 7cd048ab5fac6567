#ifndef NFG_SELECT_DECODER_H
#define NFG_SELECT_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * All that the call graph knows of one architecture's machine code. Pure. A port fills in another one, in
 * decoder_ARCH.c, and names it in callgraph.c.
 */
struct decoder {
	/*
	 * Find the direct calls, and jumps, in the @len bytes of @text that stand at @addr and lead out of them.
	 *
	 * @target: gets the address that each leads to, in the order of the text, until it returns other than 0.
	 * @is_indirect: set when there are calls through pointers too, left alone when not.
	 * Return: 0, or what @target returned.
	 */
	int (*scan)(const uint8_t *text, uint32_t len, uint64_t addr,
		    int (*target)(void *ctx, uint64_t addr, bool is_jump), void *ctx,
		    bool *is_indirect);
	/* Where the jump at the start of @insn, at @addr, leads. Return: false, it is no jump. */
	bool (*jump_target)(const uint8_t *insn, uint64_t addr, uint64_t *target);
	size_t jump_bytes; /* of such a jump */
	/* Whether a call that leads so many bytes behind the begin of a function enters it all the same. */
	bool (*enters_behind)(uint64_t offset);
	/* Likewise before it, in the padding. */
	bool (*enters_before)(uint64_t offset);
	const char *const *
		thunk_prefixes; /* of symbols that jump to where a register points; ends with NULL */
};

extern const struct decoder decoder_x86;

#endif
