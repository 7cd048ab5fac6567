#include "kernel/elfsyms.h"

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Files with more are not read further: chromium has half a million functions. */
#define FUNC_CNT_MAX      (4u << 20)
#define SECTION_BYTES_MAX (512u << 20)
#define NAME_BYTES_MAX    1023u
#define BUILD_ID_MAX      64u

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
	uint32_t name;  /* of names.ptr */
	uint8_t rank;   /* of several names for one address, the one with the lowest */
};

struct elfsyms {
	struct segment *segments;
	size_t segment_cnt;
	size_t segment_cap;
	struct elf_func *funcs; /* by address, which differ */
	size_t func_cnt;
	size_t func_cap;
	struct strbuf names; /* each ends with a NUL */
	char build_id[2 * BUILD_ID_MAX];
	size_t build_id_len;
};

static int read_segments(struct elfsyms *es, Elf *elf)
{
	size_t cnt;

	if (elf_getphdrnum(elf, &cnt))
		return -ENOEXEC;
	for (size_t i = 0; i < cnt; i++) {
		GElf_Phdr head;

		if (!gelf_getphdr(elf, (int)i, &head))
			return -ENOEXEC;
		if (head.p_type != PT_LOAD)
			continue;
		if (VEC_RESERVE(es->segments, es->segment_cap, es->segment_cnt + 1))
			return -ENOMEM;
		es->segments[es->segment_cnt++] =
			(struct segment){ head.p_offset, head.p_filesz, head.p_vaddr };
	}
	return es->segment_cnt ? 0 : -ENOEXEC;
}

/* Names as the linker's users know them come first: connect before __connect, global before local. */
static uint8_t rank_of(const GElf_Sym *sym, const char *name)
{
	const uint8_t bind = GELF_ST_BIND(sym->st_info);

	return (uint8_t)((*name == '_') + 2 * (bind == STB_LOCAL));
}

static int add_func(struct elfsyms *es, const GElf_Sym *sym, const char *name, uint64_t limit)
{
	if (es->func_cnt >= FUNC_CNT_MAX || es->names.len > UINT32_MAX - NAME_BYTES_MAX - 1)
		return 0;
	if (VEC_RESERVE(es->funcs, es->func_cap, es->func_cnt + 1))
		return -ENOMEM;
	es->funcs[es->func_cnt++] = (struct elf_func){
		.addr = sym->st_value,
		.size_bytes = sym->st_size,
		.limit = limit,
		.name = (uint32_t)es->names.len,
		.rank = rank_of(sym, name),
	};
	strbuf_add(&es->names, name, strnlen(name, NAME_BYTES_MAX));
	strbuf_char(&es->names, '\0');
	return strbuf_ok(&es->names) ? 0 : -ENOMEM;
}

/*
 * Add the symbol if it is a function that the file has. Local ones without a size are marks of the compiler's startup
 * code, and say nothing about what follows them. Bit 0 of a 32-bit arm address says that it is thumb. */
static int take_symbol(struct elfsyms *es, Elf *elf, size_t strings, GElf_Sym *sym, bool is_thumb)
{
	const uint8_t type = GELF_ST_TYPE(sym->st_info);
	Elf_Scn *section = elf_getscn(elf, sym->st_shndx);
	GElf_Shdr head;
	const char *name;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym->st_shndx == SHN_UNDEF ||
	    !sym->st_value || (!sym->st_size && GELF_ST_BIND(sym->st_info) == STB_LOCAL) ||
	    !section || !gelf_getshdr(section, &head))
		return 0;
	name = elf_strptr(elf, strings, sym->st_name);
	if (!name || !*name)
		return 0;
	if (is_thumb)
		sym->st_value &= ~1ull;
	return add_func(es, sym, name, head.sh_addr + head.sh_size);
}

