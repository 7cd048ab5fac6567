/*
 * trace.dat, as trace-cmd writes it: a head (dathead.h, of version 6 or 7), then for each CPU its ring buffer pages.
 * The head has the CPUs' sizes and the names of functions and tasks, which are known last, so pages wait in an
 * unlinked file until the end.
 *
 * Rows have names but no addresses: a function's address is its place in the kallsyms text of the same file. A call
 * whose entry or return is missing has only the other event; if its duration is not known either, its return is a
 * comment, because an exit event needs one.
 */
#include "format/fmt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleantext.h"
#include "base/vec.h"
#include "format/dathead.h"
#include "format/format.h"

#define PAGE_BYTES       DATHEAD_PAGE_BYTES
#define PAGE_HEADER      16 /* time and commit */
#define PAGE_DATA        (PAGE_BYTES - PAGE_HEADER)
#define NO_PAGE          UINT32_MAX
#define COPY_PAGES       64 /* at a time, when the file is put together */
#define COMMIT_MISSED    (1u << 31)
#define COMMIT_COUNTED   (1u << 30) /* the number of missed events follows the data */

#define TYPE_TIME_EXTEND 30
#define DELTA_BITS       27
#define TYPE_LEN_MAX     28 /* payload words that fit in the record's own header */

#define SYM_BASE         0xffffffff81000000u
#define SYM_STEP         16
#define COMMENT_MAX      1000

struct common {
	uint16_t type;
	uint8_t flags;
	uint8_t preempt_cnt;
	int32_t pid;
};

struct entry_event {
	struct common common;
	uint64_t func;
	int32_t depth;
} __attribute__((packed));

struct exit_event {
	struct common common;
	uint64_t func;
	int32_t depth;
	uint32_t overrun;
	uint64_t calltime;
	uint64_t rettime;
} __attribute__((packed));

struct print_event {
	struct common common;
	uint64_t ip;
	char buf[COMMENT_MAX + 8];
} __attribute__((packed));

/* The page a CPU fills. */
struct page {
	uint64_t time_ns; /* of the first record */
	uint64_t commit;
	unsigned char data[PAGE_DATA];
};

struct dat_cpu {
	uint64_t last_ns;
	uint64_t lost_cnt; /* before the page being filled */
	bool has_loss;
	uint32_t used;       /* bytes of page->data */
	uint32_t first_page; /* in the spool */
	uint32_t last_page;
	uint32_t page_cnt;
	struct page page;
};

struct tracedat {
	struct strbuf *out;
	struct calltree *tree;
	void (*write_head)(const struct dathead *head, struct strbuf *out);
	char *release;
	int fd;
	int err;
	struct dat_cpu **cpus;
	uint32_t cpu_cnt;
	size_t cpu_cap;
	uint32_t *next_page; /* of the same CPU, for each page in the spool */
	uint32_t page_cnt;
	size_t page_cap;
	bool is_copying; /* the head is written */
	uint32_t copy_cpu;
	uint32_t copy_page;
};

/* ---- pages ---- */

static struct dat_cpu *cpu_get(struct tracedat *dat, uint32_t cpu)
{
	if (cpu >= dat->cpu_cnt && VEC_RESERVE(dat->cpus, dat->cpu_cap, (size_t)cpu + 1))
		return NULL;
	while (cpu >= dat->cpu_cnt)
		dat->cpus[dat->cpu_cnt++] = NULL;
	if (!dat->cpus[cpu]) {
		dat->cpus[cpu] = calloc(1, sizeof(struct dat_cpu));
		if (!dat->cpus[cpu])
			return NULL;
		dat->cpus[cpu]->first_page = dat->cpus[cpu]->last_page = NO_PAGE;
	}
	return dat->cpus[cpu];
}

static int page_link(struct tracedat *dat, struct dat_cpu *cpu)
{
	if (VEC_RESERVE(dat->next_page, dat->page_cap, dat->page_cnt + 1u))
		return -ENOMEM;
	dat->next_page[dat->page_cnt] = NO_PAGE;
	if (cpu->last_page == NO_PAGE)
		cpu->first_page = dat->page_cnt;
	else
		dat->next_page[cpu->last_page] = dat->page_cnt;
	cpu->last_page = dat->page_cnt++;
	cpu->page_cnt++;
	return 0;
}

