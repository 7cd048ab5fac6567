#include "kernel/ksyms.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "arch/arch.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "kernel/ksymiter.h"
#include "kernel/ksymrec.h"
#include "kernel/ksymtext.h"

/* The size of most kernels' records. Growing in steps would copy them; unused memory is not touched. */
#define EXPECT_BYTES (16u << 20)

/*
 * Records are in the order of their lines; an index counts words up to one. The table has the first record of a name,
 * which links to the last; each of the others links to the previous one.
 */
struct ksyms {
	struct strbuf recs;
	size_t rec_cnt;
	struct hash by_name;  /* of the first record of each name */
	struct hash by_addr;  /* of modules' functions */
	const char **modules; /* modules whose symbols have begun, while the records are read */
	size_t module_cnt;
	size_t module_cap;
};

/* Where in the file a line is. */
struct place {
	bool is_boot;       /* between _sinittext and _einittext */
	bool is_gone;       /* in a module's second group */
	const char *module; /* the group's module; NULL: the kernel */
};

static struct ksymrec *rec_at(const struct ksyms *ks, uint32_t idx)
{
	return (struct ksymrec *)(ks->recs.ptr + (size_t)idx * KSYMREC_WORD);
}

static uint32_t rec_idx(const struct ksyms *ks, const struct ksymrec *rec)
{
	return (uint32_t)((size_t)((const char *)rec - ks->recs.ptr) / KSYMREC_WORD);
}

/* @rec: the previous one, NULL at first. Return: NULL when there are no more. */
static struct ksymrec *rec_next(const struct ksyms *ks, struct ksymrec *rec)
{
	size_t at = rec ? (size_t)((char *)rec - ks->recs.ptr) + ksymrec_bytes(rec) : 0;

	return at < ks->recs.len ? (struct ksymrec *)(ks->recs.ptr + at) : NULL;
}

/* The first one of that name; NULL: there is none. */
static struct ksymrec *first_of(const struct ksyms *ks, const char *name, uint64_t hash)
{
	for (uint32_t at = 0, item; hash_next(&ks->by_name, hash, &at, &item);) {
		if (!strcmp(ksymrec_name(rec_at(ks, item)), name))
			return rec_at(ks, item);
	}
	return NULL;
}

static const struct ksymrec *first_find(const struct ksyms *ks, const char *name)
{
	return first_of(ks, name, hash_bytes(name, strlen(name)));
}

/* Whether the symbols of @module began before; they do now. */
static int module_begin(struct ksyms *ks, const char *module, bool *has_begun)
{
	*has_begun = true;
	for (size_t i = 0; i < ks->module_cnt; i++) {
		if (!strcmp(ks->modules[i], module))
			return 0;
	}
	*has_begun = false;
	if (VEC_RESERVE(ks->modules, ks->module_cap, ks->module_cnt + 1))
		return -ENOMEM;
	ks->modules[ks->module_cnt++] = module;
	return 0;
}

/* Goes on to the place of @rec. Return: 0 or -ENOMEM. */
static int place_next(struct ksyms *ks, struct place *at, const struct ksymrec *rec)
{
	const char *name = ksymrec_name(rec);
	const char *module = ksymrec_module(rec);
	int err = 0;

	if (rec->name_words == 2 && *name == '_')
		at->is_boot =
			(at->is_boot || !strcmp(name, "_sinittext")) && strcmp(name, "_einittext");
	if (module && (!at->module || strcmp(at->module, module) != 0))
		err = module_begin(ks, module, &at->is_gone);
	at->module = module;
	return err;
}

/* Nops before a function: a quarter of all lines since 6.2, and never looked up. */
static bool is_padding(const struct ksymrec *rec)
{
	return !memcmp(ksymrec_name(rec), "__pfx_", 6) && ksymrec_name(rec)[6];
}

static bool is_text(const struct ksymrec *rec)
{
	const char *module = ksymrec_module(rec);

	if (rec->flags & KSYMREC_INIT || !memchr("tTwW", rec->type, 4))
		return false;
	/* programs, trampolines: they come and go */
	return !module || (strcmp(module, "bpf") != 0 && strncmp(module, "__builtin__", 11) != 0);
}

/* Link the record to the others of its name. Return: 0 or -ENOMEM. */
static int name_index(struct ksyms *ks, struct ksymrec *rec)
{
	const char *name = ksymrec_name(rec);
	uint64_t hash = hash_bytes(name, strlen(name));
	struct ksymrec *first = first_of(ks, name, hash);
	uint32_t idx = rec_idx(ks, rec);

	if (!first) {
		rec->link = idx;
		first = rec;
	} else {
		rec->link = first->link;
		first->link = idx;
	}
	if (rec->flags & KSYMREC_INIT)
		first->flags |= KSYMREC_ANY_INIT;
	return first == rec ? hash_add(&ks->by_name, hash, idx) : 0;
}

static int rec_index(struct ksyms *ks, struct ksymrec *rec)
{
	int err = name_index(ks, rec);

	if (!err && rec->module_words && rec->addr && is_text(rec))
		err = hash_add(&ks->by_addr, hash_u64(rec->addr), rec_idx(ks, rec));
	return err;
}

/* Whether a function of a module begins at @addr. */
static bool is_module_func(const struct ksyms *ks, uint64_t addr)
{
	for (uint32_t at = 0, item; hash_next(&ks->by_addr, hash_u64(addr), &at, &item);) {
		if (rec_at(ks, item)->addr == addr)
			return true;
	}
	return false;
}

