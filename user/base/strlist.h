#ifndef NFG_BASE_STRLIST_H
#define NFG_BASE_STRLIST_H

#include <stddef.h>

/* Words of the command line; the strings are argv's. Zeroed: empty. */
struct str_list {
	const char **items;
	size_t cnt;
	size_t cap;
};

/* str_list_add - Return: NULL, or what is wrong with @text ("'TEXT' " goes before it). */
const char *str_list_add(struct str_list *list, const char *text);
void str_list_release(struct str_list *list);

#endif
