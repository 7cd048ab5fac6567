#include "attach/detaching.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/host.h"
#include "base/log.h"

/* Attaching cannot be held up any longer than this, which is not worth a message. */
#define SHORT_NS 500000000ull

/*
 * Locks of the open file, not of the process: a process that is forked keeps them, and to look for those of others takes no lock,
 * which could be in the way of one that is about to begin.
 */
static bool slot_lock(int fd, int cmd, short *type, unsigned int slot)
{
	struct flock lock = {
		.l_type = *type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)(slot * sizeof(uint64_t)),
		.l_len = sizeof(uint64_t),
	};
	const bool works = !fcntl(fd, cmd, &lock);

	*type = lock.l_type;
	return works;
}

static bool is_locked(int fd, unsigned int slot)
{
	short type = F_RDLCK; /* who may only read the file may lock it so, and is not meant */

	return slot_lock(fd, F_OFD_GETLK, &type, slot) && type != F_UNLCK;
}

void detaching_begin(struct detaching *own, const char *path, uint64_t left_ns)
{
	short type = F_WRLCK;

	own->fd = path ? open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0644)
		       : -1;
	own->slot = 0;
	while (own->fd >= 0 && !slot_lock(own->fd, F_OFD_SETLK, &type, own->slot)) {
		if (++own->slot == ATTACH_OTHERS_MAX)
			detaching_end(own);
	}
	detaching_note(own, left_ns);
}

void detaching_note(const struct detaching *own, uint64_t left_ns)
{
	if (own->fd >= 0 &&
	    pwrite(own->fd, &left_ns, sizeof(left_ns), (off_t)(own->slot * sizeof(left_ns))) < 0)
		log_debug("cannot write how long detaching takes: %s", strerror(errno));
}

void detaching_end(struct detaching *own)
{
	if (own->fd >= 0)
		close(own->fd);
	own->fd = -1;
}

struct detaching_others detaching_others(const char *path, const struct detaching *own)
{
	const bool is_own = own && own->fd >= 0;
	const int fd =
		is_own ? own->fd : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct detaching_others others = { 0 };
	bool is_known = true;

	for (unsigned int slot = 0; fd >= 0 && slot < ATTACH_OTHERS_MAX; slot++) {
		uint64_t left_ns = 0;

		if (!is_locked(fd, slot))
			continue;
		if (pread(fd, &left_ns, sizeof(left_ns), (off_t)(slot * sizeof(left_ns))) !=
		    sizeof(left_ns))
			left_ns = 0;
		is_known = is_known && left_ns;
		others.each_ns[others.cnt++] = left_ns;
		others.left_ns += left_ns;
	}
	if (!is_known)
		others.left_ns = 0;
	if (fd >= 0 && !is_own)
		close(fd);
	return others;
}

uint64_t detaching_beside_ns(const struct detaching_others *others, uint64_t own_ns)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < others->cnt; i++)
		ns += others->each_ns[i] < own_ns ? others->each_ns[i] : own_ns;
	return ns;
}

bool detaching_text(const struct detaching_others *others, uint64_t beside_us, char *out)
{
	const uint64_t sec = (beside_us + 500000) / 1000000;
	char about[64] = "";

	if (others->left_ns && beside_us)
		snprintf(about, sizeof(about),
			 ", which takes about %" PRIu64 " s more beside this trace", sec);
	snprintf(
		out, DETACHING_TEXT,
		"an earlier netfgraph still detaches its functions%s; attaching takes longer until then",
		about);
	return others->cnt && (!others->left_ns || others->left_ns >= SHORT_NS);
}

struct detaching_others detaching_tell(const char *path, const struct attach_shares *shares)
{
	static bool is_told;
	const struct detaching_others others = detaching_others(path, NULL);
	const struct attach_others left = { others.each_ns, others.cnt };
	char text[DETACHING_TEXT];
	unsigned int version[2];
	uint64_t beside_us;

	if (is_told || !others.cnt)
		return others;
	host_kernel_version(version);
	beside_us = attach_beside_of(shares, arch_host(), version, &left).others_us;
	is_told = detaching_text(&others, beside_us, text);
	if (is_told)
		log_warn("%s", text);
	return others;
}