static int spool_write(int fd, const void *bytes, size_t len, off_t at)
{
	const char *p = bytes;

	while (len) {
		ssize_t done = pwrite(fd, p, len, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -ENOSPC;
		p += done;
		at += done;
		len -= (size_t)done;
	}
	return 0;
}

/* Put the page away and begin an empty one. */
static void page_flush(struct tracedat *dat, struct dat_cpu *cpu)
{
	struct page *page = &cpu->page;

	if (dat->err || (!cpu->used && !cpu->has_loss))
		return;
	page->commit = cpu->used;
	if (cpu->has_loss) {
		page->commit |= COMMIT_MISSED;
		if (cpu->lost_cnt) {
			page->commit |= COMMIT_COUNTED;
			memcpy(page->data + cpu->used, &cpu->lost_cnt, 8);
			cpu->used += 8;
		}
	}
	memset(page->data + cpu->used, 0, PAGE_DATA - cpu->used);
	dat->err = spool_write(dat->fd, page, PAGE_BYTES, (off_t)dat->page_cnt * PAGE_BYTES);
	if (!dat->err)
		dat->err = page_link(dat, cpu);
	cpu->used = 0;
	cpu->has_loss = false;
	cpu->lost_cnt = 0;
}

static void put_word(struct dat_cpu *cpu, uint32_t word)
{
	memcpy(cpu->page.data + cpu->used, &word, 4);
	cpu->used += 4;
}

/* One record; @len is a multiple of 4. */
static void put_record(struct tracedat *dat, uint32_t cpu_id, uint64_t time_ns, const void *payload,
		       uint32_t len)
{
	struct dat_cpu *cpu = cpu_get(dat, cpu_id);
	uint32_t words = len / 4;
	uint64_t delta;

	if (!cpu) {
		dat->err = -ENOMEM;
		return;
	}
	/* at most a time extension, two header words and the payload; 8 for the number lost */
	if (cpu->used + 16 + len + 8 > PAGE_DATA)
		page_flush(dat, cpu);
	if (time_ns < cpu->last_ns)
		time_ns = cpu->last_ns;
	if (!cpu->used)
		cpu->page.time_ns = cpu->last_ns = time_ns;
	delta = time_ns - cpu->last_ns;
	cpu->last_ns = time_ns;
	if (delta >> DELTA_BITS) {
		put_word(cpu, TYPE_TIME_EXTEND | (uint32_t)(delta << 5));
		put_word(cpu, (uint32_t)(delta >> DELTA_BITS));
		delta = 0;
	}
	put_word(cpu, (words <= TYPE_LEN_MAX ? words : 0) | (uint32_t)delta << 5);
	if (words > TYPE_LEN_MAX)
		put_word(cpu, len + 4);
	memcpy(cpu->page.data + cpu->used, payload, len);
	cpu->used += len;
}

/* ---- events ---- */

static uint64_t sym_address(const struct callsym *sym)
{
	return SYM_BASE + (sym ? (uint64_t)sym->id + 1 : 0) * SYM_STEP;
}

static struct common common(uint16_t type, const struct calltask *task)
{
	return (struct common){
		.type = type,
		.pid = (int32_t)(task->kind == CALLTASK_UNKNOWN ? task->track : task->tid),
	};
}

static void on_begin(void *ctx, struct calltask *task, struct call *call)
{
	const struct entry_event event = {
		.common = common(DATHEAD_ID_ENTRY, task),
		.func = sym_address(call->sym),
		.depth = (int32_t)call->depth,
	};

	put_record(ctx, call->cpu, call->begin_ns, &event, sizeof(event));
}

static void put_print(struct tracedat *dat, const struct calltask *task, uint32_t cpu,
		      uint64_t time_ns, struct text text)
{
	char bytes[COMMENT_MAX * 4];
	struct strbuf cleaned = { .ptr = bytes, .cap = sizeof(bytes) }; /* never full */
	struct print_event event;
	uint32_t size;
	uint32_t len;

	clean_add(&cleaned, text.ptr, text.len < COMMENT_MAX ? text.len : COMMENT_MAX, CLEAN_LINE);
	len = cleaned.len < COMMENT_MAX ? (uint32_t)cleaned.len : COMMENT_MAX;
	event.common = common(DATHEAD_ID_PRINT, task);
	event.ip = sym_address(task->call_cnt ? task->calls[task->call_cnt - 1].sym : NULL);
	memcpy(event.buf, bytes, len);
	memset(event.buf + len, 0, 8);
	size = (uint32_t)offsetof(struct print_event, buf) + len + 1;
	put_record(dat, cpu, time_ns, &event, (size + 3) & ~3u);
}

/* An exit event would claim a duration. */
static void put_unmatched(struct tracedat *dat, const struct calltask *task,
			  const struct call *call)
{
	char bytes[256];
	struct text name = call->sym ? call->sym->name : (struct text){ "unknown", 7 };
	int len = snprintf(bytes, sizeof(bytes), "} %.*s, entered at a time not known",
			   (int)(name.len < 128 ? name.len : 128), name.ptr);

	put_print(dat, task, call->end_cpu, call->end_ns, (struct text){ bytes, (size_t)len });
}

static void on_end(void *ctx, struct calltask *task, struct call *call)
{
	const struct exit_event event = {
		.common = common(DATHEAD_ID_EXIT, task),
		.func = sym_address(call->sym),
		.depth = (int32_t)call->depth,
		.calltime = call->end_ns - call->duration_ns,
		.rettime = call->end_ns,
	};

	if (!call->has_return)
		return;
	if (!call->has_duration) {
		put_unmatched(ctx, task, call);
		return;
	}
	if (call->is_leaf)
		on_begin(ctx, task, call);
	put_record(ctx, call->end_cpu, call->end_ns, &event, sizeof(event));
}

static int put_comment(struct tracedat *dat, const struct row *row)
{
	struct calltask *task = calltree_task(dat->tree, row);

	if (!task)
		return -ENOMEM;
	put_print(dat, task, row->cpu, calltree_time(dat->tree, row), row->text);
	return 0;
}

/* Mark in the CPU's next page that events are missing before it. */
static int put_lost(struct tracedat *dat, const struct row *row)
{
	struct dat_cpu *cpu = cpu_get(dat, row->cpu);

	if (!cpu)
		return -ENOMEM;
	if (cpu->used)
		page_flush(dat, cpu);
	cpu->has_loss = true;
	cpu->lost_cnt += row->lost_cnt;
	cpu->page.time_ns = calltree_time(dat->tree, row);
	return dat->err ? dat->err : calltree_row(dat->tree, row);
}

/* ---- putting the file together ---- */

static void list_syms(const struct tracedat *dat, struct strbuf *out)
{
	const struct callsym *sym;

	strbuf_printf(out, "%016llx T unknown\n", (unsigned long long)sym_address(NULL));
	for (uint32_t id = 0; (sym = calltree_sym(dat->tree, id)); id++) {
		strbuf_printf(out, "%016llx T ", (unsigned long long)sym_address(sym));
		clean_add(out, sym->name.ptr, sym->name.len, CLEAN_WORD | CLEAN_BLANK);
		if (sym->module.len) {
			strbuf_str(out, "\t[");
			clean_add(out, sym->module.ptr, sym->module.len, CLEAN_WORD | CLEAN_BLANK);
			strbuf_char(out, ']');
		}
		strbuf_char(out, '\n');
	}
}

static void list_tasks(const struct tracedat *dat, struct strbuf *out)
{
	const struct calltask *task;

	for (uint32_t id = 0; (task = calltree_task_at(dat->tree, id)); id++) {
		if (task->kind == CALLTASK_IDLE)
			continue; /* every reader knows tid 0 */
		strbuf_u64(out, task->kind == CALLTASK_UNKNOWN ? task->track : task->tid);
		strbuf_char(out, ' ');
		fmt_task(out, task, CLEAN_WORD);
		strbuf_char(out, '\n');
	}
}

static int put_head(struct tracedat *dat)
{
	uint64_t *cpu_bytes = calloc(dat->cpu_cnt, sizeof(*cpu_bytes));
	struct strbuf syms = { 0 };
	struct strbuf tasks = { 0 };
	struct strbuf file = { 0 };
	struct dathead head = {
		.release = dat->release,
		.cpu_bytes = cpu_bytes,
		.cpu_cnt = dat->cpu_cnt,
	};
	bool ok;

	if (!cpu_bytes)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < dat->cpu_cnt; cpu++) {
		if (dat->cpus[cpu])
			cpu_bytes[cpu] = (uint64_t)dat->cpus[cpu]->page_cnt * PAGE_BYTES;
	}
	list_syms(dat, &syms);
	list_tasks(dat, &tasks);
	head.kallsyms = (struct text){ syms.ptr, syms.len };
	head.cmdlines = (struct text){ tasks.ptr, tasks.len };
	dat->write_head(&head, &file);
	ok = strbuf_ok(&syms) && strbuf_ok(&tasks) && strbuf_ok(&file);
	strbuf_add(dat->out, file.ptr, file.len);
	strbuf_release(&syms);
	strbuf_release(&tasks);
	strbuf_release(&file);
	free(cpu_bytes);
	return ok ? 0 : -ENOMEM;
}

