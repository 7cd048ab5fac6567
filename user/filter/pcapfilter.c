#include "filter/pcapfilter.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "filter/pcapsyntax.h"
#include "nfg_abi.h"
#include "trace/values.h"

/* In libpcap struct bpf_insn is a classic BPF instruction; in the kernel an eBPF one. */
#define bpf_insn pcap_insn
#include <pcap/pcap.h>
#undef bpf_insn

/* ---- libpcap, loaded when first needed: linking it would make every start load libdbus and its dependencies ---- */

/* The functions of pcap/pcap.h, without their prefix. */
struct libpcap {
	__typeof__(pcap_open_dead) *open_dead;
	__typeof__(pcap_compile) *compile;
	__typeof__(pcap_geterr) *geterr;
	__typeof__(pcap_freecode) *freecode;
	__typeof__(pcap_close) *close;
};

/* The library's name on Debian, and elsewhere. The functions used here are the same in both. */
static const char *const sonames[] = { "libpcap.so.0.8", "libpcap.so.1" };

/*
 * The library, loaded on the first call and kept for the life of the process.
 *
 * Not to be called by two threads at once.
 * @why: if it cannot be loaded: one line with the dlerror(3) of each of its possible names.
 * Return: the functions, or NULL with @why filled.
 */
static const struct libpcap *libpcap_load(char *why, size_t why_size)
{
	static struct libpcap lib;
	static bool is_loaded;
	size_t len = 0;

	for (size_t i = 0; !is_loaded && i < ARRAY_SIZE(sonames); i++) {
		void *handle = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);

		if (handle) {
			/* assigned as dlsym(3) shows: C does not convert void * to a function pointer */
			*(void **)&lib.open_dead = dlsym(handle, "pcap_open_dead");
			*(void **)&lib.compile = dlsym(handle, "pcap_compile");
			*(void **)&lib.geterr = dlsym(handle, "pcap_geterr");
			*(void **)&lib.freecode = dlsym(handle, "pcap_freecode");
			*(void **)&lib.close = dlsym(handle, "pcap_close");
			is_loaded = lib.open_dead && lib.compile && lib.geterr && lib.freecode &&
				    lib.close;
		}
		if (!is_loaded && len < why_size)
			len += (size_t)snprintf(why + len, why_size - len, "%s%s", i ? "; " : "",
						dlerror());
	}
	return is_loaded ? &lib : NULL;
}

/* ---- a filter ---- */

#define SNAP_BYTES 65535

static int translate(struct pcapfilter *out, const struct bpf_program *prog, char *why,
		     size_t why_size)
{
	struct cbpf_insn *insns = calloc(prog->bf_len + 1, sizeof(*insns));
	const char *reason = NULL;
	int err;

	if (!insns)
		return -ENOMEM;
	for (unsigned int i = 0; i < prog->bf_len; i++) {
		insns[i] = (struct cbpf_insn){
			.code = prog->bf_insns[i].code,
			.jt = prog->bf_insns[i].jt,
			.jf = prog->bf_insns[i].jf,
			.k = prog->bf_insns[i].k,
		};
	}
	err = cbpf_translate(&out->insns, &out->insn_cnt, insns, prog->bf_len, &reason);
	free(insns);
	if (reason)
		snprintf(why, why_size, "%s", reason);
	return err == -EOPNOTSUPP ? -EINVAL : err;
}

/*
 * Whether a protocol of IP is called by a name (after proto, or \NAME where libpcap takes the qualifiers over), on a host that
 * knows none: libpcap takes any for number 0 then (pcap_nametoproto in nametoaddr.c), and nothing would match. Names of the link
 * layer and of ISO it knows itself.
 */
static bool has_unknown_name(const char *expression, char *why, size_t why_size)
{
	static const char between[] = " \t\n()!&|";
	struct text before = { 0 };
	bool is_of_ip = false; /* the last qualifier was proto */
	bool expects = false;
	size_t len;

	if (getprotobyname("tcp"))
		return false;
	for (const char *at = expression; *(at += strspn(at, between)); at += len) {
		const size_t to_name = strcspn(at + 1, "\\");
		struct text word;

		len = strcspn(at, between);
		len = to_name + 1 < len ? to_name + 1 : len; /* proto\tcp */
		word = (struct text){ at, len };
		if (text_has_word("proto protochain", word)) {
			is_of_ip = !text_has_word("ether fddi tr wlan link iso", before);
			expects = is_of_ip;
		} else if (text_has_word("host net port portrange gateway", word)) {
			is_of_ip = false;
		} else if ((expects || (is_of_ip && *at == '\\')) && (*at < '0' || *at > '9')) {
			const bool is_escaped = *at == '\\';

			snprintf(
				why, why_size,
				"names protocol '%.*s', but this host has no /etc/protocols: use its number",
				(int)len - is_escaped, at + is_escaped);
			return true;
		} else {
			expects = false;
		}
		before = word;
	}
	return false;
}

static bool is_syntax_error(const struct libpcap *lib, pcap_t *pcap)
{
	return strstr(lib->geterr(pcap), "syntax error") != NULL;
}

