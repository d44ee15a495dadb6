#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "datalock.h"
#include "db_int.h"
#include "log.h"
#include "xalloc.h"

/* Together well below 100 MiB with the heap; interior pages of a million keys
 * need about 4 MiB. */
#define READ_CACHE_KIB  16384
#define WRITE_CACHE_KIB 16384
#define FILE_CACHE_KIB  1024

void
db_bucket_fini(struct db_bucket *b)
{
	free(b->cors);
	free(b->lifecycle);
	memset(b, 0, sizeof(*b));
}

static void
meta_fini(struct db_meta *m)
{
	free(m->owner);
	free(m->headers);
	free(m->checksum);
}

void
db_obj_fini(struct db_obj *o)
{
	free(o->key);
	free(o->data);
	free(o->part_sizes);
	meta_fini(&o->meta);
	if (o->file_fd != -1)
		close(o->file_fd);
	memset(o, 0, sizeof(*o));
	o->file_fd = -1;
}

void
db_upload_fini(struct db_upload *u)
{
	free(u->key);
	meta_fini(&u->meta);
	memset(u, 0, sizeof(*u));
}

/* The directory, its two children and their descriptors. */
static int
open_dirs(struct db *db, struct qo_err *err)
{
	static const char *const sub[2] = { "blobs", "tmp" };
	int *fds[2] = { &db->blobs_fd, &db->tmp_fd };
	int i;

	if (mkdir(db->dir, 0700) == -1 && errno != EEXIST)
		goto fail;
	db->dir_fd = open(db->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (db->dir_fd == -1)
		goto fail;
	for (i = 0; i < 2; i++) {
		if (mkdirat(db->dir_fd, sub[i], 0700) == -1 && errno != EEXIST)
			goto fail;
		*fds[i] = openat(db->dir_fd, sub[i],
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (*fds[i] == -1)
			goto fail;
	}
	db->backup_fd = openat(db->dir_fd, "blobs.lock",
	    O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (db->backup_fd == -1)
		goto fail;
	return 0;
fail:
	qo_err_sys(err, errno, "%s", db->dir);
	return -1;
}

static int64_t
pragma_int(struct db_conn *c, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t v = -1;

	if (sqlite3_prepare_v2(c->h, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return v;
}

static int
create_schema(struct db_conn *c, struct qo_err *err)
{
	unsigned char key[16];
	sqlite3_stmt *st = NULL;
	char sql[128];
	int rv = -1;

	(void)snprintf(sql, sizeof(sql),
	    "PRAGMA application_id = %d; PRAGMA user_version = %d;", DB_APP_ID,
	    DB_FORMAT);
	arc4random_buf(key, sizeof(key));
	if (sqlite3_exec(c->h, "BEGIN IMMEDIATE", NULL, NULL, NULL) !=
		SQLITE_OK ||
	    sqlite3_exec(c->h, db_schema, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(c->h, sql, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(c->h, db_sql[ST_META_SET], -1, &st, NULL) !=
		SQLITE_OK)
		goto out;
	db_bind_text(st, 1, "vid_key");
	sqlite3_bind_blob(st, 2, key, sizeof(key), SQLITE_STATIC);
	if (sqlite3_step(st) != SQLITE_DONE || sqlite3_reset(st) != SQLITE_OK)
		goto out;
	db_bind_text(st, 1, "vid_limit");
	sqlite3_bind_int64(st, 2, 1);
	if (sqlite3_step(st) != SQLITE_DONE || sqlite3_reset(st) != SQLITE_OK)
		goto out;
	if (sqlite3_exec(c->h, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
		rv = 0;
out:
	if (rv == -1)
		qo_err_set(err, "database: %s", sqlite3_errmsg(c->h));
	sqlite3_finalize(st);
	return rv;
}

int64_t
db_format(struct db_conn *c)
{
	return pragma_int(c, "PRAGMA user_version");
}

int
db_format_check(struct db_conn *c, const char *dir, struct qo_err *err)
{
	int64_t app, format;

	app = pragma_int(c, "PRAGMA application_id");
	format = db_format(c);
	if (app == -1 || format == -1)
		qo_err_set(err, "%s/%s: %s", dir, DB_FILE,
		    sqlite3_errmsg(c->h));
	else if (app != DB_APP_ID)
		qo_err_set(err, "%s/%s is not a database of qo-store", dir,
		    DB_FILE);
	else if (format > DB_FORMAT)
		qo_err_set(err,
		    "%s/%s has format %" PRId64
		    ", this program knows formats up to %d: use a newer one",
		    dir, DB_FILE, format, DB_FORMAT);
	else
		return 0;
	return -1;
}

static int
open_database(struct db *db, struct qo_err *err)
{
	struct db_conn *c = &db->wr;
	int64_t tables, format = DB_FORMAT;

	if (db_conn_open(c, db->dir, WRITE_CACHE_KIB, err) == -1)
		return -1;
	tables = pragma_int(c, "SELECT count(*) FROM sqlite_schema");
	if (tables == 0) {
		/* Before anything is written: it can not be changed later. */
		if (sqlite3_exec(c->h, "PRAGMA page_size = 4096", NULL, NULL,
			NULL) != SQLITE_OK)
			goto fail;
	} else if (tables == -1)
		goto fail;
	else if (db_format_check(c, db->dir, err) == -1)
		return -1;
	else
		format = db_format(c);
	if (sqlite3_exec(c->h, "PRAGMA journal_mode = WAL", NULL, NULL, NULL) !=
	    SQLITE_OK)
		goto fail;
	if (tables == 0 && create_schema(c, err) == -1)
		return -1;
	if (format == 1) {
		log_info("%s/%s: from format 1 to 2", db->dir, DB_FILE);
		if (sqlite3_exec(c->h, db_to_format_2, NULL, NULL, NULL) !=
		    SQLITE_OK)
			goto fail;
	}
	if (fsync(db->dir_fd) == -1) {
		qo_err_sys(err, errno, "%s", db->dir);
		return -1;
	}
	return db_conn_prepare(c, err);
fail:
	qo_err_set(err, "%s/%s: %s", db->dir, DB_FILE, sqlite3_errmsg(c->h));
	return -1;
}

/* A number in meta; def when it is not there. */
static int
load_meta(struct db *db, const char *name, int64_t def, int64_t *n,
    struct qo_err *err)
{
	sqlite3_stmt *st = db->wr.st[ST_META_GET];
	enum db_rc rc;

	*n = def;
	db_bind_text(st, 1, name);
	rc = db_step(&db->wr, ST_META_GET);
	if (rc == DB_OK) {
		*n = sqlite3_column_int64(st, 0);
		sqlite3_reset(st);
	}
	if (rc == DB_OK || rc == DB_NO_KEY)
		return 0;
	qo_err_set(err, "database: %s", sqlite3_errmsg(db->wr.h));
	return -1;
}

static int
load_counters(struct db *db, struct qo_err *err)
{
	int64_t usage;

	if (load_meta(db, "vid_limit", 0, &db->vid_limit, err) == -1 ||
	    load_meta(db, "usage", 0, &usage, err) == -1)
		return -1;
	if (db->vid_limit == 0) {
		qo_err_set(err, "the database has no counter of versions");
		return -1;
	}
	/* Ids up to the limit may have been given out before. */
	db->next_vid = db->vid_limit;
	atomic_store(&db->seq, db->next_vid - 1);
	db->counting = db->counted = usage == 1;
	return 0;
}

struct db *
db_open(struct loop *l, const char *dir, struct qo_err *err)
{
	struct db *db;

	db = xcalloc(1, sizeof(*db));
	db->loop = l;
	db->dir = xstrdup(dir);
	db->dir_fd = db->blobs_fd = db->tmp_fd = -1;
	db->lock_fd = db->backup_fd = db->done_fd = -1;
	if (open_dirs(db, err) == -1 ||
	    (db->lock_fd = datalock_take(db->dir_fd, dir, err)) == -1 ||
	    open_database(db, err) == -1 || load_counters(db, err) == -1 ||
	    db_orphans_remove(db, err) == -1 ||
	    db_conn_open(&db->rd, dir, READ_CACHE_KIB, err) == -1 ||
	    db_conn_prepare(&db->rd, err) == -1 ||
	    db_conn_open(&db->fl, dir, FILE_CACHE_KIB, err) == -1 ||
	    db_conn_prepare(&db->fl, err) == -1 ||
	    db_threads_start(db, err) == -1) {
		db_close(db);
		return NULL;
	}
	return db;
}

void
db_close(struct db *db)
{
	if (db == NULL)
		return;
	db_threads_stop(db);
	db_read_refresh(db);
	db_conn_close(&db->fl);
	db_conn_close(&db->rd);
	db_usage_free(db);
	db_conn_close(&db->wr); /* the last one out checkpoints */
	if (db->backup_fd != -1)
		close(db->backup_fd);
	if (db->tmp_fd != -1)
		close(db->tmp_fd);
	if (db->blobs_fd != -1)
		close(db->blobs_fd);
	if (db->dir_fd != -1)
		close(db->dir_fd);
	if (db->lock_fd != -1)
		close(db->lock_fd);
	free(db->dir);
	free(db);
}

void
db_set_child(struct db *db)
{
	if (datalock_set_child(db->lock_fd) == -1)
		log_warn("%s/lock", db->dir);
}

void
db_set_orphan(struct db *db)
{
	if (datalock_set_orphan(db->lock_fd) == -1)
		log_warn("%s/lock", db->dir);
}

int64_t
db_seq(struct db *db)
{
	return atomic_load(&db->seq);
}
