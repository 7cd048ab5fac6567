#ifndef NFG_BASE_WHOLEFILE_H
#define NFG_BASE_WHOLEFILE_H

#include "base/text.h"

/*
 * wholefile_write - the file at @path has these bytes, readable by all, or stays as it was: whoever opens it meanwhile
 * reads the one or the other. They are on the disk before they have the name. Return: 0 or -errno, with nothing left behind.
 */
int wholefile_write(const char *path, struct text bytes);

#endif
