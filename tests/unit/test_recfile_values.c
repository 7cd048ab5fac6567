/* Recordings with values and callers: they come back with their events, and damaged ones are refused. */
#include "recording/recfile.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness.h"
#include "random.h"
#include "recordings.h"
#include "trace/values.h"

BEFORE(new_path);

#define VALUES_WORD_CNT (1u << 20)
#define CALLER_CNT      3000u

/* The recording does not interpret what the type chunk holds. */
static const char types[] = "types of twenty-seven bytes";

static struct values *new_values(void)
{
	struct values *vs;

	CHECK(!values_new(&vs, VALUES_WORD_CNT));
	return vs;
}

/* Values follow from the event alone, so they need not be stored; many events have none. */
static struct call_values values_of(const struct event *ev)
{
	uint32_t kind = ev->frame % 64;
	struct call_values call = { 0 };

	if (ev->kind == EVENT_LOST || kind >= 52)
		return call;
	call.arg_cnt = (uint8_t)(kind % 13);
	call.has_caller = kind / 13 & 1;
	call.has_ret = kind / 26;
	for (uint32_t i = 0; i < call.arg_cnt; i++)
		call.args[i] = ~(uint64_t)ev->func_id << i;
	if (call.has_caller)
		call.caller = 0xffffffff81000000 + ev->frame % CALLER_CNT;
	if (call.has_ret)
		call.ret = ev->time_ns;
	if (ev->kind != EVENT_ENTRY)
		return call;
	call.shown_cnt = ev->frame / 64 % (NFG_SHOWN_WORDS + 2);
	for (uint32_t i = 0; i < call.shown_cnt; i++)
		call.shown[i] = ev->time_ns ^ (uint64_t)ev->func_id << (i + 40);
	call.has_ustack = ev->frame / 8 % 3 == 1;
	call.ustack = call.has_ustack ? ev->time_ns : 0;
	call.pkt = !ev->frame || ev->frame % 23 ? 0 : ev->time_ns | 1;
	return call;
}

static bool has_values(const struct call_values *call)
{
	return call->arg_cnt || call->has_caller || call->has_ret || call->shown_cnt ||
	       call->has_ustack || call->pkt;
}

static void put_values(struct values *vs, struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct call_values call = values_of(&events[i]);

		events[i].values = has_values(&call) ? values_put(vs, &call) : 0;
	}
}

static void check_values(struct values *vs, const struct event *ev)
{
	const struct call_values want = values_of(ev);
	struct call_values got;

	CHECK(values_get(vs, ev->values, &got) == has_values(&want));
	CHECK(got.arg_cnt == want.arg_cnt && got.has_caller == want.has_caller);
	CHECK(got.has_ret == want.has_ret && got.caller == want.caller && got.ret == want.ret);
	CHECK(!memcmp(got.args, want.args, sizeof(got.args)));
	CHECK(got.shown_cnt == want.shown_cnt && !memcmp(got.shown, want.shown, sizeof(got.shown)));
	CHECK(got.has_ustack == want.has_ustack && got.ustack == want.ustack);
	CHECK(got.pkt == want.pkt);
}

/* Callers whose name has been written, or read. */
static bool is_told[CALLER_CNT];
static size_t told_cnt;

static struct text caller_text(uint64_t addr)
{
	static char name[32];
	int len = snprintf(name, sizeof(name), "func+0x%x/0x%x [mod]",
			   (unsigned int)(addr % 0x1000000), CALLER_CNT);

	return (struct text){ name, (size_t)len };
}

static bool caller_of(void *ctx, uint64_t addr, struct text *name)
{
	uint64_t idx = addr - 0xffffffff81000000;

	(void)ctx;
	CHECK(idx < CALLER_CNT);
	*name = caller_text(addr);
	if (is_told[idx])
		return false;
	return is_told[idx] = true;
}

/* No kernel has such a name, and a reader takes none that is longer than any kernel's. */
static bool long_caller(void *ctx, uint64_t addr, struct text *name)
{
	static char text[3000];

	(void)ctx;
	(void)addr;
	memset(text, 'x', sizeof(text));
	*name = (struct text){ text, sizeof(text) };
	return true;
}