static int spool_read(struct tracedat *dat, uint32_t page)
{
	size_t done = 0;

	if (!strbuf_reserve(dat->out, PAGE_BYTES))
		return -ENOMEM;
	while (done < PAGE_BYTES) {
		ssize_t len = pread(dat->fd, dat->out->ptr + dat->out->len, PAGE_BYTES - done,
				    (off_t)page * PAGE_BYTES + (off_t)done);

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return len ? -errno : -EIO;
		dat->out->len += (size_t)len;
		done += (size_t)len;
	}
	return 0;
}

/* Return: 1 when there may be more, 0 at the end, or -errno. */
static int copy_pages(struct tracedat *dat)
{
	unsigned int cnt = 0;

	while (cnt < COPY_PAGES) {
		int err;

		while (dat->copy_page == NO_PAGE) {
			struct dat_cpu *cpu;

			if (dat->copy_cpu == dat->cpu_cnt)
				return 0;
			cpu = dat->cpus[dat->copy_cpu++];
			dat->copy_page = cpu ? cpu->first_page : NO_PAGE;
		}
		err = spool_read(dat, dat->copy_page);
		if (err)
			return err;
		dat->copy_page = dat->next_page[dat->copy_page];
		cnt++;
	}
	return 1;
}

static int tracedat_finish(void *self)
{
	struct tracedat *dat = self;

	if (dat->err)
		return dat->err;
	if (dat->is_copying)
		return copy_pages(dat);
	calltree_finish(dat->tree);
	for (uint32_t cpu = 0; cpu < dat->cpu_cnt; cpu++) {
		if (dat->cpus[cpu])
			page_flush(dat, dat->cpus[cpu]);
	}
	if (!dat->cpu_cnt && !cpu_get(dat, 0))
		return -ENOMEM;
	if (!dat->err)
		dat->err = put_head(dat);
	dat->is_copying = true;
	dat->copy_page = NO_PAGE;
	return dat->err ? dat->err : 1;
}

