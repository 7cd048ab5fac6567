/* function_graph text, from the file to every output. */
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const source[2] = { "--from", "ftrace" };

	replay_run(data, len, len % REPLAY_TEXT_CNT, source);
	return 0;
}
