#include "base/openhint.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

void openhint_read(int err)
{
	switch (err) {
	case -ENOENT:
		log_hint("'netfgraph record -o FILE' makes a recording");
		break;
	case -EISDIR:
		log_hint("give the name of a file in this directory");
		break;
	case -EACCES:
		log_hint("its owner and root may read it");
		break;
	default:
		break;
	}
}

void openhint_write(const char *path, int err)
{
	const char *slash = strrchr(path, '/');

	switch (err) {
	case -ENOENT:
		if (slash && slash > path)
			log_hint("mkdir -p '%.*s' makes the directory", (int)(slash - path), path);
		break;
	case -EISDIR:
		log_hint("-o takes the name of a file");
		break;
	case -EACCES:
		log_hint("-o takes a file in a directory that you may write to");
		break;
	default:
		break;
	}
}
