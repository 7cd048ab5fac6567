#ifndef NFG_FORMAT_STAGES_STEPS_H
#define NFG_FORMAT_STAGES_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* What a function means for a packet. Private to user/format/. */
enum stages_step {
	STEP_NONE,
	STEP_SENDER,  /* the call that sends; has a socket */
	STEP_SEND,    /* below it, the first ones that have the skb */
	STEP_QUEUE,   /* at the device */
	STEP_DRIVE,   /* the driver, and what calls it */
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
	uint8_t level; /* SEND, RECEIVE: a packet comes to lower levels first; DRIVE: 1 for what calls drivers */
	bool is_local; /* DRIVE: gives packets to a receiver on this host */
};

/* stages_func_at - the functions that are known, from 0 on; NULL behind the last one. */
const struct stages_func *stages_func_at(size_t i);

/* stages_func_of - what is known of the function; never NULL. */
const struct stages_func *stages_func_of(struct text name);

#endif
