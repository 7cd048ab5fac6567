#include "kernel/elfsyms.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "kernel/srcline.h"

/*
 * Limits, for a file may be made to take long: one with more of something gives no names of that kind. chromium has half
 * a million functions; the names of a program with debug symbols take some 100 MB.
 */
#define SEGMENT_CNT_MAX   256u
#define SECTION_CNT_MAX   SHN_LORESERVE
#define NOTES_BYTES_MAX   (64u << 10)
#define SYMBOL_CNT_MAX    (4u << 20)
#define FUNC_CNT_MAX      (1u << 20)
#define STRINGS_BYTES_MAX (128u << 20)

/* A file or a copy of one in memory, whose numbers may be anything. */
struct image {
	const char *bytes; /* NULL: fd */
	uint64_t size_bytes;
	int fd;
	bool is_narrow; /* of 32 bits */
	bool is_thumb;  /* bit 0 of an address says so on 32-bit arm */
	Elf64_Shdr *sections;
	uint32_t section_cnt;
};

/* A part of the file that is mapped. */
struct segment {
	uint64_t offset;
	uint64_t size_bytes;
	uint64_t addr;
};

struct elf_func {
	uint64_t addr;
	uint64_t size_bytes;
	uint64_t limit; /* without a size: the end of its section */
	uint32_t name;  /* of names */
	uint8_t rank;   /* of several names for one address, the one with the lowest */
};

struct elfsyms {
	struct segment segments[SEGMENT_CNT_MAX];
	uint32_t segment_cnt;
	struct elf_func *funcs; /* by address, which differ */
	size_t func_cnt;
	size_t func_cap;
	char *names; /* the string sections, each with a NUL behind it */
	size_t names_bytes;
	char build_id[2 * VMLINUX_ID_MAX];
	size_t build_id_len;
};

/* ---- the file ---- */

/* Return: 0; -ENOEXEC: it has not so many bytes there. */
static int read_at(const struct image *im, uint64_t offset, void *to, size_t len)
{
	if (offset > im->size_bytes || len > im->size_bytes - offset)
		return -ENOEXEC;
	if (im->bytes) {
		memcpy(to, im->bytes + offset, len);
		return 0;
	}
	for (size_t done = 0; done < len;) {
		ssize_t got = pread(im->fd, (char *)to + done, len - done, (off_t)(offset + done));

		if (got <= 0)
			return -ENOEXEC;
		done += (size_t)got;
	}
	return 0;
}

#define EHDR_OF(n)                                     \
	((Elf64_Ehdr){ .e_machine = (n).e_machine,     \
		       .e_phoff = (n).e_phoff,         \
		       .e_shoff = (n).e_shoff,         \
		       .e_phentsize = (n).e_phentsize, \
		       .e_phnum = (n).e_phnum,         \
		       .e_shentsize = (n).e_shentsize, \
		       .e_shnum = (n).e_shnum })
#define PHDR_OF(n)                               \
	((Elf64_Phdr){ .p_type = (n).p_type,     \
		       .p_offset = (n).p_offset, \
		       .p_vaddr = (n).p_vaddr,   \
		       .p_filesz = (n).p_filesz, \
		       .p_align = (n).p_align })
#define SHDR_OF(n)                                 \
	((Elf64_Shdr){ .sh_type = (n).sh_type,     \
		       .sh_addr = (n).sh_addr,     \
		       .sh_offset = (n).sh_offset, \
		       .sh_size = (n).sh_size,     \
		       .sh_link = (n).sh_link,     \
		       .sh_entsize = (n).sh_entsize })
#define SYM_OF(n)                               \
	((Elf64_Sym){ .st_name = (n).st_name,   \
		      .st_info = (n).st_info,   \
		      .st_shndx = (n).st_shndx, \
		      .st_value = (n).st_value, \
		      .st_size = (n).st_size })

