#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "db_int.h"
#include "log.h"
#include "xalloc.h"

/* A file may go between its row and its opening; so often in a row only when
 * the key is written without pause. */
#define OPEN_TRIES 100

void
db_bucket_read(sqlite3_stmt *st, struct db_bucket *b)
{
	memset(b, 0, sizeof(*b));
	b->id = sqlite3_column_int64(st, 0);
	db_col_copy(st, 1, b->name, sizeof(b->name));
	db_col_copy(st, 2, b->owner, sizeof(b->owner));
	b->acl = (enum db_acl)sqlite3_column_int(st, 3);
	b->versioning = (enum db_versioning)sqlite3_column_int(st, 4);
	b->created_us = sqlite3_column_int64(st, 5);
	b->cors = db_col_dup(st, 6);
	b->lifecycle = db_col_dup(st, 7);
}

enum db_rc
db_bucket_find(struct db_conn *c, const char *name, struct db_bucket *out)
{
	enum db_rc rc;

	db_bind_text(c->st[ST_BUCKET_NAME], 1, name);
	rc = db_step(c, ST_BUCKET_NAME);
	if (rc == DB_NO_KEY)
		return DB_NO_BUCKET;
	if (rc != DB_OK)
		return rc;
	db_bucket_read(c->st[ST_BUCKET_NAME], out);
	sqlite3_reset(c->st[ST_BUCKET_NAME]);
	return DB_OK;
}

enum db_rc
db_bucket_get(struct db *db, const char *name, struct db_bucket *out)
{
	return db_read_logged(db, db_bucket_find(&db->rd, name, out));
}

enum db_rc
db_bucket_each(struct db *db, bool (*cb)(const struct db_bucket *b, void *arg),
    void *arg)
{
	struct db_bucket b;
	enum db_rc rc;
	bool on;

	while ((rc = db_step(&db->rd, ST_BUCKET_EACH)) == DB_OK) {
		db_bucket_read(db->rd.st[ST_BUCKET_EACH], &b);
		on = cb(&b, arg);
		db_bucket_fini(&b);
		if (!on)
			break;
	}
	if (rc == DB_OK)
		sqlite3_reset(db->rd.st[ST_BUCKET_EACH]);
	return rc == DB_NO_KEY ? DB_OK : db_read_logged(db, rc);
}

static void
on_snapshot_end(struct loop_task *t)
{
	db_read_refresh(t->arg);
}

/*
 * The reads of one turn of the loop share a transaction: its locks cost more
 * than a small read.  Nothing that was answered can be missing in it, since
 * it ends before the writes of a group are answered.
 */
enum db_rc
db_read_begin(struct db *db)
{
	enum db_rc rc;

	if (!db->snapshot) {
		if ((rc = db_run(&db->rd, ST_BEGIN_READ)) != DB_OK)
			return rc;
		db->snapshot = true;
		loop_defer(db->loop, &db->snapshot_end, on_snapshot_end, db);
	}
	/* A callback of a listing may read in its turn. */
	db->reading++;
	return DB_OK;
}

void
db_read_end(struct db *db)
{
	db->reading--;
}

void
db_read_refresh(struct db *db)
{
	if (!db->snapshot || db->reading > 0)
		return;
	(void)db_run(&db->rd, ST_COMMIT);
	db->snapshot = false;
	loop_defer_del(db->loop, &db->snapshot_end);
}

/* The level that gives up logs; reads have no other. */
enum db_rc
db_read_logged(struct db *db, enum db_rc rc)
{
	if (db_rc_fatal(rc))
		log_errorx("a read failed: %s", sqlite3_errmsg(db->rd.h));
	return rc;
}

/* Which version is meant, and what its row says. */
static enum db_rc
resolve(struct db_conn *c, int64_t bucket, const char *key,
    const char *version_id, struct db_row *r, bool *latest)
{
	struct db_row top;
	enum db_rc rc;

	if (version_id == NULL) {
		*latest = true;
		rc = db_row_current(c, bucket, key, r);
		if (rc != DB_NO_KEY)
			return rc;
		return db_row_newest_old(c, bucket, key, r);
	}
	rc = db_row_version(c, bucket, key, version_id, r, latest);
	if (rc != DB_OK || *latest)
		return rc;
	/* A marker is the latest when it is the newest and nothing current. */
	if (r->flags & DB_F_MARKER) {
		rc = db_row_newest_old(c, bucket, key, &top);
		*latest = rc == DB_OK && top.vid == r->vid &&
		    db_row_current(c, bucket, key, &top) == DB_NO_KEY;
	}
	return DB_OK;
}

static enum db_rc
read_joined(struct db_conn *c, int64_t vid, struct db_obj *out)
{
	enum db_rc rc;

	sqlite3_bind_int64(c->st[ST_JOINED_GET], 1, vid);
	if ((rc = db_step(c, ST_JOINED_GET)) != DB_OK)
		return rc == DB_NO_KEY ? DB_OK : rc; /* from format 1 */
	out->part_sizes = db_col_dup(c->st[ST_JOINED_GET], 0);
	sqlite3_reset(c->st[ST_JOINED_GET]);
	return DB_OK;
}

#define NVER 10 /* columns of VER_COLS */

/* The columns of VER_COLS; that of the body, if it is wanted, or -1.  The
 * statement is still in the middle of its row: what else is read belongs to
 * the same moment. */
static enum db_rc
read_columns(struct db_conn *c, sqlite3_stmt *st, int body, int64_t vid,
    struct db_obj *out, char *blob)
{
	const void *p;

