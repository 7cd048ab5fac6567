/* The process that names user stacks, and the files of a made-up process that it reads, which may be anything. */
#include "kernel/stacknamer.c"
#include "kernel/usersyms.c"

#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/mman.h>

#include "harness.h"
#include "kernel/elfsyms.h"

#define MM 0x7ffc1230u

/* A program with two functions. */
struct made {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[4];
	Elf64_Sym syms[3];
	char strings[16];
	Elf64_Nhdr note;
	char note_name[4];
	unsigned char note_id[4];
};

static const struct made program = {
	.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64,
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			       ELFDATA2LSB,
#else
			       ELFDATA2MSB,
#endif
			       EV_CURRENT },
		  .e_machine = EM_X86_64,
		  .e_phoff = offsetof(struct made, segments),
		  .e_phentsize = sizeof(Elf64_Phdr),
		  .e_phnum = 2,
		  .e_shoff = offsetof(struct made, sections),
		  .e_shentsize = sizeof(Elf64_Shdr),
		  .e_shnum = 4 },
	.segments = { { .p_type = PT_LOAD, .p_vaddr = 0x1000000, .p_filesz = 0x2000 },
		      { .p_type = PT_NOTE,
			.p_offset = offsetof(struct made, note),
			.p_filesz = sizeof(Elf64_Nhdr) + 8,
			.p_align = 4 } },
	.sections = { { 0 },
		      { .sh_type = SHT_PROGBITS, .sh_addr = 0x1001000, .sh_size = 0x100 },
		      { .sh_type = SHT_SYMTAB,
			.sh_offset = offsetof(struct made, syms),
			.sh_size = 3 * sizeof(Elf64_Sym),
			.sh_entsize = sizeof(Elf64_Sym),
			.sh_link = 3 },
		      { .sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct made, strings),
			.sh_size = 16 } },
	.syms = { { 0 },
		  { .st_name = 1,
		    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		    .st_shndx = 1,
		    .st_value = 0x1001000,
		    .st_size = 16 },
		  { .st_name = 5,
		    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		    .st_shndx = 1,
		    .st_value = 0x1001010,
		    .st_size = 16 } },
	.strings = "\0one\0two",
	.note = { .n_namesz = 4, .n_descsz = 4, .n_type = NT_GNU_BUILD_ID },
	.note_name = "GNU",
	.note_id = { 0xde, 0xad, 0xbe, 0xef },
};

/* Where the program is mapped, and a place in each of its functions. */
#define BEGIN_AT 0x400000ull
#define IN_ONE   (BEGIN_AT + 0x1002)
#define IN_TWO   (BEGIN_AT + 0x1013)

/* ---- a made-up /proc, of process 7 ---- */

static char base[64];
static struct usersyms *us;