/*
 * With LTO clang calls a static function f.llvm.HASH: types, and who attaches to it, call it f: the kernel's own search
 * by name leaves the rest out (cleanup_symbol_name, 5.14).
 */
static void strip_hash(struct ksymrec *rec)
{
	char *name = (char *)ksymrec_name(rec);
	char *dot = strchr(name, '.');
	char *hash = dot ? strstr(dot, ".llvm.") : NULL;

	if (hash && hash != name)
		*hash = '\0';
}

static int recs_index(struct ksyms *ks)
{
	struct place at = { 0 };
	int err = 0;

	for (struct ksymrec *rec = NULL; !err && (rec = rec_next(ks, rec));) {
		if (!rec->type)
			continue;
		strip_hash(rec);
		err = place_next(ks, &at, rec);
		if (at.is_boot || (at.module && at.is_gone))
			rec->flags |= KSYMREC_INIT;
		if (!err && !is_padding(rec))
			err = rec_index(ks, rec);
	}
	return err;
}

static int tables_make(struct ksyms *ks)
{
	int err;

	if (ks->recs.len / KSYMREC_WORD >= UINT32_MAX / 4)
		return -E2BIG;
	for (struct ksymrec *rec = NULL; (rec = rec_next(ks, rec));)
		ks->rec_cnt++;
	err = hash_reserve(&ks->by_name, (uint32_t)ks->rec_cnt);
	return err ? err : recs_index(ks);
}

/* Takes the records; none if @err is set. */
static int ksyms_of(struct ksyms **out, struct strbuf *recs, int err)
{
	struct ksyms *ks = err ? NULL : calloc(1, sizeof(*ks));

	if (!ks) {
		strbuf_release(recs);
		return err ? err : -ENOMEM;
	}
	ks->recs = *recs;
	err = tables_make(ks);
	if (err)
		ksyms_free(ks);
	else
		*out = ks;
	return err;
}

int ksyms_new_at(struct ksyms **out, const char *path)
{
	struct strbuf recs = { 0 };

	return ksyms_of(out, &recs, ksymtext_read(&recs, path));
}

int ksyms_new_written(struct ksyms **out, const void *bytes, size_t len)
{
	struct strbuf recs = { 0 };

	strbuf_add(&recs, bytes, len);
	return ksyms_of(out, &recs, strbuf_ok(&recs) ? ksymiter_accept(&recs) : -ENOMEM);
}

int ksyms_new(struct ksyms **out, const struct kbtf *kb)
{
	struct strbuf recs = { 0 };
	int err = -EOPNOTSUPP;

	strbuf_reserve(&recs, EXPECT_BYTES);
	if (kb)
		err = ksymiter_read(&recs, kb);
	if (err) {
		log_debug("symbols are read from /proc/kallsyms (%s)", strerror(-err));
		strbuf_reset(&recs);
		err = ksymtext_read(&recs, "/proc/kallsyms");
	}
	return ksyms_of(out, &recs, err);
}

void ksyms_free(struct ksyms *ks)
{
	if (!ks)
		return;
	strbuf_release(&ks->recs);
	hash_release(&ks->by_name);
	hash_release(&ks->by_addr);
	free(ks->modules);
	free(ks);
}

unsigned int ksyms_count(const struct ksyms *ks, const char *name)
{
	const struct ksymrec *first = first_find(ks, name);
	const struct ksymrec *rec = first;
	unsigned int cnt = first != NULL;

	while (first && (rec = rec_at(ks, rec->link)) != first)
		cnt++;
	return cnt;
}

const char *ksyms_suggest(const struct ksyms *ks, const char *name)
{
	struct suggest near;

	suggest_begin(&near, name);
	for (struct ksymrec *rec = NULL; (rec = rec_next(ks, rec));) {
		if (is_text(rec) && !is_padding(rec))
			suggest_add(&near, ksymrec_name(rec));
	}
	return suggest_text(&near);
}

bool ksyms_is_init(const struct ksyms *ks, const char *name)
{
	const struct ksymrec *first = first_find(ks, name);

	return first && first->flags & KSYMREC_ANY_INIT;
}

uint64_t ksyms_addr(const struct ksyms *ks, const char *name)
{
	const struct ksymrec *first = first_find(ks, name);

	return first ? rec_at(ks, first->link)->addr : 0;
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
	return !is_module_func(ks, addr) && !is_module_func(ks, addr - ARCH_PAD_BYTES);
}

/* Names of one address keep the file's order. */
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
	struct ksym_text *texts = malloc((ks->rec_cnt + 1) * sizeof(*texts));
	bool in_order = true;

	if (!texts)
		return -ENOMEM;
	*cnt = 0;
	for (struct ksymrec *rec = NULL; (rec = rec_next(ks, rec));) {
		if (!is_text(rec))
			continue;
		in_order = in_order && (!*cnt || texts[*cnt - 1].addr <= rec->addr);
		texts[(*cnt)++] =
			(struct ksym_text){ rec->addr, ksymrec_name(rec), ksymrec_module(rec) };
	}
	if (!in_order) /* modules are wherever memory was free */
		qsort(texts, *cnt, sizeof(*texts), text_compare);
	*out = texts;
	return 0;
}