TEST(an_endless_return_address_is_cut_to_what_readers_take)
{
	const struct event event = { .time_ns = 1, .tid = 7, .frame = 40 };
	const struct call_values call = { .has_caller = true, .caller = 0xffffffff81000000 };
	struct values *vs = new_values();
	struct recfile_host host;
	const struct recfile_config config = {
		.path = path, .host = &host, .comm = comm_of, .values = vs, .caller = long_caller
	};
	struct recfile_writer *w;
	struct event ev = event;

	make_funcs();
	recfile_host_read(&host, CPU_CNT, "netfgraph test", NULL);
	CHECK(!recfile_writer_new(&w, &config) && !recfile_writer_funcs(w, &functab));
	ev.values = values_put(vs, &call);
	CHECK(!recfile_writer_events(w, &ev, 1) && !recfile_writer_close(w));
	read_file(&event, 1);
	CHECK(!seen.err && seen.event_cnt == 1);
	values_free(vs);
}

static struct recfile_writer *open_values_writer(struct values *vs)
{
	struct recfile_host host;
	const struct recfile_config config = {
		.path = path, .host = &host, .comm = comm_of, .values = vs, .caller = caller_of
	};
	struct recfile_writer *w;

	make_funcs();
	memset(is_told, 0, sizeof(is_told));
	recfile_host_read(&host, CPU_CNT, "netfgraph test", NULL);
	CHECK(!recfile_writer_new(&w, &config));
	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_types(w, types, sizeof(types) - 1));
	return w;
}

/* @cnt events, flushed every @step. */
static void write_values(struct event *events, size_t cnt, size_t step)
{
	struct values *vs = new_values();
	struct recfile_writer *w = open_values_writer(vs);
	const struct recfile_summary summary = { 0 };

	for (size_t i = 0; i < cnt; i += step) {
		size_t part = cnt - i < step ? cnt - i : step;

		put_values(vs, events + i, part);
		CHECK(!recfile_writer_events(w, events + i, part));
		CHECK(!recfile_writer_flush(w));
	}
	CHECK(!recfile_writer_summary(w, &summary));
	CHECK(!recfile_writer_close(w) && !values_missed_cnt(vs));
	values_free(vs);
}

static void check_item(const struct recfile_item *item, struct values *vs)
{
	if (item->kind == RECFILE_TYPES)
		CHECK(item->cnt >= sizeof(types) - 1 &&
		      !memcmp(item->types, types, sizeof(types) - 1));
	for (size_t i = 0; item->kind == RECFILE_CALLERS && i < item->cnt; i++) {
		const struct recfile_caller *caller = &item->callers[i];
		const struct text want = caller_text(caller->addr);

		CHECK(caller->name.len == want.len);
		CHECK(!memcmp(caller->name.ptr, want.ptr, want.len));
		CHECK(!is_told[caller->addr - 0xffffffff81000000]);
		is_told[caller->addr - 0xffffffff81000000] = true;
		told_cnt++;
	}
	for (size_t i = 0; item->kind == RECFILE_EVENTS && i < item->cnt; i++) {
		const struct call_values want = values_of(&item->events[i]);

		check_values(vs, &item->events[i]);
		CHECK(!want.has_caller || is_told[want.caller - 0xffffffff81000000]);
	}
}

/* Read all. Every event must have its values, and its caller's name must come before it. */
static void read_values(const struct event *want, size_t want_cnt, size_t *types_cnt)
{
	struct values *vs = new_values();
	struct recfile_reader *r;
	struct recfile_item item;

	memset(is_told, 0, sizeof(is_told));
	told_cnt = 0;
	*types_cnt = 0;
	seen = (struct seen){ .err = recfile_reader_new(&r, path) };
	recfile_reader_values(r, vs);
	while (!seen.err && !(seen.err = recfile_reader_next(r, &item)) && item.kind) {
		*types_cnt += item.kind == RECFILE_TYPES;
		check_item(&item, vs);
		for (size_t i = 0; item.kind == RECFILE_EVENTS && i < item.cnt; i++) {
			CHECK(seen.event_cnt < want_cnt);
			CHECK(same_event(&item.events[i], &want[seen.event_cnt++]));
		}
		seen.is_closed |= item.kind == RECFILE_SUMMARY;
	}
	seen.tail_bytes = recfile_reader_tail_bytes(r);
	CHECK(!seen.err == !recfile_reader_error(r)[0]);
	recfile_reader_free(r);
	values_free(vs);
}

