// SPDX-License-Identifier: GPL-2.0
#include "attach/multi.h"
#include "harness.h"

/* A kernel that refuses some functions: their ids are 100 + place in the set, their cookies 1000 + place. */
#define FUNC_CNT 37
/* Where they are in the function table, which has others in between. */
#define TABLE_IDX(place) (7 + 3 * (place))
#define LINK_MAX         512

struct made_link {
	int fd;
	enum multiset_end end;
	uint32_t ids[FUNC_CNT];
	uint32_t cnt;
};

static struct {
	int errs[2][FUNC_CNT]; /* by end and place */
	struct made_link links[LINK_MAX];
	size_t link_cnt;
	size_t call_cnt;
	size_t stop_after; /* calls; 0: never */
	int all_err;       /* for any link */
	int refused[FUNC_CNT];
	int is_stopped;
} k;

static int fake_link(void *ctx, enum multiset_end end, const uint32_t *ids, const uint64_t *cookies,
		     uint32_t cnt)
{
	struct made_link *link = &k.links[k.link_cnt];

	CHECK(ctx == &k && cnt && cnt <= FUNC_CNT);
	k.is_stopped = ++k.call_cnt == k.stop_after;
	if (k.all_err)
		return k.all_err;
	for (uint32_t i = 0; i < cnt; i++) {
		CHECK(cookies[i] == ids[i] + 900);
		if (k.errs[end][ids[i] - 100])
			return k.errs[end][ids[i] - 100];
	}
	CHECK(k.link_cnt < LINK_MAX);
	*link = (struct made_link){ .fd = dup(0), .end = end, .cnt = cnt };
	memcpy(link->ids, ids, cnt * sizeof(*ids));
	k.link_cnt++;
	return link->fd;
}

static void fake_refused(void *ctx, uint32_t idx, int err)
{
	uint32_t place = (idx - TABLE_IDX(0)) / 3;

	CHECK(ctx == &k && place < FUNC_CNT && idx == TABLE_IDX(place) && err < 0);
	CHECK(!k.refused[place]); /* told once */
	k.refused[place] = err;
}

static uint32_t ids[FUNC_CNT];
static uint64_t cookies[FUNC_CNT];
static uint32_t idxs[FUNC_CNT];
static struct multiset set = { ids, cookies, idxs, 0 };
static struct fd_list links;

static int run(void)
{
	const struct multiset_ops ops = { fake_link, fake_refused, &k, &k.is_stopped };

	for (set.cnt = 0; set.cnt < FUNC_CNT; set.cnt++) {
		ids[set.cnt] = 100 + set.cnt;
		cookies[set.cnt] = 1000 + set.cnt;
		idxs[set.cnt] = TABLE_IDX(set.cnt);
	}
	return multiset_link(&set, &links, &ops);
}

/* How many remaining links are to the function, at @end. */
static unsigned int linked_cnt(enum multiset_end end, uint32_t idx)
{
	unsigned int cnt = 0;

	for (size_t i = 0; i < links.cnt; i++) {
		for (size_t j = 0; j < k.link_cnt; j++) {
			const struct made_link *link = &k.links[j];

			/* a number that was closed may have been given out again: the last one counts */
			for (size_t l = j + 1; l < k.link_cnt; l++) {
				if (k.links[l].fd == link->fd)
					link = NULL;
				if (!link)
					break;
			}
			for (uint32_t n = 0; link && n < link->cnt; n++)
				cnt += link->fd == links.fds[i] && link->end == end &&
				       link->ids[n] == 100 + idx;
		}
	}
	return cnt;
}

/* Each function is linked once at both ends or refused and at none; @refused_cnt of them are. */
static void check_all(uint32_t refused_cnt)
{
	uint32_t kept_cnt = 0;

	for (uint32_t i = 0; i < FUNC_CNT; i++) {
		bool is_refused = k.errs[MULTISET_EXIT][i] || k.errs[MULTISET_ENTRY][i];

		CHECK(!k.refused[i] == !is_refused);
		if (is_refused)
			CHECK(k.refused[i] == (k.errs[MULTISET_EXIT][i]
						       ? k.errs[MULTISET_EXIT][i]
						       : k.errs[MULTISET_ENTRY][i]));
		CHECK(linked_cnt(MULTISET_EXIT, i) == !is_refused);
		CHECK(linked_cnt(MULTISET_ENTRY, i) == !is_refused);
		if (is_refused)
			continue;
		CHECK(set.idxs[kept_cnt] == TABLE_IDX(i) && set.ids[kept_cnt] == 100 + i);
		CHECK(set.cookies[kept_cnt] == 1000 + i);
		kept_cnt++;
	}
	CHECK(set.cnt == kept_cnt && kept_cnt == FUNC_CNT - refused_cnt);
	for (size_t i = 0; i < links.cnt; i++)
		CHECK(fcntl(links.fds[i], F_GETFD) >= 0);
}

