// SPDX-License-Identifier: GPL-2.0
#include "kernel/kbtf.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "harness.h"

static struct kbtf *kbtf_of(struct btf *btf)
{
	char path[] = "/tmp/nfg-kbtf-XXXXXX";
	int fd = mkstemp(path);
	struct kbtf *kb = NULL;
	uint32_t bytes;
	const void *data = btf__raw_data(btf, &bytes);

	CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	CHECK(!kbtf_new_at(&kb, path));
	btf__free(btf);
	close(fd);
	unlink(path);
	return kb;
}

/* What BTF of one kernel says of the preemption counter. Return: the variable's id. */
static uint32_t counter_in(struct btf *btf, uint32_t *offset)
{
	struct kbtf *kb = kbtf_of(btf);
	uint32_t id = kbtf_preempt_var(kb, offset);

	kbtf_free(kb);
	return id;
}

TEST(counter_is_a_variable_of_its_own)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int id = btf__add_var(btf, "__preempt_count", BTF_VAR_GLOBAL_ALLOCATED, number);
	uint32_t offset = 7;

	CHECK(counter_in(btf, &offset) == (uint32_t)id);
	CHECK(!offset);
}

/* struct pcpu_hot { union { struct { void *current_task; int preempt_count; }; char pad[]; }; } */
TEST(counter_is_a_member_of_what_has_no_name)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
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
	CHECK(counter_in(btf, &offset) == (uint32_t)id);
	CHECK(offset == 16);
}

TEST(counter_is_not_in_every_kernels_types)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	uint32_t offset = 7;

	btf__add_var(btf, "preempt_count", BTF_VAR_GLOBAL_ALLOCATED, number);
	CHECK(!counter_in(btf, &offset));
	CHECK(offset == 7);
}

TEST(a_tracepoint_is_the_typedef_of_its_programs)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int id;
	struct kbtf *kb;

	btf__add_typedef(btf, "sched_switch", number);
	btf__add_struct(btf, "btf_trace_sched_waking", 4);
	id = btf__add_typedef(btf, "btf_trace_sched_switch", number);
	kb = kbtf_of(btf);
	CHECK(kbtf_tracepoint_id(kb, "sched_switch") == (uint32_t)id);
	CHECK(!kbtf_tracepoint_id(kb, "sched_waking"));
	kbtf_free(kb);
}

/* struct meta { union { struct seq *seq; }; char name[56]; } */
TEST(members_of_a_struct)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int letter = btf__add_int(btf, "char", 1, BTF_INT_CHAR);
	int name = btf__add_array(btf, number, letter, 56);
	int seq = btf__add_ptr(btf, 0);
	int inner = btf__add_union(btf, NULL, 8);
	struct kbtf_member member;
	struct kbtf *kb;

	btf__add_field(btf, "seq", seq, 0, 0);
	btf__add_struct(btf, "meta", 64);
	btf__add_field(btf, NULL, inner, 0, 0);
	btf__add_field(btf, "name", name, 64, 0);
	kb = kbtf_of(btf);
	CHECK(kbtf_struct_member(kb, "meta", "seq", &member));
	CHECK(member.offset == 0 && member.bytes == 8);
	CHECK(kbtf_struct_member(kb, "meta", "name", &member));
	CHECK(member.offset == 8 && member.bytes == 56);
	CHECK(!kbtf_struct_member(kb, "meta", "number", &member));
	CHECK(!kbtf_struct_member(kb, "number", "name", &member));
	CHECK(kbtf_struct_bytes(kb, "meta") == 64 && !kbtf_struct_bytes(kb, "f"));
	kbtf_free(kb);
}

static void func_add(struct btf *btf, const char *name, int ret, int first_arg, int second_arg)
{
	int proto = btf__add_func_proto(btf, ret);

	btf__add_func_param(btf, "a", first_arg);
	if (second_arg)
		btf__add_func_param(btf, "b", second_arg);
	btf__add_func(btf, name, BTF_FUNC_STATIC, proto);
}

