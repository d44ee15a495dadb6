/*
 * Multipart uploads.  Parts are bodies of their own, in the database or in
 * files.
 */
#include <string.h>

#include "db_int.h"
#include "encode.h"
#include "hash.h"

static void
read_upload(sqlite3_stmt *st, struct db_upload *u)
{
	memset(u, 0, sizeof(*u));
	db_col_copy(st, 0, u->id, sizeof(u->id));
	u->key = db_col_dup(st, 1);
	u->initiated_us = sqlite3_column_int64(st, 2);
	u->meta.acl = (enum db_acl)sqlite3_column_int(st, 3);
	u->meta.owner = db_col_dup(st, 4);
	u->meta.headers = db_col_dup(st, 5);
	u->meta.checksum = db_col_dup(st, 6);
}

enum db_rc
db_upload_find(struct db_conn *c, int64_t bucket, const char *key,
    const char *id, struct db_upload *out)
{
	sqlite3_stmt *st = c->st[ST_UP_GET];
	enum db_rc rc;

	db_bind_text(st, 1, id);
	sqlite3_bind_int64(st, 2, bucket);
	db_bind_key(st, 3, key);
	if ((rc = db_step(c, ST_UP_GET)) != DB_OK)
		return rc == DB_NO_KEY ? DB_NO_UPLOAD : rc;
	read_upload(st, out);
	sqlite3_reset(st);
	return DB_OK;
}

enum db_rc
db_upload_get(struct db *db, int64_t bucket, const char *key,
    const char *upload_id, struct db_upload *out)
{
	return db_read_logged(db,
	    db_upload_find(&db->rd, bucket, key, upload_id, out));
}

enum db_rc
db_upload_each(struct db *db, int64_t bucket, const char *prefix,
    const char *after_key, const char *after_id, size_t max, bool *more,
    void (*cb)(const struct db_upload *u, void *arg), void *arg)
{
	sqlite3_stmt *st = db->rd.st[ST_UP_LIST];
	struct db_upload u;
	size_t n = 0;
	bool past = false;
	enum db_rc rc;

	*more = false;
	sqlite3_bind_int64(st, 1, bucket);
	if (after_key == NULL || strcmp(after_key, prefix) < 0) {
		db_bind_key(st, 2, prefix);
		db_bind_text(st, 3, "");
	} else {
		db_bind_key(st, 2, after_key);
		/* Above every id: behind all uploads of that key. */
		db_bind_text(st, 3,
		    after_id != NULL && after_id[0] != '\0' ? after_id : "~");
	}
	while (!past && (rc = db_step(&db->rd, ST_UP_LIST)) == DB_OK) {
		read_upload(st, &u);
		past = strncmp(u.key, prefix, strlen(prefix)) != 0;
		if (!past && n == max)
			*more = past = true;
		if (!past) {
			n++;
			cb(&u, arg);
		}
		db_upload_fini(&u);
	}
	sqlite3_reset(st);
	return past || rc == DB_NO_KEY ? DB_OK : db_read_logged(db, rc);
}

enum db_rc
db_part_each(struct db *db, const char *upload_id, int after, size_t max,
    bool *more, void (*cb)(const struct db_part *p, void *arg), void *arg)
{
	sqlite3_stmt *st = db->rd.st[ST_PART_LIST];
	struct db_part p;
	size_t n = 0;
	enum db_rc rc;

	*more = false;
	db_bind_text(st, 1, upload_id);
	sqlite3_bind_int(st, 2, after);
	while ((rc = db_step(&db->rd, ST_PART_LIST)) == DB_OK) {
		if (n++ == max) {
			*more = true;
			break;
		}
		p.number = sqlite3_column_int(st, 1);
		p.size = sqlite3_column_int64(st, 2);
		p.mtime_us = sqlite3_column_int64(st, 3);
		db_col_copy(st, 4, p.etag, sizeof(p.etag));
		p.checksum = db_col_dup(st, 6);
		cb(&p, arg);
		free(p.checksum);
	}
	sqlite3_reset(st);
	return rc == DB_NO_KEY || *more ? DB_OK : db_read_logged(db, rc);
}

enum db_rc
db_do_upload_create(struct db *db, struct db_op *op)
{
	sqlite3_stmt *st = db->wr.st[ST_UP_NEW];
	enum db_versioning v;
	enum db_rc rc;

	if ((rc = db_bucket_versioning(&db->wr, op->bucket_id, &v)) != DB_OK)
		return rc;
	db_random_name(op->out_upload);
	db_bind_text(st, 1, op->out_upload);
	sqlite3_bind_int64(st, 2, op->bucket_id);
	db_bind_key(st, 3, op->key);
	sqlite3_bind_int64(st, 4, qo_wall_local().us);
	sqlite3_bind_int(st, 5, (int)op->meta.acl);
	db_bind_text(st, 6, op->meta.owner);
	db_bind_text(st, 7, op->meta.headers);
	db_bind_text(st, 8, op->meta.checksum);
	return db_run(&db->wr, ST_UP_NEW);
}

enum db_rc
db_part_find(struct db_conn *c, const char *upload, int number,
    struct db_part_row *p)
{
	sqlite3_stmt *st = c->st[ST_PART_GET];
	enum db_rc rc;

