#ifndef NFG_KERNEL_KSYMS_H
#define NFG_KERNEL_KSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A snapshot of the kernel's symbols. Names are usable even if the kernel hides addresses. */
struct ksyms;

struct kbtf;

/*
 * ksyms_new - read the snapshot by the kernel's iterator (ksymiter.h) if available, else from the text of
 * /proc/kallsyms, which takes three times as long.
 *
 * @kb: NULL: use the text. Return: 0 or -errno of reading the text. Caller frees with ksyms_free.
 */
int ksyms_new(struct ksyms **out, const struct kbtf *kb);

/*
 * ksyms_new_at - the same from a saved file in the format of /proc/kallsyms or System.map, with addresses of sixteen
 * digits.
 */
int ksyms_new_at(struct ksyms **out, const char *path);

/*
 * ksyms_new_written - from output of the iterator's program, which is copied. Return: 0, -EIO (ksymiter.h) or
 * -ENOMEM.
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

/* ksyms_addr - the symbol's address; 0 when there is none or the kernel hides it. */
uint64_t ksyms_addr(const struct ksyms *ks, const char *name);

/*
 * ksyms_is_init - whether @name is __init code of the kernel or a module: its memory was freed.
 *
 * Kernel 6.12 crashes when asked to build a trampoline for its own __init code; 7.2 refuses a whole link. The
 * symbol's position in /proc/kallsyms decides, so hidden addresses do not matter. The kernel's symbols are in order
 * of address, __init ones between _sinittext and _einittext. A module's are listed only if ftrace was in use while it
 * was loaded: ftrace lists those of all modules (ftrace_mod_maps) after the symbols of all modules, so they form a
 * second group of that module. The groups can be adjacent for the module loaded first: then the answer is unknown,
 * and attaching is refused.
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

#endif
