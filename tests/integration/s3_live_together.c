/*
 * Many requests at once: races, the long poll, the other socket, and a store
 * that is killed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "s3_live.h"
#include "xalloc.h"

#define WRITERS 16
#define ROUNDS  100

/* One key, many writers: exactly one wins each round. */

struct race {
	struct live *live;
	struct qo_s3_req reqs[WRITERS];
	char bodies[WRITERS][32];
	size_t done;
};

static void
race_done(struct qo_s3_req *r)
{
	((struct race *)r->arg)->done++;
}

/* Ceph answers 500 to some losers, again and again. */
static bool
race_lost(const struct live *l, const struct qo_s3_res *res)
{
	return res->outcome == QO_S3_PRECONDITION ||
	    res->outcome == QO_S3_CONFLICT ||
	    (l->store->foreign && res->outcome == QO_S3_AMBIGUOUS &&
		res->maybe_applied);
}

/* The ETag of the winner is put in etag. */
static void
race_round(struct race *x, const char *bucket, const char *key, char *etag,
    int round)
{
	struct live *l = x->live;
	struct qo_s3_req *r, *winner = NULL;
	bool unsure = false;
	size_t i;

	x->done = 0;
	for (i = 0; i < WRITERS; i++) {
		r = &x->reqs[i];
		snprintf(x->bodies[i], sizeof(x->bodies[i]),
		    "round %d writer %zu", round, i);
		qo_s3_req_init(r, QO_S3_PUT, bucket, key);
		r->body = x->bodies[i];
		r->body_len = strlen(x->bodies[i]);
		if (etag[0] != '\0')
			r->if_match = etag;
		else
			r->if_none_match = "*";
		r->done = race_done;
		r->arg = x;
		qo_s3_send(l->s3, r);
	}
	while (x->done < WRITERS)
		loop_once(l->loop, -1);
	for (i = 0; i < WRITERS; i++) {
		r = &x->reqs[i];
		unsure |= r->res.maybe_applied;
		if (r->res.outcome == QO_S3_OK) {
			live_need(l, winner == NULL, "round %d: two winners",
			    round);
			winner = r;
			continue;
		}
		live_need(l, race_lost(l, &r->res), "round %d: %s", round,
		    r->res.err.msg);
	}
	/* A winner that never heard of it is told apart by reading. */
	live_need(l, winner != NULL || unsure, "round %d: no winner", round);
	if (winner != NULL) {
		live_same(l, bucket, key, winner->body);
		strlcpy(etag, winner->res.etag, QO_S3_ETAG_MAX);
	}
	for (i = 0; i < WRITERS; i++)
		qo_s3_req_fini(&x->reqs[i]);
}

static void
race(struct live *l, bool versioned)
{
	static struct race x;
	const char *bucket = live_bucket(l, versioned);
	char etag[QO_S3_ETAG_MAX] = "", none[QO_S3_ETAG_MAX], key[32];
	int i;

	x.live = l;
	for (i = 0; i < ROUNDS; i++) {
		race_round(&x, bucket, "one", etag, i);
		snprintf(key, sizeof(key), "new/%d", i);
		none[0] = '\0';
		race_round(&x, bucket, key, none, i);
	}
}

static void
case_race(struct live *l)
{
	race(l, false);
}

static void
case_race_versioned(struct live *l)
{
	if (l->store->foreign)
		live_skip(l,
		    "not every store has conditions in versioned "
		    "buckets; see conditions_versioned");
	race(l, true);
}

/* The long poll */

static void
wait_done(struct qo_s3_req *r)
{
	*(bool *)r->arg = true;
}

