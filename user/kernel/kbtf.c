#include "kernel/kbtf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "base/arch.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/vec.h"
#include "nfg_abi.h"
#include "kernel/release.h"

#define REG_BYTES 8
/* MAX_BPF_FUNC_ARGS in btf_distill_func_proto */
#define ARG_MAX_CNT 12

struct btf_obj {
	struct btf *btf;
	char *module;
	int fd; /* -1: closed */
	bool is_prog;
	bool is_shared;  /* @btf is that of a program before it ... */
	uint32_t btf_id; /* ... with the same id; 0: a module's */
};

struct kbtf {
	struct btf *base;
	unsigned int arg_max_cnt; /* limit of the running kernel's trampolines */
	struct btf_obj *mods;
	size_t mod_cnt;
	size_t mod_cap;
	struct kbtf_func *funcs;
	size_t func_cnt;
	size_t func_cap;
	struct hash by_name; /* of funcs */
	struct hash named; /* ids of vmlinux's structs, enums, variables and types of tracepoints */
};

/* The type's name; "" if it has none, or if a damaged BTF points beyond its strings. */
static const char *name_of(const struct btf *btf, const struct btf_type *type)
{
	const char *name = btf__name_by_offset(btf, type->name_off);

	return name ? name : "";
}

const struct btf_type *kbtf_type(const struct btf *btf, uint32_t type_id, uint32_t *id)
{
	const int found = btf__resolve_type(btf, type_id);

	if (id)
		*id = found > 0 ? (uint32_t)found : 0;
	return found > 0 ? btf__type_by_id(btf, (uint32_t)found) : NULL;
}

/*
 * The reason why btf_distill_func_proto (kernel/bpf/btf.c) or the JIT would refuse the prototype, or why a kernel
 * without the newest fixes would build a wrong frame: arguments wider than a register overflowed it until 6.1.191 and
 * 6.12.110.
 */
static const char *proto_obstacle(const struct btf *btf, const struct btf_type *proto,
				  unsigned int arg_max_cnt)
{
	const struct btf_param *param;
	unsigned int cnt;

	if (!proto)
		return "no prototype in BTF";
	cnt = btf_vlen(proto);
	if (cnt > arg_max_cnt)
		return "too many arguments";
	param = btf_params(proto);
	for (unsigned int i = 0; i < cnt; i++, param++) {
		const struct btf_type *type = kbtf_type(btf, param->type, NULL);

		if (!param->type)
			return "variable arguments";
		if (!type)
			return "argument of unknown type";
		if (btf_is_composite(type))
			return "struct passed by value";
		if (btf__resolve_size(btf, param->type) > REG_BYTES)
			return "argument wider than a register";
	}
	if (proto->type) {
		const struct btf_type *type = kbtf_type(btf, proto->type, NULL);

		if (!type || btf_is_composite(type))
			return "struct returned by value";
		if (btf__resolve_size(btf, proto->type) > REG_BYTES)
			return "return value wider than a register";
	}
	return NULL;
}

/* The type that @id points to; NULL: it is not a pointer, or points to an unknown type. */
static const struct btf_type *kbtf_target_of(const struct btf *btf, uint32_t id,
					     uint32_t *target_id)
{
	const struct btf_type *type = kbtf_type(btf, id, NULL);

	*target_id = 0;
	return type && btf_is_ptr(type) ? kbtf_type(btf, type->type, target_id) : NULL;
}

/* Whether type @id is a pointer to the struct @name. */
static bool points_to(const struct btf *btf, uint32_t id, const char *name)
{
	uint32_t target_id;
	const struct btf_type *type = kbtf_target_of(btf, id, &target_id);

	return type && btf_is_composite(type) && !strcmp(name_of(btf, type), name);
}

