#include "scope/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/host.h"

#define PTS_MAJOR     136 /* UNIX98_PTY_SLAVE_MAJOR; the index is the minor number */
#define ANCESTORS_MAX 64
#define NO_TTY        (-1)

struct process {
	uint32_t parent;
	int tty; /* index of its controlling pseudo terminal, or NO_TTY */
};

/* pid (comm) state ppid pgrp session tty_nr; a comm may hold parentheses and blanks */
static int process_read(const char *proc, uint32_t tgid, struct process *p)
{
	FILE *file = host_open("%s/%u/stat", proc, tgid);
	char line[512];
	const char *rest;
	unsigned int tty;

	if (!file)
		return -errno;
	rest = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	if (!rest || sscanf(rest, ") %*c %u %*d %*d %u", &p->parent, &tty) != 2)
		return -EPROTO;
	p->tty = NO_TTY;
	if ((tty >> 8 & 0xfff) == PTS_MAJOR)
		p->tty = (int)((tty & 0xff) | (tty >> 12 & 0xfff00));
	return 0;
}

/* ---- descriptors: links to a path, or to "socket:[INODE]" ---- */

/* The terminal whose master is descriptor @fd, or NO_TTY. */
static int master_of(const char *proc, uint32_t tgid, const char *fd)
{
	FILE *file = host_open("%s/%u/fdinfo/%s", proc, tgid, fd);
	int tty = NO_TTY;
	char line[128];

	if (!file)
		return NO_TTY;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "tty-index: %d", &tty) == 1)
			break;
	}
	fclose(file);
	return tty;
}

struct ttys {
	int list[ANCESTORS_MAX];
	size_t cnt;
};

/* Whether the process holds the master of one of these terminals. */
static bool holds_one(const char *proc, uint32_t tgid, const struct ttys *ttys)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	char target[256];
	bool found = false;
	int tty;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%u/fd", proc, tgid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		int len =
			host_link(target, sizeof(target), "%s/%u/fd/%s", proc, tgid, entry->d_name);

		if (len < 5 || strcmp(target + len - 5, "/ptmx") != 0)
			continue;
		tty = master_of(proc, tgid, entry->d_name);
		for (size_t i = 0; i < ttys->cnt && !found; i++)
			found = ttys->list[i] == tty;
	}
	closedir(dir);
	return found;
}

/* ---- processes ---- */

/* Add a process and its sockets. Return: whether it is new. */
static bool add_holder(struct terminal *term, const char *proc, uint32_t tgid)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	char target[256];
	unsigned long long inode;
	DIR *dir;

	for (size_t i = 0; i < term->holder_cnt; i++) {
		if (term->holders[i] == tgid)
			return false;
	}
	if (term->holder_cnt == TERMINAL_HOLDERS_MAX)
		return false;
	term->holders[term->holder_cnt++] = tgid;
	snprintf(path, sizeof(path), "%s/%u/fd", proc, tgid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && term->socket_cnt < TERMINAL_SOCKETS_MAX) {
		if (host_link(target, sizeof(target), "%s/%u/fd/%s", proc, tgid, entry->d_name) >=
			    0 &&
		    sscanf(target, "socket:[%llu]", &inode) == 1)
			term->sockets[term->socket_cnt++] = inode;
	}
	if (dir)
		closedir(dir);
	return true;
}

/* Find the ancestors of @tgid that hold the master of its terminal, or of an ancestor's terminal. */
static int find_above(struct terminal *term, const char *proc, uint32_t tgid)
{
	struct ttys ttys = { 0 };
	struct process p;
	int err = process_read(proc, tgid, &p);

	if (err)
		return err;
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		if (p.tty != NO_TTY)
			ttys.list[ttys.cnt++] = p.tty;
		tgid = p.parent;
		if (!tgid || process_read(proc, tgid, &p))
			break;
		if (holds_one(proc, tgid, &ttys))
			add_holder(term, proc, tgid);
	}
	return 0;
}

/* Whether both processes have the same user and executable. */
static bool is_alike(const char *proc, uint32_t tgid, uint32_t other)
{
	uint32_t tgids[2] = { tgid, other };
	char exe[2][PATH_MAX];
	struct stat st[2];

	for (int i = 0; i < 2; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%u", proc, tgids[i]);
		if (stat(path, &st[i]))
			return false;
		if (host_link(exe[i], PATH_MAX, "%s/%u/exe", proc, tgids[i]) < 0)
			return false;
	}
	return st[0].st_uid == st[1].st_uid && !strcmp(exe[0], exe[1]);
}

/* A server has no terminal, but its clients have one each, and they forward its output. */
static void find_clients(struct terminal *term, const char *proc, uint32_t server)
{
	const struct dirent *entry;
	struct process p;
	DIR *dir;

	if (process_read(proc, server, &p) || p.tty != NO_TTY)
		return;
	dir = opendir(proc);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		uint32_t tgid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!tgid || process_read(proc, tgid, &p) || p.tty == NO_TTY ||
		    !is_alike(proc, server, tgid))
			continue;
		if (add_holder(term, proc, tgid))
			find_above(term, proc, tgid);
	}
	closedir(dir);
}

int terminal_find(struct terminal *term, const char *proc, uint32_t tgid)
{
	int err;

	*term = (struct terminal){ 0 };
	err = find_above(term, proc, tgid);
	/* a client's terminal may be another server's */
	for (size_t i = 0; !err && i < term->holder_cnt; i++)
		find_clients(term, proc, term->holders[i]);
	return err;
}
