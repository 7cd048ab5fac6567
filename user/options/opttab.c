#include "options/opttab.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "format/profile.h"
#include "options/complete.h"
#include "options/graphopts.h"
#include "options/manual.h"
#include "select/presets.h"
#include "trace/trigger.h"

static char value_why[400];

/* ---- numbers ---- */

static const char *out_of_range(enum opt_type type, const char *what, const char *which,
				uint64_t limit)
{
	char suffix[2] = "";

	if (type != OPT_NUMBER)
		suffix[0] = parse_suffix(&limit, type == OPT_SIZE ? 1024 : 1000);
	snprintf(value_why, sizeof(value_why), "is too %s (the %s is %" PRIu64 "%s)", what, which,
		 limit, suffix);
	return value_why;
}

/* optvalue_number - parse an OPT_NUMBER, OPT_COUNT or OPT_SIZE from @min to @max (0: no limit). */
static const char *optvalue_number(enum opt_type type, uint64_t min, uint64_t max, const char *text,
				   uint64_t *value)
{
	const char *wrong = type == OPT_SIZE    ? parse_size(text, value)
			    : type == OPT_COUNT ? parse_count(text, value)
						: parse_u64(text, 0, UINT64_MAX, value);
	const bool is_large = wrong ? !strcmp(wrong, PARSE_TOO_LARGE) : max && *value > max;
	const bool is_small = wrong ? !strcmp(wrong, PARSE_TOO_SMALL) : *value < min;

	if (is_small)
		return out_of_range(type, "small", "minimum", min);
	if (is_large)
		return out_of_range(type, "large", "maximum", max ? max : UINT64_MAX);
	return wrong;
}

static const char *set_number(void *field, const struct opt_value *value, const char *text)
{
	uint64_t number;
	const char *wrong = optvalue_number(value->type, value->min, value->max, text, &number);

	if (wrong)
		return wrong;
	if (value->type == OPT_NUMBER)
		*(uint32_t *)field = (uint32_t)number;
	else
		*(uint64_t *)field = number;
	return NULL;
}

/* ---- names ---- */

const char *optvalue_choose(const char *(*name)(int i), const char *text, int *value)
{
	size_t len;

	for (int i = 0; name(i); i++) {
		if (!strcmp(name(i), text)) {
			*value = i;
			return NULL;
		}
	}
	len = (size_t)snprintf(value_why, sizeof(value_why), "is not one of %s", name(0));
	for (int i = 1; name(i) && len < sizeof(value_why); i++)
		len += (size_t)snprintf(value_why + len, sizeof(value_why) - len, "%s%s",
					name(i + 1) ? ", " : " or ", name(i));
	if (len < sizeof(value_why))
		snprintf(value_why + len, sizeof(value_why) - len, "%s",
			 suggest_question(text, name));
	return value_why;
}

static const char *set_choice(void *field, const struct opt_value *value, const char *text)
{
	return optvalue_choose(value->name, text, field);
}

static const char *opttab_set_text(const char **field, const char *text)
{
	if (!*text)
		return "is empty";
	*field = text;
	return NULL;
}

/* ---- by type ---- */

static void *field_of(struct opts *opts, const struct opt_def *def)
{
	return (char *)opts + def->value.offset;
}

const char *optvalue_set(struct opts *opts, const struct opt_def *def, const char *text)
{
	const struct opt_value *value = &def->value;
	void *field = field_of(opts, def);

	if (value->given_at)
		*(bool *)((char *)opts + value->given_at) = true;
	switch (value->type) {
	case OPT_FLAG:
		*(bool *)field = true;
		return NULL;
	case OPT_TEXT:
		return opttab_set_text(field, text);
	case OPT_TEXTS:
		return str_list_add(field, text);
	case OPT_NUMBER:
	case OPT_COUNT:
	case OPT_SIZE:
		return set_number(field, value, text);
	case OPT_NUMBERS:
		return parse_num_list(text, value->min, value->max, field);
	case OPT_CPUS:
		return parse_cpu_list(text, field);
	case OPT_DURATION:
		return parse_duration(text, field);
	case OPT_CHOICE:
		return set_choice(field, value, text);
	case OPT_APPLY:
		return value->apply(opts, text);
	case OPT_PAGE:
		break;
	}
	return NULL;
}

static bool is_set(const struct opts *opts, size_t offset, size_t size)
{
	const char *bytes = (const char *)opts + offset;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i])
			return true;
	}
	return false;
}

bool optvalue_is_given(const struct opts *opts, const struct opt_def *def)
{
	return is_set(opts, def->value.offset, def->value.size);
}

bool selector_is_given(const struct opts *opts, const struct selector *selector)
{
	return is_set(opts, selector->offset, selector->size);
}

const struct selector *selector_of(const struct opts *opts, uint32_t traits)
{
	for (size_t i = selector_cnt; i-- > 0;) {
		if ((selectors[i].traits & traits) == traits &&
		    selector_is_given(opts, &selectors[i]))
			return &selectors[i];
	}
	return NULL;
}

/* As it was given: latency takes functions without -T. */
static const char *selector_name(const struct opts *opts, const struct selector *selector)
{
	const bool is_word = opts->latency_funcs.cnt && !opts_is_given(opts, "trace-funcs");

	return is_word && selector->offset == offsetof(struct opts, trace_funcs) ? "FUNC"
										 : selector->option;
}

void selectors_put(struct strbuf *out, const struct opts *opts, uint32_t traits)
{
	const size_t begin = out->len;

	for (size_t i = 0; i < selector_cnt; i++) {
		if ((selectors[i].traits & traits) == traits &&
		    selector_is_given(opts, &selectors[i]))
			strbuf_printf(out, "%s%s", out->len > begin ? ", " : "",
				      selector_name(opts, &selectors[i]));
	}
}

void optvalue_forget(struct opts *opts, const struct opt_def *def)
{
	memset(field_of(opts, def), 0, def->value.size);
	if (def->value.given_at)
		*(bool *)((char *)opts + def->value.given_at) = false;
}

void optvalue_release(struct opts *opts, const struct opt_def *def)
{
	if (def->value.type == OPT_TEXTS)
		str_list_release(field_of(opts, def));
	else if (def->value.type == OPT_NUMBERS)
		num_list_release(field_of(opts, def));
}

#define TID_MAX          4194303 /* PID_MAX_LIMIT - 1, the same on every 64-bit kernel */
#define FUNCS_MAX        65535   /* NFG_FUNC_CNT */
#define DEPTH_MAX        65535
#define TASKS_MAX        262144
#define FILE_MIN_BYTES   (4 << 10)
#define RING_MIN_BYTES   (8 << 20)
#define ROTATE_MAX       1000
#define READY_FD_MIN     3 /* behind standard input, output and error */
#define READY_FD_MAX     1048575
#define BUFFER_MAX_BYTES (1ull << 30)
#define RATE_MAX         1000000000ull
#define HOST_MAX_BYTES   127 /* a reader of a recording stores no more */

/* ---- options that need more than a type ---- */

static const char *kind_at(int i)
{
	return i ? NULL : "ftrace";
}

static const char *apply_from(struct opts *opts, const char *text)
{
	opts->input_is_text = !strcmp(text, kind_at(0));
	return opts->input_is_text ? NULL : "is an unknown kind of file (ftrace is known)";
}

