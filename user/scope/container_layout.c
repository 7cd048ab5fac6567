/* How the container runtimes name their cgroups. Another runtime: another row of the table. */
#include "scope/container_layout.h"

#include <string.h>

#include "base/glob.h"

enum id_kind {
	ID_HEX,       /* hex digits, at least as many as are printed; a beginning will do */
	ID_HEX_WHOLE, /* exactly 64 of them: no prefix identifies it */
	ID_NAME,      /* a name, \x2d for - */
	ID_POD,       /* a uid, _ for - */
};

/* The first that fits the last component of a cgroup's path counts. */
static const struct layout {
	const char *runtime;
	const char *parent; /* glob of the component above, NULL any */
	const char *glob;   /* of the last component */
	const char *before; /* the id follows this */
	const char *after;  /* and ends where this begins */
	enum id_kind kind;
} layouts[] = {
	/* systemd's cgroup driver: system.slice, machine.slice, kubepods-*.slice, user.slice/... */
	{ "docker", NULL, "docker-*.scope", "docker-", ".scope", ID_HEX },
	{ "containerd", NULL, "cri-containerd-*.scope", "cri-containerd-", ".scope", ID_HEX },
	{ "containerd", NULL, "nerdctl-*.scope", "nerdctl-", ".scope", ID_HEX },
	{ "cri-o", NULL, "crio-*.scope", "crio-", ".scope", ID_HEX },
	{ "podman", NULL, "libpod-*.scope", "libpod-", ".scope", ID_HEX },
	{ "pod", NULL, "*kubepods*-pod*.slice", "-pod", ".slice", ID_POD },
	{ "podman pod", NULL, "*-libpod_pod_*.slice", "-libpod_pod_", ".slice", ID_HEX },
	/* the cgroupfs driver */
	{ "docker", "docker", "*", "", "", ID_HEX },
	{ "kubernetes", "pod*-*-*-*-*", "*", "", "", ID_HEX },
	/* a static pod's uid is a hash */
	{ "kubernetes", "pod????????????????????????????????", "*", "", "", ID_HEX },
	{ "podman pod", "libpod_parent", "*", "", "", ID_HEX },
	{ "cri-o", NULL, "crio-*", "crio-", "", ID_HEX },
	{ "podman", NULL, "libpod-payload-*", "libpod-payload-", "", ID_HEX },
	{ "podman", NULL, "libpod-*", "libpod-", "", ID_HEX },
	{ "pod", "kubepods", "pod*", "pod", "", ID_POD },
	{ "pod", "burstable", "pod*", "pod", "", ID_POD },
	{ "pod", "besteffort", "pod*", "pod", "", ID_POD },
	/* those with names */
	{ "nspawn", NULL, "systemd-nspawn@*.service", "@", ".service", ID_NAME },
	{ "machine", NULL, "machine-*.scope", "machine-", ".scope", ID_NAME },
	{ "lxc", NULL, "lxc.payload.*", "lxc.payload.", "", ID_NAME },
	{ "lxc", "lxc", "[!.]*", "", "", ID_NAME },
	/* any other engine's, ctr's and --cgroup-parent's among them */
	{ "container", NULL, "*", "", "", ID_HEX_WHOLE },
};

size_t container_hex_len(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

bool container_is_id(const char *name)
{
	size_t len = container_hex_len(name);

	return len >= CONTAINER_ID_SHORT && !name[len];
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* systemd writes \x2d for - in the names it puts into units. */
static void unit_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		if (from[0] == '\\' && from[1] == 'x' && hex_digit(from[2]) >= 0 &&
		    hex_digit(from[3]) >= 0 && (from[2] != '0' || from[3] != '0')) {
			*to++ = (char)(hex_digit(from[2]) << 4 | hex_digit(from[3]));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static bool name_is_kind(char *name, enum id_kind kind)
{
	switch (kind) {
	case ID_HEX:
		return container_is_id(name);
	case ID_HEX_WHOLE:
		return container_hex_len(name) == 64 && !name[64];
	case ID_POD:
		for (char *at = name; *at; at++)
			*at = *at == '_' ? '-' : *at;
		return name[0];
	case ID_NAME:
		unit_unescape(name);
		return name[0];
	}
	return false;
}

static bool layout_fits(const struct layout *layout, const char *parent, const char *last,
			char *name)
{
	const char *start;
	size_t len;

	if (layout->parent && !glob_match(layout->parent, parent))
		return false;
	if (!glob_match(layout->glob, last))
		return false;
	start = strstr(last, layout->before);
	if (!start)
		return false;
	start += strlen(layout->before);
	len = strlen(start);
	if (len < strlen(layout->after) || len >= CONTAINER_NAME_MAX)
		return false;
	len -= strlen(layout->after);
	memcpy(name, start, len);
	name[len] = '\0';
	return name_is_kind(name, layout->kind);
}

const char *container_parse(const char *path, char *name)
{
	const char *last = strrchr(path, '/');
	char parent[CONTAINER_NAME_MAX] = "";
	const char *above = last;
	size_t len;

	if (!last)
		return NULL;
	while (above > path && above[-1] != '/')
		above--;
	len = (size_t)(last - above);
	if (len < sizeof(parent)) {
		memcpy(parent, above, len);
		parent[len] = '\0';
	}
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layout_fits(&layouts[i], parent, last + 1, name))
			return layouts[i].runtime;
	}
	return NULL;
}
