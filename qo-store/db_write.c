/*
 * Writes of objects, on the commit thread inside its transaction.  Each one
 * looks and judges first and only then writes, so that a refused one leaves
 * nothing and needs no savepoint.
 */
#include <string.h>

#include "db_int.h"
#include "encode.h"
#include "hash.h"
#include "log.h"

/* What a write needs to know of its key. */
struct key_state {
	int64_t bucket;
	enum db_versioning versioning;
	const char *key;
	bool has_current;
	bool has_marker;   /* the newest is one */
	struct db_row top; /* the newest, when it has either */
	int64_t now_us;    /* never before the newest */
};

static enum db_rc
look(struct db *db, int64_t bucket, const char *key, struct key_state *s)
{
	enum db_rc rc;

	memset(s, 0, sizeof(*s));
	s->bucket = bucket;
	s->key = key;
	rc = db_bucket_versioning(&db->wr, bucket, &s->versioning);
	if (rc != DB_OK)
		return rc;
	rc = db_row_current(&db->wr, bucket, key, &s->top);
	s->has_current = rc == DB_OK;
	if (rc == DB_NO_KEY && s->versioning != DB_UNVERSIONED) {
		rc = db_row_newest_old(&db->wr, bucket, key, &s->top);
		s->has_marker = rc == DB_OK;
	}
	s->now_us = qo_wall_local().us;
	if (rc == DB_OK && s->now_us < s->top.mtime_us)
		s->now_us = s->top.mtime_us;
	return rc == DB_NO_KEY ? DB_OK : rc;
}

static enum db_rc
judge(const struct key_state *s, const char *if_match, const char *if_none)
{
	if (if_match != NULL) {
		if (!s->has_current)
			return DB_NO_KEY;
		if (strcmp(if_match, "*") != 0 &&
		    strcmp(if_match, s->top.etag) != 0)
			return DB_PRECONDITION;
	}
	if (if_none != NULL && s->has_current &&
	    (strcmp(if_none, "*") == 0 || strcmp(if_none, s->top.etag) == 0))
		return DB_PRECONDITION;
	return DB_OK;
}

/* The newest version steps back; a row in current is left to the caller, who
 * replaces or removes it. */
static enum db_rc
make_noncurrent(struct db *db, const struct key_state *s)
{
	struct db_row r = s->top;
	enum db_rc rc;

	if (!s->has_current && !s->has_marker)
		return DB_OK;
	if (s->has_marker &&
	    (rc = db_row_drop_old(&db->wr, s->bucket, s->key, r.vid)) != DB_OK)
		return rc;
	r.since_us = s->now_us;
	return db_row_put_old(&db->wr, s->bucket, s->key, &r);
}

/* The null version among the old ones goes. */
static enum db_rc
drop_old_null(struct db *db, const struct key_state *s)
{
	struct db_row r;
	enum db_rc rc;

	if ((rc = db_row_null(&db->wr, s->bucket, s->key, &r)) != DB_OK)
		return rc == DB_NO_KEY ? DB_OK : rc;
	rc = db_row_drop_old(&db->wr, s->bucket, s->key, r.vid);
	if (rc == DB_OK && !(r.flags & DB_F_MARKER))
		rc = db_version_drop(db, r.vid);
	return rc;
}

/* Makes room for a new newest version, as the bucket's versioning wants. */
static enum db_rc
step_aside(struct db *db, const struct key_state *s)
{
	enum db_rc rc = DB_OK;

	switch (s->versioning) {
	case DB_UNVERSIONED:
		if (s->has_current)
			rc = db_version_drop(db, s->top.vid);
		break;
	case DB_VERSIONED:
		rc = make_noncurrent(db, s);
		break;
	case DB_SUSPENDED: /* there is one null version at most */
		if (s->has_current && (s->top.flags & DB_F_NULL))
			return db_version_drop(db, s->top.vid);
		rc = make_noncurrent(db, s);
		if (rc == DB_OK)
			rc = drop_old_null(db, s);
		break;
	}
	return rc;
}

static enum db_rc
insert_version(struct db *db, const struct db_put *p, const struct db_row *r)
{
	sqlite3_stmt *st = db->wr.st[ST_VER_PUT];
	const char *blob = db_body_name(p->body);

	sqlite3_bind_int64(st, 1, r->vid);
	sqlite3_bind_int64(st, 2, p->bucket);
	db_bind_key(st, 3, p->key);
	sqlite3_bind_int64(st, 4, r->size);
	sqlite3_bind_int64(st, 5, r->mtime_us);
	db_bind_text(st, 6, r->etag);
	sqlite3_bind_int64(st, 7, db_body_crc(p->body));
	sqlite3_bind_int64(st, 8, p->parts);
	sqlite3_bind_int(st, 9, (int)p->meta->acl);
	db_bind_text(st, 10, p->meta->owner);
	db_bind_text(st, 11, p->meta->headers);
	db_bind_text(st, 12, p->meta->checksum);
	db_bind_text(st, 13, blob);
	if (blob != NULL || r->size == 0)
		sqlite3_bind_null(st, 14);
	else
		sqlite3_bind_blob(st, 14, db_body_data(p->body), (int)r->size,
		    SQLITE_STATIC);
	return db_run(&db->wr, ST_VER_PUT);
}

