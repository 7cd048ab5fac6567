#include "kernel/ksymnames.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]" */
struct line {
	char type;
	char *name;
	const char *module; /* "": the kernel's own */
};

static bool line_read(char *text, struct line *line)
{
	char *type = strchr(text, ' ');
	char *end;

	if (!type || !type[1] || type[2] != ' ')
		return false;
	line->type = type[1];
	line->name = type + 3;
	end = line->name + strcspn(line->name, "\t\n");
	line->module = *end == '\t' ? end + 1 : "";
	*end = '\0';
	return true;
}

static bool is_function(const struct line *line)
{
	static const char *const others[] = { "__pfx_", "__cfi_", "__UNIQUE_ID" };

	if (!*line->name || !strchr("tTwW", line->type) || strchr(line->name, '.') ||
	    !strncmp(line->module, "[bpf]", 5) || !strncmp(line->module, "[__builtin", 10))
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!strncmp(line->name, others[i], strlen(others[i])))
			return false;
	}
	return true;
}

int ksymnames_visit(const char *path, const char *begin, void (*visit)(void *ctx, const char *name),
		    void *ctx)
{
	FILE *file = fopen(path, "re");
	const size_t len = strlen(begin);
	bool is_boot = false;
	char *text = NULL;
	size_t size = 0;
	int err;

	if (!file)
		return -errno;
	while (getline(&text, &size, file) > 0) {
		struct line line;

		if (!line_read(text, &line))
			continue;
		if (!strcmp(line.name, "_sinittext") || !strcmp(line.name, "_einittext"))
			is_boot = line.name[1] == 's';
		else if (!is_boot && !strncmp(line.name, begin, len) && is_function(&line))
			visit(ctx, line.name);
	}
	err = ferror(file) ? -EIO : 0;
	free(text);
	fclose(file);
	return err;
}
