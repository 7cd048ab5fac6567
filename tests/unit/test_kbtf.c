// SPDX-License-Identifier: GPL-2.0
#include "kernel/kbtf.h"

#include <bpf/btf.h>

#include "harness.h"
#include "scratch.h"

static struct btf *btf;
static int number;
static struct kbtf *kb;

static void begin(void)
{
	btf = btf__new_empty();
	number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
}
BEFORE(begin);

static void end(void)
{
	kbtf_free(kb);
	kb = NULL;
}
AFTER(end);

/* Of @types, which go with it. */
static void kbtf_of(struct btf *types)
{
	uint32_t bytes;
	const void *data = btf__raw_data(types, &bytes);

	end();
	CHECK(!kbtf_new_at(&kb, temp_file(data, bytes)));
	btf__free(types);
}

/* What BTF of one kernel says of the preemption counter. Return: the variable's id. */
static uint32_t counter_in(uint32_t *offset)
{
	kbtf_of(btf);
	return kbtf_preempt_var(kb, offset);
}

TEST(counter_is_a_variable_of_its_own)
{
	int id = btf__add_var(btf, "__preempt_count", BTF_VAR_GLOBAL_ALLOCATED, number);
	uint32_t offset = 7;

	CHECK(counter_in(&offset) == (uint32_t)id && !offset);
}

/* struct pcpu_hot { union { struct { void *current_task; int preempt_count; }; char pad[]; }; } */
TEST(counter_is_a_member_of_what_has_no_name)
{
	int ptr = btf__add_ptr(btf, 0);
	int inner = btf__add_struct(btf, NULL, 16);
	uint32_t offset = 0;
	int outer;
	int id;

	btf__add_field(btf, "current_task", ptr, 0, 0);
	btf__add_field(btf, "preempt_count", number, 64, 0);
	outer = btf__add_union(btf, NULL, 16);
	btf__add_field(btf, NULL, inner, 0, 0);
	id = btf__add_struct(btf, "pcpu_hot", 24);
	btf__add_field(btf, "before", ptr, 0, 0);
	btf__add_field(btf, NULL, outer, 64, 0);
	id = btf__add_var(btf, "pcpu_hot", BTF_VAR_GLOBAL_ALLOCATED, id);
	CHECK(counter_in(&offset) == (uint32_t)id && offset == 16);
}

TEST(counter_is_not_in_every_kernels_types)
{
	uint32_t offset = 7;

	btf__add_var(btf, "preempt_count", BTF_VAR_GLOBAL_ALLOCATED, number);
	CHECK(!counter_in(&offset) && offset == 7);
}

TEST(a_tracepoint_is_the_typedef_of_its_programs)
{
	int id;

	btf__add_typedef(btf, "sched_switch", number);
	btf__add_struct(btf, "btf_trace_sched_waking", 4);
	id = btf__add_typedef(btf, "btf_trace_sched_switch", number);
	kbtf_of(btf);
	CHECK(kbtf_tracepoint_id(kb, "sched_switch") == (uint32_t)id);
	CHECK(!kbtf_tracepoint_id(kb, "sched_waking"));
}

/* struct meta { union { struct seq *seq; }; char name[56]; } */
TEST(members_of_a_struct)
{
	int letter = btf__add_int(btf, "char", 1, BTF_INT_CHAR);
	int name = btf__add_array(btf, number, letter, 56);
	int seq = btf__add_ptr(btf, 0);
	int inner = btf__add_union(btf, NULL, 8);
	struct kbtf_member member;

	btf__add_field(btf, "seq", seq, 0, 0);
	btf__add_struct(btf, "meta", 64);
	btf__add_field(btf, NULL, inner, 0, 0);
	btf__add_field(btf, "name", name, 64, 0);
	kbtf_of(btf);
	CHECK(kbtf_struct_member(kb, "meta", "seq", &member));
	CHECK(member.offset == 0 && member.bytes == 8);
	CHECK(kbtf_struct_member(kb, "meta", "name", &member));
	CHECK(member.offset == 8 && member.bytes == 56);
	CHECK(!kbtf_struct_member(kb, "meta", "number", &member));
	CHECK(!kbtf_struct_member(kb, "number", "name", &member));
	CHECK(kbtf_struct_bytes(kb, "meta") == 64 && !kbtf_struct_bytes(kb, "f"));
}

TEST(enumerators_of_an_enum)
{
	btf__add_enum(btf, "poke", 4);
	btf__add_enum_value(btf, "POKE_NOP", 0);
	btf__add_enum_value(btf, "POKE_CALL", 1);
	btf__add_enum(btf, "other", 4);
	btf__add_enum_value(btf, "OTHER", 0);
	kbtf_of(btf);
	CHECK(kbtf_has_enumerator(kb, "poke", "POKE_CALL"));
	CHECK(!kbtf_has_enumerator(kb, "poke", "OTHER"));
	CHECK(!kbtf_has_enumerator(kb, "none", "POKE_CALL"));
}

static void func_add(const char *name, int ret, int first_arg, int second_arg)
{
	int proto = btf__add_func_proto(btf, ret);

	btf__add_func_param(btf, "a", first_arg);
	if (second_arg)
		btf__add_func_param(btf, "b", second_arg);
	btf__add_func(btf, name, BTF_FUNC_STATIC, proto);
}

