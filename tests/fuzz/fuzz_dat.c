/* trace.dat, from the file to every output. */
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The first byte says which output; the bytes by which such a file is known are always right. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char magic[] = "\x17\x08\x44tracing";
	uint8_t *file;

	if (len < sizeof(magic))
		return 0;
	file = malloc(len);
	if (!file)
		return 0;
	memcpy(file, data, len);
	memcpy(file, magic, sizeof(magic) - 1);
	replay_run(file, len, data[0] % REPLAY_DAT_CNT, NULL);
	free(file);
	return 0;
}
