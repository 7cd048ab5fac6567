#ifndef NFG_SCOPE_CONTAINER_LAYOUT_H
#define NFG_SCOPE_CONTAINER_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "scope/container.h"

/* Ids of containers. Private to user/scope/; container_parse, of the same file, is in container.h. */

/* container_hex_len - the number of hexadecimal digits at the start of @text. */
size_t container_hex_len(const char *text);

/* container_is_id - whether all of @name is a container's id, at least CONTAINER_ID_SHORT long. */
bool container_is_id(const char *name);

#endif
