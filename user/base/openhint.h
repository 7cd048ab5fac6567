#ifndef NFG_BASE_OPENHINT_H
#define NFG_BASE_OPENHINT_H

/* openhint_read - log what helps after the message that the file of a trace cannot be opened; often nothing. @err: -errno. */
void openhint_read(int err);

/* openhint_write - the same for the output file @path. */
void openhint_write(const char *path, int err);

#endif
