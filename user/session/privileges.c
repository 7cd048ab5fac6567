/* What a running trace no longer needs. */
#include "session/live.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <unistd.h>

#include "process/privdrop.h"

/* Until 5.18 bpf() does nothing at all without CAP_BPF where kernel.unprivileged_bpf_disabled is set. */
static bool can_sync(void *ctx)
{
	const struct session *ses = ctx;

	return !bpfobj_sync(&ses->bpfobj);
}

/* Not where /proc hides the processes of others (hidepid). */
static bool can_read_names(void *ctx)
{
	int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);

	(void)ctx;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Files are open, and closing a link takes no privilege. */
void session_drop_privileges(struct session *ses)
{
	uint64_t keep = 0;

	if (!privdrop_works(can_sync, ses))
		keep |= PRIVDROP_CAP(privdrop_has(CAP_BPF) ? CAP_BPF : CAP_SYS_ADMIN);
	if (taskscope_looks_into_processes(ses->scope) || !privdrop_works(can_read_names, ses))
		keep |= PRIVDROP_CAP(CAP_SYS_PTRACE);
	/* files are renamed and made in a directory that may be another user's */
	if (ses->opts->rotate_bytes || ses->opts->ring_bytes)
		keep |= PRIVDROP_CAP(CAP_DAC_OVERRIDE);
	privdrop(keep, true);
}
