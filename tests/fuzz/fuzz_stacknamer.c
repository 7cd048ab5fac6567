/*
 * What /proc says of a process, cut at a zero byte into its maps and its stat, and after another one the bytes that its
 * helper answers with: of a made-up process with a program that has a name.
 */
#include "madehost.h"
#include "kernel/stacknamer.c"

static int maps_fd;
static int stat_fd;
static struct usersyms *us;

static int make_file(const char *name)
{
	int fd = open(place(name), O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	CHECK(fd >= 0);
	return fd;
}

static void make_process(void)
{
	static const char *const dirs[] = { "7", "7/ns", "7/root", "7/root/bin" };
	char bytes[4096];
	ssize_t len;
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to;

	make_base();
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		CHECK(!mkdir(place(dirs[i]), 0755));
	to = make_file("7/root/bin/x");
	len = read(from, bytes, sizeof(bytes));
	CHECK(len > 0 && write(to, bytes, (size_t)len) == len);
	close(from);
	close(to);
	maps_fd = make_file("7/maps");
	stat_fd = make_file("7/stat");
}

static const uint8_t *put_part(int fd, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *stop = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
	size_t len = (size_t)((stop ? stop : end) - at);

	CHECK(!ftruncate(fd, 0) && pwrite(fd, at, len, 0) == (ssize_t)len);
	return stop ? stop + 1 : end;
}

/* Every byte that a frame names can be read. */
static void check_stack(const struct user_stack *stack, uint32_t addr_cnt)
{
	uint32_t sum = 0;

	CHECK(stack->frame_cnt <= addr_cnt);
	for (uint32_t i = 0; i < stack->frame_cnt; i++) {
		const struct text texts[] = { stack->frames[i].symbol, stack->frames[i].file,
					      stack->frames[i].build_id };

		for (size_t t = 0; t < 3; t++) {
			for (size_t b = 0; b < texts[t].len; b++)
				sum += (uint8_t)texts[t].ptr[b];
		}
	}
	CHECK(sum != 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct ask ask = { .addr_cnt = 6,
				  .addrs = { 0x401002, 0x401013, 0x7f0000001000, 0, UINT64_MAX,
					     0x402000 } };
	static struct answer answer;
	struct user_frame frames[NFG_STACK_FRAMES];
	struct usersyms_ask what = {
		.tgid = 7, .pid = 7, .mm = 4660, .addr_cnt = 6, .addrs = ask.addrs
	};
	const uint8_t *end = data + len;
	struct user_stack stack;
	struct user_stack taken;
	struct text texts;

	if (!*base)
		make_process();
	data = put_part(maps_fd, data, end);
	data = put_part(stat_fd, data, end);
	CHECK(!usersyms_new(&us, base));
	texts = usersyms_look(us, &what, &stack);
	check_stack(&stack, 6);
	/* what one of our own says is taken, and is the same */
	fill_answer(&answer, &stack, texts);
	CHECK(take_answer(&ask, &answer, frames, &taken));
	CHECK(taken.state == stack.state && taken.frame_cnt == stack.frame_cnt);
	for (uint32_t i = 0; i < taken.frame_cnt; i++)
		CHECK(text_equal(frames[i].file, stack.frames[i].file));
	usersyms_free(us);
	/* and nothing of what another one says leads out of the answer */
	memcpy(&answer, data,
	       (size_t)(end - data) < sizeof(answer) ? (size_t)(end - data) : sizeof(answer));
	if (answer.text_bytes <= sizeof(answer.texts) && take_answer(&ask, &answer, frames, &taken))
		check_stack(&taken, 6);
	return 0;
}
