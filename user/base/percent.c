/* Percents that add up. */
#include "base/percent.h"

/* By largest remainder, of equal ones the first. */
void percents_make(unsigned int *percents, const int64_t *parts, size_t cnt, int64_t all)
{
	double rests[PERCENTS_MAX];
	double left = 0.5; /* so that the sum is rounded */

	for (size_t i = 0; i < cnt; i++) {
		const double part = all > 0 ? 100.0 * (double)parts[i] / (double)all : 0;

		percents[i] = (unsigned int)part;
		rests[i] = part - percents[i];
		left += rests[i];
	}
	for (; left >= 1; left--) {
		size_t most = 0;

		for (size_t i = 1; i < cnt; i++)
			most = rests[i] > rests[most] ? i : most;
		percents[most]++;
		rests[most] = -1;
	}
}
