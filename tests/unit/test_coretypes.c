/* What libbpf relocates programs with: the types that they know, out of a kernel's. */
#include "kernel/kbtf.h"

#include <bpf/btf.h>

#include "harness.h"

/* What is written for programs that know @local, read again. Frees both. */
static struct btf *reduced(struct btf *kernel, struct btf *local)
{
	struct coretypes types;
	struct btf *btf;

	CHECK(!coretypes_open(&types) && !coretypes_write(&types, kernel, local));
	btf = btf__parse(types.path, NULL);
	CHECK(btf);
	coretypes_close(&types);
	btf__free(kernel);
	btf__free(local);
	return btf;
}

static const struct btf_member *member_of(const struct btf *btf, int32_t id, const char *name)
{
	const struct btf_type *type = btf__type_by_id(btf, (uint32_t)id);

	CHECK(type && btf_is_composite(type));
	for (uint16_t i = 0; i < btf_vlen(type); i++) {
		if (!strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), name))
			return &btf_members(type)[i];
	}
	return NULL;
}

/*
 * struct list { struct list *next; };
 * struct task { const int pid; struct list links; union { long word; char name[16]; }; int on:1, off:3; };
 */
static struct btf *kernel_types(void)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int letter = btf__add_int(btf, "char", 1, BTF_INT_SIGNED);
	int word = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	int pid = btf__add_const(btf, btf__add_typedef(btf, "pid_t", number));
	int other = btf__add_struct(btf, "unknown", 4);
	int next = btf__add_ptr(btf, other + 2); /* the struct behind it */
	int list = btf__add_struct(btf, "list", 8);
	int name, either;

	btf__add_field(btf, "next", next, 0, 0);
	name = btf__add_array(btf, number, letter, 16);
	either = btf__add_union(btf, NULL, 16);
	btf__add_field(btf, "word", word, 0, 0);
	btf__add_field(btf, "name", name, 0, 0);
	btf__add_struct(btf, "task", 40);
	btf__add_field(btf, "pid", pid, 0, 0);
	btf__add_field(btf, "links", list, 64, 0);
	btf__add_field(btf, NULL, either, 128, 0);
	btf__add_field(btf, "on", number, 256, 1);
	btf__add_field(btf, "off", number, 257, 3);
	btf__add_enum(btf, "helper", 4);
	btf__add_enum_value(btf, "HELPER_A", 7);
	btf__add_enum_value(btf, "HELPER_B", 9);
	btf__add_struct(btf, "task", 4); /* a driver's, of the same name */
	btf__add_field(btf, "number", number, 0, 0);
	return btf;
}

static struct btf *types_named(const char *struct_name, const char *enum_name)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);

	btf__add_struct(btf, struct_name, 4);
	btf__add_field(btf, "pid", number, 0, 0);
	if (enum_name) {
		btf__add_enum(btf, enum_name, 4);
		btf__add_enum_value(btf, "HELPER_B___x", 1);
	}
	return btf;
}

TEST(members_stay_where_they_are)
{
	struct btf *btf = reduced(kernel_types(), types_named("task", NULL));
	int32_t id = btf__find_by_name_kind(btf, "task", BTF_KIND_STRUCT);
	const struct btf_type *type = btf__type_by_id(btf, (uint32_t)id);
	const struct btf_member *links;

	CHECK(type && type->size == 40 && btf_vlen(type) == 5);
	CHECK(!member_of(btf, id, "pid")->offset);
	links = member_of(btf, id, "links");
	CHECK(btf_member_bit_offset(type, 1) == 64 && links == &btf_members(type)[1]);
	CHECK(btf__resolve_size(btf, links->type) == 8);
	CHECK(btf_member_bit_offset(type, 2) == 128);
	CHECK(btf__resolve_size(btf, btf_members(type)[2].type) == 16);
	CHECK(member_of(btf, (int32_t)btf_members(type)[2].type, "name"));
	CHECK(btf_member_bit_offset(type, 4) == 257 && btf_member_bitfield_size(type, 4) == 3);
	btf__free(btf);
}

TEST(only_what_is_known_is_there)
{
	struct btf *btf = reduced(kernel_types(), types_named("task___old", NULL));
	int named_task = 0;

	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);

		named_task += !strcmp(btf__name_by_offset(btf, type->name_off), "task");
	}
	CHECK(named_task == 2); /* libbpf chooses the one that has the member */
	CHECK(btf__find_by_name_kind(btf, "unknown", BTF_KIND_STRUCT) < 0);
	CHECK(btf__find_by_name_kind(btf, "helper", BTF_KIND_ENUM) < 0);
	btf__free(btf);
}

TEST(an_enum_has_its_values)
{
	struct btf *btf = reduced(kernel_types(), types_named("nothing", "helper___x"));
	int32_t id = btf__find_by_name_kind(btf, "helper", BTF_KIND_ENUM);
	const struct btf_type *type = btf__type_by_id(btf, (uint32_t)id);

	CHECK(type && btf_vlen(type) == 2 && btf_enum(type)[1].val == 9);
	CHECK(btf__find_by_name_kind(btf, "task", BTF_KIND_STRUCT) < 0);
	btf__free(btf);
}

/* A struct that has itself inside. */
TEST(damaged_types_are_refused)
{
	struct btf *kernel = btf__new_empty();
	struct btf *local = types_named("task", NULL);
	struct coretypes types;

	CHECK(!coretypes_open(&types));
	btf__add_struct(kernel, "task", 8);
	btf__add_field(kernel, "inside", 1, 0, 0);
	CHECK(coretypes_write(&types, kernel, local) < 0);
	coretypes_close(&types);
	btf__free(kernel);
	btf__free(local);
}
