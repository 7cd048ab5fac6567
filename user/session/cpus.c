#include "session/cpus.h"

#include "base/host.h"
#include "base/log.h"

bool cpus_check(const struct opts *opts)
{
	struct cpu_set_list present;
	char text[256];

	if (!opts->has_cpus || host_cpus(&present, text, sizeof(text)))
		return true;
	for (uint32_t cpu = 0; cpu < CPU_SET_MAX; cpu++) {
		if (!cpu_set_list_has(&opts->cpus, cpu) || cpu_set_list_has(&present, cpu))
			continue;
		log_error("--cpu: there is no CPU %u", cpu);
		log_hint("this host has the CPUs %s", text);
		return false;
	}
	return true;
}
