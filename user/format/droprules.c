/* Whose rules dropped a packet. */
#include "format/droprules.h"

#include "base/vec.h"

/* Of a verdict: the rest of it is an errno, or the number of a queue (NF_VERDICT_MASK). */
#define VERDICT_MASK 0xffu
#define NF_DROP      0u

const char *droprules_whose(struct text func)
{
	static const struct {
		const char *func;
		const char *whose;
	} known[] = {
		{ "nft_do_chain", "nft" },
		{ "ipt_do_table", "iptables" },
		{ "ip6t_do_table", "ip6tables" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (text_equal(func, text_from(known[i].func)))
			return known[i].whose;
	}
	return NULL;
}

/* The chain at which iptables begins at a hook (NF_INET_PRE_ROUTING and others); len 0: there is none. */
static struct text iptables_chain(uint64_t hook)
{
	static const char *const chains[] = { "PREROUTING", "INPUT", "FORWARD", "OUTPUT",
					      "POSTROUTING" };

	return hook < ARRAY_SIZE(chains) ? text_from(chains[hook]) : (struct text){ "", 0 };
}

bool droprules_of(struct droprules *out, const struct call *call)
{
	if (!call->arg_cnt || !call->sym || !droprules_whose(call->sym->name))
		return false;
	*out = (struct droprules){ .func = call->sym->name };
	for (uint32_t i = 0; i < call->arg_cnt; i++) {
		const struct value *arg = &call->args[i];

		if (text_equal(arg->name, text_from("nf_table")))
			out->table = arg->text;
		else if (text_equal(arg->name, text_from("nf_chain")))
			out->chain = arg->text;
		else if (text_equal(arg->name, text_from("nf_hook")))
			out->chain = iptables_chain(arg->number);
	}
	return out->table.len && *out->table.ptr != '('; /* "(null)", "(fault)" */
}

bool droprules_is_drop(const struct value *ret)
{
	if (!ret)
		return false;
	if (ret->form == FORM_TEXT)
		return text_equal(ret->text, text_from("NF_DROP"));
	return (ret->number & VERDICT_MASK) == NF_DROP;
}
