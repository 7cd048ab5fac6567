/* Recordings, written. */
#include "recording/recwrite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/host.h"
#include "base/log.h"

#define FUNCS_BYTES      (256u << 10)
#define STRINGS_CNT      4
#define MADE_STRINGS_CNT 3

/* ---- facts of this host ---- */

void recfile_host_read(struct recfile_host *host, uint32_t cpu_cnt, const char *tool,
		       char *const *argv)
{
	size_t len = 0;
	struct utsname uts;

	*host = (struct recfile_host){
		.start_mono_ns = host_time_ns(),
		.start_real_ns = host_real_ns(),
		.cpu_cnt = cpu_cnt,
		.clock = RECFILE_CLOCK_MONOTONIC,
	};
	if (!uname(&uts)) {
		snprintf(host->kernel, sizeof(host->kernel), "%s", uts.release);
		snprintf(host->machine, sizeof(host->machine), "%.31s", uts.machine);
	}
	snprintf(host->tool, sizeof(host->tool), "%s", tool);
	for (size_t i = 0; argv && argv[i] && len < sizeof(host->command); i++)
		len += (size_t)snprintf(host->command + len, sizeof(host->command) - len, "%s%s",
					i ? " " : "", argv[i]);
}

/* ---- chunks ---- */

int recwrite_failed(struct recfile_writer *w, int err)
{
	if (!w->err) {
		w->err = err;
		log_error("cannot write the recording to '%s': %s", w->path, outfile_strerror(err));
	}
	return w->err;
}

static int write_whole(struct recfile_writer *w, const void *bytes, size_t len)
{
	int err = w->keep ? w->keep(w->keep_ctx, bytes, len) : outfile_write(&w->file, bytes, len);

	if (!err) {
		w->bytes += len;
		return 0;
	}
	if (!w->keep && !w->file.is_stream && w->bytes) {
		/* the next chunk, should one fit, must follow the last whole one */
		outfile_cut(&w->file, w->bytes);
		w->file.err = 0;
	}
	return recwrite_failed(w, err);
}

int recwrite_chunk(struct recfile_writer *w, struct chunk_head *head, uint32_t type, size_t bytes)
{
	int err;

	while (bytes % 8)
		((char *)(head + 1))[bytes++] = 0;
	head->type = type;
	head->bytes = (uint32_t)bytes;
	head->seq = w->seq;
	head->crc = recwire_crc(head);
	err = write_whole(w, head, sizeof(*head) + bytes);
	if (!err)
		w->seq++;
	return err;
}

static char *put_string(char *p, const char *str)
{
	uint16_t len = (uint16_t)strlen(str);

	memcpy(p, &len, sizeof(len));
	memcpy(p + sizeof(len), str, len);
	return p + sizeof(len) + len;
}

static int write_host(struct recfile_writer *w, const struct recfile_host *host)
{
	struct {
		struct chunk_head head;
		struct host_head host;
		char strings[sizeof(*host) + STRINGS_CNT * sizeof(uint16_t) + 8];
	} out = {
		.host.start_mono_ns = host->start_mono_ns,
		.host.start_real_ns = host->start_real_ns,
		.host.cpu_cnt = host->cpu_cnt,
		.host.clock = host->clock,
	};
	char *end = out.strings;

	end = put_string(end, host->kernel);
	end = put_string(end, host->machine);
	end = put_string(end, host->tool);
	end = put_string(end, host->command);
	return recwrite_chunk(w, &out.head, CHUNK_HOST, (size_t)(end - (char *)&out.host));
}

int recfile_writer_made(struct recfile_writer *w, const struct recfile_made *made)
{
	struct {
		struct chunk_head head;
		struct made_head made;
		char strings[sizeof(*made) + MADE_STRINGS_CNT * sizeof(uint16_t) + 8];
	} out = { .made.shown = made->shown };
	char *end = out.strings;

	end = put_string(end, made->node);
	end = put_string(end, made->attach);
	end = put_string(end, made->options);
	return w->err ? w->err
		      : recwrite_chunk(w, &out.head, CHUNK_MADE, (size_t)(end - (char *)&out.made));
}

