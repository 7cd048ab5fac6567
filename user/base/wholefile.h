#ifndef NFG_BASE_WHOLEFILE_H
#define NFG_BASE_WHOLEFILE_H

#include "base/text.h"

/*
 * wholefile_write - atomically replace the file at @path, readable by all: a reader gets either the old contents or
 * the new ones. The bytes are on disk before the rename. Return: 0 or -errno, with no temporary file left.
 */
int wholefile_write(const char *path, struct text bytes);

#endif
