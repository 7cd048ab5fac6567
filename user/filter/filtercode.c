/* A filter and a call: here, and as BPF instructions. */
#include <string.h>

#include <linux/bpf.h>

#include "filter/filter.h"
#include "filter/filternode.h"
#include "kernel/proto.h"

/* The lowest error, as a pointer or an unsigned number has it. */
#define ERROR_MIN (-4095)

enum { R_RESULT, R_CTX, R_VALUE, R_NUMBER };

/* The offset of an unresolved jump is the number of its label. */
struct coder {
	const struct filter *filter;
	const struct proto_table *protos;
	const struct proto *proto;
	struct bpf_insn *insns;
	uint32_t cnt;
	uint32_t label_cnt;
	uint32_t labels[FILTER_NODE_MAX * 3]; /* the instruction that each is in front of */
};

/* ---- the meaning of a name for this function ---- */

/* Where the value is in the context, and its type; NULL: the function has none of that name. */
static const struct proto_type *find(const struct proto *proto, struct text name, uint32_t *idx)
{
	const struct proto_type *type = NULL;

	*idx = proto->arg_cnt;
	if (filter_is_retval(name))
		type = &proto->ret;
	for (uint32_t i = 0; !type && i < proto->arg_cnt; i++) {
		if (!text_equal(name, proto->args[i].name))
			continue;
		*idx = i;
		type = &proto->args[i].type;
	}
	return type && type->kind != PROTO_VOID && type->kind != PROTO_OTHER ? type : NULL;
}

static bool is_comparison(const struct filter_node *node)
{
	return node->op == FILTER_LESS || node->op == FILTER_EQUAL || node->op == FILTER_BITS;
}

bool filter_fits(const struct filter *filter, const struct proto_table *protos, uint32_t func_id,
		 struct text *missing)
{
	const struct proto *proto = proto_table_get(protos, func_id);

	for (uint32_t i = 0; i < filter->node_cnt; i++) {
		const struct filter_node *node = &filter->nodes[i];
		const struct proto_type *type;
		int64_t value;
		uint32_t idx;

		if (!is_comparison(node))
			continue;
		type = proto ? find(proto, node->name, &idx) : NULL;
		*missing = type ? node->symbol : node->name;
		if (!type ||
		    (node->symbol.len && !proto_enumerator(protos, type, node->symbol, &value)))
			return false;
	}
	return true;
}

struct filter_needs filter_needs(const struct filter *filter)
{
	struct filter_needs needs = { false, false };

	for (uint32_t i = 0; i < filter->node_cnt; i++) {
		if (!is_comparison(&filter->nodes[i]))
			continue;
		needs.ret |= filter_is_retval(filter->nodes[i].name);
		needs.args |= !filter_is_retval(filter->nodes[i].name);
	}
	return needs;
}

/* Values that no type makes negative: some are pointers to the verifier, which allows no arithmetic on them. */
static bool is_wide(const struct proto_type *type)
{
	return type->kind == PROTO_POINTER || (type->kind == PROTO_UNSIGNED && type->bytes == 8);
}

static bool is_signed(const struct proto_type *type)
{
	return type->kind == PROTO_SIGNED || type->kind == PROTO_ENUM;
}

/* ---- here ---- */

/* What is compared with. A file may call the largest number there is by a name: no sum goes beyond it. */
static int64_t number_of(const struct filter_node *node, const struct proto_table *protos,
			 const struct proto_type *type)
{
	int64_t number = 0;

	if (node->symbol.len)
		proto_enumerator(protos, type, node->symbol, &number);
	return __builtin_add_overflow(number, node->number, &number) ? INT64_MAX : number;
}

/* A wide value that is an error is less than every other value. */
static bool is_wide_less(uint64_t value, int64_t number)
{
	bool is_error = value >= (uint64_t)ERROR_MIN;

	if (number > 0)
		return is_error || value < (uint64_t)number;
	return is_error && (!number || value < (uint64_t)number);
}

static bool compares(const struct filter_node *node, const struct proto_table *protos,
		     const struct proto *proto, const uint64_t *values)
{
	uint32_t idx;
	const struct proto_type *type = find(proto, node->name, &idx);
	const unsigned int unused_bits = is_wide(type) ? 0 : 64 - 8u * type->bytes;
	uint64_t value = values[idx] << unused_bits;
	const int64_t number = number_of(node, protos, type);

	value = is_signed(type) ? (uint64_t)((int64_t)value >> unused_bits) : value >> unused_bits;
	if (node->op == FILTER_EQUAL)
		return value == (uint64_t)number;
	if (node->op == FILTER_BITS)
		return value & (uint64_t)number;
	return is_wide(type) ? is_wide_less(value, number) : (int64_t)value < number;
}

/* The parser bounds the depth. */
static bool holds(const struct filter *filter, uint32_t at, const struct proto_table *protos,
		  const struct proto *proto, const uint64_t *values)
{
	const struct filter_node *node = &filter->nodes[at];
	bool left;

	if (is_comparison(node))
		return compares(node, protos, proto, values);
	left = holds(filter, node->left, protos, proto, values);
	if (node->op == FILTER_NOT)
		return !left;
	if (left == (node->op == FILTER_OR))
		return left;
	return holds(filter, node->right, protos, proto, values);
}

