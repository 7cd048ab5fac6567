/* layer 10: facts */
#ifndef NFG_KSYMS_H
#define NFG_KSYMS_H

/* A snapshot of /proc/kallsyms: names only, so it serves where addresses are hidden. */
struct ksyms;

/* ksyms_new - read the snapshot. Return: 0 or -errno. Caller frees with ksyms_free. */
int ksyms_new(struct ksyms **out);
void ksyms_free(struct ksyms *ks);

/*
 * ksyms_count - how many symbols bear this name, modules included.
 *
 * The kernel resolves an attach target by name and takes the first match
 * (bpf_check_attach_target: kallsyms_lookup_name), so only a name that occurs once
 * is safe to attach to.
 */
unsigned int ksyms_count(const struct ksyms *ks, const char *name);

#endif
