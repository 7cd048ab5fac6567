#include "kernel/facts.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "kernel/policy.h"

int facts_open(struct facts *facts, bool wants_text)
{
	int err;

	*facts = (struct facts){ 0 };
	err = kbtf_new(&facts->kbtf);
	if (err && err != -ENOMEM)
		policy_explain(err);
	if (err)
		return err;
	err = ksyms_new(&facts->ksyms, facts->kbtf);
	if (err) {
		log_error("cannot read /proc/kallsyms: %s", strerror(-err));
		return err;
	}
	if (policy_hides_modules())
		log_info("functions of modules are left out: CAP_SYS_ADMIN is missing");
	if (wants_text)
		facts->text_err = ktext_new(&facts->text);
	return 0;
}

void facts_close(struct facts *facts)
{
	kbtf_free(facts->kbtf);
	ksyms_free(facts->ksyms);
	ktext_free(facts->text);
	*facts = (struct facts){ 0 };
}
