#ifndef NFG_BASE_UNPACK_H
#define NFG_BASE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The bytes of a file as they were before gzip, xz or zstd packed them, which its first bytes tell. The libraries of xz
 * and zstd are loaded when such a file comes. Memory is bounded whatever the file says: UNPACK_MAX_BYTES.
 */
struct unpack;

#define UNPACK_HEAD_BYTES 6 /* at most as many bytes decide */
#define UNPACK_MAX_BYTES  (128u << 20)
/* Bytes of traces shrink to a tenth or a hundredth: what grows by more than this is not one. */
#define UNPACK_RATIO_MAX  1000u
#define UNPACK_RATIO_FROM (256ull << 20) /* bytes, from which on the ratio is looked at */

/* unpack_knows - whether a file that begins with @bytes is packed. */
bool unpack_knows(const void *bytes, size_t len);

/*
 * unpack_new - unpack the rest of the file @fd, of which @head was read already.
 *
 * @error: static, or valid as long as the program; why not. Return: 0, -ENOMEM, or -ELIBACC: the library is missing.
 * The caller frees with unpack_free, which does not close @fd.
 */
int unpack_new(struct unpack **out, int fd, const void *head, size_t len, const char **error);
void unpack_free(struct unpack *up);

/*
 * unpack_read - the next bytes, at most @len. Files that were packed apart and joined are read to the end.
 *
 * Return: their number; 0: the end; or -errno with *@error as for unpack_new: -EBADMSG: the data is damaged, ends
 * early, or is not worth its memory or time.
 */
ssize_t unpack_read(struct unpack *up, void *bytes, size_t len, const char **error);

/*
 * unpack_need_zstd - load the library of zstd for unpack_zstd_block.
 *
 * Return: 0, or -ELIBACC with *@error, which is static: it is missing.
 */
int unpack_need_zstd(const char **error);

/*
 * unpack_zstd_block - unpack @len bytes to exactly @out_len, whose memory the caller has, after unpack_need_zstd.
 *
 * Return: whether they are whole and so many.
 */
bool unpack_zstd_block(const void *in, size_t len, void *out, size_t out_len);

#endif
