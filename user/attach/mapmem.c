#include "attach/mapmem.h"

#include <sys/mman.h>

void *mapmem_share(int map_fd, size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);

	return mem == MAP_FAILED ? NULL : mem;
}
