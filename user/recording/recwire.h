#ifndef NFG_RECORDING_RECWIRE_H
#define NFG_RECORDING_RECWIRE_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "recording/recfile.h"

/*
 * The layout of a recording, for its writer and its reader. Private to user/recording/. include/recording.md
 * describes the bytes.
 */
#define BYTE_ORDER_MARK 0x01020304u
#define CHUNK_TYPE(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define CHUNK_HOST  CHUNK_TYPE('H', 'O', 'S', 'T')
#define CHUNK_FUNC  CHUNK_TYPE('F', 'U', 'N', 'C')
#define CHUNK_NAME  CHUNK_TYPE('N', 'A', 'M', 'E')
#define CHUNK_EVNT  CHUNK_TYPE('E', 'V', 'N', 'T')
#define CHUNK_SUMM  CHUNK_TYPE('S', 'U', 'M', 'M')
#define CHUNK_TYPES CHUNK_TYPE('T', 'Y', 'P', 'E')
#define CHUNK_ADDR  CHUNK_TYPE('A', 'D', 'D', 'R')
#define CHUNK_MADE  CHUNK_TYPE('M', 'A', 'D', 'E')
#define CHUNK_PROC  CHUNK_TYPE('P', 'R', 'O', 'C')
#define CHUNK_PLAC  CHUNK_TYPE('P', 'L', 'A', 'C')
#define CHUNK_LEFT  CHUNK_TYPE('L', 'E', 'F', 'T')
#define CHUNK_PNTS  CHUNK_TYPE('P', 'N', 'T', 'S')
#define CHUNK_SHOW  CHUNK_TYPE('S', 'H', 'O', 'W')
#define CHUNK_FLDS  CHUNK_TYPE('F', 'L', 'D', 'S')
#define CHUNK_TRIG  CHUNK_TYPE('T', 'R', 'I', 'G')
#define CHUNK_USTK  CHUNK_TYPE('U', 'S', 'T', 'K')

static const char recwire_magic[RECFILE_HEAD_BYTES] = {
	'\x89', 'n', 'f', 'g', 'r', 'e', 'c', '\n'
};

struct file_head {
	char magic[8];
	uint32_t byte_order;
	uint16_t major;
	uint16_t minor;
};

struct chunk_head {
	uint32_t type;
	uint32_t bytes; /* after this header, a multiple of 8 */
	uint32_t seq;   /* 0, 1, 2 ... */
	uint32_t crc;   /* of the 12 bytes above and the bytes after this header */
};

struct host_head {
	uint64_t start_mono_ns;
	uint64_t start_real_ns;
	uint32_t cpu_cnt;
	uint32_t clock;
};

struct made_head {
	uint32_t shown;
	uint32_t zero;
};

struct funcs_head {
	uint32_t first_id;
	uint32_t cnt;
};

struct events_head {
	uint64_t first_ns;
	uint64_t last_ns;
	uint32_t event_cnt; /* entries and exits */
	uint32_t gap_cnt;   /* losses of events */
};

/* A user stack; its frames follow. */
struct ustack_head {
	uint32_t nr;
	uint16_t frame_cnt;
	uint16_t state; /* enum user_stack_state */
};

/* A frame; its texts follow. */
struct ustack_frame {
	uint64_t ip;
	uint64_t offset;
	uint64_t size_bytes;
	uint16_t symbol_len;
	uint16_t file_len;
	uint16_t build_id_len;
	uint16_t zero;
};

#define USTACK_TEXT_MAX 4096u /* bytes of a name or a path; longer ones are cut */

#define LEFT_END        (1u << 0)
#define LEFT_EARLIER    (1u << 1) /* before the file begins; since 1.13 */

struct left_head {
	uint64_t time_ns;
	uint32_t limit; /* enum leftout_limit */
	uint32_t flags; /* LEFT_* */
	uint64_t measured;
	uint64_t max;
	uint32_t func_cnt; /* number of ids that follow, 4 bytes each */
	uint32_t cpu;
};