static const char *apply_packet(struct opts *opts, const char *text)
{
	static char why[640];
	int err;

	pcapfilter_release(&opts->packet);
	opts->packet_text = text;
	err = pcapfilter_compile(&opts->packet, text, why, sizeof(why));
	opts->host_lacks = err == -ELIBACC;
	if (opts->host_lacks)
		opts->hint = "it is in the package libpcap0.8 (Debian, Ubuntu) or libpcap (Fedora)";
	return err == -ENOMEM ? "does not fit in memory" : err ? why : NULL;
}

static const char *apply_filter(struct opts *opts, const char *text)
{
	filter_free(opts->filter);
	opts->filter = NULL;
	return filter_parse(&opts->filter, text);
}

static const char *apply_show(struct opts *opts, const char *text)
{
	const char *why = shown_parse(&opts->shown, text, "--show");

	if (why)
		opts->hint = shown_hint(why);
	return why;
}

static const char *apply_preset(struct opts *opts, const char *text)
{
	static char why[240];

	if (preset_find(text))
		return str_list_add(&opts->presets, text);
	snprintf(why, sizeof(why), "is an unknown preset%s",
		 strchr(text, ',') ? "" : suggest_question(text, preset_name));
	return why;
}

static const char *apply_host(struct opts *opts, const char *text)
{
	opts->host = text;
	return !*text                          ? "is empty"
	       : strlen(text) > HOST_MAX_BYTES ? "is longer than 127 bytes"
					       : NULL;
}

static const char *apply_rotate(struct opts *opts, const char *text)
{
	const char *comma = strchr(text, ',');
	char size[32];
	uint64_t cnt;
	const char *why;

	if (!comma || (size_t)(comma - text) >= sizeof(size) || strchr(comma + 1, ','))
		return "is not SIZE,N";
	memcpy(size, text, (size_t)(comma - text));
	size[comma - text] = 0;
	why = optvalue_number(OPT_SIZE, FILE_MIN_BYTES, 0, size, &opts->rotate_bytes);
	if (!why)
		why = optvalue_number(OPT_NUMBER, 2, ROTATE_MAX, comma + 1, &cnt);
	if (!why)
		opts->rotate_cnt = (uint32_t)cnt;
	return why;
}

/* The test of a condition of --when: of how a call begins, or of what it returns. */
static const char *take_test(struct opts *opts, struct trigger_cond *cond, struct filter **test)
{
	struct filter_needs needs;
	const char *wrong;
	char *text;

	if (!cond->test.len)
		return NULL;
	text = strndup(cond->test.ptr, cond->test.len);
	wrong = text ? filter_parse(test, text) : strerror(ENOMEM);
	free(text);
	if (wrong)
		return wrong;
	needs = filter_needs(*test);
	if (needs.ret && needs.args)
		return "tests retval, known when a call returns, and values of its beginning; use one of them";
	if (needs.ret && (*test)->member_cnt)
		return "tests a member of retval, which no call shows";
	if (needs.ret && cond->longer_ns)
		return "tests retval of a call that need not have returned; leave '> LIMIT' out, or test an argument";
	cond->tests_result = needs.ret;
	opts->has_args |= needs.args; /* whoever reads the recording wants to see them, too */
	opts->has_retval |= needs.ret;
	return filter_show(*test, &opts->shown, "--when");
}

static const char *apply_when(struct opts *opts, const char *text)
{
	const char *why;

	if (!opts->when)
		opts->when = malloc(sizeof(*opts->when));
	if (!opts->when)
		return strerror(ENOMEM);
	for (uint32_t i = 0; i < TRIGGER_CONDS_MAX; i++) {
		filter_free(opts->when_tests[i]);
		opts->when_tests[i] = NULL;
	}
	why = trigger_parse(opts->when, text);
	for (uint32_t i = 0; !why && i < opts->when->cnt; i++)
		why = take_test(opts, &opts->when->conds[i], &opts->when_tests[i]);
	return why;
}

/* Without GLOB, callers of all functions. */
static const char *apply_callers(struct opts *opts, const char *text)
{
	opts->has_callers = true;
	opts->callers_of = text;
	return text && !*text ? "is empty" : NULL;
}

static const char *apply_callees(struct opts *opts, const char *text)
{
	opts->has_callees = true;
	opts->callees_of = text;
	return text && !*text ? "is empty" : NULL;
}

static const char *dialect_at(int i)
{
	static const char *const names[] = { "7.2", "6.1", "6.12", NULL };

	return names[i];
}

static const char *apply_dialect(struct opts *opts, const char *text)
{
	int i = 0;
	const char *why = optvalue_choose(dialect_at, text, &i);

	opts->is_old_dialect = i > 0;
	return why;
}

static const char *color_at(int i)
{
	static const char *const names[] = {
		[COLOR_AUTO] = "auto",
		[COLOR_ALWAYS] = "always",
		[COLOR_NEVER] = "never",
	};

	return i < (int)ARRAY_SIZE(names) ? names[i] : NULL;
}

/* Set the mode at once, so that messages about later options use these colours. */
static const char *apply_color(struct opts *opts, const char *text)
{
	int when = COLOR_AUTO;
	const char *why = optvalue_choose(color_at, text, &when);

	opts->color = (enum color_when)when;
	color_choose(opts->color);
	return why;
}

static const char *apply_verbose(struct opts *opts, const char *text)
{
	(void)opts;
	(void)text;
	log_set_verbosity(log_verbosity() + 1);
	return NULL;
}

static void print_version(struct strbuf *out)
{
	strbuf_str(out, "netfgraph " NFG_VERSION "\n");
}

/* ---- names of enum values ---- */

static const char *format_at(int i)
{
	return i < FORMAT_CNT ? format_name((enum format_kind)i) : NULL;
}

static const char *per_at(int i)
{
	static const char *const names[] = {
		[DIFF_AUTO] = "auto", [DIFF_ALL] = "all", [DIFF_SECOND] = "second"
	};

	return i < (int)ARRAY_SIZE(names) ? names[i] : NULL;
}

static const char *by_at(int i)
{
	static const char *const names[] = { [BY_FUNCTION] = "function", [BY_STAGE] = "stage" };

	if (i < BY_KEY)
		return names[i];
	return i < BY_KEY + ROWKEY_CNT ? rowkey_name((enum rowkey_by)(i - BY_KEY)) : NULL;
}

static const char *key_at(int i)
{
	return i < ROWKEY_CNT ? rowkey_name((enum rowkey_by)i) : NULL;
}

/* Those of profile, which has no stages. */
static const char *by_of_profile_at(int i)
{
	return by_at(i < BY_STAGE ? i : i + 1);
}

/* Those of latency and diff. */
static const char *by_of_latency_at(int i)
{
	return i < BY_KEY ? by_at(i) : NULL;
}

/* Names of keys are no members. */
static const char *unknown_by(const char *word, const char *wrong)
{
	static char why[300 + SHOWN_TEXT_MAX];
	const char *guess = shown_guess(text_from(word));

	if (strchr(wrong, ';'))
		return wrong;
	if (*guess)
		snprintf(why, sizeof(why), "%s; did you mean %s?", wrong, guess);
	else
		snprintf(why, sizeof(why), "%s, nor a member such as skb.mark", wrong);
	return why;
}

/* One key of two: the whole text, in the message, does not say which is meant. */
static const char *unknown_key(const char *word)
{
	static char why[SHOWN_TEXT_MAX + 340];
	int key = 0;
	const char *wrong = optvalue_choose(key_at, word, &key);

	snprintf(why, sizeof(why), "names '%s', which %s", word,
		 wrong ? unknown_by(word, wrong) : "cannot be combined");
	return why;
}

