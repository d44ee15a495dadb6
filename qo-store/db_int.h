/*
 * db_int.h - what the files of the database share; nobody else includes it.
 *
 * Three connections, each used by one thread alone: rd by the loop's, wr by
 * the commit thread, fl by the file thread.
 *
 * Format 2 of the database (PRAGMA user_version):
 *   version  one row per stored body, appended by vid, which rises for ever.
 *   current  one row per key that a LIST shows: what LIST needs, no more.
 *   old      every other version, and every delete marker.  A key without a
 *            current row whose newest old row is a marker is "deleted".
 *   usage    bytes of bodies by owner, versions and parts together; only
 *            when meta says usage = 1.
 *   joined   the sizes of the parts that a version was made of.
 *   done     uploads that were completed in the last day.
 * Format 1 had not the last three; db_open makes it a 2.
 * The newest version of a key always has the highest vid.  A first PUT writes
 * two rows; a marker is one row in old and has none in version.
 */
#ifndef DB_INT_H
#define DB_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sqlite3.h>

#include "db.h"
#include "db_sql.h"

#define DB_FORMAT   2
#define DB_APP_ID   0x716f7374 /* "qost" */
#define DB_FILE     "store.db"
#define DB_NAME_LEN 32 /* of a file under blobs/ and tmp/ */
#define DB_BUSY_MS  10000
#define DB_PART_MIN (5 * 1024 * 1024)

struct evp_cipher_ctx_st;
struct db_usage;

struct db_conn {
	sqlite3 *h;
	sqlite3_stmt *st[ST_COUNT];
	struct evp_cipher_ctx_st *enc, *dec; /* version ids */
};

/* Flags of a row in current or old. */
enum {
	DB_F_NULL = 1 << 0,  /* the version whose id is "null" */
	DB_F_MARKER = 1 << 1 /* only in old */
};

/* A row of current or old. */
struct db_row {
	int64_t vid;
	int64_t size;
	int64_t mtime_us;
	int64_t since_us; /* old: when it became noncurrent */
	unsigned flags;
	char etag[DB_ETAG_MAX];
	char owner[65];
};

/* A queue of operations with one reader. */
struct db_queue {
	pthread_mutex_t mu;
	pthread_cond_t cv;
	struct db_op *head, **tail;
	bool stop;
};

/* A file to unlink. */
struct db_drop {
	struct db_drop *next;
	char name[DB_NAME_LEN + 1];
};

struct db {
	struct loop *loop;
	char *dir;
	int dir_fd, blobs_fd, tmp_fd;
	int lock_fd;   /* one process per directory */
	int backup_fd; /* dir/blobs.lock: held by a backup, no unlinks then */
	struct db_conn rd, wr, fl;
	int reading;   /* depth of reads on rd */
	bool snapshot; /* a read transaction is open */
	struct loop_task snapshot_end;

	struct db_op *staged, **staged_tail; /* of this turn of the loop */
	struct loop_task turn_end;
	struct db_queue commits, files;
	pthread_t commit_thread, file_thread;
	bool threads, closing;
	struct db_drop *drops;      /* under files.mu: unlink these */
	struct db_drop *kept_drops; /* the file thread's: when possible */

	pthread_mutex_t done_mu;
	struct db_op *done, **done_tail;
	int done_fd;
	struct loop_io done_io;

	_Atomic int64_t seq;
	/* The commit thread's own. */
	int64_t next_vid;
	int64_t vid_limit; /* as stored; ids below it may be given out */
	int64_t group_seq; /* highest created in this transaction */
	struct db_drop *group_drops; /* given to the file thread at commit */
	int wal_pages, wal_copied;
	struct db_usage *usage;
	bool counting;      /* usage is kept */
	bool counted;       /* as of the last commit */
	enum db_rc trouble; /* of the last group: log changes only */
};

/* db.c: that it is a database of ours, and not of a later program. */
int64_t db_format(struct db_conn *c); /* -1: it can not be read */
int db_format_check(struct db_conn *c, const char *dir, struct qo_err *err);

/* db_check.c: a read-only connection beside a running store; only its handle
 * is set up.  db_conn_close it also after -1. */
int db_open_beside(struct db_conn *c, const char *dir, struct qo_err *err);

/* db_conn.c: connections, statements, version ids */
int db_conn_open(struct db_conn *c, const char *dir, int cache_kib,
    struct qo_err *err);
