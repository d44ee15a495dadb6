#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "xalloc.h"

struct qo_queue *
qo_queue_new(struct loop *l, struct qo_s3 *s3, const struct qo_queue_conf *conf)
{
	struct qo_queue *q;

	q = xcalloc(1, sizeof(*q));
	q->loop = l;
	q->s3 = s3;
	q->bucket = xstrdup(conf->bucket);
	q->index_bucket = xstrdup(conf->index_bucket != NULL
		? conf->index_bucket
		: conf->bucket);
	q->prefix = xstrdup(conf->prefix != NULL ? conf->prefix : "");
	q->layout.prefix = q->prefix;
	q->layout.shard_width = conf->shard_width;
	q->inline_max = conf->inline_max;
	q->deleter = qo_deleter_new(l, s3, q->index_bucket);
	return q;
}

void
qo_queue_free(struct qo_queue *q)
{
	if (q == NULL)
		return;
	qo_deleter_free(q->deleter);
	free(q->bucket);
	free(q->index_bucket);
	free(q->prefix);
	free(q);
}

struct qo_wall
qo_queue_now(const struct qo_queue *q)
{
	struct qo_wall now;

	qo_s3_now(q->s3, NULL, &now, NULL);
	return now;
}

struct qo_wall
qo_queue_past(const struct qo_queue *q)
{
	struct qo_wall lo;

	qo_s3_now(q->s3, &lo, NULL, NULL);
	return lo;
}

bool
qo_queue_time_known(const struct qo_queue *q)
{
	return qo_s3_now(q->s3, NULL, NULL, NULL);
}

static void
on_flushed(void *arg)
{
	*(bool *)arg = true;
}

void
qo_queue_flush(struct qo_queue *q)
{
	bool done = false;

	if (qo_deleter_pending(q->deleter) == 0)
		return;
	qo_deleter_flush(q->deleter, on_flushed, &done);
	while (!done)
		loop_once(q->loop, -1);
}
