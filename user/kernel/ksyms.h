#ifndef NFG_KERNEL_KSYMS_H
#define NFG_KERNEL_KSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A snapshot of the kernel's symbols. Where the kernel hides addresses the names still serve. */
struct ksyms;

struct kbtf;

/*
 * ksyms_new - read the snapshot: through the kernel's iterator (ksymiter.h) where that can be had, else the text of
 * /proc/kallsyms, which says the same and takes three times as long.
 *
 * @kb: NULL: the text.
 * Return: 0 or -errno, that of the text. Caller frees with ksyms_free.
 */
int ksyms_new(struct ksyms **out, const struct kbtf *kb);

/* ksyms_new_at - the same of a saved one, in the form of /proc/kallsyms or System.map: addresses of sixteen digits. */
int ksyms_new_at(struct ksyms **out, const char *path);

/* ksyms_new_written - of what the iterator's program wrote, which is copied. Return: 0, -EIO (ksymiter.h) or -ENOMEM. */
int ksyms_new_written(struct ksyms **out, const void *bytes, size_t len);
void ksyms_free(struct ksyms *ks);

/*
 * ksyms_count - how many symbols have this name, modules included.
 *
 * The kernel resolves an attach target by name and takes the first match
 * (bpf_check_attach_target: kallsyms_lookup_name), so only a name that occurs once
 * is safe to attach to. Names of padding (__pfx_*, since 6.2) are not looked up, here or below.
 */
unsigned int ksyms_count(const struct ksyms *ks, const char *name);

/* ksyms_suggest - functions that the mistyped @name may stand for (suggest.h): "a or b"; "" if none is near. */
const char *ksyms_suggest(const struct ksyms *ks, const char *name);

/* ksyms_addr - the symbol's address; 0 when there is none or the kernel hides it. */
uint64_t ksyms_addr(const struct ksyms *ks, const char *name);

/*
 * ksyms_is_init - whether @name is __init code of the kernel or a module, whose memory was freed.
 *
 * Kernel 6.12 crashes when asked to build a trampoline for one of its own; 7.2 refuses a whole link.
 * Told by the symbol's place in /proc/kallsyms, which is the same where addresses are hidden. The kernel's
 * own stand in order of address, these between _sinittext and _einittext. A module's are there only if
 * ftrace was in use while it was loaded; ftrace lists what it kept of all modules (ftrace_mod_maps) behind
 * the symbols of all modules, so they are a second group of that module. The groups can touch for the module
 * that was loaded first: then it is not known, and attaching is refused.
 */
bool ksyms_is_init(const struct ksyms *ks, const char *name);

/*
 * ksyms_is_tracer_entry - whether what is called at @addr can only be a tracer's: one of ftrace's entries,
 * or text that neither the kernel nor a module brought, such as the trampolines of ftrace and BPF.
 *
 * An ordinary call goes into the kernel's own text, or to the start of a module's function.
 */
bool ksyms_is_tracer_entry(const struct ksyms *ks, uint64_t addr);

/* A function of the kernel or of a module. */
struct ksym_text {
	uint64_t addr;      /* 0: hidden */
	const char *name;   /* borrowed from the ksyms, as is */
	const char *module; /* NULL: built in */
};

/*
 * ksyms_texts - every symbol of text but __init code and what BPF and ftrace made, by address.
 *
 * Return: 0 and an array for the caller to free, or -ENOMEM.
 */
int ksyms_texts(const struct ksyms *ks, struct ksym_text **out, size_t *cnt);

#endif
