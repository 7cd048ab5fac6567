#include "filter/filter.h"

#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/vec.h"
#include "filter/shown.h"
#include "kernel/kbtf.h"
#include "kernel/proto.h"

/* ---- suggestions for mistyped names ---- */

static void add_text(void *ctx, struct text name)
{
	char word[SUGGEST_NAME_BYTES];

	if (name.len >= sizeof(word))
		return;
	memcpy(word, name.ptr, name.len);
	word[name.len] = '\0';
	suggest_add(ctx, word);
}

void filter_add_errnos(struct suggest *near)
{
	for (int err = 1; err <= FILTER_ERRNO_MAX; err++) {
		const char *name = strerrorname_np(err);

		if (name)
			suggest_add(near, name);
	}
}

const struct filter_node *filter_compared(const struct filter *filter, struct text missing)
{
	for (uint32_t i = 0; i < filter->node_cnt; i++) {
		if (filter->nodes[i].symbol.len && filter->nodes[i].symbol.ptr == missing.ptr)
			return &filter->nodes[i];
	}
	return NULL;
}

const char *filter_suggest(const struct filter *filter, const struct proto_table *protos,
			   uint32_t func_id, struct text missing)
{
	const struct filter_node *node = filter_compared(filter, missing);
	char word[SUGGEST_NAME_BYTES];
	const struct proto *proto;
	struct suggest near;

	snprintf(word, sizeof(word), "%.*s", (int)missing.len, missing.ptr);
	suggest_begin(&near, word);
	if (node)
		filter_add_errnos(&near);
	else
		suggest_add(&near, "retval");
	/* in results errors are negative */
	if (node && near.cnt && filter_is_retval(node->name) && !node->path.len)
		return suggest_text_with(&near, "-");
	for (uint32_t i = 0; (proto = proto_table_get(protos, i)); i++) {
		if (func_id != FILTER_ANY_FUNC && i != func_id)
			continue;
		for (uint32_t k = 0; k < proto->arg_cnt; k++) {
			if (node)
				proto_enumerators(protos, &proto->args[k].type, add_text, &near);
			else
				add_text(&near, proto->args[k].name);
		}
		if (node)
			proto_enumerators(protos, &proto->ret, add_text, &near);
	}
	for (size_t i = 0; node && i < filter->read_cnt; i++) {
		if (&filter->nodes[filter->reads[i].node] == node)
			proto_enumerators(filter->types, &filter->reads[i].names, add_text, &near);
	}
	/* spelled correctly, but an argument of other functions */
	return near.cnt && !near.least ? "" : suggest_text(&near);
}

/* ---- evaluating a filter for a call: in user space, and as BPF instructions ---- */

/* The lowest error code, as a pointer or an unsigned number holds it. */
#define ERROR_MIN (-4095)

enum { R_RESULT, R_ARG, R_VALUE, R_NUMBER, R_KEPT = 6, R_STRING, R_BASE };

/* The offset of a jump is the number of its label until it is resolved. */
struct coder {
	const struct filter *filter;
	const struct proto_table *protos;
	uint32_t func_id;
	uint32_t ret_idx; /* the result's place in the context */
	bool is_direct;
	uint8_t ctx; /* the register that has the context */
	struct bpf_insn *insns;
	uint32_t cnt;
	uint32_t label_cnt;
	uint32_t labels[FILTER_NODE_MAX * 3]; /* the instruction that each label precedes */
};

/* ---- the meaning of a name for this function ---- */

/* The index of the value in the context, and its type; NULL: the function has no value with this name. */
static const struct proto_type *filter_find(const struct proto *proto, struct text name,
					    uint32_t *idx)
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

/* Whether the node has a name: it compares, or is compared with. */
static bool is_operand(const struct filter_node *node)
{
	return is_comparison(node) || node->op == FILTER_VALUE;
}

/* The member that @node compares with; NULL: a number or a string. */
static const struct filter_node *other_of(const struct filter *filter,
					  const struct filter_node *node)
{
	return node->other ? &filter->nodes[node->other - 1] : NULL;
}

