/* Configuration files: two, separated by a byte that is in no text; what they set, and what is printed of them. */
#include "fuzz.h"
#include "options/config.h"

/* What is printed is a file that sets the same. */
static void print_again(const struct config *config)
{
	static const struct config_places nowhere;
	struct config again = { 0 };
	struct strbuf out = { 0 };

	config_print(config, &nowhere, &out);
	CHECK(strbuf_ok(&out));
	CHECK(!config_read_text(&again, "again", out.ptr, out.len));
	strbuf_release(&out);
	config_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char *const argvs[][4] = {
		{ "netfgraph", "true", "x" },
		{ "netfgraph", "report", "x" },
		{ "netfgraph", "profile", "-Gx" },
		{ "netfgraph", "list", "x" },
	};
	const char *text = (const char *)data;
	const uint8_t *second = len ? memchr(data, 0xff, len) : NULL;
	const size_t first_len = second ? (size_t)(second - data) : len;
	struct config config = { 0 };
	int status = config_read_text(&config, "first", text, first_len);

	if (!status && second)
		status = config_read_text(&config, "second", text + first_len + 1,
					  len - first_len - 1);
	CHECK(!status || status == VERDICT_USAGE);
	for (size_t i = 0; !status && i < sizeof(argvs) / sizeof(argvs[0]); i++) {
		char *argv[4];
		struct opts opts;

		memcpy(argv, argvs[i], sizeof(argv));
		CHECK(!opts_parse(&opts, 3, argv));
		config_apply(&config, &opts);
		opts_release(&opts);
	}
	if (!status)
		print_again(&config);
	config_release(&config);
	return 0;
}
