#include "base/unpack.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/vec.h"

#define PACKED_BYTES (64u << 10)

struct unpack_kind {
	const char *magic;
	size_t magic_len;
	const char *damage; /* the messages, each for this kind */
	const char *cut;
	int (*begin)(struct unpack *up, const char **error);
	/* Unpack from in to out. Return: 0, 1 at the end of a part, or -errno. */
	int (*step)(struct unpack *up, const char **error);
	void (*end)(struct unpack *up);
};

/* Laid out like struct lzma_stream: its ABI has been the same since liblzma.so.5. */
struct xz_stream {
	const uint8_t *next_in;
	size_t avail_in;
	uint64_t total_in;
	uint8_t *next_out;
	size_t avail_out;
	uint64_t total_out;
	const void *allocator;
	void *internal;
	void *reserved_ptrs[4];
	uint64_t seek_pos;
	uint64_t reserved_int2;
	size_t reserved_int3;
	size_t reserved_int4;
	int reserved_enums[2];
};

/* Like ZSTD_inBuffer and ZSTD_outBuffer. */
struct zstd_bytes {
	void *ptr;
	size_t size;
	size_t pos;
};

struct unpack {
	const struct unpack_kind *kind;
	int fd;
	uint8_t in[PACKED_BYTES];
	size_t in_at;
	size_t in_len;
	bool is_over;  /* the file has no more bytes */
	bool is_whole; /* a part ended with the last byte that was unpacked */
	uint8_t *out;
	size_t out_len; /* room */
	uint64_t in_bytes;
	uint64_t out_bytes;
	z_stream gzip;
	struct xz_stream xz;
	void *zstd;
};

/* ---- gzip ---- */

static int gzip_begin(struct unpack *up, const char **error)
{
	(void)error;
	return inflateInit2(&up->gzip, 16 + MAX_WBITS) == Z_OK ? 0 : -ENOMEM;
}

static int gzip_step(struct unpack *up, const char **error)
{
	z_stream *z = &up->gzip;
	int ret;

	z->next_in = up->in + up->in_at;
	z->avail_in = (unsigned int)(up->in_len - up->in_at);
	z->next_out = up->out;
	z->avail_out = (unsigned int)up->out_len;
	ret = inflate(z, Z_NO_FLUSH);
	up->in_at = up->in_len - z->avail_in;
	up->out += up->out_len - z->avail_out;
	up->out_len = z->avail_out;
	if (ret == Z_STREAM_END)
		return inflateReset(z) == Z_OK ? 1 : -ENOMEM;
	if (ret == Z_OK || ret == Z_BUF_ERROR)
		return 0;
	*error = up->kind->damage;
	return ret == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

static void gzip_end(struct unpack *up)
{
	inflateEnd(&up->gzip);
}

/* ---- xz ---- */

#define XZ_CONCATENATED 8 /* lzma/base.h, lzma/container.h */
#define XZ_RUN          0
#define XZ_FINISH       3
#define XZ_STREAM_END   1
#define XZ_MEM_ERROR    5
#define XZ_MEMLIMIT     6
#define XZ_BUF_ERROR    10

static struct {
	int (*decoder)(struct xz_stream *stream, uint64_t memory_max, uint32_t flags);
	int (*code)(struct xz_stream *stream, int action);
	void (*end)(struct xz_stream *stream);
} xz;

static bool xz_load(void)
{
	void *handle = xz.end ? NULL : dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);

	if (handle) {
		*(void **)&xz.decoder = dlsym(handle, "lzma_stream_decoder");
		*(void **)&xz.code = dlsym(handle, "lzma_code");
		*(void **)&xz.end = dlsym(handle, "lzma_end");
	}
	return xz.decoder && xz.code && xz.end;
}

static int xz_begin(struct unpack *up, const char **error)
{
	if (!xz_load()) {
		*error = "it is packed by xz, and liblzma.so.5 (package liblzma5) cannot be loaded";
		return -ELIBACC;
	}
	return xz.decoder(&up->xz, UNPACK_MAX_BYTES, XZ_CONCATENATED) ? -ENOMEM : 0;
}

static int xz_step(struct unpack *up, const char **error)
{
	struct xz_stream *x = &up->xz;
	int ret;

	x->next_in = up->in + up->in_at;
	x->avail_in = up->in_len - up->in_at;
	x->next_out = up->out;
	x->avail_out = up->out_len;
	ret = xz.code(x, up->is_over ? XZ_FINISH : XZ_RUN);
	up->in_at = up->in_len - x->avail_in;
	up->out += up->out_len - x->avail_out;
	up->out_len = x->avail_out;
	if (!ret || ret == XZ_BUF_ERROR || ret == XZ_STREAM_END)
		return ret == XZ_STREAM_END;
	*error = ret == XZ_MEMLIMIT ? "unpacking this xz data takes more than 128 MiB of memory"
				    : up->kind->damage;
	return ret == XZ_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

static void unpack_xz_end(struct unpack *up)
{
	if (xz.end)
		xz.end(&up->xz);
}

/* ---- zstd ---- */

static struct {
	void *(*create)(void);
	size_t (*decompress)(void *stream, struct zstd_bytes *out, struct zstd_bytes *in);
	size_t (*decompress_block)(void *out, size_t room, const void *in, size_t len);
	unsigned int (*is_error)(size_t code);
	size_t (*destroy)(void *stream);
} zstd;

static bool zstd_load(void)
{
	void *handle = zstd.destroy ? NULL : dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);

	if (handle) {
		*(void **)&zstd.create = dlsym(handle, "ZSTD_createDStream");
		*(void **)&zstd.decompress = dlsym(handle, "ZSTD_decompressStream");
		*(void **)&zstd.decompress_block = dlsym(handle, "ZSTD_decompress");
		*(void **)&zstd.is_error = dlsym(handle, "ZSTD_isError");
		*(void **)&zstd.destroy = dlsym(handle, "ZSTD_freeDStream");
	}
	return zstd.create && zstd.decompress && zstd.decompress_block && zstd.is_error &&
	       zstd.destroy;
}

