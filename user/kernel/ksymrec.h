#ifndef NFG_KERNEL_KSYMREC_H
#define NFG_KERNEL_KSYMREC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A symbol, followed by its module's name and its own, each in whole words with a NUL in the last one. The BPF
 * program of ksymiter.c writes this layout, so the byte order is that of x86-64 and arm64.
 */
struct ksymrec {
	uint64_t addr;        /* 0: hidden */
	uint32_t link;        /* from the program: the symbol's number; then for use by ksyms.c */
	uint8_t type;         /* the letter; 0: no name */
	uint8_t flags;        /* KSYMREC_* */
	uint8_t name_words;   /* of 8 bytes */
	uint8_t module_words; /* 0: the kernel's own */
};

_Static_assert(sizeof(struct ksymrec) == 16, "what the BPF program writes");

#define KSYMREC_WORD      8
#define KSYMREC_WORDS_MAX UINT8_MAX

#define KSYMREC_EXPORTED  1
/* Set by ksyms.c: its memory was freed; the memory of a symbol of that name was. */
#define KSYMREC_INIT     2
#define KSYMREC_ANY_INIT 4

/* The lowest and the highest bit of each byte in a word. */
#define KSYMREC_LOWEST  0x0101010101010101ull
#define KSYMREC_HIGHEST 0x8080808080808080ull

/* ksymrec_bytes - its size with both names. */
static inline size_t ksymrec_bytes(const struct ksymrec *rec)
{
	return sizeof(*rec) + (size_t)(rec->module_words + rec->name_words) * KSYMREC_WORD;
}

/* ksymrec_module - NULL: the kernel's own. */
static inline const char *ksymrec_module(const struct ksymrec *rec)
{
	return rec->module_words ? (const char *)(rec + 1) : NULL;
}

static inline const char *ksymrec_name(const struct ksymrec *rec)
{
	return (const char *)(rec + 1) + (size_t)rec->module_words * KSYMREC_WORD;
}

/* ksymrec_has_end - whether a NUL is among the 8 bytes at @word. */
static inline bool ksymrec_has_end(const char *word)
{
	uint64_t bytes;

	memcpy(&bytes, word, sizeof(bytes));
	return (bytes - KSYMREC_LOWEST) & ~bytes & KSYMREC_HIGHEST;
}

#endif
