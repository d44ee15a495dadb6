/*
 * replay.h - signatures of writes that were seen, while they are valid.
 *
 * A table of fixed size without pointers: a signature has a few neighbouring
 * places, and one whose time is over is free.  When they are all taken the
 * request must be refused: forgetting a signature would let it in again.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include "clock.h"
#include "sigv4_verify.h"

struct replay;

struct replay *replay_new(void);
void replay_free(struct replay *p); /* NULL is fine */

enum replay_rc {
	REPLAY_NEW = 0, /* and remembered */
	REPLAY_SEEN,
	REPLAY_FULL
};
/* a was checked and found good. */
enum replay_rc replay_take(struct replay *p, const struct qo_sigv4_auth *a,
    struct qo_wall now);

#endif
