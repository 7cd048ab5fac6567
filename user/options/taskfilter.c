#include "options/taskfilter.h"

#include <stdio.h>
#include <string.h>

#include "base/glob.h"

bool taskfilter_has_tid(const struct opts *opts, uint32_t tid)
{
	return !opts->tids.cnt || num_list_has(&opts->tids, tid);
}

bool taskfilter_has_comm(const struct opts *opts, struct text comm, size_t cut_bytes)
{
	char name[32];
	bool is_cut;

	if (!opts->comms.cnt)
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)comm.len, comm.len ? comm.ptr : "");
	is_cut = cut_bytes && strlen(name) == cut_bytes;
	for (size_t i = 0; i < opts->comms.cnt; i++) {
		const char *pattern = opts->comms.items[i];

		if (glob_match(pattern, name) ||
		    (is_cut && glob_is_plain(pattern) && !strncmp(pattern, name, cut_bytes)))
			return true;
	}
	return false;
}