static const char *place(const char *name)
{
	static char paths[4][256];
	static int at;
	char *path = paths[at++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
	return path;
}

static void put_file(const char *name, const void *bytes, size_t len)
{
	FILE *file = fopen(place(name), "we");

	CHECK(file && fwrite(bytes, 1, len, file) == len && !fclose(file));
}

static void put_text(const char *name, const char *text)
{
	put_file(name, text, strlen(text));
}

static void put_stat(uint64_t mm)
{
	char text[256];

	snprintf(
		text, sizeof(text),
		"7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 %llu 0\n",
		(unsigned long long)mm);
	put_text("7/stat", text);
}

/* As the kernel lists the file when it is mapped: "08:01 1234", which stat() may tell otherwise. */
static const char *device_of(const char *file)
{
	static char device[64];
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long begin = 0;
	char line[PATH_MAX];

	CHECK(fd >= 0 && page != MAP_FAILED && maps);
	while (begin != (uintptr_t)page)
		CHECK(fgets(line, sizeof(line), maps) && sscanf(line, "%llx", &begin) == 1);
	CHECK(sscanf(line, "%*s %*s %*s %63[0-9a-f: ]", device) == 1);
	fclose(maps);
	munmap(page, 1);
	close(fd);
	return device;
}

/* The file's device and inode at the path that the process has it. */
static void put_map(const char *mode, uint64_t begin, const char *file, const char *path)
{
	FILE *maps = fopen(place("7/maps"), mode);

	CHECK(maps);
	fprintf(maps, "%08llx-%08llx r-xp 00000000 %s    %s\n", (unsigned long long)begin,
		(unsigned long long)begin + 0x2000, device_of(place(file)), path);
	CHECK(!fclose(maps));
}

static void begin(void)
{
	static const char *const dirs[] = {
		"7", "7/ns", "7/root", "7/root/bin", "self", "self/ns"
	};

	strcpy(base, "/tmp/nfg-stacknamer-XXXXXX");
	CHECK(mkdtemp(base));
	EACH(dir, dirs)
		CHECK(!mkdir(place(*dir), 0755));
	put_file("7/root/bin/x", &program, sizeof(program));
	put_map("we", BEGIN_AT, "7/root/bin/x", "/bin/x");
	put_stat(MM);
	CHECK(!usersyms_new(&us, base));
}

static void end(void)
{
	char command[128];

	usersyms_free(us);
	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	CHECK(!system(command));
}

BEFORE(begin);
AFTER(end);

static struct user_stack look_of(uint32_t tgid, uint32_t pid, uint64_t first, uint64_t second)
{
	const uint64_t addrs[] = { first, second };
	const struct usersyms_ask ask = {
		.tgid = tgid, .pid = pid, .mm = MM, .addrs = addrs, .addr_cnt = second ? 2 : 1
	};
	struct user_stack stack;

	CHECK(usersyms_look(us, &ask, &stack).len <= USERSYMS_TEXT_BYTES_MAX);
	return stack;
}

/* A stack of both functions. */
static struct user_stack look_at(uint32_t tgid)
{
	return look_of(tgid, 7, IN_ONE, IN_TWO);
}

static bool is_named(const struct user_stack *stack)
{
	return stack->state == USER_STACK_NAMED && stack->frame_cnt == 2 && !stack->lacks_files &&
	       text_equal(stack->frames[0].symbol, text_from("one")) &&
	       stack->frames[0].offset == 2 &&
	       text_equal(stack->frames[1].symbol, text_from("two")) &&
	       stack->frames[1].offset == 3 &&
	       text_equal(stack->frames[1].file, text_from("/bin/x")) &&
	       text_equal(stack->frames[1].build_id, text_from("deadbeef"));
}

/* The file is known by its path and place, and nothing was read of it. */
static bool is_unread(const struct user_stack *stack)
{
	return stack->state == USER_STACK_NAMED && stack->frame_cnt == 2 && stack->lacks_files &&
	       !stack->frames[0].symbol.len && !stack->frames[0].build_id.len &&
	       stack->frames[0].offset == 0x1002 && stack->frames[0].file.len;
}

TEST(a_mapped_file_has_names)
{
	struct user_stack stack = look_at(7);

	CHECK(is_named(&stack));
	/* both frames have the same text */
	CHECK(stack.frames[0].file.ptr == stack.frames[1].file.ptr);
}

TEST(a_mapped_path_is_opened_only_if_it_is_the_regular_file)
{
	struct user_stack stack;

	CHECK(!rename(place("7/root/bin/x"), place("x")));
	CHECK(!mkfifo(place("7/root/bin/x"), 0644));
	stack = look_at(1);
	CHECK(is_unread(&stack));
	/* a link to the very file, outside the root */
	CHECK(!unlink(place("7/root/bin/x")) && !symlink(place("x"), place("7/root/bin/x")));
	stack = look_at(2);
	CHECK(is_unread(&stack));
	CHECK(!unlink(place("7/root/bin/x")) && !mkdir(place("7/root/bin/x"), 0755));
	stack = look_at(3);
	CHECK(is_unread(&stack));
	CHECK(!rmdir(place("7/root/bin/x")));
	put_file("7/root/bin/x", &program,
		 sizeof(program)); /* another file with the same contents */
	stack = look_at(4);
	CHECK(is_unread(&stack));
	CHECK(!rename(place("x"), place("7/root/bin/y")) && !unlink(place("7/root/bin/x")));
	CHECK(!symlink("y", place("7/root/bin/x")));
	stack = look_at(5);
	CHECK(is_unread(&stack));
	CHECK(!rename(place("7/root/bin/y"), place("7/root/bin/x")));
	stack = look_at(6);
	CHECK(is_named(&stack));
}

TEST(no_path_leads_out_of_the_root)
{
	struct user_stack stack;

	CHECK(!rename(place("7/root/bin/x"), place("x")));
	CHECK(!symlink(base, place("7/root/dir")));
	put_map("we", BEGIN_AT, "x", "/dir/x");
	stack = look_at(1);
	CHECK(is_unread(&stack));
	put_map("we", BEGIN_AT, "x", "/../../x");
	stack = look_at(2);
	CHECK(is_unread(&stack));
	/* our own path of the file, which another root does not have */
	put_map("we", BEGIN_AT, "x", place("x"));
	stack = look_at(3);
	CHECK(is_unread(&stack));
}

/* The kernel then writes paths as we see them, whatever the process's root is. */
TEST(in_our_mount_namespace_the_path_is_ours)
{
	struct user_stack stack;

	CHECK(!symlink("mnt:[1]", place("7/ns/mnt")) && !symlink("mnt:[1]", place("self/ns/mnt")));
	stack = look_at(1);
	CHECK(is_unread(&stack));
	put_map("we", BEGIN_AT, "7/root/bin/x", place("7/root/bin/x"));
	stack = look_at(2);
	CHECK(text_equal(stack.frames[0].symbol, text_from("one")) && !stack.lacks_files);
}

TEST(the_program_is_read_though_it_was_removed)
{
	struct user_stack stack;

	put_map("we", BEGIN_AT, "7/root/bin/x", "/bin/x (deleted)");
	CHECK(!rename(place("7/root/bin/x"), place("7/exe")));
	stack = look_at(7);
	CHECK(is_named(&stack));
}

TEST(the_device_and_the_inode_of_a_map_are_compared)
{
	const char *device = device_of(place("7/root/bin/x"));
	const char *ino = strchr(device, ' ');
	struct user_stack stack;
	char text[128];

	snprintf(text, sizeof(text), "400000-402000 r-xp 00000000 %s /bin/x\n", device);
	put_text("7/maps", text);
	stack = look_at(1);
	CHECK(is_named(&stack));
	snprintf(text, sizeof(text), "400000-402000 r-xp 00000000 77:77%s /bin/x\n", ino);
	put_text("7/maps", text);
	stack = look_at(2);
	CHECK(is_unread(&stack));
	snprintf(text, sizeof(text), "400000-402000 r-xp 00000000 %.*s 1%s /bin/x\n",
		 (int)(ino - device), device, ino + 1);
	put_text("7/maps", text);
	stack = look_at(3);
	CHECK(is_unread(&stack));
}

static void check_opened(const char *path, bool is_opened)
{
	int look = open(path, O_PATH | O_CLOEXEC);
	struct user_map map = { 0 };
	struct stat st;
	unsigned int major;
	unsigned int minor;
	int fd;

	CHECK(look >= 0);
	if (is_opened) {
		CHECK(sscanf(device_of(path), "%x:%x %" SCNu64, &major, &minor, &map.ino) == 3);
		map.dev = (uint64_t)major << 32 | minor;
	}
	fd = open_looked(&map, look, &st);
	CHECK((fd >= 0) == is_opened);
	if (fd >= 0)
		close(fd);
}

/* Even if the map says so: what a process or the kernel makes up has no end. */
TEST(only_regular_files_of_disks_are_opened)
{
	int fd = open("/proc/version", O_PATH | O_CLOEXEC);

	CHECK(fd >= 0 && is_foreign(fd));
	close(fd);
	check_opened(place("7/root/bin/x"), true);
	check_opened("/proc/version", false);
	check_opened("/dev/null", false);
	check_opened(place("7/root"), false);
	CHECK(!mkfifo(place("fifo"), 0644));
	check_opened(place("fifo"), false);
}

/* Another process may have the number of one whose maps are known, and another root and program. */
TEST(files_of_the_next_process_are_not_taken)
{
	const uint64_t addrs[] = { BEGIN_AT + 0x3000, IN_TWO };
	struct usersyms_ask ask = { .tgid = 1, .pid = 7, .mm = MM, .addrs = addrs, .addr_cnt = 1 };
	FILE *maps = fopen(place("7/maps"), "ae");
	struct user_stack stack;

	CHECK(maps && fprintf(maps, "402000-404000 r-xp 00000000 00:00 0\n") > 0 && !fclose(maps));
	usersyms_look(us, &ask, &stack); /* no file of it is looked at */
	put_stat(MM + 16);
	ask.addrs++;
	usersyms_look(us, &ask, &stack);
	CHECK(stack.state == USER_STACK_NAMED && stack.lacks_files && !stack.frames[0].symbol.len);
	forget_files(us);
	put_stat(MM);
	usersyms_look(us, &ask, &stack);
	CHECK(!stack.lacks_files && text_equal(stack.frames[0].symbol, text_from("two")));
	CHECK(us->task_fd < 0);
}

/* ---- what is known of a process, and for how long ---- */

TEST(a_new_library_is_seen)
{
	struct user_stack stack = look_at(7);

	CHECK(is_named(&stack));
	put_map("ae", 0x800000, "7/root/bin/x", "/bin/x");
	stack = look_of(7, 7, IN_ONE, 0x801013);
	CHECK(is_named(&stack));
}

TEST(a_stack_ends_only_by_maps_of_now)
{
	struct user_stack stack = look_of(7, 7, IN_ONE, 0x801013);

	CHECK(stack.state == USER_STACK_NAMED && stack.frame_cnt == 1);
	CHECK(!unlink(place("7/maps")));
	stack = look_of(7, 7, IN_ONE, 0x801013);
	CHECK(stack.state == USER_STACK_ENDED && stack.frame_cnt == 2);
	CHECK(text_equal(stack.frames[0].symbol, text_from("one")));
	CHECK(!stack.frames[1].symbol.len && stack.frames[1].ip == 0x801013);
}

TEST(why_a_process_is_not_known)
{
	CHECK(look_of(1, 0, IN_ONE, IN_TWO).state == USER_STACK_DENIED);
	CHECK(look_of(2, INT32_MAX, IN_ONE, IN_TWO).state == USER_STACK_ENDED);
	/* it runs, and is hidden (hidepid=2) */
	CHECK(look_of(8, (uint32_t)getpid(), IN_ONE, IN_TWO).state == USER_STACK_DENIED);
	put_stat(MM + 16);
	CHECK(look_at(3).state == USER_STACK_ENDED);
	put_text("7/stat", "7 (x");
	CHECK(look_at(4).state == USER_STACK_ENDED);
	put_stat(MM);
	put_text("7/maps", "");
	CHECK(look_at(5).state == USER_STACK_ENDED);
	CHECK(!unlink(place("7/maps")) && !mkdir(place("7/maps"), 0755));
	CHECK(look_at(6).state == USER_STACK_FAILED);
}

/* Why the maps could not be read again is why an address has no name; what was known of them still holds. */
TEST(a_process_that_is_closed_later_has_not_ended)
{
	struct user_stack stack = look_of(7, 7, IN_ONE, 0x801013);

	CHECK(!unlink(place("7/maps")) && !mkdir(place("7/maps"), 0755));
	stack = look_of(7, 7, IN_ONE, 0x801013);
	CHECK(stack.state == USER_STACK_FAILED && stack.frame_cnt == 2);
	CHECK(text_equal(stack.frames[0].symbol, text_from("one")));
}

TEST(maps_without_end_are_not_read_to_it)
{
	FILE *maps = fopen(place("7/maps"), "ae");
	struct user_stack stack;

	CHECK(maps);
	for (unsigned long long at = 0x500000; ftell(maps) < 20 << 20; at += 0x1000)
		fprintf(maps, "%016llx-%016llx r-xp 00000000 00:00 0 \n", at, at + 0x1000);
	CHECK(!fclose(maps));
	stack = look_of(7, 7, IN_ONE, 0x7ffff0000000);
	CHECK(stack.state == USER_STACK_FAILED && stack.frame_cnt == 2);
	CHECK(text_equal(stack.frames[0].symbol, text_from("one")));
}

TEST(old_processes_are_forgotten)
{
	struct user_stack stack;

	for (uint32_t tgid = 1; tgid <= 300; tgid++) {
		stack = look_at(tgid);
		CHECK(is_named(&stack));
	}
	CHECK(!unlink(place("7/maps")));
	CHECK(look_at(1).state == USER_STACK_ENDED);
	stack = look_at(300);
	CHECK(is_named(&stack));
}

/* What is known of processes stays, and their files are read again. */
TEST(old_files_are_forgotten)
{
	struct user_stack stack;
	char name[32];

	for (uint32_t i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "7/root/bin/f%u", i);
		put_file(name, &program, sizeof(program));
		put_map("we", BEGIN_AT, name, name + 6);
		stack = look_at(1000 + i);
		CHECK(text_equal(stack.frames[1].symbol, text_from("two")));
	}
	put_map("we", BEGIN_AT, "7/root/bin/f599", "/bin/f599");
	stack = look_at(1599);
	CHECK(text_equal(stack.frames[1].symbol, text_from("two")));
}

