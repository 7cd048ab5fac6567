#include "kernel/ksyms.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "kernel/kbtf.h"
#include "ksyms.skel.h"

/* @module: with brackets; "": the kernel's own. */
static bool is_function(char type, const char *name, const char *module)
{
	static const char *const others[] = { "__pfx_", "__cfi_", "__UNIQUE_ID" };

	if (!*name || !strchr("tTwW", type) || strchr(name, '.') || !strncmp(module, "[bpf]", 5) ||
	    !strncmp(module, "[__builtin", 10))
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	}
	return true;
}

int ksymnames_visit(const char *path, const char *begin, void (*visit)(void *ctx, const char *name),
		    void *ctx)
{
	FILE *file = fopen(path, "re");
	const size_t len = strlen(begin);
	bool is_boot = false;
	char *text = NULL;
	size_t size = 0;
	int err;

	if (!file)
		return -errno;
	/* "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]" */
	while (getline(&text, &size, file) > 0) {
		char *type = strchr(text, ' ');
		const char *module = "";
		char *name;
		char *end;

		if (!type || !type[1] || type[2] != ' ')
			continue;
		name = type + 3;
		end = name + strcspn(name, "\t\n");
		if (*end == '\t')
			module = end + 1;
		*end = '\0';
		if (!strcmp(name, "_sinittext") || !strcmp(name, "_einittext"))
			is_boot = name[1] == 's';
		else if (!is_boot && !strncmp(name, begin, len) &&
			 is_function(type[1], name, module))
			visit(ctx, name);
	}
	err = ferror(file) ? -EIO : 0;
	free(text);
	fclose(file);
	return err;
}

/* ---- the kernel's iterator ---- */

/* The kernel returns at most so much for one read (bpf_seq_read). */
#define READ_BYTES 32768

/*
 * libbpf calls this before it loads the program. Until then the program has another type: for a tracing program libbpf
 * would parse all of vmlinux's types.
 */
static int attach_to(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long btf_id)
{
	opts->attach_btf_id = (__u32)btf_id;
	return bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING);
}

/* Return: the iterator's descriptor or -errno. */
static int iter_create(int prog_fd)
{
	int link_fd = bpf_link_create(prog_fd, 0, BPF_TRACE_ITER, NULL);
	int fd;

	if (link_fd < 0)
		return link_fd;
	fd = bpf_iter_create(link_fd);
	close(link_fd);
	return fd;
}

static int iter_load(const struct kbtf *kb)
{
	struct coretypes types;
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types.path);
	int err = coretypes_open(&types);
	struct ksyms_bpf *skel = err ? NULL : ksyms_bpf__open_opts(&opts);

	if (!err && !skel)
		err = -errno;
	if (!err)
		err = coretypes_write(&types, kbtf_base(kb), bpf_object__btf(skel->obj));
	if (!err)
		err = ksyms_bpf__load(skel);
	if (!err)
		err = iter_create(bpf_program__fd(skel->progs.nfg_ksyms));
	ksyms_bpf__destroy(skel);
	coretypes_close(&types);
	return err;
}

static int iter_read(int fd, struct strbuf *recs)
{
	ssize_t len;

	do {
		if (!strbuf_reserve(recs, READ_BYTES))
			return -ENOMEM;
		len = read(fd, recs->ptr + recs->len, recs->cap - recs->len);
		if (len < 0)
			return -errno;
		recs->len += (size_t)len;
	} while (len);
	return 0;
}

int ksymiter_read(struct strbuf *recs, const struct kbtf *kb)
{
	const uint32_t btf_id = kbtf_func_id(kb, "bpf_iter_ksym");
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)btf_id,
		    .prog_prepare_load_fn = attach_to);
	int err;
	int fd;

	if (!btf_id)
		return -EOPNOTSUPP;
	/* the handler stays: after the last one has gone, libbpf before 1.3 uses freed memory */
	err = libbpf_register_prog_handler("iter/ksym", BPF_PROG_TYPE_RAW_TRACEPOINT,
					   BPF_TRACE_ITER, &opts);
	fd = err < 0 ? err : iter_load(kb);
	if (fd < 0)
		return fd;
	err = iter_read(fd, recs);
	close(fd);
	return err ? err : ksymiter_accept(recs);
}

