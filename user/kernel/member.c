#include "kernel/member.h"

#include <bpf/btf.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/vec.h"
#include "kernel/kbtf.h"

#define PTR_BYTES  8
#define DEPTH_MAX  8u     /* of unnamed structs: in a damaged BTF one may contain itself */
#define DIRECT_MAX 32767u /* bytes: offset of a load */

/* ---- types ---- */

/* The last type tag among the names and qualifiers of the type; NULL: there is none. */
static const char *type_tag(const struct btf *btf, uint32_t type_id)
{
	const struct btf_type *type = btf__type_by_id(btf, type_id);
	const char *tag = NULL;

	for (unsigned int i = 0; type && i < 32; i++) {
		if (btf_is_type_tag(type))
			tag = btf__name_by_offset(btf, type->name_off);
		if (!btf_is_mod(type) && !btf_is_typedef(type) && !btf_is_type_tag(type))
			break;
		type = btf__type_by_id(btf, type->type);
	}
	return tag;
}

uint32_t member_pointee(const struct btf *btf, uint32_t type_id)
{
	uint32_t id;
	const struct btf_type *type = kbtf_type(btf, type_id, &id);

	if (!type || !btf_is_ptr(type))
		return 0;
	type = kbtf_type(btf, type->type, &id);
	return type && btf_is_composite(type) ? id : 0;
}

uint32_t member_arg(const struct btf *btf, const struct btf_type *proto, struct text name)
{
	const struct btf_param *args = btf_params(proto);
	uint32_t idx = 0;

	while (idx < btf_vlen(proto) &&
	       !text_equal(text_from(btf__name_by_offset(btf, args[idx].name_off)), name))
		idx++;
	return idx;
}

bool member_is_loadable(const struct btf *btf, uint32_t type_id)
{
	uint32_t id;
	const struct btf_type *type = kbtf_type(btf, type_id, &id);

	if (!type)
		return false;
	if (btf_is_int(type) || btf_is_any_enum(type))
		return true;
	return btf_is_ptr(type) && (!type->type || member_pointee(btf, type_id));
}

/* ---- the path ---- */

static size_t word_len(const char *text)
{
	size_t len = 0;

	if (isdigit((unsigned char)*text))
		return 0;
	while (isalnum((unsigned char)text[len]) || text[len] == '_')
		len++;
	return len;
}

/* The sign at @text that a name follows; 0: none. */
static size_t sign_len(const char *text)
{
	if (*text == '.' || *text == ':')
		return 1;
	return text[0] == '-' && text[1] == '>' ? 2 : 0;
}

static size_t part_len(const char *text)
{
	const size_t sign = sign_len(text);
	const size_t word = sign ? word_len(text + sign) : 0;
	size_t digits;

	if (sign)
		return word ? sign + word : 0;
	digits = *text == '[' ? strspn(text + 1, "0123456789") : 0;
	return digits && text[1 + digits] == ']' ? digits + 2 : 0;
}

size_t member_path_len(const char *text)
{
	size_t len = 0;
	size_t more;

	while ((more = part_len(text + len)))
		len += more;
	return len;
}

/* The byte at *@at, "." for "->"; then *@at is behind it. */
static char take_byte(struct text path, size_t *at)
{
	const bool is_arrow = *at + 1 < path.len && !memcmp(path.ptr + *at, "->", 2);
	const char byte = is_arrow ? '.' : path.ptr[*at];

	*at += is_arrow ? 2 : 1;
	return byte;
}

bool member_is_same(struct text a, struct text b)
{
	size_t a_at = 0;
	size_t b_at = 0;

	while (a_at < a.len && b_at < b.len) {
		if (take_byte(a, &a_at) != take_byte(b, &b_at))
			return false;
	}
	return a_at == a.len && b_at == b.len;
}

void member_put_dotted(char *out, size_t size, const char *path)
{
	const struct text text = text_from(path);
	size_t len = 0;

	for (size_t at = 0; at < text.len && len + 1 < size;)
		out[len++] = take_byte(text, &at);
	out[len] = '\0';
}

/* ---- walking along it ---- */

/* What the path has reached: a pointer that was given (no step yet), or a place behind the last step's pointer. */
struct walk {
	struct member *out;
	const struct btf *btf;
	const struct btf_type *type; /* NULL: void */
	uint32_t type_id;            /* resolved */
	uint32_t cast_id; /* the struct to which the pointer points in truth; 0: as its type says */
	bool is_direct;
	struct text path; /* all of it, for complaints */
	char *why;
};

