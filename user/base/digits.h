#ifndef NFG_BASE_DIGITS_H
#define NFG_BASE_DIGITS_H

#include <stdint.h>
#include <string.h>

/* digit_pairs - "00" to "99", one after the other. */
extern const char digit_pairs[];

/* digit_hex - the character of each value below 16. */
extern const char digit_hex[];

/* digit_cnt - the number of decimal digits of @value; in steps of four, since most numbers are short. */
static inline unsigned int digit_cnt(uint64_t value)
{
	unsigned int cnt = 1;

	for (; value >= 10000; value /= 10000)
		cnt += 4;
	return cnt + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* digits_put - write the last @cnt decimal digits of @value, with leading zeros. Return: where they end. */
static inline char *digits_put(char *p, uint64_t value, unsigned int cnt)
{
	char *end = p + cnt;

	for (; cnt >= 2; value /= 100) {
		cnt -= 2;
		memcpy(p + cnt, digit_pairs + value % 100 * 2, 2);
	}
	if (cnt)
		*p = (char)('0' + value % 10);
	return end;
}

#endif
