#include <linux/bpf.h>

#include "kernel/probe.h"
#include "kernel/tracepoint.h"

/*
 * The values go straight to their places behind the record, without a copy between.
 *
 * Most fields are loads from arguments as the verifier knows them, of one instruction each. Behind a cast a load takes eight,
 * because it may fail: it yields 0 where there is no memory. From 6.2 on the verifier takes arguments for valid, so a load from one
 * that is NULL after all would be fatal: the function then goes on in another, a careful one, which casts all of them.
 */
#define R_RESULT   BPF_REG_0 /* to be stored */
#define R_OTHER    BPF_REG_5 /* the second half of a text */
#define WORD_BYTES 8
#define TEXT_BYTES 16
#define SPAN_BYTES 32     /* of what is copied at once behind the bytes of a packet */
#define NO_HEADER  0xffff /* skb->transport_header: not known yet */
#define TO_LEAVE   (-1)   /* the target of a guard, which leave_by_call() sets */

/* Where a function keeps what it uses again: if it calls nothing, in registers that need not be saved. */
struct regs {
	uint8_t ctx;
	uint8_t rec;
	uint8_t arg;
	uint8_t step;
};

static const struct regs short_regs = { BPF_REG_1, BPF_REG_2, BPF_REG_3, BPF_REG_4 };
static const struct regs kept_regs = { BPF_REG_6, BPF_REG_7, BPF_REG_8, BPF_REG_9 };

struct coder {
	struct bpf_insn *insns;
	uint32_t cnt;
	uint32_t word_cnt;
	uint32_t cast_id;
	bool is_careful;
	struct regs regs;
	const struct tracepoint_read *held; /* its argument is in regs.arg; NULL: none's is */
	bool has_step; /* the pointer that its first step loads is in regs.step */
};

static void emit(struct coder *c, uint8_t code, uint8_t dst, uint8_t src, int32_t off, int32_t imm)
{
	if (c->cnt < TRACEPOINT_INSN_MAX)
		c->insns[c->cnt++] = (struct bpf_insn){ .code = code,
							.dst_reg = dst,
							.src_reg = src,
							.off = (int16_t)off,
							.imm = imm };
}

static void emit_move(struct coder *c, uint8_t dst, uint8_t src)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void emit_number(struct coder *c, uint8_t dst, int32_t number)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, number);
}

static void emit_add(struct coder *c, uint8_t dst, int32_t number)
{
	emit(c, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, number);
}

static void emit_load(struct coder *c, uint8_t dst, uint8_t src, int32_t offset, uint8_t bytes)
{
	const uint8_t size = bytes == 1 ? BPF_B : bytes == 2 ? BPF_H : bytes == 4 ? BPF_W : BPF_DW;

	emit(c, BPF_LDX | BPF_MEM | size, dst, src, offset, 0);
}

/* Store the @word-th value, and its tag after it. */
static void emit_store(struct coder *c, uint32_t word, uint8_t src)
{
	const int32_t offset = (int32_t)((word + 1) * NFG_REC_BYTES);

	emit(c, BPF_STX | BPF_MEM | BPF_DW, c->regs.rec, src,
	     offset + (int32_t)offsetof(struct nfg_value, value), 0);
	emit(c, BPF_ST | BPF_MEM | BPF_DW, c->regs.rec, 0,
	     offset + (int32_t)offsetof(struct nfg_value, tag),
	     (int32_t)NFG_VALUE_TAG(c->word_cnt - word, word));
}

static void emit_clear(struct coder *c)
{
	emit(c, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -TEXT_BYTES, 0);
	emit(c, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -WORD_BYTES, 0);
}