static bool walk_complain(struct walk *w, const char *what, struct text word, const char *more)
{
	snprintf(w->why, MEMBER_WHY, what, (int)(word.len > 60 ? 60 : word.len), word.ptr, more);
	return false;
}

static const char *walk_type_name(const struct walk *w, const struct btf_type *type)
{
	const char *name = btf__name_by_offset(w->btf, type->name_off);

	return name && *name ? name : "{...}";
}

static bool walk_is_pointer(const struct walk *w)
{
	return w->cast_id || (w->type && btf_is_ptr(w->type));
}

/* The load of the pointer itself, then a place behind it. */
static bool walk_deref(struct walk *w, struct text before)
{
	struct member *m = w->out;
	const struct btf_type *pointer = w->type;
	const char *tag;

	if (m->step_cnt == MEMBER_STEP_MAX)
		return walk_complain(w, "'%.*s' is behind too many pointers%s", w->path, "");
	if (m->step_cnt && w->is_direct)
		m->direct_cnt = m->step_cnt;
	m->offsets[m->step_cnt++] = 0;
	if (w->cast_id) {
		w->is_direct = false; /* the verifier knows another type */
		w->type_id = w->cast_id;
		w->type = btf__type_by_id(w->btf, w->cast_id);
		w->cast_id = 0;
		return true;
	}
	tag = type_tag(w->btf, pointer->type);
	w->type = kbtf_type(w->btf, pointer->type, &w->type_id);
	if (tag && (!strcmp(tag, "user") || !strcmp(tag, "percpu")))
		return walk_complain(w, "'%.*s' points to memory %s", before,
				     *tag == 'u' ? "of the process" : "of each CPU");
	w->is_direct &= !tag;
	if (!w->type)
		return walk_complain(w, "'%.*s' points to void; %s names its struct", before,
				     "ARGUMENT:STRUCT.MEMBER");
	return true;
}

struct found {
	uint32_t type_id;
	uint32_t bit_offset;
	uint32_t bit_cnt;
	bool is_odd; /* the verifier may look at another member there */
};

/* Macros that the kernel's source uses like members: PREFIX_NAME stands for INSIDE.PREFIX_NAME. */
static const struct {
	const char *prefix;
	const char *inside;
	const char *inner_prefix;
} member_macros[] = {
	{ "sk_", "__sk_common", "skc_" },
	{ "tw_", "__tw_common", "skc_" },
	{ "rsk_", "__req_common", "skc_" },
	{ "inet_", "sk", "sk_" },
};

/* The struct in which the macros of @at are, if @member is one. */
static const struct btf_type *macro_struct(const struct btf *btf, const struct btf_member *member,
					   size_t at)
{
	const char *known = btf__name_by_offset(btf, member->name_off);
	const struct btf_type *inside;
	uint32_t id;

	if (!known || strcmp(known, member_macros[at].inside) != 0)
		return NULL;
	inside = kbtf_type(btf, member->type, &id);
	return inside && btf_is_struct(inside) ? inside : NULL;
}

#define SHARED_INFO "shinfo"

/* The struct of an unnamed member. */
static const struct btf_type *unnamed_struct(const struct btf *btf, const struct btf_member *member,
					     unsigned int depth)
{
	const char *known = btf__name_by_offset(btf, member->name_off);
	const struct btf_type *inside;
	uint32_t id;

	if ((known && *known) || depth == DEPTH_MAX)
		return NULL;
	inside = kbtf_type(btf, member->type, &id);
	return inside && btf_is_composite(inside) ? inside : NULL;
}

static bool find_member(const struct btf *btf, const struct btf_type *type, struct text name,
			struct found *out, unsigned int depth)
{
	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];
		const uint32_t bit_offset = btf_member_bit_offset(type, i);
		const char *known = btf__name_by_offset(btf, member->name_off);
		const struct btf_type *inside = unnamed_struct(btf, member, depth);

		if (known && *known && text_equal(text_from(known), name)) {
			*out = (struct found){ member->type, bit_offset,
					       btf_member_bitfield_size(type, i),
					       btf_is_union(type) && i };
			return true;
		}
		if (!inside || !find_member(btf, inside, name, out, depth + 1))
			continue;
		out->bit_offset += bit_offset;
		out->is_odd |= btf_is_union(type) && i;
		return true;
	}
	return false;
}