/* The id that the API may show: none in an unversioned bucket. */
static void
show_version(struct db *db, const struct key_state *s, const struct db_row *r,
    char out[DB_VID_MAX])
{
	if (s->versioning == DB_UNVERSIONED)
		out[0] = '\0';
	else
		db_vid_encode(&db->wr, r->vid, r->flags, out);
}

static enum db_rc
new_row(struct db *db, const struct key_state *s, struct db_row *r)
{
	memset(r, 0, sizeof(*r));
	r->mtime_us = s->now_us;
	r->flags = s->versioning == DB_VERSIONED ? 0 : DB_F_NULL;
	return db_vid_next(db, &r->vid);
}

/* Bytes of this owner that go when the new version comes. */
static int64_t
replaced(const struct key_state *s, const char *owner)
{
	if (!s->has_current || owner == NULL ||
	    strcmp(s->top.owner, owner) != 0)
		return 0;
	if (s->versioning == DB_UNVERSIONED ||
	    (s->versioning == DB_SUSPENDED && (s->top.flags & DB_F_NULL)))
		return s->top.size;
	return 0;
}

static enum db_rc
insert_joined(struct db *db, const struct db_put *p, int64_t vid)
{
	sqlite3_stmt *st = db->wr.st[ST_JOINED_PUT];

	if (p->part_sizes == NULL)
		return DB_OK;
	sqlite3_bind_int64(st, 1, vid);
	db_bind_text(st, 2, p->part_sizes);
	return db_run(&db->wr, ST_JOINED_PUT);
}

enum db_rc
db_put_object(struct db *db, const struct db_put *p, struct db_op *op)
{
	const char *owner = p->meta->owner;
	int64_t size = db_body_size(p->body);
	struct db_row r;
	struct key_state s;
	enum db_rc rc;

	op->out_seq = 0;
	if ((rc = look(db, p->bucket, p->key, &s)) != DB_OK ||
	    (rc = judge(&s, p->if_match, p->if_none_match)) != DB_OK ||
	    (rc = db_usage_fits(db, owner, size - replaced(&s, owner),
		 p->max_bytes)) != DB_OK ||
	    (rc = new_row(db, &s, &r)) != DB_OK)
		return rc;
	r.size = size;
	(void)strlcpy(r.etag, p->etag, sizeof(r.etag));
	if (owner != NULL)
		(void)strlcpy(r.owner, owner, sizeof(r.owner));
	if ((rc = step_aside(db, &s)) != DB_OK ||
	    (rc = db_usage_add(db, owner, size)) != DB_OK ||
	    (rc = insert_joined(db, p, r.vid)) != DB_OK ||
	    (rc = insert_version(db, p, &r)) != DB_OK ||
	    (rc = db_row_put_current(&db->wr, p->bucket, p->key, &r)) != DB_OK)
		return rc;
	show_version(db, &s, &r, op->out_version);
	(void)strlcpy(op->out_etag, r.etag, sizeof(op->out_etag));
	op->out_mtime_us = r.mtime_us;
	op->out_size = r.size;
	if (!s.has_current)
		op->out_seq = db->group_seq = r.vid;
	return DB_OK;
}

enum db_rc
db_do_put(struct db *db, struct db_op *op)
{
	char md5[HEX_SIZE(MD5_LEN)];
	struct db_put p = { .bucket = op->bucket_id,
		.key = op->key,
		.meta = &op->meta,
		.etag = op->etag,
		.if_match = op->if_match,
		.if_none_match = op->if_none_match,
		.max_bytes = op->max_bytes };

	if (op->body == NULL)
		op->body = db_body_new(db); /* an empty one */
	p.body = op->body;
	if (p.etag == NULL) {
		hex_encode(md5, db_body_md5(op->body), MD5_LEN);
		p.etag = md5;
	}
	return db_put_object(db, &p, op);
}

/* Deletes */

static enum db_rc
add_marker(struct db *db, const struct key_state *s, const char *owner,
    struct db_delete *d)
{
	struct db_row r;
	enum db_rc rc;