static int spool_open(const char *dir)
{
	char path[512];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd >= 0 ? fd : -errno;
	if (strlen(dir) + 32 > sizeof(path))
		return -ENAMETOOLONG;
	strcpy(path, dir);
	strcat(path, "/netfgraph.XXXXXX");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

static int tracedat_start(struct tracedat *dat, const struct format_config *config,
			  struct strbuf *out)
{
	dat->out = out;
	/* it is written last, when the caller's copy may be gone */
	dat->release = config->release ? strdup(config->release) : NULL;
	if (config->release && !dat->release)
		return -ENOMEM;
	dat->fd = spool_open(config->spool_dir ? config->spool_dir : "/var/tmp");
	if (dat->fd < 0)
		return dat->fd;
	if (config->cpu_cnt && !cpu_get(dat, config->cpu_cnt - 1))
		return -ENOMEM;
	return fmt_tree(&dat->tree, config, on_begin, on_end, dat);
}

static int tracedat6_start(void *self, const struct format_config *config, struct strbuf *out)
{
	((struct tracedat *)self)->write_head = dathead_write_v6;
	return tracedat_start(self, config, out);
}

static int tracedat7_start(void *self, const struct format_config *config, struct strbuf *out)
{
	((struct tracedat *)self)->write_head = dathead_write_v7;
	return tracedat_start(self, config, out);
}

static int tracedat_row(void *self, const struct row *row)
{
	struct tracedat *dat = self;
	int err;

	if (row->cpu >= CALLTREE_CPU_MAX)
		return 0;
	if (row->kind == ROW_LOST)
		return put_lost(dat, row);
	if (row->kind == ROW_COMMENT)
		return put_comment(dat, row);
	err = calltree_row(dat->tree, row);
	return dat->err ? dat->err : err;
}

static void tracedat_release(void *self)
{
	struct tracedat *dat = self;

	free(dat->release);
	calltree_free(dat->tree);
	for (uint32_t cpu = 0; cpu < dat->cpu_cnt; cpu++)
		free(dat->cpus[cpu]);
	free(dat->cpus);
	free(dat->next_page);
	if (dat->fd > 0)
		close(dat->fd);
}

const struct fmt_ops fmt_tracedat = {
	.name = "trace.dat",
	.size = sizeof(struct tracedat),
	.is_binary = true,
	.start = tracedat6_start,
	.row = tracedat_row,
	.finish = tracedat_finish,
	.release = tracedat_release,
};

const struct fmt_ops fmt_tracedat7 = {
	.name = "trace.dat.v7",
	.size = sizeof(struct tracedat),
	.is_binary = true,
	.start = tracedat7_start,
	.row = tracedat_row,
	.finish = tracedat_finish,
	.release = tracedat_release,
};
