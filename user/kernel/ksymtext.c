#include "kernel/ksymtext.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "kernel/ksymrec.h"

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
	memset(to + (words - 1) * KSYMREC_WORD, 0, KSYMREC_WORD);
	memcpy(to, name, len);
	return to + words * KSYMREC_WORD;
}

static void rec_put(struct strbuf *recs, const char *line, const char *name, const char *module)
{
	const size_t name_len = strlen(name);
	const size_t module_len = module ? strlen(module) : 0;
	const size_t name_words = name_len / KSYMREC_WORD + 1;
	const size_t module_words = module ? module_len / KSYMREC_WORD + 1 : 0;
	const size_t bytes = sizeof(struct ksymrec) + (name_words + module_words) * KSYMREC_WORD;
	struct ksymrec *rec;
	char *to;

	if (!name_len || name_words > KSYMREC_WORDS_MAX || module_words > KSYMREC_WORDS_MAX ||
	    (recs->cap - recs->len < bytes && !strbuf_reserve(recs, bytes)))
		return;
	rec = (struct ksymrec *)(recs->ptr + recs->len);
	*rec = (struct ksymrec){
		.addr = (uint64_t)hex8_read(line) << 32 | hex8_read(line + 8),
		.type = (uint8_t)name[-2],
		.name_words = (uint8_t)name_words,
		.module_words = (uint8_t)module_words,
	};
	to = (char *)(rec + 1);
	if (module)
		to = name_put(to, module, module_len, module_words);
	name_put(to, name, name_len, name_words);
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

/* Consume whole lines; the start of the next one stays. There is room for a byte after the text. */
static void lines_take(struct strbuf *recs, struct strbuf *text)
{
	char *line = text->ptr;
	char *end = text->ptr + text->len;
	char *eol;

	while ((eol = memchr(line, '\n', (size_t)(end - line)))) {
		line_take(recs, line, eol);
		line = eol + 1;
	}
	text->len = (size_t)(end - line);
	memmove(text->ptr, line, text->len);
}

static int fd_read(struct strbuf *recs, struct strbuf *text, int fd)
{
	ssize_t len;

	do {
		if (!strbuf_reserve(text, READ_LEAST))
			return -ENOMEM;
		len = read(fd, text->ptr + text->len, text->cap - text->len - 1);
		if (len < 0)
			return -errno;
		text->len += (size_t)len;
		lines_take(recs, text);
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
