#include "report/recinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/openhint.h"
#include "base/vec.h"

#define TID_CNT (NFG_TASK_TID + 1)

/* While it is read. */
struct reading {
	struct recinfo *info;
	uint8_t *has_tid; /* a bit for each */
};

static void on_call(struct reading *rd, const struct event *ev)
{
	struct recinfo *info = rd->info;
	uint8_t *bits = &rd->has_tid[ev->tid / 8];
	const uint8_t bit = (uint8_t)(1u << ev->tid % 8);

	if (!info->stats.event_cnt++ || ev->time_ns < info->first_ns)
		info->first_ns = ev->time_ns;
	if (ev->time_ns > info->last_ns)
		info->last_ns = ev->time_ns;
	info->task_cnt += !(*bits & bit);
	*bits |= bit;
	if (ev->kind == EVENT_ENTRY) {
		info->entry_cnt++;
		info->entry_cnts[ev->func_id]++;
	} else {
		info->exit_cnt++;
	}
}

static void on_event(struct reading *rd, const struct event *ev)
{
	struct report_stats *stats = &rd->info->stats;

	if (ev->kind == EVENT_LOST)
		stats->lost_cnt += ev->lost_cnt;
	else if (ev->kind == EVENT_TORN)
		stats->torn_cnt += ev->lost_cnt;
	else if (event_is_call(ev))
		on_call(rd, ev);
}

/* The table of functions has grown. */
static int on_funcs(struct reading *rd)
{
	struct recinfo *info = rd->info;
	const size_t cnt = recfile_reader_functab(info->reader)->cnt;

	if (VEC_RESERVE_ZEROED(info->entry_cnts, info->func_cap, cnt))
		return -ENOMEM;
	info->func_cnt = cnt;
	return 0;
}

static int on_item(struct reading *rd, const struct recfile_item *item)
{
	struct recinfo *info = rd->info;

	switch (item->kind) {
	case RECFILE_HOST:
		info->host = *recfile_reader_host(info->reader);
		return 0;
	case RECFILE_MADE:
		info->has_made = true;
		info->made = *item->made;
		return 0;
	case RECFILE_FUNCS:
		return on_funcs(rd);
	case RECFILE_EVENTS:
		for (size_t i = 0; i < item->cnt; i++)
			on_event(rd, &item->events[i]);
		return 0;
	case RECFILE_LEFTOUT:
		info->stats.leftout_cnts[item->leftout->limit] += (uint32_t)item->leftout->func_cnt;
		return 0;
	case RECFILE_SUMMARY:
		info->stats.is_closed = true;
		info->stats.summary = *item->summary;
		return 0;
	default:
		return 0;
	}
}

static int read_items(struct reading *rd)
{
	struct recfile_item item = { .kind = RECFILE_HOST };
	int err = 0;

	while (!err && item.kind != RECFILE_END) {
		err = recfile_reader_next(rd->info->reader, &item);
		if (err)
			log_error("%s", recfile_reader_error(rd->info->reader));
		else
			err = on_item(rd, &item);
	}
	return err;
}

static int read_all(struct recinfo *info)
{
	struct reading rd = { .info = info, .has_tid = calloc(1, TID_CNT / 8) };
	int err = rd.has_tid ? read_items(&rd) : -ENOMEM;

	free(rd.has_tid);
	info->functab = recfile_reader_functab(info->reader);
	info->stats.tail_bytes = recfile_reader_tail_bytes(info->reader);
	info->stats.is_cut = !info->stats.is_closed;
	if (!err && !info->host.cpu_cnt) {
		log_error("'%s': nothing was recorded before its writer was killed", info->path);
		return -ENODATA;
	}
	return err;
}

int recinfo_read(struct recinfo *info, const char *path, void (*opened)(void))
{
	struct stat st;
	int err;

	*info = (struct recinfo){ .path = path };
	err = recfile_reader_new(&info->reader, path);
	if (err) {
		if (info->reader)
			log_error("%s", recfile_reader_error(info->reader));
		openhint_read(err);
		info->is_foreign = info->reader && err == -EBADMSG;
		return err;
	}
	if (!fstat(recfile_reader_fd(info->reader), &st) && S_ISREG(st.st_mode))
		info->bytes = (uint64_t)st.st_size;
	info->minor = recfile_reader_minor(info->reader);
	if (opened)
		opened();
	return read_all(info);
}

void recinfo_release(struct recinfo *info)
{
	recfile_reader_free(info->reader);
	free(info->entry_cnts);
	*info = (struct recinfo){ 0 };
}

uint64_t recinfo_end_ns(const struct recinfo *info)
{
	if (info->stats.is_closed)
		return info->stats.summary.end_mono_ns;
	return info->stats.event_cnt ? info->last_ns : info->host.start_mono_ns;
}
