/* Recordings, from the file to every output. */
#include <string.h>

#include "recording/recwire.h"
#include "replay.h"

#define INPUT_MAX (64u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t max);

/* The minor version, which readers do not look at, says which output. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	replay_run(data, len, len > 14 ? data[14] : 0, NULL);
	return 0;
}

static bool is_chunk(const uint8_t *at)
{
	uint32_t type;

	memcpy(&type, at, sizeof(type));
	switch (type) {
	case CHUNK_HOST:
	case CHUNK_FUNC:
	case CHUNK_NAME:
	case CHUNK_EVNT:
	case CHUNK_SUMM:
	case CHUNK_TYPES:
	case CHUNK_ADDR:
	case CHUNK_LEFT:
	case CHUNK_MADE:
	case CHUNK_PROC:
	case CHUNK_PLAC:
	case CHUNK_PNTS:
	case CHUNK_FLDS:
	case CHUNK_SHOW:
	case CHUNK_USTK:
		return true;
	default:
		return false;
	}
}

/* Calls and losses of a chunk of events, as its header has to say. */
static void count_events(struct chunk_head *head)
{
	struct events_head *events = (void *)(head + 1);
	const uint64_t *words = (void *)(events + 1);
	size_t cnt = head->bytes < sizeof(*events) ? 0 : (head->bytes - sizeof(*events)) / 8;

	if (head->bytes < sizeof(*events))
		return;
	events->event_cnt = events->gap_cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		events->event_cnt += (words[i] & 7) <= OP_EXIT;
		events->gap_cnt += (words[i] & 7) == OP_LOST;
		if ((words[i] & 7) == OP_EXTRA)
			i += words[i] >> 16 & 0xffff;
	}
}

/* Whatever was changed: chunks are whole again, in order, and carry their checksums. */
static size_t repair(uint8_t *data, size_t len, size_t max)
{
	static _Alignas(8) uint8_t whole[INPUT_MAX];
	const struct file_head file = { "\x89nfgrec\n", BYTE_ORDER_MARK, RECFILE_VERSION_MAJOR,
					len > 14 ? data[14] : 0 };
	size_t to = sizeof(file);
	uint32_t seq = 0;

	memcpy(whole, &file, sizeof(file));
	for (size_t at = sizeof(file); at + sizeof(struct chunk_head) <= len;) {
		size_t end = at + sizeof(struct chunk_head);
		struct chunk_head *head = (void *)(whole + to);

		while (end < len && (end + 4 > len || !is_chunk(data + end)))
			end++;
		head->bytes = (uint32_t)((end - at - sizeof(*head) + 7) & ~7ul);
		if (to + sizeof(*head) + head->bytes > max ||
		    to + sizeof(*head) + head->bytes > INPUT_MAX)
			break;
		memset(head + 1, 0, head->bytes);
		memcpy(head + 1, data + at + sizeof(*head), end - at - sizeof(*head));
		memcpy(&head->type, data + at, 4);
		head->seq = seq++;
		if (head->type == CHUNK_EVNT)
			count_events(head);
		head->crc = recwire_crc(head);
		to += sizeof(*head) + head->bytes;
		at = end;
	}
	if (to > max)
		return len;
	memcpy(data, whole, to);
	return to;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned int seed)
{
	len = LLVMFuzzerMutate(data, len, max);
	return seed % 16 ? repair(data, len, max) : len;
}
