#include "trace/callstack.h"
#include "harness.h"

static struct stackwatch sw;

static void begin(uint32_t stack_bytes)
{
	stackwatch_release(&sw);
	CHECK(!stackwatch_init(&sw, stack_bytes, 2));
}
AT_END(stackwatch_release(&sw));

static void call_on(uint16_t cpu, uint32_t tid, uint16_t frame)
{
	const struct event ev = {
		.cpu = cpu, .tid = tid, .frame = frame, .func_id = frame / 100, .kind = EVENT_ENTRY
	};

	stackwatch_feed(&sw, &ev, 1);
}

TEST(a_call_near_the_end_of_its_stack_is_told)
{
	begin(16384);
	CHECK(!stackwatch_is_low(&sw));
	for (int frame = 32768 - 300; frame > 16384 + 2200; frame -= 500)
		call_on(0, 7, (uint16_t)frame);
	CHECK(!stackwatch_is_low(&sw) && sw.least_bytes < 3000);
	call_on(0, 7, 16384 + 1900);
	CHECK(stackwatch_is_low(&sw) && sw.least_bytes == 1900 &&
	      sw.func_id == (16384 + 1900) / 100);
}

/* A stack that begins at any page has its top anywhere: interrupts on x86-64. */
TEST(a_call_on_another_stack_is_none)
{
	begin(16384);
	call_on(0, 7, 16384 - 400);
	call_on(0, 7, 4096 + 200); /* not within a page */
	call_on(0, 7, 1000);
	call_on(0, 7, 500);
	CHECK(sw.least_bytes == 16384 - 400);
	call_on(0, 8, 16384 - 3000); /* another task */
	call_on(0, 7, 16384 - 5000);
	CHECK(sw.least_bytes == 16384 - 3000);
	call_on(0, 8, 32768 + 12000); /* as far, on another stack */
	call_on(1, 8, 16384 - 6000);  /* never begun there */
	CHECK(sw.least_bytes == 16384 - 3000);
}

TEST(larger_stacks_have_other_ends)
{
	begin(32768); /* KASAN */
	for (int frame = 32768 - 300; frame > 16384; frame -= 500)
		call_on(0, 7, (uint16_t)frame);
	CHECK(!stackwatch_is_low(&sw) && sw.least_bytes > 16000);
	begin(0);
	call_on(0, 7, 16384 - 300);
	call_on(0, 7, 100);
	CHECK(!stackwatch_is_low(&sw));
}