/* ---- the program's output ---- */

/* Return: whether the @left bytes at @rec begin with a whole symbol. Sets its type as s_show() in kernel/kallsyms.c does. */
static bool accept(struct nfg_ksymrec *rec, size_t left)
{
	const uint64_t *module = (const uint64_t *)(rec + 1) + rec->name_words;

	if (ksymrec_bytes(rec) > left || !rec->name_words)
		return false;
	/* each name ends in its last word */
	if (!nfg_has_nul(module[-1]) ||
	    (rec->module_words && !nfg_has_nul(module[rec->module_words - 1])))
		return false;
	if (!*ksymrec_name(rec))
		rec->type = 0;
	else if (rec->module_words)
		rec->type = (uint8_t)(rec->flags & NFG_KSYMREC_EXPORTED ? toupper(rec->type)
									: tolower(rec->type));
	rec->flags = 0;
	return true;
}

/*
 * At the end of all symbols the program is called once more, with the last symbol; its number, which counts only
 * symbols, shows that.
 */
int ksymiter_accept(struct strbuf *recs)
{
	uint32_t number = 0;

	for (size_t at = 0; recs->len - at >= sizeof(struct nfg_ksymrec); number++) {
		struct nfg_ksymrec *rec = (struct nfg_ksymrec *)(recs->ptr + at);
		const size_t bytes = ksymrec_bytes(rec);

		if (number && rec->link == number - 1 && bytes == recs->len - at) {
			recs->len = at;
			return 0;
		}
		if (rec->link != number || !accept(rec, recs->len - at))
			break;
		at += bytes;
	}
	return -EIO;
}

#define READ_LEAST  4097 /* a page, which the kernel returns per read, and a NUL */
#define ADDR_DIGITS 16

/* The value of eight hexadecimal digits, the first the highest: all at once, because there are millions of them. */
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

static char *name_put(char *to, const char *name, size_t len, size_t words)
{
	memset(to + (words - 1) * NFG_KSYMREC_WORD, 0, NFG_KSYMREC_WORD);
	memcpy(to, name, len);
	return to + words * NFG_KSYMREC_WORD;
}

static void rec_put(struct strbuf *recs, const char *line, const char *name, const char *module)
{
	const size_t name_len = strlen(name);
	const size_t module_len = module ? strlen(module) : 0;
	const size_t name_words = name_len / NFG_KSYMREC_WORD + 1;
	const size_t module_words = module ? module_len / NFG_KSYMREC_WORD + 1 : 0;
	const size_t bytes =
		sizeof(struct nfg_ksymrec) + (name_words + module_words) * NFG_KSYMREC_WORD;
	struct nfg_ksymrec *rec;
	char *to;

	if (!name_len || name_words > KSYMREC_WORDS_MAX || module_words > KSYMREC_WORDS_MAX ||
	    (recs->cap - recs->len < bytes && !strbuf_reserve(recs, bytes)))
		return;
	rec = (struct nfg_ksymrec *)(recs->ptr + recs->len);
	*rec = (struct nfg_ksymrec){
		.addr = (uint64_t)hex8_read(line) << 32 | hex8_read(line + 8),
		.type = (uint8_t)name[-2],
		.name_words = (uint8_t)name_words,
		.module_words = (uint8_t)module_words,
	};
	to = name_put((char *)(rec + 1), name, name_len, name_words);
	if (module)
		name_put(to, module, module_len, module_words);
	recs->len += bytes;
}