static const char *add_key(struct rowkeys *keys, const char *name, enum rowkey_by by)
{
	static char why[SHOWN_TEXT_MAX + 80];

	for (uint32_t i = 0; i < keys->cnt; i++) {
		if (strcmp(rowkeys_name(keys, i), name) != 0)
			continue;
		snprintf(why, sizeof(why), "names the key %s a second time", name);
		return why;
	}
	if (keys->cnt == ROWKEYS_MAX)
		return "makes more than two keys, and a table has at most two";
	if (by == ROWKEY_MEMBER)
		snprintf(keys->members[keys->cnt], sizeof(keys->members[keys->cnt]), "%s", name);
	keys->by[keys->cnt++] = by;
	return NULL;
}

_Static_assert(ROWKEY_MEMBER_BYTES == SHOWN_TEXT_MAX + 1, "a key has room for any member");

/* @word has more than a name: ARGUMENT.MEMBER. */
static const char *add_member(struct opts *opts, const char *word)
{
	struct shown *shown = NULL;
	const char *wrong = shown_parse(&shown, word, NULL);
	char name[ROWKEY_MEMBER_BYTES];

	shown_free(shown);
	if (wrong)
		return wrong;
	if (opts->has_by && opts->by < BY_KEY)
		return "cannot be combined: function and stage stand alone";
	member_put_dotted(name, sizeof(name), word);
	opts->has_by = true;
	opts->by = BY_KEY;
	return add_key(&opts->keys, name, ROWKEY_MEMBER);
}

/* @is_alone: the only word of an option. */
static const char *take_by(struct opts *opts, const char *word, bool is_alone)
{
	const int had = opts->has_by ? opts->by : BY_KEY;
	int by = 0;
	const char *wrong;

	if (strpbrk(word, ".>:["))
		return add_member(opts, word);
	wrong = optvalue_choose(by_at, word, &by);
	if (wrong && opts->verb != VERB_PROFILE)
		return optvalue_choose(by_of_latency_at, word, &by);
	if (wrong)
		return is_alone ? unknown_by(word, optvalue_choose(by_of_profile_at, word, &by))
				: unknown_key(word);
	if (is_alone && opts->has_by && by == had && by < BY_KEY)
		return NULL;
	if (had < BY_KEY || (by < BY_KEY && (opts->has_by || !is_alone)))
		return "cannot be combined: function and stage stand alone";
	opts->has_by = true;
	opts->by = by < BY_KEY ? by : BY_KEY;
	return by < BY_KEY ? NULL : add_key(&opts->keys, word, (enum rowkey_by)(by - BY_KEY));
}

static const char *apply_by(struct opts *opts, const char *text)
{
	const bool is_alone = !strchr(text, ',');
	const char *wrong = NULL;
	char word[SHOWN_TEXT_MAX + 2];

	while (!wrong) {
		const size_t len = strcspn(text, ",");

		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		wrong = take_by(opts, word, is_alone);
		if (!text[len])
			break;
		text += len + 1;
	}
	return wrong;
}

static const char *sort_at(int i)
{
	return i < PROFILE_SORT_CNT ? profile_sort_name((enum profile_sort)i) : NULL;
}

static const char *attach_mode_at(int i)
{
	return i < ATTACH_MODE_CNT ? attach_way((enum attach_mode)i)->name : NULL;
}

#define ATTACH_HELP(id, name, link, feature, programs, since, ...) \
	", " name " (" link ", " programs "; " since ")"

/* ---- the table ---- */

/* A member of struct opts; compiles only if it has this type. */
#define MEMBER(m) (((struct opts *)0)->m)
#define FIELD(m, ctype)                                                            \
	.offset = offsetof(struct opts, m) + 0 * sizeof(&MEMBER(m) == (ctype *)0), \
	.size = sizeof(MEMBER(m))

/* clang-format off */
#define FLAG(m)             { .type = OPT_FLAG, FIELD(m, bool) }
#define TEXT(m)             { .type = OPT_TEXT, FIELD(m, const char *) }
#define TEXTS(m)            { .type = OPT_TEXTS, FIELD(m, struct str_list) }
#define NUMBER(m, lo, hi)   { .type = OPT_NUMBER, FIELD(m, uint32_t), .min = lo, .max = hi }
#define NUMBERS(m, lo, hi)  { .type = OPT_NUMBERS, FIELD(m, struct num_list), .min = lo, .max = hi }
#define COUNT(m, lo, hi)    { .type = OPT_COUNT, FIELD(m, uint64_t), .min = lo, .max = hi }
#define SIZE(m, lo, hi)     { .type = OPT_SIZE, FIELD(m, uint64_t), .min = lo, .max = hi }
#define DURATION(m)         { .type = OPT_DURATION, FIELD(m, uint64_t) }
#define CPUS(m, has)        { .type = OPT_CPUS, FIELD(m, struct cpu_set_list), \
			      .given_at = offsetof(struct opts, has) }
#define CHOICE(m, names, ...) { .type = OPT_CHOICE, FIELD(m, __typeof__(MEMBER(m))), .name = names, __VA_ARGS__ }
#define APPLY(m, ctype, fn) { .type = OPT_APPLY, FIELD(m, ctype), .apply = fn }
#define APPLY_NAME(m, ctype, fn, names) { .type = OPT_APPLY, FIELD(m, ctype), .apply = fn, .name = names }
#define APPLY_ALONE(fn)     { .type = OPT_APPLY, .apply = fn }
#define PAGE(fn)            { .type = OPT_PAGE, .page = fn }
/* clang-format on */

#define OF(verb) (1u << (verb))
#define SHOWS    (OF(VERB_TRACE) | OF(VERB_REPORT))
#define SUMS     (OF(VERB_PROFILE) | OF(VERB_LATENCY))
#define WRITES   (SHOWS | SUMS | OF(VERB_RECORD) | OF(VERB_DIFF) | OF(VERB_EXPLAIN))
#define PRINTS   (OF(VERB_LIST) | OF(VERB_CHECK) | OF(VERB_INFO) | OF(VERB_DIFF))
#define RECORDS  (OF(VERB_TRACE) | OF(VERB_RECORD) | SUMS | OF(VERB_EXPLAIN))
/* list shows what a trace with the same options would do; contradict.c refuses options that a file cannot support */
#define SHOWS_POINTS (SHOWS | OF(VERB_RECORD) | OF(VERB_LIST) | OF(VERB_PROFILE) | OF(VERB_EXPLAIN))
#define SELECTS      (WRITES | OF(VERB_LIST))
#define ALL          (SELECTS | OF(VERB_CHECK) | OF(VERB_INFO))