uint8_t kbtf_packet_kind(const struct btf *btf, uint32_t type_id, enum kbtf_owner owner)
{
	/* the kernel gives a flow dissector a struct bpf_flow_dissector as its __sk_buff */
	const bool has_packet = owner != KBTF_PROG_FLOW && owner != KBTF_SUBPROG_FLOW;

	if (points_to(btf, type_id, owner == KBTF_PROG_SOCK ? "bpf_sock" : "sock"))
		return NFG_ARG_SK;
	return has_packet && points_to(btf, type_id, owner == KBTF_KERNEL ? "sk_buff" : "__sk_buff")
		       ? NFG_ARG_SKB
		       : NFG_ARG_NONE;
}

static uint8_t ret_kind(const struct btf *btf, uint32_t type_id)
{
	const struct btf_type *type = kbtf_type(btf, type_id, NULL);

	if (!type || (!btf_is_int(type) && !btf_is_any_enum(type)))
		return NFG_RET_NONE;
	if (type->size == 8)
		return NFG_RET_LONG;
	return type->size == 4 ? NFG_RET_INT : NFG_RET_NONE;
}

static bool is_drop_reason(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = kbtf_type(btf, id, NULL);

	return type && btf_is_enum(type) && !strcmp(name_of(btf, type), KBTF_DROP_REASON);
}

/* Prefers a socket, because its owner is certain. */
static void find_packet_arg(struct kbtf_shape *shape, const struct btf *btf,
			    const struct btf_type *proto, enum kbtf_owner owner)
{
	const struct btf_param *param = btf_params(proto);

	for (unsigned int i = 0; i < btf_vlen(proto); i++) {
		uint8_t kind = kbtf_packet_kind(btf, param[i].type, owner);

		if (kind > shape->arg_kind) {
			shape->arg_kind = kind;
			shape->arg_idx = (uint8_t)i;
		}
		if (kind == NFG_ARG_SKB && !shape->skb_arg)
			shape->skb_arg = (uint8_t)(i + 1);
		if (owner == KBTF_KERNEL && !shape->msg_arg &&
		    points_to(btf, param[i].type, "msghdr"))
			shape->msg_arg = (uint8_t)(i + 1);
		if (owner == KBTF_KERNEL && !shape->reason_arg &&
		    is_drop_reason(btf, param[i].type))
			shape->reason_arg = (uint8_t)(i + 1);
	}
}

static int kbtf_func_add(struct kbtf *kb, const struct kbtf_func *func)
{
	if (VEC_RESERVE(kb->funcs, kb->func_cap, kb->func_cnt + 1) ||
	    hash_add(&kb->by_name, hash_bytes(func->name, strlen(func->name)),
		     (uint32_t)kb->func_cnt))
		return -ENOMEM;
	kb->funcs[kb->func_cnt++] = *func;
	return 0;
}

/* Whether kbtf_id may look the type up by name. */
static bool kbtf_is_asked_for(const struct btf_type *type, const char *name)
{
	if (btf_is_typedef(type))
		return !strncmp(name, TRACEPOINT_PREFIX, strlen(TRACEPOINT_PREFIX));
	return *name && (btf_is_struct(type) || btf_is_var(type) || btf_is_enum(type));
}

/* Index the names of vmlinux, whose types are all scanned once. */
static int name_add(struct kbtf *kb, const struct btf_type *type, uint32_t id)
{
	const char *name = name_of(kb->base, type);

	return kbtf_is_asked_for(type, name)
		       ? hash_add(&kb->named, hash_bytes(name, strlen(name)), id)
		       : 0;
}

static int types_read(struct kbtf *kb, const struct btf *btf, uint32_t first_id, const char *module,
		      int fd)
{
	uint32_t cnt = btf__type_cnt(btf);
	int err = 0;

	/* libbpf accepts a header of any length, so the first type, and with it all others, may be unaligned */
	if (first_id < cnt && (uintptr_t)btf__type_by_id(btf, first_id) % _Alignof(struct btf_type))
		return -EINVAL;
	for (uint32_t id = first_id; id < cnt && !err; id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		struct kbtf_func func = { .module = module, .btf_id = id, .btf_fd = fd };

		if (!btf_is_func(type)) {
			err = module ? 0 : name_add(kb, type, id);
			continue;
		}
		func.name = name_of(btf, type);
		if (!*func.name)
			continue;
		err = kbtf_func_add(kb, &func);
	}
	return err;
}