/* For a database that is complete: prepares everything. */
int db_conn_prepare(struct db_conn *c, struct qo_err *err);
void db_conn_close(struct db_conn *c);
/* The outcome that stands for the connection's last error. */
enum db_rc db_conn_rc(struct db_conn *c);
/* Steps a statement that gives no rows, and resets it. */
enum db_rc db_run(struct db_conn *c, enum db_st id);
/* Steps a statement.  DB_OK: a row is there, reset it after use; DB_NO_KEY:
 * none, it has been reset; else an error, it has been reset. */
enum db_rc db_step(struct db_conn *c, enum db_st id);
void db_bind_key(sqlite3_stmt *st, int i, const char *key);
/* The least key above this one: the key and a NUL. */
void db_bind_after(sqlite3_stmt *st, int i, const char *key);
void db_bind_text(sqlite3_stmt *st, int i, const char *s); /* NULL too */
char *db_col_dup(sqlite3_stmt *st, int i); /* NULL when the column is */
void db_col_copy(sqlite3_stmt *st, int i, char *to, size_t size);
/* The version id of a row. */
void db_vid_encode(struct db_conn *c, int64_t vid, unsigned flags,
    char out[DB_VID_MAX]);
/* 0 when it is no id of ours. */
int64_t db_vid_decode(struct db_conn *c, const char *id);
void db_random_name(char out[DB_NAME_LEN + 1]);

/* db_read.c */
enum db_rc db_bucket_find(struct db_conn *c, const char *name,
    struct db_bucket *out);
void db_bucket_read(sqlite3_stmt *st, struct db_bucket *b);
/* One transaction around the reads of the loop's thread. */
enum db_rc db_read_begin(struct db *db);
void db_read_end(struct db *db);
/* The next read sees all that is committed by now. */
void db_read_refresh(struct db *db);
/* Logs a failure of the reading connection; gives rc back. */
enum db_rc db_read_logged(struct db *db, enum db_rc rc);

/* db_row.c: one row of current, old and version */
/* DB_OK or DB_NO_KEY, or an error. */
enum db_rc db_row_current(struct db_conn *c, int64_t bucket, const char *key,
    struct db_row *r);
enum db_rc db_row_newest_old(struct db_conn *c, int64_t bucket, const char *key,
    struct db_row *r);
enum db_rc db_row_oldest(struct db_conn *c, int64_t bucket, const char *key,
    struct db_row *r);
/* The null version when it is in old. */
enum db_rc db_row_null(struct db_conn *c, int64_t bucket, const char *key,
    struct db_row *r);
/* A version by its id, "null" included, wherever it is; DB_NO_VERSION. */
enum db_rc db_row_version(struct db_conn *c, int64_t bucket, const char *key,
    const char *version_id, struct db_row *r, bool *current);
void db_row_read(sqlite3_stmt *st, int col, struct db_row *r);
enum db_rc db_row_put_current(struct db_conn *c, int64_t bucket,
    const char *key, const struct db_row *r);
enum db_rc db_row_drop_current(struct db_conn *c, int64_t bucket,
    const char *key);
enum db_rc db_row_put_old(struct db_conn *c, int64_t bucket, const char *key,
    const struct db_row *r);
enum db_rc db_row_drop_old(struct db_conn *c, int64_t bucket, const char *key,
    int64_t vid);
/* Removes a stored body. */
enum db_rc db_version_drop(struct db *db, int64_t vid);

/* db_queue.c: the way of an operation */
int db_threads_start(struct db *db, struct qo_err *err);
void db_threads_stop(struct db *db);
void db_queue_push(struct db_queue *q, struct db_op *op);
/* Waits for work, at most ms when that is not -1.  With q->mu held. */
void db_queue_wait(struct db_queue *q, int ms);
/* Hands a list of finished operations to the loop's thread. */
void db_give_back(struct db *db, struct db_op *first, struct db_op **tail);
void db_give_back_one(struct db *db, struct db_op *op);

/* db_commit.c: the commit thread */
void *db_commit_main(void *arg);
/* A new vid, inside a transaction. */
enum db_rc db_vid_next(struct db *db, int64_t *vid);

/* db_usage.c: inside a transaction of the commit thread */
enum db_rc db_usage_add(struct db *db, const char *owner, int64_t bytes);
/* DB_QUOTA when the owner would have more than max; 0: no limit. */
enum db_rc db_usage_fits(struct db *db, const char *owner, int64_t more,
    int64_t max);