int unpack_need_zstd(const char **error)
{
	if (zstd_load())
		return 0;
	*error = "it is packed by zstd, and libzstd.so.1 (package libzstd1) cannot be loaded";
	return -ELIBACC;
}

bool unpack_zstd_block(const void *in, size_t len, void *out, size_t out_len)
{
	const size_t got = zstd.decompress_block(out, out_len, in, len);

	return !zstd.is_error(got) && got == out_len;
}

/* By itself it refuses windows of more than 128 MiB. */
static int zstd_begin(struct unpack *up, const char **error)
{
	const int err = unpack_need_zstd(error);

	if (err)
		return err;
	up->zstd = zstd.create();
	return up->zstd ? 0 : -ENOMEM;
}

static int zstd_step(struct unpack *up, const char **error)
{
	struct zstd_bytes in = { up->in, up->in_len, up->in_at };
	struct zstd_bytes out = { up->out, up->out_len, 0 };
	const size_t left = zstd.decompress(up->zstd, &out, &in);

	up->in_at = in.pos;
	up->out += out.pos;
	up->out_len -= out.pos;
	if (!zstd.is_error(left))
		return !left;
	*error = up->kind->damage;
	return -EBADMSG;
}

static void zstd_end(struct unpack *up)
{
	if (up->zstd)
		zstd.destroy(up->zstd);
}

/* ---- all of them ---- */

static const struct unpack_kind unpack_kinds[] = {
	{ "\x1f\x8b", 2, "its gzip data is damaged", "its gzip data ends too early", gzip_begin,
	  gzip_step, gzip_end },
	{ "\xfd"
	  "7zXZ\0",
	  6, "its xz data is damaged", "its xz data ends too early", xz_begin, xz_step,
	  unpack_xz_end },
	{ "\x28\xb5\x2f\xfd", 4, "its zstd data is damaged", "its zstd data ends too early",
	  zstd_begin, zstd_step, zstd_end },
};

static const struct unpack_kind *unpack_kind_of(const void *bytes, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(unpack_kinds); i++) {
		const struct unpack_kind *kind = &unpack_kinds[i];

		if (len >= kind->magic_len && !memcmp(bytes, kind->magic, kind->magic_len))
			return kind;
	}
	return NULL;
}

bool unpack_knows(const void *bytes, size_t len)
{
	return unpack_kind_of(bytes, len) != NULL;
}

int unpack_new(struct unpack **out, int fd, const void *head, size_t len, const char **error)
{
	struct unpack *up;
	int err;

	if (len > PACKED_BYTES)
		return -E2BIG;
	up = calloc(1, sizeof(*up));
	if (!up)
		return -ENOMEM;
	up->kind = unpack_kind_of(head, len);
	up->fd = fd;
	memcpy(up->in, head, len);
	up->in_len = up->in_bytes = len;
	err = up->kind ? up->kind->begin(up, error) : -EINVAL;
	if (err) {
		unpack_free(up);
		return err;
	}
	*out = up;
	return 0;
}

void unpack_free(struct unpack *up)
{
	if (!up)
		return;
	if (up->kind)
		up->kind->end(up);
	free(up);
}

/* More of the file, if all of it was unpacked. Return: 0 or -errno. */
static int refill(struct unpack *up)
{
	ssize_t part;

	if (up->is_over || up->in_at < up->in_len)
		return 0;
	do
		part = read(up->fd, up->in, sizeof(up->in));
	while (part < 0 && errno == EINTR);
	if (part < 0)
		return -errno;
	up->is_over = !part;
	up->in_at = 0;
	up->in_len = (size_t)part;
	up->in_bytes += (uint64_t)part;
	return 0;
}

/* Some write zeros behind the end: to fill a block of a tape. */
static bool is_padding(const struct unpack *up)
{
	for (size_t i = up->in_at; i < up->in_len; i++) {
		if (up->in[i])
			return false;
	}
	return true;
}

/* Unpack until something comes. Return: 0; 1: the end; or -errno. */
static int unpack_some(struct unpack *up, const char **error)
{
	const size_t room = up->out_len;

	while (up->out_len == room) {
		const int err = refill(up);
		const size_t at = up->in_at;
		int ret;

		if (err)
			return err;
		if (up->is_whole && is_padding(up)) {
			up->in_at = up->in_len;
			if (up->is_over)
				return 1;
			continue;
		}
		ret = up->kind->step(up, error);
		if (ret < 0)
			return ret;
		up->is_whole = ret;
		if (!ret && up->out_len == room && up->in_at == at &&
		    (up->is_over || at < up->in_len)) {
			*error = up->is_over ? up->kind->cut : up->kind->damage;
			return -EBADMSG;
		}
	}
	return 0;
}

ssize_t unpack_read(struct unpack *up, void *bytes, size_t len, const char **error)
{
	int ret;

	up->out = bytes;
	up->out_len = len;
	ret = unpack_some(up, error);
	if (ret)
		return ret < 0 ? ret : 0;
	up->out_bytes += len - up->out_len;
	if (up->out_bytes > UNPACK_RATIO_FROM && up->out_bytes / UNPACK_RATIO_MAX > up->in_bytes) {
		*error = "unpacked, it is more than a thousand times as long, which no trace is";
		return -EBADMSG;
	}
	return (ssize_t)(len - up->out_len);
}
