/* Return addresses as text, from a saved /proc/kallsyms and from what a recording told. */
#include "kernel/ktext.h"
#include "harness.h"
#include "scratch.h"

/* Modules are below the kernel, in no order; several names share an address. */
static const char kallsyms[] = "ffffffff81000000 T _text\n"
			       "ffffffff81000000 T _stext\n"
			       "ffffffff81000100 T tcp_v4_connect\n"
			       "ffffffff81000300 t __pfx_helper\n"
			       "ffffffff81000310 t helper\n"
			       "ffffffff81000400 T first_name\n"
			       "ffffffff81000400 T second_name\n"
			       "ffffffff81000400 W third_name\n"
			       "ffffffff81000440 T behind_names\n"
			       "ffffffff81000f80 T last_of_kernel\n"
			       "ffffffff82000000 D some_data\n"
			       "ffffffffc0200000 t veth_open\t[veth]\n"
			       "ffffffffc0200000 t veth_other\t[veth]\n"
			       "ffffffffc0200040 t veth_xmit\t[veth]\n"
			       "ffffffffc0100000 t nf_hook\t[nf_tables]\n"
			       "ffffffffc0100fc0 t nf_last\t[nf_tables]\n"
			       "ffffffffc0101800 t br_only\t[bridge]\n"
			       "ffffffffc0300000 t bpf_prog_6deef7357e7b4530\t[bpf]\n";

static struct ksyms *ks;
static struct retaddr *cs;

static void begin(const char *text)
{
	CHECK(!ksyms_new_at(&ks, temp_file(text, strlen(text))));
	CHECK(!retaddr_new(&cs, ks));
}

static void end(void)
{
	retaddr_free(cs);
	ksyms_free(ks);
}
AFTER(end);

static const struct number_case cases[] = {
	{ 0xffffffff81000100, "tcp_v4_connect+0x0/0x200" },
	{ 0xffffffff810002f5, "tcp_v4_connect+0x1f5/0x200" },
	{ 0xffffffff81000300, "__pfx_helper+0x0/0x10" },
	{ 0xffffffff81000325, "helper+0x15/0xf0" },
	/* the kernel takes the first of several */
	{ 0xffffffff81000400, "first_name+0x0/0x40" },
	{ 0xffffffff8100043f, "first_name+0x3f/0x40" },
	{ 0xffffffff81000440, "behind_names+0x0/0xb40" },
	{ 0xffffffffc020003f, "veth_open+0x3f/0x40 [veth]" },
	{ 0xffffffffc010000b, "nf_hook+0xb/0xfc0 [nf_tables]" },
	/* the last one of the kernel or of a module ends with its page */
	{ 0xffffffff81000fff, "last_of_kernel+0x7f/0x80" },
	{ 0xffffffff81001000, "bpf_trampoline" },
	{ 0xffffffffc020008b, "veth_xmit+0x4b/0xfc0 [veth]" },
	{ 0xffffffffc0200fff, "veth_xmit+0xfbf/0xfc0 [veth]" },
	{ 0xffffffffc0201000, "bpf_trampoline" },
	{ 0xffffffffc0100fff, "nf_last+0x3f/0x40 [nf_tables]" },
	{ 0xffffffffc0101000, "bpf_trampoline" },
	{ 0xffffffffc0101801, "br_only+0x1/0x800 [bridge]" },
	/* in no text at all: before, between, behind */
	{ 0x1000, "bpf_trampoline" },
	{ 0xffffffffa0001055, "bpf_trampoline" },
	{ 0xffffffffc0300010, "bpf_trampoline" },
	{ UINT64_MAX, "bpf_trampoline" },
};

TEST(callers_are_written_as_the_kernel_does)
{
	begin(kallsyms);
	for (int round = 0; round < 2; round++) { /* looked up, then remembered */
		EACH(c, cases)
			CHECK_TEXT(retaddr_get(cs, c->in), c->want);
	}
	retaddr_free(NULL);
}

/* Names of data are in kallsyms, too, some of them among the code (retsnoop#7). */
TEST(tracing_hides_callers)
{
	CHECK(retaddr_is_tracing(text_from("return_to_handler+0x0/0x50")));
	CHECK(retaddr_is_tracing(text_from("bpf_trampoline")));
	CHECK(!retaddr_is_tracing(text_from("return_to_handlers+0x0/0x50")));
	CHECK(!retaddr_is_tracing(text_from("tcp_v4_rcv+0x4b/0x90")));
	CHECK(!retaddr_is_tracing(text_from("")));
}

