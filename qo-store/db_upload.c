/*
 * Multipart uploads.  Parts are bodies of their own, in the database or in
 * files.  Completing joins them to one new body on the file thread (so an
 * upload needs its size twice on disk for a moment) and then commits like a
 * PUT, after another look that no part has changed meanwhile.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "db_int.h"
#include "encode.h"
#include "hash.h"
#include "xalloc.h"

/* What the file thread found, for the commit thread to find again. */
struct db_complete {
	char etag[DB_ETAG_MAX];
	int64_t *pids; /* of op->parts, one by one */
};

/* A row of part. */
struct part_row {
	int64_t pid;
	int64_t size;
	uint32_t crc;
	char etag[DB_ETAG_MAX];
	char blob[DB_NAME_LEN + 1];
};

void
db_complete_free(struct db_complete *c)
{
	if (c == NULL)
		return;
	free(c->pids);
	free(c);
}

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

static enum db_rc
find_upload(struct db_conn *c, int64_t bucket, const char *key, const char *id,
    struct db_upload *out)
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
	return db_read_logged(
	    db, find_upload(&db->rd, bucket, key, upload_id, out));
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

static enum db_rc
find_part(struct db_conn *c, const char *upload, int number, struct part_row *p)
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
	db_col_copy(st, 7, p->blob, sizeof(p->blob));
	sqlite3_reset(st);
	return DB_OK;
}

/* A part that is sent again replaces the one before. */
static enum db_rc
drop_part(struct db *db, const struct part_row *p)
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

enum db_rc
db_do_part_put(struct db *db, struct db_op *op)
{
	struct db_upload u;
	struct part_row old;
	int64_t pid;
	enum db_rc rc;

	rc = find_upload(&db->wr, op->bucket_id, op->key, op->upload_id, &u);
	if (rc != DB_OK)
		return rc;
	db_upload_fini(&u);
	if (op->body == NULL)
		op->body = db_body_new(db);
	rc = find_part(&db->wr, op->upload_id, op->part_number, &old);
	if (rc == DB_OK)
		rc = drop_part(db, &old);
	else if (rc == DB_NO_KEY)
		rc = DB_OK;
	if (rc != DB_OK || (rc = db_vid_next(db, &pid)) != DB_OK)
		return rc;
	hex_encode(op->out_etag, db_body_md5(op->body), MD5_LEN);
	op->out_mtime_us = qo_wall_local().us;
	op->out_size = db_body_size(op->body);
	return insert_part(db, op, pid);
}

/* Completing, on the file thread */

static enum db_rc
add_inline(struct db *db, const struct part_row *p, struct db_body *body)
{
	sqlite3_stmt *st = db->fl.st[ST_PART_BODY];
	const void *data;
	size_t len;
	enum db_rc rc;

	sqlite3_bind_int64(st, 1, p->pid);
	if ((rc = db_step(&db->fl, ST_PART_BODY)) != DB_OK)
		return rc == DB_NO_KEY ? DB_BAD_PART : rc;
	data = sqlite3_column_blob(st, 0);
	len = (size_t)sqlite3_column_bytes(st, 0);
	if ((int64_t)len != p->size || crc32c(0, data, len) != p->crc)
		rc = DB_CORRUPT;
	else
		(void)db_body_add(body, data, len, &rc);
	sqlite3_reset(st);
	return rc;
}

