#include "app.h"
#include "opts.h"
#include "verbs.h"

static int run(const struct opts *opts)
{
	switch (opts->verb) {
	case VERB_LIST:
		return verbs_list(opts);
	case VERB_CHECK:
		return verbs_check(opts);
	case VERB_REPORT:
		return verbs_report(opts);
	default:
		return opts->input_path ? verbs_report(opts) : app_run(opts);
	}
}

int main(int argc, char **argv)
{
	struct opts opts;
	int status;

	status = opts_parse(&opts, argc, argv);
	if (!status && !opts.is_done)
		status = run(&opts);
	opts_release(&opts);
	return status;
}