unsigned int filter_reads(const struct filter *filter, uint32_t at)
{
	const struct filter_node *node = &filter->nodes[at];

	if (node->op == FILTER_NOT)
		return filter_reads(filter, node->left);
	if (!is_operand(node))
		return filter_reads(filter, node->left) | filter_reads(filter, node->right);
	if (node->other)
		return filter_reads(filter, node->other - 1u) |
		       (filter_is_retval(node->name) ? FILTER_READS_RESULT : 0);
	if (filter_is_retval(node->name))
		return FILTER_READS_RESULT;
	return filter_is_behind(node) ? FILTER_READS_MEMBERS : 0;
}

/* ---- members ---- */

/* Reads are in this order. */
static uint64_t read_key(const struct filter_read *read)
{
	return (uint64_t)read->func_id << 32 | read->node;
}

/* The read of the comparison @node in the code of @func_id; NULL: there is none. */
static const struct filter_read *read_of(const struct filter *filter, uint32_t func_id,
					 const struct filter_node *node)
{
	const uint64_t key = (uint64_t)func_id << 32 | (uint32_t)(node - filter->nodes);
	const size_t at = VEC_BISECT(i, filter->read_cnt, read_key(&filter->reads[i]) < key);

	return at < filter->read_cnt && read_key(&filter->reads[at]) == key ? &filter->reads[at]
									    : NULL;
}

static bool is_char(const struct btf *btf, uint32_t type_id)
{
	const struct btf_type *type = kbtf_type(btf, type_id, NULL);

	return type && btf_is_int(type) && type->size == 1;
}

/* Whether the value is text, and the string fits in. */
static bool string_type(struct filter *filter, const struct filter_node *node,
			const struct btf *btf, struct filter_read *read)
{
	const struct btf_type *type = kbtf_type(btf, read->member.type_id, NULL);
	const struct btf_array *array = type && btf_is_array(type) ? btf_array(type) : NULL;

	read->is_pointer = type && btf_is_ptr(type) && is_char(btf, type->type);
	if (!read->is_pointer && !(array && is_char(btf, array->type))) {
		snprintf(filter->why, sizeof(filter->why), "'%.*s%.*s' is no text",
			 (int)node->name.len, node->name.ptr, (int)node->path.len, node->path.ptr);
		return false;
	}
	if (!array || !array->nelems || node->string.len <= array->nelems)
		return true;
	snprintf(filter->why, sizeof(filter->why), "'%.*s%.*s' has only %u bytes of text",
		 (int)node->name.len, node->name.ptr, (int)node->path.len, node->path.ptr,
		 array->nelems);
	return false;
}

/* The type of the argument @idx, or of the result. */
static uint32_t operand_type(const struct btf_type *type, uint32_t idx, bool is_ret)
{
	return is_ret ? type->type : btf_params(type)[idx].type;
}

/* Return: 0, 1: the function lacks it, or -ENOMEM. */
static int resolve_node(struct filter *filter, const struct filter_node *node,
			const struct btf *btf, const struct btf_type *proto,
			struct filter_read *read)
{
	const bool is_ret = filter_is_retval(node->name);
	const uint32_t idx = member_arg(btf, proto, node->name);
	uint32_t type_id;
	int err;

	if (!is_ret && (idx == btf_vlen(proto) || idx >= PROTO_ARG_MAX))
		return 1;
	type_id = operand_type(proto, idx, is_ret);
	read->is_arg_probed = !type_id || !member_is_loadable(btf, type_id);
	read->member.type_id = type_id;
	if (node->path.len &&
	    !member_resolve(&read->member, btf, type_id, node->path, node->name.len,
			    !is_ret && !read->is_arg_probed, filter->why))
		return 1;
	if (node->string.ptr)
		return !string_type(filter, node, btf, read);
	err = prototab_type(filter->types, btf, read->member.type_id, &read->type);
	read->names = read->type;
	if (!err && node->path.len)
		err = shown_named(filter->types, node->path, &read->member, false, &read->names);
	if (err || (read->member.bytes && read->type.kind != PROTO_OTHER))
		return err;
	snprintf(filter->why, sizeof(filter->why), "'%.*s%.*s' is no number%s", (int)node->name.len,
		 node->name.ptr, (int)node->path.len, node->path.ptr,
		 !read->member.elem_cnt ? ", but a struct"
		 : shown_is_text(btf, read->member.type_id)
			 ? ", but text; a string in quotes compares with it, as in == \"lo\""
			 : ", but an array; [0] is its first element");
	return 1;
}

