#ifndef NFG_BASE_HASH_H
#define NFG_BASE_HASH_H

#include <stdint.h>

/*
 * hash_u64 - a number whose every bit depends on all bits of @key, and on this run: a file cannot choose keys
 * that meet in a table.
 */
uint64_t hash_u64(uint64_t key);

#endif