/* ---- files that are made to take long ---- */

static struct elfsyms *read_made(const struct made *made, off_t size_bytes)
{
	int fd = memfd_create("made", MFD_CLOEXEC);
	struct elfsyms *es = NULL;

	CHECK(fd >= 0 && write(fd, made, sizeof(*made)) == sizeof(*made));
	CHECK(!size_bytes || !ftruncate(fd, size_bytes));
	if (elfsyms_new(&es, fd))
		es = NULL;
	close(fd);
	return es;
}

static bool finds_one(const struct elfsyms *es)
{
	struct elfsym sym;

	return elfsyms_find(es, 0x1002, false, &sym) && text_equal(sym.name, text_from("one"));
}

TEST(a_file_with_too_many_headers_is_not_read)
{
	struct made made = program;

	made.head.e_phnum = 300;
	CHECK(!read_made(&made, 1 << 20));
	made.head.e_phnum = 2;
	made.head.e_phentsize--;
	CHECK(!read_made(&made, 1 << 20));
}

TEST(a_file_with_too_many_names_has_none)
{
	struct made made = program;
	struct elfsyms *es;

	made.sections[3].sh_size = 128u << 20; /* a NUL follows */
	es = read_made(&made, 1 << 28);
	CHECK(es && !finds_one(es) && elfsyms_bytes(es) < 1 << 20);
	CHECK(text_equal(elfsyms_build_id(es), text_from("deadbeef")));
	elfsyms_free(es);
	/* all of them, and no byte is left for the names of .dynsym */
	made.sections[3].sh_size--;
	made.sections[1] = made.sections[2];
	made.sections[1].sh_type = SHT_DYNSYM;
	es = read_made(&made, 1 << 28);
	CHECK(es && elfsyms_bytes(es) >= 128u << 20 && elfsyms_bytes(es) < 129u << 20);
	elfsyms_free(es);
}

