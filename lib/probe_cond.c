/* The probe: conditional writes, one after the other. */
#include <stdio.h>
#include <string.h>

#include "probe_int.h"

static const char fix_store[] =
    "use a store with conditional writes (qo-store, Amazon S3, MinIO); on "
    "Ceph an unversioned bucket has them: versioning = off";

static bool
refused(enum qo_s3_outcome o)
{
	return o == QO_S3_PRECONDITION || o == QO_S3_CONFLICT;
}

static void
check_create(struct probe_run *r, const char *key, char *etag)
{
	struct probe_put put = { key, "1", NULL, "*" };
	enum qo_s3_outcome first, second;

	first = probe_do_put(r, &put, etag);
	put.text = "2";
	second = probe_do_put(r, &put, etag);
	if (first == QO_S3_OK && refused(second))
		probe_note(r, "if-none-match", QO_PROBE_PASS, NULL,
		    "a key is created once");
	else if (first == QO_S3_OK && second == QO_S3_OK)
		probe_note(r, "if-none-match", QO_PROBE_FAIL, fix_store,
		    "If-None-Match is ignored: a key was created twice");
	else
		probe_note(r, "if-none-match", QO_PROBE_FAIL, fix_store,
		    "create: %s, again: %s", qo_s3_outcome_name(first),
		    qo_s3_outcome_name(second));
}

/* Which form of the ETag is taken?  Leaves the newest one in etag. */
static void
check_etag_form(struct probe_run *r, const char *key, char *etag)
{
	struct probe_put put = { key, "3", etag, NULL };
	char next[QO_S3_ETAG_MAX];
	enum qo_s3_outcome quoted, bare;

	quoted = probe_do_put(r, &put, next);
	if (quoted == QO_S3_OK) {
		probe_note(r, "if-match", QO_PROBE_PASS, NULL,
		    "an object is replaced when its ETag is the one given");
		snprintf(etag, QO_S3_ETAG_MAX, "%s", next);
		return;
	}
	bare = quoted;
	if (r->conf->find_etag_form && !r->vague) {
		qo_s3_set_etag_form(r->s3, QO_S3_ETAG_BARE);
		bare = probe_do_put(r, &put, next);
	}
	if (bare == QO_S3_OK) {
		r->p->etag_bare = true;
		probe_note(r, "if-match", QO_PROBE_PASS, NULL,
		    "works, with ETags without quotes");
		snprintf(etag, QO_S3_ETAG_MAX, "%s", next);
		return;
	}
	qo_s3_set_etag_form(r->s3, QO_S3_ETAG_QUOTED);
	probe_note(r, "if-match", QO_PROBE_FAIL, fix_store,
	    "a write with the right ETag was refused: %s",
	    qo_s3_outcome_name(quoted));
}

static void
check_stale(struct probe_run *r, const char *key, const char *stale)
{
	struct probe_put put = { key, "4", stale, NULL };
	enum qo_s3_outcome o = probe_do_put(r, &put, NULL);

	if (refused(o))
		probe_note(r, "stale-if-match", QO_PROBE_PASS, NULL,
		    "a write with an old ETag is refused");
	else
		probe_note(r, "stale-if-match", QO_PROBE_FAIL, fix_store,
		    "a write with an old ETag was answered: %s",
		    qo_s3_outcome_name(o));
}

static void
check_absent(struct probe_run *r, const char *etag)
{
	char key[PROBE_KEY_SIZE];
	struct probe_put put = { key, "5", etag, NULL };
	enum qo_s3_outcome o;

	probe_key(r, "absent", key);
	o = probe_do_put(r, &put, NULL);
	if (refused(o) || o == QO_S3_NOT_FOUND)
		probe_note(r, "absent-if-match", QO_PROBE_PASS, NULL,
		    "If-Match creates nothing");
	else
		probe_note(r, "absent-if-match", QO_PROBE_FAIL, fix_store,
		    "If-Match on a key that is not there: %s",
		    qo_s3_outcome_name(o));
}

/* A key that was deleted can be created again. */
static void
check_delete_marker(struct probe_run *r, const char *key)
{
	struct probe_put put = { key, "6", NULL, "*" };
	enum qo_s3_outcome gone, again;

	gone = probe_do_delete(r, key);
	again = probe_do_put(r, &put, NULL);
	if (gone == QO_S3_OK && again == QO_S3_OK)
		probe_note(r, "create-after-delete", QO_PROBE_PASS, NULL,
		    "a deleted key can be created again");
	else
		probe_note(r, "create-after-delete", QO_PROBE_FAIL,
		    "set [s3] versioning = off and use a bucket without "
		    "versioning, or another store",
		    "delete: %s, create again: %s", qo_s3_outcome_name(gone),
		    qo_s3_outcome_name(again));
}

void
probe_conditions(struct probe_run *r)
{
	char key[PROBE_KEY_SIZE], etag[QO_S3_ETAG_MAX] = "";
	char first[QO_S3_ETAG_MAX];

	probe_key(r, "cond", key);
	check_create(r, key, etag);
	if (etag[0] == '\0') {
		probe_note(r, "if-match", QO_PROBE_FAIL, fix_store,
		    "not tried: no object or no ETag to try it with");
		return;
	}
	snprintf(first, sizeof(first), "%s", etag);
	check_etag_form(r, key, etag);
	check_stale(r, key, first);
	check_absent(r, first);
	check_delete_marker(r, key);
}
