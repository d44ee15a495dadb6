/* wait: until tasks have ended. */
#include <stdlib.h>
#include <string.h>

#include "confval.h"
#include "taskview.h"
#include "xalloc.h"

#define POLL_MIN_MS    50
#define POLL_MAX_MS    1000
#define POLL_MS_PER_ID 5 /* with many, each is asked less often */

struct wait {
	struct session *s;
	size_t left;
	size_t unseen; /* of which nothing is known yet */
	int64_t poll_max_ms;
	bool timed_out, not_found, unhappy;
	enum exit_code code; /* the store failed: it is over */
};

struct waited {
	struct wait *w;
	const char *id;
	char key[QO_KEY_SIZE];
	char etag[QO_S3_ETAG_MAX];
	struct qo_s3_req req;
	struct loop_timer timer;
	int64_t delay_ms;
	bool seen;
};

static void
ended(struct waited *e, const struct qo_task *t)
{
	enum qo_status as = t->status == QO_STATUS_ARCHIVED ? t->archived_from
							    : t->status;

	e->w->left--;
	if (as == QO_STATUS_COMPLETED) {
		out_line("%s %s", t->id, qo_status_name(as));
		return;
	}
	e->w->unhappy = true;
	out_line("%s %s%s%s", t->id, qo_status_name(as),
	    t->last_error != NULL ? ": " : "",
	    t->last_error != NULL ? t->last_error : "");
}

static void ask(struct waited *e);

static void
on_timer(struct loop_timer *t)
{
	ask(t->arg);
}

static void
again(struct waited *e)
{
	loop_timer_set_ms(e->w->s->loop, &e->timer, e->delay_ms, on_timer, e);
	e->delay_ms = e->delay_ms * 3 / 2;
	if (e->delay_ms > e->w->poll_max_ms)
		e->delay_ms = e->w->poll_max_ms;
}

static void
look_at(struct waited *e, struct qo_s3_req *r)
{
	struct qo_task t;
	struct qo_err err;

	if (qo_task_decode(&t, e->id, r->res.body.data, r->res.body.len,
		&err) == -1) {
		exit_say("%s: %s", e->key, err.msg);
		e->w->unhappy = true;
		e->w->left--;
		return;
	}
	if (qo_status_terminal(t.status)) {
		ended(e, &t);
	} else {
		memcpy(e->etag, r->res.etag, sizeof(e->etag));
		e->delay_ms = POLL_MIN_MS;
		again(e);
	}
	qo_task_fini(&t);
}

static void
on_answer(struct qo_s3_req *r)
{
	struct waited *e = r->arg;

	if (!e->seen) {
		e->seen = true;
		e->w->unseen--;
	}
	if (r->res.outcome == QO_S3_OK) {
		look_at(e, r);
	} else if (r->res.outcome == QO_S3_NOT_MODIFIED) {
		again(e);
	} else if (r->res.outcome == QO_S3_NOT_FOUND &&
	    strcmp(r->res.err.s3_code, "NoSuchBucket") != 0) {
		exit_say("there is no task %s", e->id);
		e->w->not_found = true;
		e->w->left--;
	} else if (e->w->code == EXIT_OK) {
		e->w->code = session_fail(e->w->s,
		    qo_s3_outcome_rc(r->res.outcome), &r->res.err);
	}
}

static void
ask(struct waited *e)
{
	qo_s3_req_fini(&e->req);
	qo_s3_req_init(&e->req, QO_S3_GET, e->w->s->q->bucket, e->key);
	e->req.if_none_match = e->etag[0] != '\0' ? e->etag : NULL;
	e->req.response_max = QO_TASK_LEN_MAX;
	e->req.done = on_answer;
	e->req.arg = e;
	qo_s3_send(e->w->s->s3, &e->req);
}

static void
on_timeout(struct loop_timer *t)
{
	((struct wait *)t->arg)->timed_out = true;
}

static void
wait_all(struct wait *w, const struct opts *o, int64_t timeout_ms)
{
	struct waited *all;
	struct loop_timer timer;
	int i;

	memset(&timer, 0, sizeof(timer));
	all = xcalloc((size_t)o->nargs, sizeof(*all));
	if (timeout_ms >= 0)
		loop_timer_set_ms(w->s->loop, &timer, timeout_ms, on_timeout,
		    w);
	for (i = 0; i < o->nargs; i++) {
		qo_s3_req_init(&all[i].req, QO_S3_GET, NULL, NULL);
		all[i].w = w;
		all[i].id = o->args[i];
		all[i].delay_ms = POLL_MIN_MS;
		qo_key_task(&w->s->q->layout, o->args[i], all[i].key);
		ask(&all[i]);
	}
	/* Each is looked at once, however short the time. */
	while (w->left > 0 && (!w->timed_out || w->unseen > 0) &&
	    w->code == EXIT_OK)
		loop_once(w->s->loop, -1);
	loop_timer_del(w->s->loop, &timer);
	for (i = 0; i < o->nargs; i++) {
		loop_timer_del(w->s->loop, &all[i].timer);
		qo_s3_req_fini(&all[i].req);
	}
	free(all);
}

static enum exit_code
run_wait(struct session *s, const struct opts *o)
{
	const char *text = opts_get(o, "timeout");
	struct wait w = { .s = s,
		.left = (size_t)o->nargs,
		.unseen = (size_t)o->nargs,
		.poll_max_ms = POLL_MAX_MS,
		.code = EXIT_OK };
	int64_t timeout_ms = -1;
	struct qo_err err;
	enum exit_code code;

	if ((code = taskview_check_ids(o)) != EXIT_OK)
		return code;
	if (text != NULL &&
	    confval_duration(text, 0, 366 * CONFVAL_DAY, &timeout_ms, &err) ==
		-1)
		return exit_usage("--timeout: %s", err.msg);
	if ((code = session_open(s)) != EXIT_OK)
		return code;
	if (w.left * POLL_MS_PER_ID > POLL_MAX_MS)
		w.poll_max_ms = (int64_t)w.left * POLL_MS_PER_ID;
	wait_all(&w, o, timeout_ms);
	if (w.code != EXIT_OK)
		return w.code;
	if (w.left > 0) {
		exit_say("%zu of %d not ended after %s", w.left, o->nargs,
		    text);
		return EXIT_TIMEOUT;
	}
	return w.not_found ? EXIT_NOENT : w.unhappy ? EXIT_FAILED : EXIT_OK;
}

static const struct opt wait_opts[] = {
	{ "timeout", 't', "DURATION",
	    "Give up after this time, with exit code 6; 0s only looks.",
	    false },
	CMD_OPT_END,
};

const struct cmd cmd_wait = {
	.name = "wait",
	.run = run_wait,
	.opts = wait_opts,
	.args = "ID...",
	.min_args = 1,
	.max_args = CMD_ANY,
	.summary = "wait until tasks have ended",
	.help = "Prints a line for each as it ends.  Ends with 0 when all are "
		"completed, 1 when one has failed, was cancelled or has "
		"expired, 3 when there is no such task, 6 on timeout.",
};