/* "ffffffff81000000 T name\t[module]\n": name and module are cut out in place. */
static void line_take(struct strbuf *recs, char *line, char *eol)
{
	char *name = line + ADDR_DIGITS + 3;
	const char *module = NULL;
	char *end;

	if (eol - line <= ADDR_DIGITS + 3 || name[-3] != ' ' || !name[-2] || name[-1] != ' ')
		return;
	*eol = '\0';
	end = memchr(name, '\t', (size_t)(eol - name));
	if (end && end < eol - 2 && end[1] == '[' && eol[-1] == ']') {
		module = end + 2;
		eol[-1] = '\0';
	}
	if (end)
		*end = '\0';
	rec_put(recs, line, name, module);
}

/* @text: for the lines; there is always room for a byte after them. */
static int fd_read(struct strbuf *recs, struct strbuf *text, int fd)
{
	ssize_t len;

	do {
		char *line;
		char *end;
		char *eol;

		if (!strbuf_reserve(text, READ_LEAST))
			return -ENOMEM;
		len = read(fd, text->ptr + text->len, text->cap - text->len - 1);
		if (len < 0)
			return -errno;
		line = text->ptr;
		end = line + text->len + len;
		while ((eol = memchr(line, '\n', (size_t)(end - line)))) {
			line_take(recs, line, eol);
			line = eol + 1;
		}
		/* the start of the next line stays */
		text->len = (size_t)(end - line);
		memmove(text->ptr, line, text->len);
	} while (len > 0);
	line_take(recs, text->ptr, text->ptr + text->len);
	return strbuf_ok(recs) ? 0 : -ENOMEM;
}

int ksymtext_read(struct strbuf *recs, const char *path)
{
	struct strbuf text = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = fd_read(recs, &text, fd);
	strbuf_release(&text);
	close(fd);
	return err;
}

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

static struct nfg_ksymrec *rec_at(const struct ksyms *ks, uint32_t idx)
{
	return (struct nfg_ksymrec *)(ks->recs.ptr + (size_t)idx * NFG_KSYMREC_WORD);
}

/* @rec: the previous one, NULL at first. Return: NULL when there are no more. */
static struct nfg_ksymrec *rec_next(const struct ksyms *ks, struct nfg_ksymrec *rec)
{
	size_t at = rec ? (size_t)((char *)rec - ks->recs.ptr) + ksymrec_bytes(rec) : 0;

	return at < ks->recs.len ? (struct nfg_ksymrec *)(ks->recs.ptr + at) : NULL;
}

/* The first one of that name; NULL: there is none. */
static struct nfg_ksymrec *first_of(const struct ksyms *ks, const char *name, uint64_t hash)
{
	for (uint32_t at = 0, item; hash_next(&ks->by_name, hash, &at, &item);) {
		if (!strcmp(ksymrec_name(rec_at(ks, item)), name))
			return rec_at(ks, item);
	}
	return NULL;
}

static const struct nfg_ksymrec *first_find(const struct ksyms *ks, const char *name)
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

/* Nops before a function: a quarter of all lines since 6.2, and never looked up. */
static bool is_padding(const struct nfg_ksymrec *rec)
{
	return !memcmp(ksymrec_name(rec), "__pfx_", 6) && ksymrec_name(rec)[6];
}

static bool is_text(const struct nfg_ksymrec *rec)
{
	const char *module = ksymrec_module(rec);

	if (rec->flags & KSYMREC_INIT || !memchr("tTwW", rec->type, 4))
		return false;
	/* programs, trampolines: they come and go */
	return !module || (strcmp(module, "bpf") != 0 && strncmp(module, "__builtin__", 11) != 0);
}

