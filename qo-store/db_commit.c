/*
 * The commit thread: takes everything that is queued, carries it out in one
 * transaction and hands it back after the commit.  While that one is on its
 * way to disk the next group gathers.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "db_int.h"
#include "io.h"
#include "log.h"

/* One transaction stays within these; the rest waits for the next. */
#define GROUP_OPS   512
#define GROUP_BYTES (INT64_C(32) * 1024 * 1024)

/* WAL pages: from SOFT on it is copied back between two groups; beyond HARD
 * readers are waited for, so that it can begin anew. */
#define WAL_SOFT 4000
#define WAL_HARD 16000
/* What is left in the WAL is copied back after this long without work. */
#define IDLE_MS 1000

/* Vids are reserved in blocks, so that the counter is not one more page in
 * every commit. */
#define VID_BLOCK 10000

enum db_rc
db_vid_next(struct db *db, int64_t *vid)
{
	sqlite3_stmt *st = db->wr.st[ST_META_SET];
	enum db_rc rc;

	if (db->next_vid >= db->vid_limit) {
		db_bind_text(st, 1, "vid_limit");
		sqlite3_bind_int64(st, 2, db->next_vid + VID_BLOCK);
		if ((rc = db_run(&db->wr, ST_META_SET)) != DB_OK)
			return rc;
		db->vid_limit = db->next_vid + VID_BLOCK;
	}
	*vid = db->next_vid++;
	return DB_OK;
}

static enum db_rc
carry_out(struct db *db, struct db_op *op)
{
	switch (op->kind) {
	case DB_OP_BUCKET_CREATE:
		return db_do_bucket_create(db, op);
	case DB_OP_BUCKET_DELETE:
		return db_do_bucket_delete(db, op);
	case DB_OP_BUCKET_SET:
		return db_do_bucket_set(db, op);
	case DB_OP_PUT:
		return db_do_put(db, op);
	case DB_OP_DELETE:
		return db_do_delete(db, op);
	case DB_OP_SET_ACL:
		return db_do_set_acl(db, op);
	case DB_OP_UPLOAD_CREATE:
		return db_do_upload_create(db, op);
	case DB_OP_PART_PUT:
		return db_do_part_put(db, op);
	case DB_OP_UPLOAD_COMPLETE:
		return db_do_upload_complete(db, op);
	case DB_OP_UPLOAD_ABORT:
		return db_do_upload_abort(db, op);
	case DB_OP_LIFECYCLE:
		return db_do_lifecycle(db, op);
	case DB_OP_VERIFY:
		break;
	}
	qo_bug("operation %d on the commit thread", (int)op->kind);
}

/* After an error SQLite may have rolled back by itself. */
static void
roll_back(struct db *db)
{
	if (sqlite3_get_autocommit(db->wr.h) == 0)
		(void)db_run(&db->wr, ST_ROLLBACK);
	db_drops_free(db->group_drops);
	db->group_drops = NULL;
	db_usage_settle(db, false);
	/* What was reserved in this transaction is not: reserve again. */
	db->vid_limit = 0;
}

/* SQLite does not always keep the reason why a file could not be written, and
 * that of a failed sync is no use to it: a file of our own tells. */
static enum db_rc
find_reason(struct db *db, enum db_rc rc)
{
	static const char page[4096];
	int fd;

	if (rc != DB_ERROR ||
	    (sqlite3_errcode(db->wr.h) & 0xff) != SQLITE_IOERR)
		return rc;
	fd = openat(db->tmp_fd, "probe", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd == -1 || io_write_all(fd, page, sizeof(page)) == -1 ||
	    fdatasync(fd) == -1)
		rc = db_rc_errno(errno);
	if (fd != -1) {
		close(fd);
		(void)unlinkat(db->tmp_fd, "probe", 0);
	}
	return rc;
}

/* DB_OK: on disk, each op has its own rc.  Else nothing has happened. */
static enum db_rc
transact(struct db *db, struct db_op *first)
{
	struct db_op *op;
	enum db_rc rc;
	int errnum;

	db->group_seq = 0;
	if ((rc = db_run(&db->wr, ST_BEGIN_WRITE)) != DB_OK)
		goto fail;
	for (op = first; op != NULL; op = op->queue_next) {
		rc = op->rc = carry_out(db, op);
		if (db_rc_fatal(rc))
			goto fail;
	}
	if ((rc = db_usage_write(db)) != DB_OK ||
	    (rc = db_run(&db->wr, ST_COMMIT)) != DB_OK)
		goto fail;
	db_usage_settle(db, true);
	if (db->group_seq > atomic_load(&db->seq))
		atomic_store(&db->seq, db->group_seq);
	return DB_OK;
fail:
	rc = find_reason(db, rc);
	/* One line when it begins, not one for each write. */
	if (rc != db->trouble) {
		errnum = sqlite3_system_errno(db->wr.h);
		log_errorx("writes fail and are refused: %s%s%s",
		    sqlite3_errmsg(db->wr.h), errnum != 0 ? ": " : "",
		    errnum != 0 ? strerror(errnum) : "");
	}
	roll_back(db);
	return rc;
}

