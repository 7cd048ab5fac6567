#include "kernel/stacknamer.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/child.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/log.h"
#include "base/privdrop.h"
#include "base/vec.h"
#include "kernel/usersyms.h"
#include "nfg_abi.h"

/* The first one and three that take over after it; all are forked while we have the privileges that they need. */
#define HELPER_CNT 4u
/* Its limit of memory, besides what it has of the tracer; usersyms.c forgets things before. */
#define MEMORY_BYTES  (256u << 20)

#define TIMEOUT_MS    500u /* a stack takes less than one, but a busy host may take its time */
#define HANGS_NS      5000000000ull /* then it is killed; a large program may take a second */
#define RETRY_NS      1000000000ull /* until a stack without names is asked for again */
#define END_NS        100000000ull  /* to wait for their end; one may hang in a file system */
#define BUDGET_NS     1000000000    /* of waiting, at once */
#define BUDGET_PART   10            /* of the time from then on */

#define TAKEN_CNT_MAX 65536u

/* ---- what the two say to each other ---- */

struct ask {
	uint32_t nr;
	uint32_t tgid;
	uint32_t pid;
	uint32_t addr_cnt;
	uint64_t mm;
	uint64_t addrs[NFG_STACK_FRAMES];
};

struct answer_text {
	uint32_t at; /* of answer.texts */
	uint32_t len;
};

struct answer_frame {
	uint64_t offset;
	uint64_t size_bytes;
	struct answer_text symbol;
	struct answer_text file;
	struct answer_text build_id;
};

struct answer {
	uint32_t nr; /* of the question */
	uint32_t text_bytes;
	uint16_t frame_cnt;
	uint8_t state;
	uint8_t lacks_files;
	uint32_t unused;
	struct answer_frame frames[NFG_STACK_FRAMES];
	char texts[USERSYMS_TEXT_BYTES_MAX]; /* text_bytes of them are sent */
};

#define HEAD_BYTES offsetof(struct answer, texts)

/* A stack that is known. */
struct taken {
	uint64_t key; /* NFG_USTACK() */
	uint64_t mm;
	uint64_t retry_ns; /* when to ask again; 0: it has its names */
	uint32_t nr;       /* for userstacks_show */
};

struct program {
	uint32_t tgid;
	uint64_t mm;
};

struct stacknamer {
	struct stacknamer_config config;
	struct helper helpers[HELPER_CNT];
	uint32_t helper_cnt;
	uint32_t at; /* the one that is asked; helper_cnt: none is left */
	struct ask ask;
	struct answer answer;
	size_t got_bytes; /* of answer */
	bool is_busy;     /* it was asked at asked_ns, and has not answered */
	uint64_t asked_ns;
	struct program asked;
	struct program blamed[HELPER_CNT]; /* each cost a helper, and is not asked for again */
	uint32_t blamed_cnt;
	int64_t budget_ns; /* at budget_at_ns */
	uint64_t budget_at_ns;
	struct taken *takens;
	size_t taken_cnt;
	size_t taken_cap;
	struct hash by_key; /* of takens */
};

/* ---- in the other process ---- */

static struct answer_text answer_text(struct text texts, struct text text)
{
	return (struct answer_text){ text.len ? (uint32_t)(text.ptr - texts.ptr) : 0,
				     (uint32_t)text.len };
}

static size_t fill_answer(struct answer *answer, const struct user_stack *stack, struct text texts)
{
	memset(answer, 0, HEAD_BYTES);
	answer->text_bytes = (uint32_t)texts.len;
	answer->frame_cnt = (uint16_t)stack->frame_cnt;
	answer->state = (uint8_t)stack->state;
	answer->lacks_files = stack->lacks_files;
	for (uint32_t i = 0; i < stack->frame_cnt; i++) {
		const struct user_frame *frame = &stack->frames[i];

		answer->frames[i] = (struct answer_frame){
			.offset = frame->offset,
			.size_bytes = frame->size_bytes,
			.symbol = answer_text(texts, frame->symbol),
			.file = answer_text(texts, frame->file),
			.build_id = answer_text(texts, frame->build_id),
		};
	}
	text_keep(answer->texts, texts);
	return HEAD_BYTES + texts.len;
}

static bool answer_write(const struct answer *answer, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t some = write(STDOUT_FILENO, (const char *)answer + done, len - done);

		if (some <= 0)
			return false;
		done += (size_t)some;
	}
	return true;
}