static void
case_wait(struct live *l)
{
	const char *bucket = live_bucket(l, false);
	const char *other = live_bucket(l, true);
	struct qo_mono start;
	struct qo_s3_req r;
	bool woken = false;
	char text[64];
	int64_t seq, took;
	int i;

	live_only_ours(l, "x-qo-wait");
	live_put(l, bucket, "w/old", "", NULL);
	qo_s3_req_init(&r, QO_S3_LIST, bucket, NULL);
	r.prefix = "w/";
	expect(l, &r, QO_S3_OK);
	need(l, r.res.seq >= 0 && r.res.list->n == 1);
	seq = r.res.seq;
	/* Nothing new comes: the whole second, and no longer than it must. */
	snprintf(text, sizeof(text), "1; since=%lld", (long long)seq);
	r.wait = text;
	r.wait_ms = 1000;
	start = qo_mono_now();
	expect(l, &r, QO_S3_OK);
	took = qo_mono_diff_us(start, qo_mono_now());
	need(l, took >= 900 * QO_US_PER_MS);
	need(l, r.res.list->n == 1 && r.res.attempts == 1);
	/* What was there, and what is elsewhere, wakes nobody. */
	snprintf(text, sizeof(text), "200; since=%lld", (long long)seq);
	r.wait_ms = 200000;
	r.done = wait_done;
	r.arg = &woken;
	qo_s3_send(l->s3, &r);
	live_put(l, bucket, "w/old", "again", NULL);
	live_put(l, bucket, "v/new", "", NULL);
	live_put(l, bucket, "w", "", NULL);
	live_put(l, other, "w/new", "", NULL);
	for (i = 0; i < 20; i++)
		live_same(l, bucket, "w/old", "again");
	need(l, !woken);
	live_put(l, bucket, "w/new", "", NULL);
	while (!woken)
		loop_once(l->loop, -1);
	need(l, r.res.outcome == QO_S3_OK && r.res.seq > seq);
	need(l, r.res.list->n == 2);
	need(l, strcmp(r.res.list->entries[0].key, "w/new") == 0);
	/* What came since is told at once. */
	woken = false;
	qo_s3_send(l->s3, &r);
	while (!woken)
		loop_once(l->loop, -1);
	need(l, r.res.list->n == 2);
	qo_s3_req_fini(&r);
}

static void
case_unix_socket(struct live *l)
{
	const char *bucket = live_bucket(l, false);
	struct qo_s3_conf conf = live_conf(l->store);
	struct qo_s3 *tcp = l->s3;

	live_only_ours(l, "a Unix socket");
	conf.endpoint = "http://localhost";
	conf.unix_socket = l->store->proc.socket;
	l->s3 = live_client(l, &conf);
	live_put(l, bucket, "by/unix", "1", NULL);
	qo_s3_free(l->s3);
	l->s3 = tcp;
	live_same(l, bucket, "by/unix", "1");
}

/* kill -9 in the middle of writes: every OK is there after it, and what was
 * not acknowledged is whole or absent. */

#define KILL_WRITERS 32
#define KILL_AFTER   150

struct victim {
	struct live *live;
	struct storeproc *proc;
	struct qo_s3_req reqs[KILL_WRITERS];
	char keys[KILL_WRITERS][32], bodies[KILL_WRITERS][2048];
	bool *ok; /* by number */
	int number[KILL_WRITERS];
	int sent, acked, ended;
	bool killed;
};

static void
victim_body(char *out, size_t size, int n)
{
	size_t i;

	memset(out, 'a' + n % 26, size - 1);
	out[size - 1] = '\0';
	i = (size_t)snprintf(out, size, "number %d ", n);
	out[i] = '-';
}

static void
victim_send(struct victim *v, size_t i)
{
	v->number[i] = v->sent++;
	snprintf(v->keys[i], sizeof(v->keys[i]), "k/%d", v->number[i]);
	victim_body(v->bodies[i], sizeof(v->bodies[i]), v->number[i]);
	v->reqs[i].body_len = strlen(v->bodies[i]);
	qo_s3_send(v->live->s3, &v->reqs[i]);
}

