/* Lines of files, plain, packed and wide. */
#include "base/lines.h"

#include "harness.h"
#include "recordings.h"
#include "base/unpack.h"

#include <zlib.h>

BEFORE(new_path);

#define PART                                         \
	" 0)               |  vfs_read() {\n"        \
	" 0)   0.180 us    |    rw_verify_area();\n" \
	" 0) ! 113.400 us  |  }\n"
#define PART_CNT 30

/* PART_CNT times PART, as gzip -9n, xz -9e --check=crc32 and zstd -19 pack it. */
static const uint8_t gzip[] = {
	0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xcd, 0xb1, 0x0a,
	0x80, 0x20, 0x00, 0x84, 0xe1, 0xbd, 0xa7, 0xb8, 0x36, 0x5d, 0x44, 0xa9, 0x21, 0xe8,
	0x61, 0x44, 0x48, 0xa1, 0x55, 0xc9, 0x88, 0xea, 0xdd, 0x13, 0x73, 0xe9, 0x19, 0xba,
	0x9b, 0xff, 0xe3, 0x83, 0x96, 0xf8, 0xee, 0x02, 0x72, 0x48, 0x36, 0x7a, 0xb7, 0x08,
	0x89, 0xb3, 0x43, 0x2d, 0xb4, 0x32, 0x93, 0xc6, 0x96, 0x5a, 0x01, 0xc4, 0xdd, 0x66,
	0x1f, 0xd7, 0x70, 0x58, 0x57, 0x52, 0x21, 0xe7, 0x1a, 0xf6, 0x30, 0x66, 0x50, 0xa3,
	0x7e, 0xd3, 0x12, 0xde, 0xed, 0x4f, 0x81, 0x02, 0x05, 0x0a, 0x14, 0x28, 0x50, 0xa0,
	0x40, 0x81, 0xc2, 0xdf, 0x85, 0x07, 0xd6, 0x58, 0x91, 0xc5, 0x7c, 0x0b, 0x00, 0x00,
};
static const uint8_t xz[] = {
	0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21,
	0x01, 0x1c, 0x00, 0x00, 0x00, 0x10, 0xcf, 0x58, 0xcc, 0xe0, 0x0b, 0x7b, 0x00, 0x56, 0x5d,
	0x00, 0x10, 0x0c, 0x01, 0x53, 0x3f, 0x1a, 0x31, 0x3a, 0x5a, 0xfc, 0x37, 0xac, 0xf4, 0x18,
	0xd0, 0x64, 0x58, 0x1c, 0xd2, 0x7c, 0x3e, 0xbd, 0x71, 0x47, 0x97, 0x12, 0x31, 0xd5, 0x48,
	0x96, 0xcf, 0x22, 0x1e, 0xb5, 0x04, 0x5c, 0x2f, 0xa7, 0x61, 0xbb, 0x2d, 0x6c, 0xf4, 0xb5,
	0xb4, 0x78, 0x52, 0x67, 0x41, 0xa7, 0x36, 0x34, 0xf7, 0x5e, 0xb9, 0xad, 0x21, 0xc3, 0x32,
	0x22, 0xbe, 0x3a, 0x7c, 0xd8, 0xdf, 0x06, 0xa8, 0x15, 0x78, 0xb9, 0x1d, 0x75, 0x6f, 0x80,
	0x67, 0x35, 0x52, 0xd3, 0x3b, 0xdb, 0x26, 0xb6, 0x8b, 0x21, 0x69, 0x00, 0x00, 0x00, 0x00,
	0xd6, 0x58, 0x91, 0xc5, 0x00, 0x01, 0x6e, 0xfc, 0x16, 0x00, 0x00, 0x00, 0xe8, 0x0f, 0x1d,
	0x09, 0x3e, 0x30, 0x0d, 0x8b, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
};
static const uint8_t zstd[] = {
	0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x68, 0x65, 0x02, 0x00, 0x22, 0x04, 0x0e, 0x12, 0x90, 0xcf,
	0x01, 0x30, 0x98, 0xe6, 0x35, 0xa0, 0xfe, 0x27, 0xf0, 0xa0, 0x72, 0x20, 0x7a, 0xbc, 0x53,
	0x1d, 0xe0, 0xfe, 0xb6, 0xcd, 0x28, 0x84, 0x3c, 0x20, 0x16, 0x8a, 0x3d, 0x95, 0x68, 0x73,
	0x8f, 0xc9, 0x34, 0xdf, 0x0f, 0xe3, 0xfb, 0x90, 0xd1, 0xff, 0xb9, 0x0f, 0xea, 0x59, 0x2c,
	0xc5, 0x5e, 0x82, 0x4d, 0xfe, 0xf6, 0xdc, 0x0f, 0x05, 0x00, 0x17, 0x2b, 0x83, 0xd7, 0x4e,
	0x21, 0xcf, 0x54, 0x0b, 0x16, 0xe5, 0x66, 0x19, 0x64, 0x01, 0x99, 0xee, 0x35, 0xa6,
};