#ifndef NFG_SANITIZED /* which reserves terabytes */
static rlim_t own_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (file && fscanf(file, "%llu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}
#endif

/* When memory is short, it goes before anything else: the trace needs it least. Best effort: it is nothing to rely on. */
static void offer_memory(void)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "we");

	if (!file)
		return;
	fputs("1000", file);
	fclose(file);
}

/* No core file, no file that is written (pipes have no limit), and not all of the host's memory. Return: 0 or -errno. */
static int limit_resources(void)
{
	const struct rlimit none = { 0 };

	if (setrlimit(RLIMIT_CORE, &none) || setrlimit(RLIMIT_FSIZE, &none))
		return -errno;
#ifndef NFG_SANITIZED
	const rlim_t bytes = own_bytes() + MEMORY_BYTES;
	const struct rlimit memory = { bytes, bytes };

	if (setrlimit(RLIMIT_AS, &memory))
		return -errno;
#endif
	return 0;
}

/* Answer one stack after the other, until the tracer ends. */
static void stacknamer_run(void *ctx)
{
	static struct answer answer;
	static struct ask ask;
	struct usersyms *us;

	offer_memory();
	if (limit_resources() ||
	    privdrop_helper(PRIVDROP_CAP(CAP_SYS_PTRACE) | PRIVDROP_CAP(CAP_DAC_READ_SEARCH)) ||
	    usersyms_new(&us, ctx))
		return; /* never with more than it needs: to the tracer this is a process that ended */
	/* questions are shorter than what a pipe takes at once */
	while (read(STDIN_FILENO, &ask, sizeof(ask)) == sizeof(ask)) {
		const struct usersyms_ask what = { .tgid = ask.tgid,
						   .pid = ask.pid,
						   .addr_cnt = ask.addr_cnt,
						   .mm = ask.mm,
						   .addrs = ask.addrs };
		struct user_stack stack;
		struct text texts = usersyms_look(us, &what, &stack);
		size_t len = fill_answer(&answer, &stack, texts);

		answer.nr = ask.nr;
		if (!answer_write(&answer, len))
			break;
	}
	usersyms_free(us);
}

/* ---- in ours ---- */

int stacknamer_new(struct stacknamer **out, const struct stacknamer_config *config)
{
	struct stacknamer *sn = calloc(1, sizeof(*sn));
	int err = 0;

	if (!sn)
		return -ENOMEM;
	sn->config = *config;
	if (!sn->config.timeout_ms)
		sn->config.timeout_ms = TIMEOUT_MS;
	sn->budget_ns = BUDGET_NS;
	sn->budget_at_ns = host_time_ns();
	for (uint32_t i = 0; i < HELPER_CNT; i++)
		sn->helpers[i] = HELPER_NONE;
	while (!err && sn->helper_cnt < HELPER_CNT) {
		err = helper_fork(&sn->helpers[sn->helper_cnt], -1, stacknamer_run,
				  (void *)config->proc);
		sn->helper_cnt += !err;
	}
	if (err && sn->helper_cnt)
		log_info("%u instead of %u processes name user stacks: %s", sn->helper_cnt,
			 HELPER_CNT, strerror(-err));
	if (!sn->helper_cnt) {
		stacknamer_free(sn);
		return err;
	}
	*out = sn;
	return 0;
}

static bool are_gone(struct stacknamer *sn, uint32_t cnt)
{
	bool is_gone = true;

	for (uint32_t i = 0; i < cnt; i++)
		is_gone &= helper_is_gone(&sn->helpers[i]);
	return is_gone;
}

void stacknamer_free(struct stacknamer *sn)
{
	const uint64_t end_ns = host_time_ns() + END_NS;

	if (!sn)
		return;
	for (uint32_t i = 0; i < HELPER_CNT; i++)
		helper_abandon(&sn->helpers[i]);
	while (!are_gone(sn, HELPER_CNT) && host_time_ns() < end_ns)
		usleep(1000);
	free(sn->takens);
	hash_release(&sn->by_key);
	free(sn);
}

/* The helper is of no use any more. @is_to_blame: the program it was asked for made it so, and would do the same to the next. */
static void next_helper(struct stacknamer *sn, int err, bool is_to_blame)
{
	log_info("the process that names user stacks is ended: %s", strerror(-err));
	helper_abandon(&sn->helpers[sn->at]);
	if (is_to_blame)
		sn->blamed[sn->blamed_cnt++] = sn->asked;
	sn->is_busy = false;
	if (++sn->at == sn->helper_cnt)
		log_warn("user stacks get no more names: looking them up failed %u %s",
			 sn->helper_cnt, plural(sn->helper_cnt, "time", "times"));
}

