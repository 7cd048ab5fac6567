#include "kernel/ksyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/strbuf.h"

#define READ_LEAST  4097 /* a page, which is what the kernel gives at a time, and a NUL */
#define ADDR_DIGITS 16
#define ENDBR_BYTES 4

/* One line of the file. The last line of a name holds the sums over all its lines. */
struct entry {
	const char *name;
	const char *module;
	uint64_t addr;
	uint32_t name_len;
	uint32_t last; /* in the first line of a name: the index of its last line */
	uint32_t cnt;  /* of this name so far */
	char type;
	bool is_init;     /* its memory was freed: see ksyms_is_init */
	bool is_any_init; /* one of this name is */
};

struct ksyms {
	struct strbuf text; /* the file, names NUL-terminated in place */
	struct entry *entries;
	size_t entry_cnt;
	struct hash by_name;  /* of the first entry of each name */
	struct hash by_addr;  /* of modules' functions */
	const char **modules; /* those whose symbols have begun, while the lines are read */
	size_t module_cnt;
};

/* Where in the file a line is. */
struct place {
	bool is_boot;       /* between _sinittext and _einittext */
	bool is_gone;       /* in a module's second group */
	const char *module; /* whose group it is; NULL: the kernel's */
};

/* The first line of that name; NULL: there is none. */
static struct entry *first_of(const struct ksyms *ks, const char *name, uint64_t hash)
{
	for (uint32_t at = 0, item; hash_next(&ks->by_name, hash, &at, &item);) {
		if (!strcmp(ks->entries[item].name, name))
			return &ks->entries[item];
	}
	return NULL;
}

static const struct entry *entry_find(const struct ksyms *ks, const char *name)
{
	const struct entry *first = first_of(ks, name, hash_bytes(name, strlen(name)));

	return first ? &ks->entries[first->last] : NULL;
}

static int read_all(const char *path, struct strbuf *out)
{
	ssize_t len;
	int err = 0;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		if (!strbuf_reserve(out, READ_LEAST)) {
			err = -ENOMEM;
			break;
		}
		len = read(fd, out->ptr + out->len, out->cap - out->len - 1);
		if (len < 0)
			err = -errno;
		else
			out->len += (size_t)len;
	} while (len > 0);
	close(fd);
	return err;
}

/* What eight hexadecimal digits say, the first the highest: all at once, for there are millions of them. */
static uint32_t hex8_read(const char *digits)
{
	uint64_t v;

	memcpy(&v, digits, sizeof(v));
	v = (v & 0x0f0f0f0f0f0f0f0full) + (v >> 6 & 0x0101010101010101ull) * 9;
	v = __builtin_bswap64(v);
	v = (v | v >> 4) & 0x00ff00ff00ff00ffull;
	v = (v | v >> 8) & 0x0000ffff0000ffffull;
	return (uint32_t)(v | v >> 16);
}

/* "ffffffff81000000 T name\t[module]\n": cut name and module out in place. */
static bool line_read(struct entry *entry, char *line, char *eol)
{
	char *name = line + ADDR_DIGITS + 3;
	char *end;

	if (eol <= name || name[-3] != ' ' || !name[-2] || name[-1] != ' ')
		return false;
	end = memchr(name, '\t', (size_t)(eol - name));
	*entry = (struct entry){
		.addr = (uint64_t)hex8_read(line) << 32 | hex8_read(line + 8),
		.type = name[-2],
		.name = name,
	};
	if (end && end < eol - 2 && end[1] == '[' && eol[-1] == ']') {
		entry->module = end + 2;
		eol[-1] = '\0';
	}
	if (end)
		*end = '\0';
	entry->name_len = (uint32_t)strlen(name);
	return entry->name_len > 0;
}

/* Whether the symbols of @module began before; they do now. */
static bool module_begin(struct ksyms *ks, const char *module)
{
	for (size_t i = 0; i < ks->module_cnt; i++) {
		if (!strcmp(ks->modules[i], module))
			return true;
	}
	ks->modules[ks->module_cnt++] = module;
	return false;
}

static bool is_start_code(struct ksyms *ks, struct place *at, const struct entry *entry)
{
	if (entry->name_len == strlen("_sinittext"))
		at->is_boot = (at->is_boot || !strcmp(entry->name, "_sinittext")) &&
			      strcmp(entry->name, "_einittext");
	if (entry->module && (!at->module || strcmp(at->module, entry->module) != 0))
		at->is_gone = module_begin(ks, entry->module);
	at->module = entry->module;
	return at->is_boot || (entry->module && at->is_gone);
}

/* Nops before a function: a quarter of all lines since 6.2, which nobody asks for. */
static bool is_padding(const struct entry *entry)
{
	return entry->name_len > 6 && !memcmp(entry->name, "__pfx_", 6);
}

static bool is_text(const struct entry *entry)
{
	if (entry->is_init || !strchr("tTwW", entry->type))
		return false;
	/* programs, trampolines: they come and go */
	return !entry->module || (strcmp(entry->module, "bpf") != 0 &&
				  strncmp(entry->module, "__builtin__", 11) != 0);
}

