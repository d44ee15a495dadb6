#include <string.h>

#include "db_int.h"

enum db_rc
db_bucket_versioning(struct db_conn *c, int64_t id, enum db_versioning *v)
{
	enum db_rc rc;

	sqlite3_bind_int64(c->st[ST_BUCKET_ID], 1, id);
	rc = db_step(c, ST_BUCKET_ID);
	if (rc == DB_NO_KEY)
		return DB_NO_BUCKET;
	if (rc != DB_OK)
		return rc;
	*v = (enum db_versioning)sqlite3_column_int(c->st[ST_BUCKET_ID], 0);
	sqlite3_reset(c->st[ST_BUCKET_ID]);
	return DB_OK;
}

enum db_rc
db_do_bucket_create(struct db *db, struct db_op *op)
{
	struct db_conn *c = &db->wr;
	sqlite3_stmt *st = c->st[ST_BUCKET_NEW];
	enum db_rc rc;

	db_bucket_fini(&op->bucket);
	rc = db_bucket_find(c, op->bucket_name, &op->bucket);
	if (rc != DB_NO_BUCKET)
		return rc == DB_OK ? DB_EXISTS : rc;
	db_bind_text(st, 1, op->bucket_name);
	db_bind_text(st, 2, op->owner);
	sqlite3_bind_int(st, 3, (int)op->acl);
	sqlite3_bind_int(st, 4, (int)op->versioning);
	sqlite3_bind_int64(st, 5, qo_wall_local().us);
	if ((rc = db_run(c, ST_BUCKET_NEW)) != DB_OK)
		return rc;
	return db_bucket_find(c, op->bucket_name, &op->bucket);
}

/* Unfinished uploads do not keep a bucket: they go with it. */
static enum db_rc
drop_uploads(struct db *db, int64_t bucket)
{
	sqlite3_stmt *st = db->wr.st[ST_UP_BUCKET];
	char id[DB_VID_MAX], owner[65];
	enum db_rc rc;

	for (;;) {
		sqlite3_bind_int64(st, 1, bucket);
		if ((rc = db_step(&db->wr, ST_UP_BUCKET)) != DB_OK)
			return rc == DB_NO_KEY ? DB_OK : rc;
		db_col_copy(st, 0, id, sizeof(id));
		db_col_copy(st, 4, owner, sizeof(owner));
		sqlite3_reset(st);
		if ((rc = db_upload_drop(db, id, owner)) != DB_OK)
			return rc;
	}
}

enum db_rc
db_do_bucket_delete(struct db *db, struct db_op *op)
{
	struct db_conn *c = &db->wr;
	enum db_versioning v;
	enum db_rc rc;

	if ((rc = db_bucket_versioning(c, op->bucket_id, &v)) != DB_OK)
		return rc;
	sqlite3_bind_int64(c->st[ST_BUCKET_USED], 1, op->bucket_id);
	rc = db_step(c, ST_BUCKET_USED);
	if (rc == DB_OK) {
		sqlite3_reset(c->st[ST_BUCKET_USED]);
		return DB_NOT_EMPTY;
	}
	if (rc != DB_NO_KEY)
		return rc;
	if ((rc = drop_uploads(db, op->bucket_id)) != DB_OK)
		return rc;
	sqlite3_bind_int64(c->st[ST_BUCKET_DROP], 1, op->bucket_id);
	return db_run(c, ST_BUCKET_DROP);
}

static enum db_rc
set_text(struct db_conn *c, enum db_st id, int64_t bucket, const char *text)
{
	sqlite3_bind_int64(c->st[id], 1, bucket);
	db_bind_text(c->st[id], 2, text);
	return db_run(c, id);
}

static enum db_rc
set_int(struct db_conn *c, enum db_st id, int64_t bucket, int value)
{
	sqlite3_bind_int64(c->st[id], 1, bucket);
	sqlite3_bind_int(c->st[id], 2, value);
	return db_run(c, id);
}

enum db_rc
db_do_bucket_set(struct db *db, struct db_op *op)
{
	struct db_conn *c = &db->wr;
	enum db_versioning old, new;
	enum db_rc rc;

	if ((rc = db_bucket_versioning(c, op->bucket_id, &old)) != DB_OK)
		return rc;
	if (op->set & DB_SET_VERSIONING) {
		/* There is no way back to unversioned. */
		new = op->versioning;
		if (new == DB_UNVERSIONED && old != DB_UNVERSIONED)
			new = DB_SUSPENDED;
		rc = set_int(c, ST_BUCKET_VERSIONING, op->bucket_id, (int)new);
	}
	if (rc == DB_OK && (op->set & DB_SET_ACL))
		rc = set_int(c, ST_BUCKET_ACL, op->bucket_id, (int)op->acl);
	if (rc == DB_OK && (op->set & DB_SET_CORS))
		rc = set_text(c, ST_BUCKET_CORS, op->bucket_id, op->cors);
	if (rc == DB_OK && (op->set & DB_SET_LIFECYCLE))
		rc = set_text(c, ST_BUCKET_LIFECYCLE, op->bucket_id,
		    op->lifecycle);
	return rc;
}
