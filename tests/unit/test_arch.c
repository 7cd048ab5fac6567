/*
 * What is particular to an architecture. The words of arm64 are an assembler's, for the text that stands beside them;
 * x86-64's are in test_callgraph.c and test_ktext.c.
 */
#include <elf.h>

#include "base/arch.h"
#include "harness.h"
#include "select/reach.h"

#define BASE     0xffff800081000000ull
#define WORD_CNT 4
#define NOP      0xd503201f
#define BTI_C    0xd503245f
#define MOVE     0xaa1e03e9 /* mov x9, x30 */

struct seen {
	uint64_t addr[4];
	bool is_jump[4];
	size_t cnt;
};

static int note(void *ctx, uint64_t addr, bool is_jump)
{
	struct seen *seen = ctx;

	seen->addr[seen->cnt] = addr - BASE;
	seen->is_jump[seen->cnt++] = is_jump;
	return 0;
}

/* What @words lead to, at BASE + @at; each of them is followed by nops. */
static struct seen scanned(uint32_t word, uint32_t at, bool *is_indirect)
{
	uint32_t words[WORD_CNT] = { word, NOP, NOP, NOP };
	struct seen seen = { .cnt = 0 };

	*is_indirect = false;
	CHECK(!arch_arm64.scan((const uint8_t *)words, sizeof(words), BASE + at, note, &seen,
			       is_indirect));
	return seen;
}

/* @target: from BASE */
static bool leads(uint32_t word, uint32_t at, int64_t target, bool is_jump)
{
	bool is_indirect;
	struct seen seen = scanned(word, at, &is_indirect);

	return seen.cnt == 1 && seen.addr[0] == (uint64_t)target && seen.is_jump[0] == is_jump &&
	       !is_indirect;
}

TEST(arm64_calls_and_jumps)
{
	CHECK(leads(0x940003fc, 0x10, 0x1000, false));    /* bl */
	CHECK(leads(0x95fffff6, 0x18, 0x7fffff0, false)); /* bl, as far as it goes */
	CHECK(leads(0x97ffffad, 0x4c, -0x100, false));    /* bl, back */
	CHECK(leads(0x16fffffb, 0x14, -0x4000000, true)); /* b */
	CHECK(leads(0x5403ff20, 0x1c, 0x8000, true));     /* b.eq */
	CHECK(leads(0x54ff7f0e, 0x20, -0x1000, true));    /* b.al */
	CHECK(leads(0xb47ffe63, 0x24, 0xffff0, true));    /* cbz x3 */
	CHECK(leads(0x35bffec3, 0x28, -0x80000, true));   /* cbnz w3 */
	CHECK(leads(0x362b7ea0, 0x2c, 0x7000, true));     /* tbz w0, #5 */
	CHECK(leads(0xb7447e80, 0x30, -0x7000, true));    /* tbnz x0, #40 */
}

TEST(arm64_other_instructions_lead_nowhere)
{
	static const uint32_t words[] = {
		NOP,        BTI_C, MOVE, 0xd65f03c0, /* ret */
		0x8b020020,                          /* add x0, x1, x2 */
		0x58000560,                          /* ldr x0, literal */
		0x90c08010,                          /* adrp */
		0x9119e210,                          /* add x16, x16, #1656 */
		0x94000003,                          /* bl into this function */
		0x54000060,                          /* b.eq likewise */
	};
	bool is_indirect;

	for (size_t i = 0; i < CNT_OF(words); i++) {
		CHECK(!scanned(words[i], 0, &is_indirect).cnt && !is_indirect);
	}
}

TEST(arm64_calls_through_registers)
{
	bool is_indirect;

	CHECK(!scanned(0xd63f0100, 0, &is_indirect).cnt && is_indirect); /* blr x8 */
	CHECK(!scanned(0xd61f0200, 0, &is_indirect).cnt && is_indirect); /* br x16 */
}

TEST(arm64_a_cut_instruction_is_not_read)
{
	static const uint8_t bl[] = { 0xfc, 0x03, 0x00, 0x94 };
	struct seen seen = { .cnt = 0 };
	bool is_indirect = false;

	for (uint32_t len = 0; len < sizeof(bl); len++)
		CHECK(!arch_arm64.scan(bl, len, BASE, note, &seen, &is_indirect));
	CHECK(!seen.cnt);
}

static uint64_t stub(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint64_t addr)
{
	const uint32_t words[WORD_CNT] = { a, b, c, d };
	uint64_t target = 1;

	if (!arch_arm64.stub_target((const uint8_t *)words, addr, &target))
		return 0;
	return target;
}

