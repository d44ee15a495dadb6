/*
 * queue_init.h - make a queue: its buckets, their settings, its control
 * record, and the probe of the store below it.
 *
 * What is missing is made and what is there is left alone, so any of this
 * may be done at any time, also twice or by two at once.  The control record
 * comes last: where it is, the rest is too.  Synchronous, like control.h.
 */
#ifndef QO_QUEUE_INIT_H
#define QO_QUEUE_INIT_H

#include "conf.h"
#include "probe.h"

enum qo_init_level {
	QO_INIT_DONE = 0, /* a line on what is there now */
	QO_INIT_WARN      /* went wrong, and the queue works without it */
};

struct qo_init {
	struct loop *loop; /* all borrowed */
	struct qo_s3 *s3;
	const struct conf *conf;
	int shard_width; /* 0: 1 for a new queue, any for one that is there */
	void (*say)(void *arg, enum qo_init_level level, const char *text);
	void *arg;
};

/* All but the probe.  QO_LOST: there is a queue of another shard width, or
 * somebody has made one this moment. */
enum qo_rc qo_init_queue(const struct qo_init *in, struct qo_err *err);
/* Runs the probe and keeps its verdict in the control record, if there is
 * one.  QO_OK when it ran, whatever it found. */
enum qo_rc qo_init_probe(const struct qo_init *in, struct qo_probe *p,
    struct qo_err *err);

#endif
