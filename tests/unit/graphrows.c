#include "graphrows.h"

#include "harness.h"

static struct func graph_funcs[] = {
	{ .name = { "alpha", 5 } },
	{ .name = { "beta", 4 } },
	{ .name = { "gamma", 5 } },
};
const struct functab tab = { graph_funcs, 3 };

struct strbuf text;

static void put_name(const struct row *row)
{
	strbuf_add(&text, row->name.ptr, row->name.len);
}

static void on_row(void *ctx, struct row *row)
{
	(void)ctx;
	strbuf_printf(&text, "%u:", row->cpu);
	for (uint32_t i = 0; i < row->depth; i++)
		strbuf_char(&text, '.');
	switch (row->kind) {
	case ROW_ENTRY:
		put_name(row);
		strbuf_str(&text, "{");
		break;
	case ROW_LEAF:
		put_name(row);
		strbuf_printf(&text, "; %u", (unsigned int)row->duration_ns);
		break;
	case ROW_RETURN:
		strbuf_str(&text, "}");
		if (row->is_named)
			put_name(row);
		if (row->lacks_duration)
			strbuf_str(&text, " ?");
		else
			strbuf_printf(&text, " %u", (unsigned int)row->duration_ns);
		break;
	case ROW_BANNER:
		strbuf_printf(&text, "%u=>%u", row->prev.tid, row->task.tid);
		break;
	case ROW_LOST:
		strbuf_printf(&text, "LOST %u", (unsigned int)row->lost_cnt);
		break;
	default:
		strbuf_str(&text, "?");
	}
	strbuf_char(&text, '\n');
}

struct graph *start_graph(uint32_t depth_max)
{
	const struct graph_config config = {
		.functab = &tab, .cpu_cnt = 4, .depth_max = depth_max, .emit = on_row
	};
	struct graph *g;

	CHECK(!graph_new(&g, &config));
	return g;
}

struct event entry(uint64_t time_ns, uint32_t cpu, uint32_t tid, uint16_t func, uint16_t frame)
{
	return (struct event){ .time_ns = time_ns,
			       .cpu = cpu,
			       .tid = tid,
			       .func_id = func,
			       .frame = frame,
			       .kind = EVENT_ENTRY };
}

struct event change(uint64_t time_ns, uint32_t cpu, uint32_t tid, enum event_kind kind)
{
	struct event ev = entry(time_ns, cpu, tid, UINT16_MAX, 0);

	ev.kind = kind;
	return ev;
}

struct event leave(uint64_t time_ns, uint32_t cpu, uint32_t tid, uint16_t func, uint16_t frame)
{
	struct event ev = entry(time_ns, cpu, tid, func, frame);

	ev.kind = EVENT_EXIT;
	return ev;
}

struct event lost(uint64_t time_ns, uint32_t cpu, uint64_t cnt)
{
	return (struct event){
		.time_ns = time_ns, .cpu = cpu, .lost_cnt = cnt, .kind = EVENT_LOST
	};
}

const char *rows(void)
{
	strbuf_char(&text, '\0');
	return text.ptr;
}
