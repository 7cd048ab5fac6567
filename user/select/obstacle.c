#include "select/obstacle.h"

#include <stdio.h>
#include <string.h>

static bool has_probe_site(const struct obstacle_kernel *kernel, uint64_t addr)
{
	if (kernel->list && addr)
		return ftrace_list_has(kernel->list, addr);
	return !kernel->text || !addr || ktext_has_probe_site(kernel->text, kernel->ks, addr);
}

static const char *name_obstacle(const struct obstacle_kernel *kernel, const char *name)
{
	if (ksyms_is_init(kernel->ks, name))
		return "start-up code, whose memory was freed (__init)";
	if (livepatch_has(kernel->livepatch, name))
		return "replaced by a live patch";
	if (!has_probe_site(kernel, ksyms_addr(kernel->ks, name)))
		return "no probe site (notrace)";
	return NULL;
}

const char *obstacle_of(const struct obstacle_kernel *kernel, const struct kbtf_func *func,
			const struct kbtf_shape *shape, enum deny_for by)
{
	const char *reason = deny_reason(func->name, by);
	unsigned int cnt;

	if (!reason && shape->reads_clock)
		reason = "reads the clock, as our programs do";
	if (reason)
		return reason;
	if (shape->obstacle)
		return shape->obstacle;
	cnt = ksyms_count(kernel->ks, func->name);
	if (!cnt)
		return "not in this kernel's text (inlined, or renamed by the compiler)";
	if (cnt > 1 || kbtf_next(kernel->kb, func->name, func) ||
	    kbtf_next(kernel->kb, func->name, NULL) != func)
		return "several functions have this name";
	return name_obstacle(kernel, func->name);
}

const char *obstacle_of_copy(const struct obstacle_kernel *kernel, const struct kbtf_func *func)
{
	char original[128];
	const char *reason;

	snprintf(original, sizeof(original), "%.*s", (int)strcspn(func->name, "."), func->name);
	reason = deny_reason(original, DENY_KPROBE);
	if (reason)
		return reason;
	if (ksyms_count(kernel->ks, func->name) != 1)
		return "several functions have this name";
	return name_obstacle(kernel, func->name);
}
