#include "attach/rt.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

bool rt_is_kernel(void)
{
	struct utsname uts;
	FILE *file;
	int c;

	if (!uname(&uts) && strstr(uts.version, "PREEMPT_RT"))
		return true;
	file = fopen("/sys/kernel/realtime", "re");
	if (!file)
		return false;
	c = getc(file);
	fclose(file);
	return c == '1';
}

bool rt_has_sleeping_ringbuf(const struct kbtf *kb)
{
	const char *type = kbtf_member_type(kb, "bpf_ringbuf", "spinlock");

	return type && !strcmp(type, "spinlock_t");
}

const char *rt_obstacle(const struct rt_facts *facts, const char **hint)
{
	if (!facts->is_rt)
		return NULL;
	if (!facts->has_fetching_atomics) {
		*hint = "Linux 5.12 and newer keep these events apart";
		return "this kernel has PREEMPT_RT: tasks that preempt each other would record over "
		       "each other's events";
	}
	if (facts->has_sleeping_ringbuf) {
		*hint = "Linux 6.1.115, 6.6.59, 6.11.6, 6.12 and newer have another lock";
		return "this kernel has PREEMPT_RT, and its BPF ring buffers take a lock that sleeps "
		       "where programs must not";
	}
	if (facts->has_packets) {
		*hint = "-p PID, --comm or a command select tasks";
		return "--cgroup, --container, --pod and --netns: this kernel has PREEMPT_RT, where softirqs are "
		       "preempted, so the owner of their packet is unknown";
	}
	return NULL;
}