TEST(a_file_with_too_many_symbols_is_read_in_part)
{
	struct made made = program;
	struct elfsyms *es;

	/* 70 million of them, in a file with holes */
	made.sections[2].sh_size = 70000000 * sizeof(Elf64_Sym);
	es = read_made(&made, (off_t)made.sections[2].sh_size + 4096);
	CHECK(es && finds_one(es) && elfsyms_bytes(es) < 1 << 20);
	elfsyms_free(es);
}

TEST(a_name_without_an_end_is_cut)
{
	struct made made = program;
	struct elfsyms *es;
	struct elfsym sym;
	char *bytes = malloc(1 << 20);

	CHECK(bytes);
	made.sections[3].sh_offset = sizeof(made);
	made.sections[3].sh_size = (1 << 20) - sizeof(made);
	memset(bytes, 'n', 1 << 20);
	memcpy(bytes, &made, sizeof(made));
	CHECK(!elfsyms_new_memory(&es, bytes, 1 << 20));
	CHECK(elfsyms_find(es, 0x1002, false, &sym) && sym.name.len == ELFSYM_NAME_MAX);
	elfsyms_free(es);
	free(bytes);
}

TEST(a_program_of_32_bits_has_names)
{
	struct {
		Elf32_Ehdr head;
		Elf32_Phdr segment;
		Elf32_Shdr sections[4];
		Elf32_Sym syms[3];
		char strings[16];
	} made = {
		.head = { .e_phnum = 1,
			  .e_shnum = 4,
			  .e_phentsize = sizeof(Elf32_Phdr),
			  .e_shentsize = sizeof(Elf32_Shdr) },
		.segment = { .p_type = PT_LOAD, .p_vaddr = 0x1000000, .p_filesz = 0x2000 },
		.strings = "\0one\0two",
	};
	struct elfsyms *es;
	struct elfsym sym;

	memcpy(made.head.e_ident, program.head.e_ident, EI_NIDENT);
	made.head.e_ident[EI_CLASS] = ELFCLASS32;
	made.head.e_phoff = (uint32_t)((char *)&made.segment - (char *)&made);
	made.head.e_shoff = (uint32_t)((char *)made.sections - (char *)&made);
	for (int i = 0; i < 4; i++)
		made.sections[i] = (Elf32_Shdr){ .sh_type = program.sections[i].sh_type,
						 .sh_addr = (uint32_t)program.sections[i].sh_addr,
						 .sh_size = (uint32_t)program.sections[i].sh_size };
	made.sections[2].sh_offset = (uint32_t)((char *)made.syms - (char *)&made);
	made.sections[2].sh_size = sizeof(made.syms);
	made.sections[2].sh_entsize = sizeof(made.syms[0]);
	made.sections[2].sh_link = 3;
	made.sections[3].sh_offset = (uint32_t)(made.strings - (char *)&made);
	for (int i = 1; i < 3; i++)
		made.syms[i] = (Elf32_Sym){ .st_name = program.syms[i].st_name,
					    .st_info = program.syms[i].st_info,
					    .st_shndx = 1,
					    .st_value = (uint32_t)program.syms[i].st_value,
					    .st_size = 16 };
	CHECK(!elfsyms_new_memory(&es, &made, sizeof(made)) && finds_one(es));
	CHECK(elfsyms_find(es, 0x1020, true, &sym) && text_equal(sym.name, text_from("two")));
	elfsyms_free(es);
}

