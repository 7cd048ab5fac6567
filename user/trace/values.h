#ifndef NFG_TRACE_VALUES_H
#define NFG_TRACE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nfg_abi.h"

#define VALUES_ARG_MAX 12 /* MAX_BPF_FUNC_ARGS */

/* What was recorded of one end of a call. */
struct call_values {
	uint64_t args[VALUES_ARG_MAX];
	uint64_t caller; /* the return address */
	uint64_t ret;
	struct nfg_packet packet;
	uint8_t arg_cnt;
	bool has_caller;
	bool has_ret;
	bool has_packet;
};

/*
 * The same as words, here and in recordings (EXTRA_VALUES): the first says by these bits which follow, in
 * this order.
 */
#define VALUES_ARGS     0xffu /* how many arguments */
#define VALUES_CALLER   0x100u
#define VALUES_RET      0x200u
#define VALUES_PACKET   0x400u
#define VALUES_WORD_MAX (1 + VALUES_ARG_MAX + 2 + NFG_PACKET_WORDS)

/* values_pack - @call as words. Return: how many, at most VALUES_WORD_MAX. */
uint32_t values_pack(const struct call_values *call, uint64_t *words);

/* values_unpack - the call that @cnt words are. Return: false when they cannot be one. */
bool values_unpack(const uint64_t *words, uint32_t cnt, struct call_values *call);

/*
 * The values of events under way. An event carries only a number; its values lie in a ring that holds the
 * newest ones, so whoever drops an event need not know of them. An event that is held back longer than
 * that loses its values; values_missed counts those.
 */
struct values;

/* values_new - room for the newest @word_cnt words, a power of two, taken as they come. Return: 0 or -ENOMEM. */
int values_new(struct values **out, size_t word_cnt);
void values_free(struct values *vs);

/* values_put - keep a copy. Return: the number for the event, never 0. */
uint32_t values_put(struct values *vs, const struct call_values *call);

/* values_get - copy out what belongs to number @id. Return: whether it was still there. */
bool values_get(struct values *vs, uint32_t id, struct call_values *call);

/* values_missed_cnt - how often values_get came too late. */
uint64_t values_missed_cnt(const struct values *vs);

/* values_packet_word, values_set_packet_word - the packet by words, as records and recordings have it. */
static inline uint64_t values_packet_word(const struct call_values *call, uint32_t idx)
{
	uint64_t word;

	memcpy(&word, (const char *)&call->packet + idx * sizeof(word), sizeof(word));
	return word;
}

static inline void values_set_packet_word(struct call_values *call, uint32_t idx, uint64_t word)
{
	memcpy((char *)&call->packet + idx * sizeof(word), &word, sizeof(word));
	call->has_packet = true;
}

#endif
