#include "graphrows.h"
#include "harness.h"

static struct func graph_funcs[] = {
	{ .name = { "alpha", 5 } },
	{ .name = { "beta", 4 } },
	{ .name = { "gamma", 5 } },
};
static const struct functab tab = { .funcs = graph_funcs, .cnt = 3 };

struct graph *g;
static struct point graph_points[] = {
	{ .name = { "kfree_skb", 9 }, .system = { "skb", 3 } },
	{ .name = { "sched_switch", 12 }, .system = { "sched", 5 } },
};
static const struct pointtab points = { graph_points, 2 };

struct strbuf text;
uint64_t leaf_begin_ns;
struct netcost graph_cost;

static void put_name(const struct row *row)
{
	strbuf_add(&text, row->name.ptr, row->name.len);
}

/* And whatever is written into a row must not be in the next one. */
static void put_more(struct row *row)
{
	static const struct caller left;

	CHECK(!row->task.comm.len && !row->prev.comm.len);
	CHECK(!row->arg_cnt && !row->caller && !row->ret);
	if (row->entry_values)
		strbuf_printf(&text, " v%u", row->entry_values);
	if (row->exit_values)
		strbuf_printf(&text, " ^%u", row->exit_values);
	if (row->slept_ns)
		strbuf_printf(&text, " slept %u", (unsigned int)row->slept_ns);
	CHECK(row->net.is_known == (netcost_is_known(&graph_cost) && !row->lacks_duration &&
				    (row->kind == ROW_LEAF || row->kind == ROW_RETURN)));
	if (row->net.is_known)
		strbuf_printf(&text, " net %s%u", net_is_small(&row->net) ? "<" : "",
			      (unsigned int)(net_is_small(&row->net) ? row->net.error_ns
								     : row->net.ns));
	row->task.comm = row->prev.comm = (struct text){ "left", 4 };
	row->arg_cnt = 1;
	row->caller = &left;
	row->ret = &left.symbol;
	row->entry_values = row->exit_values = 99;
}

static void on_row(void *ctx, struct row *row)
{
	CHECK((row->kind >= ROW_LOST && row->kind != ROW_POINT) == !row->name.len);
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
		leaf_begin_ns = row->time_ns;
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
	case ROW_POINT:
		put_name(row);
		strbuf_char(&text, '!');
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
	put_more(row);
	strbuf_char(&text, '\n');
}

void start_graph(uint32_t depth_max)
{
	const struct graph_config config = { .functab = &tab,
					     .points = &points,
					     .cpu_cnt = 4,
					     .depth_max = depth_max,
					     .cost = &graph_cost,
					     .emit = on_row };

	CHECK(!graph_new(&g, &config));
}

void feed_script(const char *script)
{
	SCRIPT_EACH(script, ev)
		CHECK(!graph_feed(g, ev, 1));
}

const char *rows(void)
{
	strbuf_char(&text, '\0');
	text.len--;
	return text.ptr;
}

static const char *counts_text(const struct graph_stats *stats)
{
	const struct callstack_stats *pairs = &stats->pairs;
	static char counts[256];
	const struct {
		const char *name;
		uint64_t cnt;
	} all[] = {
		{ "pairs", pairs->pair_cnt },
		{ "unsure", pairs->unsure_cnt },
		{ "orphans", pairs->orphan_cnt },
		{ "early", pairs->early_return_cnt },
		{ "unclosed", pairs->unclosed_cnt },
		{ "deep", pairs->deep_cnt },
		{ "deep-returns", pairs->deep_return_cnt },
		{ "open", stats->open_cnt },
		{ "bad", stats->bad_cnt },
	};
	size_t len = 0;

	counts[0] = '\0';
	for (size_t i = 0; i < CNT_OF(all); i++) {
		if (all[i].cnt)
			len += (size_t)snprintf(counts + len, sizeof(counts) - len, "%s%s %llu",
						len ? " " : "", all[i].name,
						(unsigned long long)all[i].cnt);
	}
	CHECK(stats->call_cnt == pairs->pair_cnt + pairs->unsure_cnt + pairs->unclosed_cnt +
					 pairs->deep_cnt + stats->open_cnt);
	return counts;
}

void end_graph(const char *want, const char *counts)
{
	graph_finish(g);
	if (want)
		CHECK_STR(rows(), want);
	CHECK_STR(counts_text(graph_stats_get(g)), counts);
	graph_free(g);
	strbuf_reset(&text);
}

void check_graph(const char *script, const char *want, const char *counts)
{
	start_graph(0);
	feed_script(script);
	end_graph(want, counts);
}
