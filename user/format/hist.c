/* 32 steps for each power of two, exact below 64. */
#include "format/hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nfg_hist.h"

#define STEP_CNT  NFG_HIST_STEP_CNT
#define BAR_WIDTH 52

/* The least value of a bucket. */
static uint64_t bucket_low(uint32_t bucket)
{
	unsigned int shift = bucket < 2 * STEP_CNT ? 0 : bucket / STEP_CNT - 1;

	return shift ? (uint64_t)(bucket - shift * STEP_CNT) << shift : bucket;
}

uint64_t hist_middle(uint32_t bucket)
{
	uint64_t low = bucket_low(bucket);
	unsigned int shift = bucket < 2 * STEP_CNT ? 0 : bucket / STEP_CNT - 1;

	return low + (((uint64_t)1 << shift) - 1) / 2;
}

int hist_reserve(struct hist *h, uint32_t bucket)
{
	uint32_t cnt = (bucket / STEP_CNT + 1) * STEP_CNT;
	uint64_t *buckets;

	if (bucket < h->bucket_cnt)
		return 0;
	buckets = realloc(h->buckets, cnt * sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	memset(buckets + h->bucket_cnt, 0, (cnt - h->bucket_cnt) * sizeof(*buckets));
	h->buckets = buckets;
	h->bucket_cnt = cnt;
	return 0;
}

int hist_add(struct hist *h, uint64_t value)
{
	uint32_t bucket = nfg_hist_bucket(value);

	if (hist_reserve(h, bucket))
		return -ENOMEM;
	h->buckets[bucket]++;
	if (!h->cnt || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->cnt++;
	h->sum += value;
	return 0;
}

void hist_release(struct hist *h)
{
	free(h->buckets);
	*h = (struct hist){ 0 };
}

void hist_clear(struct hist *h)
{
	if (h->cnt)
		memset(h->buckets, 0, h->bucket_cnt * sizeof(*h->buckets));
	*h = (struct hist){ .buckets = h->buckets, .bucket_cnt = h->bucket_cnt };
}

uint64_t hist_percentile(const struct hist *h, double pct)
{
	double want = (double)h->cnt * pct / 100;
	uint64_t seen = 0;
	uint64_t value = h->max;

	if (want > (double)h->cnt - 1)
		return h->max;
	for (uint32_t i = 0; i < h->bucket_cnt; i++) {
		seen += h->buckets[i];
		if (h->buckets[i] && (double)seen >= want) {
			value = hist_middle(i);
			break;
		}
	}
	if (value < h->min)
		return h->min;
	return value < h->max ? value : h->max;
}

/* "256", "1K", "32M": a power of two. Return: characters. */
static size_t put_power(struct strbuf *out, unsigned int power)
{
	static const char units[] = "\0KMGTPE";
	size_t mark = out->len;

	strbuf_printf(out, "%u", 1u << power % 10);
	if (power >= 10)
		strbuf_char(out, units[power / 10]);
	return out->len - mark;
}

/* Values from 2^power on, below the next; power -1 is the value 0. */
static void put_hist_line(struct strbuf *out, int power, uint64_t cnt, uint64_t cnt_max)
{
	size_t mark = out->len;
	size_t bar = (size_t)((double)cnt * BAR_WIDTH / (double)cnt_max);

	strbuf_char(out, '[');
	if (power < 1) {
		strbuf_str(out, power < 0 ? "0]" : "1]");
	} else {
		put_power(out, (unsigned int)power);
		strbuf_str(out, ", ");
		put_power(out, (unsigned int)power + 1);
		strbuf_char(out, ')');
	}
	strbuf_fill(out, ' ', 16 - (out->len - mark));
	strbuf_printf(out, "%12llu |", (unsigned long long)cnt);
	strbuf_fill(out, '@', bar);
	strbuf_fill(out, ' ', BAR_WIDTH - bar);
	strbuf_str(out, "|\n");
}

static int power_of(uint64_t value)
{
	return value ? 63 - __builtin_clzll(value) : -1;
}

void hist_by_powers(const struct hist *h, uint64_t cnts[HIST_POWER_CNT])
{
	memset(cnts, 0, HIST_POWER_CNT * sizeof(*cnts));
	for (uint32_t i = 0; i < h->bucket_cnt; i++)
		cnts[power_of(bucket_low(i)) + 1] += h->buckets[i];
}

void hist_print(const struct hist *h, struct strbuf *out)
{
	uint64_t cnts[HIST_POWER_CNT];
	uint64_t cnt_max = 1;

	hist_by_powers(h, cnts);
	for (int i = 0; i < HIST_POWER_CNT; i++) {
		if (cnts[i] > cnt_max)
			cnt_max = cnts[i];
	}
	for (int i = power_of(h->min); h->cnt && i <= power_of(h->max); i++)
		put_hist_line(out, i, cnts[i + 1], cnt_max);
}
