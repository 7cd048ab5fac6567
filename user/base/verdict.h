#ifndef NFG_BASE_VERDICT_H
#define NFG_BASE_VERDICT_H

/* What a command ends with: the program's exit status. The manual lists them from these numbers. */
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

#endif