static bool find_by_macro(const struct btf *btf, const struct btf_type *type, struct text name,
			  struct found *out)
{
	char word[SUGGEST_NAME_BYTES];

	for (size_t at = 0; at < ARRAY_SIZE(member_macros); at++) {
		const size_t len = strlen(member_macros[at].prefix);

		if (name.len <= len || memcmp(name.ptr, member_macros[at].prefix, len) != 0)
			continue;
		snprintf(word, sizeof(word), "%s%.*s", member_macros[at].inner_prefix,
			 (int)(name.len - len), name.ptr + len);
		for (uint32_t i = 0; i < btf_vlen(type); i++) {
			const struct btf_type *inside =
				macro_struct(btf, &btf_members(type)[i], at);

			if (!inside || (!find_member(btf, inside, text_from(word), out, 0) &&
					!(at == ARRAY_SIZE(member_macros) - 1 &&
					  find_by_macro(btf, inside, text_from(word), out))))
				continue;
			out->bit_offset += btf_member_bit_offset(type, i);
			return true;
		}
	}
	return false;
}

/* @trade: of a macro's struct: the prefix that takes the place of its own; NULL: of no macro. */
static void offer_members(const struct btf *btf, const struct btf_type *type, struct suggest *near,
			  const char *trade, unsigned int depth)
{
	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];
		const char *known = btf__name_by_offset(btf, member->name_off);
		const struct btf_type *inside = unnamed_struct(btf, member, depth);
		char word[SUGGEST_NAME_BYTES];

		if (inside)
			offer_members(btf, inside, near, trade, depth + 1);
		if (!known || !*known)
			continue;
		snprintf(word, sizeof(word), "%s%s", trade ? trade : "",
			 known + (trade && !strncmp(known, "skc_", 4) ? 4 : 0));
		suggest_add(near, word);
		for (size_t at = 0; at < ARRAY_SIZE(member_macros) - 1 && !trade; at++) {
			inside = macro_struct(btf, member, at);
			if (inside)
				offer_members(btf, inside, near, member_macros[at].prefix,
					      depth + 1);
		}
	}
}

static bool lacks_member(struct walk *w, struct text name)
{
	const char *kind = btf_is_union(w->type) ? "union" : "struct";
	const char *of = walk_type_name(w, w->type);
	char word[SUGGEST_NAME_BYTES];
	char all[160];
	struct suggest near;
	const char *text;
	bool is_near;

	snprintf(word, sizeof(word), "%.*s", (int)name.len, name.ptr);
	suggest_begin(&near, word);
	offer_members(w->btf, w->type, &near, NULL, 0);
	text = suggest_text(&near);
	is_near = *text != '\0';
	/* of thousands of types, this one */
	snprintf(
		all, sizeof(all),
		"bpftool btf dump file /sys/kernel/btf/vmlinux format c | sed -n '/^%s %.60s {/,/^}/p'",
		kind, of);
	snprintf(w->why, MEMBER_WHY, "%s %.60s has no member '%s'; %s %s%s", kind, of, word,
		 is_near ? "did you mean" : "its members:", is_near ? text : all,
		 is_near ? "?" : "");
	return false;
}

/* Whether the type is __be16, __be32 or __be64. */
static bool is_big_endian(const struct btf *btf, uint32_t type_id)
{
	const struct btf_type *type = btf__type_by_id(btf, type_id);

	for (unsigned int i = 0; type && i < 32; i++) {
		const char *name = btf__name_by_offset(btf, type->name_off);

		if (btf_is_typedef(type) && name && !strncmp(name, "__be", 4))
			return true;
		if (!btf_is_mod(type) && !btf_is_typedef(type))
			break;
		type = btf__type_by_id(btf, type->type);
	}
	return false;
}

/*
 * skb_shinfo(): the struct at skb->head + skb->end. Return: whether @name is it; @is_found: whether the kernel has it so.
 */
