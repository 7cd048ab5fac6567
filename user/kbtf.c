#include "kbtf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "log.h"

#define REG_BYTES 8
/* btf_distill_func_proto: MAX_BPF_FUNC_ARGS */
#define ARG_MAX_CNT 12

struct btf_obj {
	struct btf *btf;
	char *module;
	int fd;
};

struct kbtf {
	struct btf *base;
	struct btf_obj *mods;
	size_t mod_cnt;
	struct kbtf_func *funcs;
	size_t func_cnt;
	size_t func_cap;
};

/*
 * Why btf_distill_func_proto (kernel/bpf/btf.c) or the x86 JIT would refuse, or
 * where a kernel without the newest fixes would build a wrong frame: arguments
 * wider than a register overflowed it until 6.1.191 and 6.12.110.
 */
static const char *proto_obstacle(const struct btf *btf, uint32_t proto_id)
{
	const struct btf_type *proto = btf__type_by_id(btf, proto_id);
	const struct btf_param *param;
	unsigned int cnt;

	if (!proto || !btf_is_func_proto(proto))
		return "no prototype in BTF";
	cnt = btf_vlen(proto);
	if (cnt > ARG_MAX_CNT)
		return "too many arguments";
	param = btf_params(proto);
	for (unsigned int i = 0; i < cnt; i++, param++) {
		int id = btf__resolve_type(btf, param->type);
		const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

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
		int id = btf__resolve_type(btf, proto->type);
		const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

		if (!type || btf_is_composite(type))
			return "struct returned by value";
		if (btf__resolve_size(btf, proto->type) > REG_BYTES)
			return "return value wider than a register";
	}
	return NULL;
}

static int func_add(struct kbtf *kb, const struct kbtf_func *func)
{
	struct kbtf_func *funcs = kb->funcs;
	size_t cap = kb->func_cap;

	if (kb->func_cnt == cap) {
		cap = cap ? cap * 2 : 4096;
		funcs = realloc(funcs, cap * sizeof(*funcs));
		if (!funcs)
			return -ENOMEM;
		kb->funcs = funcs;
		kb->func_cap = cap;
	}
	funcs[kb->func_cnt++] = *func;
	return 0;
}

static int funcs_read(struct kbtf *kb, const struct btf *btf, uint32_t first_id, const char *module,
		      int fd)
{
	uint32_t cnt = btf__type_cnt(btf);
	int err = 0;

	for (uint32_t id = first_id; id < cnt && !err; id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		struct kbtf_func func = { .module = module, .btf_id = id, .btf_fd = fd };

		if (!btf_is_func(type))
			continue;
		func.name = btf__name_by_offset(btf, type->name_off);
		func.obstacle = proto_obstacle(btf, type->type);
		err = func_add(kb, &func);
	}
	return err;
}

/* Takes ownership of @fd on success. */
static int module_read(struct kbtf *kb, uint32_t id, int fd, const char *name)
{
	struct btf_obj *mods;
	struct btf_obj mod = { .fd = fd };

	mods = realloc(kb->mods, (kb->mod_cnt + 1) * sizeof(*mods));
	if (!mods)
		return -ENOMEM;
	kb->mods = mods;
	mod.btf = btf__load_from_kernel_by_id_split(id, kb->base);
	if (!mod.btf)
		return -errno;
	mod.module = strdup(name);
	if (!mod.module) {
		btf__free(mod.btf);
		return -ENOMEM;
	}
	mods[kb->mod_cnt++] = mod;
	return funcs_read(kb, mod.btf, btf__type_cnt(kb->base), mod.module, fd);
}

/* One BTF object by id: read when it is a module's, passed over otherwise. */
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

int kbtf_new(struct kbtf **out)
{
	struct kbtf *kb = calloc(1, sizeof(*kb));
	int err;

	if (!kb)
		return -ENOMEM;
	kb->base = btf__load_vmlinux_btf();
	if (!kb->base) {
		err = -errno;
		free(kb);
		return err == -ESRCH ? -ENOENT : err;
	}
	err = funcs_read(kb, kb->base, 1, NULL, 0);
	if (err) {
		kbtf_free(kb);
		return err;
	}
	modules_read(kb);
	*out = kb;
	return 0;
}

void kbtf_free(struct kbtf *kb)
{
	if (!kb)
		return;
	for (size_t i = 0; i < kb->mod_cnt; i++) {
		btf__free(kb->mods[i].btf);
		free(kb->mods[i].module);
		close(kb->mods[i].fd);
	}
	free(kb->mods);
	free(kb->funcs);
	btf__free(kb->base);
	free(kb);
}

const struct kbtf_func *kbtf_funcs(const struct kbtf *kb, size_t *cnt)
{
	*cnt = kb->func_cnt;
	return kb->funcs;
}

uint32_t kbtf_func_id(const struct kbtf *kb, const char *name)
{
	int id = btf__find_by_name_kind(kb->base, name, BTF_KIND_FUNC);

	return id > 0 ? (uint32_t)id : 0;
}

bool kbtf_has_var(const struct kbtf *kb, const char *name)
{
	return btf__find_by_name_kind(kb->base, name, BTF_KIND_VAR) > 0;
}