const struct opt_def opt_defs[] = {
	{ 'T', "trace-funcs", "GLOB", TEXTS(trace_funcs), SELECTS,
	  "Trace functions whose names match; repeatable. 'GLOB [MODULE]' matches functions of that module only, 'GLOB "
	  "[bpf]' those of BPF programs (XDP, tc, cgroup, sockets), also of programs that appear later. +GLOB adds to what -G or --preset finds, or to the default, instead of replacing it. Default: the main path of "
	  "TCP and UDP, by IPv4 and IPv6 ('netfgraph help presets' names its functions)." },
	{ 'N', "notrace-funcs", "GLOB", TEXTS(notrace_funcs), SELECTS,
	  "Do not trace functions whose names match; repeatable; overrides -T. A warning says if none matches." },
	{ 'G', "graph-funcs", "FUNC", TEXTS(graph_funcs), SELECTS,
	  "Start function: print the graph only from this function down; repeatable. Without -T, the functions "
	  "traced are those that a packet can pass through below it, found by the calls in the kernel's code." },
	{ 'g', "nograph-funcs", "FUNC", TEXTS(nograph_funcs), SELECTS,
	  "Leave this function and everything below it out of the graph; repeatable. A warning says if it is not "
	  "traced." },
	{ 'e', "event", "GLOB", TEXTS(events), SHOWS_POINTS,
	  "Show tracepoints of the kernel between the calls, as comments at their place in the graph: skb:kfree_skb, "
	  "'tcp:*', sched_switch; repeatable. Each is SYSTEM:NAME, or NAME alone. They are in scope as calls are. "
	  "'list -e' shows which there are, with their fields. With report: only these. "
	  "With profile --by: count them, too. With explain: these, and not its own." },
	{ 0, "packet", "EXPRESSION", APPLY(packet.insn_cnt, uint32_t, apply_packet),
	  SELECTS | OPT_ONCE,
	  "'tcp port 443', 'udp dst port 53 and host 10.0.0.7': print the graph only for packets that match, in tcpdump syntax "
	  "(pcap-filter(7); netfgraph help filter has more). A graph starts at the first traced function (with -G or --preset, the first start function) that "
	  "has such a packet or its socket as an argument. The filter runs in the kernel; nothing is recorded for "
	  "other packets. Where a packet has no IP header yet, its socket is matched: src is the local end, dst "
	  "the peer; an expression that reads what a socket does not have (TTL, flags, len) does not match. A recording needs "
	  "--graph-opts packet, and has of all packets what a socket has." },
	{ 0, "track", NULL, FLAG(follows),
	  OF(VERB_TRACE) | OF(VERB_RECORD) | SUMS | OF(VERB_LIST) | OPT_LIVE_ONLY,
	  "With --packet: also print graphs for the clones, copies, segments and fragments of a packet that matched, "
	  "with other addresses or ports, in a tunnel or out of it, in another network namespace. All have the "
	  "packet's number, pkt=7, at the first call of a start function with it in a graph. With latency --by stage "
	  "these have the times of the packet that they come from; with profile, their calls count, too." },
	{ 0, "slower-than", "DURATION", DURATION(starts.slower_ns), SELECTS,
	  "Print only calls of start functions (-G, --preset; without these, outermost calls) that took at least "
	  "this long, each with everything it called, in the order in which they returned. A report also shows those "
	  "that had not returned when the recording ended." },
	{ 0, "nosleep-time", NULL, FLAG(nosleep_time), SELECTS | OPT_LIVE_ONLY,
	  "Exclude the time a task was off the CPU from durations, also for --slower-than (like the kernel's "
	  "option sleep-time when it is off). Costs one record whenever a traced task leaves or gets a CPU." },
	{ 0, "errors-only", NULL, FLAG(errors_only), SELECTS,
	  "Print only calls of start functions that returned an error (an integer from -4095 to -1), each with "
	  "everything it called, in the order in which they returned." },
	{ 0, "filter", "EXPRESSION", APPLY(filter, struct filter *, apply_filter),
	  SELECTS | OPT_ONCE,
	  "Print only calls that match, each with everything it called, in the order in which they returned. It "
	  "tests calls of start functions (-G, --preset; without these, of the traced functions that have what "
	  "EXPRESSION names). EXPRESSION compares retval or an argument, by its name in the kernel, or a member behind "
	  "it (skb.dev.ifindex) with a number, an errno name, an enumerator or a \"text\": == != < <= > >=, & for bits; && || ! and () combine comparisons. The "
	  "kernel decides when the call returns, about members when it begins." },
	{ 0, "show", "LIST", APPLY(shown, struct shown *, apply_show),
	  OF(VERB_TRACE) | OF(VERB_RECORD) | OF(VERB_LATENCY) | OF(VERB_EXPLAIN) | OF(VERB_LIST) |
		  OPT_LIVE_ONLY,
	  "Show members of the structs behind arguments, as further arguments of each function that has them: "
	  "skb.len,sk.sk_state. ARGUMENT.MEMBER, with all that --filter knows: further members through pointers "
	  "(skb.dev.name), elements (skb.cb[0]), another struct (sk:tcp_sock.snd_cwnd). Up to 8; repeatable. They are "
	  "read when the call begins; (null) and (fault) stand for what cannot be read. The word rules stands for what "
	  "functions tell of firewall rules, connections, routes, queues and neighbours, the word stamps for the time "
	  "stamps of packets. latency takes --show with --by stage only, and no word but stamps; explain the word rules alone, and names the "
	  "table and the chain that dropped a packet." },
	{ 0, "preset", "NAME", APPLY(presets, struct str_list, apply_preset), SELECTS,
	  "Use the start functions of a preset, a set that answers one question, such as tcp-connect or drop; "
	  "repeatable. 'netfgraph list --presets' shows all." },
	{ 0, "callee-depth", "N", NUMBER(callee_depth, 1, DEPTH_MAX), SELECTS | OPT_LIVE_ONLY,
	  "With -G or --preset and without -T: trace functions up to N levels below the start functions." },
	{ 0, "all", NULL, FLAG(all_callees), SELECTS | OPT_LIVE_ONLY,
	  "With -G or --preset and without -T: also trace what the start functions call outside the network stack, such as "
	  "memory, scheduler, security and file systems: thousands of functions, whose calls by other tasks cost time, "
	  "too." },
	{ 0, "learn", "DURATION", DURATION(learn_ns), RECORDS | OPT_LIVE_ONLY,
	  "With -G or --preset and without -T, except -T +GLOB: this long after the first recorded call, or after the last lost event, leave out the functions that nobody in scope has "
	  "called, except what called ones call directly. Most functions below a start function are never called, but other "
	  "tasks call them, and pay for it. A row in the trace says how many were left out; if one of them is called later, "
	  "that is not shown." },
	{ 0, "max-funcs", "N", NUMBER(max_funcs, 1, FUNCS_MAX), SELECTS | OPT_LIVE_ONLY,
	  "Trace at most N functions, and those first that -T names without a wildcard; a warning says how many were left out. Without it, functions that would take more than "
	  "two minutes to attach one by one are refused, and so are more than 20,000, however fast they attach." },
	{ 'p', "pid", "LIST", NUMBERS(pids, 1, TID_MAX), SELECTS | OPT_LIVE_ONLY,
	  "Trace these processes (numbers separated by commas) with all their threads, present and future. "
	  "With -p, --tid, --comm, --cgroup, --container, --pod or --netns, COMMAND is run and ends the trace, but is traced "
	  "only if they select it. Without any of them and without COMMAND, every task is traced except netfgraph itself." },
	{ 0, "tid", "LIST", NUMBERS(tids, 1, TID_MAX), SELECTS,
	  "Trace only these tasks, without the other threads of their processes." },
	{ 0, "cgroup", "PATH|ID", TEXTS(cgroups), SELECTS | OPT_LIVE_ONLY,
	  "Trace the tasks in this cgroup (v2) and in those below it and, in softirqs, the packets of their "
	  "sockets and network namespaces; repeatable." },
	{ 0, "container", "NAME|ID", TEXTS(containers), SELECTS | OPT_LIVE_ONLY,
	  "Like --cgroup, for the cgroup of a container: docker, containerd, nerdctl, podman, CRI-O, Kubernetes (NAME, "
	  "POD/NAME or NAMESPACE/POD/NAME), systemd-nspawn, LXC; or a systemd unit with its suffix (nginx.service, "
	  "user.slice). Four digits of an ID are enough. The name is looked up once, at the start; 'netfgraph list "
	  "--containers' shows all. Repeatable." },
	{ 0, "pod", "[NS/]NAME|UID", TEXTS(pods), SELECTS | OPT_LIVE_ONLY,
	  "Like --cgroup, for all containers of a Kubernetes pod, in the namespace NS if given, or of a podman pod; "
	  "repeatable." },
	{ 0, "netns", "PATH|PID|INODE", TEXTS(netns), SELECTS | OPT_LIVE_ONLY,
	  "Trace the tasks in this network namespace and, in softirqs, its packets; repeatable." },
	{ 0, "host-side", NULL, FLAG(host_side),
	  OF(VERB_TRACE) | OF(VERB_RECORD) | SUMS | OPT_LIVE_ONLY,
	  "With --container, --pod, --cgroup, --netns or -p: instead of its tasks, trace its packets wherever they pass on this host "
	  "(veth, bridge, NAT, card), by the addresses that its network namespace has at the start: like --packet 'host "
	  "ADDRESS' --track. --packet narrows it. Takes CAP_SYS_ADMIN." },
	{ 0, "comm", "GLOB", TEXTS(comms), SELECTS,
	  "Trace tasks whose names match; repeatable. Each thread has a name of its own, which need not be that of its "
	  "process (ps -L). A name that exec gives counts at once; one that a "
	  "thread gives itself while the trace runs does not (in a report it does, from then on). The kernel "
	  "keeps 15 bytes of a name; a longer one without wildcards matches by these. Options of different "
	  "kinds (-p and --tid; --cgroup, --container and --pod; --netns; --comm) narrow each other." },
	{ 0, "user", "NAME", TEXT(user), RECORDS,
	  "Run COMMAND as this user (name or number), with that user's groups, HOME, USER, LOGNAME and SHELL. "
	  "Default: the user that netfgraph runs as, which under sudo is root." },
	{ 0, "include-terminal", NULL, FLAG(include_terminal), SELECTS | OPT_LIVE_ONLY,
	  "Also trace the processes that forward this output: those at the other end of the terminal, such as "
	  "sshd, sudo, script, and tmux with its clients. By default they are left out, like netfgraph itself, "
	  "unless -p or --tid names them." },
	{ 'C', "cpu", "LIST", CPUS(cpus, has_cpus), SELECTS,
	  "Trace only on these CPUs, for example 0,2-5." },
	{ 'D', "graph-depth", "N", NUMBER(graph_depth, 1, DEPTH_MAX), SHOWS | SUMS,
	  "Print no calls below level N." },
	{ 0, "graph-opts", "WORDS", APPLY(has_columns, bool, graphopts_apply), SELECTS,
	  "Columns, by the kernel's option names, separated by commas; 'no' before a word turns it off. The "
	  "kernel's prefix funcgraph- is accepted. A report of a recording shows the values that the recording was "
	  "made with (args, retval, retval-hex, retaddr, stack, ustack, packet), except for words given here." },
	{ 0, "source", NULL, FLAG(has_source), SHOWS | OF(VERB_LIST),
	  "Add the source line to each caller (--graph-opts stack, retaddr), and with list to each function: "
	  "(net/socket.c:2104). Needs addr2line, and a vmlinux with debug info, which the kernel's debug package has. "
	  "Functions of modules have none." },
	{ 0, "vmlinux", "FILE", TEXT(vmlinux), SHOWS | OF(VERB_LIST),
	  "With --source: the vmlinux of the traced kernel. Default: where debug packages, debuginfod's cache and "
	  "/lib/modules/RELEASE/build have it." },
	{ 0, "dialect", "RELEASE", APPLY_NAME(is_old_dialect, bool, apply_dialect, dialect_at),
	  SHOWS,
	  "Write results as this kernel does: 7.2 (the default: /* ret=-22 */, bool and enum by name) or 6.1, 6.12 "
	  "(/* = -22 */)." },
	{ 0, "pointers", NULL, FLAG(pointers), SHOWS,
	  "Print the kernel addresses in arguments and results, and those in the files of user stacks. Root sees them "
	  "anyway unless kernel.kptr_restrict is 2; otherwise a number replaces each address of the kernel, the same "
	  "one everywhere, and user stacks have offsets alone." },
	{ 0, "format", "NAME",
	  CHOICE(format, format_at, .given_at = offsetof(struct opts, has_format)),
	  SHOWS | SUMS | PRINTS | OF(VERB_EXPLAIN), FORMATS_HELP },
	{ 0, "output-dir", "DIR", TEXT(output_dir), SUMS,
	  "With --format openmetrics: write DIR/netfgraph.prom, and with -i again after each interval, where "
	  "node_exporter's textfile collector finds it. Readers never see half a file." },
	{ 0, "for", "CONSUMER",
	  APPLY_NAME(consumer, const struct consumer *, graphopts_apply_consumer, consumer_name),
	  SHOWS,
	  "Choose the format and the columns that this program needs (see below). --format and --graph-opts take "
	  "precedence, before or after it; a choice that the program cannot read is refused." },
	{ 0, "total-time", NULL, FLAG(is_total_time), SHOWS,
	  "With --format folded: a function's time includes everything it called." },
	{ 0, "from", "KIND", APPLY_NAME(input_is_text, bool, apply_from, kind_at),
	  OF(VERB_REPORT) | OF(VERB_EXPLAIN) | SUMS,
	  "With report, explain, profile and latency: FILE is function_graph text (KIND ftrace), plain or packed by gzip, xz or zstd. "
	  "Without it, so is any file and standard input that is no recording, but no named pipe." },
	{ 0, "follow", NULL, FLAG(input_is_followed), OF(VERB_REPORT),
	  "With report: FILE is still being recorded; wait for more." },
	{ 0, "input", "FILE", TEXT(input_path), SUMS | OPT_ONCE,
	  "With profile and latency: read this recording instead of tracing now." },
	{ 0, "by", "WHAT", APPLY_NAME(by, int, apply_by, by_at), SUMS | OF(VERB_DIFF),
	  "With profile: a row for each reason (of drops, with the place that drops), flow (the two ends of a packet or a "
	  "socket), device (of a packet), caller (a function), container (of the task, with its cgroup), program (the task's name) or value of a member (skb.mark, as --show has it), and function; the calls are sent to user space. Two of them are a row for each pair: reason,flow. Without -T, -G and --preset, -e "
	  "alone is counted, and --by reason counts skb:kfree_skb. With -G and --preset, calls of their functions are counted, and others only if -T or --callee-depth adds them. With latency: function, the default, or stage, which takes no FUNC: a table of how long packets (--packet) "
	  "stayed in each stage of the stack: socket, qdisc, driver, softirq, protocol, wake-up. The functions are those of "
	  "the preset stages; -T +GLOB adds the driver's. A recording needs --graph-opts args. With diff: the same of both files." },
	{ 0, "sort", "KEY",
	  CHOICE(profile_sort, sort_at, .given_at = offsetof(struct opts, has_sort)),
	  SUMS | OF(VERB_INFO) | OF(VERB_DIFF),
	  "Sort the functions of a table by this column: with profile and latency by " PROFILE_SORT_NAMES
	  "; bytes also has the lengths of packets read where calls may be missed for them (7.x)"
	  "; with info by count or name; with diff by name, or by the change of any of the others but bytes. "
	  "Default: total; of profile --by count; of latency name; of info count." },
	{ 0, "callers", "[=GLOB]", APPLY(has_callers, bool, apply_callers), SUMS | OPT_ONCE,
	  "With profile and latency: list the callers of each function below it, with the number and the time of their "
	  "calls; with GLOB, only of the functions that match, which are then the only ones in the table." },
	{ 0, "callees", "[=GLOB]", APPLY(has_callees, bool, apply_callees), SUMS | OPT_ONCE,
	  "The same for the traced functions that each function, or with GLOB each that matches, called directly." },
	{ 0, "rows", "N", NUMBER(profile_rows, 1, FUNCS_MAX),
	  SUMS | OF(VERB_INFO) | OF(VERB_DIFF) | OF(VERB_EXPLAIN),
	  "Print at most N functions (info: 10, explain: 3 start functions without this option), with latency N histograms. With --format openmetrics the others share one "
	  "series; 100 without this option." },
	{ 0, "per", "WHAT", CHOICE(diff_per, per_at), OF(VERB_DIFF),
	  "With diff: compare counts and totals of the whole files, or per second. auto, the default, compares "
	  "the whole files if both are recordings of a COMMAND; others per second if their lengths are known and differ by "
	  "more than 5 %, else the whole files." },
	{ 'i', "interval", "DURATION", DURATION(interval_ns), SUMS,
	  "With profile and latency: print a table each DURATION, of the calls that returned in it, with the time at which "
	  "it begins and its length, until Ctrl-C; with --input, by the recorded times. At least 10ms." },
	{ 0, "max-tasks", "N", NUMBER(task_cnt, 1, TASKS_MAX), SUMS | OPT_LIVE_ONLY,
	  "With profile and latency, where the kernel sums up: room for N tasks at a time that have called a "
	  "traced function (default 12288); each takes 2.3 KB. Calls of further tasks are not counted; a warning "
	  "gives their number." },
	{ 0, "by-event", NULL, FLAG(by_event), SUMS | OPT_LIVE_ONLY,
	  "With profile and latency: send every call to user space instead of summing up in the kernel. This costs "
	  "more, and calls are lost when the buffer is full. It is done anyway where the kernel's sums would "
	  "differ: with --cgroup, --container, --pod, --netns, --packet, --slower-than, --errors-only, --filter, "
	  "--nosleep-time, -g, -D and --attach session; -v gives the reason." },
	{ 'o', "output", "FILE", TEXT(output_path), WRITES | OPT_ONCE,
	  "Write the trace to FILE (mode 0600) instead of standard output (-). A new file appears when tracing has begun, "
	  "or with its first table; an existing one is replaced then, and stays as it is if the trace does not begin. In world-writable directories (/tmp), "
	  "links and files of other users are refused." },
	{ 0, "max-size", "SIZE", SIZE(max_bytes, FILE_MIN_BYTES, 0),
	  OF(VERB_TRACE) | OF(VERB_RECORD),
	  "Stop when the output reaches this size, for example 100M, and say so. Text and --format json end with "
	  "the last row that fits; a recording may be up to 1M larger." },
	{ 0, "rotate", "SIZE,N", APPLY(rotate_bytes, uint64_t, apply_rotate),
	  OF(VERB_TRACE) | OF(VERB_RECORD),
	  "Start a new file whenever -o FILE reaches SIZE (a recording may be up to 1M larger) and keep N files: "
	  "FILE is the newest, then FILE.1 and so on. Each can be read alone: a text has its header, a recording "
	  "everything it needs. Calls that are open at a change begin in one file and end in another." },
	{ 0, "ring", "SIZE", SIZE(ring_bytes, RING_MIN_BYTES, 0), OF(VERB_RECORD),
	  "Be a flight recorder: keep the newest part of the trace in SIZE of memory, for example 64M, and write a "
	  "recording only when a --when condition is true. -o names a directory, which is created if missing." },
	{ 0, "when", "CONDITION", APPLY(when, struct trigger_rule *, apply_when),
	  OF(VERB_RECORD) | OPT_ONCE,
	  "With --ring: make a recording when a call takes longer ('tcp_v4_connect > 1s', whether or not it has "
	  "returned), a function is called more often ('__tcp_retransmit_skb > 50/s', '*' and '?' match), more packets are "
	  "dropped ('drops > 100/s') or more events are lost ('losses > 1000/s'). Parentheses take only calls whose arguments, "
	  "members or result pass a test as that of --filter, with a limit or alone ('tcp_sendmsg(sk.sk_mark == 5) > 1s', "
	  "'tcp_v4_connect(retval == -EAGAIN)'). '||' joins conditions. Unless options choose functions, a call that takes longer is "
	  "recorded for explain, as with -G and --graph-opts sleep, and a drop with its reason (-e skb:kfree_skb)." },
	{ 0, "window", "DURATION", DURATION(window_ns), OF(VERB_RECORD),
	  "With --ring: how much of the trace to keep before and after the trigger, and, of a call that takes longer, all since "
	  "it began, as far as --ring holds it. Default: 5s." },
	{ 0, "pause", "DURATION", DURATION(pause_ns), OF(VERB_RECORD),
	  "With --ring: for this time after a recording's window no new recording starts; triggers in it are "
	  "counted. Default: 1m." },
	{ 0, "max-disk", "SIZE", SIZE(disk_bytes, RING_MIN_BYTES, 0), OF(VERB_RECORD),
	  "With --ring: the most space that all recordings in the directory may take. The oldest are removed. Default: 1G." },
	{ 0, "host", "NAME", APPLY(host, const char *, apply_host),
	  SHOWS | SUMS | OF(VERB_RECORD) | OF(VERB_LIST) | OF(VERB_CHECK),
	  "What this host is called in recordings, JSON, CSV, HTML and OTLP. Default: uname -n, which in a container is the "
	  "container's name. With report and --input: what the recorded host is called. At most 127 bytes." },
	{ 0, "timeout", "DURATION", DURATION(timeout_ns), SELECTS | OPT_LIVE_ONLY,
	  "Stop after this time, for example 500ms or 10s." },
	{ 0, "ready-fd", "FD", NUMBER(ready_fd, READY_FD_MIN, READY_FD_MAX),
	  RECORDS | OPT_LIVE_ONLY,
	  "When tracing has begun, write a newline to this open descriptor, and close it. If it is closed without one, "
	  "tracing has not begun. A service manager is told by READY=1 at NOTIFY_SOCKET (Type=notify)." },
	{ 0, "buffer-size", "SIZE", SIZE(buffer_bytes, BUFFER_MIN_BYTES, BUFFER_MAX_BYTES),
	  SELECTS | OPT_LIVE_ONLY,
	  "Buffer for each CPU, for example 256K or 4M, rounded down to a power of two, and to what the kernel's maps have room for. Default: 64K to 2M, by the "
	  "number of possible CPUs and the host's memory. Not used where the kernel sums up (profile, latency)." },
	{ 0, "max-overhead", "PCT", NUMBER(overhead_pct, 1, 100), RECORDS,
	  "How much of a CPU's time tracing may take, in percent: recorded calls, estimated from their number, and "
	  "their processing in user space; and, separately, calls that are not recorded, such as those of untraced "
	  "tasks, estimated from samples. Above it, the "
	  "hottest functions that call no traced function are left out, then their callers, or those that untraced tasks call "
	  "most; each is named on "
	  "standard error and in a comment of the trace (and of a recording's report). If that is not enough, the "
	  "trace goes on in windows (--duty) where functions share programs, and ends with status 5 elsewhere. Start functions and functions given to -T by full name stay. Default: 25; for the "
	  "calls of a COMMAND without -p or another option that selects tasks, 100, which is no limit. Where the kernel "
	  "sums up (profile, latency), only what other calls cost is limited "
	  "unless this option is given (with less than 100); then every call is sent to user space." },
	{ 0, "duty", "PCT", NUMBER(duty_pct, 1, 99), (RECORDS & ~OF(VERB_EXPLAIN)) | OPT_LIVE_ONLY,
	  "Trace in windows, for PCT percent of the time: between two windows functions are detached, and cost no task "
	  "anything. A row in the trace says how long that was; tables count what the windows show. Needs an attach mode by "
	  "which many functions share programs." },
	{ 0, "max-events", "RATE", COUNT(max_events_sec, 1, RATE_MAX), RECORDS,
	  "How many events may be recorded per second, for example 50K or 2M (thousands, millions); a call has two, "
	  "entry and exit. Further events in that second are dropped: the trace shows them as lost, and they are "
	  "counted at the end. Then the hottest functions that call no traced function are left out, as with "
	  "--max-overhead, until the rate is down to about 70 % of RATE; if that is not enough, the trace ends with status 5. "
	  "A second begins with the first event after the previous second. Default: no limit. Where the kernel sums up "
	  "(profile, latency), no event is recorded." },
	{ 0, "attach", "MODE",
	  CHOICE(attach_mode, attach_mode_at, .given_at = offsetof(struct opts, has_attach)),
	  SELECTS | OPT_LIVE_ONLY,
	  "How to attach to functions: auto, complete, cheap" ATTACH_WAYS(
		  ATTACH_HELP) ". With kprobe and kprobes no task is preempted inside netfgraph's programs, which would "
			       "hide other tasks' calls. complete and cheap are --complete and --cheap. auto, the "
			       "default, is complete where this kernel preempts tasks inside programs or does not "
			       "show whether it does, but continues with a warning where --complete fails; "
			       "elsewhere it is cheap." },
	{ 0, "complete", NULL, FLAG(is_complete), SELECTS | OPT_LIVE_ONLY,
	  "Attach in a way that loses no call when tasks are preempted, or fail: kprobe or, from 6.7 on, kprobes; "
	  "any way where this kernel preempts no task inside programs." },
	{ 0, "cheap", NULL, FLAG(is_cheap), SELECTS | OPT_LIVE_ONLY,
	  "Attach in the way that costs a call least and takes acceptable time: multi where the kernel has it, for "
	  "up to 3,000 functions; else session or pair, as long as attaching and detaching take two seconds at "
	  "most, and kprobe or kprobes for more functions. Calls may be missed when tasks are preempted; the "
	  "trace marks where, and how many is said at the end." },
	{ 0, "wait-detach", NULL, FLAG(waits_for_detach), RECORDS | OPT_LIVE_ONLY,
	  "Exit only when the last program is detached. Without it, detaching that takes longer than a third of a "
	  "second continues in a background process, and a message says so once a day; the output is complete before that." },
	{ 0, "presets", NULL, FLAG(list_presets), OF(VERB_LIST),
	  "With list: show the presets and their start functions, with GLOB those that match." },
	{ 0, "plan", NULL, FLAG(list_plan), OF(VERB_LIST),
	  "With list: show how many functions would be traced, and tracepoints (-e), and the time and memory that this takes." },
	{ 0, "explain", NULL, FLAG(list_explain), OF(VERB_LIST),
	  "With list and -G or --preset: what explain without a FILE would trace of them, which chooses more functions, and tracepoints, by itself. "
	  "--plan shows what that takes." },
	{ 0, "containers", NULL, FLAG(list_containers), OF(VERB_LIST),
	  "With list: show the containers and pods of this host: runtime, id, name, pod and cgroup." },
	{ 0, "json", NULL, FLAG(json), PRINTS | OF(VERB_EXPLAIN),
	  "With check, info, diff, explain and list --containers: print one JSON document." },
	{ 0, "tree", NULL, FLAG(explain_tree), OF(VERB_EXPLAIN),
	  "With explain: print the tree of the slowest call, too, as function_graph text; the comment <== marks the way to what took longer." },
	{ 0, "strict", NULL, FLAG(strict), WRITES | OF(VERB_INFO),
	  "Exit with status 4 if any event was lost; with report, info and diff, also if the recorder of FILE was killed." },
	{ 0, "color", "WHEN", APPLY(color, enum color_when, apply_color), ALL,
	  "Colour text, tables and messages: auto (the default: on a terminal, unless NO_COLOR is set or TERM is dumb), "
	  "always (the output also in a file or pipe) or never. Other formats than text have no colours." },
	{ 0, "no-pager", NULL, FLAG(no_pager),
	  OF(VERB_REPORT) | OF(VERB_DIFF) | OF(VERB_EXPLAIN) | SUMS | OF(VERB_LIST),
	  "With report, diff, explain, list and --input: print directly, even to a terminal. Otherwise what goes to a terminal is shown "
	  "by NETFGRAPH_PAGER, PAGER or 'less -FRX', unless that is cat or empty, or report --follow is given." },
	{ 'v', "verbose", NULL, APPLY_ALONE(apply_verbose), ALL,
	  "Say more on standard error: a summary at the end; twice: why a function was left out." },
	{ 'q', "quiet", NULL, FLAG(is_quiet), RECORDS | OPT_LIVE_ONLY,
	  "Say less on standard error: not when tracing has begun, which is otherwise said in one line, and, on a "
	  "terminal, no status and no summary. Warnings and errors remain." },
	{ 0, "no-config", NULL, FLAG(no_config), ALL, "Do not read configuration files." },
	{ 0, "print-config", NULL, FLAG(print_config), ALL,
	  "Print the defaults that configuration files set, with file and line, and exit." },
	{ 'V', "version", NULL, PAGE(print_version), ALL, "Print the version and exit." },
	{ 'h', "help", NULL, PAGE(manual_help), ALL,
	  "Print the most common options and exit; after a verb, all options of that verb." },
	{ 0, "print-man", NULL, PAGE(manual_man), ALL, NULL },
	{ 0, "print-completion", "SHELL",
	  CHOICE(completion_shell, completescript_shell_at,
		 .given_at = offsetof(struct opts, prints_completion)),
	  OF(VERB_TRACE), NULL },
	{ 0, "parse-only", NULL, FLAG(parses_only), ALL, NULL },
	{ 0, "complete-words", NULL, FLAG(completes), OF(VERB_TRACE), NULL },
};
const size_t opt_def_cnt = ARRAY_SIZE(opt_defs);

