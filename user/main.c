#include "app.h"
#include "opts.h"

int main(int argc, char **argv)
{
	struct opts opts;
	int status;

	status = opts_parse(&opts, argc, argv);
	if (!status && !opts.is_done)
		status = app_run(&opts);
	opts_release(&opts);
	return status;
}