static enum pcapsyntax_verdict try_part(void *ctx, const char *expression)
{
	const struct libpcap *lib = ctx;
	enum pcapsyntax_verdict verdict = PCAPSYNTAX_OTHER;
	pcap_t *pcap = lib->open_dead(DLT_RAW, SNAP_BYTES);
	struct bpf_program prog;

	if (!pcap)
		return verdict;
	if (!lib->compile(pcap, &prog, expression, 1, PCAP_NETMASK_UNKNOWN)) {
		lib->freecode(&prog);
		verdict = PCAPSYNTAX_OK;
	} else if (is_syntax_error(lib, pcap)) {
		verdict = PCAPSYNTAX_ERROR;
	}
	lib->close(pcap);
	return verdict;
}

static void refuse_link(const char *word, char *why, size_t why_size)
{
	snprintf(
		why, why_size,
		"is not a filter: '%s' is of layer 2, and packets are matched from the IP header on",
		word);
}

/* Why libpcap does not take @expression. @link_word: the one in it about the link layer, or "". */
static void refuse_filter(const struct libpcap *lib, pcap_t *pcap, const char *expression,
			  const char *link_word, char *why, size_t why_size)
{
	const struct pcapsyntax syntax = { .compile = try_part, .ctx = (void *)lib };
	char text[400];

	snprintf(text, sizeof(text), "%s", lib->geterr(pcap));
	text[strcspn(text, "\n")] = '\0';
	if (is_syntax_error(lib, pcap))
		pcapsyntax_why(&syntax, expression, text, sizeof(text));
	else if (*link_word)
		return refuse_link(link_word, why, why_size);
	if (strstr(text, "rejects all packets"))
		snprintf(
			why, why_size,
			"matches no packet: what 'and' joins in it excludes each other; 'or' takes packets of either kind");
	else
		snprintf(why, why_size, "is not a filter: %s", text);
}

/* libpcap would read what a capture notes beside the packet. */
static bool has_way(const char *expression, char *why, size_t why_size)
{
	const char *word = pcapsyntax_way_word(expression);

	if (*word)
		snprintf(
			why, why_size,
			"is not a filter: '%s' is a direction at a device, and packets are matched by their headers; src and dst are in these",
			word);
	return *word;
}

int pcapfilter_compile(struct pcapfilter *out, const char *expression, char *why, size_t why_size)
{
	const char *link_word = pcapsyntax_link_word(expression);
	const struct libpcap *lib;
	struct bpf_program prog;
	char missing[400];
	pcap_t *pcap;
	int err;

	*out = (struct pcapfilter){ 0 };
	if (!expression[strspn(expression, " \t\n")]) {
		snprintf(why, why_size, "is empty");
		return -EINVAL;
	}
	if (has_unknown_name(expression, why, why_size) || has_way(expression, why, why_size))
		return -EINVAL;
	if (*link_word && (strstr(expression, "ether[") || strstr(expression, "link["))) {
		refuse_link(link_word, why, why_size);
		return -EINVAL; /* libpcap would take bytes of the IP header */
	}
	lib = libpcap_load(missing, sizeof(missing));
	if (!lib) {
		snprintf(why, why_size, "needs libpcap: %s", missing);
		return -ELIBACC;
	}
	pcap = lib->open_dead(DLT_RAW, SNAP_BYTES);
	if (!pcap)
		return -ENOMEM;
	if (lib->compile(pcap, &prog, expression, 1, PCAP_NETMASK_UNKNOWN)) {
		refuse_filter(lib, pcap, expression, link_word, why, why_size);
		err = -EINVAL;
	} else {
		err = translate(out, &prog, why, why_size);
		lib->freecode(&prog);
	}
	lib->close(pcap);
	return err;
}

void pcapfilter_release(struct pcapfilter *filter)
{
	free(filter->insns);
	*filter = (struct pcapfilter){ 0 };
}

/* ---- classic BPF to eBPF ---- */

#define INSN_CNT_MAX    4096 /* BPF_MAXINSNS, the kernel's limit for classic BPF */
#define FRAGMENT_AT     6
#define FRAGMENT_OFFSET 0x1fffu

/* The versions of IP that a header may have. */
#define HEADER_IPV4 1u
#define HEADER_IPV6 2u

/* ---- bits of a load that are used ---- */

static void reach_add(uint64_t *reached, size_t idx)
{
	if (idx < INSN_CNT_MAX)
		reached[idx / 64] |= 1ull << idx % 64;
}

