#include "attach/multiset.h"

#include <errno.h>

#define IDX_REFUSED UINT32_MAX

bool multiset_is_fatal(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

static int link_halves(struct multiset *set, struct fd_list *links, const struct multiset_ops *ops,
		       enum multiset_end end, uint32_t first, uint32_t cnt)
{
	int err;
	int fd;

	if (*ops->should_stop)
		return -EINTR;
	err = fd_list_reserve(links, 1);
	if (err)
		return err;
	fd = ops->link(ops->ctx, end, set->ids + first, set->cookies + first, cnt);
	if (fd >= 0) {
		fd_list_add(links, fd);
		return 0;
	}
	if (multiset_is_fatal(fd))
		return fd;
	if (cnt == 1) {
		ops->refused(ops->ctx, set->idxs[first], fd);
		set->idxs[first] = IDX_REFUSED;
		return 0;
	}
	err = link_halves(set, links, ops, end, first, cnt / 2);
	if (!err)
		err = link_halves(set, links, ops, end, first + cnt / 2, cnt - cnt / 2);
	return err;
}

static void drop_refused(struct multiset *set)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < set->cnt; i++) {
		if (set->idxs[i] == IDX_REFUSED)
			continue;
		set->ids[cnt] = set->ids[i];
		set->cookies[cnt] = set->cookies[i];
		set->idxs[cnt++] = set->idxs[i];
	}
	set->cnt = cnt;
}

static int end_link(struct multiset *set, struct fd_list *links, const struct multiset_ops *ops,
		    enum multiset_end end)
{
	int err = set->cnt ? link_halves(set, links, ops, end, 0, set->cnt) : 0;

	drop_refused(set);
	return err;
}

int multiset_link(struct multiset *set, struct fd_list *links, const struct multiset_ops *ops)
{
	size_t link_cnt = links->cnt;
	uint32_t exit_cnt;
	int err;

	do {
		fd_list_cut(links, link_cnt); /* of the round before: exits without entries */
		err = end_link(set, links, ops, MULTISET_EXIT);
		exit_cnt = set->cnt;
		if (!err)
			err = end_link(set, links, ops, MULTISET_ENTRY);
	} while (!err && set->cnt < exit_cnt);
	return err;
}
