#include "kernel/ktext.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A kcore of a large host has some hundred: one for each range of memory. */
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

static int header_read(int fd, Elf64_Ehdr *head)
{
	int err = read_full(fd, head, sizeof(*head), 0);

	if (err)
		return err == -EFAULT ? -ENOEXEC : err;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_phentsize != sizeof(Elf64_Phdr) ||
	    !head->e_phnum || head->e_phnum >= SEGMENT_MAX_CNT)
		return -ENOEXEC;
	return 0;
}

static int segments_read(struct ktext *kt)
{
	Elf64_Phdr *phdrs;
	Elf64_Ehdr head;
	int err;

	err = header_read(kt->fd, &head);
	if (err)
		return err;
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

int ktext_new_image(struct ktext **out, const char *path)
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

int ktext_new(struct ktext **out)
{
	return ktext_new_image(out, "/proc/kcore");
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
	/* endbr64 may have been overwritten by another 4-byte instruction: only its place counts */
	return arch->is_probe_site(text, addr, is_tracer, (void *)ks) ||
	       arch->is_probe_site(text + ARCH_PAD_BYTES, addr + ARCH_PAD_BYTES, is_tracer,
				   (void *)ks);
}

const struct arch *ktext_arch(const struct ktext *kt)
{
	return kt->arch;
}