/* Read on until the answer is whole. Return: 0, -ETIMEDOUT, -EPROTO, -EPIPE or another -errno. */
static int receive(struct stacknamer *sn, uint64_t end_ns)
{
	const struct helper *h = &sn->helpers[sn->at];
	size_t want = HEAD_BYTES;

	while (sn->got_bytes < want) {
		/* after Ctrl-C the rest of the wait is short */
		int err = helper_wait(h, end_ns, *signals_stop_cnt);
		ssize_t some;

		if (err == -EINTR)
			continue;
		if (err)
			return err;
		some = read(h->answer_fd, (char *)&sn->answer + sn->got_bytes,
			    want - sn->got_bytes);
		if (some <= 0)
			return -EPIPE;
		sn->got_bytes += (size_t)some;
		if (sn->got_bytes < HEAD_BYTES)
			continue;
		if (sn->answer.nr != sn->ask.nr || sn->answer.text_bytes > sizeof(sn->answer.texts))
			return -EPROTO;
		want = HEAD_BYTES + sn->answer.text_bytes;
	}
	sn->is_busy = false;
	return 0;
}

/* Return: 0: the helper waits for a question; -ETIMEDOUT: it is busy with an earlier one; -EPIPE: none is left. */
static int make_ready(struct stacknamer *sn, uint64_t now_ns)
{
	int err = sn->at < sn->helper_cnt && sn->is_busy ? receive(sn, now_ns) : 0;

	if (err && (err != -ETIMEDOUT || now_ns - sn->asked_ns > HANGS_NS))
		next_helper(sn, err, true);
	else if (err)
		return err;
	return sn->at < sn->helper_cnt ? 0 : -EPIPE;
}

static bool is_blamed(const struct stacknamer *sn)
{
	for (uint32_t i = 0; i < sn->blamed_cnt; i++) {
		if (sn->blamed[i].tgid == sn->ask.tgid && sn->blamed[i].mm == sn->ask.mm)
			return true;
	}
	return false;
}

static void refill_budget(struct stacknamer *sn, uint64_t now_ns)
{
	const uint64_t more_ns = (now_ns - sn->budget_at_ns) / BUDGET_PART;

	sn->budget_at_ns = now_ns;
	sn->budget_ns = more_ns > (uint64_t)(BUDGET_NS - sn->budget_ns)
				? BUDGET_NS
				: sn->budget_ns + (int64_t)more_ns;
}

/* Ask what is in sn->ask. Return: 0: sn->answer is whole, though not yet checked; -ETIMEDOUT; or another -errno. */
static int ask_helper(struct stacknamer *sn)
{
	const uint64_t now_ns = host_time_ns();
	const uint32_t nr = sn->ask.nr + 1;
	int err;

	refill_budget(sn, now_ns);
	are_gone(sn, sn->at); /* those before it leave no zombies */
	err = make_ready(sn, now_ns);
	if (!err && is_blamed(sn))
		err = -ECANCELED;
	if (!err && sn->budget_ns <= 0)
		err = -ETIMEDOUT;
	if (err)
		return err;
	sn->ask.nr = nr;
	sn->got_bytes = 0;
	sn->asked_ns = now_ns;
	sn->asked = (struct program){ sn->ask.tgid, sn->ask.mm };
	err = helper_ask(&sn->helpers[sn->at], &sn->ask, sizeof(sn->ask));
	sn->is_busy = !err;
	if (!err)
		err = receive(sn, now_ns + sn->config.timeout_ms * 1000000ull);
	sn->budget_ns -= (int64_t)(host_time_ns() - now_ns);
	if (err && err != -ETIMEDOUT)
		next_helper(sn, err, sn->is_busy);
	return err;
}

/* Return: whether the text lies in the answer. */
static bool take_text(const struct answer *answer, struct answer_text from, struct text *to)
{
	if (from.at > answer->text_bytes || from.len > answer->text_bytes - from.at)
		return false;
	*to = (struct text){ answer->texts + from.at, from.len };
	return true;
}

