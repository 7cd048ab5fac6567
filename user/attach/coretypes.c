#include "attach/coretypes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "base/hash.h"

struct copy {
	const struct btf *from;
	struct btf *to;
	int *ids;  /* by the id in from: in to; 0: not yet */
	int depth; /* of types within types */
};

/* Deeper than any kernel's: a file that is damaged. */
#define DEPTH_MAX 64

static int type_copy(struct copy *copy, uint32_t id);

static const char *name_of(const struct copy *copy, const struct btf_type *type)
{
	return btf__name_by_offset(copy->from, type->name_off);
}

static int members_copy(struct copy *copy, const struct btf_type *type, const int *ids)
{
	const struct btf_member *members = btf_members(type);
	int err = 0;

	for (uint16_t i = 0; i < btf_vlen(type) && !err; i++)
		err = btf__add_field(copy->to, btf__name_by_offset(copy->from, members[i].name_off),
				     ids[i], btf_member_bit_offset(type, i),
				     btf_member_bitfield_size(type, i));
	return err;
}

/* What a struct has inside comes before it. */
static int composite_copy(struct copy *copy, const struct btf_type *type)
{
	uint16_t cnt = btf_vlen(type);
	int *ids = calloc(cnt + 1u, sizeof(*ids));
	int err = ids ? 0 : -ENOMEM;
	int id = 0;

	for (uint16_t i = 0; i < cnt && !err; i++) {
		ids[i] = type_copy(copy, btf_members(type)[i].type);
		err = ids[i] < 0 ? ids[i] : 0;
	}
	if (!err) {
		id = btf_is_struct(type)
			     ? btf__add_struct(copy->to, name_of(copy, type), type->size)
			     : btf__add_union(copy->to, name_of(copy, type), type->size);
		err = id < 0 ? id : members_copy(copy, type, ids);
	}
	free(ids);
	return err ? err : id;
}

static int enum_copy(struct copy *copy, const struct btf_type *type)
{
	const struct btf_enum *values = btf_enum(type);
	int id = btf__add_enum(copy->to, name_of(copy, type), type->size);
	int err = id < 0 ? id : 0;

	for (uint16_t i = 0; i < btf_vlen(type) && !err; i++)
		err = btf__add_enum_value(copy->to,
					  btf__name_by_offset(copy->from, values[i].name_off),
					  values[i].val);
	return err ? err : id;
}

static int array_copy(struct copy *copy, const struct btf_type *type)
{
	const struct btf_array *array = btf_array(type);
	int index = type_copy(copy, array->index_type);
	int elem = index < 0 ? index : type_copy(copy, array->type);

	return elem < 0 ? elem : btf__add_array(copy->to, index, elem, array->nelems);
}

static int typedef_copy(struct copy *copy, const struct btf_type *type)
{
	int of = type_copy(copy, type->type);

	return of < 0 ? of : btf__add_typedef(copy->to, name_of(copy, type), of);
}

static int new_type(struct copy *copy, const struct btf_type *type)
{
	switch (btf_kind(type)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return composite_copy(copy, type);
	case BTF_KIND_ENUM:
		return enum_copy(copy, type);
	case BTF_KIND_INT:
		return btf__add_int(copy->to, name_of(copy, type), type->size,
				    btf_int_encoding(type));
	case BTF_KIND_FLOAT:
		return btf__add_float(copy->to, name_of(copy, type), type->size);
	case BTF_KIND_ENUM64: /* its values are no matter */
		return btf__add_enum(copy->to, name_of(copy, type), type->size);
	case BTF_KIND_PTR:
		return btf__add_ptr(copy->to, 0);
	case BTF_KIND_ARRAY:
		return array_copy(copy, type);
	case BTF_KIND_TYPEDEF:
		return typedef_copy(copy, type);
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return type_copy(copy, type->type);
	default:
		return -EINVAL;
	}
}

/* Return: the id in the copy, or -errno. */
static int type_copy(struct copy *copy, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(copy->from, id);

	if (!id)
		return 0;
	if (!type || copy->depth >= DEPTH_MAX)
		return -EINVAL;
	if (!copy->ids[id]) {
		copy->depth++;
		copy->ids[id] = new_type(copy, type);
		copy->depth--;
	}
	return copy->ids[id];
}

/* Programs may know several flavours of a type: task_struct, task_struct___before_5_14. */
static size_t essential_len(const char *name)
{
	const char *flavour = strstr(name, "___");

	return flavour && flavour > name ? (size_t)(flavour - name) : strlen(name);
}

static bool can_be_asked_for(const struct btf_type *type)
{
	return type->name_off && (btf_is_composite(type) || btf_is_enum(type));
}

/* Whether @names, of types of @local, has @name. */
static bool has_name(const struct hash *names, const struct btf *local, const char *name)
{
	size_t len = strlen(name);

	for (uint32_t at = 0, item; hash_next(names, hash_bytes(name, len), &at, &item);) {
		const char *known = btf__name_by_offset(local, item);

		if (essential_len(known) == len && !memcmp(known, name, len))
			return true;
	}
	return false;
}

static int names_of(struct hash *names, const struct btf *local)
{
	int err = 0;

	for (uint32_t id = 1; id < btf__type_cnt(local) && !err; id++) {
		const struct btf_type *type = btf__type_by_id(local, id);
		const char *name = btf__name_by_offset(local, type->name_off);

		if (can_be_asked_for(type))
			err = hash_add(names, hash_bytes(name, essential_len(name)),
				       type->name_off);
	}
	return err;
}

static int types_copy(struct copy *copy, const struct btf *local, const struct hash *names)
{
	uint32_t cnt = btf__type_cnt(copy->from);

	for (uint32_t id = 1; id < cnt; id++) {
		const struct btf_type *type = btf__type_by_id(copy->from, id);
		int copied;

		if (!can_be_asked_for(type) || !has_name(names, local, name_of(copy, type)))
			continue;
		copied = type_copy(copy, id);
		if (copied < 0)
			return copied;
	}
	return 0;
}

static int write_all(int fd, const char *data, uint32_t bytes)
{
	while (bytes) {
		ssize_t done = write(fd, data, bytes);

		if (done < 0)
			return -errno;
		data += done;
		bytes -= (uint32_t)done;
	}
	return 0;
}

int coretypes_write(int fd, const struct btf *kernel, const struct btf *local)
{
	struct copy copy = {
		.from = kernel,
		.to = btf__new_empty(),
		.ids = calloc(btf__type_cnt(kernel), sizeof(*copy.ids)),
	};
	struct hash names = { 0 };
	const void *data = NULL;
	uint32_t bytes = 0;
	int err = copy.to && copy.ids ? names_of(&names, local) : -ENOMEM;

	if (!err)
		err = types_copy(&copy, local, &names);
	if (!err) {
		data = btf__raw_data(copy.to, &bytes);
		err = data ? write_all(fd, data, bytes) : -ENOMEM;
	}
	hash_release(&names);
	free(copy.ids);
	btf__free(copy.to);
	return err;
}