static int lacks_types(struct filter *filter, const struct filter_node *node, const char *why)
{
	if (!*filter->why) /* a member that is missing elsewhere says more */
		snprintf(filter->why, sizeof(filter->why), "'%.*s%.*s' %s", (int)node->name.len,
			 node->name.ptr, (int)node->path.len, node->path.ptr, why);
	return 1;
}

int filter_resolve(struct filter *filter, const struct kbtf *kb, const struct kbtf_func *func,
		   uint32_t func_id)
{
	const struct btf *btf = NULL;
	const struct btf_type *proto = kb && filter->member_cnt ? kbtf_proto(kb, func, &btf) : NULL;
	char first[MEMBER_WHY] = "";
	int err = 0;

	if (!func_id) {
		filter->read_cnt = 0;
		filter->why[0] = '\0';
	}
	if (filter->member_cnt && !filter->types)
		err = proto_table_new(&filter->types);
	for (uint32_t i = 0; filter->member_cnt && i < filter->node_cnt && !err; i++) {
		const struct filter_node *node = &filter->nodes[i];
		struct filter_read read = { .func_id = func_id, .node = i };

		if (!filter_is_behind(node))
			continue;
		if (!kb)
			err = lacks_types(
				filter, node,
				"is in the kernel's memory while a call runs; record --filter "
				"tests members, which recordings lack");
		else if (func->owner != KBTF_KERNEL) /* its types are not those of its arguments */
			err = lacks_types(
				filter, node,
				"is a member, known for functions of the kernel, not of BPF programs");
		else
			err = proto ? resolve_node(filter, node, btf, proto, &read) : 1;
		if (err == 1) { /* filter_fits finds no read; the other side of || may have one */
			if (!*first)
				memcpy(first, filter->why, sizeof(first));
			err = 0;
			continue;
		}
		if (!err && VEC_RESERVE(filter->reads, filter->read_cap, filter->read_cnt + 1))
			err = -ENOMEM;
		if (!err)
			filter->reads[filter->read_cnt++] = read;
	}
	if (*first)
		memcpy(filter->why, first, sizeof(first));
	return err;
}

/* What a comparison compares. */
struct operand {
	const struct proto_type *type;  /* NULL: the function has no such value */
	const struct proto_type *names; /* whose values have names; often @type */
	const struct proto_table *table;
	const struct filter_read *read; /* NULL: the value itself */
	uint32_t idx;
	bool is_ret;
};

static struct operand operand_of(const struct filter *filter, const struct proto_table *protos,
				 uint32_t func_id, const struct filter_node *node)
{
	const struct proto *proto = proto_table_get(protos, func_id);
	struct operand op = { .table = protos, .is_ret = filter_is_retval(node->name) };

	if (filter->shown && filter_is_behind(node)) {
		op.table = filter->shown;
		op.type =
			proto_field_type(filter->shown, func_id, filter_whole_name(node), &op.idx);
		if (op.type && (node->string.ptr ? op.type->kind != PROTO_CHARS
						 : proto_kind_words(op.type->kind) != 1))
			op.type = NULL;
		op.names = op.type;
		return op;
	}
	op.type = proto ? filter_find(proto, node->name, &op.idx) : NULL;
	op.names = op.type;
	if (!op.type || !filter_is_behind(node))
		return op;
	op.read = read_of(filter, func_id, node);
	op.table = filter->types;
	op.type = op.read ? &op.read->type : NULL;
	op.names = op.read ? &op.read->names : NULL;
	return op;
}