TEST(values_and_callers_come_back_with_their_events)
{
	struct event *events = make_events(EVENT_CNT);
	size_t types_cnt;

	write_values(events, EVENT_CNT, 20000); /* several full chunks between two flushes */
	read_values(events, EVENT_CNT, &types_cnt);
	CHECK(!seen.err && seen.event_cnt == EVENT_CNT && seen.is_closed && types_cnt == 1);
	CHECK(told_cnt > CALLER_CNT / 2); /* in more than one chunk */
	write_values(events, 1000, 7);
	read_values(events, 1000, &types_cnt);
	CHECK(!seen.err && seen.event_cnt == 1000 && seen.is_closed);
	/* who does not ask for values gets the same events */
	read_file(events, 1000);
	CHECK(!seen.err && seen.event_cnt == 1000);
}

/* The last event of one batch of the reader, and the first of the next. */
TEST(values_at_the_edge_of_a_batch_come_with_their_event)
{
	struct event *events = calloc(RECFILE_BATCH_CNT + 2, sizeof(*events));
	size_t types_cnt;

	CHECK(events);
	for (size_t skew = 0; skew < 3; skew++) {
		size_t cnt = RECFILE_BATCH_CNT + skew;

		for (size_t i = 0; i < cnt; i++)
			events[i] = (struct event){ .time_ns = i, .tid = 7, .frame = 64 + 26 + 2 };
		CHECK(values_of(events).shown_cnt && values_of(events).pkt);
		write_values(events, cnt, cnt);
		read_values(events, cnt, &types_cnt);
		CHECK(!seen.err && seen.event_cnt == cnt);
	}
	free(events);
}

TEST(a_recording_with_values_cut_at_any_byte_gives_its_whole_chunks)
{
	struct event *events = make_events(30);
	size_t event_cnt = 0;
	size_t types_cnt;

	write_values(events, 30, 5);
	file_read();
	for (size_t cut = FILE_HEAD; cut <= image.len; cut++) {
		file_write(image.bytes, cut);
		read_values(events, 30, &types_cnt);
		CHECK(!seen.err && seen.tail_bytes == cut - whole_bytes(image.bytes, cut));
		CHECK(seen.event_cnt >= event_cnt && seen.is_closed == (cut == image.len));
		event_cnt = seen.event_cnt;
	}
	CHECK(event_cnt == 30 && told_cnt);
}

TEST(every_flipped_bit_of_values_is_noticed)
{
	struct event *events = make_events(10);
	size_t types_cnt;
	char *chunk;

	write_values(events, 10, 10);
	file_read();
	chunk = find_chunk(image.bytes, image.len, "TYPE");
	for (size_t bit = (size_t)(chunk - image.bytes) * 8; bit < image.len * 8; bit++) {
		image.bytes[bit / 8] ^= (char)(1 << bit % 8);
		file_write(image.bytes, image.len);
		image.bytes[bit / 8] ^= (char)(1 << bit % 8);
		read_values(events, 10, &types_cnt);
		CHECK(seen.err || seen.tail_bytes);
	}
}

/*
 * A file of one entry with two arguments and a result, and one exit without anything. Its words: slot,
 * entry, extra, which values, three values, exit. @cnt words from @idx on are replaced.
 */
static void read_extras(uint32_t idx, const uint64_t *words, size_t cnt)
{
	struct event events[] = { { .time_ns = 10, .tid = 7, .frame = 26 + 2 },
				  { .time_ns = 20, .tid = 7, .frame = 63, .kind = EVENT_EXIT } };
	char *chunk;

	write_values(events, 2, 2);
	file_read();
	chunk = find_chunk(image.bytes, image.len, "EVNT");
	CHECK(get_u32(chunk + 4) == 24 + 8 * 8);
	memcpy(chunk + 16 + 24 + (size_t)idx * 8, words, cnt * sizeof(*words));
	seal(image.bytes, image.len);
	file_write(image.bytes, image.len);
	read_file(NULL, 0);
}

static void read_extra(uint32_t idx, uint64_t word)
{
	read_extras(idx, &word, 1);
}

static uint64_t extra(uint64_t kind, uint64_t cnt)
{
	return OP_EXTRA | kind << 3 | cnt << 16;
}