/* The bits of A that an instruction uses; adds to @reached the instructions that A reaches unchanged. */
static uint32_t used_by(const struct cbpf_insn *insn, size_t idx, uint64_t *reached)
{
	const bool has_x = BPF_SRC(insn->code) == BPF_X;
	const uint16_t op = BPF_OP(insn->code);

	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		return 0;
	case BPF_LDX:
	case BPF_STX:
		reach_add(reached, idx + 1);
		return 0;
	case BPF_ALU:
		if (op == BPF_AND && !has_x)
			return insn->k;
		if (op == BPF_RSH && !has_x)
			return insn->k < 32 ? UINT32_MAX << insn->k : 0;
		return UINT32_MAX;
	case BPF_JMP:
		if (op == BPF_JA) {
			reach_add(reached, idx + 1 + insn->k);
			return 0;
		}
		reach_add(reached, idx + 1 + insn->jt);
		reach_add(reached, idx + 1 + insn->jf);
		return op == BPF_JSET && !has_x ? insn->k : UINT32_MAX;
	case BPF_RET:
		return BPF_RVAL(insn->code) == BPF_A ? UINT32_MAX : 0;
	case BPF_MISC:
		return BPF_MISCOP(insn->code) == BPF_TAX ? UINT32_MAX : 0;
	default:
		return UINT32_MAX;
	}
}

/* ---- bits of a header that are known ---- */

/*
 * Loads that need more of an IP header than exists: a socket has addresses, ports and protocol, but no header
 * (NFG_LACKS_SOCKET), and the header of a packet that is being sent is not complete yet (NFG_LACKS_SENT).
 */

/*
 * Version, protocol and addresses are known; the length of a header depends on a socket's options, which are not read.
 */
static uint32_t lacks_of_socket(uint32_t version, uint64_t at)
{
	if (at == 0)
		return 0x0f;
	if (version == HEADER_IPV4)
		return at < 9 || at == 10 || at == 11 ? 0xff : 0;
	return at < 6 || at == 7 ? 0xff : 0;
}

/* The kernel writes length, identification and checksum last. */
static uint32_t lacks_of_sent(uint32_t version, uint64_t at)
{
	if (version == HEADER_IPV4)
		return (at >= 2 && at <= 5) || at == 10 || at == 11 ? 0xff : 0;
	return at == 4 || at == 5 ? 0xff : 0;
}

/*
 * NFG_LACKS_* for which some bit of @used, in the big-endian number of @bytes bytes at @offset, is unknown.
 *
 * The fragment offset by itself is known for a socket: it sends no fragments, and every test of a port reads the
 * offset.
 */
static uint32_t lacking_of(uint32_t version, uint64_t offset, uint32_t bytes, uint32_t used)
{
	uint32_t lacking = 0;

	if (version == HEADER_IPV4 && offset == FRAGMENT_AT && bytes == 2 &&
	    used == FRAGMENT_OFFSET)
		return 0;
	for (uint32_t i = 0; i < bytes; i++) {
		uint32_t byte = used >> 8 * (bytes - 1 - i) & 0xff;

		if (byte & lacks_of_socket(version, offset + i))
			lacking |= NFG_LACKS_SOCKET;
		if (byte & lacks_of_sent(version, offset + i))
			lacking |= NFG_LACKS_SENT;
	}
	return lacking;
}

/* The registers of the machine. r0 is for values that last one instruction. */
#define REG_VIEW     BPF_REG_1
#define REG_VALID    BPF_REG_2
#define REG_LEN      BPF_REG_3
#define REG_A        BPF_REG_4
#define REG_X        BPF_REG_5

#define PER_INSN_MAX 16 /* the most eBPF instructions per classic one */
#define REJECT       UINT32_MAX

/* Bits of a header's first byte. */
#define VERSION_BITS 0xf0u
#define IHL_BITS     0xfu

static const char *not_classic = "compiles to something that is not a packet filter";
static const char *too_long = "is too long";

/* ---- constants on the path to an instruction ---- */

struct value {
	bool is_known;
	bool is_of_ipv4; /* computed from the length of an IPv4 header */
	bool is_byte0;   /* the header's first byte ... */
	bool is_version; /* ... and only its upper half */
	uint32_t value;
};

#define VALUE_A   BPF_MEMWORDS
#define VALUE_X   (BPF_MEMWORDS + 1)
#define VALUE_CNT (BPF_MEMWORDS + 2)

struct state {
	bool is_reached;
	uint32_t versions; /* HEADER_* of packets that reach this instruction */
	struct value values[VALUE_CNT];
};

struct fixup {
	uint32_t at;     /* our jump ... */
	uint32_t target; /* ... to this instruction of classic BPF, or REJECT */
};

struct translation {
	const struct cbpf_insn *insns;
	size_t cnt;
	struct state *states;
	uint32_t *places; /* the offset of each instruction in out */
	struct bpf_insn *out;
	uint32_t out_cnt;
	struct fixup *fixups;
	size_t fixup_cnt;
	const char *why;
};

static int refuse(struct translation *tr, const char *why)
{
	tr->why = why;
	return -EOPNOTSUPP;
}

static struct value constant(uint32_t value)
{
	return (struct value){ .is_known = true, .value = value };
}

static void merge(struct state *to, const struct state *from)
{
	if (!to->is_reached) {
		*to = *from;
		return;
	}
	to->versions |= from->versions;
	for (size_t i = 0; i < VALUE_CNT; i++) {
		struct value *value = &to->values[i];

		value->is_known &=
			from->values[i].is_known && from->values[i].value == value->value;
		value->is_of_ipv4 |= from->values[i].is_of_ipv4;
		value->is_byte0 &= from->values[i].is_byte0;
		value->is_version &= from->values[i].is_version;
	}
}

