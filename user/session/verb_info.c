/* netfgraph info. */
#include <errno.h>

#include "base/log.h"
#include "base/output.h"
#include "process/privdrop.h"
#include "report/recinfo.h"
#include "session/verbs.h"

#define ROWS_DEFAULT 10

/* Files from others are parsed without privileges. */
static void drop_privileges(void)
{
	privdrop(0, false);
}

/* The part before the damage is shown, too. */
static int print(const struct opts *opts, const struct recinfo *info)
{
	struct strbuf out = { 0 };
	int err = 0;

	if (opts->json || opts->format == FORMAT_JSON)
		recinfo_json(info, &out);
	else if (opts->format == FORMAT_CSV)
		recinfo_csv(info, &out);
	else
		err = recinfo_text(info,
				   opts->has_sort ? (enum profile_sort)opts->profile_sort
						  : PROFILE_BY_COUNT,
				   opts->profile_rows ? opts->profile_rows : ROWS_DEFAULT, &out);
	if (!err && !strbuf_ok(&out))
		err = -ENOMEM;
	if (!err)
		return output_page(&out, NULL);
	strbuf_release(&out);
	return err;
}

int verbs_info(const struct opts *opts)
{
	const bool is_text = verbs_looks_like_text(opts->input_path);
	struct recinfo info;
	bool is_foreign;
	bool has_losses;
	int print_err = 0;
	int err = recinfo_read(&info, opts->input_path, drop_privileges);

	if (info.host.cpu_cnt)
		print_err = print(opts, &info);
	has_losses = report_has_losses(&info.stats);
	is_foreign = info.is_foreign;
	recinfo_release(&info);
	err = err ? err : print_err;
	log_unsaid(err);
	if (is_foreign)
		log_hint(is_text ? "'netfgraph report FILE' and 'netfgraph diff A B' read texts"
				 : "'netfgraph record -o FILE' makes a recording");
	if (err)
		return EXIT_STATUS_FAILED;
	return opts->strict && has_losses ? EXIT_STATUS_LOSSES : EXIT_STATUS_OK;
}