TEST(values_that_contradict_themselves_are_refused)
{
	static const uint64_t bad[] = { 0, 1, 2, 4, 2 | 0x300, 3 | 0x200, 13 | 0x200, 255,
					/* as many words, one of them in an extra of its own */
					1 | 0x200 | 0x20000, 1 | 0x200 | 0x1000, 2 | 0x40000,
					/* bits without words */
					2 | 0x200 | 0x80000, 2 | 0x200 | 1ull << 40 };

	read_extra(2, extra(3, 4));
	CHECK(!seen.err && seen.event_cnt == 2);
	read_extra(3, 2 | 0x200);
	CHECK(!seen.err && seen.event_cnt == 2);
	read_extra(3, 2 | 0x100); /* as many, called another thing */
	CHECK(!seen.err && seen.event_cnt == 2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		read_extra(3, bad[i]);
		CHECK(seen.err == -EBADMSG && seen.event_cnt == 1);
	}
	for (uint64_t cnt = 0; cnt < 10; cnt++) {
		read_extra(2, extra(3, cnt));
		CHECK(cnt == 4 ? !seen.err : seen.err == -EBADMSG);
	}
	read_extra(2, extra(3, 0xffff));
	CHECK(seen.err == -EBADMSG);
}

TEST(a_number_of_a_packet_is_one_word)
{
	for (uint64_t cnt = 0; cnt < 6; cnt++) {
		if (cnt == 1) /* the next word would be an entry */
			continue;
		read_extra(2, extra(11, cnt));
		CHECK(seen.err == -EBADMSG && seen.event_cnt == 1);
	}
	for (uint64_t nr = 0; nr < 3; nr++) {
		const uint64_t words[] = { extra(11, 1), nr, extra(99, 2) };

		read_extras(2, words, CNT_OF(words));
		CHECK(nr ? !seen.err : seen.err == -EBADMSG);
		CHECK(seen.event_cnt == (nr ? 2 : 1));
	}
	/* a later kind, as long, is none of ours */
	read_extra(2, extra(12, 4));
	CHECK(!seen.err && seen.event_cnt == 2);
}

TEST(extra_words_of_a_later_kind_are_skipped)
{
	read_extra(2, extra(0x1000, 4));
	CHECK(!seen.err && seen.event_cnt == 2);
	read_extra(2, extra(0x1fff, 4));
	CHECK(!seen.err && seen.event_cnt == 2);
	read_extra(2, extra(0x1000, 6));
	CHECK(seen.err == -EBADMSG);
}

/* They would belong to an event of the previous chunk. */
TEST(values_before_any_event_of_a_chunk_do_no_harm)
{
	/* in the slot's place: no words, and one that is the entry's */
	read_extra(0, extra(3, 0));
	CHECK(seen.err == -EBADMSG && !seen.event_cnt);
	read_extra(0, extra(3, 1));
	CHECK(seen.err == -EBADMSG && !seen.event_cnt);
}

TEST(nonsense_in_values_under_a_right_checksum_does_no_harm)
{
	struct event *events = make_events(60);
	struct recfile_item item;
	char *copy;

	write_values(events, 60, 20);
	file_read();
	copy = malloc(image.len);
	CHECK(copy);
	for (int round = 0; round < 5000; round++) {
		struct recfile_reader *r;
		struct values *vs;

		memcpy(copy, image.bytes, image.len);
		for (uint32_t i = random_below(8) + 1; i; i--)
			copy[FILE_HEAD + random_below((uint32_t)image.len - FILE_HEAD)] ^=
				(char)(1 << random_below(8));
		seal(copy, image.len);
		file_write(copy, image.len);
		CHECK(!values_new(&vs, 1024));
		CHECK(!recfile_reader_new(&r, path));
		recfile_reader_values(r, vs);
		while (!recfile_reader_next(r, &item) && item.kind)
			;
		recfile_reader_free(r);
		values_free(vs);
	}
	free(copy);
}

/* Each event counts once, even if the chunk that does not fit holds callers. */
TEST(a_file_that_may_not_grow_counts_events_with_callers_once)
{
	const struct rlimit limit = { 30000, 30000 };
	struct event *events = make_events(CALLER_CNT);
	const struct recfile_summary summary = { 0 };
	struct values *vs = new_values();
	struct recfile_writer *w;
	int err = 0;

	for (size_t i = 0; i < CALLER_CNT; i++) /* its caller is another each time */
		events[i] = (struct event){ .time_ns = i + 1, .tid = 7, .frame = (uint16_t)i };
	put_values(vs, events, CALLER_CNT);
	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	quiet();
	w = open_values_writer(vs);
	for (size_t i = 0; i < CALLER_CNT; i += 100)
		err = recfile_writer_events(w, events + i, 100);
	CHECK(err == -EFBIG);
	CHECK(recfile_writer_summary(w, &summary) == -EFBIG);
	CHECK(recfile_writer_close(w) == -EFBIG);
	read_file(NULL, 0);
	CHECK(!seen.err && seen.is_closed && seen.event_cnt < CALLER_CNT);
	CHECK(seen.summary.event_cnt + seen.summary.unwritten_cnt == CALLER_CNT);
	values_free(vs);
}