static void
fail_all(struct db_op *op, enum db_rc rc)
{
	size_t i;

	for (; op != NULL; op = op->queue_next) {
		op->rc = rc;
		op->out_seq = 0;
		if (op->kind == DB_OP_DELETE)
			for (i = 0; i < op->ndeletes; i++)
				op->deletes[i].rc = rc;
	}
}

/*
 * A damaged page or a bug concerns one operation: the others of its group go
 * through without it.  A full or failing disk concerns them all.
 */
static enum db_rc
transact_singly(struct db *db, struct db_op *first)
{
	struct db_op *op, *rest;
	enum db_rc rc, last = DB_OK;

	for (op = first; op != NULL; op = rest) {
		rest = op->queue_next;
		op->queue_next = NULL;
		if ((rc = transact(db, op)) != DB_OK) {
			fail_all(op, rc);
			last = rc;
			db->trouble = rc;
		}
		op->queue_next = rest;
	}
	return last;
}

static void
run_group(struct db *db, struct db_op *first, struct db_op **tail)
{
	struct db_op *op;
	enum db_rc rc;

	rc = transact(db, first);
	if (rc == DB_CORRUPT && first->queue_next != NULL) {
		db->trouble = rc;
		rc = transact_singly(db, first);
	} else if (rc != DB_OK)
		fail_all(first, rc);
	if (rc == DB_OK && db->trouble != DB_OK)
		log_info("writes go through again");
	db->trouble = rc;
	for (op = first; op != NULL; op = op->queue_next) {
		if (op->rc == DB_OK && op->body != NULL)
			db_body_keep(op->body);
		db_body_free(op->body);
		op->body = NULL;
		db_complete_free(op->private);
		op->private = NULL;
	}
	db_give_back(db, first, tail);
	db_drops_hand_over(db);
}

/* A bounded run of operations off the queue's front. */
static struct db_op *
take_group(struct db_queue *q, struct db_op ***tail)
{
	struct db_op *first, **p;
	int64_t bytes = 0;
	size_t n = 0;

	first = q->head;
	for (p = &q->head; *p != NULL && n < GROUP_OPS && bytes < GROUP_BYTES;
	     p = &(*p)->queue_next) {
		n++;
		if ((*p)->body != NULL && db_body_name((*p)->body) == NULL)
			bytes += db_body_size((*p)->body);
	}
	if (first == NULL)
		return NULL;
	q->head = *p;
	if (q->head == NULL)
		q->tail = &q->head;
	*p = NULL;
	*tail = p;
	return first;
}

/* The WAL */

static int
on_wal(void *arg, sqlite3 *h, const char *name, int pages)
{
	struct db *db = arg;

	(void)h;
	(void)name;
	db->wal_pages = pages;
	return SQLITE_OK;
}

/*
 * Copies the WAL back; with synchronous=FULL SQLite syncs the WAL before and
 * the database after, and only then may the next writer begin the WAL anew.
 * A failure loses nothing: the WAL stays and it is tried again later.
 */
static void
checkpoint(struct db *db)
{
	int mode, r;

	mode = SQLITE_CHECKPOINT_PASSIVE;
	if (db->wal_pages > WAL_HARD) {
		mode = SQLITE_CHECKPOINT_RESTART;
		/* Ours are short; a check or backup beside us is not. */
		sqlite3_busy_timeout(db->wr.h, 50);
	}
	r = sqlite3_wal_checkpoint_v2(db->wr.h, "main", mode, NULL, NULL);
	sqlite3_busy_timeout(db->wr.h, DB_BUSY_MS);
	if (r != SQLITE_OK && (r & 0xff) != SQLITE_BUSY && db->trouble == DB_OK)
		log_warnx("the WAL can not be copied back: %s",
		    sqlite3_errmsg(db->wr.h));
	db->wal_copied = db->wal_pages;
}

/* Whether it has grown enough since it was last copied back. */
static bool
wal_is_long(struct db *db)
{
	if (db->wal_pages < db->wal_copied)
		db->wal_copied = 0; /* it began anew */
	return db->wal_pages - db->wal_copied > WAL_SOFT;
}

void *
db_commit_main(void *arg)
{
	struct db *db = arg;
	struct db_queue *q = &db->commits;
	struct db_op *first, **tail;
	bool idle = false;

	sqlite3_wal_hook(db->wr.h, on_wal, db);
	pthread_mutex_lock(&q->mu);
	for (;;) {
		if ((first = take_group(q, &tail)) != NULL) {
			pthread_mutex_unlock(&q->mu);
			run_group(db, first, tail);
			if (wal_is_long(db))
				checkpoint(db);
			pthread_mutex_lock(&q->mu);
			idle = false;
			continue;
		}
		if (q->stop)
			break;
		db_queue_wait(q, idle ? -1 : IDLE_MS);
		if (q->head == NULL && !q->stop && !idle) {
			pthread_mutex_unlock(&q->mu);
			checkpoint(db);
			pthread_mutex_lock(&q->mu);
			idle = true;
		}
	}
	pthread_mutex_unlock(&q->mu);
	return NULL;
}