static struct value computed(const struct cbpf_insn *insn, struct value a, struct value b)
{
	struct value out = { .is_known = a.is_known && b.is_known,
			     .is_of_ipv4 = a.is_of_ipv4 || b.is_of_ipv4 };

	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		out.value = a.value + b.value;
		break;
	case BPF_SUB:
		out.value = a.value - b.value;
		break;
	case BPF_MUL:
		out.value = a.value * b.value;
		break;
	case BPF_AND:
		out.value = a.value & b.value;
		out.is_version = a.is_byte0 && b.is_known && b.value == VERSION_BITS;
		break;
	case BPF_OR:
		out.value = a.value | b.value;
		break;
	case BPF_LSH:
		out.value = b.value < 32 ? a.value << b.value : 0;
		break;
	case BPF_RSH:
		out.value = b.value < 32 ? a.value >> b.value : 0;
		break;
	default:
		out.is_known = false;
	}
	return out;
}

static struct value loaded(const struct cbpf_insn *insn, const struct state *state)
{
	switch (BPF_MODE(insn->code)) {
	case BPF_IMM:
		return constant(insn->k);
	case BPF_MEM:
		return state->values[insn->k % BPF_MEMWORDS];
	case BPF_MSH:
		if (!insn->k)
			return (struct value){ .is_known = true,
					       .is_of_ipv4 = true,
					       .value = NFG_VIEW_IPV4 };
		return (struct value){ 0 };
	case BPF_ABS:
		return (struct value){ .is_byte0 = !insn->k && BPF_SIZE(insn->code) == BPF_B };
	default:
		return (struct value){ 0 };
	}
}

/* The state after the instruction. */
static void follow(struct state *state, const struct cbpf_insn *insn)
{
	struct value *values = state->values;
	bool has_x = BPF_SRC(insn->code) == BPF_X;

	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		values[VALUE_A] = loaded(insn, state);
		break;
	case BPF_LDX:
		values[VALUE_X] = loaded(insn, state);
		break;
	case BPF_ST:
		values[insn->k % BPF_MEMWORDS] = values[VALUE_A];
		break;
	case BPF_STX:
		values[insn->k % BPF_MEMWORDS] = values[VALUE_X];
		break;
	case BPF_ALU:
		values[VALUE_A] = computed(insn, values[VALUE_A],
					   has_x ? values[VALUE_X] : constant(insn->k));
		break;
	case BPF_MISC:
		if (BPF_MISCOP(insn->code) == BPF_TAX)
			values[VALUE_X] = values[VALUE_A];
		else
			values[VALUE_A] = values[VALUE_X];
		break;
	}
}

/* The IP versions for this upper half of the first byte. */
static uint32_t versions_of(uint32_t value)
{
	return value == 0x40 ? HEADER_IPV4 : value == 0x60 ? HEADER_IPV6 : 0;
}

static int pcapfilter_reach(struct translation *tr, size_t idx, uint64_t distance,
			    const struct state *state)
{
	if (distance >= tr->cnt - idx - 1)
		return refuse(tr, distance > INT32_MAX ? "compiles to a loop" : not_classic);
	merge(&tr->states[idx + 1 + distance], state);
	return 0;
}

static int reach_both(struct translation *tr, size_t idx, struct state *state)
{
	const struct cbpf_insn *insn = &tr->insns[idx];
	bool is_test = BPF_OP(insn->code) == BPF_JEQ && BPF_SRC(insn->code) == BPF_K &&
		       state->values[VALUE_A].is_version;
	uint32_t versions = state->versions;
	int err;

	if (is_test)
		state->versions = versions & versions_of(insn->k);
	err = pcapfilter_reach(tr, idx, insn->jt, state);
	if (is_test)
		state->versions = versions & ~versions_of(insn->k);
	return err ? err : pcapfilter_reach(tr, idx, insn->jf, state);
}

/* Jumps lead forward only, so one pass sees all paths to an instruction before it reaches it. */
static int follow_all(struct translation *tr)
{
	int err = 0;

	tr->states[0].is_reached = true;
	tr->states[0].versions = HEADER_IPV4 | HEADER_IPV6;
	for (size_t i = 0; i < VALUE_CNT; i++)
		tr->states[0].values[i] = constant(0);
	for (size_t i = 0; i < tr->cnt && !err; i++) {
		const struct cbpf_insn *insn = &tr->insns[i];
		struct state state = tr->states[i];

		if (!state.is_reached || BPF_CLASS(insn->code) == BPF_RET)
			continue;
		follow(&state, insn);
		if (BPF_CLASS(insn->code) != BPF_JMP)
			err = pcapfilter_reach(tr, i, 0, &state);
		else if (BPF_OP(insn->code) == BPF_JA)
			err = pcapfilter_reach(tr, i, insn->k, &state);
		else
			err = reach_both(tr, i, &state);
	}
	return err;
}

