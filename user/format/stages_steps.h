#ifndef NFG_FORMAT_STAGES_STEPS_H
#define NFG_FORMAT_STAGES_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* The meaning of a function for a packet. Private to user/format/. */
enum stages_step {
	STEP_NONE,
	STEP_SENDER,  /* the call that sends; has a socket */
	STEP_SEND,    /* below it, the first functions with the skb */
	STEP_QUEUE,   /* at the device */
	STEP_DRIVE,   /* the driver, and its caller */
	STEP_BACKLOG, /* for a receiver on this host */
	STEP_RECEIVE,
	STEP_WAKE,
	STEP_READER, /* the call that reads */
	STEP_COPY,   /* within it, with the skb */
	STEP_FREE,
};

struct stages_func {
	const char *name;
	enum stages_step step;
	uint8_t level; /* SEND, RECEIVE: a packet reaches lower levels first; DRIVE: 1: calls drivers */
	bool is_local; /* DRIVE: gives packets to a receiver on this host */
};

/* stages_func_at - known function @i, from 0 on; NULL after the last one. */
const struct stages_func *stages_func_at(size_t i);

/* stages_func_of - the table's entry for the function, or one with STEP_NONE; never NULL. */
const struct stages_func *stages_func_of(struct text name);

#endif
