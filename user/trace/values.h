#ifndef NFG_TRACE_VALUES_H
#define NFG_TRACE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nfg_abi.h"

#define VALUES_ARG_MAX 12 /* MAX_BPF_FUNC_ARGS */

/* The values recorded at one end of a call. */
struct call_values {
	uint64_t args[VALUES_ARG_MAX];
	uint64_t caller; /* the return address */
	uint64_t ret;
	uint64_t stack;  /* NFG_VALUE_STACK; see retaddr_frame */
	uint64_t ustack; /* see userstacks_show */
	uint64_t pkt;    /* number of the followed packet; 0: none, or as the last in this tree */
	struct nfg_packet packet;
	uint64_t shown[1 + NFG_SHOWN_WORDS]; /* states of members, and their words */
	uint8_t arg_cnt;
	uint8_t shown_cnt; /* words in shown; 0: none */
	bool has_caller;
	bool has_ret;
	bool has_packet;
	bool has_stack;
	bool has_ustack;
};

/*
 * packet_unmapped - of an IPv6 socket that uses IPv4 (::ffff:192.0.2.1), the packet that it sends, whose addresses are those of
 * IPv4; of any other packet a copy.
 */
struct nfg_packet packet_unmapped(const struct nfg_packet *packet);

/*
 * The same as words, also in recordings (EXTRA_VALUES): these bits of the first word select the words that follow, in
 * this order.
 */
#define VALUES_ARGS     0xffu /* number of arguments */
#define VALUES_CALLER   0x100u
#define VALUES_RET      0x200u
#define VALUES_PACKET   0x400u
#define VALUES_STACK    0x800u
#define VALUES_RECORDED (VALUES_ARGS | VALUES_CALLER | VALUES_RET | VALUES_PACKET | VALUES_STACK)
/* Recordings have these in extras of their own. */
#define VALUES_SHOWN    0x1f000u /* number of words of members */
#define VALUES_SHOWN_AT 12
#define VALUES_USTACK   0x20000u
#define VALUES_PKT      0x40000u
#define VALUES_WORD_MAX (1 + VALUES_ARG_MAX + 5 + NFG_PACKET_WORDS + 1 + NFG_SHOWN_WORDS)

/* values_pack - convert @call to words. Return: their number, at most VALUES_WORD_MAX. */
uint32_t values_pack(const struct call_values *call, uint64_t *words);

/* values_unpack - the reverse, from @cnt words. Return: false if they are malformed. */
bool values_unpack(const uint64_t *words, uint32_t cnt, struct call_values *call);

/*
 * The values of the events in the pipeline. An event carries only a number; its values are in a ring of the
 * newest ones, so code that drops an event need not release anything. If an event is held back until its values
 * were overwritten, they are lost; values_missed_cnt counts that.
 */
struct values;

/*
 * values_new - with room for the newest @word_cnt words, a power of two; memory is used as values come. Return: 0 or
 * -ENOMEM.
 */
int values_new(struct values **out, size_t word_cnt);
void values_free(struct values *vs);

/* values_put - keep a copy. Return: the number for the event, never 0. */
uint32_t values_put(struct values *vs, const struct call_values *call);

/* values_get - copy the values of number @id. Return: false if they were overwritten. */
bool values_get(struct values *vs, uint32_t id, struct call_values *call);

/* values_missed_cnt - the number of times values_get returned false. */
uint64_t values_missed_cnt(const struct values *vs);

/* values_set_packet_word - set a part of the packet, which is words in records and recordings. */
static inline void values_set_packet_word(struct call_values *call, uint32_t idx, uint64_t word)
{
	memcpy((char *)&call->packet + idx * sizeof(word), &word, sizeof(word));
	call->has_packet = true;
}

#endif
