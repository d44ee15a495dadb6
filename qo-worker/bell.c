#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bell.h"
#include "xalloc.h"

#define HOLD_S   30
#define VAIN_MS  1000
#define FAIL_MAX 30000

struct bell {
	struct bell_conf c;
	char prefix[QO_KEY_SIZE];
	char wait[64];
	struct qo_s3_req req;
	struct loop_timer timer;
	struct qo_mono asked_at;
	int64_t seq; /* -1: the store does not hold lists, or not known */
	int64_t fail_ms;
	bool on;
};

static void ask(struct bell *b);

static void
on_timer(struct loop_timer *t)
{
	ask(t->arg);
}

static void
ask_after(struct bell *b, int64_t ms)
{
	loop_timer_set_ms(b->c.loop, &b->timer, ms, on_timer, b);
}

static void
ring(struct bell *b, const char *key)
{
	size_t len = strlen(b->prefix);

	qo_deleter_add(b->c.q->deleter, key);
	if (strlen(key) > len)
		b->c.rang(key + len, b->c.arg);
}

static void
ask_next(struct bell *b, int64_t before)
{
	bool quick = qo_mono_diff_us(b->asked_at, qo_mono_now()) <
	    VAIN_MS * QO_US_PER_MS;

	if (b->seq < 0) {
		if (b->c.busy(b->c.arg))
			ask_after(b, b->c.poll_ms);
	} else if (before >= 0 && b->seq <= before && quick) {
		ask_after(b, VAIN_MS); /* a store that drains */
	} else {
		ask(b);
	}
}

static void
on_list(struct qo_s3_req *r)
{
	struct bell *b = r->arg;
	int64_t before = b->seq;
	size_t i;

	if (r->res.outcome != QO_S3_OK) {
		b->seq = -1;
		b->fail_ms = b->fail_ms == 0 ? VAIN_MS : 2 * b->fail_ms;
		if (b->fail_ms > FAIL_MAX)
			b->fail_ms = FAIL_MAX;
		ask_after(b, b->fail_ms);
		return;
	}
	b->fail_ms = 0;
	b->seq = r->res.seq;
	for (i = 0; i < r->res.list->n; i++)
		ring(b, r->res.list->entries[i].key);
	if (b->on)
		ask_next(b, before);
}

static void
ask(struct bell *b)
{
	if (!b->on || b->req.flight != NULL)
		return;
	qo_s3_req_fini(&b->req);
	qo_s3_req_init(&b->req, QO_S3_LIST, b->c.q->index_bucket, NULL);
	b->req.prefix = b->prefix;
	b->req.done = on_list;
	b->req.arg = b;
	if (b->seq >= 0) {
		snprintf(b->wait, sizeof(b->wait), "%d; since=%lld", HOLD_S,
		    (long long)b->seq);
		b->req.wait = b->wait;
		b->req.wait_ms = HOLD_S * 1000;
		b->req.max_attempts = 1;
	}
	b->asked_at = qo_mono_now();
	qo_s3_send(b->c.q->s3, &b->req);
}

struct bell *
bell_new(const struct bell_conf *conf)
{
	struct bell *b = xcalloc(1, sizeof(*b));

	b->c = *conf;
	b->seq = -1;
	snprintf(b->prefix, sizeof(b->prefix), "%sbell/%s/",
	    conf->q->layout.prefix, conf->worker_id);
	qo_s3_req_init(&b->req, QO_S3_LIST, NULL, NULL);
	return b;
}

void
bell_free(struct bell *b)
{
	if (b == NULL)
		return;
	bell_stop(b);
	qo_s3_req_fini(&b->req);
	free(b);
}

void
bell_start(struct bell *b)
{
	b->on = true;
	ask(b);
}

void
bell_stop(struct bell *b)
{
	b->on = false;
	loop_timer_del(b->c.loop, &b->timer);
	qo_s3_cancel(&b->req);
}

void
bell_kick(struct bell *b)
{
	if (b->on && b->req.flight == NULL && !loop_timer_is_set(&b->timer))
		ask_after(b, b->c.poll_ms);
}