#define WHY_AT_RETURN "a call is selected when it returns (--slower-than, --errors-only, --filter)"

/* Messages list them in this order; where they name one, it is the last. */
const struct selector selectors[] = {
	{ "-T", FIELD(trace_funcs, struct str_list) },
	{ "-N", FIELD(notrace_funcs, struct str_list) },
	{ "-G", FIELD(graph_funcs, struct str_list), SELECTS_BY_STARTS },
	{ "-g", FIELD(nograph_funcs, struct str_list), SELECTS_EVENTS,
	  .events_why = "calls below some functions are excluded (--nograph-funcs)" },
	{ "--preset", FIELD(presets, struct str_list), SELECTS_BY_STARTS },
	{ "-e", FIELD(events, struct str_list) },
	{ "--packet", FIELD(packet.insn_cnt, uint32_t), SELECTS_BY_STARTS | SELECTS_EVENTS,
	  .events_why = "packets select calls (--packet)" },
	{ "--slower-than", FIELD(starts.slower_ns, uint64_t), SELECTS_AT_RETURN | SELECTS_EVENTS,
	  .events_why = WHY_AT_RETURN },
	{ "--errors-only", FIELD(errors_only, bool),
	  SELECTS_AT_RETURN | SELECTS_BY_VALUES | SELECTS_EVENTS, NFG_MARK_ERRORS, "retval",
	  WHY_AT_RETURN },
	{ "--filter", FIELD(filter, struct filter *),
	  SELECTS_BY_STARTS | SELECTS_AT_RETURN | SELECTS_BY_VALUES | SELECTS_EVENTS,
	  NFG_MARK_FILTER, "args,retval", WHY_AT_RETURN },
	{ "-C", FIELD(has_cpus, bool) },
	{ "--tid", FIELD(tids, struct num_list) },
	{ "--comm", FIELD(comms, struct str_list) },
};
const size_t selector_cnt = ARRAY_SIZE(selectors);