	db_bind_text(st, 1, upload);
	sqlite3_bind_int(st, 2, number);
	if ((rc = db_step(c, ST_PART_GET)) != DB_OK)
		return rc;
	p->pid = sqlite3_column_int64(st, 0);
	p->size = sqlite3_column_int64(st, 2);
	db_col_copy(st, 4, p->etag, sizeof(p->etag));
	p->crc = (uint32_t)sqlite3_column_int64(st, 5);
	db_col_copy(st, 6, p->checksum, sizeof(p->checksum));
	db_col_copy(st, 7, p->blob, sizeof(p->blob));
	sqlite3_reset(st);
	return DB_OK;
}

/* A part that is sent again replaces the one before. */
static enum db_rc
drop_part(struct db *db, const struct db_part_row *p)
{
	if (p->blob[0] != '\0')
		db_drop_at_commit(db, p->blob);
	sqlite3_bind_int64(db->wr.st[ST_PART_DROP], 1, p->pid);
	return db_run(&db->wr, ST_PART_DROP);
}

static enum db_rc
insert_part(struct db *db, struct db_op *op, int64_t pid)
{
	sqlite3_stmt *st = db->wr.st[ST_PART_PUT];
	const char *blob = db_body_name(op->body);

	sqlite3_bind_int64(st, 1, pid);
	db_bind_text(st, 2, op->upload_id);
	sqlite3_bind_int(st, 3, op->part_number);
	sqlite3_bind_int64(st, 4, op->out_size);
	sqlite3_bind_int64(st, 5, op->out_mtime_us);
	db_bind_text(st, 6, op->out_etag);
	sqlite3_bind_int64(st, 7, db_body_crc(op->body));
	db_bind_text(st, 8, op->part_checksum);
	db_bind_text(st, 9, blob);
	if (blob != NULL || op->out_size == 0)
		sqlite3_bind_null(st, 10);
	else
		sqlite3_bind_blob(st, 10, db_body_data(op->body),
		    (int)op->out_size, SQLITE_STATIC);
	return db_run(&db->wr, ST_PART_PUT);
}

/* The parts are the bytes of whoever began the upload. */
static enum db_rc
put_part(struct db *db, struct db_op *op, const char *owner)
{
	struct db_part_row old = { 0 };
	bool again;
	int64_t pid, more;
	enum db_rc rc;

	if (op->body == NULL)
		op->body = db_body_new(db);
	op->out_size = db_body_size(op->body);
	rc = db_part_find(&db->wr, op->upload_id, op->part_number, &old);
	if (rc != DB_OK && rc != DB_NO_KEY)
		return rc;
	again = rc == DB_OK;
	more = op->out_size - (again ? old.size : 0);
	if ((rc = db_usage_fits(db, owner, more, op->max_bytes)) != DB_OK ||
	    (again && (rc = drop_part(db, &old)) != DB_OK) ||
	    (rc = db_usage_add(db, owner, more)) != DB_OK ||
	    (rc = db_vid_next(db, &pid)) != DB_OK)
		return rc;
	hex_encode(op->out_etag, db_body_md5(op->body), MD5_LEN);
	op->out_mtime_us = qo_wall_local().us;
	return insert_part(db, op, pid);
}

enum db_rc
db_do_part_put(struct db *db, struct db_op *op)
{
	struct db_upload u;
	enum db_rc rc;

	rc = db_upload_find(&db->wr, op->bucket_id, op->key, op->upload_id, &u);
	if (rc != DB_OK)
		return rc;
	rc = put_part(db, op, u.meta.owner);
	db_upload_fini(&u);
	return rc;
}

/* An upload and its parts. */
enum db_rc
db_upload_drop(struct db *db, const char *id, const char *owner)
{
	struct db_conn *c = &db->wr;
	sqlite3_stmt *st = c->st[ST_PART_LIST];
	char blob[DB_NAME_LEN + 1];
	int64_t bytes = 0;
	enum db_rc rc;

	db_bind_text(st, 1, id);
	sqlite3_bind_int(st, 2, -1);
	while ((rc = db_step(c, ST_PART_LIST)) == DB_OK) {
		bytes += sqlite3_column_int64(st, 2);
		db_col_copy(st, 7, blob, sizeof(blob));
		if (blob[0] != '\0')
			db_drop_at_commit(db, blob);
	}
	if (rc != DB_NO_KEY)
		return rc;
	if ((rc = db_usage_add(db, owner, -bytes)) != DB_OK)
		return rc;
	db_bind_text(c->st[ST_PART_DROP_ALL], 1, id);
	if ((rc = db_run(c, ST_PART_DROP_ALL)) != DB_OK)
		return rc;
	db_bind_text(c->st[ST_UP_DROP], 1, id);
	return db_run(c, ST_UP_DROP);
}

enum db_rc
db_do_upload_abort(struct db *db, struct db_op *op)
{
	struct db_upload u;
	enum db_rc rc;

	rc = db_upload_find(&db->wr, op->bucket_id, op->key, op->upload_id, &u);
	if (rc != DB_OK)
		return rc;
	rc = db_upload_drop(db, op->upload_id, u.meta.owner);
	db_upload_fini(&u);
	return rc;
}
