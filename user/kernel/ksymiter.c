#include "kernel/ksymiter.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "kernel/kbtf.h"
#include "kernel/ksymrec.h"

/* What the kernel gives at a time (bpf_seq_read). */
#define READ_BYTES 32768

#define INSN_MAX   256

/* Most names end within these; the rest of a longer one is read and written as a whole. */
#define SHORT_WORDS      10
#define SHORT_BYTES      (SHORT_WORDS * KSYMREC_WORD)
#define NAME_BYTES_MAX   512
#define MODULE_BYTES_MAX 64

/* Where the program finds what, in its context's two structs. */
struct layout {
	struct kbtf_member seq, seq_num;
	struct kbtf_member value, type, name, module_name, exported, show_value;
};

/* ---- the program ---- */

enum {
	R_WORD = BPF_REG_0,
	R_TEST = BPF_REG_1,
	R_REC = BPF_REG_2,   /* on the stack */
	R_BYTES = BPF_REG_3, /* how much of it is written, without the head */
	R_LOWEST = BPF_REG_4,
	R_HIGHEST = BPF_REG_5,
	R_KSYM = BPF_REG_6,
	R_SEQ = BPF_REG_7,
	R_ADDR = BPF_REG_8,
	R_HEAD = BPF_REG_9, /* the second word of struct ksymrec */
	R_FRAME = BPF_REG_10,
};

/* Where in that word things are. */
#define TYPE_SHIFT         32
#define FLAGS_SHIFT        40
#define NAME_WORDS_SHIFT   48
#define MODULE_WORDS_SHIFT 56

struct coder {
	struct bpf_insn insns[INSN_MAX];
	uint32_t cnt;
};

static void put(struct coder *c, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	c->insns[c->cnt++] = (struct bpf_insn){
		.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm
	};
}

static void load(struct coder *c, uint8_t dst, uint8_t src, uint32_t off, uint32_t bytes)
{
	const uint8_t size = bytes == 8 ? BPF_DW : bytes == 4 ? BPF_W : BPF_B;

	put(c, BPF_LDX | BPF_MEM | size, dst, src, (int16_t)off, 0);
}

static void store(struct coder *c, uint8_t dst, int off, uint8_t src)
{
	put(c, BPF_STX | BPF_MEM | BPF_DW, dst, src, (int16_t)off, 0);
}

static void alu_imm(struct coder *c, uint8_t op, uint8_t dst, int32_t imm)
{
	put(c, BPF_ALU64 | op | BPF_K, dst, 0, 0, imm);
}

static void alu_reg(struct coder *c, uint8_t op, uint8_t dst, uint8_t src)
{
	put(c, BPF_ALU64 | op | BPF_X, dst, src, 0, 0);
}

static void load_const(struct coder *c, uint8_t dst, uint64_t value)
{
	put(c, BPF_LD | BPF_DW | BPF_IMM, dst, 0, 0, (int32_t)value);
	put(c, 0, 0, 0, 0, (int32_t)(value >> 32));
}

/* Return: the jump, for land(). */
static uint32_t jump(struct coder *c, uint8_t condition, uint8_t reg)
{
	put(c, BPF_JMP | condition | BPF_K, reg, 0, 0, 0);
	return c->cnt - 1;
}

static void land(struct coder *c, uint32_t jump_idx)
{
	c->insns[jump_idx].off = (int16_t)(c->cnt - jump_idx - 1);
}

/* Registers are as the verifier and the kernel give them: R_TEST has the context. */
static void begin_code(struct coder *c, const struct layout *at)
{
	load(c, R_REC, R_TEST, 0, 8);
	load(c, R_KSYM, R_TEST, 8, 8);
	load(c, R_SEQ, R_REC, at->seq.offset, 8);
	load(c, R_HEAD, R_REC, at->seq_num.offset, 4);
	alu_reg(c, BPF_MOV, R_REC, R_FRAME);
	alu_imm(c, BPF_ADD, R_REC, -SHORT_BYTES - (int)sizeof(struct ksymrec));
	alu_imm(c, BPF_MOV, R_BYTES, 0);
	alu_imm(c, BPF_MOV, R_ADDR, 0);
}

static void symbol_code(struct coder *c, const struct layout *at)
{
	uint32_t hidden;

	load(c, R_TEST, R_KSYM, at->type.offset, 1);
	alu_imm(c, BPF_LSH, R_TEST, TYPE_SHIFT);
	alu_reg(c, BPF_OR, R_HEAD, R_TEST);
	load(c, R_TEST, R_KSYM, at->show_value.offset, at->show_value.bytes);
	hidden = jump(c, BPF_JEQ, R_TEST);
	load(c, R_ADDR, R_KSYM, at->value.offset, 8);
	land(c, hidden);
}