/* Takes ownership of @fd on success. */
static int module_read(struct kbtf *kb, uint32_t id, int fd, const char *name)
{
	struct btf_obj mod = { .fd = fd };

	if (VEC_RESERVE(kb->mods, kb->mod_cap, kb->mod_cnt + 1))
		return -ENOMEM;
	mod.btf = btf__load_from_kernel_by_id_split(id, kb->base);
	if (!mod.btf)
		return -errno;
	mod.module = strdup(name);
	if (!mod.module) {
		btf__free(mod.btf);
		return -ENOMEM;
	}
	kb->mods[kb->mod_cnt++] = mod;
	return types_read(kb, mod.btf, btf__type_cnt(kb->base), mod.module, fd);
}

/* Read one BTF object by id if it is a module's; skip any other. */
static void module_try(struct kbtf *kb, uint32_t id)
{
	struct bpf_btf_info info = { 0 };
	__u32 len = sizeof(info);
	char name[64] = "";
	int err;
	int fd;

	fd = bpf_btf_get_fd_by_id(id);
	if (fd < 0)
		return;
	info.name = (uintptr_t)name;
	info.name_len = sizeof(name);
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (!err && info.kernel_btf && strcmp(name, "vmlinux")) {
		err = module_read(kb, id, fd, name);
		if (!err)
			return;
		log_debug("cannot read BTF of module '%s' (%s)", name, strerror(-err));
		if (kb->mod_cnt && kb->mods[kb->mod_cnt - 1].fd == fd)
			return;
	}
	close(fd);
}

static void modules_read(struct kbtf *kb)
{
	__u32 id = 0;

	while (!bpf_btf_get_next_id(id, &id))
		module_try(kb, id);
}

/* Get types with an id, of a program before or of the kernel. Return: 0 or -errno. */
static int prog_types_find(const struct kbtf *kb, uint32_t btf_id, struct btf_obj *out)
{
	for (size_t i = 0; i < kb->mod_cnt; i++) {
		if (!kb->mods[i].is_prog || kb->mods[i].btf_id != btf_id)
			continue;
		out->btf = kb->mods[i].btf;
		out->is_shared = true;
		return 0;
	}
	out->btf = btf__load_from_kernel_by_id(btf_id);
	return out->btf ? 0 : -errno;
}

static void btf_obj_release(struct btf_obj *obj)
{
	if (!obj->is_shared)
		btf__free(obj->btf);
	free(obj->module);
	if (obj->fd >= 0)
		close(obj->fd);
}

int kbtf_add_prog(struct kbtf *kb, uint32_t btf_id, int fd, const char *module,
		  struct kbtf_prog *out)
{
	struct btf_obj prog = { .fd = -1, .is_prog = true, .btf_id = btf_id };
	int err = VEC_RESERVE(kb->mods, kb->mod_cap, kb->mod_cnt + 1);

	if (!err)
		err = prog_types_find(kb, btf_id, &prog);
	if (err)
		return err;
	prog.module = strdup(module);
	if (!prog.module) {
		btf_obj_release(&prog);
		return -ENOMEM;
	}
	prog.fd = fd;
	kb->mods[kb->mod_cnt++] = prog;
	*out = (struct kbtf_prog){ .btf = prog.btf, .module = prog.module };
	return 0;
}

void kbtf_drop_prog(struct kbtf *kb, const char *module)
{
	struct btf_obj *last = kb->mod_cnt ? &kb->mods[kb->mod_cnt - 1] : NULL;

	if (!last || !last->is_prog || strcmp(last->module, module) != 0)
		return;
	btf_obj_release(last);
	kb->mod_cnt--;
}

