#include "kernel/vmlinux.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"

/* Alignment, and the space for a call depth's thunk before the next function (CONFIG_CALL_PADDING). */
#define PADDING_MAX 128u
/* ... and of the last function before a page that begins something else. */
#define LAST_PADDING_MAX 4096u

struct symbol {
	uint64_t addr;
	uint64_t size;    /* 0: not known, as of labels in assembly */
	const char *name; /* the ELF's own */
};

struct vmlinux {
	int fd;
	Elf *elf;
	struct symbol *symbols;
	size_t symbol_cnt;
	size_t symbol_cap;
	struct hash by_name;
	struct vmlinux_id id;
};

/* ---- texts ---- */

/* Hexadecimal with 0x. Return: where it ends, or NULL. */
static const char *parse_hex(const char *at, const char *end, uint64_t *number)
{
	const char *digits = at + 2;

	*number = 0;
	if (end - at < 3 || at[0] != '0' || at[1] != 'x')
		return NULL;
	for (at = digits; at < end && at - digits < 16; at++) {
		if (*at >= '0' && *at <= '9')
			*number = *number << 4 | (uint64_t)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			*number = *number << 4 | (uint64_t)(*at - 'a' + 10);
		else
			break;
	}
	return at > digits ? at : NULL;
}

bool vmlinux_parse_place(struct text text, struct vmlinux_place *place)
{
	const char *end = text.ptr + text.len;
	const char *plus = text.len ? memchr(text.ptr, '+', text.len) : NULL;
	const char *at;

	if (!plus || plus == text.ptr)
		return false;
	*place = (struct vmlinux_place){ .func = { text.ptr, (size_t)(plus - text.ptr) } };
	at = parse_hex(plus + 1, end, &place->offset);
	if (at && at < end && *at == '/')
		at = parse_hex(at + 1, end, &place->size);
	return at == end;
}

static size_t align4(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

struct vmlinux_id vmlinux_parse_notes(const void *notes, size_t len)
{
	struct vmlinux_id id = { 0 };
	const char *at = notes;
	Elf64_Nhdr head;

	while (len >= sizeof(head)) {
		size_t body;

		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		len -= sizeof(head);
		if (head.n_namesz > len || head.n_descsz > len)
			break;
		body = align4(head.n_namesz);
		if (body > len || head.n_descsz > len - body)
			break;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && !memcmp(at, "GNU", 4) &&
		    head.n_descsz <= sizeof(id.bytes)) {
			memcpy(id.bytes, at + body, head.n_descsz);
			id.len = head.n_descsz;
			break;
		}
		body += align4(head.n_descsz);
		if (body > len)
			break;
		at += body;
		len -= body;
	}
	return id;
}

struct vmlinux_id vmlinux_running_id(void)
{
	char notes[8192];
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, notes, sizeof(notes));

	if (fd >= 0)
		close(fd);
	return vmlinux_parse_notes(notes, len > 0 ? (size_t)len : 0);
}

/* ---- the image ---- */

static int add_symbol(struct vmlinux *vm, const GElf_Sym *sym, const char *name)
{
	const int type = GELF_ST_TYPE(sym->st_info);

	if ((type != STT_FUNC && type != STT_NOTYPE) || sym->st_shndx == SHN_UNDEF || !name ||
	    !*name || *name == '$') /* "$x": where arm64's code begins, ten thousand times */
		return 0;
	if (VEC_RESERVE(vm->symbols, vm->symbol_cap, vm->symbol_cnt + 1) ||
	    hash_add(&vm->by_name, hash_bytes(name, strlen(name)), (uint32_t)vm->symbol_cnt))
		return -ENOMEM;
	vm->symbols[vm->symbol_cnt++] = (struct symbol){
		.addr = sym->st_value,
		.size = sym->st_size,
		.name = name,
	};
	return 0;
}

static int read_symbols(struct vmlinux *vm, Elf_Scn *section, const GElf_Shdr *head)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t cnt = head->sh_entsize ? head->sh_size / head->sh_entsize : 0;
	int err = 0;

	if (!data || cnt > INT_MAX)
		return -ENODATA;
	for (size_t i = 0; i < cnt && !err; i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			return -ENODATA;
		err = add_symbol(vm, &sym, elf_strptr(vm->elf, head->sh_link, sym.st_name));
	}
	return err;
}

static void read_notes(struct vmlinux *vm, Elf_Scn *section)
{
	Elf_Data *data = elf_rawdata(section, NULL);

	if (data && data->d_buf && !vm->id.len)
		vm->id = vmlinux_parse_notes(data->d_buf, data->d_size);
}

