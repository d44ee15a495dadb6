/*
 * probe_int.h - what the files of the probe share.
 */
#ifndef QO_PROBE_INT_H
#define QO_PROBE_INT_H

#include "probe.h"

#define PROBE_KEY_SIZE 512

/* One run. */
struct probe_run {
	struct qo_probe *p;
	struct loop *loop;
	struct qo_s3 *s3;
	const struct qo_probe_conf *conf;
	const char *index;        /* bucket of the index */
	char dir[PROBE_KEY_SIZE]; /* {prefix}qo-probe/{uuid}/ */
	unsigned turn;            /* of the check: has keys of its own */
	/* in this turn a request had no definite answer, or none at all */
	bool vague, silent;
};

/* Adds a check. */
void probe_note(struct probe_run *r, const char *name,
    enum qo_probe_level level, const char *fix, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void probe_key(const struct probe_run *r, const char *name,
    char out[PROBE_KEY_SIZE]);

/* qo_s3_wait, which notes in r what is not known of the request's fate: then
 * a check that did not pass says nothing about the store. */
enum qo_s3_outcome probe_wait(struct probe_run *r, struct qo_s3_req *q);

/* One PUT of a text with a condition, a new one for this key; the answer's
 * ETag is copied to etag (may be NULL). */
struct probe_put {
	const char *key;
	const char *text;
	const char *if_match;      /* or NULL */
	const char *if_none_match; /* or NULL */
};
enum qo_s3_outcome probe_do_put(struct probe_run *r,
    const struct probe_put *put, char *etag);
enum qo_s3_outcome probe_do_delete(struct probe_run *r, const char *key);

void probe_conditions(struct probe_run *r); /* probe_cond.c */
void probe_races(struct probe_run *r);      /* probe_race.c */
void probe_lists(struct probe_run *r);      /* probe_list.c */

#endif