/* Links that were given up are closed: only the descriptors in the list are open. */
static void check_closed(void)
{
	for (size_t j = 0; j < k.link_cnt; j++) {
		bool is_listed = false;

		for (size_t i = 0; i < links.cnt; i++)
			is_listed |= links.fds[i] == k.links[j].fd;
		CHECK(is_listed || fcntl(k.links[j].fd, F_GETFD) < 0);
	}
}

static void begin_again(void)
{
	memset(&k, 0, sizeof(k));
	fd_list_close(&links);
}

static void refuse(enum multiset_end end, uint32_t idx)
{
	k.errs[end][idx] = idx % 2 ? -ENOENT : -EINVAL;
}

/* All but @refused_cnt functions are linked. */
static void check_run(uint32_t refused_cnt)
{
	CHECK(!run());
	check_all(refused_cnt);
	check_closed();
}

static void refuse_both(uint32_t idx)
{
	refuse(MULTISET_EXIT, idx);
	refuse(MULTISET_ENTRY, idx);
}

TEST_ONE(two_links_when_nothing_is_refused, check_run(0), CHECK(links.cnt == 2 && k.call_cnt == 2),
	 CHECK(k.links[0].end == MULTISET_EXIT && k.links[1].end == MULTISET_ENTRY));

TEST(the_first_the_middle_the_last_are_refused)
{
	static const uint32_t places[] = { 0, FUNC_CNT / 2, FUNC_CNT - 1 };

	EACH(place, places) {
		begin_again();
		refuse_both(*place);
		check_run(1);
		/* a refusal costs twice its depth in the halving, not the size of the set */
		CHECK(k.call_cnt <= 2 * 6 + 2);
	}
}

TEST(several_are_refused)
{
	for (uint32_t i = 0; i < FUNC_CNT; i += 5)
		refuse_both(i);
	check_run(8);
}

TEST(all_are_refused)
{
	for (uint32_t i = 0; i < FUNC_CNT; i++)
		refuse(MULTISET_EXIT, i);
	check_run(FUNC_CNT);
	CHECK(!links.cnt && k.call_cnt == 2 * FUNC_CNT - 1);
}

TEST(all_entries_are_refused)
{
	for (uint32_t i = 0; i < FUNC_CNT; i++)
		refuse(MULTISET_ENTRY, i);
	check_run(FUNC_CNT);
	CHECK(!links.cnt);
}

TEST(no_exit_stays_without_its_entry)
{
	refuse(MULTISET_ENTRY, 7);
	refuse(MULTISET_ENTRY, 30);
	refuse(MULTISET_EXIT, 8);
	check_run(3);
}

TEST(links_of_other_sets_stay)
{
	CHECK(!fd_list_reserve(&links, 1));
	fd_list_add(&links, dup(0));
	refuse(MULTISET_ENTRY, 0);
	CHECK(!run() && fcntl(links.fds[0], F_GETFD) >= 0);
	check_all(1);
}

TEST(every_pattern_of_refusals)
{
	srand(1);
	for (int round = 0; round < 2000; round++) {
		uint32_t cnt = 0;
		int pct = rand() % 101;

		begin_again();
		for (uint32_t i = 0; i < FUNC_CNT; i++) {
			bool is_exit = rand() % 100 < pct;

			if (is_exit)
				refuse(MULTISET_EXIT, i);
			if (rand() % 200 < pct)
				refuse(MULTISET_ENTRY, i);
			cnt += k.errs[0][i] || k.errs[1][i];
		}
		check_run(cnt);
	}
}

TEST(stops_when_asked)
{
	for (uint32_t i = 0; i < FUNC_CNT; i += 3)
		refuse(MULTISET_EXIT, i);
	k.stop_after = 9;
	CHECK(run() == -EINTR && k.call_cnt == 9);
	fd_list_close(&links);
	check_closed();
}

TEST(what_is_no_refusal_ends_it)
{
	static const int errs[] = { -ENOMEM, -EMFILE, -ENFILE };

	for (size_t i = 0; i < 3; i++) {
		memset(&k, 0, sizeof(k));
		k.all_err = errs[i];
		CHECK(run() == errs[i] && k.call_cnt == 1);
	}
}
