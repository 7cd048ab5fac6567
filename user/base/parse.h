#ifndef NFG_BASE_PARSE_H
#define NFG_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Strict parsers for typed values: the whole text must be valid, they do not guess, and overflow is an error. Each
 * returns NULL, or the complaint that follows "'TEXT' ".
 */

/* Complaints to which a caller that knows the limit adds it. */
#define PARSE_TOO_LARGE "is too large"
#define PARSE_TOO_SMALL "is too small"

/*
 * parse_suffix - divide *@value by 1000 or 1024 (@step) as often as it goes without a rest. Return: what stands for
 * that behind the number, K, M or G; 0: nothing.
 */
char parse_suffix(uint64_t *value, unsigned int step);

/* parse_u64 - decimal digits only, between @min and @max. */
const char *parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* parse_duration - a number, decimals allowed, and a unit: ns us ms s m h. Result in ns: not 0, below 2^62. */
const char *parse_duration(const char *text, uint64_t *out_ns);

/* parse_size - a whole number with an optional K, M or G (1024s). */
const char *parse_size(const char *text, uint64_t *out_bytes);

/* parse_count - a whole number with an optional K, M or G (thousands), not 0. */
const char *parse_count(const char *text, uint64_t *out_cnt);

struct num_list {
	uint64_t *items;
	size_t cnt;
	size_t cap;
};

/* parse_num_list - "1,5,9", each between @min and @max; added to @list (num_list_release frees), once. */
const char *parse_num_list(const char *text, uint64_t min, uint64_t max, struct num_list *list);
void num_list_release(struct num_list *list);
bool num_list_has(const struct num_list *list, uint64_t number);

#define CPU_SET_MAX 8192

struct cpu_set_list {
	uint64_t bits[CPU_SET_MAX / 64];
};

/* parse_cpu_list - the kernel's form, "0,2-5"; added to @set. */
const char *parse_cpu_list(const char *text, struct cpu_set_list *set);

static inline bool cpu_set_list_has(const struct cpu_set_list *set, uint32_t cpu)
{
	return cpu < CPU_SET_MAX && (set->bits[cpu / 64] >> cpu % 64 & 1);
}

/* ---- shell patterns ---- */

/* glob_match - whether all of @name matches the shell pattern @pattern (* ? [a-z]); no case folding. */
bool glob_match(const char *pattern, const char *name);

/* glob_is_plain - whether @pattern has no special character, a backslash included: it matches one name only, itself. */
bool glob_is_plain(const char *pattern);

#endif
