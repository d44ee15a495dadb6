/*
 * heartbeat.h - the record workers/{worker_id}.json of this process.
 *
 * Written when something changed, at most every `heartbeat`, and otherwise
 * often enough that nobody takes a live worker for a stale one; removed at
 * the end.  A record that could not be written is no reason to stop.
 */
#ifndef HEARTBEAT_H
#define HEARTBEAT_H

#include "queue.h"
#include "worker_record.h"

struct heartbeat {
	struct qo_queue *q;             /* borrowed */
	struct qo_worker_record record; /* filled in by the caller... */
	/* ...whenever it is about to be written. */
	void (*fill)(struct qo_worker_record *r, void *arg);
	void *arg;
	int64_t min_ms, max_ms;
	/* private */
	char key[QO_KEY_SIZE];
	struct buf text;
	struct qo_s3_req req;
	struct loop_timer timer;
	struct qo_mono written_at;
	bool changed, failing, on;
	void (*removed)(void *arg);
	void *removed_arg;
};

/* worker_id is borrowed.  stale_ms: after which silence a worker counts as
 * stale. */
void heartbeat_init(struct heartbeat *h, struct qo_queue *q,
    const char *worker_id, int64_t min_ms, int64_t stale_ms);
void heartbeat_fini(struct heartbeat *h);
/* Writes the first one. */
void heartbeat_start(struct heartbeat *h);
/* What it tells has changed. */
void heartbeat_changed(struct heartbeat *h);
/* No more are written; removed(arg) when it is gone, or can not be. */
void heartbeat_remove(struct heartbeat *h, void (*removed)(void *arg),
    void *arg);

#endif