struct text filter_lacks(const struct filter *filter, const struct proto_table *protos,
			 uint32_t func_id, const struct filter_node *node)
{
	const struct operand op = operand_of(filter, protos, func_id, node);
	const struct proto *proto = proto_table_get(protos, func_id);
	int64_t value;
	uint32_t idx;

	if (op.type)
		return node->symbol.len &&
				       !proto_enumerator(op.table, op.names, node->symbol, &value)
			       ? node->symbol
			       : (struct text){ "", 0 };
	if (!filter_is_behind(node) || !proto || !filter_find(proto, node->name, &idx))
		return node->name;
	return node->path.len ? node->path
			      : (struct text){ node->string.ptr - 1, node->string.len + 1 };
}

/* What a function lacks so that the node has a meaning: of both sides of ||, else of one. len 0: nothing. */
static struct text lacking(const struct filter *filter, const struct proto_table *protos,
			   uint32_t func_id, uint32_t at)
{
	const struct filter_node *node = &filter->nodes[at];
	struct text left, right;

	if (is_comparison(node)) {
		left = filter_lacks(filter, protos, func_id, node);
		return left.len || !node->other
			       ? left
			       : filter_lacks(filter, protos, func_id, other_of(filter, node));
	}
	left = lacking(filter, protos, func_id, node->left);
	if (node->op == FILTER_NOT || !left.len == (node->op == FILTER_OR))
		return left;
	right = lacking(filter, protos, func_id, node->right);
	return right.len && node->op == FILTER_OR ? left : right;
}

/* The node itself, or if it is a || of which the function lacks a side, which is false then, the other side. */
static uint32_t known_side(const struct filter *filter, const struct proto_table *protos,
			   uint32_t func_id, uint32_t at)
{
	const struct filter_node *node = &filter->nodes[at];

	while (node->op == FILTER_OR) {
		if (lacking(filter, protos, func_id, node->left).len)
			at = node->right;
		else if (lacking(filter, protos, func_id, node->right).len)
			at = node->left;
		else
			break;
		node = &filter->nodes[at];
	}
	return at;
}

bool filter_fits(const struct filter *filter, const struct proto_table *protos, uint32_t func_id,
		 struct text *missing)
{
	*missing = lacking(filter, protos, func_id, filter->root);
	return !missing->len;
}

struct filter_needs filter_needs(const struct filter *filter)
{
	struct filter_needs needs = { false, false };

	for (uint32_t i = 0; i < filter->node_cnt; i++) {
		if (!is_operand(&filter->nodes[i]))
			continue;
		needs.ret |= filter_is_retval(filter->nodes[i].name);
		needs.args |= !filter_is_retval(filter->nodes[i].name);
	}
	return needs;
}

/* Values whose type is not signed: to the verifier some are pointers, on which it allows no arithmetic. */
static bool filter_is_wide(const struct proto_type *type)
{
	return type->kind == PROTO_POINTER || (type->kind == PROTO_UNSIGNED && type->bytes == 8);
}

static bool filter_is_signed(const struct proto_type *type)
{
	return type->kind == PROTO_SIGNED || type->kind == PROTO_ENUM;
}

/* ---- in user space ---- */

/* The number to compare with. An enumerator from a file may be the largest number there is: the sum saturates. */
static int64_t number_of(const struct filter_node *node, const struct proto_table *protos,
			 const struct proto_type *type)
{
	int64_t number = 0;

	if (node->symbol.len)
		proto_enumerator(protos, type, node->symbol, &number);
	return __builtin_add_overflow(number, node->number, &number) ? INT64_MAX : number;
}

/* What is tested. */
struct tested {
	const struct filter *filter;
	const struct proto_table *protos;
	uint32_t func_id;
	const uint64_t *values;
	const uint64_t *shown; /* NULL: no members */
};

/* Whether the text in the words of a member is the string. */
static bool is_string(const struct filter_node *node, const uint64_t *words)
{
	const char *text = (const char *)words;
	const size_t len = node->string.len;

	return len <= SHOWN_CHARS && !memcmp(text, node->string.ptr, len) &&
	       (len == SHOWN_CHARS || !text[len]);
}