/* ---- the process that looks them up ---- */

static struct userstacks *stacks;
static struct stacknamer *sn;

static uint32_t stack_at(void *ctx, uint32_t nr, uint64_t *to)
{
	to[0] = IN_ONE;
	to[1] = IN_TWO;
	return 2;
}

static void begin_namer(uint32_t timeout_ms)
{
	struct stacknamer_config config = { .proc = base,
					    .timeout_ms = timeout_ms,
					    .stack = stack_at };

	CHECK(!userstacks_new(&stacks, 0));
	config.stacks = stacks;
	CHECK(!stacknamer_new(&sn, &config));
}

static void end_namer(void)
{
	stacknamer_free(sn);
	userstacks_free(stacks);
}

static const struct user_stack *take_of(uint32_t nr, uint64_t mm)
{
	return userstacks_show(stacks, stacknamer_take(sn, NFG_USTACK(7, nr), mm));
}

static const struct user_stack *take(uint32_t nr)
{
	return take_of(nr, MM);
}

TEST(the_process_names_stacks)
{
	begin_namer(20000);
	CHECK(is_named(take(1)) && take(1) == take(1) && is_named(take(2)));
	CHECK(userstacks_cnt(stacks, USER_STACK_NAMED) == 4);
	end_namer();
}

static bool has_word(const char *file, const char *word)
{
	char text[4096] = "";
	FILE *from = fopen(file, "re");
	bool has;

	CHECK(from);
	has = fread(text, 1, sizeof(text) - 1, from) > 0 && strstr(text, word);
	fclose(from);
	return has;
}

