/* function_graph text, from the file to every output. */
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const source[2] = { "--from", "ftrace" };

	const size_t mode = len % (REPLAY_TEXT_CNT + 1);

	replay_run(data, len, mode < REPLAY_TEXT_CNT ? mode : REPLAY_MODE_CNT - 1, source);
	return 0;
}