/* The value of an operand, with the sign of its type. */
static uint64_t value_of(const struct tested *tested, const struct filter_node *node,
			 const struct operand *op)
{
	const struct proto_type *type = op->type;
	const unsigned int unused_bits = filter_is_wide(type) ? 0 : 64 - 8u * type->bytes;
	const uint64_t value =
		(filter_is_behind(node) ? proto_field_number(type, tested->shown[op->idx])
					: tested->values[op->idx])
		<< unused_bits;

	return filter_is_signed(type) ? (uint64_t)((int64_t)value >> unused_bits)
				      : value >> unused_bits;
}

/* As filter_jump_other. */
static bool compares_other(const struct tested *tested, const struct filter_node *node,
			   const struct operand *op, uint64_t value)
{
	const struct filter_node *other_node = other_of(tested->filter, node);
	const struct operand other =
		operand_of(tested->filter, tested->protos, tested->func_id, other_node);
	const uint64_t than = value_of(tested, other_node, &other);

	if (value == than)
		return node->op == FILTER_EQUAL || node->number;
	if (node->op == FILTER_EQUAL)
		return false;
	return filter_is_wide(op->type) || filter_is_wide(other.type)
		       ? value < than
		       : (int64_t)value < (int64_t)than;
}

static bool compares(const struct tested *tested, const struct filter_node *node)
{
	const struct operand op = operand_of(tested->filter, tested->protos, tested->func_id, node);
	int64_t number;
	uint64_t value;
	bool is_error;

	if ((filter_is_behind(node) || node->other) && !tested->shown)
		return false;
	if (node->string.ptr)
		return is_string(node, tested->shown + op.idx);
	value = value_of(tested, node, &op);
	if (node->other)
		return compares_other(tested, node, &op, value);
	number = number_of(node, op.table, op.names);
	if (node->op == FILTER_EQUAL)
		return value == (uint64_t)number;
	if (node->op == FILTER_BITS)
		return value & (uint64_t)number;
	if (!filter_is_wide(op.type))
		return (int64_t)value < number;
	/* a wide value that is an error is less than any other value */
	is_error = value >= (uint64_t)ERROR_MIN;
	if (number > 0)
		return is_error || value < (uint64_t)number;
	return is_error && (!number || value < (uint64_t)number);
}

/* The parser limits the depth of the recursion. */
static bool holds(const struct tested *tested, uint32_t at)
{
	const struct filter_node *node =
		&tested->filter
			 ->nodes[known_side(tested->filter, tested->protos, tested->func_id, at)];
	bool left;

	if (is_comparison(node))
		return compares(tested, node);
	left = holds(tested, node->left);
	if (node->op == FILTER_NOT)
		return !left;
	if (left == (node->op == FILTER_OR))
		return left;
	return holds(tested, node->right);
}

bool filter_eval(const struct filter *filter, const struct proto_table *protos, uint32_t func_id,
		 const uint64_t *values, const uint64_t *shown)
{
	const struct tested tested = { filter, protos, func_id, values, shown };

	return holds(&tested, filter->root);
}

void filter_use_shown(struct filter *filter, const struct proto_table *members)
{
	filter->shown = members;
}

/* ---- in the kernel ---- */

static void filter_put(struct coder *c, uint8_t code, uint8_t dst, uint8_t src, int16_t off,
		       int32_t imm)
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
static void filter_jump(struct coder *c, uint8_t condition, int64_t number, uint32_t label)
{
	if (number == (int32_t)number) {
		filter_put(c, BPF_JMP | condition | BPF_K, R_VALUE, 0, (int16_t)label,
			   (int32_t)number);
		return;
	}
	filter_put(c, BPF_LD | BPF_DW | BPF_IMM, R_NUMBER, 0, 0, (int32_t)number);
	filter_put(c, 0, 0, 0, 0, (int32_t)(number >> 32));
	filter_put(c, BPF_JMP | condition | BPF_X, R_VALUE, R_NUMBER, (int16_t)label, 0);
}

