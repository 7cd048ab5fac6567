#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/log.h"

#define BANNER_LINES 4

static bool is_leavable; /* standard output's reader may leave */

void output_leavable(bool is)
{
	is_leavable = is;
}

int output_open(struct output *out, const char *path, const volatile int *stop_cnt)
{
	int err;

	*out = (struct output){ 0 };
	err = outfile_open(&out->file, path, stop_cnt);
	out->is_live = out->file.is_stream;
	return err;
}

bool output_was_left(const struct output *out)
{
	return out->err == -EPIPE && is_leavable && !out->file.path;
}

static int fail(struct output *out, int err)
{
	if (!out->err) {
		out->err = err;
		if (output_was_left(out))
			return err;
		/* no message for a reader that is gone; for one that stopped reading, at the end */
		log_error("cannot write to '%s': %s%s", outfile_name(&out->file),
			  outfile_strerror(err),
			  out->file.is_torn && err != -EPIPE && err != -ETIMEDOUT
				  ? "; its last row is cut short"
				  : "");
	}
	return out->err;
}

/* ---- rows ---- */

/* Where the row at @bytes ends, 0: not here. Of lines, a banner has four and every other row one. */
static size_t row_len(const char *bytes, size_t len)
{
	static const char rule[] = " ------";
	bool is_banner = len >= sizeof(rule) - 1 && !memcmp(bytes, rule, sizeof(rule) - 1);
	size_t at = 0;

	for (int lines = is_banner ? BANNER_LINES : 1; lines; lines--) {
		const char *end = memchr(bytes + at, '\n', len - at);

		if (!end)
			return 0;
		at = (size_t)(end + 1 - bytes);
	}
	return at;
}

static size_t whole_rows(const char *bytes, size_t len)
{
	size_t whole = 0;
	size_t row;

	while ((row = row_len(bytes + whole, len - whole)))
		whole += row;
	return whole;
}

void output_rows(struct output *out)
{
	out->file.whole_rows = whole_rows;
}

int output_begin(struct output *out)
{
	int err = outfile_begin(&out->file);

	return err ? fail(out, err) : 0;
}

int output_limit(struct output *out, uint64_t max_bytes, uint64_t rotate_bytes, uint32_t rotate_cnt)
{
	out->max_bytes = max_bytes;
	out->rotate_bytes = rotate_bytes;
	out->rotate_cnt = rotate_cnt;
	strbuf_add(&out->header, out->buf.ptr, out->buf.len);
	return rotate_bytes ? outfile_check_rotate(&out->file) : 0;
}

static int put(struct output *out, const char *bytes, size_t len)
{
	out->text_bytes += len;
	return outfile_write(&out->file, bytes, len);
}

/* As many whole rows as there is room for, in a file without any at least one. */
static size_t rows_that_fit(const struct output *out, const char *bytes, size_t len)
{
	uint64_t limit = out->max_bytes ? out->max_bytes : out->rotate_bytes;
	uint64_t room = out->text_bytes < limit ? limit - out->text_bytes : 0;
	size_t fit = 0;

	if (len <= room)
		return len;
	while (fit < len) {
		size_t row = row_len(bytes + fit, len - fit);

		if (!row)
			row = len - fit;
		if (fit + row > room && (fit || out->text_bytes > out->header.len))
			break;
		fit += row;
	}
	return fit;
}

static int flush_limited(struct output *out)
{
	size_t at = 0;
	int err = 0;

	while (at < out->buf.len && !out->is_full && !err) {
		size_t len = rows_that_fit(out, out->buf.ptr + at, out->buf.len - at);

		err = put(out, out->buf.ptr + at, len);
		at += len;
		if (err || at == out->buf.len)
			break;
		if (out->max_bytes) {
			out->is_full = true;
			log_warn("the trace ends here: '%s' has reached its --max-size",
				 outfile_name(&out->file));
			break;
		}
		err = outfile_rotate(&out->file, out->rotate_cnt);
		out->text_bytes = 0;
		if (!err)
			err = put(out, out->header.ptr, out->header.len);
	}
	return err;
}

int output_flush(struct output *out)
{
	int err;

	if (out->err)
		return out->err;
	if (!strbuf_ok(&out->buf))
		return fail(out, -ENOMEM);
	if (out->buf.len && (out->max_bytes || out->rotate_bytes))
		err = flush_limited(out);
	else
		err = outfile_write(&out->file, out->buf.ptr, out->buf.len);
	strbuf_reset(&out->buf);
	return err ? fail(out, err) : 0;
}

int output_close(struct output *out)
{
	int err = output_flush(out);
	int close_err;

	strbuf_release(&out->buf);
	strbuf_release(&out->header);
	close_err = outfile_close(&out->file);
	if (!err && close_err)
		err = fail(out, close_err);
	if (err == -ETIMEDOUT)
		log_hint("%" PRIu64 " bytes of text were not written%s; -o FILE needs no reader",
			 out->file.unwritten_bytes,
			 out->file.is_torn ? ", its last row is cut short" : "");
	return err;
}

void output_abandon(struct output *out)
{
	strbuf_release(&out->buf);
	strbuf_release(&out->header);
	outfile_abandon(&out->file);
}

int output_page(struct strbuf *text, color_find *paint)
{
	struct strbuf page = { 0 };
	int err = 0;

	clean_add(&page, text->ptr, text->len, CLEAN_PAGE);
	if (paint && color_in_output(NULL) && strbuf_ok(&page))
		color_lines(&page, 0, paint);
	if (!strbuf_ok(text) || !strbuf_ok(&page))
		err = ENOMEM;
	else if (fwrite(page.ptr, 1, page.len, stdout) != page.len || fflush(stdout))
		err = errno;
	strbuf_release(&page);
	strbuf_release(text);
	if (!err || (is_leavable && err == EPIPE))
		return 0;
	log_error("cannot write to standard output: %s", strerror(err));
	return -EIO;
}