/* ---- verbs ---- */

#define COMMAND       "[[--] COMMAND [ARG...]]"
#define BEHIND_DASHES "[-- COMMAND [ARG...]]"

const struct man_verb man_verbs[] = {
	{ "record",
	  "write a recording to -o FILE instead of text",
	  COMMAND,
	  { "netfgraph record -o web.rec curl -s http://localhost/",
	    "netfgraph record -o web.rec -G tcp_v4_rcv --timeout 10s" } },
	{ "report FILE",
	  "print a recording, or function_graph text, from FILE or a pipe, as text or in another --format; -T, -N, -C, "
	  "--tid, --comm, -G, -g, --preset, --slower-than and, if the recording has values, "
	  "--packet, --errors-only and --filter select from it",
	  NULL,
	  { "netfgraph report web.rec --graph-opts abstime,proc",
	    "netfgraph report web.rec --format perfetto -o web.pftrace" } },
	{ "info FILE",
	  "describe a recording: its command line, host, kernel, time, values, functions and losses; or a trace.dat of "
	  "trace-cmd: its host, clock, time, events and losses; see --format",
	  NULL,
	  { "netfgraph info web.rec", "netfgraph info web.rec --sort name --rows 50" } },
	{ "diff A B",
	  "compare two recordings, or function_graph texts: functions by the change of their counts and times, and "
	  "the pairs of caller and function that only one of them has; see --per, --sort and --format",
	  NULL,
	  { "netfgraph diff before.rec after.rec --sort p99 --rows 20",
	    "netfgraph diff before.rec after.rec --format json" } },
	{ "profile",
	  "print a table of functions, live (summed up in the kernel) or from --input",
	  COMMAND,
	  { "netfgraph profile -T 'tcp_*' --timeout 10s --sort self",
	    "netfgraph profile --input web.rec --callers" } },
	{ "profile --by WHAT",
	  "print a table of reasons, flows, devices, callers, containers, programs or members (skb.mark), or of two of these, live or from --input",
	  COMMAND,
	  { "netfgraph profile --by reason --timeout 10s",
	    "netfgraph profile --by flow -e tcp:tcp_retransmit_skb --timeout 10s" } },
	{ "latency FUNC...",
	  "print histograms of the durations of these functions (or of those of -T), live (summed up in the kernel; put -- before a "
	  "COMMAND) or from --input",
	  BEHIND_DASHES,
	  { "netfgraph latency tcp_sendmsg --timeout 10s",
	    "netfgraph latency tcp_sendmsg -- curl -s http://localhost/" } },
	{ "latency --by stage",
	  "print how long packets (--packet) stayed in each stage of the stack, live or from --input",
	  BEHIND_DASHES,
	  { "netfgraph latency --by stage --packet 'tcp port 443' --timeout 10s", NULL } },
	{ "explain [FILE] [-- COMMAND [ARG...]]",
	  "say why calls were slow: what they took longer than the others of the same start function, asleep, waiting "
	  "for a CPU, interrupted, or in which functions. --slower-than chooses the slow calls (else those longer "
	  "than the duration in a flight recorder's --when, or that took more than four times the median, at most a tenth unless they are of two kinds; up to three groups, where their lengths or causes differ). Without FILE it traces -G FUNC; FILE needs record --graph-opts sleep for all "
	  "but the functions",
	  NULL,
	  { "netfgraph explain -G __sys_recvfrom -p 1234 --timeout 10s",
	    "netfgraph explain web.rec --slower-than 50ms --tree" } },
	{ "list [GLOB...]",
	  "list the functions that would be traced; -v: why others are not; see --presets, --plan, --containers and --format",
	  NULL,
	  { "netfgraph list 'tcp_*'", "netfgraph list -G __sys_sendto --plan" } },
	{ "check",
	  "print the features of this kernel; see --format",
	  NULL,
	  { "netfgraph check", "netfgraph check --format json" } },
	{ "help [TOPIC|--OPTION]",
	  "print the options of a topic or of a verb, what a preset traces, the text of an --OPTION, where a WORD is, or with help all, "
	  "all of them",
	  NULL,
	  { "netfgraph help tasks", "netfgraph help --graph-opts" } },
};
const size_t man_verb_cnt = ARRAY_SIZE(man_verbs);

