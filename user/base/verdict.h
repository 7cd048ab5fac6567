#ifndef NFG_BASE_VERDICT_H
#define NFG_BASE_VERDICT_H

/*
 * How a command ends: the program's exit status. The manual lists them from these numbers.
 *
 * A function that decides it logs why, and returns it where it would return -errno. It is positive, and callers pass it
 * on like any other error.
 */
enum verdict {
	VERDICT_OK = 0,
	VERDICT_FAILED = 1,
	VERDICT_USAGE = 2,
	VERDICT_NOTHING = 3,
	VERDICT_LOSSES = 4,
	VERDICT_OVERHEAD = 5,
	VERDICT_NOT_RUN = 126,
	VERDICT_NOT_FOUND = 127,
	VERDICT_SIGNAL = 128, /* plus the signal's number */
};

/* verdict_of - how a command ends after @err: 0, -errno, or a verdict. */
static inline enum verdict verdict_of(int err)
{
	return err < 0 ? VERDICT_FAILED : (enum verdict)err;
}

#endif