static int read_sections(struct vmlinux *vm)
{
	bool has_lines = false;
	Elf_Scn *section = NULL;
	size_t names;
	int err = 0;

	if (elf_getshdrstrndx(vm->elf, &names))
		return -ENODATA;
	while (!err && (section = elf_nextscn(vm->elf, section)) != NULL) {
		GElf_Shdr head;
		const char *name;

		if (!gelf_getshdr(section, &head))
			return -ENODATA;
		name = elf_strptr(vm->elf, names, head.sh_name);
		if (name && head.sh_type != SHT_NOBITS &&
		    (!strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line")))
			has_lines = true;
		if (head.sh_type == SHT_NOTE)
			read_notes(vm, section);
		if (head.sh_type == SHT_SYMTAB)
			err = read_symbols(vm, section, &head);
	}
	return err || (has_lines && vm->symbol_cnt) ? err : -ENODATA;
}

int vmlinux_open(struct vmlinux **out, const char *path)
{
	struct vmlinux *vm = calloc(1, sizeof(*vm));
	int err;

	if (!vm)
		return -ENOMEM;
	vm->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	err = vm->fd < 0 ? -errno : 0;
	if (!err) {
		elf_version(EV_CURRENT);
		/* not mapped: a file that is cut meanwhile would end us */
		vm->elf = elf_begin(vm->fd, ELF_C_READ, NULL);
		err = vm->elf && elf_kind(vm->elf) == ELF_K_ELF ? read_sections(vm) : -ENODATA;
	}
	if (err) {
		vmlinux_free(vm);
		return err;
	}
	*out = vm;
	return 0;
}

void vmlinux_free(struct vmlinux *vm)
{
	if (!vm)
		return;
	elf_end(vm->elf);
	if (vm->fd >= 0)
		close(vm->fd);
	hash_release(&vm->by_name);
	free(vm->symbols);
	free(vm);
}

int vmlinux_fd(const struct vmlinux *vm)
{
	return vm->fd;
}

struct vmlinux_id vmlinux_id(const struct vmlinux *vm)
{
	return vm->id;
}

bool vmlinux_may_be(const struct vmlinux *vm, const struct vmlinux_id *id)
{
	return !vm->id.len || !id->len ||
	       (vm->id.len == id->len && !memcmp(vm->id.bytes, id->bytes, id->len));
}

/* ---- places ---- */

/* Whether a function of @size bytes may end up to @padding bytes before the next symbol. */
static bool suits(const struct symbol *sym, const struct vmlinux_place *place, uint64_t padding)
{
	if (!sym->size || !place->size)
		return true;
	return sym->size <= place->size && place->size - sym->size < padding;
}

int vmlinux_find(const struct vmlinux *vm, const struct vmlinux_place *place, uint64_t *addr)
{
	const uint64_t hash = hash_bytes(place->func.ptr, place->func.len);
	const struct symbol *only = NULL; /* of that name */
	const struct symbol *best = NULL; /* and of that size */
	size_t best_cnt = 0;
	size_t cnt = 0;

	for (uint32_t at = 0, item; hash_next(&vm->by_name, hash, &at, &item);) {
		const struct symbol *sym = &vm->symbols[item];

		if (strlen(sym->name) != place->func.len ||
		    memcmp(sym->name, place->func.ptr, place->func.len) != 0)
			continue;
		/* one function, twice in the table */
		if (only && only->addr == sym->addr)
			continue;
		only = sym;
		cnt++;
		if (suits(sym, place, PADDING_MAX)) {
			best = sym;
			best_cnt++;
		}
	}
	if (cnt == 1 && !suits(only, place, LAST_PADDING_MAX))
		return -EMSGSIZE;
	if (cnt == 1)
		best = only;
	if (!cnt || (cnt > 1 && best_cnt != 1) || (best->size && place->offset > best->size))
		return -ENOENT;
	*addr = best->addr + place->offset;
	return 0;
}

/* ---- where it is ---- */

/* Where distributions and builds put it: the path before the release, and after it. */
static const char *const by_release[][2] = {
	{ "/usr/lib/debug/boot/vmlinux-", "" },
	{ "/usr/lib/debug/lib/modules/", "/vmlinux" },
	{ "/usr/lib/debug/usr/lib/modules/", "/vmlinux" },
	{ "/lib/modules/", "/build/vmlinux" },
	{ "/boot/vmlinux-", "" },
};

/* Return: 0, -ENOENT or -ENOMEM. */
static int try_path(struct vmlinux **out, const char *path, const struct vmlinux_id *id,
		    struct strbuf *looked)
{
	int err = vmlinux_open(out, path);

	strbuf_printf(looked, "%s%s", looked->len ? ", " : "", path);
	if (!err && !vmlinux_may_be(*out, id)) {
		vmlinux_free(*out);
		err = -ENOENT;
	}
	return err == -ENOMEM ? err : err ? -ENOENT : 0;
}

/* debuginfod's cache; false: there is no home. */
static bool cache_dir(char *dir, size_t size)
{
	const char *path = secure_getenv("DEBUGINFOD_CACHE_PATH");
	const char *cache = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");

	if (path && *path)
		snprintf(dir, size, "%s", path);
	else if (cache && *cache)
		snprintf(dir, size, "%s/debuginfod_client", cache);
	else if (home && *home)
		snprintf(dir, size, "%s/.cache/debuginfod_client", home);
	else
		return false;
	return true;
}

static int locate_by_id(struct vmlinux **out, const char *root, const struct vmlinux_id *id,
			char *path, struct strbuf *looked)
{
	char hex[2 * VMLINUX_ID_MAX + 1];
	char dir[PATH_MAX / 2];
	int err;

	for (size_t i = 0; i < id->len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
	snprintf(path, PATH_MAX, "%s/usr/lib/debug/.build-id/%.2s/%s.debug", root, hex, hex + 2);
	err = try_path(out, path, id, looked);
	if (err != -ENOENT || !cache_dir(dir, sizeof(dir)))
		return err;
	snprintf(path, PATH_MAX, "%s/%s/debuginfo", dir, hex);
	return try_path(out, path, id, looked);
}

int vmlinux_locate(struct vmlinux **out, const char *root, const char *release,
		   const struct vmlinux_id *id, char *path, struct strbuf *looked)
{
	int err = -ENOENT;

	/* a release from a file may be any text */
	if (!*release || strchr(release, '/') || strlen(release) > NAME_MAX)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(by_release) / sizeof(by_release[0]) && err == -ENOENT; i++) {
		snprintf(path, PATH_MAX, "%s%s%s%s", root, by_release[i][0], release,
			 by_release[i][1]);
		err = try_path(out, path, id, looked);
	}
	return err == -ENOENT && id->len ? locate_by_id(out, root, id, path, looked) : err;
}
