#include "values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The word before the values: which they are, and the number they were given. */
#define HAS_CALLER 0x20u
#define HAS_RET    0x40u
#define HAS_PACKET 0x80u

struct values {
	uint64_t *words;
	size_t word_cnt;
	uint64_t head; /* words ever written, and one: number 0 means none */
	uint64_t missed_cnt;
};

int values_new(struct values **out, size_t word_cnt)
{
	struct values *vs = calloc(1, sizeof(*vs));

	if (!vs)
		return -ENOMEM;
	vs->word_cnt = word_cnt;
	vs->head = 1;
	vs->words = calloc(word_cnt, sizeof(*vs->words));
	if (!vs->words) {
		free(vs);
		return -ENOMEM;
	}
	*out = vs;
	return 0;
}

void values_free(struct values *vs)
{
	if (!vs)
		return;
	free(vs->words);
	free(vs);
}

static uint64_t *word_at(const struct values *vs, uint64_t pos)
{
	return &vs->words[pos & (vs->word_cnt - 1)];
}

static void put_word(struct values *vs, uint64_t word)
{
	*word_at(vs, vs->head++) = word;
}

uint32_t values_put(struct values *vs, const struct call_values *call)
{
	uint32_t flags = call->arg_cnt;
	uint32_t id;

	if (!(uint32_t)vs->head)
		vs->head++;
	id = (uint32_t)vs->head;
	if (call->has_caller)
		flags |= HAS_CALLER;
	if (call->has_ret)
		flags |= HAS_RET;
	if (call->has_packet)
		flags |= HAS_PACKET;
	put_word(vs, (uint64_t)id << 32 | flags);
	for (uint32_t i = 0; i < call->arg_cnt; i++)
		put_word(vs, call->args[i]);
	if (call->has_caller)
		put_word(vs, call->caller);
	if (call->has_ret)
		put_word(vs, call->ret);
	for (uint32_t i = 0; call->has_packet && i < NFG_PACKET_WORDS; i++)
		put_word(vs, values_packet_word(call, i));
	return id;
}

/* A number is a place modulo 2^32; the newest such place is meant. */
static bool is_there(const struct values *vs, uint32_t id, uint64_t *pos)
{
	*pos = (vs->head & ~(uint64_t)UINT32_MAX) | id;
	if (*pos >= vs->head) {
		if (*pos <= UINT32_MAX)
			return false;
		*pos -= 1ull << 32;
	}
	return vs->head - *pos <= vs->word_cnt && *word_at(vs, *pos) >> 32 == id;
}

bool values_get(struct values *vs, uint32_t id, struct call_values *call)
{
	uint64_t pos;
	uint32_t flags;

	*call = (struct call_values){ 0 };
	if (!id)
		return false;
	if (!is_there(vs, id, &pos)) {
		vs->missed_cnt++;
		return false;
	}
	flags = (uint32_t)*word_at(vs, pos++);
	call->arg_cnt = flags & 0xf;
	call->has_caller = flags & HAS_CALLER;
	call->has_ret = flags & HAS_RET;
	for (uint32_t i = 0; i < call->arg_cnt; i++)
		call->args[i] = *word_at(vs, pos++);
	if (call->has_caller)
		call->caller = *word_at(vs, pos++);
	if (call->has_ret)
		call->ret = *word_at(vs, pos++);
	for (uint32_t i = 0; flags & HAS_PACKET && i < NFG_PACKET_WORDS; i++)
		values_set_packet_word(call, i, *word_at(vs, pos++));
	return true;
}

uint64_t values_missed_cnt(const struct values *vs)
{
	return vs->missed_cnt;
}