/* The helper parses files that may be made to take it over. Return: whether this is an answer. */
static bool take_answer(const struct ask *ask, const struct answer *answer,
			struct user_frame *frames, struct user_stack *stack)
{
	if (answer->frame_cnt > ask->addr_cnt || answer->lacks_files > 1)
		return false;
	if (answer->state != USER_STACK_NAMED && answer->state != USER_STACK_ENDED &&
	    answer->state != USER_STACK_DENIED && answer->state != USER_STACK_FAILED)
		return false;
	for (uint32_t i = 0; i < answer->frame_cnt; i++) {
		const struct answer_frame *from = &answer->frames[i];

		frames[i] = (struct user_frame){ .ip = ask->addrs[i],
						 .offset = from->offset,
						 .size_bytes = from->size_bytes };
		if (!take_text(answer, from->symbol, &frames[i].symbol) ||
		    !take_text(answer, from->file, &frames[i].file) ||
		    !take_text(answer, from->build_id, &frames[i].build_id))
			return false;
	}
	*stack = (struct user_stack){ .frames = frames,
				      .frame_cnt = answer->frame_cnt,
				      .state = answer->state,
				      .lacks_files = answer->lacks_files };
	return true;
}

/* Find the names of what is in sn->ask. */
static void look(struct stacknamer *sn, struct user_frame *frames, struct user_stack *stack)
{
	int err = ask_helper(sn);

	if (!err && !take_answer(&sn->ask, &sn->answer, frames, stack)) {
		err = -EPROTO;
		next_helper(sn, err, true);
	}
	if (!err)
		return;
	for (uint32_t i = 0; i < sn->ask.addr_cnt; i++)
		frames[i] = (struct user_frame){ .ip = sn->ask.addrs[i] };
	*stack = (struct user_stack){
		.frames = frames,
		.frame_cnt = sn->ask.addr_cnt,
		.state = err == -ETIMEDOUT ? USER_STACK_SLOW : USER_STACK_FAILED,
	};
}

static struct taken name_stack(struct stacknamer *sn, uint64_t key, uint64_t mm, uint32_t old_nr)
{
	const struct stacknamer_config *config = &sn->config;
	struct user_stack stack = { .state = USER_STACK_LOST };
	struct user_frame frames[NFG_STACK_FRAMES];
	struct taken taken = { .key = key, .mm = mm, .nr = old_nr };
	struct ask *ask = &sn->ask;

	ask->tgid = (uint32_t)(key >> 32);
	ask->pid = config->proc_id ? config->proc_id(config->proc_id_ctx, ask->tgid) : ask->tgid;
	ask->mm = mm;
	ask->addr_cnt = 0;
	if ((uint32_t)key)
		ask->addr_cnt = config->stack(config->stack_ctx, (uint32_t)key - 1, ask->addrs);
	if (ask->addr_cnt)
		look(sn, frames, &stack);
	if (stack.state == USER_STACK_SLOW || stack.state == USER_STACK_FAILED)
		taken.retry_ns = host_time_ns() + RETRY_NS;
	/* asking again in vain must not fill the memory with the same stack */
	if (!old_nr || !taken.retry_ns)
		taken.nr = userstacks_add(config->stacks, &stack);
	return taken;
}

static struct taken *taken_find(const struct stacknamer *sn, uint64_t key, uint64_t mm)
{
	for (uint32_t at = 0, item; hash_next(&sn->by_key, hash_u64(key), &at, &item);) {
		struct taken *taken = &sn->takens[item];

		if (taken->key == key && taken->mm == mm &&
		    userstacks_has(sn->config.stacks, taken->nr))
			return taken;
	}
	return NULL;
}

uint64_t stacknamer_take(struct stacknamer *sn, uint64_t key, uint64_t mm)
{
	struct taken *known = taken_find(sn, key, mm);
	struct taken taken;

	if (known && known->retry_ns && host_time_ns() >= known->retry_ns)
		*known = name_stack(sn, key, mm, known->nr);
	if (known)
		return known->nr;
	taken = name_stack(sn, key, mm, 0);
	if (sn->taken_cnt == TAKEN_CNT_MAX) {
		hash_clear(&sn->by_key);
		sn->taken_cnt = 0;
	}
	if (taken.nr && !VEC_RESERVE(sn->takens, sn->taken_cap, sn->taken_cnt + 1) &&
	    !hash_add(&sn->by_key, hash_u64(key), (uint32_t)sn->taken_cnt))
		sn->takens[sn->taken_cnt++] = taken;
	return taken.nr;
}
