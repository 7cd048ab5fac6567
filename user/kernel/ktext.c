#include "kernel/ktext.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"
#include "nfg_abi.h"

/* A kcore of a large host has some hundred segments: one for each range of memory. */
#define SEGMENT_MAX_CNT 65535

struct segment {
	uint64_t addr;
	uint64_t size_bytes;
	uint64_t offset;
};

struct ktext {
	int fd;
	const struct arch *arch;
	struct segment *segs;
	size_t seg_cnt;
};

static int read_full(int fd, void *buf, size_t len, uint64_t offset)
{
	char *at = buf;

	while (len) {
		ssize_t got = pread(fd, at, len, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -EFAULT;
		at += got;
		offset += (uint64_t)got;
		len -= (size_t)got;
	}
	return 0;
}

static int segments_read(struct ktext *kt)
{
	Elf64_Phdr *phdrs;
	Elf64_Ehdr head;
	int err = read_full(kt->fd, &head, sizeof(head), 0);

	if (err)
		return err == -EFAULT ? -ENOEXEC : err;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_phentsize != sizeof(*phdrs) ||
	    !head.e_phnum || head.e_phnum >= SEGMENT_MAX_CNT)
		return -ENOEXEC;
	kt->arch = arch_of_machine(head.e_machine);
	if (!kt->arch)
		return -ENOEXEC;
	phdrs = calloc(head.e_phnum, sizeof(*phdrs));
	kt->segs = calloc(head.e_phnum, sizeof(*kt->segs));
	err = -ENOMEM;
	if (phdrs && kt->segs)
		err = read_full(kt->fd, phdrs, head.e_phnum * sizeof(*phdrs), head.e_phoff);
	for (size_t i = 0; !err && i < head.e_phnum; i++) {
		if (phdrs[i].p_type != PT_LOAD || !phdrs[i].p_filesz)
			continue;
		kt->segs[kt->seg_cnt++] = (struct segment){
			.addr = phdrs[i].p_vaddr,
			.size_bytes = phdrs[i].p_filesz,
			.offset = phdrs[i].p_offset,
		};
	}
	free(phdrs);
	return err;
}

int ktext_new(struct ktext **out, const char *path)
{
	struct ktext *kt = calloc(1, sizeof(*kt));
	int err;

	if (!kt)
		return -ENOMEM;
	kt->fd = open(path, O_RDONLY | O_CLOEXEC);
	err = kt->fd < 0 ? -errno : segments_read(kt);
	if (!err && !kt->seg_cnt)
		err = -ENOEXEC;
	if (err) {
		ktext_free(kt);
		return err;
	}
	*out = kt;
	return 0;
}

void ktext_free(struct ktext *kt)
{
	if (!kt)
		return;
	if (kt->fd >= 0)
		close(kt->fd);
	free(kt->segs);
	free(kt);
}

int ktext_read(const struct ktext *kt, uint64_t addr, void *buf, size_t len)
{
	for (size_t i = 0; i < kt->seg_cnt; i++) {
		const struct segment *seg = &kt->segs[i];

		if (addr >= seg->addr && addr - seg->addr < seg->size_bytes &&
		    len <= seg->size_bytes - (addr - seg->addr))
			return read_full(kt->fd, buf, len, seg->offset + (addr - seg->addr));
	}
	return -EFAULT;
}

static bool is_tracer(void *ctx, uint64_t addr)
{
	return ksyms_is_tracer_entry(ctx, addr);
}

bool ktext_has_probe_site(const struct ktext *kt, const struct ksyms *ks, uint64_t addr)
{
	const struct arch *arch = kt->arch;
	unsigned char text[ARCH_PAD_BYTES + ARCH_CODE_MAX_BYTES];

	if (ktext_read(kt, addr, text, ARCH_PAD_BYTES + arch->site_bytes))
		return true;
	/* only the size of endbr64 matters: another 4-byte instruction may have replaced it */
	return arch->is_probe_site(text, addr, is_tracer, (void *)ks) ||
	       arch->is_probe_site(text + ARCH_PAD_BYTES, addr + ARCH_PAD_BYTES, is_tracer,
				   (void *)ks);
}

const struct arch *ktext_arch(const struct ktext *kt)
{
	return kt->arch;
}

/* ---- return addresses ---- */

struct addr_name {
	uint64_t addr;
	struct text name; /* our copy */
	bool is_told;
};

struct retaddr {
	struct ksym_text *texts; /* by address */
	size_t text_cnt;
	struct addr_name *names;
	size_t name_cnt;
	size_t name_cap;
	struct hash by_addr; /* of names */
	bool is_hidden;
	retaddr_stack stack; /* NULL: only the stacks that were added are known */
	void *stack_ctx;
};

int retaddr_new(struct retaddr **out, const struct ksyms *ks)
{
	struct retaddr *ra = calloc(1, sizeof(*ra));

	if (!ra)
		return -ENOMEM;
	if (ks && ksyms_texts(ks, &ra->texts, &ra->text_cnt)) {
		retaddr_free(ra);
		return -ENOMEM;
	}
	ra->is_hidden = ra->text_cnt && !ra->texts[ra->text_cnt - 1].addr;
	if (ra->is_hidden)
		ra->text_cnt = 0;
	*out = ra;
	return 0;
}

bool retaddr_is_hidden(const struct retaddr *ra)
{
	return ra->is_hidden;
}

void retaddr_free(struct retaddr *ra)
{
	if (!ra)
		return;
	for (size_t i = 0; i < ra->name_cnt; i++)
		free((char *)ra->names[i].name.ptr);
	free(ra->names);
	hash_release(&ra->by_addr);
	free(ra->texts);
	free(ra);
}

