#include "trace/userstack.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

/* A text of frames, which all of them share. */
struct shared_text {
	uint32_t refs;
	uint32_t idx; /* of texts */
	size_t len;
	char bytes[];
};

struct kept_stack {
	uint32_t nr; /* 0: none is here any more */
	bool is_given;
	struct user_stack stack; /* its frames are its own, their texts are shared */
};

struct userstacks {
	struct kept_stack *kept;
	size_t cnt;
	size_t cap;
	struct hash by_nr;
	uint32_t last_nr; /* of userstacks_add */
	uint32_t max;
	size_t next;   /* of kept: where the next one goes */
	size_t oldest; /* of kept */
	uint64_t bytes;
	uint64_t bytes_max; /* 0: no limit */
	struct shared_text **texts;
	uint32_t text_cnt;
	size_t text_cap;
	struct hash by_text;
	uint64_t cnts[USER_STACK_STATE_CNT]; /* of the stacks shown */
	uint64_t lacking_cnt;                /* of those with lacks_files */
};

/* A frame and a text take this besides themselves: places in tables, and the allocator's own. */
#define ENTRY_BYTES 48

int userstacks_new(struct userstacks **out, uint32_t max)
{
	struct userstacks *us = calloc(1, sizeof(*us));

	if (!us)
		return -ENOMEM;
	us->max = max;
	*out = us;
	return 0;
}

static struct kept_stack *stack_find(const struct userstacks *us, uint64_t nr)
{
	for (uint32_t at = 0, item; hash_next(&us->by_nr, hash_u64(nr), &at, &item);) {
		if (us->kept[item].nr == nr)
			return &us->kept[item];
	}
	return NULL;
}

/* ---- texts ---- */

static uint64_t text_cost(size_t len)
{
	return sizeof(struct shared_text) + len + ENTRY_BYTES;
}

static uint64_t text_hash(struct text text)
{
	return hash_bytes(text.ptr, text.len);
}

static void text_drop(struct userstacks *us, struct text text)
{
	struct shared_text *shared;
	struct shared_text *last;

	if (!text.len)
		return;
	shared = (struct shared_text *)(void *)(text.ptr - offsetof(struct shared_text, bytes));
	if (--shared->refs)
		return;
	hash_remove(&us->by_text, text_hash(text), shared->idx);
	last = us->texts[--us->text_cnt];
	if (last != shared) {
		const uint64_t hash = text_hash((struct text){ last->bytes, last->len });

		hash_remove(&us->by_text, hash, last->idx);
		us->texts[shared->idx] = last;
		last->idx = shared->idx;
		hash_add(&us->by_text, hash, last->idx); /* there is room: one less than before */
	}
	us->bytes -= text_cost(text.len);
	free(shared);
}

/* Make *@text a shared copy of itself; it is empty when there is no memory. Return: 0 or -ENOMEM. */
static int text_share(struct userstacks *us, struct text *text)
{
	const struct text from = *text;
	struct shared_text *shared;
	uint64_t hash;

	*text = (struct text){ 0 };
	if (!from.len)
		return 0;
	hash = text_hash(from);
	for (uint32_t at = 0, item; hash_next(&us->by_text, hash, &at, &item);) {
		shared = us->texts[item];
		*text = (struct text){ shared->bytes, shared->len };
		if (text_equal(*text, from)) {
			shared->refs++;
			return 0;
		}
	}
	*text = (struct text){ 0 };
	shared = malloc(sizeof(*shared) + from.len);
	if (!shared || VEC_RESERVE(us->texts, us->text_cap, us->text_cnt + 1u) ||
	    hash_add(&us->by_text, hash, us->text_cnt)) {
		free(shared);
		return -ENOMEM;
	}
	*shared = (struct shared_text){ .refs = 1, .idx = us->text_cnt, .len = from.len };
	*text = text_keep(shared->bytes, from);
	us->texts[us->text_cnt++] = shared;
	us->bytes += text_cost(from.len);
	return 0;
}

/* ---- stacks ---- */

static uint64_t frames_cost(const struct user_stack *stack)
{
	return stack->frame_cnt * sizeof(*stack->frames) + ENTRY_BYTES;
}

static void frames_drop(struct userstacks *us, struct user_stack *stack)
{
	for (uint32_t i = 0; i < stack->frame_cnt; i++) {
		text_drop(us, stack->frames[i].symbol);
		text_drop(us, stack->frames[i].file);
		text_drop(us, stack->frames[i].build_id);
	}
	us->bytes -= frames_cost(stack);
	free((void *)stack->frames);
	*stack = (struct user_stack){ 0 };
}