static void
victim_done(struct qo_s3_req *r)
{
	struct victim *v = r->arg;
	size_t i = (size_t)(r - v->reqs);

	if (r->res.outcome == QO_S3_OK) {
		v->ok[v->number[i]] = true;
		v->acked++;
	}
	if (v->acked == KILL_AFTER && !v->killed) {
		v->killed = true;
		kill(v->proc->pid, SIGKILL);
	}
	if (r->res.outcome == QO_S3_OK && v->sent < 2 * KILL_AFTER)
		victim_send(v, i);
	else
		v->ended++;
}

static void
victim_verify(struct victim *v, const char *bucket)
{
	char key[32], body[sizeof(v->bodies[0])];
	struct live *l = v->live;
	struct qo_s3_req r;
	int n;

	for (n = 0; n < v->sent; n++) {
		snprintf(key, sizeof(key), "k/%d", n);
		victim_body(body, sizeof(body), n);
		qo_s3_req_init(&r, QO_S3_GET, bucket, key);
		qo_s3_wait(l->s3, &r);
		live_need(l,
		    r.res.outcome == QO_S3_OK ||
			(!v->ok[n] && r.res.outcome == QO_S3_NOT_FOUND),
		    "%s, acknowledged %d: %s", key, v->ok[n], r.res.err.msg);
		live_need(l,
		    r.res.outcome != QO_S3_OK ||
			strcmp(r.res.body.data, body) == 0,
		    "%s is not what was written", key);
		qo_s3_req_fini(&r);
	}
}

static void
kill_round(struct live *l, struct storeproc *proc)
{
	struct qo_s3_conf conf = live_conf(l->store);
	struct victim *v = xcalloc(1, sizeof(*v));
	char bucket[64];
	size_t i;

	v->live = l;
	v->proc = proc;
	v->ok = xcalloc(2 * KILL_AFTER, sizeof(*v->ok));
	conf.endpoint = proc->url;
	l->s3 = live_client(l, &conf);
	strlcpy(bucket, live_bucket(l, true), sizeof(bucket));
	for (i = 0; i < KILL_WRITERS; i++) {
		qo_s3_req_init(&v->reqs[i], QO_S3_PUT, bucket, v->keys[i]);
		v->reqs[i].body = v->bodies[i];
		v->reqs[i].max_attempts = 1;
		v->reqs[i].done = victim_done;
		v->reqs[i].arg = v;
		victim_send(v, i);
	}
	while (v->ended < KILL_WRITERS)
		loop_once(l->loop, -1);
	need(l, v->killed);
	for (i = 0; i < KILL_WRITERS; i++)
		qo_s3_req_fini(&v->reqs[i]);
	qo_s3_free(l->s3);
	storeproc_end(proc, SIGKILL);
	storeproc_start(proc);
	conf.endpoint = proc->url;
	l->s3 = live_client(l, &conf);
	victim_verify(v, bucket);
	qo_s3_free(l->s3);
	free(v->ok);
	free(v);
}

static void
case_killed_store(struct live *l)
{
	struct storeproc proc = { .binary = l->store->proc.binary };
	const char *rounds = getenv("QO_TEST_KILLS");
	char dir[128];
	struct qo_s3 *mine = l->s3;
	long n;

	live_only_ours(l, "a store that may be killed");
	storeproc_mkdir(dir, sizeof(dir));
	proc.dir = dir;
	storeproc_start(&proc);
	for (n = rounds != NULL ? strtol(rounds, NULL, 10) : 5; n > 0; n--)
		kill_round(l, &proc);
	l->s3 = mine;
	storeproc_end(&proc, SIGKILL);
	need(l, storeproc_check(&proc) == 0);
	storeproc_rmdir(dir);
}

const struct live_case live_together[] = {
	{ "race", case_race },
	{ "race_versioned", case_race_versioned },
	{ "wait", case_wait },
	{ "unix_socket", case_unix_socket },
	{ "killed_store", case_killed_store },
	{ NULL, NULL },
};
