#ifndef NFG_TEST_RANDOM_H
#define NFG_TEST_RANDOM_H

#include <stdint.h>

/* Return: a number in [0, @limit). The sequence is the same in every test case and every run. */
uint32_t random_below(uint32_t limit);

#endif