/* ---- open and close ---- */

static int write_beginning(struct recfile_writer *w, const struct recfile_host *host)
{
	struct file_head head = {
		.byte_order = BYTE_ORDER_MARK,
		.major = RECFILE_VERSION_MAJOR,
		.minor = RECFILE_VERSION_MINOR,
	};
	int err;

	memcpy(head.magic, recwire_magic, sizeof(recwire_magic));
	err = write_whole(w, &head, sizeof(head));
	return err ? err : write_host(w, host);
}

static int writer_open(struct recfile_writer *w, const struct recfile_config *config)
{
	int err;

	w->is_named = calloc(1, (NFG_TASK_TID + 1) / 8);
	w->path = strdup(config->path ? config->path : "standard output");
	w->open_marks = calloc(w->cpu_cnt, sizeof(*w->open_marks));
	if (!w->is_named || !w->path || !w->open_marks)
		return -ENOMEM;
	err = config->path ? outfile_open(&w->file, w->path, config->stop_cnt) : 0;
	if (err)
		return err;
	w->file.is_held = config->is_held;
	return config->is_held ? 0 : write_beginning(w, config->host);
}

static void writer_free(struct recfile_writer *w)
{
	outfile_abandon(&w->file);
	free(w->is_named);
	free(w->open_marks);
	free(w->path);
	free(w);
}

int recfile_writer_new(struct recfile_writer **out, const struct recfile_config *config)
{
	struct recfile_writer *w;
	int err;

	if (!config->host->cpu_cnt || config->host->cpu_cnt > NFG_CPU_CNT)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->file.fd = config->path || config->keep ? -1 : config->fd;
	w->keep = config->keep;
	w->keep_ctx = config->keep_ctx;
	w->cpu_cnt = config->host->cpu_cnt;
	w->comm = config->comm;
	w->process = config->process;
	w->place = config->place;
	w->caller = config->caller;
	w->values = config->values;
	w->ctx = config->ctx;
	recwire_slots_reset(w->slots);
	err = writer_open(w, config);
	if (err) {
		writer_free(w);
		return err;
	}
	*out = w;
	return 0;
}

uint64_t recfile_writer_bytes(const struct recfile_writer *w)
{
	return w->bytes;
}

struct outfile *recfile_writer_file(struct recfile_writer *w)
{
	return &w->file;
}

int recfile_writer_host(struct recfile_writer *w, const struct recfile_host *host)
{
	return w->err ? w->err : write_beginning(w, host);
}

int recfile_writer_begin(struct recfile_writer *w)
{
	int err = w->keep ? 0 : outfile_begin(&w->file);

	if (!err)
		return w->err;
	outfile_cut(&w->file, 0);
	w->bytes = 0;
	return recwrite_failed(w, err);
}

int recfile_writer_rotate(struct recfile_writer *w, const struct recfile_host *host,
			  unsigned int file_cnt)
{
	int err = w->err ? w->err : outfile_rotate(&w->file, file_cnt);

	return err ? recwrite_failed(w, err) : recfile_writer_restart(w, host);
}

int recfile_writer_restart(struct recfile_writer *w, const struct recfile_host *host)
{
	w->seq = 0;
	w->bytes = 0;
	w->event_cnt = 0;
	w->bad_cnt = 0;
	w->is_next = true;
	memset(w->is_named, 0, (NFG_TASK_TID + 1) / 8);
	return write_beginning(w, host);
}

void recfile_writer_abandon(struct recfile_writer *w)
{
	if (w)
		writer_free(w);
}