/* Link the record to the others of its name. Return: 0 or -ENOMEM. */
static int rec_index(struct ksyms *ks, struct nfg_ksymrec *rec)
{
	const char *name = ksymrec_name(rec);
	uint64_t hash = hash_bytes(name, strlen(name));
	struct nfg_ksymrec *first = first_of(ks, name, hash);
	uint32_t idx = (uint32_t)((size_t)((char *)rec - ks->recs.ptr) / NFG_KSYMREC_WORD);
	int err = 0;

	if (!first) {
		rec->link = idx;
		first = rec;
	} else {
		rec->link = first->link;
		first->link = idx;
	}
	if (rec->flags & KSYMREC_INIT)
		first->flags |= KSYMREC_ANY_INIT;
	if (first == rec)
		err = hash_add(&ks->by_name, hash, idx);
	if (!err && rec->module_words && rec->addr && is_text(rec))
		err = hash_add(&ks->by_addr, hash_u64(rec->addr), idx);
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
static void strip_hash(struct nfg_ksymrec *rec)
{
	char *name = (char *)ksymrec_name(rec);
	char *dot = strchr(name, '.');
	char *hash = dot ? strstr(dot, ".llvm.") : NULL;

	if (hash && hash != name)
		*hash = '\0';
}

static int recs_index(struct ksyms *ks)
{
	const char *last_module = NULL;
	bool is_boot = false; /* between _sinittext and _einittext */
	bool is_gone = false; /* in a module's second group */
	int err;

	if (ks->recs.len / NFG_KSYMREC_WORD >= UINT32_MAX / 4)
		return -E2BIG;
	for (struct nfg_ksymrec *rec = NULL; (rec = rec_next(ks, rec));)
		ks->rec_cnt++;
	err = hash_reserve(&ks->by_name, (uint32_t)ks->rec_cnt);
	for (struct nfg_ksymrec *rec = NULL; !err && (rec = rec_next(ks, rec));) {
		const char *name = ksymrec_name(rec);
		const char *module = ksymrec_module(rec);

		if (!rec->type)
			continue;
		strip_hash(rec);
		if (rec->name_words == 2 && *name == '_')
			is_boot = (is_boot || !strcmp(name, "_sinittext")) &&
				  strcmp(name, "_einittext");
		if (module && (!last_module || strcmp(last_module, module) != 0))
			err = module_begin(ks, module, &is_gone);
		last_module = module;
		if (is_boot || (module && is_gone))
			rec->flags |= KSYMREC_INIT;
		if (!err && !is_padding(rec))
			err = rec_index(ks, rec);
	}
	return err;
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
	err = recs_index(ks);
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
	const struct nfg_ksymrec *first = first_find(ks, name);
	const struct nfg_ksymrec *rec = first;
	unsigned int cnt = first != NULL;

	while (first && (rec = rec_at(ks, rec->link)) != first)
		cnt++;
	return cnt;
}

const char *ksyms_suggest(const struct ksyms *ks, const char *name)
{
	struct suggest near;

	suggest_begin(&near, name);
	for (struct nfg_ksymrec *rec = NULL; (rec = rec_next(ks, rec));) {
		if (is_text(rec) && !is_padding(rec))
			suggest_add(&near, ksymrec_name(rec));
	}
	return suggest_text(&near);
}

bool ksyms_is_init(const struct ksyms *ks, const char *name)
{
	const struct nfg_ksymrec *first = first_find(ks, name);

	return first && first->flags & KSYMREC_ANY_INIT;
}

uint64_t ksyms_addr(const struct ksyms *ks, const char *name)
{
	const struct nfg_ksymrec *first = first_find(ks, name);

	return first ? rec_at(ks, first->link)->addr : 0;
}

bool ksyms_has(void *ks, const char *name)
{
	return ksyms_addr(ks, name) != 0;
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
static int ksym_text_compare(const void *a, const void *b)
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
	for (struct nfg_ksymrec *rec = NULL; (rec = rec_next(ks, rec));) {
		if (!is_text(rec))
			continue;
		in_order = in_order && (!*cnt || texts[*cnt - 1].addr <= rec->addr);
		texts[(*cnt)++] =
			(struct ksym_text){ rec->addr, ksymrec_name(rec), ksymrec_module(rec) };
	}
	if (!in_order) /* modules are wherever memory was free */
		qsort(texts, *cnt, sizeof(*texts), ksym_text_compare);
	*out = texts;
	return 0;
}
