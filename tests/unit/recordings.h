#ifndef NFG_TEST_RECORDINGS_H
#define NFG_TEST_RECORDINGS_H

/* Makes recordings, damages them, and reads them back. Each case has one file, at path. */
#include "recording/recfile.h"

#define CPU_CNT   300u /* more than there are slots in a chunk */
#define FUNC_CNT  40u
#define EVENT_CNT 100000u
#define FILE_HEAD 16u
#define OP_EXTRA  5u

extern char path[64];

/* A new empty file, which is removed when the process ends. */
void new_path(void);

extern struct func funcs[FUNC_CNT];
extern char func_names[FUNC_CNT][32];
extern const struct functab functab;

/* Fill funcs, the functions of all recordings. */
void make_funcs(void);

bool is_call(const struct event *ev);

/* @cnt events of every kind, some of which no kernel would write. They last as long as the process. */
struct event *make_events(size_t cnt);

/* What comm_of() says of most tasks. */
struct text name_of(uint32_t tid);

extern unsigned int asked_cnt; /* how often for the name of RENAMED_TID */

#define RENAMED_TID 4008

bool comm_of(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last);

struct recfile_writer *open_writer(const char *where, uint32_t cpu_cnt);

/* The file as bytes: its size, its content, in image until it is read again, and other content. */
size_t file_bytes(void);
void file_read(void);
extern struct image {
	char *bytes;
	size_t len;
} image;
void file_write(const char *bytes, size_t len);

/* A file of a few chunks: @cnt events, five in each chunk. */
void write_small(const struct event *events, size_t cnt);

/* make_events() of the three functions that write_small() has. */
struct event *small_events(size_t cnt);

/* What the last reader found. */
extern struct seen {
	int err;
	size_t event_cnt; /* losses too */
	size_t name_cnt;
	uint64_t tail_bytes;
	bool has_host;
	bool is_closed;
	size_t func_cnt;
	struct recfile_summary summary;
	char error[512];
} seen;

bool same_event(const struct event *a, const struct event *b);

/* Read on to the end. The events must be those of @want, or valid ones if @want is NULL. */
void read_on(struct recfile_reader *r, const struct event *want, size_t want_cnt);

/* read_on() from the beginning, with a reader of its own. */
void read_file(const struct event *want, size_t want_cnt);

/* How many of the first @len bytes are whole chunks. */
size_t whole_bytes(const char *bytes, size_t len);

uint32_t get_u32(const char *bytes);
void put_u32(char *bytes, uint32_t value);

/* Number the chunks and correct their checksums after a change. */
void seal(char *bytes, size_t len);

/* The first chunk of @type. */
char *find_chunk(char *bytes, size_t len, const char *type);

#endif