/* Copy @bytes from the address in r3 to the stack, @depth bytes below its top. */
static void emit_helper(struct coder *c, int32_t depth, uint8_t bytes, int helper)
{
	emit_move(c, BPF_REG_1, BPF_REG_10);
	emit_add(c, BPF_REG_1, -depth);
	emit_number(c, BPF_REG_2, bytes);
	emit(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

/* Store @bytes, which are on the stack; a number in the host's byte order if it @is_swapped. */
static void emit_copied(struct coder *c, uint32_t word, uint8_t bytes, bool is_swapped)
{
	emit_load(c, R_RESULT, BPF_REG_10, -TEXT_BYTES, WORD_BYTES);
	if (is_swapped)
		emit(c, BPF_ALU | BPF_END | BPF_TO_BE, R_RESULT, 0, 0, 8 * bytes);
	emit_store(c, word, R_RESULT);
	if (bytes <= WORD_BYTES)
		return;
	emit_load(c, R_OTHER, BPF_REG_10, -WORD_BYTES, WORD_BYTES);
	emit_store(c, word + 1, R_OTHER);
}

/* Store @bytes from the address in r3, by a helper. */
static void emit_copy(struct coder *c, uint32_t word, uint8_t bytes, int helper)
{
	emit_clear(c);
	emit_helper(c, TEXT_BYTES, bytes, helper);
	emit_copied(c, word, bytes, false);
}

/* A jump, whose target is where jump_here() is called with what this returns. */
static uint32_t emit_jump(struct coder *c, uint8_t condition, uint8_t reg, int32_t number)
{
	emit(c, BPF_JMP | condition | BPF_K, reg, 0, 0, number);
	return c->cnt - 1;
}

static void jump_here(struct coder *c, uint32_t jump)
{
	c->insns[jump].off = (int16_t)(c->cnt - jump - 1);
}

/* The argument in regs.arg becomes a pointer behind which loads may fail. */
static void emit_cast(struct coder *c, uint32_t type_id)
{
	emit_move(c, BPF_REG_1, c->regs.arg);
	emit_number(c, BPF_REG_2, (int32_t)type_id);
	emit(c, BPF_JMP | BPF_CALL, 0, NFG_BPF_PSEUDO_KFUNC_CALL, 0, (int32_t)c->cast_id);
	emit_move(c, c->regs.arg, R_RESULT);
}

/*
 * Leave if the argument in regs.arg is NULL; leave_by_call() sets the target. The verifier demands the first test of some arguments, and
 * drops it for those that it takes for valid. It knows nothing of half an address.
 */
static void emit_guard(struct coder *c)
{
	emit(c, BPF_JMP | BPF_JEQ | BPF_K, c->regs.arg, 0, TO_LEAVE, 0);
	emit(c, BPF_ALU | BPF_MOV | BPF_X, R_RESULT, c->regs.arg, 0, 0);
	emit(c, BPF_JMP32 | BPF_JEQ | BPF_K, R_RESULT, 0, TO_LEAVE, 0);
}

static bool holds_arg(const struct coder *c, uint8_t arg)
{
	return c->held && c->held->arg == arg;
}

static void emit_arg(struct coder *c, const struct tracepoint_read *read)
{
	if (holds_arg(c, read->arg) && c->held->type_id == read->type_id)
		return;
	emit_load(c, c->regs.arg, c->regs.ctx, read->arg * WORD_BYTES, WORD_BYTES);
	if (c->cast_id && (c->is_careful || read->is_cast))
		emit_cast(c, read->type_id);
	else if (c->cast_id)
		emit_guard(c);
	c->held = read;
	c->has_step = false;
}

/* All steps but the last. Return: the register with the pointer that they yield. */
static uint8_t emit_steps(struct coder *c, const struct tracepoint_read *read)
{
	if (read->step_cnt == 1)
		return c->regs.arg;
	if (!c->has_step || c->held->offsets[0] != read->offsets[0])
		emit_load(c, c->regs.step, c->regs.arg, (int32_t)read->offsets[0], WORD_BYTES);
	c->held = read;
	c->has_step = true;
	for (uint8_t i = 1; i + 1 < read->step_cnt; i++)
		emit_load(c, R_RESULT, i == 1 ? c->regs.step : R_RESULT, (int32_t)read->offsets[i],
			  WORD_BYTES);
	return read->step_cnt == 2 ? c->regs.step : R_RESULT;
}

/* Store the value at @offset from the register. */
static void emit_value(struct coder *c, const struct tracepoint_read *read, uint8_t from,
		       int32_t offset, uint32_t word)
{
	if (read->bytes > WORD_BYTES)
		emit_load(c, R_OTHER, from, offset + WORD_BYTES, WORD_BYTES);
	emit_load(c, R_RESULT, from, offset, read->bytes);
	if (read->bit_cnt) {
		emit(c, BPF_ALU64 | BPF_LSH | BPF_K, R_RESULT, 0, 0,
		     64 - read->bit_cnt - read->bit_begin);
		emit(c, BPF_ALU64 | BPF_RSH | BPF_K, R_RESULT, 0, 0, 64 - read->bit_cnt);
	}
	emit_store(c, word, R_RESULT);
	if (read->bytes > WORD_BYTES)
		emit_store(c, word + 1, R_OTHER);
}

/* Loads through pointers that may be NULL or gone: the kernel's programs then load 0. */
static void emit_member(struct coder *c, const struct tracepoint_read *read, uint32_t word)
{
	const int32_t last = (int32_t)read->offsets[read->step_cnt - 1];
	uint8_t from;

	emit_arg(c, read);
	from = emit_steps(c, read);
	if (read->is_string) {
		emit_load(c, BPF_REG_3, from, last, WORD_BYTES);
		emit_copy(c, word, TEXT_BYTES, BPF_FUNC_probe_read_kernel_str);
		return;
	}
	emit_value(c, read, from, last, word);
}

static void emit_probe(struct coder *c, const struct tracepoint_read *read, uint32_t word)
{
	const int32_t arg_offset = read->arg * WORD_BYTES;

	if (read->step_cnt) {
		emit_load(c, BPF_REG_3, c->regs.ctx, arg_offset, WORD_BYTES);
		emit_add(c, BPF_REG_3, (int32_t)read->offsets[0]);
	} else {
		emit_move(c, BPF_REG_3, c->regs.ctx);
		emit_add(c, BPF_REG_3, arg_offset);
	}
	emit_copy(c, word, read->step_cnt ? read->bytes : WORD_BYTES, BPF_FUNC_probe_read_kernel);
}

/* How far a header is behind skb->data; 0: it is not known where it is. */
static void emit_offset(struct coder *c, const struct tracepoint_read *read, uint32_t word)
{
	const struct tracepoint_packet *packet = &read->packet;
	uint32_t is_unknown;

	emit_arg(c, read);
	emit_load(c, R_OTHER, c->regs.arg, (int32_t)packet->place, 2);
	emit_number(c, R_RESULT, 0);
	is_unknown = emit_jump(c, BPF_JEQ, R_OTHER, NO_HEADER);
	emit_load(c, R_RESULT, c->regs.arg, (int32_t)packet->head, WORD_BYTES);
	emit(c, BPF_ALU64 | BPF_ADD | BPF_X, R_RESULT, R_OTHER, 0, 0);
	emit_load(c, R_OTHER, c->regs.arg, (int32_t)packet->data, WORD_BYTES);
	emit(c, BPF_ALU64 | BPF_SUB | BPF_X, R_RESULT, R_OTHER, 0, 0);
	jump_here(c, is_unknown);
	emit_store(c, word, R_RESULT);
}

/* Yields in r3 the address @at bytes behind skb->head and the number in r0. Only a helper may read there: it may be wrong. */
static void emit_address(struct coder *c, const struct tracepoint_read *read, int32_t at)
{
	emit_load(c, BPF_REG_3, c->regs.arg, (int32_t)read->packet.head, WORD_BYTES);
	emit(c, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_3, R_RESULT, 0, 0);
	emit_add(c, BPF_REG_3, at);
}

/* A value in a header of a packet; 0: it is not known where that is, or the packet is of another protocol. */
static void emit_header(struct coder *c, const struct tracepoint_read *read, uint32_t word)
{
	const struct tracepoint_packet *packet = &read->packet;
	uint32_t is_other = 0;
	uint32_t is_unknown;

	emit_arg(c, read);
	emit_clear(c);
	if (packet->wanted) {
		emit_load(c, R_RESULT, c->regs.arg, (int32_t)packet->protocol, 2);
		is_other = emit_jump(c, BPF_JNE, R_RESULT, packet->wanted);
	}
	emit_load(c, R_RESULT, c->regs.arg, (int32_t)packet->place, 2);
	is_unknown = emit_jump(c, BPF_JEQ, R_RESULT, NO_HEADER);
	emit_address(c, read, packet->at);
	emit_helper(c, TEXT_BYTES, read->bytes, BPF_FUNC_probe_read_kernel);
	jump_here(c, is_unknown);
	if (packet->wanted)
		jump_here(c, is_other);
	emit_copied(c, word, read->bytes, packet->is_swapped);
}

static uint32_t words_of(const struct tracepoint_read *read)
{
	return read->bytes > WORD_BYTES || read->is_string ? 2 : 1;
}

/* Where the first of @cnt values behind the bytes of a packet is. Loads from the stack have to be aligned. */
static uint32_t shared_begin(const struct tracepoint_read *reads, uint32_t cnt)
{
	uint32_t begin = UINT32_MAX;

	for (uint32_t i = 0; i < cnt; i++)
		begin = reads[i].packet.at < begin ? reads[i].packet.at : begin;
	return begin / WORD_BYTES * WORD_BYTES;
}

/* From there to the end of the last one. */
static uint32_t shared_bytes(const struct tracepoint_read *reads, uint32_t cnt)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		const uint32_t at = reads[i].packet.at + reads[i].bytes;

		end = at > end ? at : end;
	}
	return end - shared_begin(reads, cnt);
}

