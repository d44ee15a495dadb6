/* The probe: many writers at once, of whom one may win. */
#include <stdio.h>
#include <string.h>

#include "probe_int.h"

#define WRITERS QO_PROBE_WRITERS
#define ROUNDS  4

struct race {
	struct probe_run *run;
	char key[PROBE_KEY_SIZE];
	char etag[QO_S3_ETAG_MAX]; /* "": create */
	struct qo_s3_req reqs[WRITERS];
	char texts[WRITERS][32];
	size_t waiting;
	/* of all rounds */
	unsigned undecided, rounds;
	unsigned worst; /* most winners of a round */
	bool wrong;     /* what is stored is not the winner's */
	bool vague;     /* a writer was told neither that it won nor lost */
};

static void
on_done(struct qo_s3_req *q)
{
	struct race *race = q->arg;

	race->waiting--;
}

/* The connections are there before the writers start. */
static void
send_all(struct race *race, enum qo_s3_op op)
{
	struct qo_s3_req *q;
	size_t i;

	race->waiting = WRITERS;
	for (i = 0; i < WRITERS; i++) {
		q = &race->reqs[i];
		qo_s3_req_init(q, op, race->run->conf->bucket, race->key);
		q->done = on_done;
		q->arg = race;
		q->max_attempts = 1; /* each answer counts by itself */
		if (op == QO_S3_PUT) {
			q->body = race->texts[i];
			q->body_len = strlen(race->texts[i]);
			if (race->etag[0] == '\0')
				q->if_none_match = "*";
			else
				q->if_match = race->etag;
		}
		qo_s3_send(race->run->s3, q);
	}
	while (race->waiting > 0)
		loop_once(race->run->loop, -1);
}

/* Whose text is there?  WRITERS: nobody's. */
static size_t
whose(struct race *race)
{
	struct qo_s3_req q;
	size_t i, found = WRITERS;

	qo_s3_req_init(&q, QO_S3_GET, race->run->conf->bucket, race->key);
	if (probe_wait(race->run, &q) == QO_S3_OK)
		for (i = 0; i < WRITERS; i++)
			if (strcmp(q.res.body.data, race->texts[i]) == 0)
				found = i;
	qo_s3_req_fini(&q);
	return found;
}

static void
one_round(struct race *race)
{
	bool unclear[WRITERS] = { false };
	size_t i, there, winner = WRITERS;
	unsigned won = 0;
	enum qo_s3_outcome o;

	for (i = 0; i < WRITERS; i++)
		snprintf(race->texts[i], sizeof(race->texts[i]),
		    "round %u writer %zu", race->rounds, i);
	send_all(race, QO_S3_PUT);
	for (i = 0; i < WRITERS; i++) {
		o = race->reqs[i].res.outcome;
		if (o == QO_S3_OK) {
			won++;
			winner = i;
		}
		/* It may have been written or not; what is there tells. */
		unclear[i] = race->reqs[i].res.maybe_applied;
		race->vague |= unclear[i];
		qo_s3_req_fini(&race->reqs[i]);
	}
	race->rounds++;
	if (won > race->worst)
		race->worst = won;
	race->run->vague |= race->vague;
	there = whose(race);
	if (won == 1 && there != winner)
		race->wrong = true;
	if (won == 0 && (there == WRITERS || !unclear[there]))
		race->undecided++;
}

static void
warm_up(struct race *race)
{
	size_t i;

	send_all(race, QO_S3_HEAD);
	for (i = 0; i < WRITERS; i++)
		qo_s3_req_fini(&race->reqs[i]);
}

static void
judge(struct race *race, const char *name)
{
	static const char fix[] =
	    "this store, or a proxy before it, does not decide conditional "
	    "writes atomically: use another";

	if (race->worst > 1) {
		probe_note(race->run, name, QO_PROBE_FAIL, fix,
		    "%u of %d writers at once were told that they won",
		    race->worst, WRITERS);
		/* Whatever the others were told. */
		race->run->vague = false;
	} else if (race->wrong)
		probe_note(race->run, name, QO_PROBE_FAIL, fix,
		    "the text of a writer that lost is there");
	else if (race->undecided == race->rounds)
		probe_note(race->run, name, QO_PROBE_FAIL,
		    "look at the store's log, then run qo doctor again",
		    "no round of %d writers had a winner", WRITERS);
	else
		probe_note(race->run, name, QO_PROBE_PASS, NULL,
		    "%d writers at once, one winner, %u times%s", WRITERS,
		    race->rounds - race->undecided,
		    race->vague ? "; some losers are told 5xx" : "");
}

static void
race_create(struct race *race)
{
	char name[32];
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		snprintf(name, sizeof(name), "race-%u", i);
		probe_key(race->run, name, race->key);
		one_round(race);
	}
	judge(race, "race-if-none-match");
}

static void
race_replace(struct race *race)
{
	struct probe_put put = { race->key, "start", NULL, NULL };
	unsigned i;

	probe_key(race->run, "race", race->key);
	for (i = 0; i < ROUNDS; i++) {
		/* A text of its own: the ETag must be a new one. */
		put.text = i % 2 == 0 ? "start" : "start again";
		if (probe_do_put(race->run, &put, race->etag) != QO_S3_OK) {
			race->rounds++;
			race->undecided++;
			continue;
		}
		one_round(race);
	}
	judge(race, "race-if-match");
}

void
probe_races(struct probe_run *r)
{
	struct race race;

	memset(&race, 0, sizeof(race));
	race.run = r;
	probe_key(r, "race-0", race.key);
	warm_up(&race);
	race_create(&race);
	memset(&race, 0, sizeof(race));
	race.run = r;
	race_replace(&race);
}
