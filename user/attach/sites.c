#include "attach/sites.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/mapmem.h"
#include "nfg_abi.h"
#include "netfgraph.skel.h"

#define IDS_BYTES     (NFG_SITE_CNT * sizeof(uint16_t))
#define COOKIES_BYTES (NFG_FUNC_CNT * sizeof(uint64_t))

int sites_configure(const struct netfgraph_bpf *skel, bool has_args)
{
	return has_args ? bpf_map__set_max_entries(skel->maps.site_cookies, NFG_FUNC_CNT) : 0;
}

int sites_open(struct sites *sites, const struct netfgraph_bpf *skel, bool has_args)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "nfg_sites", sizeof(__u32), IDS_BYTES, 1, &opts);

	if (fd < 0)
		return fd;
	sites->small_fd = bpf_map__fd(skel->maps.data_sites);
	sites->fd = fd;
	sites->func_ids = mapmem_share(fd, IDS_BYTES);
	if (!sites->func_ids) {
		int err = -errno;

		close(fd);
		return err;
	}
	if (!has_args)
		return 0;
	sites->cookies = mapmem_share(bpf_map__fd(skel->maps.site_cookies), COOKIES_BYTES);
	return sites->cookies ? 0 : -errno;
}

void sites_close(struct sites *sites)
{
	if (sites->cookies)
		munmap(sites->cookies, COOKIES_BYTES);
	if (sites->func_ids) {
		munmap(sites->func_ids, IDS_BYTES);
		close(sites->fd);
	}
	*sites = (struct sites){ 0 };
}