/* Values behind the bytes of a packet: one copy has all @cnt. */
static void emit_shared(struct coder *c, const struct tracepoint_read *reads, uint32_t cnt,
			uint32_t word)
{
	const uint32_t begin = shared_begin(reads, cnt);
	const uint8_t bytes = (uint8_t)shared_bytes(reads, cnt);

	emit_arg(c, reads);
	emit_load(c, R_RESULT, c->regs.arg, (int32_t)reads->packet.place, 4);
	emit_address(c, reads, (int32_t)begin);
	emit_helper(c, SPAN_BYTES, bytes, BPF_FUNC_probe_read_kernel);
	for (uint32_t i = 0; i < cnt; i++) {
		emit_value(c, &reads[i], BPF_REG_10,
			   (int32_t)(reads[i].packet.at - begin) - SPAN_BYTES, word);
		word += words_of(&reads[i]);
	}
}

static void emit_read(struct coder *c, const struct tracepoint_read *read, uint32_t word)
{
	if (read->what == TRACEPOINT_OFFSET) {
		emit_offset(c, read, word);
	} else if (read->what == TRACEPOINT_HEADER) {
		emit_header(c, read, word);
	} else if (read->is_probed) {
		emit_probe(c, read, word);
	} else if (read->step_cnt) {
		emit_member(c, read, word);
	} else if (holds_arg(c, read->arg)) {
		emit_store(c, word, c->regs.arg);
	} else {
		emit_load(c, R_RESULT, c->regs.ctx, read->arg * WORD_BYTES, WORD_BYTES);
		emit_store(c, word, R_RESULT);
	}
}