void kbtf_close_progs(struct kbtf *kb)
{
	for (size_t i = 0; i < kb->mod_cnt; i++) {
		if (!kb->mods[i].is_prog || kb->mods[i].fd < 0)
			continue;
		close(kb->mods[i].fd);
		kb->mods[i].fd = -1;
	}
}

/* Functions of the same name come in their original order. */
const struct kbtf_func *kbtf_next(const struct kbtf *kb, const char *name,
				  const struct kbtf_func *after)
{
	uint64_t hash = hash_bytes(name, strlen(name));

	for (uint32_t at = 0, item; hash_next(&kb->by_name, hash, &at, &item);) {
		const struct kbtf_func *func = &kb->funcs[item];

		if ((!after || func > after) && !strcmp(func->name, name))
			return func;
	}
	return NULL;
}

static int base_new(struct kbtf **out, struct btf *base, int open_err)
{
	struct kbtf *kb;
	int err;

	if (!base)
		return open_err == -ESRCH ? -ENOENT : open_err;
	kb = calloc(1, sizeof(*kb));
	if (!kb) {
		btf__free(base);
		return -ENOMEM;
	}
	kb->base = base;
	kb->arg_max_cnt =
		release_has(RELEASE_TAKES_STACK_ARGS) ? ARG_MAX_CNT : arch_host()->arg_reg_cnt;
	err = types_read(kb, base, 1, NULL, 0);
	if (err)
		kbtf_free(kb);
	else
		*out = kb;
	return err;
}

#define VMLINUX_BTF "/sys/kernel/btf/vmlinux"

/* Since 6.16 the file can be mapped (a539e2a6d51d), which saves reading it page by page. Return: NULL: it cannot. */
static struct btf *map_vmlinux_btf(void)
{
	int fd = open(VMLINUX_BTF, O_RDONLY | O_CLOEXEC);
	struct btf *btf = NULL;
	struct stat st;
	void *data;

	if (fd < 0)
		return NULL;
	data = fstat(fd, &st) ? MAP_FAILED
			      : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return NULL;
	btf = btf__new(data, (uint32_t)st.st_size);
	munmap(data, (size_t)st.st_size);
	return btf;
}

int kbtf_new(struct kbtf **out)
{
	struct btf *base = map_vmlinux_btf();
	int err;

	/* not btf__load_vmlinux_btf, which tries files that do not exist and logs errors about them */
	if (!base)
		base = btf__parse(VMLINUX_BTF, NULL);
	err = base_new(out, base, -errno);
	if (!err)
		modules_read(*out);
	return err;
}

int kbtf_new_at(struct kbtf **out, const char *path)
{
	struct btf *base = btf__parse(path, NULL);

	return base_new(out, base, -errno);
}

void kbtf_free(struct kbtf *kb)
{
	if (!kb)
		return;
	for (size_t i = 0; i < kb->mod_cnt; i++)
		btf_obj_release(&kb->mods[i]);
	free(kb->mods);
	free(kb->funcs);
	hash_release(&kb->by_name);
	hash_release(&kb->named);
	btf__free(kb->base);
	free(kb);
}

bool kbtf_types_next(const struct kbtf *kb, size_t *at, struct kbtf_types *out)
{
	const size_t first = (*at)++;

	if (!first) {
		*out = (struct kbtf_types){ .btf = kb->base, .first_id = 1 };
		return true;
	}
	for (size_t i = first - 1; i < kb->mod_cnt; i++) {
		const struct btf_obj *mod = &kb->mods[i];

		*at = i + 2;
		if (mod->is_prog)
			continue;
		*out = (struct kbtf_types){ .btf = mod->btf,
					    .module = mod->module,
					    .fd = mod->fd,
					    .first_id = btf__type_cnt(kb->base) };
		return true;
	}
	return false;
}

const struct kbtf_func *kbtf_funcs(const struct kbtf *kb, size_t *cnt)
{
	*cnt = kb->func_cnt;
	return kb->funcs;
}