TEST(arm64_stubs)
{
	/* adrp x16; add x16, x16, #0x678; br x16 */
	CHECK(stub(0xb0091a30, 0x9119e210, 0xd61f0200, NOP, 0x40) == 0x12345678);
	CHECK(stub(BTI_C, 0xb0091a30, 0x9119e210, 0xd61f0200, 0x3c) == 0x12345678);
	CHECK(stub(0x90c08010, 0x9119e210, 0xd61f0200, NOP, 0x48) == 0xffffffff81000678);
	/* pages are counted from the page that the adrp is in */
	CHECK(stub(BTI_C, 0xb0091a30, 0x9119e210, 0xd61f0200, 0xffc) == 0x12346678);
	CHECK(stub(0x940003fc + 0x80000000, 0, 0, 0, 0x10) == 0x1000); /* b */
	CHECK(!stub(0xb0091a30, 0x9119e210, 0xd63f0200, NOP, 0x40));   /* blr */
	CHECK(!stub(0xb0091a31, 0x9119e210, 0xd61f0200, NOP, 0x40));   /* adrp x17 */
	CHECK(!stub(0xb0091a30, 0x9159e210, 0xd61f0200, NOP, 0x40));   /* add of the upper bits */
	CHECK(!stub(NOP, NOP, NOP, NOP, 0x40));
}

static bool is_tracer(void *ctx, uint64_t addr)
{
	return addr == *(const uint64_t *)ctx;
}

static bool is_site(uint32_t first, uint32_t second, uint64_t tracer)
{
	const uint32_t words[] = { first, second };

	return arch_arm64.is_probe_site((const uint8_t *)words, BASE, is_tracer, &tracer);
}

TEST(arm64_places_for_probes)
{
	CHECK(is_site(NOP, NOP, 0) && is_site(MOVE, NOP, 0));
	CHECK(is_site(MOVE, 0x940003fc, BASE + 4 + 0xff0)); /* bl */
	CHECK(!is_site(MOVE, 0x940003fc, BASE + 0xff0));
	CHECK(!is_site(NOP, 0x940003fc, BASE + 4 + 0xff0));
	CHECK(!is_site(MOVE, 0x140003fc, BASE + 4 + 0xff0)); /* b */
	CHECK(!is_site(BTI_C, NOP, 0) && !is_site(NOP, MOVE, 0));
}

/* f calls g, which begins with a bti, and by a stub behind both h, which is far away. */
static int text_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	static const uint32_t text[64] = {
		[0] = MOVE,        [1] = NOP,         [2] = 0x9400000b, /* bl to 13 */
		[3] = 0x9400000d,                                       /* bl to 16 */
		[12] = BTI_C,      [16] = 0x90080010, [17] = 0x91001210,
		[18] = 0xd61f0200, /* 0x10000004 on */
	};

	if (addr < BASE || addr - BASE > sizeof(text))
		return -1;
	memset(buf, 0, len);
	memcpy(buf, (const char *)text + (addr - BASE),
	       len < sizeof(text) - (addr - BASE) ? len : sizeof(text) - (addr - BASE));
	return 0;
}

static size_t callee_cnt(const char *module)
{
	const struct ksym_text syms[] = {
		{ BASE, "f", module },
		{ BASE + 12 * 4, "g", module },
		{ BASE + 0x10000000, "h", NULL },
	};
	const uint32_t *callees;
	struct callgraph *cg;
	size_t cnt;

	CHECK(!callgraph_new(&cg, &arch_arm64, syms, 3, text_read, NULL));
	CHECK(!callgraph_callees(cg, 0, &callees, &cnt) && cnt >= 1 && callees[0] == 1);
	CHECK(cnt < 2 || callees[1] == 2);
	callgraph_free(cg);
	return cnt;
}

TEST(arm64_modules_call_by_stubs)
{
	CHECK(callee_cnt("veth") == 2);
	CHECK(callee_cnt(NULL) == 1); /* the kernel has none */
}

TEST(machines)
{
	CHECK(arch_of_machine(EM_X86_64) == &arch_x86_64);
	CHECK(arch_of_machine(EM_AARCH64) == &arch_arm64 && !arch_of_machine(EM_RISCV));
	/* what --max-overhead takes an event for */
	CHECK(arch_x86_64.event_insns && arch_arm64.event_insns > arch_x86_64.event_insns);
	CHECK(arch_x86_64.site_event_insns > arch_x86_64.event_insns &&
	      arch_arm64.site_event_insns > arch_x86_64.site_event_insns);
	CHECK(!arch_x86_64.trampolines_since && arch_arm64.trampolines_since);
	CHECK(arch_host() == &arch_x86_64 || arch_host() == &arch_arm64);
	CHECK(arch_x86_64.site_bytes <= ARCH_CODE_MAX_BYTES &&
	      arch_arm64.site_bytes <= ARCH_CODE_MAX_BYTES);
	CHECK(arch_x86_64.stub_bytes <= ARCH_CODE_MAX_BYTES &&
	      arch_arm64.stub_bytes <= ARCH_CODE_MAX_BYTES);
}
