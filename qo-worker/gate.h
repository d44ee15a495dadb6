/*
 * gate.h - may tasks be claimed now?  The pause switches of the queue.
 *
 * The control record is read again when somebody rings and every 30 s; as
 * long as it has not changed that is an answer without a body.
 */
#ifndef GATE_H
#define GATE_H

#include "control.h"
#include "queue.h"

struct gate {
	struct qo_queue *q; /* borrowed */
	struct qo_control control;
	void (*changed)(void *arg);
	void *arg;
	/* private */
	char key[QO_KEY_SIZE];
	char etag[QO_S3_ETAG_MAX];
	struct qo_s3_req req;
	struct loop_timer timer;
	bool again; /* asked for while a request was under way */
};

/* *control becomes the gate's.  Reads nothing yet. */
void gate_init(struct gate *g, struct qo_queue *q, struct qo_control *control,
    void (*changed)(void *arg), void *arg);
void gate_fini(struct gate *g);
/* Reads the record now. */
void gate_look(struct gate *g);
/* The queue (type NULL), or tasks of this type. */
bool gate_paused(const struct gate *g, const char *task_type);

#endif