	out->size = sqlite3_column_int64(st, 0);
	db_col_copy(st, 2, out->etag, sizeof(out->etag));
	out->crc = (uint32_t)sqlite3_column_int64(st, 3);
	out->parts = sqlite3_column_int64(st, 4);
	out->meta.acl = (enum db_acl)sqlite3_column_int(st, 5);
	out->meta.owner = db_col_dup(st, 6);
	out->meta.headers = db_col_dup(st, 7);
	out->meta.checksum = db_col_dup(st, 8);
	db_col_copy(st, 9, blob, DB_NAME_LEN + 1);
	if (body != -1 && blob[0] == '\0') {
		p = sqlite3_column_blob(st, body);
		if (sqlite3_column_bytes(st, body) != out->size ||
		    crc32c(0, p, (size_t)out->size) != out->crc)
			return DB_CORRUPT;
		out->data = xmemdup0(p, (size_t)out->size);
	}
	return out->parts > 0 ? read_joined(c, vid, out) : DB_OK;
}

static enum db_rc
read_version(struct db_conn *c, int64_t vid, enum db_read what,
    struct db_obj *out, char *blob)
{
	enum db_st id = what == DB_READ_BODY ? ST_VER_BODY : ST_VER_META;
	sqlite3_stmt *st = c->st[id];
	enum db_rc rc;

	sqlite3_bind_int64(st, 1, vid);
	if ((rc = db_step(c, id)) != DB_OK)
		return rc == DB_NO_KEY ? DB_CORRUPT : rc;
	rc = read_columns(c, st, what == DB_READ_BODY ? NVER : -1, vid, out,
	    blob);
	sqlite3_reset(st);
	return rc;
}

/*
 * Most reads are of a current version: one statement, and therefore no
 * transaction around it.  DB_NO_KEY: it has to be looked for.
 */
static enum db_rc
get_current(struct db_conn *c, int64_t bucket, const char *key,
    enum db_read what, struct db_obj *out, char *blob)
{
	enum db_st id = what == DB_READ_BODY ? ST_CUR_BODY : ST_CUR_META;
	sqlite3_stmt *st = c->st[id];
	int64_t vid;
	enum db_rc rc;

	sqlite3_bind_int64(st, 1, bucket);
	db_bind_key(st, 2, key);
	if ((rc = db_step(c, id)) != DB_OK)
		return rc;
	vid = sqlite3_column_int64(st, NVER);
	out->latest = true;
	out->mtime_us = sqlite3_column_int64(st, NVER + 1);
	db_vid_encode(c, vid, (unsigned)sqlite3_column_int(st, NVER + 2),
	    out->version_id);
	rc = read_columns(c, st, what == DB_READ_BODY ? NVER + 3 : -1, vid, out,
	    blob);
	sqlite3_reset(st);
	return rc;
}

static enum db_rc
get(struct db_conn *c, int64_t bucket, const char *key, const char *version_id,
    enum db_read what, struct db_obj *out, char *blob)
{
	struct db_row r;
	enum db_rc rc;

	rc = resolve(c, bucket, key, version_id, &r, &out->latest);
	if (rc != DB_OK)
		return rc;
	db_vid_encode(c, r.vid, r.flags, out->version_id);
	out->mtime_us = r.mtime_us;
	out->marker = (r.flags & DB_F_MARKER) != 0;
	if (out->marker && version_id == NULL)
		return DB_NO_KEY;
	if (out->marker) {
		out->meta.owner = xstrdup(r.owner);
		return DB_OK;
	}
	return read_version(c, r.vid, what, out, blob);
}

/* One try: row and body of one moment. */
static enum db_rc
get_once(struct db *db, int64_t bucket, const char *key, const char *version_id,
    enum db_read what, struct db_obj *out, char *blob)
{
	enum db_rc rc;

	memset(out, 0, sizeof(*out));
	out->file_fd = -1;
	blob[0] = '\0';
	rc = DB_NO_KEY;
	if (version_id == NULL)
		rc = get_current(&db->rd, bucket, key, what, out, blob);
	if (rc == DB_NO_KEY) {
		if ((rc = db_read_begin(db)) != DB_OK)
			return rc;
		rc = get(&db->rd, bucket, key, version_id, what, out, blob);
		db_read_end(db);
	}
	if (rc == DB_CORRUPT)
		log_errorx("damaged object: bucket %lld key %s version %s: "
			   "its checksum does not fit",
		    (long long)bucket, key, out->version_id);
	if (rc == DB_OK)
		out->key = xstrdup(key);
	return rc;
}

enum db_rc
db_get(struct db *db, int64_t bucket, const char *key, const char *version_id,
    enum db_read what, struct db_obj *out)
{
	char blob[DB_NAME_LEN + 1], missing[DB_NAME_LEN + 1] = "";
	enum db_rc rc;
	int i;

	for (i = 0; i < OPEN_TRIES; i++) {
		rc = get_once(db, bucket, key, version_id, what, out, blob);
		if (rc != DB_OK || what == DB_READ_META || blob[0] == '\0')
			break;
		out->file_fd = openat(db->blobs_fd, blob, O_RDONLY | O_CLOEXEC);
		if (out->file_fd != -1)
			break;
		rc = DB_ERROR;
		/* Named by two reads one after the other: it is not there. */
		if (errno != ENOENT || strcmp(blob, missing) == 0) {
			log_error("%s/blobs/%s", db->dir, blob);
			rc = errno == ENOENT ? DB_CORRUPT : DB_ERROR;
			break;
		}
		memcpy(missing, blob, sizeof(missing));
		db_read_refresh(db);
		db_obj_fini(out);
	}
	if (rc != DB_OK && !out->marker)
		db_obj_fini(out);
	return rc == DB_CORRUPT ? rc : db_read_logged(db, rc);
}
