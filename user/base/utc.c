#include "base/utc.h"

#include <inttypes.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

void utc_put(struct strbuf *out, uint64_t real_ns)
{
	const time_t seconds = (time_t)(real_ns / SECOND_NS);
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	strbuf_printf(out, "%s.%06" PRIu64 "Z", text, real_ns % SECOND_NS / 1000);
}