/* ---- instructions ---- */

static void emit(struct translation *tr, uint8_t code, uint8_t dst, uint8_t src, int16_t off,
		 uint32_t imm)
{
	tr->out[tr->out_cnt++] = (struct bpf_insn){
		.code = code,
		.dst_reg = dst & 0xf,
		.src_reg = src & 0xf,
		.off = off,
		.imm = (int32_t)imm,
	};
}

static void emit_jump(struct translation *tr, uint8_t code, uint8_t dst, uint8_t src, uint32_t imm,
		      uint32_t target)
{
	tr->fixups[tr->fixup_cnt++] = (struct fixup){ .at = tr->out_cnt, .target = target };
	emit(tr, code, dst, src, 0, imm);
}

static void set(struct translation *tr, uint8_t reg, uint32_t value)
{
	emit(tr, BPF_ALU | BPF_MOV | BPF_K, reg, 0, 0, value);
}

static void move(struct translation *tr, uint8_t to, uint8_t from)
{
	emit(tr, BPF_ALU | BPF_MOV | BPF_X, to, from, 0, 0);
}

static int16_t scratch(uint32_t k)
{
	return (int16_t)((int)(k * 4) - 4 * BPF_MEMWORDS);
}

static uint8_t loaded_reg(const struct cbpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_LD ? REG_A : REG_X;
}

/*
 * The bits of the value loaded by instruction @idx that can affect the verdict: for A, the bits that the next
 * instructions select by AND, JSET or a shift, else all.
 */
static uint32_t used_of(const struct translation *tr, size_t idx)
{
	/* instructions before which A may hold the loaded value, a bit each */
	uint64_t reached[INSN_CNT_MAX / 64] = { 0 };
	const uint16_t code = tr->insns[idx].code;
	uint32_t used = 0;

	if (BPF_CLASS(code) == BPF_LDX)
		return BPF_MODE(code) == BPF_MSH ? IHL_BITS : UINT32_MAX;
	reach_add(reached, idx + 1);
	for (size_t i = idx + 1; i < tr->cnt && used != UINT32_MAX; i++) {
		if (reached[i / 64] >> i % 64 & 1)
			used |= used_by(&tr->insns[i], i, reached);
	}
	return used;
}

/* Load a big-endian number into @reg. The verifier requires aligned loads from the stack. */
static void emit_view_load(struct translation *tr, uint8_t reg, uint32_t offset, uint32_t bytes)
{
	uint8_t size = bytes == 4 ? BPF_W : bytes == 2 ? BPF_H : BPF_B;

	if (offset % bytes == 0) {
		emit(tr, BPF_LDX | BPF_MEM | size, reg, REG_VIEW, (int16_t)offset, 0);
		if (bytes > 1)
			emit(tr, BPF_ALU | BPF_END | BPF_TO_BE, reg, 0, 0, bytes * 8);
		return;
	}
	emit(tr, BPF_LDX | BPF_MEM | BPF_B, reg, REG_VIEW, (int16_t)offset, 0);
	for (uint32_t i = 1; i < bytes; i++) {
		emit(tr, BPF_ALU | BPF_LSH | BPF_K, reg, 0, 0, 8);
		emit(tr, BPF_LDX | BPF_MEM | BPF_B, BPF_REG_0, REG_VIEW, (int16_t)(offset + i), 0);
		emit(tr, BPF_ALU | BPF_OR | BPF_X, reg, BPF_REG_0, 0, 0);
	}
}

/* Load, for instruction @idx. @is_ipv4: @offset was computed from the length of an IPv4 header. */
static int load_view(struct translation *tr, uint32_t idx, uint64_t offset, bool is_ipv4)
{
	const struct cbpf_insn *insn = &tr->insns[idx];
	uint32_t versions = tr->states[idx].versions;
	uint8_t reg = loaded_reg(insn);
	uint32_t bytes = BPF_MODE(insn->code) == BPF_MSH ? 1
			 : BPF_SIZE(insn->code) == BPF_W ? 4
			 : BPF_SIZE(insn->code) == BPF_H ? 2
							 : 1;
	uint64_t end = offset + bytes;
	uint32_t lacking = 0;
	uint32_t used;

	if (end > (is_ipv4 ? NFG_VIEW_IPV4 : NFG_VIEW_IPV6) + NFG_VIEW_BEHIND)
		return refuse(tr, "reads beyond the 20 bytes after the IP header");
	used = offset < NFG_VIEW_IPV6 ? used_of(tr, idx) : 0;
	if (end > NFG_VIEW_IPV4)
		emit_jump(tr, BPF_JMP | BPF_JLT | BPF_K, REG_VALID, 0, (uint32_t)end, REJECT);
	if (offset < NFG_VIEW_IPV6 && versions & HEADER_IPV4)
		lacking |= lacking_of(HEADER_IPV4, offset, bytes, used);
	if (offset < NFG_VIEW_IPV6 && versions & HEADER_IPV6)
		lacking |= lacking_of(HEADER_IPV6, offset, bytes, used);
	if (end > NFG_VIEW_IPV4 && versions & HEADER_IPV4 && !is_ipv4)
		lacking |= NFG_LACKS_OPTIONS;
	/* no match if the view lacks data that the load needs */
	if (lacking) {
		emit(tr, BPF_LDX | BPF_MEM | BPF_B, BPF_REG_0, REG_VIEW, NFG_VIEW_LACKS, 0);
		emit_jump(tr, BPF_JMP | BPF_JSET | BPF_K, BPF_REG_0, 0, lacking, REJECT);
	}
	emit_view_load(tr, reg, (uint32_t)offset, bytes);
	return 0;
}