TEST(data_calls_nobody)
{
	static const struct number_case among[] = {
		{ 0xffffffff81000108, "tcp_v4_connect+0x8/0x100" },
		{ 0xffffffff81000148, "tcp_v4_connect+0x48/0x100" },
		{ 0xffffffff81000208, "helper+0x8/0xe00" },
		{ 0xffffffff82000008, "bpf_trampoline" },
	};

	begin("ffffffff81000000 T _text\n"
	      "ffffffff81000000 T _stext\n"
	      "ffffffff81000100 T tcp_v4_connect\n"
	      "ffffffff81000140 d jump_table\n"
	      "ffffffff81000180 r constants\n"
	      "ffffffff81000200 t helper\n"
	      "ffffffff82000000 D init_task\n");
	EACH(c, among)
		CHECK_TEXT(retaddr_get(cs, c->in), c->want);
}

static uint32_t two_frames(void *ctx, uint32_t nr, uint64_t *addrs)
{
	++*(int *)ctx;
	addrs[0] = 0xffffffff81000105;
	addrs[1] = 0x1000;
	return nr == 3 ? 2 : 0;
}

TEST(stacks_are_asked_for_once)
{
	int asked_cnt = 0;
	struct text name;

	begin(kallsyms);
	CHECK(!retaddr_frame(cs, 3, 0, &name));
	retaddr_follow(cs, two_frames, &asked_cnt);
	CHECK(retaddr_frame(cs, 3, 1, &name));
	CHECK_STR(name.ptr, "bpf_trampoline");
	CHECK(retaddr_frame(cs, 3, 0, &name));
	CHECK_STR(name.ptr, "tcp_v4_connect+0x5/0x200");
	CHECK(!retaddr_frame(cs, 3, 2, &name) && asked_cnt == 1);
	CHECK(retaddr_get_new(cs, RETADDR_FRAME(3, 0), &name));
	CHECK(!retaddr_get_new(cs, RETADDR_FRAME(3, 0), &name));
	CHECK(!retaddr_get_new(cs, RETADDR_FRAME(3, 2), &name));
	CHECK(!retaddr_frame(cs, 4, 0, &name) && asked_cnt == 2);
}

TEST(callers_are_told_once)
{
	struct text name;

	begin(kallsyms);
	CHECK(retaddr_get_new(cs, 0xffffffff81000105, &name));
	CHECK_STR(name.ptr, "tcp_v4_connect+0x5/0x200");
	CHECK(!retaddr_get_new(cs, 0xffffffff81000105, &name));
	CHECK_STR(name.ptr, "tcp_v4_connect+0x5/0x200");
	/* asked for before is not told */
	retaddr_get(cs, 0xffffffff81000106);
	CHECK(retaddr_get_new(cs, 0xffffffff81000106, &name));
	CHECK(!retaddr_get_new(cs, 0xffffffff81000106, &name));
	/* there is no address 0 */
	CHECK(!retaddr_get_new(cs, 0, &name) && !retaddr_get(cs, 0).len);
}

TEST(callers_of_a_recording_are_those_it_told)
{
	CHECK(!retaddr_new(&cs, NULL));
	CHECK(!retaddr_add(cs, 0x1000, (struct text){ "one+0x1/0x2 [mod] and more", 17 }));
	CHECK(!retaddr_add(cs, 0x1000, (struct text){ "again", 5 }));
	CHECK(!retaddr_add(cs, 0, (struct text){ "nothing", 7 }));
	CHECK_STR(retaddr_get(cs, 0x1000).ptr, "one+0x1/0x2 [mod]");
	CHECK_STR(retaddr_get(cs, 0x1001).ptr, "?");
	CHECK(!retaddr_get(cs, 0).len);
}

TEST_ONE(callers_are_unknown_where_the_kernel_hides_addresses,
	 begin("0000000000000000 T _text\n"
	       "0000000000000000 T tcp_v4_connect\n"
	       "0000000000000000 t veth_open\t[veth]\n"),
	 CHECK_STR(retaddr_get(cs, 0xffffffff81000105).ptr, "?"),
	 CHECK_STR(retaddr_get(cs, 0x10).ptr, "?"));

TEST(callers_have_room_for_many)
{
	struct text name;
	char want[64];

	begin(kallsyms);
	for (int round = 0; round < 2; round++) {
		for (uint64_t off = 0; off < 0xb40; off++) {
			snprintf(want, sizeof(want), "behind_names+0x%llx/0xb40",
				 (unsigned long long)off);
			CHECK(retaddr_get_new(cs, 0xffffffff81000440 + off, &name) == !round);
			CHECK_STR(name.ptr, want);
		}
	}
}