int recfile_writer_close(struct recfile_writer *w)
{
	int close_err;
	int err;

	if (!w)
		return 0;
	err = recfile_writer_flush(w);
	close_err = w->keep ? 0 : outfile_close(&w->file);
	if (!err && close_err)
		err = recwrite_failed(w, close_err);
	if (err && !w->file.is_stream && w->bytes)
		log_warn("'%s' is whole up to byte %" PRIu64 "; %" PRIu64
			 " events after that are lost",
			 w->path, w->bytes, w->unwritten_cnt);
	else if (err == -ETIMEDOUT)
		log_hint("%" PRIu64 " bytes and %" PRIu64
			 " events were not written; -o FILE needs no reader",
			 w->file.unwritten_bytes, w->unwritten_cnt);
	writer_free(w);
	return err;
}

int recfile_writer_summary(struct recfile_writer *w, const struct recfile_summary *summary)
{
	int err = recfile_writer_flush(w);
	struct {
		struct chunk_head head;
		struct recfile_summary summary;
	} out = { .summary = *summary };

	out.summary.event_cnt = w->event_cnt;
	out.summary.unwritten_cnt = w->unwritten_cnt;
	out.summary.bad_cnt = w->bad_cnt;
	/* also after a failure: where a large chunk had no room, this one may have */
	recwrite_chunk(w, &out.head, CHUNK_SUMM, sizeof(out.summary));
	return err ? err : w->err;
}

/* ---- functions and types ---- */

int recfile_writer_funcs(struct recfile_writer *w, const struct functab *functab)
{
	struct {
		struct chunk_head head;
		struct funcs_head funcs;
		char strings[FUNCS_BYTES];
	} *out = malloc(sizeof(*out));
	size_t cnt = functab->cnt < NFG_FUNC_CNT ? functab->cnt : NFG_FUNC_CNT;
	size_t id = 0;

	if (!out)
		return -ENOMEM;
	w->func_cnt = cnt;
	while (id < cnt && !w->err) {
		char *p = out->strings;

		out->funcs.first_id = (uint32_t)id;
		for (; id < cnt; id++) {
			const struct func *func = &functab->funcs[id];
			uint16_t lens[2] = { (uint16_t)func->name.len, (uint16_t)func->module.len };
			size_t left = sizeof(out->strings) - (size_t)(p - out->strings);

			if (left < sizeof(lens) + lens[0] + lens[1] + 8)
				break;
			memcpy(p, lens, sizeof(lens));
			memcpy(p + sizeof(lens), func->name.ptr, lens[0]);
			if (lens[1])
				memcpy(p + sizeof(lens) + lens[0], func->module.ptr, lens[1]);
			p += sizeof(lens) + lens[0] + lens[1];
		}
		out->funcs.cnt = (uint32_t)id - out->funcs.first_id;
		recwrite_chunk(w, &out->head, CHUNK_FUNC, (size_t)(p - (char *)&out->funcs));
	}
	free(out);
	return w->err;
}

int recfile_writer_types(struct recfile_writer *w, const void *bytes, size_t len)
{
	struct chunk_head *head = malloc(sizeof(*head) + len + 8);
	int err;

	if (!head)
		return -ENOMEM;
	memcpy(head + 1, bytes, len);
	err = w->err ? w->err : recwrite_chunk(w, head, CHUNK_TYPES, len);
	free(head);
	return err;
}

int recfile_writer_leftout(struct recfile_writer *w, const struct leftout *lo)
{
	size_t bytes = sizeof(struct left_head) + lo->func_cnt * sizeof(*lo->func_ids);
	struct {
		struct chunk_head head;
		struct left_head left;
	} * out;
	int err = recfile_writer_flush(w);

	if (err)
		return err;
	out = malloc(sizeof(out->head) + bytes + 8);
	if (!out)
		return -ENOMEM;
	out->left = (struct left_head){
		.time_ns = lo->time_ns,
		.limit = lo->limit,
		.is_end = lo->is_end,
		.measured = lo->measured,
		.max = lo->max,
		.func_cnt = (uint32_t)lo->func_cnt,
		.cpu = lo->cpu,
	};
	if (lo->func_cnt)
		memcpy(out + 1, lo->func_ids, lo->func_cnt * sizeof(*lo->func_ids));
	err = recwrite_chunk(w, &out->head, CHUNK_LEFT, bytes);
	free(out);
	return err;
}
