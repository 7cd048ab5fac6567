#include "arch/arch.h"

#if defined(__x86_64__)
#define HOST (&arch_x86_64)
#elif defined(__aarch64__)
#define HOST (&arch_arm64)
#else
#error "user/arch/ has no such architecture"
#endif

const struct arch *arch_host(void)
{
	return HOST;
}

const struct arch *arch_of_machine(uint16_t elf_machine)
{
	static const struct arch *const known[] = { &arch_x86_64, &arch_arm64 };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i]->elf_machine == elf_machine)
			return known[i];
	}
	return NULL;
}
