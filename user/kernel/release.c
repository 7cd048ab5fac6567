#include "kernel/release.h"

#include "base/arch.h"
#include "base/host.h"

bool release_has(enum release_fact fact)
{
	const struct arch *arch = arch_host();

	switch (fact) {
	case RELEASE_CHARGES_MEMCG:
		return host_kernel_is_since(5, 11, 0);
	case RELEASE_VERIFIES_AT_STRUCT_OPS:
		return host_kernel_is_since(5, 18, 0);
	case RELEASE_TAKES_STACK_ARGS:
		return arch->stack_args_major &&
		       host_kernel_is_since(arch->stack_args_major, arch->stack_args_minor, 0);
	case RELEASE_LEAVES_MIGRATION_ON:
		return host_kernel_is_since(6, 18, 0);
	case RELEASE_ALWAYS_PREEMPTS:
		return host_kernel_is_since(7, 0, 0);
	case RELEASE_WAITS_FOR_TRAMPOLINES:
		return host_kernel_is_since(7, 2, 10);
	}
	return false;
}
