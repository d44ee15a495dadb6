/*
 * One bounded step of a lifecycle rule.  Keys are visited in order, each in
 * full: first its expired noncurrent versions (oldest first; they became
 * noncurrent in that order, so the first that is too young ends it), then a
 * marker that stands alone, then the current object.
 */
#include <stdlib.h>
#include <string.h>

#include "db_int.h"
#include "xalloc.h"

struct step {
	struct db *db;
	int64_t bucket;
	struct db_lifecycle *lc;
	size_t left; /* rows that may still be looked at */
};

static enum db_rc
drop_old(struct step *s, const char *key, const struct db_row *r)
{
	enum db_rc rc;

	rc = db_row_drop_old(&s->db->wr, s->bucket, key, r->vid);
	if (rc == DB_OK && !(r->flags & DB_F_MARKER))
		rc = db_version_drop(s->db, r->vid);
	s->lc->removed++;
	return rc;
}

/* *whole stays true when all of the key was seen to. */
static enum db_rc
expire_noncurrent(struct step *s, const char *key, bool has_current,
    bool *whole)
{
	struct db_row top, r;
	enum db_rc rc;

	rc = db_row_newest_old(&s->db->wr, s->bucket, key, &top);
	while (rc == DB_OK) {
		rc = db_row_oldest(&s->db->wr, s->bucket, key, &r);
		if (rc != DB_OK)
			break;
		if ((!has_current && r.vid == top.vid) ||
		    r.since_us >= s->lc->noncurrent_before_us)
			return DB_OK;
		if (s->left == 0) {
			*whole = false;
			return DB_OK;
		}
		s->left--;
		rc = drop_old(s, key, &r);
	}
	return rc == DB_NO_KEY ? DB_OK : rc;
}

static enum db_rc
expire_marker(struct step *s, const char *key)
{
	struct db_row top, r;
	enum db_rc rc;

	rc = db_row_newest_old(&s->db->wr, s->bucket, key, &top);
	if (rc == DB_OK)
		rc = db_row_oldest(&s->db->wr, s->bucket, key, &r);
	if (rc != DB_OK)
		return rc == DB_NO_KEY ? DB_OK : rc;
	if (r.vid != top.vid || !(r.flags & DB_F_MARKER))
		return DB_OK;
	return drop_old(s, key, &r);
}

static enum db_rc
visit_key(struct step *s, const char *key, bool *whole)
{
	struct db_delete d = { .key = key };
	struct db_row cur;
	bool has_current;
	enum db_rc rc;

	rc = db_row_current(&s->db->wr, s->bucket, key, &cur);
	has_current = rc == DB_OK;
	if (rc == DB_NO_KEY)
		rc = DB_OK;
	if (rc == DB_OK && s->lc->noncurrent_before_us > 0)
		rc = expire_noncurrent(s, key, has_current, whole);
	if (rc == DB_OK && !has_current && s->lc->expired_markers && *whole)
		rc = expire_marker(s, key);
	if (rc == DB_OK && has_current &&
	    cur.mtime_us < s->lc->current_before_us) {
		s->lc->removed++;
		rc = db_delete_one(s->db, s->bucket, NULL, &d);
	}
	return rc;
}

/* The least key above `after` (or from the prefix on) in one tree, when it
 * is below what is in key already. */
static enum db_rc
peek(struct step *s, enum db_st id, int key_col, const char *after, bool *found,
    char key[DB_KEY_MAX + 1])
{
	sqlite3_stmt *st = s->db->wr.st[id];
	char got[DB_KEY_MAX + 1];
	enum db_rc rc;

	sqlite3_bind_int64(st, 1, s->bucket);
	if (after == NULL || strcmp(after, s->lc->prefix) < 0)
		db_bind_key(st, 2, s->lc->prefix);
	else
		db_bind_after(st, 2, after);
	if ((rc = db_step(&s->db->wr, id)) != DB_OK)
		return rc == DB_NO_KEY ? DB_OK : rc;
	db_col_copy(st, key_col, got, sizeof(got));
	sqlite3_reset(st);
	if (strncmp(got, s->lc->prefix, strlen(s->lc->prefix)) != 0)
		return DB_OK;
	if (!*found || strcmp(got, key) < 0)
		memcpy(key, got, sizeof(got));
	*found = true;
	return DB_OK;
}

static enum db_rc
next_key(struct step *s, const char *after, bool *found, char *key)
{
	const struct db_lifecycle *lc = s->lc;
	enum db_rc rc = DB_OK;

	*found = false;
	if (lc->noncurrent_before_us > 0 || lc->expired_markers)
		rc = peek(s, ST_OLD_LIST, 7, after, found, key);
	if (rc == DB_OK && lc->current_before_us > 0)
		rc = peek(s, ST_CUR_LIST, 6, after, found, key);
	return rc;
}

static enum db_rc
expire_uploads(struct step *s)
{
	sqlite3_stmt *st = s->db->wr.st[ST_UP_OLD];
	char id[DB_VID_MAX], key[DB_KEY_MAX + 1], owner[65];
	enum db_rc rc = DB_OK;

	while (rc == DB_OK && s->left > 0) {
		sqlite3_bind_int64(st, 1, s->bucket);
		db_bind_key(st, 2, s->lc->prefix);
		sqlite3_bind_int64(st, 3, s->lc->uploads_before_us);
		if ((rc = db_step(&s->db->wr, ST_UP_OLD)) != DB_OK)
			break;
		db_col_copy(st, 0, id, sizeof(id));
		db_col_copy(st, 1, key, sizeof(key));
		db_col_copy(st, 4, owner, sizeof(owner));
		sqlite3_reset(st);
		if (strncmp(key, s->lc->prefix, strlen(s->lc->prefix)) != 0)
			break;
		s->left--;
		s->lc->removed++;
		rc = db_upload_drop(s->db, id, owner);
	}
	return rc == DB_NO_KEY ? DB_OK : rc;
}

enum db_rc
db_do_lifecycle(struct db *db, struct db_op *op)
{
	struct db_lifecycle *lc = &op->lc;
	struct step s = { .db = db, .bucket = op->bucket_id, .lc = lc };
	char key[DB_KEY_MAX + 1], done[DB_KEY_MAX + 1];
	const char *after = lc->after;
	enum db_versioning v;
	bool found, whole = true;
	enum db_rc rc;

	lc->removed = 0;
	free(lc->next); /* of a try that was rolled back */
	lc->next = NULL;
	/* One for the key and one for its version, or it would stand still. */
	s.left = lc->max > 2 ? lc->max : 2;
	rc = db_bucket_versioning(&db->wr, op->bucket_id, &v);
	if (rc == DB_OK && after == NULL && lc->uploads_before_us > 0)
		rc = expire_uploads(&s);
	while (rc == DB_OK) {
		if ((rc = next_key(&s, after, &found, key)) != DB_OK || !found)
			break;
		if (s.left == 0 || !whole) {
			lc->next = xstrdup(after != NULL ? after : "");
			break;
		}
		s.left--;
		rc = visit_key(&s, key, &whole);
		if (!whole)
			continue; /* the same key again in the next step */
		memcpy(done, key, sizeof(done));
		after = done;
	}
	return rc;
}
