/* The kernel's list of functions that can be traced, in a memory made by hand. */
#include "kernel/ftracelist.h"
#include "fakekernel.h"

struct fake_page {
	uint64_t next;
	uint64_t records;
	uint32_t index;
	uint32_t order;
};

struct fake_record {
	uint64_t ip;
	uint64_t flags;
};

/* Eight functions' bytes each: data, where nothing else is. */
enum place { START = 8, END = 12, PAGE_A = 16, PAGE_B = 24, RECORDS_A = 32, RECORDS_B = 40 };

static uint32_t tcp, udp, ip, later, none;

static uint64_t addr_of(uint32_t func)
{
	return FAKE_BASE + func * FAKE_FUNC_BYTES;
}

static void put(enum place place, const void *bytes, size_t len)
{
	memcpy(fake.text + place * FAKE_FUNC_BYTES, bytes, len);
}

static void put_start(uint64_t addr)
{
	put(START, &addr, sizeof(addr));
}

static void put_end(uint64_t addr)
{
	put(END, &addr, sizeof(addr));
}

static void put_page(enum place place, uint64_t next, enum place records, uint32_t cnt)
{
	const struct fake_page page = { .next = next, .records = addr_of(records), .index = cnt };

	put(place, &page, sizeof(page));
}

static void types(void)
{
	int number = btf__add_int(fake.btf, "unsigned int", 4, 0);
	int word = btf__add_int(fake.btf, "unsigned long", 8, 0);
	int ptr = btf__add_ptr(fake.btf, 0);

	btf__add_struct(fake.btf, "dyn_ftrace", sizeof(struct fake_record));
	btf__add_field(fake.btf, "ip", word, 0, 0);
	btf__add_field(fake.btf, "flags", word, 64, 0);
	btf__add_struct(fake.btf, "ftrace_page", sizeof(struct fake_page));
	btf__add_field(fake.btf, "next", ptr, 0, 0);
	btf__add_field(fake.btf, "records", ptr, 64, 0);
	btf__add_field(fake.btf, "index", number, 128, 0);
	btf__add_field(fake.btf, "order", number, 160, 0);
}

static void begin(void)
{
	fake_begin();
	types();
	tcp = fake_func("tcp_v4_rcv", FAKE_UNTYPED);
	udp = fake_func("udp_sendmsg", FAKE_UNTYPED);
	ip = fake_func("ip_rcv", FAKE_UNTYPED);
	later = fake_func("of_a_module", FAKE_UNTYPED);
	none = fake_func("notrace", FAKE_UNTYPED);
	strbuf_printf(&fake.syms, "%016llx d ftrace_pages_start\n",
		      (unsigned long long)addr_of(START));
	strbuf_printf(&fake.syms, "%016llx d ftrace_pages\n", (unsigned long long)addr_of(END));
	memset(fake.text + START * FAKE_FUNC_BYTES, 0, sizeof(fake.text) - START * FAKE_FUNC_BYTES);
}

/* Two pages: the kernel's, one function with an endbr64; a module's, with one that was freed. */
static void put_list(void)
{
	const struct fake_record first[] = { { addr_of(tcp) + 4, 0 },
					     { addr_of(udp), 0 },
					     { addr_of(ip), 0 } };
	const struct fake_record second[] = { { 0, 0 }, { addr_of(later), 0 } };

	put_start(addr_of(PAGE_A));
	put_end(addr_of(PAGE_B));
	put_page(PAGE_A, addr_of(PAGE_B), RECORDS_A, 3);
	put_page(PAGE_B, 0, RECORDS_B, 2);
	put(RECORDS_A, first, sizeof(first));
	put(RECORDS_B, second, sizeof(second));
}

static struct ftrace_list *list;

static void begin_list(void)
{
	begin();
	put_list();
}

/* -ENOENT, or what was read; then all is released. */
static int read_list(void)
{
	int err;

	fake_end();
	err = ftrace_list_new(&list, fake.kt, fake.ks, fake.kb);
	fake_release();
	return err;
}

TEST(functions_of_all_pages_are_there)
{
	begin_list();
	CHECK(!read_list());
	CHECK(ftrace_list_has(list, addr_of(tcp)) && ftrace_list_has(list, addr_of(udp)));
	CHECK(ftrace_list_has(list, addr_of(ip)) && ftrace_list_has(list, addr_of(later)));
	CHECK(!ftrace_list_has(list, addr_of(none)) && !ftrace_list_has(list, addr_of(later) + 1));
	CHECK(!ftrace_list_has(list, addr_of(later) + 64) && !ftrace_list_has(list, 0));
	ftrace_list_free(list);
}

TEST(a_list_that_lacks_what_must_be_there_is_none)
{
	begin_list();
	put_page(PAGE_A, addr_of(PAGE_B), RECORDS_A, 2); /* no ip_rcv */
	CHECK(read_list() == -ENOENT);
	begin();
	CHECK(read_list() == -ENOENT); /* nothing */
}

static void check_astray(enum place page, uint64_t next, enum place records, uint32_t cnt)
{
	begin_list();
	put_page(page, next, records, cnt);
	CHECK(read_list() == -ENOENT);
}

TEST(a_list_that_leads_astray_is_none)
{
	check_astray(PAGE_B, addr_of(PAGE_A), RECORDS_B, 2); /* a circle */
	check_astray(PAGE_B, 0x1000, RECORDS_B, 2);          /* to where nothing is */
	check_astray(PAGE_B, 0, RECORDS_B, 0x7fffffff);
	check_astray(PAGE_A, 0, RECORDS_A, 3); /* cut by a module that goes */
	begin_list();
	put_start(0x1000);
	CHECK(read_list() == -ENOENT);
}

TEST(it_may_be_hidden_or_unknown)
{
	begin_list();
	strbuf_reset(&fake.syms);
	CHECK(read_list() == -ENOENT);
	begin_list();
	btf__free(fake.btf);
	fake.btf = btf__new_empty(); /* no types */
	CHECK(read_list() == -ENOENT);
}