static int pcapfilter_load(struct translation *tr, uint32_t idx)
{
	const struct cbpf_insn *insn = &tr->insns[idx];
	const struct value *x = &tr->states[idx].values[VALUE_X];
	uint8_t reg = loaded_reg(insn);

	switch (BPF_MODE(insn->code)) {
	case BPF_IMM:
		set(tr, reg, insn->k);
		return 0;
	case BPF_MEM:
		emit(tr, BPF_LDX | BPF_MEM | BPF_W, reg, BPF_REG_10, scratch(insn->k), 0);
		return 0;
	case BPF_LEN:
		emit_jump(tr, BPF_JMP | BPF_JEQ | BPF_K, REG_LEN, 0, 0, REJECT);
		move(tr, reg, REG_LEN);
		return 0;
	case BPF_ABS:
		return load_view(tr, idx, insn->k, false);
	case BPF_IND:
		if (x->is_known)
			return load_view(tr, idx, (uint64_t)x->value + insn->k, x->is_of_ipv4);
		return refuse(
			tr,
			"reads at an offset computed from the packet; only fixed offsets are supported");
	case BPF_MSH:
		if (!insn->k) {
			set(tr, reg, NFG_VIEW_IPV4);
			return 0;
		}
		if (load_view(tr, idx, insn->k, false))
			return -EOPNOTSUPP;
		emit(tr, BPF_ALU | BPF_AND | BPF_K, reg, 0, 0, IHL_BITS);
		emit(tr, BPF_ALU | BPF_LSH | BPF_K, reg, 0, 0, 2);
		return 0;
	}
	return refuse(tr, not_classic);
}

/* As in classic BPF: a shift by the width or more gives 0, and a division by 0 ends without a match. */
static int pcapfilter_compute(struct translation *tr, const struct cbpf_insn *insn)
{
	uint8_t op = BPF_OP(insn->code);
	bool is_shift = op == BPF_LSH || op == BPF_RSH;
	bool is_division = op == BPF_DIV || op == BPF_MOD;

	if (op > BPF_XOR)
		return refuse(tr, not_classic);
	if (op == BPF_NEG) {
		emit(tr, BPF_ALU | BPF_NEG, REG_A, 0, 0, 0);
	} else if (BPF_SRC(insn->code) == BPF_X) {
		if (is_division)
			emit_jump(tr, BPF_JMP32 | BPF_JEQ | BPF_K, REG_X, 0, 0, REJECT);
		if (is_shift) {
			emit(tr, BPF_JMP32 | BPF_JLT | BPF_K, REG_X, 0, 2, 32);
			set(tr, REG_A, 0);
			emit(tr, BPF_JMP | BPF_JA, 0, 0, 1, 0);
		}
		emit(tr, BPF_ALU | op | BPF_X, REG_A, REG_X, 0, 0);
	} else if (is_division && !insn->k) {
		return refuse(tr, "divides by zero");
	} else if (is_shift && insn->k >= 32) {
		set(tr, REG_A, 0);
	} else {
		emit(tr, BPF_ALU | op | BPF_K, REG_A, 0, 0, insn->k);
	}
	return 0;
}

static void pcapfilter_jump(struct translation *tr, const struct cbpf_insn *insn, uint32_t next)
{
	uint8_t src = BPF_SRC(insn->code);

	if (BPF_OP(insn->code) == BPF_JA) {
		if (insn->k)
			emit_jump(tr, BPF_JMP | BPF_JA, 0, 0, 0, next + insn->k);
		return;
	}
	if (insn->jt != insn->jf)
		emit_jump(tr, (uint8_t)(BPF_JMP32 | BPF_OP(insn->code) | src), REG_A,
			  src == BPF_X ? REG_X : 0, src == BPF_X ? 0 : insn->k, next + insn->jt);
	if (insn->jf)
		emit_jump(tr, BPF_JMP | BPF_JA, 0, 0, 0, next + insn->jf);
}

static int translate_one(struct translation *tr, uint32_t idx)
{
	const struct cbpf_insn *insn = &tr->insns[idx];

	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
	case BPF_LDX:
		return pcapfilter_load(tr, idx);
	case BPF_ST:
		emit(tr, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, REG_A, scratch(insn->k), 0);
		return 0;
	case BPF_STX:
		emit(tr, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, REG_X, scratch(insn->k), 0);
		return 0;
	case BPF_ALU:
		return pcapfilter_compute(tr, insn);
	case BPF_JMP:
		pcapfilter_jump(tr, insn, idx + 1);
		return 0;
	case BPF_RET:
		if (BPF_RVAL(insn->code) == BPF_A)
			move(tr, BPF_REG_0, REG_A);
		else
			set(tr, BPF_REG_0, insn->k);
		emit(tr, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
		return 0;
	}
	if (BPF_MISCOP(insn->code) == BPF_TAX)
		move(tr, REG_X, REG_A);
	else
		move(tr, REG_A, REG_X);
	return 0;
}