TEST(entries_of_drivers_by_type)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int flag = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
	int skb = btf__add_ptr(btf, btf__add_struct(btf, "sk_buff", 8));
	int dev = btf__add_ptr(btf, btf__add_struct(btf, "net_device", 8));
	int napi = btf__add_ptr(btf, btf__add_struct(btf, "napi_struct", 8));
	int sent = btf__add_typedef(btf, "netdev_tx_t", number);
	int handled = btf__add_typedef(btf, "rx_handler_result_t", number);
	static const struct {
		const char *name;
		enum kbtf_entry entry;
	} want[] = {
		{ "start_xmit", KBTF_XMIT },     { "virtnet_poll", KBTF_POLL },
		{ "br_handle", KBTF_RECEIVE },   { "int_xmit", KBTF_NO_ENTRY },
		{ "other_xmit", KBTF_NO_ENTRY }, { "napi_complete_done", KBTF_NO_ENTRY },
		{ "poll_one", KBTF_NO_ENTRY },   { "__napi_poll", KBTF_NO_ENTRY },
		{ "free_skb", KBTF_NO_ENTRY },   { "damaged", KBTF_NO_ENTRY },
	};
	struct kbtf *kb;

	func_add(btf, "start_xmit", sent, skb, dev);
	func_add(btf, "virtnet_poll", number, napi, number);
	func_add(btf, "br_handle", handled, btf__add_ptr(btf, skb), 0);
	func_add(btf, "int_xmit", number, skb, dev);
	func_add(btf, "other_xmit", sent, skb, number);
	func_add(btf, "napi_complete_done", flag, napi, number);
	func_add(btf, "poll_one", number, napi, 0);
	func_add(btf, "__napi_poll", number, napi, btf__add_ptr(btf, flag));
	func_add(btf, "free_skb", 0, skb, 0);
	func_add(btf, "damaged", 9999, skb, dev); /* no such type */
	kb = kbtf_of(btf);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		CHECK(kbtf_driver_entry(kb, kbtf_next(kb, want[i].name, NULL)) == want[i].entry);
	kbtf_free(kb);
}

/* u64 (struct clocksource *), whatever it is called. */
TEST(clocks_by_type)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int wide = btf__add_typedef(btf, "u64", btf__add_int(btf, "long long unsigned int", 8, 0));
	int clock = btf__add_ptr(btf, btf__add_struct(btf, "clocksource", 8));
	static const struct {
		const char *name;
		bool reads_clock;
	} want[] = {
		{ "read_hpet", true },          { "clocksource_enable", false },
		{ "clocksource_delta", false }, { "clocksource_touch", false },
		{ "get_random_u64", false },
	};
	struct kbtf *kb;

	func_add(btf, "read_hpet", wide, clock, 0);
	func_add(btf, "clocksource_enable", number, clock, 0);
	func_add(btf, "clocksource_delta", wide, clock, clock);
	func_add(btf, "clocksource_touch", 0, clock, 0);
	func_add(btf, "get_random_u64", wide, 0, 0);
	kb = kbtf_of(btf);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		CHECK(kbtf_shape(kb, kbtf_next(kb, want[i].name, NULL)).reads_clock ==
		      want[i].reads_clock);
	kbtf_free(kb);
}

TEST(members_of_a_member)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int inner = btf__add_struct(btf, NULL, 8);
	int either;
	struct kbtf *kb;

	btf__add_field(btf, "missed", number, 32, 0);
	either = btf__add_union(btf, NULL, 8);
	btf__add_field(btf, "kprobe_multi", inner, 0, 0);
	btf__add_struct(btf, "bpf_link_info", 16);
	btf__add_field(btf, NULL, either, 64, 0);
	kb = kbtf_of(btf);
	CHECK(kbtf_has_nested(kb, "bpf_link_info", "kprobe_multi", "missed"));
	CHECK(!kbtf_has_nested(kb, "bpf_link_info", "kprobe_multi", "cnt"));
	CHECK(!kbtf_has_nested(kb, "bpf_link_info", "missed", "missed"));
	CHECK(!kbtf_has_nested(kb, "no_such", "kprobe_multi", "missed"));
	kbtf_free(kb);
}

/* As no compiler makes it. */
TEST(a_struct_without_a_name_in_itself)
{
	struct btf *btf = btf__new_empty();
	int id = btf__add_struct(btf, "ring", 8);
	int inner = id + 1;
	struct kbtf_member member;
	struct kbtf *kb;

	btf__add_field(btf, NULL, inner, 0, 0);
	CHECK(btf__add_struct(btf, NULL, 8) == inner);
	btf__add_field(btf, NULL, inner, 0, 0);
	btf__add_field(btf, NULL, inner, 32, 0);
	kb = kbtf_of(btf);
	CHECK(!kbtf_struct_member(kb, "ring", "number", &member));
	kbtf_free(kb);
}
