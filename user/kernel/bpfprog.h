#ifndef NFG_KERNEL_BPFPROG_H
#define NFG_KERNEL_BPFPROG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel/kbtf.h"

/* BPF programs of the network stack that this host has loaded, as functions: XDP, tc, cgroup, socket programs... */

/* In rules "bpf" means any program, "bpf:ID" one of them. No module's name has a colon. */
#define BPFPROG_MODULE "bpf"

/* bpfprog_is_module - whether @module, of a function, is a program. */
static inline bool bpfprog_is_module(const char *module)
{
	return !strncmp(module, BPFPROG_MODULE ":", sizeof(BPFPROG_MODULE));
}

/* A program, or one of its static subprograms that the compiler did not inline. */
struct bpfprog_func {
	struct kbtf_func func; /* without BTF its name is the program's, of at most 15 bytes */
	const char *reason;    /* why it cannot be traced; NULL: no reason known */
	uint32_t prog_id;
};

struct bpfprogs {
	struct bpfprog_func *funcs; /* by program, main functions first */
	size_t cnt;
	size_t cap;
	char **names; /* owned: of programs without readable BTF, and their modules */
	size_t name_cnt;
	size_t name_cap;
	uint32_t last_id; /* programs up to this one were looked at */
};

/*
 * bpfprogs_read - append the functions of programs that were loaded after the last call, and add their types to @kb.
 *
 * It takes CAP_SYS_ADMIN; without, there are none. Programs of other kinds are no functions: tracing programs, among
 * which are ours, and those that no packet passes. Each keeps a descriptor open (kbtf_close_progs).
 * Return: 0, or -ENOMEM, -EMFILE or -ENFILE: it was not read to the end. bpfprogs_release frees them; zeroed: empty.
 */
int bpfprogs_read(struct bpfprogs *progs, struct kbtf *kb);

/* bpfprogs_read_next - the same, for one program. Return: 1, or 0 after the last one, or as bpfprogs_read. */
int bpfprogs_read_next(struct bpfprogs *progs, struct kbtf *kb);

/* bpfprogs_give_up - none of them can be traced, for @reason, borrowed; closes their descriptors. */
void bpfprogs_give_up(struct bpfprogs *progs, struct kbtf *kb, const char *reason);

/* bpfprogs_forget - drop the list. What was taken of it stays, for the names of functions are @kb's. */
void bpfprogs_forget(struct bpfprogs *progs);
void bpfprogs_release(struct bpfprogs *progs);

/*
 * bpfprog_arg_cnt - how many arguments a tracing program sees at @func, whose type has @arg_cnt: five of any type if
 * the verifier does not trust the type. Loads a probe. Return: a number, or the -errno by which the kernel refuses.
 */
int bpfprog_arg_cnt(const struct kbtf_func *func, uint8_t arg_cnt);

/* bpfprog_refusal - why a function is not traced if bpfprog_arg_cnt returns @err. Never freed. */
const char *bpfprog_refusal(int err);

/* bpfprog_owner - the kind of a program of @type; KBTF_KERNEL: not one of the network stack. */
enum kbtf_owner bpfprog_owner(uint32_t type);

/* bpfprog_result - the name of the @i-th result of programs of the kind @owner, and its value; NULL: no more. */
const char *bpfprog_result(enum kbtf_owner owner, size_t i, int *value);

/* ---- who holds a program ---- */

struct bpfprog_held {
	uint32_t prog_id;
	uint32_t
		attach_type; /* enum bpf_attach_type, as it was loaded; 0: the first, or not given */
	uint64_t ref_cnt;    /* from descriptors, links, maps, and what it is attached to */
};

/*
 * bpfprog_holders_open - load a program that sees how many references all programs have (5.9).
 *
 * Return: a descriptor for bpfprog_holders_read, which the caller closes, or -errno.
 */
int bpfprog_holders_open(const struct kbtf *kb);

/*
 * bpfprog_holders_read - call @found for each program. Return: 0 or -errno.
 */
int bpfprog_holders_read(int holders_fd, void (*found)(void *ctx, const struct bpfprog_held *held),
			 void *ctx);

#endif
