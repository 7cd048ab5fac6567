#ifndef NFG_SELECT_COMMON_H
#define NFG_SELECT_COMMON_H

#include <stdbool.h>

/*
 * Functions that common traffic comes through. Where only so many functions can be attached, these are worth more than others
 * that are as near to a start function.
 */

/* common_has - whether @name was seen with common traffic. */
bool common_has(const char *name);

#endif