static enum kbtf_entry entry_of(const char *name)
{
	return kbtf_driver_entry(kb, kbtf_next(kb, name, NULL));
}

TEST(entries_of_drivers_by_type)
{
	int flag = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
	int skb = btf__add_ptr(btf, btf__add_struct(btf, "sk_buff", 8));
	int dev = btf__add_ptr(btf, btf__add_struct(btf, "net_device", 8));
	int napi = btf__add_ptr(btf, btf__add_struct(btf, "napi_struct", 8));
	int sent = btf__add_typedef(btf, "netdev_tx_t", number);
	int handled = btf__add_typedef(btf, "rx_handler_result_t", number);

	func_add("start_xmit", sent, skb, dev);
	func_add("virtnet_poll", number, napi, number);
	func_add("br_handle", handled, btf__add_ptr(btf, skb), 0);
	func_add("int_xmit", number, skb, dev);
	func_add("other_xmit", sent, skb, number);
	func_add("napi_complete_done", flag, napi, number);
	func_add("poll_one", number, napi, 0);
	func_add("__napi_poll", number, napi, btf__add_ptr(btf, flag));
	func_add("free_skb", 0, skb, 0);
	func_add("damaged", 9999, skb, dev); /* no such type */
	kbtf_of(btf);
	CHECK(entry_of("start_xmit") == KBTF_XMIT && entry_of("virtnet_poll") == KBTF_POLL);
	CHECK(entry_of("br_handle") == KBTF_RECEIVE);
	EACH_PART(
		name,
		"int_xmit; other_xmit; napi_complete_done; poll_one; __napi_poll; free_skb; damaged")
		CHECK(entry_of(name) == KBTF_NO_ENTRY);
}

TEST(reasons_of_drops_by_type)
{
	int skb = btf__add_ptr(btf, btf__add_struct(btf, "sk_buff", 8));
	int other = btf__add_enum(btf, "sk_rst_reason", 4);
	int reason = btf__add_enum(btf, "skb_drop_reason", 4);

	func_add("kfree_skb_reason", 0, skb, reason);
	func_add("kfree_skb", 0, skb, 0);
	func_add("tcp_send_active_reset", 0, skb, other);
	kbtf_of(btf);
	CHECK(kbtf_shape(kb, kbtf_next(kb, "kfree_skb_reason", NULL)).reason_arg == 2);
	CHECK(!kbtf_shape(kb, kbtf_next(kb, "kfree_skb", NULL)).reason_arg);
	CHECK(!kbtf_shape(kb, kbtf_next(kb, "tcp_send_active_reset", NULL)).reason_arg);
}

/* u64 (struct clocksource *), whatever it is called. */
TEST(clocks_by_type)
{
	int wide = btf__add_typedef(btf, "u64", btf__add_int(btf, "long long unsigned int", 8, 0));
	int clock = btf__add_ptr(btf, btf__add_struct(btf, "clocksource", 8));

	func_add("read_hpet", wide, clock, 0);
	func_add("clocksource_enable", number, clock, 0);
	func_add("clocksource_delta", wide, clock, clock);
	func_add("clocksource_touch", 0, clock, 0);
	func_add("get_random_u64", wide, 0, 0);
	kbtf_of(btf);
	CHECK(kbtf_shape(kb, kbtf_next(kb, "read_hpet", NULL)).reads_clock);
	EACH_PART(name, "clocksource_enable; clocksource_delta; clocksource_touch; get_random_u64")
		CHECK(!kbtf_shape(kb, kbtf_next(kb, name, NULL)).reads_clock);
}

TEST(members_of_a_member)
{
	int inner = btf__add_struct(btf, NULL, 8);
	int either;

	btf__add_field(btf, "missed", number, 32, 0);
	either = btf__add_union(btf, NULL, 8);
	btf__add_field(btf, "kprobe_multi", inner, 0, 0);
	btf__add_struct(btf, "bpf_link_info", 16);
	btf__add_field(btf, NULL, either, 64, 0);
	kbtf_of(btf);
	CHECK(kbtf_has_nested(kb, "bpf_link_info", "kprobe_multi", "missed"));
	CHECK(!kbtf_has_nested(kb, "bpf_link_info", "kprobe_multi", "cnt"));
	CHECK(!kbtf_has_nested(kb, "bpf_link_info", "missed", "missed"));
	CHECK(!kbtf_has_nested(kb, "no_such", "kprobe_multi", "missed"));
}

/* As no compiler makes it. */
TEST(a_struct_without_a_name_in_itself)
{
	int id = btf__add_struct(btf, "ring", 8);
	int inner = id + 1;
	struct kbtf_member member;

	btf__add_field(btf, NULL, inner, 0, 0);
	CHECK(btf__add_struct(btf, NULL, 8) == inner);
	btf__add_field(btf, NULL, inner, 0, 0);
	btf__add_field(btf, NULL, inner, 32, 0);
	kbtf_of(btf);
	CHECK(!kbtf_struct_member(kb, "ring", "number", &member));
}
