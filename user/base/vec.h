#ifndef NFG_BASE_VEC_H
#define NFG_BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/*
 * vec_grow - grow @items, which has room for *@cap items of @item_bytes, to at least @cnt.
 *
 * Grows by doubling, so that adding n items one by one copies at most 2n. New items are not zeroed.
 * Return: the items, which the caller stores and frees with free(), with *@cap updated; NULL: no memory, with @items
 * and *@cap unchanged.
 */
void *vec_grow(void *items, size_t *cap, size_t cnt, size_t item_bytes);

/*
 * VEC_RESERVE - room for @cnt items at @items, an lvalue of a pointer type; @cap is a size_t lvalue. A statement
 * expression: 0, or -ENOMEM with both unchanged. Evaluates @cnt once, @items more often.
 */
#define VEC_RESERVE(items, cap, cnt)                                                              \
	({                                                                                        \
		const size_t vec_cnt_ = (cnt);                                                    \
		int vec_err_ = 0;                                                                 \
		if (vec_cnt_ > (cap)) {                                                           \
			void *vec_items_ = vec_grow((items), &(cap), vec_cnt_, sizeof(*(items))); \
			if (vec_items_)                                                           \
				(items) = vec_items_;                                             \
			else                                                                      \
				vec_err_ = -ENOMEM;                                               \
		}                                                                                 \
		vec_err_;                                                                         \
	})

/* VEC_RESERVE_ZEROED - the same, with all new items up to @cap zeroed. */
#define VEC_RESERVE_ZEROED(items, cap, cnt)                                                 \
	({                                                                                  \
		const size_t vec_old_ = (cap);                                              \
		int vec_ret_ = VEC_RESERVE(items, cap, cnt);                                \
		if ((cap) > vec_old_)                                                       \
			memset((items) + vec_old_, 0, ((cap)-vec_old_) * sizeof(*(items))); \
		vec_ret_;                                                                   \
	})

/*
 * VEC_BISECT - the number of items before the first one for which @is_before is false, by a binary search.
 *
 * @is_before: an expression in the index @i; the items for which it is true come first. @cnt: of all items. A statement
 * expression of type size_t.
 */
#define VEC_BISECT(i, cnt, is_before)                         \
	({                                                    \
		size_t low_ = 0;                              \
		size_t high_ = (cnt);                         \
		while (low_ < high_) {                        \
			size_t i = low_ + (high_ - low_) / 2; \
			if (is_before)                        \
				low_ = i + 1;                 \
			else                                  \
				high_ = i;                    \
		}                                             \
		low_;                                         \
	})

/* Words of the command line; the strings are argv's. Zeroed: empty. */
struct str_list {
	const char **items;
	size_t cnt;
	size_t cap;
};

/* str_list_add - Return: NULL, or what is wrong with @text ("'TEXT' " goes before it). */
const char *str_list_add(struct str_list *list, const char *text);
void str_list_release(struct str_list *list);

/* File descriptors that belong together; an fd of -1 was closed before the others. Zeroed: empty. */
struct fd_list {
	int *fds;
	size_t cnt;
	size_t cap;
};

/* fd_list_reserve - make room for @extra more. Return: 0 or -ENOMEM. */
int fd_list_reserve(struct fd_list *list, size_t extra);

/* fd_list_add - take over @fd; there must be room. */
void fd_list_add(struct fd_list *list, int fd);

/* fd_list_cut - close and remove all but the first @cnt. */
void fd_list_cut(struct fd_list *list, size_t cnt);

/* fd_list_close - close all, keep the memory. */
void fd_list_close(struct fd_list *list);

/* fd_list_release - close all, free the memory. */
void fd_list_release(struct fd_list *list);

#endif