/* Jump when a wide value is less than @number; errors are negative. */
static void jump_wide_less(struct coder *c, int64_t number, uint32_t label)
{
	uint32_t end = new_label(c);

	if (number > 0) {
		filter_jump(c, BPF_JGE, ERROR_MIN, label);
		filter_jump(c, BPF_JLT, number, label);
	} else if (number > ERROR_MIN) {
		filter_jump(c, BPF_JLT, ERROR_MIN, end);
		if (number)
			filter_jump(c, BPF_JLT, number, label);
		else
			filter_put(c, BPF_JMP | BPF_JA, 0, 0, (int16_t)label, 0);
	}
	place(c, end);
}

/* Read @bytes at the address in R_NUMBER, the lowest first, into R_VALUE; 0 if that fails. */
static void filter_probe(struct coder *c, int32_t bytes)
{
	filter_put(c, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, 0);
	filter_put(c, BPF_ALU64 | BPF_MOV | BPF_X, R_ARG, BPF_REG_10, 0, 0);
	filter_put(c, BPF_ALU64 | BPF_ADD | BPF_K, R_ARG, 0, 0, -8);
	filter_put(c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, bytes);
	filter_put(c, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_kernel);
	filter_put(c, BPF_LDX | BPF_MEM | BPF_DW, R_VALUE, BPF_REG_10, -8, 0);
}

/* R_NUMBER = @reg + @offset. */
static void filter_address(struct coder *c, uint8_t reg, uint32_t offset)
{
	filter_put(c, BPF_ALU64 | BPF_MOV | BPF_X, R_NUMBER, reg, 0, 0);
	if (offset)
		filter_put(c, BPF_ALU64 | BPF_ADD | BPF_K, R_NUMBER, 0, 0, (int32_t)offset);
}

/* The argument or result itself, into R_VALUE. */
static void filter_load_arg(struct coder *c, const struct operand *op)
{
	const uint32_t idx = op->is_ret ? c->ret_idx : op->idx;
	const int32_t offset = (int32_t)(idx * sizeof(uint64_t));

	if (op->read && op->read->is_arg_probed) {
		filter_address(c, c->ctx, (uint32_t)offset);
		filter_probe(c, sizeof(uint64_t));
		return;
	}
	filter_put(c, BPF_LDX | BPF_MEM | BPF_DW, R_VALUE, c->ctx, (int16_t)offset, 0);
}

static uint8_t filter_load_size(uint8_t bytes)
{
	return bytes == 1 ? BPF_B : bytes == 2 ? BPF_H : bytes == 4 ? BPF_W : BPF_DW;
}

/* The first @step_cnt loads of the member, from the pointer in R_VALUE on. */
static void filter_load_steps(struct coder *c, const struct member *m, uint8_t step_cnt)
{
	for (uint8_t i = 0; i < step_cnt; i++) {
		const uint8_t bytes = i + 1 == m->step_cnt ? m->bytes : 8;

		if (c->is_direct && i < m->direct_cnt) {
			filter_put(c, BPF_LDX | BPF_MEM | filter_load_size(bytes), R_VALUE, R_VALUE,
				   (int16_t)m->offsets[i], 0);
			continue;
		}
		if (m->sum_at == i + 1)
			filter_put(c, BPF_ALU64 | BPF_MOV | BPF_X, R_BASE, R_VALUE, 0, 0);
		filter_address(c, R_VALUE, m->offsets[i]);
		filter_probe(c, bytes);
		if (m->sum_at == i + 1) { /* the sum of it and of the number beside it */
			filter_address(c, R_BASE, m->sum_offset);
			filter_put(c, BPF_ALU64 | BPF_MOV | BPF_X, R_BASE, R_VALUE, 0, 0);
			filter_probe(c, sizeof(uint32_t));
			filter_put(c, BPF_ALU64 | BPF_ADD | BPF_X, R_VALUE, R_BASE, 0, 0);
		}
		if (m->bits_at == i + 1)
			filter_put(c, BPF_ALU64 | BPF_AND | BPF_K, R_VALUE, 0, 0,
				   MEMBER_ADDRESS_MASK);
	}
}