/* ---- the whole filter ---- */

static bool uses_scratch(const struct cbpf_insn *insn)
{
	uint16_t class = BPF_CLASS(insn->code);

	return class == BPF_ST || class == BPF_STX ||
	       ((class == BPF_LD || class == BPF_LDX) && BPF_MODE(insn->code) == BPF_MEM);
}

/* The verifier rejects unreachable instructions. */
static int pcapfilter_resolve(struct translation *tr)
{
	uint32_t reject = tr->out_cnt;
	bool is_rejecting = false;

	for (size_t i = 0; i < tr->fixup_cnt; i++) {
		const struct fixup *fixup = &tr->fixups[i];
		uint32_t to = fixup->target == REJECT ? reject : tr->places[fixup->target];

		if (to - fixup->at - 1 > INT16_MAX)
			return refuse(tr, too_long);
		tr->out[fixup->at].off = (int16_t)(to - fixup->at - 1);
		is_rejecting |= fixup->target == REJECT;
	}
	if (!is_rejecting)
		return 0;
	set(tr, BPF_REG_0, 0);
	emit(tr, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return 0;
}

static int translate_insns(struct translation *tr)
{
	uint32_t used = 0;
	int err;

	if (!tr->cnt || tr->cnt > INSN_CNT_MAX)
		return refuse(tr, tr->cnt ? too_long : not_classic);
	for (size_t i = 0; i < tr->cnt; i++) {
		const struct cbpf_insn *insn = &tr->insns[i];

		if (uses_scratch(insn) && insn->k >= BPF_MEMWORDS)
			return refuse(tr, not_classic);
		if (BPF_CLASS(insn->code) == BPF_JMP && BPF_OP(insn->code) > BPF_JSET)
			return refuse(tr, not_classic);
		if (uses_scratch(insn))
			used |= 1u << insn->k;
	}
	err = follow_all(tr);
	if (err)
		return err;
	/* registers and scratch memory of classic BPF start as zeroes; eBPF must not read uninitialized ones */
	set(tr, REG_A, 0);
	set(tr, REG_X, 0);
	for (uint32_t k = 0; k < BPF_MEMWORDS; k++) {
		if (used & 1u << k)
			emit(tr, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, scratch(k), 0);
	}
	for (uint32_t i = 0; i < tr->cnt && !err; i++) {
		tr->places[i] = tr->out_cnt;
		if (tr->states[i].is_reached)
			err = translate_one(tr, i);
	}
	return err ? err : pcapfilter_resolve(tr);
}

int cbpf_translate(struct bpf_insn **out, uint32_t *out_cnt, const struct cbpf_insn *insns,
		   size_t cnt, const char **why)
{
	struct translation tr = {
		.insns = insns,
		.cnt = cnt,
		.states = calloc(cnt + 1, sizeof(*tr.states)),
		.places = calloc(cnt + 1, sizeof(*tr.places)),
		.out = calloc((cnt + 2) * PER_INSN_MAX, sizeof(*tr.out)),
		.fixups = calloc((cnt + 1) * 2, sizeof(*tr.fixups)),
	};
	int err = tr.states && tr.places && tr.out && tr.fixups ? translate_insns(&tr) : -ENOMEM;

	*why = tr.why;
	free(tr.states);
	free(tr.places);
	free(tr.fixups);
	if (err) {
		free(tr.out);
		return err;
	}
	*out = tr.out;
	*out_cnt = tr.out_cnt;
	return 0;
}

/* ---- the filter of a recorded call, run here ---- */

#define STACK_BYTES 64

struct machine {
	uint64_t regs[BPF_REG_10 + 1];
	uint8_t stack[STACK_BYTES];
	uint8_t view[NFG_VIEW_LACKS + 1];
	bool lacks_data; /* the filter has asked for what is not known */
};

static bool has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_UDPLITE ||
	       proto == IPPROTO_SCTP;
}

/* A later fragment has no ports. */
static bool is_fragment(const struct nfg_packet *packet)
{
	return has_ports(packet->proto) && !packet->from_sock && !packet->sport && !packet->dport;
}