/* Of a process: "Max file size  0  0  bytes". */
static unsigned long long limit_of(pid_t pid, const char *name)
{
	unsigned long long value = ~0ull;
	char path[64];
	char line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/limits", pid);
	file = fopen(path, "re");
	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, strlen(name)))
			CHECK(sscanf(line + strlen(name), "%llu", &value) == 1);
	}
	fclose(file);
	return value;
}

TEST(the_process_has_no_more_than_it_needs)
{
	char path[64];
	char uids[64];
	int fd;

	snprintf(uids, sizeof(uids), "Uid:\t%u\t65534\t%u\t65534\n", getuid(), getuid());
	fd = open("/dev/null", O_RDONLY); /* not for it: even without O_CLOEXEC */
	CHECK(fd >= 0);
	begin_namer(20000);
	CHECK(is_named(take(1))); /* it has begun */
	snprintf(path, sizeof(path), "/proc/%d/status", sn->helpers[0].pid);
	CHECK(has_word(path, "NoNewPrivs:\t1"));
	/* nobody's, though the tracer may end it */
	if (privdrop_has(CAP_SYS_PTRACE) && privdrop_has(CAP_DAC_READ_SEARCH) &&
	    privdrop_has(CAP_SETUID) && privdrop_has(CAP_SETGID))
		CHECK(has_word(path, uids) &&
		      has_word(path, "Gid:\t65534\t65534\t65534\t65534\n") &&
		      has_word(path, "Groups:\t \n"));
	/* CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE, for root */
	CHECK(has_word(path,
		       geteuid() ? "CapPrm:\t0000000000000000" : "CapPrm:\t0000000000080004"));
#ifndef NFG_SANITIZED
	CHECK(has_word(path, "Seccomp:\t2"));
	unsigned long long bytes = limit_of(sn->helpers[0].pid, "Max address space");

	/* 256 MiB, and what it has of this process */
	CHECK(bytes > 256u << 20 && bytes < 344u << 20);
#endif
	CHECK(!limit_of(sn->helpers[0].pid, "Max file size") &&
	      !limit_of(sn->helpers[0].pid, "Max core file size"));
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", sn->helpers[0].pid);
	CHECK(has_word(path, "1000"));
	for (int i = 3; i < 30; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", sn->helpers[0].pid, i);
		CHECK(access(path, F_OK) < 0);
	}
	close(fd);
	end_namer();
}