const struct exit_status_def exit_status_defs[] = {
	{ VERDICT_OK,
	  "Traced, until Ctrl-C or --timeout, even if no call was seen or matched; or FILE was read, a recording even if it has no "
	  "call, but for explain. Standard error says so then. With COMMAND: its exit status (128 + N when signal N killed it)." },
	{ VERDICT_FAILED,
	  "The host or its kernel refuses (no right, no such process, cgroup or container, no libpcap), or FILE cannot be read, is damaged or cut before its first event, or is a text (info) or one without times (-i, --by stage), or the output cannot be written: no room, its reader is gone, or at the end of the "
	  "trace its reader reads nothing for 2 s (30 s in all; until a second Ctrl-C)." },
	{ VERDICT_USAGE,
	  "The command line or a configuration file is wrong, or needs a recording where FILE is a text (--filter, --packet), or -o names the input file." },
	{ VERDICT_NOTHING,
	  "A -T or -G matches no function of this kernel or of the recording, or an -N or -g names no function of this "
	  "kernel; or an -e matches no tracepoint; or --when names a function that is not traced, or --filter or --show a name or a member that "
	  "no function has, or --filter one that a start function lacks; or no function is left to trace; or with --packet, no function to start at; or "
	  "no call of FILE matches the options that select calls, or FILE is a directory, is empty or no text at all, or is a text or a trace.dat without a call; or explain found "
	  "no slow call in FILE, or --by stage none of its functions or no packet, in diff in both files; or no "
	  "call of FILE matches --callers=GLOB or --callees=GLOB." },
	{ VERDICT_LOSSES,
	  "Events were lost and --strict was given. This status takes the place of COMMAND's own." },
	{ VERDICT_OVERHEAD,
	  "Tracing took more than --max-overhead or --max-events, or made others pay more; nothing more could be left out, and --duty is not possible." },
	{ VERDICT_NOT_RUN, "COMMAND cannot be run." },
	{ VERDICT_NOT_FOUND, "COMMAND was not found." },
	{ VERDICT_SIGNAL,
	  "Plus N: signal N came before tracing began (130: Ctrl-C). Nothing was traced, COMMAND did not run, and "
	  "FILE is as it was." },
};
const size_t exit_status_def_cnt = ARRAY_SIZE(exit_status_defs);