static bool walk_shared_info(struct walk *w, struct text name, bool *is_found)
{
	struct member *m = w->out;
	struct found head, end;
	int id;

	if (!text_equal(name, text_from(SHARED_INFO)) ||
	    !find_member(w->btf, w->type, text_from("head"), &head, 0) ||
	    !find_member(w->btf, w->type, text_from("end"), &end, 0) ||
	    btf__resolve_size(w->btf, end.type_id) != sizeof(uint32_t))
		return false;
	id = btf__find_by_name_kind(w->btf, "skb_shared_info", BTF_KIND_STRUCT);
	*is_found = id > 0 && !m->sum_at;
	if (id < 0)
		walk_complain(w, "the kernel has no struct '%.*s'%s", text_from("skb_shared_info"),
			      "");
	else if (m->sum_at)
		walk_complain(w, "'%.*s' has " SHARED_INFO " twice%s", w->path, "");
	m->sum_at = m->step_cnt;
	m->sum_offset = m->offsets[m->step_cnt - 1] + end.bit_offset / 8;
	m->offsets[m->step_cnt - 1] += head.bit_offset / 8;
	w->cast_id = id > 0 ? (uint32_t)id : 0;
	w->is_direct = false;
	return true;
}

static bool walk_member(struct walk *w, struct text name, struct text before)
{
	struct member *m = w->out;
	struct found found;
	bool is_found;

	if (m->bit_cnt || (!walk_is_pointer(w) && (!w->type || !btf_is_composite(w->type))))
		return walk_complain(w, "'%.*s' is neither a struct nor a pointer to one%s", before,
				     "");
	if (walk_is_pointer(w) && !walk_deref(w, before))
		return false;
	if (btf_is_ptr(w->type))
		return walk_complain(w, "'%.*s' points to a pointer%s", before,
				     "; [0] goes on to it: pskb[0].mark");
	if (!btf_is_composite(w->type))
		return walk_complain(w,
				     btf_is_fwd(w->type)
					     ? "the types lack the struct to which '%.*s' points%s"
					     : "'%.*s' does not point to a struct%s",
				     before, "");
	if (!find_member(w->btf, w->type, name, &found, 0) &&
	    !find_by_macro(w->btf, w->type, name, &found))
		return walk_shared_info(w, name, &is_found) ? is_found : lacks_member(w, name);
	m->offsets[m->step_cnt - 1] += found.bit_offset / 8;
	if (found.bit_cnt) {
		m->bit_begin = (uint8_t)(found.bit_offset % 8);
		m->bit_cnt = (uint8_t)found.bit_cnt;
	}
	w->is_direct &= !found.is_odd && !found.bit_cnt;
	m->is_be = is_big_endian(w->btf, found.type_id);
	w->type = kbtf_type(w->btf, found.type_id, &w->type_id);
	return true;
}

static bool walk_index(struct walk *w, unsigned long index, struct text before)
{
	const struct btf_type *pointer = w->type;
	int64_t bytes;
	uint32_t elem_id = 0;

	if (!walk_is_pointer(w) && (!w->type || !btf_is_array(w->type)))
		return walk_complain(w, "'%.*s' is no array%s", before, "");
	if (walk_is_pointer(w)) {
		if (!walk_deref(w, before))
			return false;
		elem_id = btf_is_ptr(pointer) ? pointer->type : w->type_id;
	} else {
		const struct btf_array *array = btf_array(w->type);

		if (array->nelems && index >= array->nelems)
			return walk_complain(w, "'%.*s' has fewer elements%s", before, "");
		elem_id = array->type;
		w->type = kbtf_type(w->btf, elem_id, &w->type_id);
	}
	w->out->is_be = is_big_endian(w->btf, elem_id);
	bytes = w->type ? btf__resolve_size(w->btf, w->type_id) : 0;
	if (bytes <= 0 || index > INT16_MAX || bytes * (int64_t)index > INT32_MAX / 2)
		return walk_complain(w, "'%.*s' has no such element%s", before, "");
	w->out->offsets[w->out->step_cnt - 1] += (uint32_t)(bytes * index);
	w->is_direct = false;
	return true;
}

/* Numbers of a struct sk_buff with an address and, in its low bits, something else (SKB_DST_PTRMASK, NFCT_PTRMASK). */
static bool has_low_bits(struct text before)
{
	static const char *const members[] = { "_skb_refdst", "_nfct" };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const size_t len = strlen(members[i]);

		if (before.len > len && !memcmp(before.ptr + before.len - len, members[i], len) &&
		    strchr(".>", before.ptr[before.len - len - 1]))
			return true;
	}
	return false;
}

