/* Which functions have a place for a probe: their first bytes and the callee there show it. */
#include "fakekernel.h"

/* Put @op and the distance to @target at byte @at of @func. */
static void put_branch(uint32_t func, size_t at, uint8_t op, uint64_t target)
{
	uint64_t from = FAKE_BASE + func * FAKE_FUNC_BYTES + at;
	int32_t rel = (int32_t)(target - (from + 5));
	uint8_t *text = fake.text + func * FAKE_FUNC_BYTES;

	text[at] = op;
	memcpy(text + at + 1, &rel, sizeof(rel));
}

static uint64_t addr_of(uint32_t func)
{
	return FAKE_BASE + func * FAKE_FUNC_BYTES;
}

static bool has_site(uint32_t func)
{
	return ktext_has_probe_site(fake.kt, fake.ks, addr_of(func));
}

static uint32_t plain[12];

/* Text from _stext to _etext, and a module behind it. */
static void begin(void)
{
	fake_begin();
	fake_line("_stext");
	fake_func("__fentry__", FAKE_UNTYPED);
	fake_func("ftrace_caller", FAKE_UNTYPED);
	fake_func("ftrace_regs_caller", FAKE_UNTYPED);
	for (size_t i = 0; i < CNT_OF(plain); i++) {
		char name[16];

		snprintf(name, sizeof(name), "plain_%zu", i);
		plain[i] = fake_func(name, FAKE_UNTYPED);
		fake_no_probe_site(plain[i]);
	}
	fake_line("_etext");
	strbuf_printf(&fake.syms, "ffffffffc0001000 t veth_xmit\t[veth]\n"
				  "ffffffffc0008000 t bpf_trampoline_6442\t[bpf]\n"
				  "ffffffffc0009000 t ftrace_trampoline\t[__builtin__ftrace]\n");
}

BEFORE(begin);
AFTER(fake_release);

static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

TEST(a_nop_is_a_site)
{
	memcpy(fake.text + plain[0] * FAKE_FUNC_BYTES, nop5, 5);
	memcpy(fake.text + plain[1] * FAKE_FUNC_BYTES, endbr, 4);
	memcpy(fake.text + plain[1] * FAKE_FUNC_BYTES + 4, nop5, 5);
	memcpy(fake.text + plain[2] * FAKE_FUNC_BYTES + 1, nop5,
	       5); /* further in: somebody else's */
	fake_end();
	CHECK(has_site(plain[0]) && has_site(plain[1]) && !has_site(plain[2]));
	CHECK(ktext_has_probe_site(fake.kt, fake.ks, 0x1000)); /* cannot be read */
}

TEST(a_call_of_a_tracer_is_a_site)
{
	put_branch(plain[0], 0, 0xe8, addr_of(0)); /* __fentry__, in an image */
	put_branch(plain[1], 0, 0xe8, addr_of(1));
	put_branch(plain[2], 4, 0xe8, addr_of(2));
	put_branch(plain[3], 0, 0xe8, 0xffffffffc0008000); /* a trampoline that kallsyms shows */
	put_branch(plain[4], 4, 0xe8, 0xffffffffc0009000);
	put_branch(plain[5], 0, 0xe9, 0xffffffffc0008000); /* 6.19 jumps */
	put_branch(plain[6], 4, 0xe8, 0xffffffffc000a000); /* one that it does not show */
	fake_end();
	for (int i = 0; i <= 6; i++)
		CHECK(has_site(plain[i]));
}

/* Another trace comes or goes just now: the kernel puts an int3 first, then the tail, then the first byte. */
TEST(a_place_that_is_being_patched_is_a_site)
{
	static const uint8_t padding[] = { 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc };

	memcpy(fake.text + plain[0] * FAKE_FUNC_BYTES, nop5, 5);
	fake.text[plain[0] * FAKE_FUNC_BYTES] = 0xcc;
	put_branch(plain[1], 0, 0xcc, addr_of(1));
	memcpy(fake.text + plain[2] * FAKE_FUNC_BYTES, endbr, 4);
	put_branch(plain[2], 4, 0xcc, 0xffffffffc0008000);
	memcpy(fake.text + plain[3] * FAKE_FUNC_BYTES, padding, sizeof(padding)); /* ret */
	fake_end();
	CHECK(has_site(plain[0]) && has_site(plain[1]) && has_site(plain[2]));
	CHECK(!has_site(plain[3]));
}

TEST(a_call_of_another_function_is_no_site)
{
	put_branch(plain[0], 0, 0xe8, addr_of(plain[9]));
	put_branch(plain[1], 0, 0xe9,
		   addr_of(plain[9])); /* all that it does is a tail call, or a return */
	put_branch(plain[2], 4, 0xe8, addr_of(plain[9]));      /* push, mov, call */
	put_branch(plain[3], 0, 0xe9, addr_of(plain[9]) + 17); /* into a .cold part */
	put_branch(plain[4], 0, 0xe8, 0xffffffffc0001000);     /* of a module */
	put_branch(plain[5], 0, 0xe8, 0xffffffffc0001004);
	put_branch(plain[6], 0, 0xe8, addr_of(1) + 9); /* into the middle of ftrace_caller */
	fake_end();
	for (int i = 0; i <= 7; i++)
		CHECK(!has_site(plain[i]));
}
