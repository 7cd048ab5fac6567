#include "annotate/details.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "nfg_abi.h"
#include "kernel/policy.h"

/* 32 MiB: the values of some hundred thousand events in flight. */
#define VALUES_WORD_CNT (1u << 22)

/* The rule of the kernel's %pK: with kernel.kptr_restrict 0 or 1 root sees pointers, with 2 nobody does. */
static bool may_show_pointers(void)
{
	FILE *file = fopen("/proc/sys/kernel/kptr_restrict", "re");
	int level = 2;

	if (!file)
		return false;
	if (fscanf(file, "%d", &level) != 1)
		level = 2;
	fclose(file);
	return level < 2 && geteuid() == 0;
}

static struct proto_style style_of(const struct details_want *want)
{
	struct proto_style style = want->style;

	style.hides_pointers = want->style.hides_pointers && !may_show_pointers();

	if (style.hides_pointers &&
	    getrandom(&style.hash_key, sizeof(style.hash_key), 0) != sizeof(style.hash_key))
		style.hash_key = (uint64_t)getpid();
	return style;
}

/* Said once: all callers are "<-?" then. */
static void warn_hidden_callers(const struct details_want *want)
{
	char why[64];

	policy_hidden_addresses(why, sizeof(why));
	log_warn("--graph-opts %s: callers are unnamed, because kernel addresses are hidden: %s",
		 want->has_caller ? "retaddr" : "stack", why);
}

int details_init(struct details *dt, const struct details_want *want, const struct ksyms *ks)
{
	struct notes_config config;
	int err = 0;

	*dt = (struct details){ 0 };
	if (want->values || want->has_filter)
		err = proto_table_new(&dt->protos);
	if (err || !want->values)
		return err;
	err = values_new(&dt->values, VALUES_WORD_CNT);
	if (!err)
		err = retaddr_new(&dt->callers, ks);
	if (!err && (want->has_caller || want->has_stack) && retaddr_is_hidden(dt->callers))
		warn_hidden_callers(want);
	config = (struct notes_config){
		.style = style_of(want),
		.has_caller = want->has_caller,
		.has_packet = want->has_packet,
		.has_stack = want->has_stack,
		.values = dt->values,
		.protos = dt->protos,
		.callers = dt->callers,
		.srcline = want->srcline,
	};
	return err ? err : notes_new(&dt->notes, &config);
}

void details_release(struct details *dt)
{
	notes_free(dt->notes);
	retaddr_free(dt->callers);
	proto_table_free(dt->protos);
	values_free(dt->values);
	*dt = (struct details){ 0 };
}

int details_funcs(struct details *dt, const struct functab *tab, const struct kbtf *kb)
{
	int err = 0;

	for (size_t i = 0; dt->protos && i < tab->cnt && !err; i++) {
		const struct func *func = &tab->funcs[i];
		const struct kbtf_func kfunc = {
			.name = func->name.ptr,
			.module = func->module.len ? func->module.ptr : NULL,
			.btf_id = func->btf_id,
			.btf_fd = func->btf_fd,
		};

		err = proto_table_add(dt->protos, kb, &kfunc);
	}
	return err;
}
