#ifndef NFG_KERNEL_KSYMS_H
#define NFG_KERNEL_KSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "nfg_abi.h"

/* A snapshot of the kernel's symbols. Names are usable even if the kernel hides addresses. */
struct ksyms;

struct kbtf;

/*
 * ksyms_new - read the snapshot through the kernel's iterator if available, else from the text of /proc/kallsyms, which
 * takes twice as long.
 *
 * @kb: NULL: use the text. Return: 0 or -errno of reading the text. Caller frees with ksyms_free.
 */
int ksyms_new(struct ksyms **out, const struct kbtf *kb);

/*
 * ksyms_new_at - as ksyms_new, from a saved file in the format of /proc/kallsyms or System.map, with addresses of
 * sixteen digits.
 */
int ksyms_new_at(struct ksyms **out, const char *path);

/*
 * ksyms_new_written - the snapshot from output of the iterator's program, which is copied. Return: 0, -EIO (see
 * ksymiter_accept) or -ENOMEM.
 */
int ksyms_new_written(struct ksyms **out, const void *bytes, size_t len);
void ksyms_free(struct ksyms *ks);

/*
 * ksyms_count - the number of symbols with this name, modules included.
 *
 * The kernel resolves an attach target by name and takes the first match (bpf_check_attach_target:
 * kallsyms_lookup_name), so only a unique name is safe to attach to. Padding (__pfx_*, since 6.2) is ignored, here
 * and below.
 */
unsigned int ksyms_count(const struct ksyms *ks, const char *name);

/* ksyms_suggest - functions that the mistyped @name may stand for (suggest.h): "a or b"; "" if no name is near. */
const char *ksyms_suggest(const struct ksyms *ks, const char *name);

/* ksyms_addr - the symbol's address; 0 if there is none or the kernel hides it. */
uint64_t ksyms_addr(const struct ksyms *ks, const char *name);

/* ksyms_has - whether the symbols @ks (struct ksyms) have an address for @name: for those who ask through a pointer. */
bool ksyms_has(void *ks, const char *name);

/*
 * ksyms_is_init - whether @name is __init code of the kernel or a module: its memory was freed.
 *
 * Kernel 6.12 crashes if it has to build a trampoline for its own __init code; 7.2 refuses a whole link. The symbol's
 * position in /proc/kallsyms decides, so hidden addresses do not matter. The kernel's symbols are in order of address,
 * __init ones between _sinittext and _einittext. A module's are listed only if ftrace was in use while it was loaded:
 * ftrace lists those of all modules (ftrace_mod_maps) after the symbols of all modules, so they form a second group of
 * that module. The groups can be adjacent for the module loaded first: then the answer is unknown, and attaching is
 * refused.
 */
bool ksyms_is_init(const struct ksyms *ks, const char *name);

/*
 * ksyms_is_tracer_entry - whether code called at @addr can only belong to a tracer: an entry of ftrace, or text
 * outside the kernel and modules, such as the trampolines of ftrace and BPF.
 *
 * An ordinary call goes into the kernel's own text, or to the start of a module's function.
 */
bool ksyms_is_tracer_entry(const struct ksyms *ks, uint64_t addr);

/* A function of the kernel or of a module. */
struct ksym_text {
	uint64_t addr;      /* 0: hidden */
	const char *name;   /* borrowed from the ksyms, as is module */
	const char *module; /* NULL: built in */
};

/*
 * ksyms_texts - every text symbol, by address, except __init code and symbols of BPF and ftrace.
 *
 * Return: 0 and an array for the caller to free, or -ENOMEM.
 */
int ksyms_texts(const struct ksyms *ks, struct ksym_text **out, size_t *cnt);

/* Of nfg_ksymrec: the longest name; flags that ksyms.c sets: its memory was freed; that of a symbol of its name was. */
#define KSYMREC_WORDS_MAX UINT8_MAX
#define KSYMREC_INIT      2
#define KSYMREC_ANY_INIT  4

/* ksymrec_bytes - its size with both names. */
static inline size_t ksymrec_bytes(const struct nfg_ksymrec *rec)
{
	return sizeof(*rec) + (size_t)(rec->module_words + rec->name_words) * NFG_KSYMREC_WORD;
}

static inline const char *ksymrec_name(const struct nfg_ksymrec *rec)
{
	return (const char *)(rec + 1);
}

/* ksymrec_module - NULL: the kernel's own. */
static inline const char *ksymrec_module(const struct nfg_ksymrec *rec)
{
	return rec->module_words ? ksymrec_name(rec) + (size_t)rec->name_words * NFG_KSYMREC_WORD
				 : NULL;
}

/*
 * ksymnames_visit - call @visit for each function of the kernel and its modules whose name begins with @begin.
 *
 * Reads the text of /proc/kallsyms at @path in one pass, without storing it; reading ksyms takes three times as long.
 * Leaves out __init functions of the kernel, compiler clones (with a dot), padding, and symbols of BPF and ftrace. A
 * name may occur twice. Return: 0 or -errno.
 */
int ksymnames_visit(const char *path, const char *begin, void (*visit)(void *ctx, const char *name),
		    void *ctx);

/*
 * ksymiter_read - read the symbols of /proc/kallsyms, in its order, into the empty @recs as records (ksyms.h).
 *
 * The kernel calls bpf/ksyms.bpf.c for each of them: 6.0, commit 647cafa22349 ("bpf: add a ksym BPF iterator"). That is
 * half of the work of parsing the text. It hides addresses exactly when the text does. Needs CAP_BPF and
 * CAP_PERFMON, and no lockdown that forbids reading kernel memory.
 * Return: 0, or -errno after any irregularity; then @recs is unusable.
 */
int ksymiter_read(struct strbuf *recs, const struct kbtf *kb);

/*
 * ksymiter_accept - check the program's output and turn it into records.
 *
 * The symbols are numbered, and a mark follows the last one, so a missing one is noticed.
 * Return: 0, or -EIO if symbols are missing or repeated.
 */
int ksymiter_accept(struct strbuf *recs);

/*
 * ksymtext_read - append the symbols of a file in the format of /proc/kallsyms or System.map as records (ksyms.h).
 *
 * Addresses have sixteen digits. Lines that are not symbols and names longer than 2,039 bytes are skipped. Return: 0,
 * or -errno, after which @recs is unusable.
 */
int ksymtext_read(struct strbuf *recs, const char *path);

#endif