static const struct packed {
	const char *name;
	const uint8_t *bytes;
	size_t len;
} packed[] = {
	{ "gzip", gzip, sizeof(gzip) },
	{ "xz", xz, sizeof(xz) },
	{ "zstd", zstd, sizeof(zstd) },
};

/* What the lines of the file are, each with a newline; @err and @why: how it ends. */
static const char *all_lines(int *err, const char **why)
{
	static struct strbuf all;
	struct lines *ls;
	struct text line;

	strbuf_reset(&all);
	CHECK(!lines_open(&ls, path));
	while (lines_next(ls, &line)) {
		CHECK(line.len <= LINES_MAX_BYTES);
		strbuf_add(&all, line.ptr, line.len);
		strbuf_char(&all, '\n');
	}
	*err = lines_error(ls, why);
	lines_free(ls);
	return strbuf_cstr(&all);
}

static const char *whole(void)
{
	int err;
	const char *why;
	const char *text = all_lines(&err, &why);

	CHECK(!err && !why);
	return text;
}

static const char *wanted(unsigned int part_cnt)
{
	static struct strbuf text;

	strbuf_reset(&text);
	for (unsigned int i = 0; i < part_cnt; i++)
		strbuf_str(&text, PART);
	return strbuf_cstr(&text);
}

TEST(plain_lines)
{
	file_write("a\n\nbc", 5);
	CHECK_STR(whole(), "a\n\nbc\n");
	file_write("", 0);
	CHECK_STR(whole(), "");
	file_write("\xef\xbb\xbf"
		   "a\n",
		   5);
	CHECK_STR(whole(), "a\n");
}

TEST(a_line_too_long_comes_in_pieces)
{
	const size_t len = 3 * LINES_MAX_BYTES + 5;
	char *bytes = malloc(len);
	const char *got;

	CHECK(bytes);
	memset(bytes, 'x', len);
	file_write(bytes, len);
	got = whole();
	CHECK(strlen(got) >= len + 4 && strspn(got, "x\n") == strlen(got));
	free(bytes);
}

TEST(what_is_packed_is_unpacked)
{
	for (size_t i = 0; i < CNT_OF(packed); i++) {
		in_case("%s", packed[i].name);
		file_write((const char *)packed[i].bytes, packed[i].len);
		CHECK_STR(whole(), wanted(PART_CNT));
	}
}

/* As `cat a.gz b.gz` joins them, and with the zeros that fill a tape's block. */
TEST(parts_packed_apart_are_one)
{
	static char bytes[4096];

	for (size_t i = 0; i < CNT_OF(packed); i++) {
		const struct packed *p = &packed[i];

		in_case("%s", p->name);
		memcpy(bytes, p->bytes, p->len);
		memcpy(bytes + p->len, p->bytes, p->len);
		file_write(bytes, 2 * p->len);
		CHECK_STR(whole(), wanted(2 * PART_CNT));
	}
	memcpy(bytes, gzip, sizeof(gzip));
	memset(bytes + sizeof(gzip), 0, 512);
	file_write(bytes, sizeof(gzip) + 512);
	CHECK_STR(whole(), wanted(PART_CNT));
}