uint32_t kbtf_func_id(const struct kbtf *kb, const char *name)
{
	const struct kbtf_func *func = kbtf_next(kb, name, NULL);

	return func && !func->module ? func->btf_id : 0;
}

/* Limit for unnamed structs inside unnamed structs: in a damaged BTF one may contain itself. */
#define DEPTH_MAX 8u

/*
 * Find the member @name of a struct, including unnamed structs in it. Return: its offset in bytes, with @member_id set;
 * or -ENOENT.
 */
static int member_find_at(const struct btf *btf, uint32_t id, const char *name, uint32_t *member_id,
			  unsigned int depth)
{
	const struct btf_type *type = kbtf_type(btf, id, NULL);

	for (uint32_t i = 0; type && btf_is_composite(type) && i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];
		const char *member_name = btf__name_by_offset(btf, member->name_off);
		int begin = (int)btf_member_bit_offset(type, i) / 8;
		int inside;

		*member_id = member->type;
		if (!strcmp(member_name, name))
			return begin;
		inside = *member_name || depth == DEPTH_MAX
				 ? -ENOENT
				 : member_find_at(btf, member->type, name, member_id, depth + 1);
		if (inside >= 0)
			return begin + inside;
	}
	return -ENOENT;
}

static int member_find(const struct btf *btf, uint32_t id, const char *name, uint32_t *member_id)
{
	return member_find_at(btf, id, name, member_id, 0);
}

const struct btf *kbtf_base(const struct kbtf *kb)
{
	return kb->base;
}

/* The first type in vmlinux with this name and kind; 0: there is none. */
static uint32_t kbtf_id(const struct kbtf *kb, const char *name, uint32_t kind)
{
	for (uint32_t at = 0, id;
	     hash_next(&kb->named, hash_bytes(name, strlen(name)), &at, &id);) {
		const struct btf_type *type = btf__type_by_id(kb->base, id);

		if (btf_kind(type) == kind && !strcmp(name_of(kb->base, type), name))
			return id;
	}
	return 0;
}

uint32_t kbtf_struct_id(const struct kbtf *kb, const char *name)
{
	return kbtf_id(kb, name, BTF_KIND_STRUCT);
}

uint32_t kbtf_var_id(const struct kbtf *kb, const char *name)
{
	return kbtf_id(kb, name, BTF_KIND_VAR);
}

uint32_t kbtf_struct_bytes(const struct kbtf *kb, const char *name)
{
	uint32_t id = kbtf_struct_id(kb, name);

	return id ? btf__type_by_id(kb->base, id)->size : 0;
}

bool kbtf_has_enumerator(const struct kbtf *kb, const char *name, const char *enumerator)
{
	const uint32_t id = kbtf_id(kb, name, BTF_KIND_ENUM);
	const struct btf_type *type = id ? btf__type_by_id(kb->base, id) : NULL;

	for (uint16_t i = 0; type && i < btf_vlen(type); i++) {
		if (!strcmp(btf__name_by_offset(kb->base, btf_enum(type)[i].name_off), enumerator))
			return true;
	}
	return false;
}

uint32_t kbtf_tracepoint_id(const struct kbtf *kb, const char *name)
{
	char type_name[64];

	snprintf(type_name, sizeof(type_name), TRACEPOINT_PREFIX "%s", name);
	return kbtf_id(kb, type_name, BTF_KIND_TYPEDEF);
}

uint32_t kbtf_preempt_var(const struct kbtf *kb, uint32_t *offset)
{
	uint32_t id = kbtf_var_id(kb, "__preempt_count");
	uint32_t member_id;
	int place = 0;

	if (!id) {
		id = kbtf_var_id(kb, "pcpu_hot");
		if (id)
			place = member_find(kb->base, id, "preempt_count", &member_id);
	}
	if (!id || place < 0)
		return 0;
	*offset = (uint32_t)place;
	return id;
}