/* timeout(1), a closed terminal or systemd's stop are for all processes; the last rows still need names. */
TEST(what_stops_the_tracer_does_not_stop_the_process)
{
	static const int sigs[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	pid_t pid;

	begin_namer(20000);
	CHECK(is_named(take(1))); /* it has begun */
	pid = sn->helpers[0].pid;
	CHECK(getsid(pid) == pid);
	EACH(sig, sigs)
		CHECK(!kill(pid, *sig));
	CHECK(is_named(take(2)) && !sn->at);
	end_namer();
}

/* Nothing says how long a file system takes to answer: here maps are a pipe that nobody writes to. */
TEST(what_hangs_costs_names_and_no_more)
{
	uint64_t begin_ns;
	int fd;

	CHECK(!unlink(place("7/maps")) && !mkfifo(place("7/maps"), 0644));
	begin_namer(50);
	begin_ns = host_time_ns();
	CHECK(take(1)->state == USER_STACK_SLOW && take(1)->frame_cnt == 2);
	CHECK(take(1)->frames[1].ip == IN_TWO && take(1)->frames[1].symbol.len == 0);
	CHECK(host_time_ns() - begin_ns >= 50000000);
	/* it is still busy, so that nobody waits */
	for (uint32_t nr = 2; nr < 1000; nr++)
		CHECK(take(nr)->state == USER_STACK_SLOW);
	CHECK(host_time_ns() - begin_ns < 5000000000);
	/* it hangs for too long: the next one takes over */
	sn->asked_ns -= HANGS_NS;
	CHECK(take(1000)->state == USER_STACK_FAILED && sn->at == 1 && !sn->is_busy);
	/* and is asked for other programs alone */
	CHECK(take(1001)->state == USER_STACK_FAILED && !sn->is_busy);
	put_stat(MM + 16);
	CHECK(take_of(1002, MM + 16)->state == USER_STACK_SLOW && sn->at == 1);
	/* an answer that comes late is not one to the next question */
	fd = open(place("7/maps"), O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !unlink(place("7/maps")));
	put_map("we", BEGIN_AT, "7/root/bin/x", "/bin/x");
	close(fd);
	sn->config.timeout_ms = 20000;
	for (int i = 0; i < 1000 && sn->is_busy; i++) {
		CHECK(take_of(2000 + (uint32_t)i, MM + 16)->frame_cnt == 2);
		usleep(10000);
	}
	CHECK(is_named(take_of(5000, MM + 16)) && sn->at == 1);
	end_namer();
}

TEST(a_stack_without_names_is_asked_for_again)
{
	const struct user_stack *stack;

	begin_namer(20000);
	sn->budget_ns = -1000000000;
	stack = take(1);
	CHECK(stack->state == USER_STACK_SLOW && take(1) == stack);
	/* later, and again in vain */
	sn->takens[0].retry_ns = 1;
	CHECK(take(1) == stack && sn->takens[0].retry_ns > host_time_ns());
	sn->budget_ns = BUDGET_NS;
	CHECK(take(1) == stack);
	sn->takens[0].retry_ns = 1;
	CHECK(is_named(take(1)) && !sn->takens[0].retry_ns && is_named(take(1)));
	end_namer();
}

TEST(names_take_a_tenth_of_the_time)
{
	begin_namer(20000);
	sn->budget_ns = -50000000;
	sn->budget_at_ns = 1000;
	refill_budget(sn, 400001000);
	CHECK(sn->budget_ns == -10000000);
	refill_budget(sn, 600001000);
	CHECK(sn->budget_ns == 10000000);
	refill_budget(sn, UINT64_MAX);
	CHECK(sn->budget_ns == BUDGET_NS);
	end_namer();
}

TEST(a_process_that_dies_is_replaced_some_times)
{
	quiet();
	begin_namer(20000);
	for (uint32_t i = 0; i < HELPER_CNT; i++) {
		CHECK(sn->at == i && is_named(take(2 * i)) == (i > 0));
		if (!i) /* stack number 0: the kernel did not keep it */
			CHECK(is_named(take(100)));
		kill(sn->helpers[i].pid, SIGKILL);
		waitid(P_PID, (id_t)sn->helpers[i].pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
		CHECK(take(2 * i + 1)->state == USER_STACK_FAILED);
	}
	CHECK(sn->at == HELPER_CNT && take(50)->state == USER_STACK_FAILED);
	end_namer();
}

/* Where the number of processes or descriptors has a limit, one is enough. */
TEST(fewer_processes_do)
{
	struct rlimit files;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	quiet();
	CHECK(fd >= 0 && !getrlimit(RLIMIT_NOFILE, &files));
	/* room for the first one: two pipes, of which we keep one end each, and what it opens while it begins */
	files.rlim_cur = (rlim_t)fd + 10;
	CHECK(!setrlimit(RLIMIT_NOFILE, &files));
	begin_namer(20000);
	CHECK(sn->helper_cnt && sn->helper_cnt < HELPER_CNT);
	CHECK(is_named(take(1)));
	while (sn->at < sn->helper_cnt) {
		kill(sn->helpers[sn->at].pid, SIGKILL);
		waitid(P_PID, (id_t)sn->helpers[sn->at].pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
		CHECK(take(sn->at + 10)->state == USER_STACK_FAILED);
	}
	CHECK(take(50)->state == USER_STACK_FAILED);
	end_namer();
	close(fd);
}

TEST(no_process_is_left_behind)
{
	begin_namer(20000);
	CHECK(is_named(take(1)));
	kill(sn->helpers[0].pid, SIGKILL);
	waitid(P_PID, (id_t)sn->helpers[0].pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	CHECK(take(2)->state == USER_STACK_FAILED && is_named(take(3)));
	CHECK(!sn->helpers[0].pid);
	for (uint32_t i = 0; i < HELPER_CNT; i++)
		helper_abandon(&sn->helpers[i]);
	for (int i = 0; i < 20000 && !are_gone(sn, HELPER_CNT); i++)
		usleep(1000);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	end_namer();
}

/* It may have been taken over by a file, and answer without taking the questions. */
TEST(a_process_that_takes_no_questions_keeps_nobody)
{
	const uint64_t begin_ns = host_time_ns();
	struct ask ask = { .addr_cnt = 1 };
	int err = 0;

	begin_namer(20000);
	CHECK(!kill(sn->helpers[0].pid, SIGSTOP));
	for (int i = 0; i < 100000 && !err; i++)
		err = helper_ask(&sn->helpers[0], &ask, sizeof(ask));
	CHECK(err == -EAGAIN);
	CHECK(take(1)->state == USER_STACK_FAILED && sn->at == 1 && is_named(take(2)));
	CHECK(host_time_ns() - begin_ns < 15000000000);
	end_namer();
}

/* The process may have been taken over by a file. */
TEST(an_answer_is_checked)
{
	static const struct answer good = { .text_bytes = 8,
					    .frame_cnt = 2,
					    .frames[1] = { .symbol = { 3, 5 } } };
	static const struct ask ask = { .addr_cnt = 2 };
	struct user_frame frames[NFG_STACK_FRAMES];
	struct answer bad = good;
	struct user_stack stack;

	CHECK(take_answer(&ask, &good, frames, &stack) && stack.frame_cnt == 2);
	CHECK(frames[1].symbol.ptr == good.texts + 3 && frames[1].symbol.len == 5);
	bad.frame_cnt = 3;
	CHECK(!take_answer(&ask, &bad, frames, &stack));
	bad = good;
	bad.state = USER_STACK_STATE_CNT;
	CHECK(!take_answer(&ask, &bad, frames, &stack));
	bad.state = USER_STACK_LOST;
	CHECK(!take_answer(&ask, &bad, frames, &stack));
	bad = good;
	bad.lacks_files = 2;
	CHECK(!take_answer(&ask, &bad, frames, &stack));
	bad = good;
	bad.frames[1].symbol.len = 6;
	CHECK(!take_answer(&ask, &bad, frames, &stack));
	bad.frames[1].symbol = (struct answer_text){ UINT32_MAX, 2 };
	CHECK(!take_answer(&ask, &bad, frames, &stack));
	bad = good;
	bad.frames[0].file.at = 9;
	CHECK(!take_answer(&ask, &bad, frames, &stack));
	bad = good;
	bad.frames[0].build_id.len = UINT32_MAX;
	CHECK(!take_answer(&ask, &bad, frames, &stack));
}