TEST(what_is_cut_says_so)
{
	for (size_t i = 0; i < CNT_OF(packed); i++) {
		for (size_t len = UNPACK_HEAD_BYTES; len < packed[i].len; len++) {
			int err;
			const char *why;
			const char *text;

			in_case("%s, %zu bytes", packed[i].name, len);
			file_write((const char *)packed[i].bytes, len);
			text = all_lines(&err, &why);
			CHECK(err == -EBADMSG && why && strstr(why, packed[i].name));
			CHECK(strlen(text) <= strlen(wanted(PART_CNT)) + 1);
		}
	}
}

/* Each byte of the data damaged in turn: an error, or what nobody can tell from sound data. */
TEST(what_is_damaged_ends)
{
	char bytes[512];
	unsigned int err_cnt = 0;

	for (size_t i = 0; i < CNT_OF(packed); i++) {
		CHECK(packed[i].len <= sizeof(bytes));
		for (size_t at = UNPACK_HEAD_BYTES; at < packed[i].len; at++) {
			int err;
			const char *why;

			memcpy(bytes, packed[i].bytes, packed[i].len);
			bytes[at] = (char)(bytes[at] ^ 0x41);
			file_write(bytes, packed[i].len);
			all_lines(&err, &why);
			CHECK(!err || err == -EBADMSG);
			err_cnt += err != 0;
		}
	}
	CHECK(err_cnt > 100);
}

/* A gigabyte of one byte, packed to a thousandth or less of it, in parts. */
TEST(what_grows_without_bound_is_refused)
{
	enum { BYTES = 1 << 20 };
	char *zeros = calloc(1, BYTES);
	unsigned char part[4096];
	int err;
	const char *why;
	z_stream z = { 0 };
	struct strbuf file = { 0 };

	CHECK(zeros && deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, 0) == Z_OK);
	for (unsigned int i = 0; i < 600; i++) {
		z.next_in = (unsigned char *)zeros;
		z.avail_in = BYTES;
		do {
			z.next_out = part;
			z.avail_out = sizeof(part);
			CHECK(deflate(&z, i == 599 ? Z_FINISH : Z_NO_FLUSH) >= 0);
			strbuf_add(&file, part, sizeof(part) - z.avail_out);
		} while (!z.avail_out);
	}
	deflateEnd(&z);
	free(zeros);
	CHECK(strbuf_ok(&file) && file.len < 600 * BYTES / UNPACK_RATIO_MAX);
	file_write(file.ptr, file.len);
	strbuf_release(&file);
	all_lines(&err, &why);
	CHECK(err == -EBADMSG && strstr(why, "a thousand times"));
}

/* ---- UTF-16 ---- */

static void write_wide(const char *text, bool is_big)
{
	static char bytes[65536];
	size_t len = 0;

	bytes[len++] = is_big ? '\xfe' : '\xff';
	bytes[len++] = is_big ? '\xff' : '\xfe';
	for (; *text; text++) {
		bytes[len++] = is_big ? 0 : *text;
		bytes[len++] = is_big ? *text : 0;
	}
	file_write(bytes, len);
}

TEST(wide_characters_become_utf8)
{
	static const char chars[] = "\xff\xfe"
				    "a\0\xe9\0\xac\x20\x3d\xd8\x00\xde\n\0\x3d\xd8z\0\x3d\xd8";

	for (int is_big = 0; is_big < 2; is_big++) {
		write_wide(PART, is_big);
		CHECK_STR(whole(), PART);
		write_wide(wanted(PART_CNT * 10), is_big);
		CHECK_STR(whole(), wanted(PART_CNT * 10));
	}
	file_write(chars, sizeof(chars) - 1);
	CHECK_STR(whole(), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n\xef\xbf\xbdz\xef\xbf\xbd\n");
	file_write("\xff\xfe"
		   "a\0b",
		   5); /* a last byte that is half a character */
	CHECK_STR(whole(), "a\n");
}