/* @cnt reads, each with the one in its place after it. Those @is_instead, or the others. */
static void emit_pairs(struct coder *c, const struct tracepoint_read *reads, uint32_t cnt,
		       uint32_t word, bool is_instead)
{
	for (uint32_t i = 0; i < cnt; i += 2) {
		emit_read(c, &reads[is_instead ? i + 1 : i], word);
		word += words_of(&reads[i]);
	}
}

/* The verifier must not take it for known whether the argument is NULL, so that is asked of a copy. */
static void emit_either(struct coder *c, const struct tracepoint_read *reads, uint32_t cnt,
			uint32_t word)
{
	const struct coder before = *c;
	uint32_t is_null;
	uint32_t to_end;

	emit_move(c, BPF_REG_3, c->regs.ctx);
	emit_add(c, BPF_REG_3, reads->arg * WORD_BYTES);
	emit_clear(c);
	emit_helper(c, TEXT_BYTES, WORD_BYTES, BPF_FUNC_probe_read_kernel);
	emit_load(c, R_RESULT, BPF_REG_10, -TEXT_BYTES, WORD_BYTES);
	is_null = emit_jump(c, BPF_JEQ, R_RESULT, 0);
	emit_pairs(c, reads, cnt, word, false);
	to_end = emit_jump(c, BPF_JA, 0, 0);
	jump_here(c, is_null);
	c->held = before.held;
	c->has_step = before.has_step;
	emit_pairs(c, reads, cnt, word, true);
	jump_here(c, to_end);
	c->held = NULL;
	c->has_step = false;
}