/* Make R_VALUE the number that the compared value is. */
static void filter_load(struct coder *c, const struct operand *op)
{
	const struct proto_type *type = op->type;
	int32_t high_bits = filter_is_wide(type) ? 0 : 64 - 8 * type->bytes;
	int32_t low_bits = high_bits;
	/* an enum that is a bit field has no bit for a sign */
	const bool is_signed = filter_is_signed(type) &&
			       !(type->kind == PROTO_ENUM && op->read && op->read->member.bit_cnt);

	filter_load_arg(c, op);
	if (op->read)
		filter_load_steps(c, &op->read->member, op->read->member.step_cnt);
	if (op->read && op->read->member.is_be)
		filter_put(c, BPF_ALU | BPF_END | BPF_TO_BE, R_VALUE, 0, 0,
			   8 * op->read->member.bytes);
	if (op->read && op->read->member.bit_cnt) {
		low_bits = 64 - op->read->member.bit_cnt;
		high_bits = low_bits - op->read->member.bit_begin;
	}
	if (high_bits)
		filter_put(c, BPF_ALU64 | BPF_LSH | BPF_K, R_VALUE, 0, 0, high_bits);
	if (low_bits)
		filter_put(c, BPF_ALU64 | (is_signed ? BPF_ARSH : BPF_RSH) | BPF_K, R_VALUE, 0, 0,
			   low_bits);
}

/* Jump to @label if the text is the string, or if it is not, else continue. */
static void filter_compare_text(struct coder *c, const struct filter_node *node,
				const struct operand *op, bool when, uint32_t label)
{
	const struct member *m = &op->read->member;
	const uint32_t no = when ? new_label(c) : label;
	const bool is_full = m->elem_cnt && m->elem_cnt == node->string.len;
	const uint32_t cnt = (uint32_t)node->string.len + !is_full; /* its NUL, too */
	const uint8_t step_cnt =
		op->read->is_pointer || !m->step_cnt ? m->step_cnt : m->step_cnt - 1;

	filter_load_arg(c, op);
	filter_load_steps(c, m, step_cnt);
	filter_put(c, BPF_ALU64 | BPF_MOV | BPF_X, R_STRING, R_VALUE, 0, 0);
	for (uint32_t at = 0; at < cnt; at += 8) {
		const uint32_t bytes = cnt - at < 8 ? cnt - at : 8;
		const uint32_t left = (uint32_t)node->string.len - at;
		int64_t word = 0;

		memcpy(&word, node->string.ptr + at, left < bytes ? left : bytes);
		filter_address(c, R_STRING,
			       at + (step_cnt < m->step_cnt ? m->offsets[step_cnt] : 0));
		filter_probe(c, (int32_t)bytes);
		filter_jump(c, BPF_JNE, word, no);
	}
	if (!when)
		return;
	filter_put(c, BPF_JMP | BPF_JA, 0, 0, (int16_t)label, 0);
	place(c, no);
}

/* Jump to @label if the value in R_VALUE is less than the member @other, or if it equals it. */
static void filter_jump_other(struct coder *c, const struct filter_node *node,
			      const struct operand *op, uint32_t label)
{
	const struct operand other =
		operand_of(c->filter, c->protos, c->func_id, other_of(c->filter, node));
	const bool is_wide = filter_is_wide(op->type) || filter_is_wide(other.type);
	uint8_t condition = BPF_JEQ;

	if (node->op == FILTER_LESS && node->number) /* one more is greater, so it may be equal */
		condition = is_wide ? BPF_JLE : BPF_JSLE;
	else if (node->op == FILTER_LESS)
		condition = is_wide ? BPF_JLT : BPF_JSLT;
	filter_put(c, BPF_ALU64 | BPF_MOV | BPF_X, R_STRING, R_VALUE, 0, 0);
	filter_load(c, &other);
	filter_put(c, BPF_JMP | condition | BPF_X, R_STRING, R_VALUE, (int16_t)label, 0);
}