bool filter_eval(const struct filter *filter, const struct proto_table *protos, uint32_t func_id,
		 const uint64_t *values)
{
	return holds(filter, filter->root, protos, proto_table_get(protos, func_id), values);
}

/* ---- in the kernel ---- */

static void put(struct coder *c, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	if (c->cnt < FILTER_INSN_MAX)
		c->insns[c->cnt] = (struct bpf_insn){
			.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm
		};
	c->cnt++;
}

static uint32_t new_label(struct coder *c)
{
	return c->label_cnt++;
}

static void place(struct coder *c, uint32_t label)
{
	c->labels[label] = c->cnt;
}

/* Compare the value with @number, and jump. */
static void jump(struct coder *c, uint8_t condition, int64_t number, uint32_t label)
{
	if (number == (int32_t)number) {
		put(c, BPF_JMP | condition | BPF_K, R_VALUE, 0, (int16_t)label, (int32_t)number);
		return;
	}
	put(c, BPF_LD | BPF_DW | BPF_IMM, R_NUMBER, 0, 0, (int32_t)number);
	put(c, 0, 0, 0, 0, (int32_t)(number >> 32));
	put(c, BPF_JMP | condition | BPF_X, R_VALUE, R_NUMBER, (int16_t)label, 0);
}

static void load(struct coder *c, const struct proto_type *type, uint32_t idx)
{
	const int32_t unused_bits = 64 - 8 * type->bytes;

	put(c, BPF_LDX | BPF_MEM | BPF_DW, R_VALUE, R_CTX, (int16_t)(idx * sizeof(uint64_t)), 0);
	if (is_wide(type) || !unused_bits)
		return;
	put(c, BPF_ALU64 | BPF_LSH | BPF_K, R_VALUE, 0, 0, unused_bits);
	put(c, BPF_ALU64 | (is_signed(type) ? BPF_ARSH : BPF_RSH) | BPF_K, R_VALUE, 0, 0,
	    unused_bits);
}

/* Jump when a wide value is less than @number; errors are negative. */
static void jump_wide_less(struct coder *c, int64_t number, uint32_t label)
{
	uint32_t end = new_label(c);

	if (number > 0) {
		jump(c, BPF_JGE, ERROR_MIN, label);
		jump(c, BPF_JLT, number, label);
	} else if (number > ERROR_MIN) {
		jump(c, BPF_JLT, ERROR_MIN, end);
		if (number)
			jump(c, BPF_JLT, number, label);
		else
			put(c, BPF_JMP | BPF_JA, 0, 0, (int16_t)label, 0);
	}
	place(c, end);
}

/* Jump to @label if the comparison comes out as @when, else go on. */
static void compare(struct coder *c, const struct filter_node *node, bool when, uint32_t label)
{
	uint32_t idx;
	const struct proto_type *type = find(c->proto, node->name, &idx);
	uint32_t yes = when ? label : new_label(c);
	const int64_t number = number_of(node, c->protos, type);

	load(c, type, idx);
	if (node->op == FILTER_LESS && is_wide(type))
		jump_wide_less(c, number, yes);
	else
		jump(c,
		     node->op == FILTER_LESS    ? BPF_JSLT
		     : node->op == FILTER_EQUAL ? BPF_JEQ
						: BPF_JSET,
		     number, yes);
	if (when)
		return;
	put(c, BPF_JMP | BPF_JA, 0, 0, (int16_t)label, 0);
	place(c, yes);
}

/* Jump to @label if the node comes out as @when, else go on. The parser bounds the depth. */
static void branch(struct coder *c, uint32_t at, bool when, uint32_t label)
{
	const struct filter_node *node = &c->filter->nodes[at];
	uint32_t end;

	if (node->op == FILTER_NOT) {
		branch(c, node->left, !when, label);
	} else if (is_comparison(node)) {
		compare(c, node, when, label);
	} else if ((node->op == FILTER_OR) == when) {
		branch(c, node->left, when, label);
		branch(c, node->right, when, label);
	} else {
		end = new_label(c);
		branch(c, node->left, !when, end);
		branch(c, node->right, when, label);
		place(c, end);
	}
}

static void resolve(struct coder *c)
{
	for (uint32_t i = 0; i < c->cnt; i++) {
		struct bpf_insn *insn = &c->insns[i];

		if (BPF_CLASS(insn->code) == BPF_JMP && BPF_OP(insn->code) != BPF_EXIT)
			insn->off = (int16_t)(c->labels[insn->off] - i - 1);
		if (insn->code == (BPF_LD | BPF_DW | BPF_IMM))
			i++; /* its second half */
	}
}

uint32_t filter_code(const struct filter *filter, const struct proto_table *protos,
		     uint32_t func_id, struct bpf_insn *insns)
{
	struct coder c = { .filter = filter,
			   .protos = protos,
			   .proto = proto_table_get(protos, func_id),
			   .insns = insns };
	uint32_t no = new_label(&c);

	branch(&c, filter->root, false, no);
	put(&c, BPF_ALU64 | BPF_MOV | BPF_K, R_RESULT, 0, 0, 1);
	put(&c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	place(&c, no);
	put(&c, BPF_ALU64 | BPF_MOV | BPF_K, R_RESULT, 0, 0, 0);
	put(&c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	resolve(&c);
	return c.cnt;
}
