#ifndef NFG_SCOPE_CONTAINER_LAYOUT_H
#define NFG_SCOPE_CONTAINER_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "scope/container.h"

/* Ids of containers. Private to user/scope/; container_parse, of the same file, is in container.h. */

/* container_hex_len - how many hexadecimal digits @text begins with. */
size_t container_hex_len(const char *text);

/* container_is_id - whether @name is nothing but the id of a container, at least as long as it is printed. */
bool container_is_id(const char *name);

#endif