/* The bytes of an array are those of a struct: skb.cb. */
static bool cast_array(struct walk *w, uint32_t id, struct text before)
{
	const struct btf_type *type = btf__type_by_id(w->btf, id);

	if (btf__resolve_size(w->btf, w->type_id) < (int64_t)type->size)
		return walk_complain(w, "'%.*s' is smaller than that struct%s", before, "");
	w->type = type;
	w->type_id = id;
	w->is_direct = false;
	return true;
}

static bool walk_cast(struct walk *w, struct text name, struct text before)
{
	char word[SUGGEST_NAME_BYTES];
	const bool is_number = w->type && btf_is_int(w->type) && w->type->size == PTR_BYTES;
	const bool is_array = !w->cast_id && w->type && btf_is_array(w->type);
	int id;

	snprintf(word, sizeof(word), "%.*s", (int)name.len, name.ptr);
	if (!is_number && !is_array && !walk_is_pointer(w))
		return walk_complain(w, "'%.*s' is no pointer%s", before, "");
	id = btf__find_by_name_kind(w->btf, word, BTF_KIND_STRUCT);
	if (id < 0)
		id = btf__find_by_name_kind(w->btf, word, BTF_KIND_UNION);
	if (id < 0)
		return walk_complain(w, "the kernel has no struct '%.*s'%s", name, "");
	if (is_array)
		return cast_array(w, (uint32_t)id, before);
	w->cast_id = (uint32_t)id;
	if (is_number && has_low_bits(before))
		w->out->bits_at = w->out->step_cnt;
	return true;
}

/* One part of the path, after @before. */
static bool walk_part(struct walk *w, struct text part, struct text before)
{
	const size_t sign = sign_len(part.ptr);
	const struct text name = { part.ptr + sign, part.len - sign };

	if (*part.ptr == '[')
		return walk_index(w, strtoul(part.ptr + 1, NULL, 10), before);
	return *part.ptr == ':' ? walk_cast(w, name, before) : walk_member(w, name, before);
}

/* How the last load is done. */
static bool walk_end(struct walk *w)
{
	struct member *m = w->out;
	const struct btf_type *type = w->type;
	const bool is_scalar =
		type && (btf_is_ptr(type) || btf_is_int(type) || btf_is_any_enum(type));
	const int64_t bytes = !type ? 0 : btf_is_ptr(type) ? PTR_BYTES : type->size;

	if (!m->step_cnt || w->cast_id)
		return walk_complain(w, "'%.*s' ends with a struct's name, not with a member%s",
				     w->path, "");
	for (uint8_t i = 0; i < m->step_cnt; i++) {
		if (m->offsets[i] > INT32_MAX)
			return walk_complain(w, "'%.*s' has no such element%s", w->path, "");
	}
	m->type_id = w->type_id;
	m->elem_cnt = type && btf_is_array(type) ? btf_array(type)->nelems : 0;
	if (m->bit_cnt) {
		m->bytes = (uint8_t)((m->bit_begin + m->bit_cnt + 7u) / 8);
		if (m->bytes <= PTR_BYTES)
			return true;
		return walk_complain(w, "'%.*s' is too wide a bit field%s", w->path, "");
	}
	if (is_scalar && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8))
		m->bytes = (uint8_t)bytes;
	if (m->bytes && w->is_direct)
		m->direct_cnt = m->step_cnt;
	for (uint8_t i = 0; i < m->direct_cnt; i++) {
		if (m->offsets[i] > DIRECT_MAX)
			m->direct_cnt = i;
	}
	return true;
}

bool member_resolve(struct member *out, const struct btf *btf, uint32_t type_id, struct text path,
		    size_t root_len, bool is_direct, char *why)
{
	struct walk w = { .out = out,
			  .btf = btf,
			  .is_direct = is_direct,
			  .path = { path.ptr - root_len, path.len + root_len },
			  .why = why };

	*out = (struct member){ 0 };
	w.type = kbtf_type(btf, type_id, &w.type_id);
	for (size_t at = 0; at < path.len;) {
		const size_t len = part_len(path.ptr + at);
		const struct text before = { path.ptr - root_len, root_len + at };

		if (!len)
			return walk_complain(&w, "'%.*s' is no member%s", w.path, "");
		if (!walk_part(&w, (struct text){ path.ptr + at, len }, before))
			return false;
		at += len;
	}
	return walk_end(&w);
}