/* Before the commit. */
enum db_rc db_usage_write(struct db *db);
/* After it, or after a roll-back. */
void db_usage_settle(struct db *db, bool committed);
void db_usage_free(struct db *db);

/* db_files.c: the file thread */
void *db_file_main(void *arg);
/* The file goes when this transaction is committed. */
void db_drop_at_commit(struct db *db, const char *name);
/* What the transaction dropped goes to the file thread. */
void db_drops_hand_over(struct db *db);
/* Unlinks these, and those that had to wait. */
void db_drops_unlink(struct db *db, struct db_drop *d);
void db_drops_free(struct db_drop *d);

/* db_body.c */
/* Without an MD5. */
struct db_body *db_body_new_plain(struct db *db);
/* Syncs a file body and gives it its name under blobs/.  File thread. */
enum db_rc db_body_settle(struct db_body *b);
const char *db_body_name(const struct db_body *b); /* NULL when inline */
const void *db_body_data(const struct db_body *b);
uint32_t db_body_crc(const struct db_body *b);
void db_body_keep(struct db_body *b); /* a row names the file now */
enum db_rc db_rc_errno(int errnum);
/* Adds len bytes of fd from off. */
enum db_rc db_body_add_fd(struct db_body *b, int fd, int64_t off, int64_t len);
/* CRC-32C of a file's first size bytes. */
enum db_rc db_file_verify(int fd, int64_t size, uint32_t crc);
/* Removes files that no row names, and everything in tmp/. */
int db_orphans_remove(struct db *db, struct qo_err *err);

/* Operations, on the commit thread inside the transaction.  They look first
 * and write after: one that fails below DB_FULL has written nothing. */
enum db_rc db_do_bucket_create(struct db *db, struct db_op *op);
enum db_rc db_do_bucket_delete(struct db *db, struct db_op *op);
enum db_rc db_do_bucket_set(struct db *db, struct db_op *op);
enum db_rc db_do_put(struct db *db, struct db_op *op);
enum db_rc db_do_delete(struct db *db, struct db_op *op);
enum db_rc db_do_set_acl(struct db *db, struct db_op *op);
enum db_rc db_do_upload_create(struct db *db, struct db_op *op);
enum db_rc db_do_part_put(struct db *db, struct db_op *op);
enum db_rc db_do_upload_complete(struct db *db, struct db_op *op);
enum db_rc db_do_upload_abort(struct db *db, struct db_op *op);
enum db_rc db_do_lifecycle(struct db *db, struct db_op *op);
/* Of an upload and its parts; owner is who began it. */
enum db_rc db_upload_drop(struct db *db, const char *id, const char *owner);

/* db_upload.c: rows of upload and part */
struct db_part_row {
	int64_t pid;
	int64_t size;
	uint32_t crc;
	char etag[DB_ETAG_MAX];
	char checksum[DB_SUM_MAX]; /* "" when it has none */
	char blob[DB_NAME_LEN + 1];
};
/* DB_NO_UPLOAD when there is none. */
enum db_rc db_upload_find(struct db_conn *c, int64_t bucket, const char *key,
    const char *id, struct db_upload *out);
/* DB_NO_KEY when there is none. */
enum db_rc db_part_find(struct db_conn *c, const char *upload, int number,
    struct db_part_row *p);

/* db_complete.c */
/* On the file thread: joins the parts to one body. */
enum db_rc db_complete_prepare(struct db *db, struct db_op *op);
void db_complete_free(struct db_complete *c);
/* What a PUT does once its body and etag are known. */
struct db_put {
	int64_t bucket;
	const char *key;
	const struct db_meta *meta;
	const struct db_body *body;
	const char *etag;
	int64_t parts;
	const char *part_sizes; /* with parts: "5242880 17" */
	const char *if_match, *if_none_match;
	int64_t max_bytes;
};
enum db_rc db_put_object(struct db *db, const struct db_put *p,
    struct db_op *op);
enum db_rc db_bucket_versioning(struct db_conn *c, int64_t id,
    enum db_versioning *v);
/* One of DB_OP_DELETE's; owner is the marker's. */
enum db_rc db_delete_one(struct db *db, int64_t bucket, const char *owner,
    struct db_delete *d);

/* Whether a failure concerns the whole transaction and not the operation. */
static inline bool
db_rc_fatal(enum db_rc rc)
{
	return rc >= DB_FULL;
}

#endif