/* ---- user stacks ---- */

static const struct user_frame ustack_frames[] = {
	{ .ip = 0x401136,
	  .offset = 0x16,
	  .size_bytes = 0x20,
	  .symbol = { "inner", 5 },
	  .file = { "/opt/a b/client", 15 },
	  .build_id = { "0123456789abcdef", 16 } },
	{ .ip = 0x7f0000001234, .offset = 0x1234, .file = { "/lib/libx.so", 12 } },
	{ .ip = 0x7f0000ffffff },
};
static const struct user_stack ustack = { ustack_frames, 3, USER_STACK_NAMED };
static const struct user_stack ended = { ustack_frames + 2, 1, USER_STACK_ENDED };
static uint32_t ustack_asked_cnt;
static bool is_ustack_given[2];

static const struct user_stack *ustack_at(void *ctx, uint64_t nr)
{
	CHECK(nr == 70000 || nr == 70001);
	ustack_asked_cnt++;
	if (is_ustack_given[nr - 70000])
		return NULL;
	is_ustack_given[nr - 70000] = true;
	return nr == 70000 ? &ustack : &ended;
}

/* Each has the value of an argument, all but the last a user stack: two of them the same, one none that was kept. */
static void write_ustacks(void)
{
	static const uint64_t nrs[] = { 70000, 70001, 70000, 0 };
	struct values *vs = new_values();
	struct recfile_host host;
	const struct recfile_config config = {
		.path = path, .host = &host, .comm = comm_of, .values = vs, .ustack = ustack_at
	};
	struct recfile_writer *w;

	make_funcs();
	ustack_asked_cnt = 0;
	memset(is_ustack_given, 0, sizeof(is_ustack_given));
	recfile_host_read(&host, CPU_CNT, "netfgraph test", NULL);
	CHECK(!recfile_writer_new(&w, &config) && !recfile_writer_funcs(w, &functab));
	for (size_t i = 0; i < 5; i++) {
		struct call_values call = { .args = { i }, .arg_cnt = 1, .has_ustack = i < 4 };
		struct event ev = { .time_ns = i, .tid = 7, .frame = 40 };

		call.ustack = i < 4 ? nrs[i] : 0;
		ev.values = values_put(vs, &call);
		CHECK(!recfile_writer_events(w, &ev, 1));
	}
	CHECK(!recfile_writer_close(w));
	CHECK(ustack_asked_cnt == 3);
	values_free(vs);
}

static void check_frame(const struct user_frame *got, const struct user_frame *want)
{
	CHECK(got->ip == want->ip && got->offset == want->offset);
	CHECK(got->size_bytes == want->size_bytes && text_equal(got->symbol, want->symbol));
	CHECK(text_equal(got->file, want->file) && text_equal(got->build_id, want->build_id));
}

/* Return: how many stacks there were; *with_cnt: how many events had one. */
static size_t read_ustacks(size_t *with_cnt)
{
	struct values *vs = new_values();
	struct recfile_reader *r;
	struct recfile_item item;
	struct call_values call;
	size_t cnt = 0;

	*with_cnt = 0;
	seen = (struct seen){ .err = recfile_reader_new(&r, path) };
	recfile_reader_values(r, vs);
	while (!seen.err && !(seen.err = recfile_reader_next(r, &item)) && item.kind) {
		for (size_t i = 0; item.kind == RECFILE_USTACKS && i < item.cnt; i++, cnt++) {
			const struct recfile_ustack *got = &item.ustacks[i];
			const struct user_stack *want = got->nr == 70000 ? &ustack : &ended;

			CHECK(got->stack.frame_cnt == want->frame_cnt);
			CHECK(got->stack.state == want->state);
			for (uint32_t f = 0; f < want->frame_cnt; f++)
				check_frame(&got->stack.frames[f], &want->frames[f]);
		}
		for (size_t i = 0; item.kind == RECFILE_EVENTS && i < item.cnt; i++) {
			CHECK(values_get(vs, item.events[i].values, &call));
			CHECK(call.arg_cnt == 1 && call.args[0] == item.events[i].time_ns);
			*with_cnt += call.has_ustack;
			seen.event_cnt++;
		}
	}
	recfile_reader_free(r);
	values_free(vs);
	return cnt;
}

