#include "scope/podman_pods.h"

#include <string.h>

#include "scope/container_layout.h"

#define ID_LEN 64

static bool is_name_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || c == '.' || c == '-';
}

/* Whether @text, which has @len bytes, begins with @part. */
static bool begins(const char *text, size_t len, const char *part)
{
	return len >= strlen(part) && !memcmp(text, part, strlen(part));
}

/* Whether the bytes of @file before @at are @part. */
static bool is_before(struct text file, size_t at, const char *part)
{
	size_t len = strlen(part);

	return at >= len && !memcmp(file.ptr + at - len, part, len);
}

/* {"id":"ID","name":"NAME" at @at. */
static bool pod_parse(struct text file, size_t at, struct podman_pod *pod)
{
	static const char before_id[] = "{\"id\":\"";
	static const char before_name[] = "\",\"name\":\"";
	const char *text = file.ptr + at;
	size_t left = file.len - at;
	size_t len = 0;

	if (!begins(text, left, before_id))
		return false;
	text += strlen(before_id);
	left -= strlen(before_id);
	if (left < ID_LEN)
		return false;
	memcpy(pod->id, text, ID_LEN);
	pod->id[ID_LEN] = '\0';
	text += ID_LEN;
	left -= ID_LEN;
	if (container_hex_len(pod->id) != ID_LEN || !begins(text, left, before_name))
		return false;
	text += strlen(before_name);
	left -= strlen(before_name);
	while (len < left && len < sizeof(pod->name) && is_name_char(text[len]))
		len++;
	if (!len || len == left || len == sizeof(pod->name) || text[len] != '"')
		return false;
	memcpy(pod->name, text, len);
	pod->name[len] = '\0';
	return true;
}

/*
 * BoltDB has the key, "config", before the value; SQLite has the columns ID and Name before the column JSON. Text like
 * a configuration that is part of another one, such as the labels of a container, has neither.
 */
static bool is_config(struct text file, size_t at, const struct podman_pod *pod)
{
	if (is_before(file, at, "config"))
		return true;
	return is_before(file, at, pod->name) && is_before(file, at - strlen(pod->name), pod->id);
}

bool podman_pods_next(struct text file, size_t *at, struct podman_pod *pod)
{
	while (*at < file.len) {
		const char *brace = memchr(file.ptr + *at, '{', file.len - *at);

		if (!brace)
			break;
		*at = (size_t)(brace - file.ptr) + 1;
		if (pod_parse(file, *at - 1, pod) && is_config(file, *at - 1, pod))
			return true;
	}
	*at = file.len;
	return false;
}
