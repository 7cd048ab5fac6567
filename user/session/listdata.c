/* netfgraph list as data. */
#include "session/listdata.h"

#include "select/preset.h"

static void put_func(struct listdata *list, enum datarow_kind kind, const struct list_func *func)
{
	struct datarow data;

	datarow_begin(&data, kind, list->out, "list", 1);
	datarow_string(&data, "host", list->host);
	datarow_string(&data, "func", func->name);
	datarow_string(&data, "module", func->module);
	datarow_text(&data, "source", func->source);
	datarow_bool(&data, "chosen", !func->reason);
	datarow_string(&data, "reason", func->reason);
	datarow_end(&data);
}

void listdata_func(void *ctx, const struct list_func *func)
{
	struct listdata *list = ctx;

	put_func(list, list->kind, func);
}

static void put_cost(struct listdata *list, enum datarow_kind kind, const struct list_cost *cost)
{
	struct datarow data;

	datarow_begin(&data, kind, list->out, "plan", 1);
	datarow_string(&data, "host", list->host);
	datarow_number(&data, "functions", cost->func_cnt);
	datarow_number(&data, "module_functions", cost->module_func_cnt);
	datarow_string(&data, "attach", cost->by ? cost->by->name : NULL);
	datarow_number(&data, "kprobe_functions", cost->extra_cnt);
	datarow_number(&data, "pair_functions", cost->pair_cnt);
	datarow_number(&data, "attach_us", cost->bill.attach_us);
	datarow_number(&data, "detach_us", cost->bill.detach_us);
	datarow_bool(&data, "detach_waits", cost->bill.waits);
	datarow_number(&data, "cpus", cost->cpu_cnt);
	datarow_number(&data, "cpu_buffer_bytes", cost->buffer_bytes);
	datarow_number(&data, "program_bytes", cost->bill.bytes);
	datarow_number(&data, "thread_bytes", cost->thread_bytes);
	datarow_end(&data);
}

void listdata_cost(void *ctx, const struct list_cost *cost)
{
	struct listdata *list = ctx;

	put_cost(list, list->kind, cost);
}

void listdata_begin(struct listdata *list, bool is_plan)
{
	const struct list_cost no_cost = { 0 };
	const struct list_func no_func = { 0 };

	if (list->kind != DATAROW_CSV)
		return;
	if (is_plan)
		put_cost(list, DATAROW_CSV_HEAD, &no_cost);
	else
		put_func(list, DATAROW_CSV_HEAD, &no_func);
}

static void put_preset(struct listdata *list, enum datarow_kind kind, const struct preset *preset)
{
	struct datarow data;

	datarow_begin(&data, kind, list->out, "presets", 1);
	datarow_string(&data, "preset", preset->name);
	datarow_string(&data, "description", preset->help);
	datarow_words(&data, "starts", preset->starts);
	datarow_end(&data);
}

void listdata_presets(struct listdata *list, const struct str_list *globs)
{
	if (list->kind == DATAROW_CSV)
		put_preset(list, DATAROW_CSV_HEAD, &preset_defs[0]);
	for (size_t i = 0; i < preset_def_cnt; i++) {
		if (list_has_preset(globs, &preset_defs[i]))
			put_preset(list, list->kind, &preset_defs[i]);
	}
}
