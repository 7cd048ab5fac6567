#ifndef NFG_PROCESS_PRIVDROP_H
#define NFG_PROCESS_PRIVDROP_H

#include <stdbool.h>
#include <stdint.h>

/* A set of capabilities: bit CAP_* of linux/capability.h. */
#define PRIVDROP_CAP(cap) (1ull << (cap))

/* privdrop_has - whether this process may use capability @cap. */
bool privdrop_has(int cap);

/*
 * privdrop_works - whether something can be done without capabilities.
 *
 * @does: called with an effective set that is empty; ours is restored afterwards.
 */
bool privdrop_works(bool (*does)(void *ctx), void *ctx);

/*
 * privdrop - give up for good what privileges this process does not need from here on.
 *
 * Capabilities but @keep leave every set, also the bounding one where that is allowed; exec gives no new
 * ones (no_new_privs); and system calls that neither reading nor tracing makes are refused (seccomp): most
 * with EPERM, those that only an intruder would make (execve, ptrace, mount and their like) end the process.
 * Processes that exist already keep what they have.
 *
 * @uses_bpf: bpf() is still needed.
 * What the kernel does not allow to be dropped is a matter of -v, no error.
 */
void privdrop(uint64_t keep, bool uses_bpf);

#endif