/* The condition of a flight recorder that was true; its text follows. */
struct trig_head {
	uint64_t time_ns;
	uint64_t begin_ns; /* of the call; 0: a rate */
	uint32_t tid;
	uint32_t func_id; /* RECFILE_NO_FUNC: a rate */
	uint64_t zero;
};

/*
 * Events are words of 64 bits, from the lowest bit:
 *	ENTRY, EXIT	op 3, slot 8, ns since the last 21, func_id 16, frame 16
 *	LOST		op 3, cpu 13, count 48
 *	SLOT		op 3, slot 8, cpu 13, zero 8, tid 32: the CPU and the task of the slot's events
 *	TIME		op 3, ns 61, signed: the clock moves on, or back
 *	EXTRA		op 3, kind 13, words 16, zero 32: that number of words follows, for the previous event
 * A task switch is an EXTRA of EXTRA_OUT or EXTRA_IN and two words: the time, and tid 32, cpu 32. Marks of missing
 * calls have the same form: EXTRA_GAP (tid is 0), EXTRA_DOUBT, EXTRA_SURE and EXTRA_TORN (lost_cnt in place of tid).
 */
enum op {
	OP_ENTRY = EVENT_ENTRY,
	OP_EXIT = EVENT_EXIT,
	OP_LOST,
	OP_SLOT,
	OP_TIME,
	OP_EXTRA,
};

/* The meaning of an EXTRA's words. */
enum extra_kind {
	EXTRA_OUT = 1,
	EXTRA_IN = 2,
	EXTRA_VALUES = 3, /* values_pack */
	EXTRA_GAP = 4,
	EXTRA_DOUBT = 5,
	EXTRA_SURE = 6,
	EXTRA_TORN = 7,
	EXTRA_POINT = 8,   /* POINT_WORDS words, and those of values_pack */
	EXTRA_MEMBERS = 9, /* states of members, and their words (call_values.shown) */
	EXTRA_USTACK = 10, /* the number of the user stack (call_values.ustack) */
	EXTRA_PKT = 11,    /* call_values.pkt */
};

#define MARK_WORDS  2u
#define POINT_WORDS 3u /* as those of a mark, and point 16, frame 16 */

#define SLOT_CNT    256u
#define DELTA_MAX   ((1u << 21) - 1)
#define TIME_MAX    ((INT64_C(1) << 60) - 1)
#define LOST_MAX    ((UINT64_C(1) << 48) - 1)
#define CPU_MASK    (NFG_CPU_CNT - 1)
#define NO_CPU      UINT32_MAX

_Static_assert(sizeof(struct file_head) == 16 && sizeof(struct chunk_head) == 16, "file format");
_Static_assert(sizeof(struct events_head) == 24 && sizeof(struct host_head) == 24, "file format");
_Static_assert(sizeof(struct recfile_summary) == 120, "file format");
_Static_assert(sizeof(struct left_head) == 40, "file format");
_Static_assert(sizeof(struct trig_head) == 32, "file format");
_Static_assert(sizeof(struct recfile_place) == 24, "file format");
_Static_assert(sizeof(struct ustack_head) == 8 && sizeof(struct ustack_frame) == 32, "file format");
_Static_assert(NFG_CPU_CNT == 8192, "13 bits hold a CPU");

struct slot {
	uint32_t cpu; /* NO_CPU: not yet known in this chunk */
	uint32_t tid;
};

/* Call it at the start of a chunk. */
static inline void recwire_slots_reset(struct slot *slots)
{
	for (uint32_t i = 0; i < SLOT_CNT; i++)
		slots[i].cpu = NO_CPU;
}

static inline uint32_t recwire_crc(const struct chunk_head *head)
{
	uLong crc = crc32_z(0, (const Bytef *)head, offsetof(struct chunk_head, crc));

	return (uint32_t)crc32_z(crc, (const Bytef *)(head + 1), head->bytes);
}

#endif
