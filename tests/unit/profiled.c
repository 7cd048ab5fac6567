#include "profiled.h"
#include "base/strbuf.h"
#include "harness.h"

static struct profile *made[16];
static size_t made_cnt;

struct profile *new_profile(bool has_callers)
{
	const struct profile_config config = { .has_callers = has_callers, .has_net_median = true };

	CHECK(made_cnt < 16 && !profile_new(&made[made_cnt], &config));
	return made[made_cnt++];
}

void free_profiles(void)
{
	while (made_cnt)
		profile_free(made[--made_cnt]);
}

void profile_feed(struct profile *p, const char *script)
{
	const struct row_list list = rows_of(script);

	for (size_t i = 0; i < list.cnt; i++)
		CHECK(!profile_row(p, &list.rows[i]));
}

struct profile *profile_of(bool has_callers, const char *script)
{
	struct profile *p = new_profile(has_callers);

	profile_feed(p, script);
	profile_finish(p);
	return p;
}

const char *table_of(const struct profile *p, const struct profile_view *view)
{
	static struct strbuf out[4];
	static unsigned int nth;
	const struct profile_origin none = { 0 };
	struct strbuf *to = &out[nth++ % 4];

	strbuf_reset(to);
	CHECK(!profile_put_table(p, view, &none, &(struct tablew){ .out = to }));
	strbuf_char(to, '\0');
	return to->ptr;
}

struct profile_func get(const struct profile *p, const char *name)
{
	struct profile_func f;

	for (uint32_t i = 0; i < profile_func_cnt(p); i++) {
		profile_func_get(p, i, &f);
		if (f.name.len == strlen(name) && !memcmp(f.name.ptr, name, f.name.len))
			return f;
	}
	return (struct profile_func){ 0 };
}

int compare_u64(const void *a, const void *b)
{
	uint64_t va = *(const uint64_t *)a;
	uint64_t vb = *(const uint64_t *)b;

	return (va > vb) - (va < vb);
}