	if ((rc = new_row(db, s, &r)) != DB_OK)
		return rc;
	r.flags |= DB_F_MARKER;
	if (owner != NULL)
		(void)strlcpy(r.owner, owner, sizeof(r.owner));
	if ((rc = step_aside(db, s)) != DB_OK)
		return rc;
	if (s->has_current &&
	    (rc = db_row_drop_current(&db->wr, s->bucket, s->key)) != DB_OK)
		return rc;
	if ((rc = db_row_put_old(&db->wr, s->bucket, s->key, &r)) != DB_OK)
		return rc;
	d->marker = true;
	show_version(db, s, &r, d->out_version);
	return DB_OK;
}

static enum db_rc
delete_key(struct db *db, const struct key_state *s, const char *owner,
    struct db_delete *d)
{
	enum db_rc rc;

	d->existed = s->has_current;
	if (s->versioning != DB_UNVERSIONED)
		return add_marker(db, s, owner, d);
	if (!s->has_current)
		return DB_OK;
	if ((rc = db_version_drop(db, s->top.vid)) != DB_OK)
		return rc;
	return db_row_drop_current(&db->wr, s->bucket, s->key);
}

/* The newest old version becomes current, unless it is a marker. */
static enum db_rc
promote(struct db *db, const struct key_state *s)
{
	struct db_row r;
	enum db_rc rc;

	if ((rc = db_row_newest_old(&db->wr, s->bucket, s->key, &r)) != DB_OK)
		return rc == DB_NO_KEY ? DB_OK : rc;
	if (r.flags & DB_F_MARKER)
		return DB_OK;
	if ((rc = db_row_drop_old(&db->wr, s->bucket, s->key, r.vid)) != DB_OK)
		return rc;
	return db_row_put_current(&db->wr, s->bucket, s->key, &r);
}

static enum db_rc
delete_version(struct db *db, const struct key_state *s, struct db_delete *d)
{
	struct db_row r;
	enum db_rc rc;
	bool current;

	(void)strlcpy(d->out_version, d->version_id, sizeof(d->out_version));
	rc = db_row_version(&db->wr, s->bucket, s->key, d->version_id, &r,
	    &current);
	if (rc != DB_OK)
		return rc == DB_NO_VERSION ? DB_OK : rc;
	d->existed = true;
	d->marker = (r.flags & DB_F_MARKER) != 0;
	rc = current ? db_row_drop_current(&db->wr, s->bucket, s->key)
		     : db_row_drop_old(&db->wr, s->bucket, s->key, r.vid);
	if (rc == DB_OK && !d->marker)
		rc = db_version_drop(db, r.vid);
	if (rc == DB_OK && (current || !s->has_current))
		rc = promote(db, s);
	return rc;
}

enum db_rc
db_delete_one(struct db *db, int64_t bucket, const char *owner,
    struct db_delete *d)
{
	struct key_state s;
	enum db_rc rc;

	d->marker = d->existed = false;
	d->out_version[0] = '\0';
	if ((rc = look(db, bucket, d->key, &s)) != DB_OK ||
	    (rc = judge(&s, d->if_match, NULL)) != DB_OK)
		return rc;
	return d->version_id != NULL ? delete_version(db, &s, d)
				     : delete_key(db, &s, owner, d);
}

enum db_rc
db_do_delete(struct db *db, struct db_op *op)
{
	enum db_versioning versioning;
	enum db_rc rc;
	size_t i;

	rc = db_bucket_versioning(&db->wr, op->bucket_id, &versioning);
	for (i = 0; i < op->ndeletes && rc == DB_OK; i++) {
		op->deletes[i].rc = db_delete_one(db, op->bucket_id, op->owner,
		    &op->deletes[i]);
		/* One key's refusal is its own; a failing disk is all's. */
		if (db_rc_fatal(op->deletes[i].rc))
			rc = op->deletes[i].rc;
	}
	return rc;
}

enum db_rc
db_do_set_acl(struct db *db, struct db_op *op)
{
	sqlite3_stmt *st = db->wr.st[ST_VER_ACL];
	struct db_row r;
	enum db_versioning versioning;
	enum db_rc rc;
	bool current;

	rc = db_bucket_versioning(&db->wr, op->bucket_id, &versioning);
	if (rc == DB_OK && op->version_id == NULL)
		rc = db_row_current(&db->wr, op->bucket_id, op->key, &r);
	else if (rc == DB_OK)
		rc = db_row_version(&db->wr, op->bucket_id, op->key,
		    op->version_id, &r, &current);
	if (rc != DB_OK)
		return rc;
	if (r.flags & DB_F_MARKER)
		return DB_NO_KEY;
	sqlite3_bind_int64(st, 1, r.vid);
	sqlite3_bind_int(st, 2, (int)op->acl);
	return db_run(&db->wr, ST_VER_ACL);
}
