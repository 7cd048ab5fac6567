/* Names of user stacks: of this process, from its own files. */
#include "kernel/stacknamer.h"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "harness.h"
#include "kernel/elfsyms.h"
#include "nfg_abi.h"

#ifdef __clang__
#define KNOWN __attribute__((noinline, used))
#else
#define KNOWN __attribute__((noinline, noclone, used))
#endif

static KNOWN int first_known(int x)
{
	return x * 3 + 1;
}

static KNOWN int second_known(int x)
{
	return first_known(x) - 7;
}

/* A table among the code, as compilers and assemblers put them (uftrace#1991). */
extern const char data_in_text[];
__asm__(".pushsection .text\n"
	".globl data_in_text\n"
	".type data_in_text, %object\n"
	"data_in_text: .skip 64, 0xcc\n"
	".size data_in_text, 64\n"
	".popsection\n");

static uint64_t addrs[NFG_STACK_FRAMES];
static uint32_t addr_cnt;
static uint32_t read_cnt; /* of stacks */

static uint32_t stack_at(void *ctx, uint32_t nr, uint64_t *to)
{
	CHECK(nr == 4 || nr == 5);
	memcpy(to, addrs, sizeof(addrs));
	read_cnt++;
	return addr_cnt;
}

static struct userstacks *stacks;
static struct stacknamer *sn;

static void begin(void)
{
	struct stacknamer_config config = { .proc = "/proc",
					    .timeout_ms = 20000,
					    .stack = stack_at };

	CHECK(!userstacks_new(&stacks, 0));
	config.stacks = stacks;
	CHECK(!stacknamer_new(&sn, &config));
}

static void end(void)
{
	stacknamer_free(sn);
	userstacks_free(stacks);
}

BEFORE(begin);
AFTER(end);

static uint64_t own_mm(void)
{
	FILE *file = fopen("/proc/self/stat", "re");
	unsigned long long mm = 0;

	CHECK(file);
	CHECK(fscanf(file,
		     "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
		     "%*d %*d %*d %*u %*u %*d %*u %*u %*u %llu",
		     &mm) == 1);
	fclose(file);
	CHECK(mm > 0x1000);
	return mm;
}

static const struct user_stack *take_of(uint32_t tgid, uint64_t mm, uint32_t nr)
{
	const struct user_stack *stack =
		userstacks_show(stacks, stacknamer_take(sn, NFG_USTACK(tgid, nr), mm));

	CHECK(stack);
	return stack;
}

static const struct user_stack *take(void)
{
	return take_of((uint32_t)getpid(), own_mm(), 5);
}

static void put_addr(uint64_t addr)
{
	addrs[addr_cnt++] = addr;
}

static bool is_named(const struct user_frame *frame, const char *name, uint64_t offset)
{
	return text_equal(frame->symbol, text_from(name)) && frame->offset == offset;
}

static bool ends_with(struct text text, const char *end_of)
{
	const size_t len = strlen(end_of);

	return text.len >= len && !memcmp(text.ptr + text.len - len, end_of, len);
}

TEST(functions_of_this_program_have_names)
{
	const struct user_stack *stack;

	CHECK(second_known(2) == 0);
	put_addr((uintptr_t)first_known + 1);
	put_addr((uintptr_t)second_known + 2);
	stack = take();
	CHECK(stack->state == USER_STACK_NAMED && stack->frame_cnt == 2);
	CHECK(is_named(&stack->frames[0], "first_known", 1));
	CHECK(is_named(&stack->frames[1], "second_known", 2));
	for (uint32_t i = 0; i < 2; i++) {
		CHECK(stack->frames[i].ip == addrs[i] &&
		      stack->frames[i].size_bytes > stack->frames[i].offset);
		CHECK(ends_with(stack->frames[i].file, "/test_usersyms"));
	}
}

TEST(data_has_no_name_in_a_stack)
{
	const struct user_stack *stack;

	put_addr((uintptr_t)first_known + 1);
	put_addr((uintptr_t)data_in_text + 8);
	put_addr((uintptr_t)second_known + 1);
	stack = take();
	CHECK(stack->frame_cnt == 3 && is_named(&stack->frames[2], "second_known", 1));
	CHECK(!text_equal(stack->frames[1].symbol, text_from("data_in_text")));
	CHECK(ends_with(stack->frames[1].file, "/test_usersyms"));
}

