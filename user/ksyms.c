#include "ksyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strbuf.h"

struct slot {
	const char *name;
	uint64_t addr;
	unsigned int cnt;
	bool is_init;
};

struct ksyms {
	struct strbuf text; /* the file, names NUL-terminated in place */
	struct slot *slots;
	size_t slot_cnt; /* a power of two */
};

static uint32_t name_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

static struct slot *slot_find(const struct ksyms *ks, const char *name)
{
	size_t idx = name_hash(name) & (ks->slot_cnt - 1);

	while (ks->slots[idx].name && strcmp(ks->slots[idx].name, name))
		idx = (idx + 1) & (ks->slot_cnt - 1);
	return &ks->slots[idx];
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
		if (!strbuf_reserve(out, 1 << 20)) {
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

/* "ffffffff81000000 T name\t[module]\n": cut the name out in place, hand it over. */
static void index_lines(struct ksyms *ks)
{
	char *line = ks->text.ptr;
	char *end = ks->text.ptr + ks->text.len;
	bool is_init = false;

	while (line < end) {
		char *eol = memchr(line, '\n', (size_t)(end - line));
		struct slot *slot;
		char *name;

		if (!eol)
			eol = end;
		*eol = '\0';
		name = strchr(line, ' ');
		name = name ? strchr(name + 1, ' ') : NULL;
		if (name) {
			name++;
			name[strcspn(name, "\t ")] = '\0';
			is_init = (is_init || !strcmp(name, "_sinittext")) &&
				  strcmp(name, "_einittext");
			slot = slot_find(ks, name);
			slot->name = name;
			slot->cnt++;
			slot->addr = strtoull(line, NULL, 16);
			slot->is_init |= is_init;
		}
		line = eol + 1;
	}
}

static size_t line_count(const struct strbuf *text)
{
	size_t cnt = 1;

	for (size_t i = 0; i < text->len; i++)
		cnt += text->ptr[i] == '\n';
	return cnt;
}

int ksyms_new(struct ksyms **out)
{
	struct ksyms *ks = calloc(1, sizeof(*ks));
	int err;

	if (!ks)
		return -ENOMEM;
	err = read_all("/proc/kallsyms", &ks->text);
	if (!err) {
		ks->slot_cnt = 1024;
		while (ks->slot_cnt < 2 * line_count(&ks->text))
			ks->slot_cnt *= 2;
		ks->slots = calloc(ks->slot_cnt, sizeof(*ks->slots));
		if (!ks->slots)
			err = -ENOMEM;
	}
	if (err) {
		ksyms_free(ks);
		return err;
	}
	index_lines(ks);
	*out = ks;
	return 0;
}

void ksyms_free(struct ksyms *ks)
{
	if (!ks)
		return;
	strbuf_release(&ks->text);
	free(ks->slots);
	free(ks);
}

unsigned int ksyms_count(const struct ksyms *ks, const char *name)
{
	return slot_find(ks, name)->cnt;
}

bool ksyms_is_init(const struct ksyms *ks, const char *name)
{
	return slot_find(ks, name)->is_init;
}

uint64_t ksyms_addr(const struct ksyms *ks, const char *name)
{
	return slot_find(ks, name)->addr;
}