/* As view_of_sock of bpf/filter.bpf.h. Return: the number of valid bytes; 0: the family is unknown. */
static uint32_t view_of(uint8_t *view, const struct nfg_packet *any)
{
	const struct nfg_packet packet = packet_unmapped(any);
	const bool is_ipv4 = packet.family == 4;
	const uint32_t cnt = is_ipv4 ? NFG_VIEW_IPV4 : NFG_VIEW_IPV6;

	if (!is_ipv4 && packet.family != 6)
		return 0;
	view[NFG_VIEW_LACKS] = NFG_LACKS_SOCKET;
	view[0] = is_ipv4 ? 0x45 : 0x60;
	view[is_ipv4 ? 9 : 6] = packet.proto;
	memcpy(view + (is_ipv4 ? 12 : 8), packet.saddr, is_ipv4 ? 4 : 16);
	memcpy(view + (is_ipv4 ? 16 : 24), packet.daddr, is_ipv4 ? 4 : 16);
	if (!has_ports(packet.proto))
		return cnt;
	if (is_fragment(&packet)) {
		view[FRAGMENT_AT + 1] = is_ipv4; /* some offset, which is all that is read of it */
		return cnt;
	}
	memcpy(view + cnt, &packet.sport, sizeof(packet.sport));
	memcpy(view + cnt + 2, &packet.dport, sizeof(packet.dport));
	return cnt + 4;
}

/* The bytes at an offset from the view or from the end of the stack, which the translation keeps inside. */
static uint8_t *machine_at(struct machine *m, uint8_t reg, int16_t off)
{
	return reg == BPF_REG_10 ? m->stack + STACK_BYTES + off : m->view + off;
}

static size_t machine_size(const struct bpf_insn *insn)
{
	return BPF_SIZE(insn->code) == BPF_W ? 4 : BPF_SIZE(insn->code) == BPF_H ? 2 : 1;
}

static uint32_t machine_operand(const struct machine *m, const struct bpf_insn *insn)
{
	return BPF_SRC(insn->code) == BPF_X ? (uint32_t)m->regs[insn->src_reg]
					    : (uint32_t)insn->imm;
}

static uint32_t swapped(uint32_t value, int bits)
{
	return bits == 16 ? htons((uint16_t)value) : htonl(value);
}

/* All is done with 32 bits. The translation divides by nothing that is 0, and shifts by less than 32. */
static uint32_t machine_compute(const struct machine *m, const struct bpf_insn *insn)
{
	const uint32_t a = (uint32_t)m->regs[insn->dst_reg];
	const uint32_t b = machine_operand(m, insn);

	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return b;
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return a / b;
	case BPF_MOD:
		return a % b;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << b;
	case BPF_RSH:
		return a >> b;
	case BPF_NEG:
		return -a;
	default: /* BPF_END */
		return swapped(a, insn->imm);
	}
}

/* No operand has more than 32 bits. */
static bool machine_jumps(const struct machine *m, const struct bpf_insn *insn)
{
	const uint32_t a = (uint32_t)m->regs[insn->dst_reg];
	const uint32_t b = machine_operand(m, insn);

	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JSET:
		return a & b;
	default: /* BPF_JA */
		return true;
	}
}

/* A jump is taken. Where data are lacking, it is that of a load: no other tests these registers. */
static void machine_note(struct machine *m, const struct bpf_insn *insn)
{
	m->lacks_data |= insn->dst_reg == REG_VALID || insn->dst_reg == REG_LEN ||
			 (insn->dst_reg == BPF_REG_0 && BPF_OP(insn->code) == BPF_JSET);
}

/* Jumps lead forward only, so it ends. */
static uint64_t machine_run(struct machine *m, const struct pcapfilter *filter)
{
	for (uint32_t i = 0; i < filter->insn_cnt; i++) {
		const struct bpf_insn *insn = &filter->insns[i];
		const bool is_number = BPF_CLASS(insn->code) == BPF_ST;
		const uint64_t value = is_number ? (uint32_t)insn->imm : m->regs[insn->src_reg];

		switch (BPF_CLASS(insn->code)) {
		case BPF_ALU:
			m->regs[insn->dst_reg] = machine_compute(m, insn);
			break;
		case BPF_LDX:
			m->regs[insn->dst_reg] = 0;
			memcpy(&m->regs[insn->dst_reg], machine_at(m, insn->src_reg, insn->off),
			       machine_size(insn));
			break;
		case BPF_ST:
		case BPF_STX:
			memcpy(machine_at(m, insn->dst_reg, insn->off), &value, machine_size(insn));
			break;
		default:
			if (BPF_OP(insn->code) == BPF_EXIT)
				return m->regs[BPF_REG_0];
			if (!machine_jumps(m, insn))
				continue;
			if (BPF_OP(insn->code) != BPF_JA)
				machine_note(m, insn);
			i += (uint32_t)insn->off;
		}
	}
	return 0;
}

bool pcapfilter_matches(const struct pcapfilter *filter, const struct nfg_packet *packet)
{
	struct machine m = { 0 };

	m.regs[REG_VALID] = view_of(m.view, packet);
	return m.regs[REG_VALID] && machine_run(&m, filter);
}

bool pcapfilter_refuses(const struct pcapfilter *filter, const struct nfg_packet *packet)
{
	struct machine m = { 0 };

	m.regs[REG_VALID] = view_of(m.view, packet);
	return m.regs[REG_VALID] && !packet->from_sock && !machine_run(&m, filter) && !m.lacks_data;
}