/* Word by word to the one with a zero byte. @found: the jumps that are taken then. */
static void name_code(struct coder *c, const struct layout *at, uint32_t *found)
{
	load_const(c, R_LOWEST, KSYMREC_LOWEST);
	load_const(c, R_HIGHEST, KSYMREC_HIGHEST);
	for (int i = 0; i < SHORT_WORDS; i++) {
		alu_imm(c, BPF_ADD, R_BYTES, KSYMREC_WORD);
		load(c, R_WORD, R_KSYM, at->name.offset + (uint32_t)i * KSYMREC_WORD, 8);
		store(c, R_FRAME, i * KSYMREC_WORD - SHORT_BYTES, R_WORD);
		alu_reg(c, BPF_MOV, R_TEST, R_WORD);
		alu_reg(c, BPF_SUB, R_TEST, R_LOWEST);
		alu_imm(c, BPF_XOR, R_WORD, -1);
		alu_reg(c, BPF_AND, R_TEST, R_WORD);
		alu_reg(c, BPF_AND, R_TEST, R_HIGHEST);
		found[i] = jump(c, BPF_JNE, R_TEST);
	}
}

/* A module's name goes between head and name, so that the record begins earlier. */
static void module_code(struct coder *c, const struct layout *at)
{
	const int bytes = (int)at->module_name.bytes;
	uint32_t is_kernel;
	uint32_t is_local;

	load(c, R_WORD, R_KSYM, at->module_name.offset, 1);
	is_kernel = jump(c, BPF_JEQ, R_WORD);
	for (int i = 0; i < bytes; i += KSYMREC_WORD) {
		load(c, R_WORD, R_KSYM, at->module_name.offset + (uint32_t)i, 8);
		store(c, R_FRAME, i - SHORT_BYTES - bytes, R_WORD);
	}
	load_const(c, R_WORD, (uint64_t)bytes / KSYMREC_WORD << MODULE_WORDS_SHIFT);
	alu_reg(c, BPF_OR, R_HEAD, R_WORD);
	load(c, R_WORD, R_KSYM, at->exported.offset, at->exported.bytes);
	is_local = jump(c, BPF_JEQ, R_WORD);
	load_const(c, R_WORD, (uint64_t)KSYMREC_EXPORTED << FLAGS_SHIFT);
	alu_reg(c, BPF_OR, R_HEAD, R_WORD);
	land(c, is_local);
	alu_imm(c, BPF_ADD, R_REC, -bytes);
	alu_imm(c, BPF_ADD, R_BYTES, bytes);
	land(c, is_kernel);
}

