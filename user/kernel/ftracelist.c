#include "kernel/ftracelist.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Kernels have about fifty thousand records, in groups of a page or more. */
#define PAGE_MAX_CNT   65536u
#define RECORD_MAX_CNT (1u << 20)

/* The largest offset of a site from its function's start: endbr64 on x86, bti and a move on arm64. */
#define PLACE_MAX_BYTES 8u

/* Limit for the size of either struct. */
#define PART_MAX_BYTES 64u

struct ftrace_list {
	uint64_t *addrs; /* of sites, ascending */
	size_t cnt;
	size_t cap;
};

/* Offsets in struct ftrace_page and struct dyn_ftrace. */
struct layout {
	uint32_t next;
	uint32_t records;
	uint32_t index;
	uint32_t page_bytes;
	uint32_t ip;
	uint32_t record_bytes;
};

/* Find a member of @bytes bytes. Return: whether there is one. */
static bool find_member(const struct kbtf *kb, const char *name, const char *member, uint32_t bytes,
			uint32_t *offset)
{
	struct kbtf_member at = { 0 };
	bool is_there = kbtf_struct_member(kb, name, member, &at);

	*offset = at.offset;
	return is_there && at.bytes == bytes;
}

static bool find_layout(const struct kbtf *kb, struct layout *at)
{
	at->page_bytes = kbtf_struct_bytes(kb, "ftrace_page");
	at->record_bytes = kbtf_struct_bytes(kb, "dyn_ftrace");
	return at->page_bytes <= PART_MAX_BYTES && at->record_bytes <= PART_MAX_BYTES &&
	       find_member(kb, "ftrace_page", "next", 8, &at->next) &&
	       find_member(kb, "ftrace_page", "records", 8, &at->records) &&
	       find_member(kb, "ftrace_page", "index", 4, &at->index) &&
	       find_member(kb, "dyn_ftrace", "ip", 8, &at->ip);
}

static int records_read(struct ftrace_list *list, const struct ktext *kt, const struct layout *at,
			uint64_t addr, uint32_t cnt)
{
	size_t bytes = (size_t)cnt * at->record_bytes;
	unsigned char *records = malloc(bytes);
	int err = records ? 0 : -ENOMEM;

	if (!err && VEC_RESERVE(list->addrs, list->cap, list->cnt + cnt))
		err = -ENOMEM;
	if (!err && ktext_read(kt, addr, records, bytes))
		err = -ENOENT;
	for (uint32_t i = 0; i < cnt && !err; i++) {
		uint64_t ip;

		memcpy(&ip, records + (size_t)i * at->record_bytes + at->ip, sizeof(ip));
		if (ip) /* 0: the function's memory was freed */
			list->addrs[list->cnt++] = ip;
	}
	free(records);
	return err;
}

/* @last_addr: the expected last page; a module that is removed during the walk may cut the chain. */
static int pages_read(struct ftrace_list *list, const struct ktext *kt, const struct layout *at,
		      uint64_t page_addr, uint64_t last_addr)
{
	uint64_t read_cnt = 0;
	uint64_t this_addr = 0;
	int err = 0;

	for (uint32_t i = 0; page_addr && !err; i++) {
		unsigned char page[PART_MAX_BYTES];
		uint64_t records;
		uint32_t cnt;

		if (i == PAGE_MAX_CNT || ktext_read(kt, page_addr, page, at->page_bytes))
			return -ENOENT;
		memcpy(&records, page + at->records, sizeof(records));
		memcpy(&cnt, page + at->index, sizeof(cnt));
		this_addr = page_addr;
		memcpy(&page_addr, page + at->next, sizeof(page_addr));
		read_cnt += cnt;
		if (read_cnt > RECORD_MAX_CNT)
			return -ENOENT;
		if (cnt)
			err = records_read(list, kt, at, records, cnt);
	}
	return err || this_addr == last_addr ? err : -ENOENT;
}

static int addr_compare(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

/* Whether functions that every real list has are there. */
static bool is_plausible(const struct ftrace_list *list, const struct ksyms *ks)
{
	static const char *const names[] = { "tcp_v4_rcv", "udp_sendmsg", "ip_rcv" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!ftrace_list_has(list, ksyms_addr(ks, names[i])))
			return false;
	}
	return true;
}

int ftrace_list_new(struct ftrace_list **out, const struct ktext *kt, const struct ksyms *ks,
		    const struct kbtf *kb)
{
	struct ftrace_list *list = calloc(1, sizeof(*list));
	uint64_t start_addr = ksyms_addr(ks, "ftrace_pages_start");
	uint64_t end_addr = ksyms_addr(ks, "ftrace_pages");
	struct layout at;
	uint64_t page_addr;
	uint64_t last_addr;
	int err = list ? 0 : -ENOMEM;

	if (!err && (!start_addr || !end_addr || !find_layout(kb, &at) ||
		     ktext_read(kt, start_addr, &page_addr, sizeof(page_addr)) ||
		     ktext_read(kt, end_addr, &last_addr, sizeof(last_addr))))
		err = -ENOENT;
	if (!err)
		err = pages_read(list, kt, &at, page_addr, last_addr);
	if (!err && list->cnt)
		qsort(list->addrs, list->cnt, sizeof(*list->addrs), addr_compare);
	if (!err && !is_plausible(list, ks))
		err = -ENOENT;
	if (err)
		ftrace_list_free(list);
	else
		*out = list;
	return err;
}

void ftrace_list_free(struct ftrace_list *list)
{
	if (!list)
		return;
	free(list->addrs);
	free(list);
}

bool ftrace_list_has(const struct ftrace_list *list, uint64_t addr)
{
	const size_t idx = VEC_BISECT(i, list->cnt, list->addrs[i] < addr);

	return idx < list->cnt && list->addrs[idx] - addr <= PLACE_MAX_BYTES;
}

/* ---- live patches ---- */

#define LEVEL_CNT 3 /* PATCH/OBJECT/FUNCTION,POSITION */

struct livepatch {
	char **funcs;
	size_t cnt;
	size_t cap;
};

/* Return: 0 or -ENOMEM; a directory that cannot be read counts as empty. */
static int dir_read(struct livepatch *lp, const char *path, unsigned int level)
{
	const struct dirent *entry;
	char below[PATH_MAX];
	DIR *dir = opendir(path);
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		const size_t len = strcspn(name, ",");

		if (*name == '.')
			continue;
		if (level < LEVEL_CNT) {
			if (snprintf(below, sizeof(below), "%s/%s", path, name) <
			    (int)sizeof(below))
				err = dir_read(lp, below, level + 1);
		} else if (name[len]) {
			err = VEC_RESERVE(lp->funcs, lp->cap, lp->cnt + 1);
			if (!err && !(lp->funcs[lp->cnt++] = strndup(name, len)))
				err = -ENOMEM;
		}
	}
	if (dir)
		closedir(dir);
	return err;
}

struct livepatch *livepatch_new(const char *root)
{
	struct livepatch *lp = calloc(1, sizeof(*lp));

	if (lp && dir_read(lp, root, 1)) {
		livepatch_free(lp);
		return NULL;
	}
	return lp;
}

void livepatch_free(struct livepatch *lp)
{
	if (!lp)
		return;
	for (size_t i = 0; i < lp->cnt; i++)
		free(lp->funcs[i]);
	free(lp->funcs);
	free(lp);
}

bool livepatch_has(const struct livepatch *lp, const char *name)
{
	for (size_t i = 0; lp && i < lp->cnt; i++) {
		if (!strcmp(lp->funcs[i], name))
			return true;
	}
	return false;
}