/* Find the member @name of the struct @id. Return: whether there is one of known size. */
static bool member_of(const struct btf *btf, uint32_t id, const char *name, struct kbtf_member *out)
{
	uint32_t member_id = 0;
	int offset = member_find(btf, id, name, &member_id);
	int64_t bytes = offset >= 0 ? btf__resolve_size(btf, member_id) : 0;

	if (bytes <= 0)
		return false;
	*out = (struct kbtf_member){ (uint32_t)offset, (uint32_t)bytes };
	return true;
}

bool kbtf_struct_member(const struct kbtf *kb, const char *name, const char *member,
			struct kbtf_member *out)
{
	uint32_t id = kbtf_struct_id(kb, name);

	return id && member_of(kb->base, id, member, out);
}

const char *kbtf_member_type(const struct kbtf *kb, const char *name, const char *member)
{
	uint32_t id = kbtf_struct_id(kb, name);
	uint32_t member_id;

	if (!id || member_find(kb->base, id, member, &member_id) < 0)
		return NULL;
	return name_of(kb->base, btf__type_by_id(kb->base, member_id));
}

bool kbtf_has_nested(const struct kbtf *kb, const char *name, const char *member,
		     const char *nested)
{
	uint32_t id = kbtf_struct_id(kb, name);

	return id && member_find(kb->base, id, member, &id) >= 0 &&
	       member_find(kb->base, id, nested, &id) >= 0;
}

static const struct btf *btf_of(const struct kbtf *kb, const struct kbtf_func *func)
{
	for (size_t i = 0; func->module && i < kb->mod_cnt; i++) {
		if (kb->mods[i].fd == func->btf_fd)
			return kb->mods[i].btf;
	}
	return kb->base;
}

static const struct btf_type *proto_of(const struct btf *btf, const struct kbtf_func *func)
{
	const struct btf_type *type = btf__type_by_id(btf, func->btf_id);

	type = type && btf_is_func(type) ? btf__type_by_id(btf, type->type) : NULL;
	return type && btf_is_func_proto(type) ? type : NULL;
}

const struct btf_type *kbtf_proto(const struct kbtf *kb, const struct kbtf_func *func,
				  const struct btf **btf)
{
	*btf = btf_of(kb, func);
	return proto_of(*btf, func);
}

static bool reads_clock(const struct btf *btf, const struct btf_type *proto)
{
	return proto && btf_vlen(proto) == 1 && btf__resolve_size(btf, proto->type) == 8 &&
	       points_to(btf, btf_params(proto)[0].type, "clocksource");
}

struct kbtf_shape kbtf_shape(const struct kbtf *kb, const struct kbtf_func *func)
{
	const struct btf *btf = btf_of(kb, func);
	const struct btf_type *proto = proto_of(btf, func);
	struct kbtf_shape shape = { .obstacle = proto_obstacle(btf, proto, kb->arg_max_cnt) };

	shape.reads_clock = reads_clock(btf, proto);
	shape.ret_kind = proto ? ret_kind(btf, proto->type) : NFG_RET_NONE;
	shape.has_ret = shape.ret_kind != NFG_RET_NONE;
	if (func->owner > KBTF_SUBPROG)
		shape.ret_kind = NFG_RET_NONE; /* a verdict; even if negative, no error */
	if (shape.obstacle)
		return shape;
	shape.arg_cnt = (uint8_t)btf_vlen(proto);
	shape.has_ret = proto->type != 0;
	find_packet_arg(&shape, btf, proto, func->owner);
	return shape;
}

bool kbtf_has_arg(const struct kbtf *kb, const struct kbtf_func *func, const char *name)
{
	const struct btf *btf = btf_of(kb, func);
	const struct btf_type *proto = proto_of(btf, func);

	for (unsigned int i = 0; proto && i < btf_vlen(proto); i++) {
		if (points_to(btf, btf_params(proto)[i].type, name))
			return true;
	}
	return false;
}