static int read_symbols(struct elfsyms *es, Elf *elf, Elf_Scn *section, const GElf_Shdr *head,
			bool is_thumb)
{
	const Elf_Data *data =
		head->sh_size < SECTION_BYTES_MAX ? elf_getdata(section, NULL) : NULL;
	size_t cnt = data && head->sh_entsize ? data->d_size / head->sh_entsize : 0;
	int err = 0;

	for (size_t i = 0; i < cnt && i < FUNC_CNT_MAX && !err; i++) {
		GElf_Sym sym;

		if (!gelf_getsym((Elf_Data *)data, (int)i, &sym))
			break;
		err = take_symbol(es, elf, head->sh_link, &sym, is_thumb);
	}
	return err;
}

static void read_build_id(struct elfsyms *es, const Elf_Data *data)
{
	GElf_Nhdr note;
	size_t name;
	size_t desc;

	for (size_t at = 0, next; (next = gelf_getnote((Elf_Data *)data, at, &note, &name, &desc));
	     at = next) {
		const unsigned char *bytes = (const unsigned char *)data->d_buf + desc;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp((const char *)data->d_buf + name, "GNU", sizeof("GNU")) != 0 ||
		    note.n_descsz > BUILD_ID_MAX)
			continue;
		for (size_t i = 0; i < note.n_descsz; i++) {
			es->build_id[2 * i] = digit_hex[bytes[i] >> 4];
			es->build_id[2 * i + 1] = digit_hex[bytes[i] & 15];
		}
		es->build_id_len = 2 * note.n_descsz;
		return;
	}
}

/* A stripped file may lack sections, but no linker leaves the note out of the segments. */
static void find_build_id(struct elfsyms *es, Elf *elf)
{
	size_t cnt = 0;
	GElf_Phdr head;

	if (elf_getphdrnum(elf, &cnt))
		return;
	for (size_t i = 0; i < cnt && !es->build_id_len && gelf_getphdr(elf, (int)i, &head); i++) {
		Elf_Data *data = NULL;

		if (head.p_type == PT_NOTE && head.p_filesz < (1u << 20))
			data = elf_getdata_rawchunk(elf, (int64_t)head.p_offset, head.p_filesz,
						    head.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data)
			read_build_id(es, data);
	}
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

static int read_elf(struct elfsyms *es, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Ehdr file;
	GElf_Shdr head;
	int err;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &file))
		return -ENOEXEC;
	err = read_segments(es, elf);
	if (!err)
		find_build_id(es, elf);
	while (!err && (section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &head) &&
		    (head.sh_type == SHT_SYMTAB || head.sh_type == SHT_DYNSYM))
			err = read_symbols(es, elf, section, &head, file.e_machine == EM_ARM);
	}
	sort_funcs(es);
	return err;
}

static int elfsyms_read(struct elfsyms **out, Elf *elf)
{
	struct elfsyms *es = calloc(1, sizeof(*es));
	int err = es ? read_elf(es, elf) : -ENOMEM;

	if (elf)
		elf_end(elf);
	if (err) {
		elfsyms_free(es);
		return err;
	}
	*out = es;
	return 0;
}

int elfsyms_new(struct elfsyms **out, int fd)
{
	elf_version(EV_CURRENT);
	/* read, not mapped: who owns the file could cut it while it is mapped */
	return elfsyms_read(out, elf_begin(fd, ELF_C_READ, NULL));
}

int elfsyms_new_memory(struct elfsyms **out, const void *image, size_t bytes)
{
	elf_version(EV_CURRENT);
	return elfsyms_read(out, elf_memory((char *)image, bytes));
}

void elfsyms_free(struct elfsyms *es)
{
	if (!es)
		return;
	free(es->segments);
	free(es->funcs);
	strbuf_release(&es->names);
	free(es);
}

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

	for (size_t i = 0; i < es->segment_cnt && !is_mapped; i++) {
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

		if (!func_has(es, i - 1, addr))
			continue;
		*sym = (struct elfsym){
			.name = text_from(es->names.ptr + func->name),
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
