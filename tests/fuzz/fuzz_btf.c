/* BTF as a kernel may give it, and the prototypes that are made of it. */
#include "fuzz.h"
#include "format/render.h"
#include "kernel/kbtf.h"
#include "kernel/proto.h"
#include "base/strbuf.h"

static int take_piece(void *ctx, const void *bytes, size_t len)
{
	CHECK(!proto_table_unpack(ctx, bytes, len));
	return 0;
}

static void put_values(const struct proto_table *table, uint32_t id, const uint64_t *values,
		       struct strbuf *out)
{
	static const struct proto_style style = { .has_args = true, .has_ret = true };
	struct value args[PROTO_ARG_MAX];

	render_args(args, proto_args(table, id, values, PROTO_ARG_MAX, &style, args), out);
	if (proto_ret(table, id, values[0], &style, &args[0]))
		render_args(args, 1, out);
}

/* All values of a function, as a table of its prototype and one that went through a recording write them. */
static void check_written(const struct proto_table *table, const struct proto_table *copy,
			  uint32_t id, uint64_t seed)
{
	struct strbuf texts[2] = { { 0 }, { 0 } };
	uint64_t values[PROTO_ARG_MAX];

	for (size_t i = 0; i < PROTO_ARG_MAX; i++)
		values[i] = seed * (i + 1);
	put_values(table, id, values, &texts[0]);
	put_values(copy, id, values, &texts[1]);
	CHECK(texts[0].len == texts[1].len);
	CHECK(!texts[0].len || !memcmp(texts[0].ptr, texts[1].ptr, texts[0].len));
	strbuf_release(&texts[0]);
	strbuf_release(&texts[1]);
}

static void check_protos(const struct kbtf *kb, uint64_t seed)
{
	struct proto_table *table, *copy;
	const struct kbtf_func *funcs;
	size_t cnt;

	CHECK(!proto_table_new(&table) && !proto_table_new(&copy));
	funcs = kbtf_funcs(kb, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		CHECK(funcs[i].name && kbtf_next(kb, funcs[i].name, NULL));
		kbtf_has_arg(kb, &funcs[i], "sk_buff");
		kbtf_driver_entry(kb, &funcs[i]);
		CHECK(!proto_table_add(table, kb, &funcs[i]));
	}
	CHECK(!proto_table_pack(table, PROTO_PIECE_MIN, take_piece, copy));
	for (uint32_t i = 0; i < cnt; i++)
		check_written(table, copy, i, seed);
	proto_table_free(table);
	proto_table_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input in = { data, data + len };
	struct kbtf *kb;

	if (kbtf_new_at(&kb, fuzz_file(data, len)))
		return 0;
	in.at = in.end - (len < 8 ? len : 8);
	check_protos(kb, fuzz_take(&in, 8));
	kbtf_func_id(kb, "tcp_v4_rcv");
	kbtf_free(kb);
	return 0;
}