enum kbtf_entry kbtf_driver_entry(const struct kbtf *kb, const struct kbtf_func *func)
{
	const struct btf *btf = btf_of(kb, func);
	const struct btf_type *proto = proto_of(btf, func);
	const unsigned int arg_cnt = proto ? btf_vlen(proto) : 0;
	const struct btf_param *args = proto ? btf_params(proto) : NULL;
	const struct btf_type *ret =
		arg_cnt && arg_cnt <= 2 ? btf__type_by_id(btf, proto->type) : NULL;
	const char *name = ret ? name_of(btf, ret) : ""; /* a damaged type has no name */

	if (arg_cnt == 1)
		return strcmp(name, "rx_handler_result_t") ? KBTF_NO_ENTRY : KBTF_RECEIVE;
	if (!strcmp(name, "netdev_tx_t") && btf_is_typedef(ret) &&
	    points_to(btf, args[0].type, "sk_buff") && points_to(btf, args[1].type, "net_device"))
		return KBTF_XMIT;
	if (!strcmp(name, "int") && args[1].type == proto->type &&
	    points_to(btf, args[0].type, "napi_struct"))
		return KBTF_POLL;
	return KBTF_NO_ENTRY;
}

/* ---- what relocating programs needs ---- */

struct copy {
	const struct btf *from;
	struct btf *to;
	int *ids;  /* by the id in from: in to; 0: not yet */
	int depth; /* of types within types */
};

/* Deeper than any kernel's: a file that is damaged. */
#define COPY_DEPTH_MAX 64

static int type_copy(struct copy *copy, uint32_t id);

static const char *copied_name(const struct copy *copy, const struct btf_type *type)
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

/* Copies the types of the members before the struct or union itself. */
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
			     ? btf__add_struct(copy->to, copied_name(copy, type), type->size)
			     : btf__add_union(copy->to, copied_name(copy, type), type->size);
		err = id < 0 ? id : members_copy(copy, type, ids);
	}
	free(ids);
	return err ? err : id;
}

static int enum_copy(struct copy *copy, const struct btf_type *type)
{
	const struct btf_enum *values = btf_enum(type);
	int id = btf__add_enum(copy->to, copied_name(copy, type), type->size);
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

	return of < 0 ? of : btf__add_typedef(copy->to, copied_name(copy, type), of);
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
		return btf__add_int(copy->to, copied_name(copy, type), type->size,
				    btf_int_encoding(type));
	case BTF_KIND_FLOAT:
		return btf__add_float(copy->to, copied_name(copy, type), type->size);
	case BTF_KIND_ENUM64: /* its values are no matter */
		return btf__add_enum(copy->to, copied_name(copy, type), type->size);
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
	if (!type || copy->depth >= COPY_DEPTH_MAX)
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
static bool kbtf_has_name(const struct hash *names, const struct btf *local, const char *name)
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

		if (!can_be_asked_for(type) ||
		    !kbtf_has_name(names, local, copied_name(copy, type)))
			continue;
		copied = type_copy(copy, id);
		if (copied < 0)
			return copied;
	}
	return 0;
}

static int kbtf_write_all(int fd, const char *data, uint32_t bytes)
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

int coretypes_open(struct coretypes *types)
{
	types->fd = memfd_create("netfgraph-types", MFD_CLOEXEC);
	if (types->fd < 0)
		return -errno;
	snprintf(types->path, sizeof(types->path), "/proc/self/fd/%d", types->fd);
	return 0;
}

void coretypes_close(struct coretypes *types)
{
	if (types->fd > 0)
		close(types->fd);
	types->fd = 0;
}

int coretypes_write(const struct coretypes *types, const struct btf *kernel,
		    const struct btf *local)
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
		err = data ? kbtf_write_all(types->fd, data, bytes) : -ENOMEM;
	}
	hash_release(&names);
	free(copy.ids);
	btf__free(copy.to);
	return err;
}