/* A call may be the last thing that a function does; the address behind it is of the next one. */
TEST(a_return_belongs_to_the_function_of_the_call)
{
	const struct user_stack *stack;
	uint64_t size_bytes;

	put_addr((uintptr_t)first_known);
	put_addr((uintptr_t)first_known + 1);
	size_bytes = take()->frames[1].size_bytes;
	CHECK(size_bytes);
	addrs[0] += size_bytes;
	addrs[1] += size_bytes - 1;
	stack = take_of((uint32_t)getpid(), own_mm(), 6);
	CHECK(is_named(&stack->frames[1], "first_known", size_bytes));
	CHECK(!is_named(&stack->frames[0], "first_known", size_bytes));
}

static int find_note(struct dl_phdr_info *info, size_t size, void *ctx)
{
	char *hex = ctx;

	for (int i = 0; !*info->dlpi_name && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *head = &info->dlpi_phdr[i];
		const uint32_t *at = (const void *)(info->dlpi_addr + head->p_vaddr);
		const uint32_t *stop = (const void *)((const char *)at + head->p_memsz);

		while (head->p_type == PT_NOTE && head->p_align == 4 && at < stop) {
			const unsigned char *desc = (const void *)(at + 3 + (at[0] + 3) / 4);

			for (uint32_t b = 0; at[2] == 3 && b < at[1]; b++)
				sprintf(hex + 2 * b, "%02x", desc[b]);
			at += 3 + (at[0] + 3) / 4 + (at[1] + 3) / 4;
		}
	}
	return 0;
}

TEST(a_frame_has_the_build_id_of_its_file)
{
	char want[129] = "";

	dl_iterate_phdr(find_note, want);
	CHECK(strlen(want) == 40);
	put_addr((uintptr_t)first_known);
	CHECK(text_equal(take()->frames[0].build_id, text_from(want)));
}

TEST(a_stack_is_read_once)
{
	put_addr((uintptr_t)first_known);
	CHECK(take() == take() && read_cnt == 1);
	CHECK(userstacks_cnt(stacks, USER_STACK_NAMED) == 2);
}

TEST(a_library_has_names)
{
	const struct user_stack *stack;

	put_addr((uintptr_t)getpid + 1);
	stack = take();
	CHECK(is_named(&stack->frames[0], "getpid", 1) ||
	      ends_with(stack->frames[0].symbol, "getpid"));
	CHECK(memmem(stack->frames[0].file.ptr, stack->frames[0].file.len, "libc", 4) ||
	      memmem(stack->frames[0].file.ptr, stack->frames[0].file.len, "san", 3));
}

TEST(the_vdso_has_names)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	const struct user_stack *stack;

	if (!base)
		return;
	for (uint64_t at = 0; at < 0x1000; at += 16) {
		addr_cnt = 0;
		put_addr(base + at);
		stack = take();
		CHECK(text_equal(stack->frames[0].file, text_from("[vdso]")));
		if (stack->frames[0].symbol.len)
			return;
		end();
		begin();
	}
	CHECK(!"no function of the vdso has a name");
}

/* Code made at run time has no file, and no name is made up for it. */
TEST(code_without_a_file_is_unknown)
{
	void *made = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct user_stack *stack;

	CHECK(made != MAP_FAILED);
	put_addr((uintptr_t)made + 8);
	put_addr((uintptr_t)first_known + 1);
	stack = take();
	CHECK(stack->frame_cnt == 2 && !stack->frames[0].symbol.len && !stack->frames[0].file.len);
	CHECK(stack->frames[0].ip == addrs[0] && is_named(&stack->frames[1], "first_known", 1));
}

/* What the kernel finds above a function without a frame pointer may be anything. */
TEST(a_stack_ends_where_there_is_no_code)
{
	put_addr((uintptr_t)first_known + 1);
	put_addr((uintptr_t)addrs);
	put_addr((uintptr_t)second_known + 1);
	CHECK(take()->frame_cnt == 1);
}