/* Return: 0 or -ENOMEM. */
static int frames_copy(struct userstacks *us, struct user_stack *to, const struct user_stack *from)
{
	struct user_frame *frames = malloc(from->frame_cnt * sizeof(*frames) + 1);
	int err = 0;

	if (!frames)
		return -ENOMEM;
	*to = *from;
	to->frames = frames;
	us->bytes += frames_cost(to);
	for (uint32_t i = 0; i < from->frame_cnt; i++) {
		frames[i] = from->frames[i];
		/* all of them, so that what is dropped is ours */
		err |= text_share(us, &frames[i].symbol);
		err |= text_share(us, &frames[i].file);
		err |= text_share(us, &frames[i].build_id);
	}
	if (err)
		frames_drop(us, to);
	return err ? -ENOMEM : 0;
}

static void stack_drop(struct userstacks *us, size_t idx)
{
	struct kept_stack *kept = &us->kept[idx];

	hash_remove(&us->by_nr, hash_u64(kept->nr), (uint32_t)idx);
	frames_drop(us, &kept->stack);
	*kept = (struct kept_stack){ 0 };
}

static size_t after(const struct userstacks *us, size_t idx)
{
	return us->max ? (idx + 1) % us->max : idx + 1;
}

void userstacks_free(struct userstacks *us)
{
	if (!us)
		return;
	for (size_t i = 0; i < us->cnt; i++) {
		if (us->kept[i].nr)
			stack_drop(us, i);
	}
	free(us->kept);
	free(us->texts);
	hash_release(&us->by_nr);
	hash_release(&us->by_text);
	free(us);
}

void userstacks_limit(struct userstacks *us, uint64_t bytes)
{
	us->bytes_max = bytes;
}

/* Make room for one more at us->next. Return: 0 or -ENOMEM. */
static int make_room(struct userstacks *us)
{
	if (us->next == us->cnt)
		return VEC_RESERVE(us->kept, us->cap, us->cnt + 1);
	if (us->kept[us->next].nr) { /* all are there, and this is the oldest */
		stack_drop(us, us->next);
		us->oldest = after(us, us->next);
	}
	return 0;
}

int userstacks_put(struct userstacks *us, uint32_t nr, const struct user_stack *stack)
{
	struct kept_stack kept = { .nr = nr };
	const size_t idx = us->next;

	if (!nr || stack_find(us, nr))
		return 0;
	if (frames_copy(us, &kept.stack, stack))
		return -ENOMEM;
	if (make_room(us) || hash_add(&us->by_nr, hash_u64(nr), (uint32_t)idx)) {
		frames_drop(us, &kept.stack);
		return -ENOMEM;
	}
	us->kept[idx] = kept;
	us->cnt += idx == us->cnt;
	us->next = after(us, idx);
	while (us->bytes_max && us->bytes > us->bytes_max && us->oldest != idx) {
		stack_drop(us, us->oldest);
		us->oldest = after(us, us->oldest);
	}
	return 0;
}

uint32_t userstacks_add(struct userstacks *us, const struct user_stack *stack)
{
	us->last_nr += us->last_nr == UINT32_MAX ? 2 : 1; /* not 0 */
	return userstacks_put(us, us->last_nr, stack) ? 0 : us->last_nr;
}

bool userstacks_has(const struct userstacks *us, uint64_t nr)
{
	return stack_find(us, nr) != NULL;
}

const struct user_stack *userstacks_show(struct userstacks *us, uint64_t nr)
{
	static const struct user_stack forgotten = { .state = USER_STACK_FORGOTTEN };
	const struct kept_stack *kept = stack_find(us, nr);
	const struct user_stack *stack = kept ? &kept->stack : &forgotten;

	us->cnts[stack->state]++;
	us->lacking_cnt += stack->lacks_files;
	return stack;
}

const struct user_stack *userstacks_get_new(struct userstacks *us, uint64_t nr)
{
	const struct user_stack *stack = userstacks_show(us, nr);
	struct kept_stack *kept = stack_find(us, nr);

	if (!kept || kept->is_given)
		return NULL;
	kept->is_given = true;
	return stack;
}

uint64_t userstacks_cnt(const struct userstacks *us, enum user_stack_state state)
{
	return us->cnts[state];
}

uint64_t userstacks_lacking_cnt(const struct userstacks *us)
{
	return us->lacking_cnt;
}

void userstacks_forget_given(struct userstacks *us)
{
	for (size_t i = 0; i < us->cnt; i++)
		us->kept[i].is_given = false;
}

const char *user_stack_note(enum user_stack_state state)
{
	switch (state) {
	case USER_STACK_ENDED:
		return "the process had ended";
	case USER_STACK_DENIED:
		return "the process may not be read";
	case USER_STACK_LOST:
		return "the kernel could not keep it";
	case USER_STACK_SLOW:
		return "names took too long";
	case USER_STACK_FAILED:
		return "names could not be looked up";
	case USER_STACK_FORGOTTEN:
		return "it was not kept so long";
	default:
		return NULL;
	}
}
