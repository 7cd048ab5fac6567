#include "trace/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Words that there is room for at first: most runs have few values, or none. */
#define FIRST_WORD_CNT 64u

_Static_assert(VALUES_WORD_MAX <= FIRST_WORD_CNT, "there is room for any call");

struct values {
	uint64_t *words;
	size_t word_cnt; /* a power of two; it grows until the ring has its size, and nothing is overwritten before */
	uint64_t grow_at; /* a head beyond this wants more words; UINT64_MAX: there are all */
	size_t all_word_cnt;
	uint64_t head; /* words ever written, and one: number 0 means none */
	uint64_t missed_cnt;
};

static bool is_mapped(const uint8_t *addr)
{
	static const uint8_t begin[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(addr, begin, sizeof(begin));
}

struct nfg_packet packet_unmapped(const struct nfg_packet *packet)
{
	struct nfg_packet out = *packet;

	if (packet->family != 6 || !(is_mapped(packet->saddr) || is_mapped(packet->daddr)))
		return out;
	out.family = 4;
	memset(out.saddr, 0, sizeof(out.saddr));
	memset(out.daddr, 0, sizeof(out.daddr));
	memcpy(out.saddr, packet->saddr + 12, 4);
	memcpy(out.daddr, packet->daddr + 12, 4);
	return out;
}

int values_new(struct values **out, size_t word_cnt)
{
	struct values *vs = calloc(1, sizeof(*vs));

	if (!vs)
		return -ENOMEM;
	vs->all_word_cnt = word_cnt;
	vs->word_cnt = word_cnt < FIRST_WORD_CNT ? word_cnt : FIRST_WORD_CNT;
	vs->grow_at = word_cnt > vs->word_cnt ? vs->word_cnt : UINT64_MAX;
	vs->head = 1;
	vs->words = calloc(vs->word_cnt, sizeof(*vs->words));
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

static uint64_t *values_word_at(const struct values *vs, uint64_t pos)
{
	return &vs->words[pos & (vs->word_cnt - 1)];
}

uint32_t values_pack(const struct call_values *call, uint64_t *words)
{
	uint32_t cnt = 1;

	words[0] = call->arg_cnt | (call->has_caller ? VALUES_CALLER : 0) |
		   (call->has_ret ? VALUES_RET : 0) | (call->has_packet ? VALUES_PACKET : 0) |
		   (call->has_stack ? VALUES_STACK : 0) | (call->has_ustack ? VALUES_USTACK : 0) |
		   (call->pkt ? VALUES_PKT : 0) | (uint64_t)call->shown_cnt << VALUES_SHOWN_AT;
	for (uint32_t i = 0; i < call->arg_cnt; i++)
		words[cnt++] = call->args[i];
	if (call->has_caller)
		words[cnt++] = call->caller;
	if (call->has_ret)
		words[cnt++] = call->ret;
	if (call->has_packet) {
		memcpy(&words[cnt], &call->packet, sizeof(call->packet));
		cnt += NFG_PACKET_WORDS;
	}
	if (call->has_stack)
		words[cnt++] = call->stack;
	for (uint32_t i = 0; i < call->shown_cnt; i++)
		words[cnt++] = call->shown[i];
	if (call->has_ustack)
		words[cnt++] = call->ustack;
	if (call->pkt)
		words[cnt++] = call->pkt;
	return cnt;
}

/* How many words there are, by the first of them. */
static uint32_t packed_cnt(uint64_t first)
{
	return 1 + (uint32_t)(first & VALUES_ARGS) + (first & VALUES_CALLER ? 1 : 0) +
	       (first & VALUES_RET ? 1 : 0) + (first & VALUES_PACKET ? NFG_PACKET_WORDS : 0) +
	       (first & VALUES_STACK ? 1 : 0) + (first & VALUES_USTACK ? 1 : 0) +
	       (first & VALUES_PKT ? 1 : 0) + (uint32_t)((first & VALUES_SHOWN) >> VALUES_SHOWN_AT);
}

bool values_unpack(const uint64_t *words, uint32_t cnt, struct call_values *call)
{
	uint32_t at = 1;

	*call = (struct call_values){ 0 };
	if (!cnt || (words[0] & VALUES_ARGS) > VALUES_ARG_MAX || cnt != packed_cnt(words[0]))
		return false;
	call->shown_cnt = (words[0] & VALUES_SHOWN) >> VALUES_SHOWN_AT;
	if (call->shown_cnt > sizeof(call->shown) / sizeof(*call->shown))
		return false;
	call->arg_cnt = words[0] & VALUES_ARGS;
	call->has_caller = words[0] & VALUES_CALLER;
	call->has_ret = words[0] & VALUES_RET;
	for (uint32_t i = 0; i < call->arg_cnt; i++)
		call->args[i] = words[at++];
	if (call->has_caller)
		call->caller = words[at++];
	if (call->has_ret)
		call->ret = words[at++];
	call->has_packet = words[0] & VALUES_PACKET;
	if (call->has_packet) {
		memcpy(&call->packet, &words[at], sizeof(call->packet));
		at += NFG_PACKET_WORDS;
	}
	call->has_stack = words[0] & VALUES_STACK;
	if (call->has_stack)
		call->stack = words[at++];
	for (uint32_t i = 0; i < call->shown_cnt; i++)
		call->shown[i] = words[at++];
	call->has_ustack = words[0] & VALUES_USTACK;
	if (call->has_ustack)
		call->ustack = words[at++];
	if (words[0] & VALUES_PKT)
		call->pkt = words[at++];
	return true;
}

uint32_t values_put(struct values *vs, const struct call_values *call)
{
	uint64_t words[VALUES_WORD_MAX];
	const uint32_t cnt = values_pack(call, words);
	uint32_t id;

	/*
	 * The ring has not wrapped yet, so its data stays in place. Without memory it wraps earlier, and
	 * values_missed_cnt counts the effect.
	 */
	while (vs->head + cnt > vs->grow_at) {
		uint64_t *grown = realloc(vs->words, vs->word_cnt * 2 * sizeof(*grown));

		if (grown) {
			vs->words = grown;
			vs->word_cnt *= 2;
		}
		vs->grow_at = grown && vs->word_cnt < vs->all_word_cnt ? vs->word_cnt : UINT64_MAX;
	}
	if (!(uint32_t)vs->head)
		vs->head++;
	id = (uint32_t)vs->head;
	words[0] |= (uint64_t)id << 32; /* the first word has the number too */
	for (uint32_t i = 0; i < cnt; i++)
		*values_word_at(vs, vs->head++) = words[i];
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
	return vs->head - *pos <= vs->word_cnt && *values_word_at(vs, *pos) >> 32 == id;
}

bool values_get(struct values *vs, uint32_t id, struct call_values *call)
{
	uint64_t words[VALUES_WORD_MAX];
	uint64_t pos;
	uint32_t cnt;

	*call = (struct call_values){ 0 };
	if (!id)
		return false;
	if (!is_there(vs, id, &pos)) {
		vs->missed_cnt++;
		return false;
	}
	words[0] = (uint32_t)*values_word_at(vs, pos);
	cnt = packed_cnt(words[0]);
	/* after 2^32 words a number may mean another place, whose word a recording has made up */
	if (cnt > VALUES_WORD_MAX || cnt > vs->head - pos) {
		vs->missed_cnt++;
		return false;
	}
	for (uint32_t i = 1; i < cnt; i++)
		words[i] = *values_word_at(vs, pos + i);
	return values_unpack(words, cnt, call);
}

uint64_t values_missed_cnt(const struct values *vs)
{
	return vs->missed_cnt;
}