/* How many of the reads from the @begin-th on are done at once. */
static uint32_t group_cnt(const struct tracepoint *tp, uint32_t begin)
{
	const struct tracepoint_read *first = &tp->reads[begin];
	const uint32_t left_cnt = tp->read_cnt - begin;
	uint32_t cnt = 0;

	while (cnt + 1 < left_cnt && first[cnt + 1].is_instead && first[cnt].arg == first->arg)
		cnt += 2;
	if (cnt)
		return cnt;
	while (cnt < left_cnt && first[cnt].what == TRACEPOINT_SHARED &&
	       first[cnt].arg == first->arg && shared_bytes(first, cnt + 1) <= SPAN_BYTES)
		cnt++;
	return cnt ? cnt : 1;
}

static bool calls_nothing(const struct coder *c, const struct tracepoint *tp)
{
	for (uint8_t i = 0; i < tp->read_cnt; i++) {
		const struct tracepoint_read *read = &tp->reads[i];

		if (read->is_probed || read->is_cast || read->is_string || read->is_instead ||
		    read->what == TRACEPOINT_HEADER || read->what == TRACEPOINT_SHARED)
			return false;
	}
	return !c->is_careful;
}

/* Those that cast, or the others. Return: the number of words of all. */
static uint32_t emit_reads(struct coder *c, const struct tracepoint *tp, bool is_cast)
{
	uint32_t word = 0;

	for (uint32_t i = 0, cnt; i < tp->read_cnt; i += cnt) {
		const struct tracepoint_read *reads = &tp->reads[i];

		cnt = group_cnt(tp, i);
		if (reads->is_cast != is_cast)
			;
		else if (cnt > 1 && reads[1].is_instead)
			emit_either(c, reads, cnt, word);
		else if (reads->what == TRACEPOINT_SHARED)
			emit_shared(c, reads, cnt, word);
		else
			emit_read(c, reads, word);
		for (uint32_t k = 0; k < cnt; k++)
			word += reads[k].is_instead ? 0 : words_of(&reads[k]);
	}
	return word;
}

static void emit_function(struct coder *c, const struct tracepoint *tp)
{
	const bool keeps = !calls_nothing(c, tp);

	c->regs = keeps ? kept_regs : short_regs;
	c->held = NULL;
	if (keeps) {
		emit_move(c, c->regs.ctx, BPF_REG_1);
		emit_move(c, c->regs.rec, BPF_REG_2);
	}
	emit_reads(c, tp, false);
	if (!emit_reads(c, tp, true)) { /* a record has a value at least */
		emit_number(c, R_RESULT, 0);
		emit_store(c, 0, R_RESULT);
	}
	emit_number(c, R_RESULT, 0);
	emit(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* All guards jump here: call the function that follows. Return: whether there is a guard. */
static bool leave_by_call(struct coder *c)
{
	bool is_guarded = false;

	for (uint32_t i = 0; i < c->cnt; i++) {
		const uint8_t class = BPF_CLASS(c->insns[i].code);

		if ((class != BPF_JMP && class != BPF_JMP32) || c->insns[i].off != TO_LEAVE)
			continue;
		c->insns[i].off = (int16_t)(c->cnt - i - 1);
		is_guarded = true;
	}
	if (!is_guarded)
		return false;
	if (c->regs.ctx != BPF_REG_1) {
		emit_move(c, BPF_REG_1, c->regs.ctx);
		emit_move(c, BPF_REG_2, c->regs.rec);
	}
	emit(c, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1);
	emit(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return true;
}

uint32_t tracepoint_code(const struct tracepoint *tp, uint32_t cast_id, bool is_careful,
			 struct bpf_insn *insns)
{
	struct coder c = { .insns = insns,
			   .word_cnt = tp->word_cnt ? tp->word_cnt : 1,
			   .cast_id = cast_id };

	if (!is_careful) {
		emit_function(&c, tp);
		if (!leave_by_call(&c))
			return c.cnt;
	}
	c.is_careful = true;
	emit_function(&c, tp);
	return c.cnt;
}
