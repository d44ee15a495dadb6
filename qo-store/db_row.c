#include <string.h>

#include "db_int.h"

/* The columns of CUR_COLS from col on; since only in OLD_COLS. */
void
db_row_read(sqlite3_stmt *st, int col, struct db_row *r)
{
	r->vid = sqlite3_column_int64(st, col);
	r->size = sqlite3_column_int64(st, col + 1);
	r->mtime_us = sqlite3_column_int64(st, col + 2);
	r->flags = (unsigned)sqlite3_column_int(st, col + 3);
	db_col_copy(st, col + 4, r->etag, sizeof(r->etag));
	db_col_copy(st, col + 5, r->owner, sizeof(r->owner));
	r->since_us = 0;
}

static void
read_old(sqlite3_stmt *st, struct db_row *r)
{
	db_row_read(st, 0, r);
	r->since_us = sqlite3_column_int64(st, 6);
}

static enum db_rc
get_row(struct db_conn *c, enum db_st id, int64_t bucket, const char *key,
    struct db_row *r)
{
	sqlite3_stmt *st = c->st[id];
	enum db_rc rc;

	sqlite3_bind_int64(st, 1, bucket);
	db_bind_key(st, 2, key);
	if ((rc = db_step(c, id)) != DB_OK)
		return rc;
	if (id == ST_CUR_GET)
		db_row_read(st, 0, r);
	else
		read_old(st, r);
	sqlite3_reset(st);
	return DB_OK;
}

enum db_rc
db_row_current(struct db_conn *c, int64_t bucket, const char *key,
    struct db_row *r)
{
	return get_row(c, ST_CUR_GET, bucket, key, r);
}

enum db_rc
db_row_newest_old(struct db_conn *c, int64_t bucket, const char *key,
    struct db_row *r)
{
	return get_row(c, ST_OLD_TOP, bucket, key, r);
}

enum db_rc
db_row_oldest(struct db_conn *c, int64_t bucket, const char *key,
    struct db_row *r)
{
	return get_row(c, ST_OLD_FIRST, bucket, key, r);
}

enum db_rc
db_row_null(struct db_conn *c, int64_t bucket, const char *key,
    struct db_row *r)
{
	return get_row(c, ST_OLD_NULL, bucket, key, r);
}

enum db_rc
db_row_version(struct db_conn *c, int64_t bucket, const char *key,
    const char *version_id, struct db_row *r, bool *current)
{
	sqlite3_stmt *st = c->st[ST_OLD_GET];
	int64_t vid;
	enum db_rc rc;
	bool null;

	*current = false;
	null = strcmp(version_id, "null") == 0;
	vid = null ? 0 : db_vid_decode(c, version_id);
	if (!null && vid == 0)
		return DB_NO_VERSION;
	rc = db_row_current(c, bucket, key, r);
	if (rc == DB_OK && (null ? (r->flags & DB_F_NULL) : r->vid == vid)) {
		*current = true;
		return DB_OK;
	}
	if (rc != DB_OK && rc != DB_NO_KEY)
		return rc;
	if (null) {
		rc = db_row_null(c, bucket, key, r);
		return rc == DB_NO_KEY ? DB_NO_VERSION : rc;
	}
	sqlite3_bind_int64(st, 1, bucket);
	db_bind_key(st, 2, key);
	sqlite3_bind_int64(st, 3, vid);
	if ((rc = db_step(c, ST_OLD_GET)) != DB_OK)
		return rc == DB_NO_KEY ? DB_NO_VERSION : rc;
	read_old(st, r);
	sqlite3_reset(st);
	/* A null version is not reachable by the id it would have had. */
	return r->flags & DB_F_NULL ? DB_NO_VERSION : DB_OK;
}

static void
bind_row(sqlite3_stmt *st, int64_t bucket, const char *key,
    const struct db_row *r)
{
	sqlite3_bind_int64(st, 1, bucket);
	db_bind_key(st, 2, key);
	sqlite3_bind_int64(st, 3, r->vid);
	sqlite3_bind_int64(st, 4, r->size);
	sqlite3_bind_int64(st, 5, r->mtime_us);
	sqlite3_bind_int(st, 6, (int)r->flags);
	db_bind_text(st, 7, r->etag);
	db_bind_text(st, 8, r->owner);
}

enum db_rc
db_row_put_current(struct db_conn *c, int64_t bucket, const char *key,
    const struct db_row *r)
{
	bind_row(c->st[ST_CUR_PUT], bucket, key, r);
	return db_run(c, ST_CUR_PUT);
}

enum db_rc
db_row_drop_current(struct db_conn *c, int64_t bucket, const char *key)
{
	sqlite3_bind_int64(c->st[ST_CUR_DROP], 1, bucket);
	db_bind_key(c->st[ST_CUR_DROP], 2, key);
	return db_run(c, ST_CUR_DROP);
}

enum db_rc
db_row_put_old(struct db_conn *c, int64_t bucket, const char *key,
    const struct db_row *r)
{
	bind_row(c->st[ST_OLD_PUT], bucket, key, r);
	sqlite3_bind_int64(c->st[ST_OLD_PUT], 9, r->since_us);
	return db_run(c, ST_OLD_PUT);
}

enum db_rc
db_row_drop_old(struct db_conn *c, int64_t bucket, const char *key, int64_t vid)
{
	sqlite3_stmt *st = c->st[ST_OLD_DROP];

	sqlite3_bind_int64(st, 1, bucket);
	db_bind_key(st, 2, key);
	sqlite3_bind_int64(st, 3, vid);
	return db_run(c, ST_OLD_DROP);
}

enum db_rc
db_version_drop(struct db *db, int64_t vid)
{
	struct db_conn *c = &db->wr;
	sqlite3_stmt *st = c->st[ST_VER_LOOK];
	char name[DB_NAME_LEN + 1], owner[65];
	int64_t size, parts;
	enum db_rc rc;

	sqlite3_bind_int64(st, 1, vid);
	if ((rc = db_step(c, ST_VER_LOOK)) != DB_OK)
		return rc == DB_NO_KEY ? DB_OK : rc; /* db_check tells */
	db_col_copy(st, 0, name, sizeof(name));
	size = sqlite3_column_int64(st, 1);
	db_col_copy(st, 2, owner, sizeof(owner));
	parts = sqlite3_column_int64(st, 3);
	sqlite3_reset(st);
	if (name[0] != '\0')
		db_drop_at_commit(db, name);
	if (parts > 0) {
		sqlite3_bind_int64(c->st[ST_JOINED_DROP], 1, vid);
		if ((rc = db_run(c, ST_JOINED_DROP)) != DB_OK)
			return rc;
	}
	if ((rc = db_usage_add(db, owner, -size)) != DB_OK)
		return rc;
	sqlite3_bind_int64(c->st[ST_VER_DROP], 1, vid);
	return db_run(c, ST_VER_DROP);
}