/* The line goes to those of its name, whose counts it carries on. Return: 0 or -ENOMEM. */
static int name_index(struct ksyms *ks, struct entry *entry)
{
	uint64_t hash = hash_bytes(entry->name, entry->name_len);
	struct entry *first = first_of(ks, entry->name, hash);
	uint32_t idx = (uint32_t)(entry - ks->entries);

	entry->is_any_init = entry->is_init;
	entry->cnt = 1;
	if (!first) {
		entry->last = idx;
		return hash_add(&ks->by_name, hash, idx);
	}
	entry->cnt += ks->entries[first->last].cnt;
	entry->is_any_init |= ks->entries[first->last].is_any_init;
	first->last = idx;
	return 0;
}

static int entry_index(struct ksyms *ks, struct entry *entry)
{
	int err = name_index(ks, entry);

	if (!err && entry->module && is_text(entry))
		err = hash_add(&ks->by_addr, hash_u64(entry->addr),
			       (uint32_t)(entry - ks->entries));
	return err;
}

/* Whether a function of a module begins at @addr. */
static bool is_module_func(const struct ksyms *ks, uint64_t addr)
{
	for (uint32_t at = 0, item; hash_next(&ks->by_addr, hash_u64(addr), &at, &item);) {
		if (ks->entries[item].addr == addr)
			return true;
	}
	return false;
}

static int index_lines(struct ksyms *ks)
{
	char *line = ks->text.ptr;
	char *end = ks->text.ptr + ks->text.len;
	struct place at = { 0 };
	int err = 0;

	while (line < end && !err) {
		struct entry *entry = &ks->entries[ks->entry_cnt];
		char *eol = memchr(line, '\n', (size_t)(end - line));

		if (!eol)
			eol = end;
		*eol = '\0';
		if (line_read(entry, line, eol)) {
			entry->is_init = is_start_code(ks, &at, entry);
			if (!is_padding(entry))
				err = entry_index(ks, entry);
			ks->entry_cnt++;
		}
		line = eol + 1;
	}
	return err;
}

static size_t line_count(const struct strbuf *text)
{
	const char *p = text->ptr;
	const char *end = text->ptr + text->len;
	size_t cnt = 1;

	while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
		cnt++;
		p++;
	}
	return cnt;
}

static int ksyms_alloc(struct ksyms *ks)
{
	size_t cnt = line_count(&ks->text);

	if (cnt >= UINT32_MAX / 4)
		return -E2BIG;
	ks->entries = malloc(cnt * sizeof(*ks->entries));
	ks->modules = malloc(cnt * sizeof(*ks->modules));
	if (!ks->entries || !ks->modules)
		return -ENOMEM;
	return hash_reserve(&ks->by_name, (uint32_t)cnt);
}

int ksyms_new_at(struct ksyms **out, const char *path)
{
	struct ksyms *ks = calloc(1, sizeof(*ks));
	int err;

	if (!ks)
		return -ENOMEM;
	err = read_all(path, &ks->text);
	if (!err)
		err = ksyms_alloc(ks);
	if (!err)
		err = index_lines(ks);
	if (err)
		ksyms_free(ks);
	else
		*out = ks;
	return err;
}

int ksyms_new(struct ksyms **out)
{
	return ksyms_new_at(out, "/proc/kallsyms");
}

void ksyms_free(struct ksyms *ks)
{
	if (!ks)
		return;
	strbuf_release(&ks->text);
	hash_release(&ks->by_name);
	hash_release(&ks->by_addr);
	free(ks->entries);
	free(ks->modules);
	free(ks);
}

unsigned int ksyms_count(const struct ksyms *ks, const char *name)
{
	const struct entry *entry = entry_find(ks, name);

	return entry ? entry->cnt : 0;
}

bool ksyms_is_init(const struct ksyms *ks, const char *name)
{
	const struct entry *entry = entry_find(ks, name);

	return entry && entry->is_any_init;
}

uint64_t ksyms_addr(const struct ksyms *ks, const char *name)
{
	const struct entry *entry = entry_find(ks, name);

	return entry ? entry->addr : 0;
}

bool ksyms_is_tracer_entry(const struct ksyms *ks, uint64_t addr)
{
	static const char *const names[] = { "__fentry__", "ftrace_caller", "ftrace_regs_caller" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (addr == ksyms_addr(ks, names[i]))
			return true;
	}
	if (addr >= ksyms_addr(ks, "_stext") && addr < ksyms_addr(ks, "_etext"))
		return false;
	/* the function at hand is traced now, or is a module's that may not be */
	return !is_module_func(ks, addr) && !is_module_func(ks, addr - ENDBR_BYTES);
}

/* Names at one place stay as they stand in the file. */
static int text_compare(const void *a, const void *b)
{
	const struct ksym_text *x = a;
	const struct ksym_text *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

int ksyms_texts(const struct ksyms *ks, struct ksym_text **out, size_t *cnt)
{
	struct ksym_text *texts = malloc((ks->entry_cnt + 1) * sizeof(*texts));
	bool in_order = true;

	if (!texts)
		return -ENOMEM;
	*cnt = 0;
	for (size_t i = 0; i < ks->entry_cnt; i++) {
		const struct entry *entry = &ks->entries[i];

		if (!is_text(entry))
			continue;
		in_order = in_order && (!*cnt || texts[*cnt - 1].addr <= entry->addr);
		texts[(*cnt)++] = (struct ksym_text){ entry->addr, entry->name, entry->module };
	}
	if (!in_order) /* modules stand where memory was free */
		qsort(texts, *cnt, sizeof(*texts), text_compare);
	*out = texts;
	return 0;
}