/* Jump to @label if the comparison yields @when, else continue. */
static void filter_compare(struct coder *c, const struct filter_node *node, bool when,
			   uint32_t label)
{
	const struct operand op = operand_of(c->filter, c->protos, c->func_id, node);
	uint32_t yes;
	int64_t number;

	if (node->string.ptr) {
		filter_compare_text(c, node, &op, when, label);
		return;
	}
	yes = when ? label : new_label(c);
	number = number_of(node, op.table, op.names);
	filter_load(c, &op);
	if (node->other)
		filter_jump_other(c, node, &op, yes);
	else if (node->op == FILTER_LESS && filter_is_wide(op.type))
		jump_wide_less(c, number, yes);
	else
		filter_jump(c,
			    node->op == FILTER_LESS    ? BPF_JSLT
			    : node->op == FILTER_EQUAL ? BPF_JEQ
						       : BPF_JSET,
			    number, yes);
	if (when)
		return;
	filter_put(c, BPF_JMP | BPF_JA, 0, 0, (int16_t)label, 0);
	place(c, yes);
}

/* Jump to @label if the node yields @when, else continue. The parser limits the depth of the recursion. */
static void branch(struct coder *c, uint32_t at, bool when, uint32_t label)
{
	const struct filter_node *node =
		&c->filter->nodes[known_side(c->filter, c->protos, c->func_id, at)];
	uint32_t end;

	if (node->op == FILTER_NOT) {
		branch(c, node->left, !when, label);
	} else if (is_comparison(node)) {
		filter_compare(c, node, when, label);
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

/* Jump to @label if one of the conditions of @end below the node @at is false, else continue. */
static void branch_each(struct coder *c, uint32_t at, enum filter_end end, uint32_t label)
{
	const struct filter_node *node = &c->filter->nodes[at];

	if (node->op == FILTER_AND) {
		branch_each(c, node->left, end, label);
		branch_each(c, node->right, end, label);
	} else if ((end == FILTER_AT_ENTRY) ==
		   ((filter_reads(c->filter, at) & FILTER_READS_MEMBERS) != 0)) {
		branch(c, at, false, label);
	}
}

uint32_t filter_code(const struct filter *filter, const struct proto_table *protos,
		     uint32_t func_id, enum filter_end end, uint32_t ret_idx, bool is_direct,
		     struct bpf_insn *insns)
{
	struct coder c = { .filter = filter,
			   .protos = protos,
			   .func_id = func_id,
			   .ret_idx = ret_idx,
			   .is_direct = is_direct,
			   .ctx = filter->member_cnt ? R_KEPT : R_ARG,
			   .insns = insns };
	uint32_t no = new_label(&c);
	uint32_t begin;

	if (filter->member_cnt) /* calls overwrite it */
		filter_put(&c, BPF_ALU64 | BPF_MOV | BPF_X, R_KEPT, R_ARG, 0, 0);
	begin = c.cnt;
	branch_each(&c, filter->root, end, no);
	if (c.cnt > begin) { /* the verifier refuses what is never reached */
		filter_put(&c, BPF_ALU64 | BPF_MOV | BPF_K, R_RESULT, 0, 0, 1);
		filter_put(&c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
		place(&c, no);
	}
	filter_put(&c, BPF_ALU64 | BPF_MOV | BPF_K, R_RESULT, 0, 0, c.cnt == begin);
	filter_put(&c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	for (uint32_t i = 0; i < c.cnt; i++) {
		struct bpf_insn *insn = &insns[i];

		if (BPF_CLASS(insn->code) == BPF_JMP && BPF_OP(insn->code) != BPF_EXIT &&
		    BPF_OP(insn->code) != BPF_CALL)
			insn->off = (int16_t)(c.labels[insn->off] - i - 1);
		if (insn->code == (BPF_LD | BPF_DW | BPF_IMM))
			i++; /* skip the second half */
	}
	return c.cnt;
}