/* Read @cnt structures of the file's class as those of 64 bits. @type: Ehdr, Phdr, Shdr or Sym; @to: room for them. */
#define READ_ITEMS(im, type, OF, offset, to, cnt)                                     \
	({                                                                            \
		int err_ = read_at((im), (offset), (to),                              \
				   (cnt) * ((im)->is_narrow ? sizeof(Elf32_##type)    \
							    : sizeof(Elf64_##type))); \
		/* the last one first: it is wider than what it was read as */        \
		for (size_t i_ = (cnt); !err_ && (im)->is_narrow && i_--;) {          \
			Elf32_##type narrow_;                                         \
			memcpy(&narrow_, (const char *)(to) + i_ * sizeof(narrow_),   \
			       sizeof(narrow_));                                      \
			(to)[i_] = OF(narrow_);                                       \
		}                                                                     \
		err_;                                                                 \
	})

#define ITEM_BYTES(im, type) ((im)->is_narrow ? sizeof(Elf32_##type) : sizeof(Elf64_##type))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_ORDER ELFDATA2LSB
#else
#define OUR_ORDER ELFDATA2MSB
#endif

static int read_head(struct image *im, Elf64_Ehdr *head)
{
	unsigned char ident[EI_NIDENT];
	int err = read_at(im, 0, ident, sizeof(ident));

	if (err || memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != OUR_ORDER ||
	    (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64))
		return -ENOEXEC;
	im->is_narrow = ident[EI_CLASS] == ELFCLASS32;
	err = READ_ITEMS(im, Ehdr, EHDR_OF, 0, head, 1);
	im->is_thumb = !err && head->e_machine == EM_ARM;
	return err;
}

/* A file may have no section headers, or any that cannot be read: then it has no symbols. Return: 0 or -ENOMEM. */
static int read_sections(struct image *im, const Elf64_Ehdr *head)
{
	if (!head->e_shnum || head->e_shnum >= SECTION_CNT_MAX ||
	    head->e_shentsize != ITEM_BYTES(im, Shdr))
		return 0;
	im->sections = malloc(head->e_shnum * sizeof(*im->sections));
	if (!im->sections)
		return -ENOMEM;
	if (!READ_ITEMS(im, Shdr, SHDR_OF, head->e_shoff, im->sections, head->e_shnum))
		im->section_cnt = head->e_shnum;
	return 0;
}

/* ---- its parts ---- */

/* A stripped file may lack sections, but no linker leaves the note out of the segments. */
static void read_notes(struct elfsyms *es, const struct image *im, const Elf64_Phdr *head)
{
	char notes[NOTES_BYTES_MAX];
	struct vmlinux_id id;

	if (head->p_filesz > sizeof(notes) ||
	    read_at(im, head->p_offset, notes, (size_t)head->p_filesz))
		return;
	id = vmlinux_parse_notes(notes, (size_t)head->p_filesz, head->p_align == 8 ? 8 : 4);
	for (size_t i = 0; i < id.len; i++) {
		es->build_id[2 * i] = digit_hex[id.bytes[i] >> 4];
		es->build_id[2 * i + 1] = digit_hex[id.bytes[i] & 15];
	}
	es->build_id_len = 2 * id.len;
}

static int read_segments(struct elfsyms *es, const struct image *im, const Elf64_Ehdr *head)
{
	Elf64_Phdr heads[SEGMENT_CNT_MAX];

	if (head->e_phnum > SEGMENT_CNT_MAX || head->e_phentsize != ITEM_BYTES(im, Phdr) ||
	    READ_ITEMS(im, Phdr, PHDR_OF, head->e_phoff, heads, head->e_phnum))
		return -ENOEXEC;
	for (uint32_t i = 0; i < head->e_phnum; i++) {
		if (heads[i].p_type == PT_LOAD)
			es->segments[es->segment_cnt++] =
				(struct segment){ heads[i].p_offset, heads[i].p_filesz,
						  heads[i].p_vaddr };
		if (heads[i].p_type == PT_NOTE && !es->build_id_len)
			read_notes(es, im, &heads[i]);
	}
	return es->segment_cnt ? 0 : -ENOEXEC;
}

/* Names as the linker's users know them come first: connect before __connect, global before local. */
static uint8_t rank_of(const Elf64_Sym *sym, const char *name)
{
	const uint8_t bind = ELF64_ST_BIND(sym->st_info);

	return (uint8_t)((*name == '_') + 2 * (bind == STB_LOCAL));
}

/*
 * Add the symbol if it is a function that the file has. Local ones without a size are marks of the compiler's startup
 * code, and say nothing about what follows them. @strings: where its names begin, of es->names.
 */
static int take_symbol(struct elfsyms *es, const struct image *im, size_t strings, Elf64_Sym sym)
{
	const uint8_t type = ELF64_ST_TYPE(sym.st_info);
	const Elf64_Shdr *section;
	const char *name;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym.st_shndx == SHN_UNDEF ||
	    sym.st_shndx >= im->section_cnt || !sym.st_value ||
	    (!sym.st_size && ELF64_ST_BIND(sym.st_info) == STB_LOCAL) ||
	    sym.st_name >= es->names_bytes - strings || es->func_cnt >= FUNC_CNT_MAX)
		return 0;
	section = &im->sections[sym.st_shndx];
	name = es->names + strings + sym.st_name;
	if (!*name)
		return 0;
	if (VEC_RESERVE(es->funcs, es->func_cap, es->func_cnt + 1))
		return -ENOMEM;
	es->funcs[es->func_cnt++] = (struct elf_func){
		.addr = im->is_thumb ? sym.st_value & ~1ull : sym.st_value,
		.size_bytes = sym.st_size,
		.limit = section->sh_addr + section->sh_size,
		.name = (uint32_t)(strings + sym.st_name),
		.rank = rank_of(&sym, name),
	};
	return 0;
}

/* Append the string section @link to the names. Return: 0; -ENOEXEC: there is none that can be read; -ENOMEM. */
static int read_strings(struct elfsyms *es, const struct image *im, uint32_t link)
{
	const Elf64_Shdr *head = link < im->section_cnt ? &im->sections[link] : NULL;
	char *names;

	if (!head || head->sh_type != SHT_STRTAB || head->sh_offset > im->size_bytes ||
	    head->sh_size > im->size_bytes - head->sh_offset ||
	    head->sh_size >= STRINGS_BYTES_MAX - es->names_bytes) /* room for a NUL */
		return -ENOEXEC;
	names = realloc(es->names, es->names_bytes + (size_t)head->sh_size + 1);
	if (!names)
		return -ENOMEM;
	es->names = names;
	if (read_at(im, head->sh_offset, names + es->names_bytes, (size_t)head->sh_size))
		return -ENOEXEC;
	es->names_bytes += (size_t)head->sh_size + 1;
	es->names[es->names_bytes - 1] = '\0';
	return 0;
}

/* Add the functions of the first section of that type; no linker makes two. Return: 0 or -ENOMEM. */
static int read_symbols(struct elfsyms *es, const struct image *im, uint32_t type)
{
	const size_t strings = es->names_bytes;
	const size_t item_bytes = ITEM_BYTES(im, Sym);
	const Elf64_Shdr *head;
	Elf64_Sym syms[1024];
	uint32_t nr = 0;
	size_t cnt;
	int err;

	while (nr < im->section_cnt && im->sections[nr].sh_type != type)
		nr++;
	if (nr == im->section_cnt || im->sections[nr].sh_entsize != item_bytes)
		return 0;
	head = &im->sections[nr];
	err = read_strings(es, im, head->sh_link);
	cnt = err ? 0 : (size_t)head->sh_size / item_bytes;
	if (cnt > SYMBOL_CNT_MAX)
		cnt = SYMBOL_CNT_MAX;
	for (size_t done = 0, some; !err && done < cnt; done += some) {
		some = cnt - done < ARRAY_SIZE(syms) ? cnt - done : ARRAY_SIZE(syms);
		err = READ_ITEMS(im, Sym, SYM_OF, head->sh_offset + done * item_bytes, syms, some);
		for (size_t i = 0; i < some && !err; i++)
			err = take_symbol(es, im, strings, syms[i]);
	}
	return err == -ENOMEM ? err : 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct elf_func *fa = a;
	const struct elf_func *fb = b;

	if (fa->addr != fb->addr)
		return fa->addr < fb->addr ? -1 : 1;
	if (fa->rank != fb->rank)
		return fa->rank - fb->rank;
	return fa->name < fb->name ? -1 : fa->name > fb->name;
}

/* Sort by address and keep one name for each; .symtab and .dynsym have the same functions. */
static void sort_funcs(struct elfsyms *es)
{
	size_t cnt = 0;

	if (!es->func_cnt)
		return;
	qsort(es->funcs, es->func_cnt, sizeof(*es->funcs), by_addr);
	for (size_t i = 0; i < es->func_cnt; i++) {
		if (!cnt || es->funcs[cnt - 1].addr != es->funcs[i].addr)
			es->funcs[cnt++] = es->funcs[i];
	}
	es->func_cnt = cnt;
}

static int read_elf(struct elfsyms *es, struct image *im)
{
	Elf64_Ehdr head;
	int err = read_head(im, &head);

	if (!err)
		err = read_segments(es, im, &head);
	if (!err)
		err = read_sections(im, &head);
	if (!err)
		err = read_symbols(es, im, SHT_SYMTAB);
	if (!err)
		err = read_symbols(es, im, SHT_DYNSYM);
	free(im->sections);
	sort_funcs(es);
	return err;
}

static int elfsyms_read(struct elfsyms **out, struct image *im)
{
	struct elfsyms *es = calloc(1, sizeof(*es));
	int err = es ? read_elf(es, im) : -ENOMEM;

	if (err) {
		elfsyms_free(es);
		return err;
	}
	*out = es;
	return 0;
}

int elfsyms_new(struct elfsyms **out, int fd)
{
	struct image im = { .fd = fd };
	struct stat st;

	/* read, not mapped: the file's owner could cut it while it is mapped */
	if (fstat(fd, &st) || st.st_size < 0)
		return -ENOEXEC;
	im.size_bytes = (uint64_t)st.st_size;
	return elfsyms_read(out, &im);
}

int elfsyms_new_memory(struct elfsyms **out, const void *bytes, size_t size)
{
	struct image im = { .bytes = bytes, .size_bytes = size, .fd = -1 };

	return elfsyms_read(out, &im);
}

void elfsyms_free(struct elfsyms *es)
{
	if (!es)
		return;
	free(es->funcs);
	free(es->names);
	free(es);
}

size_t elfsyms_bytes(const struct elfsyms *es)
{
	return sizeof(*es) + es->func_cap * sizeof(*es->funcs) + es->names_bytes;
}

/* ---- places ---- */

/* Functions may lie inside others, for handwritten code: how many to look back for one that reaches so far. */
#define OUTER_CNT 16u

static bool func_has(const struct elfsyms *es, size_t i, uint64_t addr)
{
	const struct elf_func *func = &es->funcs[i];
	uint64_t end = func->limit;

	if (func->size_bytes)
		return addr - func->addr < func->size_bytes;
	if (i + 1 < es->func_cnt && es->funcs[i + 1].addr < end)
		end = es->funcs[i + 1].addr;
	return addr < end;
}

bool elfsyms_find(const struct elfsyms *es, uint64_t offset, bool is_return, struct elfsym *sym)
{
	uint64_t addr = 0;
	bool is_mapped = false;
	size_t cnt;

	for (uint32_t i = 0; i < es->segment_cnt && !is_mapped; i++) {
		const struct segment *seg = &es->segments[i];

		is_mapped = offset >= seg->offset && offset - seg->offset < seg->size_bytes;
		addr = seg->addr + (offset - seg->offset);
	}
	if (!is_mapped)
		return false;
	addr -= is_return;
	cnt = VEC_BISECT(i, es->func_cnt, es->funcs[i].addr <= addr);
	for (size_t i = cnt; i && cnt - i < OUTER_CNT; i--) {
		const struct elf_func *func = &es->funcs[i - 1];
		const char *name = es->names + func->name;

		if (!func_has(es, i - 1, addr))
			continue;
		*sym = (struct elfsym){
			.name = { name, strnlen(name, ELFSYM_NAME_MAX) },
			.offset = addr + is_return - func->addr,
			.size_bytes = func->size_bytes,
		};
		return true;
	}
	return false;
}

struct text elfsyms_build_id(const struct elfsyms *es)
{
	return (struct text){ es->build_id, es->build_id_len };
}
