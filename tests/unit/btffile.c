#include "btffile.h"

#include <bpf/btf.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "kernel/kbtf.h"

struct kbtf *kernel_of(struct btf *btf)
{
	char file[] = "/tmp/nfg-points-XXXXXX";
	struct kbtf *kb;
	int fd = mkstemp(file);
	uint32_t bytes;
	const void *data = btf__raw_data(btf, &bytes);

	CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	CHECK(!kbtf_new_at(&kb, file));
	btf__free(btf);
	close(fd);
	unlink(file);
	return kb;
}
