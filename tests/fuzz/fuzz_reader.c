/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hostile recordings for nfg_reader.h.
 *
 * Checksums and numbers of chunks are set right before the file is read, so that what is wrong is
 * inside. Everything that the reader gives is touched.
 */
#include "nfg_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum;

static void touch(struct nfg_text text)
{
	size_t i;

	for (i = 0; i < text.size; i++)
		sum += (unsigned char)text.at[i];
}

static void touch_lists(const struct nfg_reader *reader, const struct nfg_event *event)
{
	struct nfg_enum values = event->u.enums;
	struct nfg_types args = event->u.types;
	struct nfg_user_stack stack = event->u.stack;
	struct nfg_type type;
	struct nfg_frame frame;
	struct nfg_text name;
	uint64_t value;
	uint32_t i;

	while (event->kind == NFG_ENUM && nfg_next_value(&values, &value, &name))
		touch(name);
	while (event->kind == NFG_TYPES && nfg_next_arg(&args, &type, &name)) {
		touch(name);
		if (type.enum_place && nfg_enum(reader, event->of, type.enum_place - 1u, &values))
			sum += values.count;
	}
	while (event->kind == NFG_USTK && nfg_next_frame(&stack.frames, &frame)) {
		touch(frame.symbol);
		touch(frame.path);
		touch(frame.build);
	}
	for (i = 0; event->kind == NFG_LEFT && i < event->u.left.count; i++)
		sum += nfg_left_id(&event->u.left, i);
}

static void touch_tables(const struct nfg_reader *reader, const struct nfg_event *event)
{
	struct nfg_function function;
	struct nfg_types types;
	struct nfg_user_stack stack;
	struct nfg_text name;
	struct nfg_flow flow;

	if (event->has_values && nfg_packet(&event->values, &flow))
		sum += flow.source_port + strlen(flow.device);
	if (nfg_function(reader, event->func, &function)) {
		touch(function.name);
		touch(function.module);
	}
	if (nfg_point(reader, event->func, &function))
		touch(function.module);
	if (nfg_types(reader, NFG_OF_TYPE, event->func, &types))
		sum += types.count;
	if (nfg_address(reader, event->values.caller, &name))
		touch(name);
	if (nfg_user_stack(reader, event->user_stack, &stack))
		sum += stack.count;
}

/* Sizes are left as they are: only a chunk that is whole gets its number and checksum. */
static void repair(struct nfg_reader *reader, unsigned char *data, size_t size)
{
	static const unsigned char start[] = "\x89"
					     "nfgrec\n\4\3\2\1\1";
	size_t pos = 16;
	uint32_t number = 0;

	if (size < 16)
		return;
	memcpy(data, start, 13);
	data[13] = 0;
	while (size - pos >= 16) {
		uint32_t bytes = nfgi_at32(data + pos + 4), crc;

		if (bytes % 8 || bytes > NFG_MAX_CHUNK || bytes > size - pos - 16)
			break;
		memcpy(data + pos + 8, &number, 4);
		number++;
		crc = nfgi_crc(reader, data + pos, bytes);
		memcpy(data + pos + 12, &crc, 4);
		pos += 16 + bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *copy = (unsigned char *)malloc(size ? size : 1);
	struct nfg_reader reader;
	struct nfg_event event;
	int ret;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	nfg_open_memory(&reader, copy, size);
	repair(&reader, copy, size);
	while ((ret = nfg_next(&reader, &event)) > 0) {
		touch_lists(&reader, &event);
		if (event.kind == NFG_HOST)
			touch(event.u.host.command);
		if (event.kind == NFG_NAME || event.kind == NFG_ADDR)
			touch(event.u.text);
		touch_tables(&reader, &event);
	}
	if (ret < 0 && !nfg_error(&reader, NULL))
		abort();
	nfg_close(&reader);
	free(copy);
	return 0;
}
