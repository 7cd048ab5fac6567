#ifndef NFG_BASE_INFILE_H
#define NFG_BASE_INFILE_H

/* infile_open - open @path for reading ("-": standard input). Return: a descriptor that the caller closes, or -errno. */
int infile_open(const char *path);

/*
 * infile_keep - open @path now, in case privileges are gone later; the next infile_open of the same path returns that
 * descriptor. One file at a time. Return: 0 or -errno.
 */
int infile_keep(const char *path);

#endif
