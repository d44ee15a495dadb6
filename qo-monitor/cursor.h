/*
 * cursor.h - control/retention.json: how far retention has come.
 *
 * One for all monitors of a queue, so that they share a round and a restart
 * goes on where it was.  It is a hint: what it says wrongly costs a second
 * look at the same tasks, or one more round.
 *
 * {format 1, cursor: the last key that was looked at, "" between two rounds;
 * round_started_at, round_ended_at, rev, updated_by}
 */
#ifndef CURSOR_H
#define CURSOR_H

#include "queue.h"
#include "record.h"

struct cursor_record {
	struct qo_record rec; /* first; see record.h */
	int64_t format;
	const char *cursor;
	struct qo_wall round_started_at, round_ended_at;
	int64_t rev;
	const char *updated_by;
};

struct cursor {
	/* in */
	struct qo_queue *q;
	void (*done)(struct cursor *c);
	void *arg;
	/* out, and in before a save */
	char at[QO_KEY_SIZE];
	struct qo_wall started, ended; /* QO_WALL_NONE: never */
	enum qo_rc rc;
	struct qo_err err;
	/* private */
	char key[QO_KEY_SIZE];
	char etag[QO_S3_ETAG_MAX]; /* "": there is none yet */
	int64_t rev;
	struct qo_s3_req req;
	struct buf body;
};

void cursor_init(struct cursor *c, struct qo_queue *q);
void cursor_fini(struct cursor *c); /* cancels */
/* One request each; never call done before they return.  QO_OK, also when
 * there is none, or one that can not be read: it begins anew. */
void cursor_read(struct cursor *c);
/* QO_LOST: another has moved it; read again.  QO_AGAIN, QO_DENIED, QO_ERR. */
void cursor_save(struct cursor *c);

#endif