static void call(struct coder *c, int32_t helper)
{
	put(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static void write_code(struct coder *c)
{
	store(c, R_REC, 0, R_ADDR);
	store(c, R_REC, 8, R_HEAD);
	alu_imm(c, BPF_ADD, R_BYTES, sizeof(struct ksymrec));
	alu_reg(c, BPF_MOV, BPF_REG_1, R_SEQ);
	call(c, BPF_FUNC_seq_write);
}

static void rest_code(struct coder *c, const struct layout *at)
{
	const int bytes = (int)at->name.bytes - SHORT_BYTES;

	alu_reg(c, BPF_MOV, BPF_REG_1, R_FRAME);
	alu_imm(c, BPF_ADD, BPF_REG_1, -bytes);
	alu_imm(c, BPF_MOV, BPF_REG_2, bytes);
	alu_reg(c, BPF_MOV, BPF_REG_3, R_KSYM);
	alu_imm(c, BPF_ADD, BPF_REG_3, (int)at->name.offset + SHORT_BYTES);
	call(c, BPF_FUNC_probe_read_kernel);
	alu_reg(c, BPF_MOV, BPF_REG_1, R_SEQ);
	alu_reg(c, BPF_MOV, BPF_REG_2, R_FRAME);
	alu_imm(c, BPF_ADD, BPF_REG_2, -bytes);
	alu_imm(c, BPF_MOV, BPF_REG_3, bytes);
	call(c, BPF_FUNC_seq_write);
}

static void exit_code(struct coder *c)
{
	alu_imm(c, BPF_MOV, BPF_REG_0, 0);
	put(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* The mark after the last symbol is just a head. */
static void prog_code(struct coder *c, const struct layout *at)
{
	uint32_t found[SHORT_WORDS];
	uint32_t is_end;

	begin_code(c, at);
	is_end = jump(c, BPF_JEQ, R_KSYM);
	symbol_code(c, at);
	name_code(c, at, found);
	if (at->name.bytes > SHORT_BYTES) {
		load_const(c, R_WORD, (uint64_t)at->name.bytes / KSYMREC_WORD << NAME_WORDS_SHIFT);
		alu_reg(c, BPF_OR, R_HEAD, R_WORD);
		module_code(c, at);
		write_code(c);
		rest_code(c, at);
		exit_code(c);
	}
	for (int i = 0; i < SHORT_WORDS; i++)
		land(c, found[i]);
	alu_reg(c, BPF_MOV, R_TEST, R_BYTES);
	alu_imm(c, BPF_LSH, R_TEST, NAME_WORDS_SHIFT - 3);
	alu_reg(c, BPF_OR, R_HEAD, R_TEST);
	module_code(c, at);
	land(c, is_end);
	write_code(c);
	exit_code(c);
}

/* ---- the kernel ---- */

static bool is_flag(const struct kbtf_member *member)
{
	return member->bytes == 1 || member->bytes == 4;
}

static bool is_text(const struct kbtf_member *member, uint32_t bytes_max)
{
	return member->bytes % KSYMREC_WORD == 0 && member->bytes <= bytes_max;
}

/* bpf_iter_ksym(struct bpf_iter_meta *meta, struct kallsym_iter *ksym) */
static bool layout_get(struct layout *at, const struct kbtf *kb, const struct kbtf_func *func)
{
	return kbtf_arg_member(kb, func, 0, "seq", &at->seq) &&
	       kbtf_arg_member(kb, func, 0, "seq_num", &at->seq_num) &&
	       kbtf_arg_member(kb, func, 1, "value", &at->value) &&
	       kbtf_arg_member(kb, func, 1, "type", &at->type) &&
	       kbtf_arg_member(kb, func, 1, "name", &at->name) &&
	       kbtf_arg_member(kb, func, 1, "module_name", &at->module_name) &&
	       kbtf_arg_member(kb, func, 1, "exported", &at->exported) &&
	       kbtf_arg_member(kb, func, 1, "show_value", &at->show_value) && at->seq.bytes == 8 &&
	       at->seq_num.bytes == 8 && at->value.bytes == 8 && at->type.bytes == 1 &&
	       is_flag(&at->exported) && is_flag(&at->show_value) &&
	       is_text(&at->name, NAME_BYTES_MAX) && at->name.bytes >= SHORT_BYTES &&
	       is_text(&at->module_name, MODULE_BYTES_MAX);
}

/* Return: the iterator's descriptor or -errno. */
static int iter_open(const struct coder *code, uint32_t btf_id)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_ITER,
		    .attach_btf_id = btf_id);
	int prog_fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "nfg_ksyms", "GPL", code->insns,
				    code->cnt, &opts);
	int link_fd;
	int fd;

	if (prog_fd < 0)
		return prog_fd;
	link_fd = bpf_link_create(prog_fd, 0, BPF_TRACE_ITER, NULL);
	close(prog_fd);
	if (link_fd < 0)
		return link_fd;
	fd = bpf_iter_create(link_fd);
	close(link_fd);
	return fd;
}

static int iter_read(int fd, struct strbuf *recs)
{
	ssize_t len;

	do {
		if (!strbuf_reserve(recs, READ_BYTES))
			return -ENOMEM;
		len = read(fd, recs->ptr + recs->len, recs->cap - recs->len);
		if (len < 0)
			return -errno;
		recs->len += (size_t)len;
	} while (len);
	return 0;
}

int ksymiter_read(struct strbuf *recs, const struct kbtf *kb)
{
	const struct kbtf_func *func = kbtf_next(kb, "bpf_iter_ksym", NULL);
	struct coder code = { .cnt = 0 };
	struct layout at;
	int err;
	int fd;

	if (!func || func->module || !layout_get(&at, kb, func))
		return -EOPNOTSUPP;
	prog_code(&code, &at);
	fd = iter_open(&code, func->btf_id);
	if (fd < 0)
		return fd;
	err = iter_read(fd, recs);
	close(fd);
	return err ? err : ksymiter_accept(recs);
}

/* ---- the program's output ---- */

/* Whether each name ends in its last word. */
static bool is_ended(const struct ksymrec *rec)
{
	const char *end = (const char *)rec + ksymrec_bytes(rec);

	return rec->name_words && ksymrec_has_end(end - KSYMREC_WORD) &&
	       (!rec->module_words || ksymrec_has_end(ksymrec_name(rec) - KSYMREC_WORD));
}

/* Whether the @left bytes at @rec begin with a whole symbol. It gets its type as s_show() in kernel/kallsyms.c has it. */
static bool accept(struct ksymrec *rec, size_t left)
{
	if (ksymrec_bytes(rec) > left || !is_ended(rec))
		return false;
	if (!*ksymrec_name(rec))
		rec->type = 0;
	else if (rec->module_words)
		rec->type = (uint8_t)(rec->flags & KSYMREC_EXPORTED ? toupper(rec->type)
								    : tolower(rec->type));
	rec->flags = 0;
	return true;
}

/*
 * At the end of all symbols the program is called once more, with the last symbol; its number, which counts only
 * symbols, shows that.
 */
int ksymiter_accept(struct strbuf *recs)
{
	uint32_t number = 0;

	for (size_t at = 0; recs->len - at >= sizeof(struct ksymrec); number++) {
		struct ksymrec *rec = (struct ksymrec *)(recs->ptr + at);
		const size_t bytes = ksymrec_bytes(rec);

		if (number && rec->link == number - 1 && bytes == recs->len - at) {
			recs->len = at;
			return 0;
		}
		if (rec->link != number || !accept(rec, recs->len - at))
			break;
		at += bytes;
	}
	return -EIO;
}