TEST(a_process_that_has_ended_has_addresses_alone)
{
	const uint64_t mm = own_mm();
	int pid = fork();
	const struct user_stack *stack;

	if (!pid)
		_exit(0);
	waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 },
	       WEXITED | WNOWAIT); /* it has ended, and is still in /proc */
	put_addr((uintptr_t)first_known);
	put_addr((uintptr_t)second_known);
	stack = take_of((uint32_t)pid, mm, 5);
	CHECK(stack->state == USER_STACK_ENDED && stack->frame_cnt == 2);
	CHECK(stack->frames[1].ip == addrs[1] && !stack->frames[1].symbol.len);
	CHECK(!stack->frames[1].file.len && user_stack_note(stack->state));
	waitpid(pid, NULL, 0);
	CHECK(take_of((uint32_t)pid, mm, 5) == stack &&
	      userstacks_cnt(stacks, USER_STACK_ENDED) == 2);
}

/* After exec the same process has another program: its names are not those of the stack. */
TEST(another_program_of_the_process_gives_no_names)
{
	put_addr((uintptr_t)first_known);
	CHECK(take_of((uint32_t)getpid(), own_mm() + 16, 5)->state == USER_STACK_ENDED);
}

TEST(what_was_read_of_a_process_holds_after_its_end)
{
	const uint64_t mm = own_mm();
	int pipe_fds[2];
	int pid;
	char c;

	CHECK(!pipe(pipe_fds));
	pid = fork();
	if (!pid) {
		close(pipe_fds[1]);
		_exit(read(pipe_fds[0], &c, 1) < 0);
	}
	put_addr((uintptr_t)first_known);
	CHECK(take_of((uint32_t)pid, mm, 5)->state == USER_STACK_NAMED);
	close(pipe_fds[1]);
	waitpid(pid, NULL, 0);
	addrs[0] = (uintptr_t)second_known + 1;
	CHECK(is_named(&take_of((uint32_t)pid, mm, 6)->frames[0], "second_known", 1));
	CHECK(read_cnt == 2);
}

TEST(a_stack_that_the_kernel_did_not_keep_is_said)
{
	const struct user_stack *stack = take_of((uint32_t)getpid(), own_mm(), 0);

	CHECK(stack->state == USER_STACK_LOST && !stack->frame_cnt && !read_cnt);
}

TEST(only_the_newest_stacks_are_kept)
{
	const struct user_stack none = { 0 };
	struct userstacks *few;
	uint32_t nrs[5];

	CHECK(!userstacks_new(&few, 3));
	for (size_t i = 0; i < 5; i++)
		nrs[i] = userstacks_add(few, &none);
	for (size_t i = 0; i < 5; i++)
		CHECK(userstacks_has(few, nrs[i]) == (i >= 2));
	CHECK(userstacks_get_new(few, nrs[4]) && !userstacks_get_new(few, nrs[4]));
	userstacks_forget_given(few);
	CHECK(userstacks_get_new(few, nrs[4]));
	userstacks_free(few);
}

/* Any file can be mapped; a broken one has no names, and does no harm. */
TEST(a_damaged_file_does_no_harm)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elfsyms *es = NULL;
	struct elfsym sym;
	uint32_t seed = 1;
	struct stat st;
	char *bytes;
	char *copy;

	CHECK(in >= 0 && !fstat(in, &st));
	CHECK(!elfsyms_new(&es, in));
	elfsyms_free(es);
	bytes = malloc((size_t)st.st_size);
	copy = malloc((size_t)st.st_size);
	CHECK(bytes && copy && pread(in, bytes, (size_t)st.st_size, 0) == st.st_size);
	for (int try = 0; try < 200; try++) {
		/* in the headers, which say where everything is */
		memcpy(copy, bytes, (size_t)st.st_size);
		for (int i = 0; i < 4; i++) {
			const bool at_end = (seed = seed * 1103515245 + 12345) >> 16 & 1;
			const size_t at = (seed = seed * 1103515245 + 12345) >> 8 & 2047;

			copy[at_end ? (size_t)st.st_size - 1 - at : at] = (char)(seed >> 20);
		}
		es = NULL;
		if (elfsyms_new_memory(&es, copy, try % 4 ? (size_t)st.st_size : seed % 4096))
			continue;
		for (uint64_t at = 0; at < (uint64_t)st.st_size; at += 777)
			elfsyms_find(es, at, at & 1, &sym);
		elfsyms_free(es);
	}
	free(bytes);
	free(copy);
	close(in);
}