/* Return: NULL: there is none */
static struct addr_name *ktext_find(const struct retaddr *ra, uint64_t addr)
{
	for (uint32_t at = 0, item; hash_next(&ra->by_addr, hash_u64(addr), &at, &item);) {
		if (ra->names[item].addr == addr)
			return &ra->names[item];
	}
	return NULL;
}

/* Return: NULL: no memory */
static struct addr_name *ktext_add(struct retaddr *ra, uint64_t addr, struct text name)
{
	struct addr_name *added;
	char *copy = strndup(name.ptr, name.len);

	if (!copy || VEC_RESERVE(ra->names, ra->name_cap, ra->name_cnt + 1) ||
	    hash_add(&ra->by_addr, hash_u64(addr), (uint32_t)ra->name_cnt)) {
		free(copy);
		return NULL;
	}
	added = &ra->names[ra->name_cnt++];
	*added = (struct addr_name){ .addr = addr, .name = text_from(copy) };
	return added;
}

int retaddr_add(struct retaddr *ra, uint64_t addr, struct text name)
{
	if (!addr || ktext_find(ra, addr))
		return 0;
	return ktext_add(ra, addr, name) ? 0 : -ENOMEM;
}

static bool is_of_same(const struct ksym_text *a, const struct ksym_text *b)
{
	return !a->module || !b->module ? a->module == b->module : !strcmp(a->module, b->module);
}

/*
 * The function's end: the start of the next function, which may have several names. The last function of the kernel or
 * of a module is assumed to end with its page.
 */
static uint64_t end_of(const struct retaddr *ra, size_t idx)
{
	const struct ksym_text *text = &ra->texts[idx];
	uint64_t page_end = (text->addr | 4095) + 1;

	while (idx < ra->text_cnt && ra->texts[idx].addr == text->addr)
		idx++;
	return idx < ra->text_cnt && is_of_same(text, &ra->texts[idx]) ? ra->texts[idx].addr
								       : page_end;
}

static bool is_place_in(struct text place, const char *name)
{
	const size_t len = strlen(name);

	return place.len >= len && !memcmp(place.ptr, name, len) &&
	       (place.len == len || place.ptr[len] == '+');
}

bool retaddr_is_tracing(struct text place)
{
	return is_place_in(place, "bpf_trampoline") || is_place_in(place, "return_to_handler");
}

/* Add the name of @addr under @key. Return: NULL: no memory */
static struct addr_name *name_addr(struct retaddr *ra, uint64_t key, uint64_t addr)
{
	size_t cnt = VEC_BISECT(i, ra->text_cnt, ra->texts[i].addr <= addr);
	const struct ksym_text *text;
	char buf[640];

	/* of several names for one address the first, as the kernel does (get_symbol_pos) */
	while (cnt > 1 && ra->texts[cnt - 2].addr == ra->texts[cnt - 1].addr)
		cnt--;
	if (!cnt || addr >= end_of(ra, cnt - 1))
		return ktext_add(ra, key, text_from(ra->text_cnt ? "bpf_trampoline" : "?"));
	text = &ra->texts[cnt - 1];
	snprintf(buf, sizeof(buf), "%s+0x%" PRIx64 "/0x%" PRIx64 "%s%s%s", text->name,
		 addr - text->addr, end_of(ra, cnt - 1) - text->addr, text->module ? " [" : "",
		 text->module ? text->module : "", text->module ? "]" : "");
	return ktext_add(ra, key, text_from(buf));
}

/* Return: NULL: address 0, to which nothing returns; a frame that does not exist; or no memory */
static struct addr_name *get(struct retaddr *ra, uint64_t key)
{
	const uint32_t nr = (uint32_t)(key >> 8);
	struct addr_name *found = ktext_find(ra, key);
	uint64_t addrs[NFG_STACK_FRAMES];
	uint32_t cnt = 0;

	if (found || !key)
		return found;
	if (!RETADDR_IS_FRAME(key))
		return name_addr(ra, key, key);
	/* add all frames of the stack at once */
	if (ra->stack && !ktext_find(ra, RETADDR_FRAME(nr, 0)))
		cnt = ra->stack(ra->stack_ctx, nr, addrs);
	for (uint32_t i = 0; i < cnt; i++) {
		if (!name_addr(ra, RETADDR_FRAME(nr, i), addrs[i]))
			return NULL;
	}
	return ktext_find(ra, key);
}

struct text retaddr_get(struct retaddr *ra, uint64_t addr)
{
	const struct addr_name *found = get(ra, addr);

	return found ? found->name : (struct text){ 0 };
}

bool retaddr_get_new(struct retaddr *ra, uint64_t addr, struct text *name)
{
	struct addr_name *found = get(ra, addr);
	bool is_new = found && !found->is_told;

	*name = found ? found->name : (struct text){ 0 };
	if (found)
		found->is_told = true;
	return is_new;
}

void retaddr_forget_given(struct retaddr *ra)
{
	for (size_t i = 0; i < ra->name_cnt; i++)
		ra->names[i].is_told = false;
}

void retaddr_follow(struct retaddr *ra, retaddr_stack stack, void *ctx)
{
	ra->stack = stack;
	ra->stack_ctx = ctx;
}

bool retaddr_frame(struct retaddr *ra, uint32_t nr, uint32_t idx, struct text *name)
{
	*name = retaddr_get(ra, RETADDR_FRAME(nr, idx));
	return name->len;
}