TEST(user_stacks_come_back_before_their_events)
{
	size_t with_cnt;

	write_ustacks();
	CHECK(read_ustacks(&with_cnt) == 2 && !seen.err);
	CHECK(with_cnt == 4 && seen.event_cnt == 5);
}

/* A reader that does not know the chunk and the words skips them, and has the other values. */
TEST(readers_that_know_no_user_stacks_skip_them)
{
	size_t with_cnt;
	char *chunk;

	write_ustacks();
	file_read();
	chunk = find_chunk(image.bytes, image.len, "USTK");
	memcpy(chunk, "UNKN", 4);
	chunk = find_chunk(image.bytes, image.len, "EVNT");
	for (char *at = chunk + 16 + 24; at < image.bytes + image.len; at += 8) {
		const uint64_t ours = extra(10, 1);
		const uint64_t unknown = extra(99, 1);

		if (!memcmp(at, &ours, 8))
			memcpy(at, &unknown, 8);
	}
	seal(image.bytes, image.len);
	file_write(image.bytes, image.len);
	CHECK(read_ustacks(&with_cnt) == 0 && !seen.err);
	CHECK(with_cnt == 0 && seen.event_cnt == 5);
}

TEST(impossible_user_stacks_are_refused)
{
	/* frames, state, length of the first name */
	static const struct {
		size_t at;
		uint16_t number;
	} bad[] = { { 4, 49 },
		    { 4, 40 },
		    { 6, USER_STACK_STATE_CNT },
		    { 8 + 24, 4097 },
		    { 8 + 24, 4000 } };
	size_t with_cnt;

	for (size_t i = 0; i < CNT_OF(bad); i++) {
		write_ustacks();
		file_read();
		memcpy(find_chunk(image.bytes, image.len, "USTK") + 16 + bad[i].at, &bad[i].number,
		       sizeof(bad[i].number));
		seal(image.bytes, image.len);
		file_write(image.bytes, image.len);
		read_ustacks(&with_cnt);
		CHECK(seen.err == -EBADMSG);
	}
}

/* Its values are three extras behind it, and the reader has no room for another event. */
TEST(the_last_event_of_a_batch_has_all_its_values)
{
	static struct event events[RECFILE_BATCH_CNT + 1];
	const struct call_values call = { .args = { 23 },
					  .arg_cnt = 1,
					  .shown = { 0, 1500 },
					  .shown_cnt = 2,
					  .ustack = 70001,
					  .has_ustack = true };
	struct values *vs = new_values();
	struct recfile_host host;
	const struct recfile_config config = {
		.path = path, .host = &host, .comm = comm_of, .values = vs
	};
	struct recfile_writer *w;
	struct recfile_reader *r;
	struct recfile_item item;
	struct call_values got;

	make_funcs();
	recfile_host_read(&host, CPU_CNT, "netfgraph test", NULL);
	CHECK(!recfile_writer_new(&w, &config) && !recfile_writer_funcs(w, &functab));
	for (size_t i = 0; i < CNT_OF(events); i++)
		events[i] = (struct event){ .time_ns = i, .tid = 7, .frame = 40 };
	events[RECFILE_BATCH_CNT - 1].values = values_put(vs, &call);
	CHECK(!recfile_writer_events(w, events, CNT_OF(events)) && !recfile_writer_close(w));
	CHECK(!recfile_reader_new(&r, path));
	recfile_reader_values(r, vs);
	do
		CHECK(!recfile_reader_next(r, &item));
	while (item.kind != RECFILE_EVENTS);
	CHECK(item.cnt == RECFILE_BATCH_CNT);
	CHECK(values_get(vs, item.events[item.cnt - 1].values, &got));
	CHECK(got.arg_cnt == 1 && got.args[0] == 23 && got.shown_cnt == 2 && got.shown[1] == 1500);
	CHECK(got.has_ustack && got.ustack == 70001);
	recfile_reader_free(r);
	values_free(vs);
}