static enum db_rc
add_part(struct db *db, const struct part_row *p, struct db_body *body)
{
	enum db_rc rc;
	int fd;

	if (p->blob[0] == '\0')
		return p->size == 0 ? DB_OK : add_inline(db, p, body);
	/* Gone: the part was replaced or the upload aborted meanwhile. */
	fd = openat(db->blobs_fd, p->blob, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return DB_BAD_PART;
	rc = db_file_verify(fd, p->size, p->crc);
	if (rc == DB_OK)
		rc = db_body_add_fd(body, fd, 0, p->size);
	close(fd);
	return rc;
}

/* Judges the whole list before a byte is copied. */
static enum db_rc
check_parts(struct db *db, struct db_op *op, struct part_row *rows)
{
	int64_t size = 0;
	enum db_rc rc;
	size_t i;

	for (i = 0; i < op->nparts; i++) {
		if (i > 0 && op->parts[i].number <= op->parts[i - 1].number)
			return DB_PART_ORDER;
		rc = find_part(
		    &db->fl, op->upload_id, op->parts[i].number, &rows[i]);
		if (rc == DB_NO_KEY ||
		    (rc == DB_OK &&
			strcmp(rows[i].etag, op->parts[i].etag) != 0))
			return DB_BAD_PART;
		if (rc != DB_OK)
			return rc;
	}
	for (i = 0; i + 1 < op->nparts; i++)
		if (rows[i].size < DB_PART_MIN)
			return DB_PART_SMALL;
	for (i = 0; i < op->nparts; i++)
		size += rows[i].size;
	if (op->max_size > 0 && size > op->max_size)
		return DB_TOO_LARGE;
	return op->nparts == 0 ? DB_BAD_PART : DB_OK;
}

/* MD5 of the parts' MD5s, and their number. */
static void
complete_etag(const struct part_row *rows, size_t n, char etag[DB_ETAG_MAX])
{
	unsigned char md5[MD5_LEN];
	struct hash h = { 0 };
	size_t i, len;

	hash_init(&h, HASH_MD5);
	for (i = 0; i < n; i++)
		if (hex_decode(md5, rows[i].etag, MD5_LEN) == 0)
			hash_update(&h, md5, MD5_LEN);
	hash_final(&h, md5);
	hash_fini(&h);
	hex_encode(etag, md5, MD5_LEN);
	len = strlen(etag);
	(void)snprintf(etag + len, DB_ETAG_MAX - len, "-%zu", n);
}

enum db_rc
db_complete_prepare(struct db *db, struct db_op *op)
{
	struct db_complete *c;
	struct db_upload u;
	struct part_row *rows;
	enum db_rc rc;
	size_t i;

	rc = find_upload(&db->fl, op->bucket_id, op->key, op->upload_id, &u);
	if (rc != DB_OK)
		return rc;
	db_upload_fini(&u);
	rows = xcalloc(op->nparts + 1, sizeof(*rows));
	rc = check_parts(db, op, rows);
	if (rc == DB_OK) {
		op->private = c = xcalloc(1, sizeof(*c));
		c->pids = xcalloc(op->nparts, sizeof(*c->pids));
		complete_etag(rows, op->nparts, c->etag);
		op->body = db_body_new_plain(db);
		for (i = 0; i < op->nparts && rc == DB_OK; i++) {
			c->pids[i] = rows[i].pid;
			rc = add_part(db, &rows[i], op->body);
		}
	}
	free(rows);
	return rc;
}

/* Completing, on the commit thread */

static enum db_rc
parts_unchanged(struct db *db, struct db_op *op)
{
	struct part_row p;
	enum db_rc rc;
	size_t i;

	for (i = 0; i < op->nparts; i++) {
		rc = find_part(&db->wr, op->upload_id, op->parts[i].number, &p);
		if (rc != DB_OK && rc != DB_NO_KEY)
			return rc;
		if (rc == DB_NO_KEY || p.pid != op->private->pids[i])
			return DB_BAD_PART;
	}
	return DB_OK;
}

enum db_rc
db_do_upload_complete(struct db *db, struct db_op *op)
{
	struct db_upload u;
	struct db_put p;
	enum db_rc rc;

	rc = find_upload(&db->wr, op->bucket_id, op->key, op->upload_id, &u);
	if (rc != DB_OK)
		return rc;
	p = (struct db_put){ .bucket = op->bucket_id,
		.key = op->key,
		.meta = &u.meta,
		.body = op->body,
		.etag = op->private->etag,
		.parts = (int64_t)op->nparts,
		.if_match = op->if_match,
		.if_none_match = op->if_none_match };
	free(u.meta.checksum);
	u.meta.checksum = xstrdup_null(op->meta.checksum);
	rc = parts_unchanged(db, op);
	if (rc == DB_OK)
		rc = db_put_object(db, &p, op);
	if (rc == DB_OK)
		rc = db_upload_drop(db, op->upload_id);
	db_upload_fini(&u);
	return rc;
}

/* An upload and its parts. */
enum db_rc
db_upload_drop(struct db *db, const char *id)
{
	struct db_conn *c = &db->wr;
	sqlite3_stmt *st = c->st[ST_PART_LIST];
	char blob[DB_NAME_LEN + 1];
	enum db_rc rc;

	db_bind_text(st, 1, id);
	sqlite3_bind_int(st, 2, -1);
	while ((rc = db_step(c, ST_PART_LIST)) == DB_OK) {
		db_col_copy(st, 7, blob, sizeof(blob));
		if (blob[0] != '\0')
			db_drop_at_commit(db, blob);
	}
	if (rc != DB_NO_KEY)
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

	rc = find_upload(&db->wr, op->bucket_id, op->key, op->upload_id, &u);
	if (rc != DB_OK)
		return rc;
	db_upload_fini(&u);
	return db_upload_drop(db, op->upload_id);
}
