#include "trace/userstack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

struct kept_stack {
	uint32_t nr;
	bool is_given;
	struct user_stack stack; /* its frames and their texts are one block of memory */
};

struct userstacks {
	struct kept_stack *kept;
	size_t cnt;
	size_t cap;
	struct hash by_nr;
	uint32_t last_nr; /* of userstacks_add */
	uint32_t max;
	size_t oldest; /* of kept, once it has max */
};

int userstacks_new(struct userstacks **out, uint32_t max)
{
	struct userstacks *us = calloc(1, sizeof(*us));

	if (!us)
		return -ENOMEM;
	us->max = max;
	*out = us;
	return 0;
}

void userstacks_free(struct userstacks *us)
{
	if (!us)
		return;
	for (size_t i = 0; i < us->cnt; i++)
		free((void *)us->kept[i].stack.frames);
	free(us->kept);
	hash_release(&us->by_nr);
	free(us);
}

static struct kept_stack *stack_find(const struct userstacks *us, uint64_t nr)
{
	for (uint32_t at = 0, item; hash_next(&us->by_nr, hash_u64(nr), &at, &item);) {
		if (us->kept[item].nr == nr)
			return &us->kept[item];
	}
	return NULL;
}

static size_t text_bytes(const struct user_frame *frame)
{
	return frame->symbol.len + frame->file.len + frame->build_id.len;
}

static struct text text_copy(char **to, struct text from)
{
	struct text copy = text_keep(*to, from);

	*to += from.len;
	return copy;
}

/* Return: whether there was memory. */
static bool frames_copy(struct user_stack *to, const struct user_stack *from)
{
	size_t bytes = from->frame_cnt * sizeof(*from->frames);
	struct user_frame *frames;
	char *at;

	for (uint32_t i = 0; i < from->frame_cnt; i++)
		bytes += text_bytes(&from->frames[i]);
	frames = malloc(bytes + 1);
	if (!frames)
		return false;
	at = (char *)(frames + from->frame_cnt);
	for (uint32_t i = 0; i < from->frame_cnt; i++) {
		frames[i] = from->frames[i];
		frames[i].symbol = text_copy(&at, frames[i].symbol);
		frames[i].file = text_copy(&at, frames[i].file);
		frames[i].build_id = text_copy(&at, frames[i].build_id);
	}
	*to = *from;
	to->frames = frames;
	return true;
}

/* Make room for one more. *idx: where in kept. Return: 0 or -ENOMEM. */
static int make_room(struct userstacks *us, size_t *idx)
{
	struct kept_stack *old;

	*idx = us->cnt;
	if (!us->max || us->cnt < us->max)
		return VEC_RESERVE(us->kept, us->cap, us->cnt + 1);
	*idx = us->oldest;
	old = &us->kept[*idx];
	hash_remove(&us->by_nr, hash_u64(old->nr), (uint32_t)*idx);
	free((void *)old->stack.frames);
	*old = (struct kept_stack){ 0 };
	us->oldest = (us->oldest + 1) % us->max;
	return 0;
}

int userstacks_put(struct userstacks *us, uint32_t nr, const struct user_stack *stack)
{
	struct kept_stack kept = { .nr = nr };
	size_t idx;

	if (!nr || stack_find(us, nr))
		return 0;
	if (!frames_copy(&kept.stack, stack))
		return -ENOMEM;
	if (make_room(us, &idx) || hash_add(&us->by_nr, hash_u64(nr), (uint32_t)idx)) {
		free((void *)kept.stack.frames);
		return -ENOMEM;
	}
	us->kept[idx] = kept;
	us->cnt += idx == us->cnt;
	return 0;
}

uint32_t userstacks_add(struct userstacks *us, const struct user_stack *stack)
{
	us->last_nr += us->last_nr == UINT32_MAX ? 2 : 1; /* not 0 */
	return userstacks_put(us, us->last_nr, stack) ? 0 : us->last_nr;
}

const struct user_stack *userstacks_get(const struct userstacks *us, uint64_t nr)
{
	const struct kept_stack *kept = stack_find(us, nr);

	return kept ? &kept->stack : NULL;
}

const struct user_stack *userstacks_get_new(struct userstacks *us, uint64_t nr)
{
	struct kept_stack *kept = stack_find(us, nr);

	if (!kept || kept->is_given)
		return NULL;
	kept->is_given = true;
	return &kept->stack;
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
	default:
		return NULL;
	}
}
