/*
 * The two threads behind db_submit.
 *
 * The commit thread takes everything that is queued, carries it out in one
 * transaction and hands it back after the commit.  While that one is on its
 * way to disk the next group gathers.  The file thread does what may be slow
 * (sync, copy, verify, unlink) before or after, and passes on.
 */
#include <sys/eventfd.h>
#include <sys/file.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db_int.h"
#include "io.h"
#include "log.h"
#include "xalloc.h"

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

static void
queue_init(struct db_queue *q)
{
	pthread_condattr_t attr;

	q->tail = &q->head;
	if (pthread_mutex_init(&q->mu, NULL) != 0 ||
	    pthread_condattr_init(&attr) != 0 ||
	    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) != 0 ||
	    pthread_cond_init(&q->cv, &attr) != 0)
		fatalx("no mutex or condition variable");
	pthread_condattr_destroy(&attr);
}

static void
queue_fini(struct db_queue *q)
{
	pthread_cond_destroy(&q->cv);
	pthread_mutex_destroy(&q->mu);
}

/* Adds a list whose last link is *tail. */
static void
queue_push_list(struct db_queue *q, struct db_op *first, struct db_op **tail)
{
	pthread_mutex_lock(&q->mu);
	*q->tail = first;
	q->tail = tail;
	pthread_cond_signal(&q->cv);
	pthread_mutex_unlock(&q->mu);
}

static void
queue_push(struct db_queue *q, struct db_op *op)
{
	op->queue_next = NULL;
	queue_push_list(q, op, &op->queue_next);
}

static void
queue_stop(struct db_queue *q)
{
	pthread_mutex_lock(&q->mu);
	q->stop = true;
	pthread_cond_signal(&q->cv);
	pthread_mutex_unlock(&q->mu);
}

/* Waits for work, at most ms when that is not -1.  With q->mu held. */
static void
queue_wait(struct db_queue *q, int ms)
{
	struct timespec until;

	if (ms == -1) {
		pthread_cond_wait(&q->cv, &q->mu);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	pthread_cond_timedwait(&q->cv, &q->mu, &until);
}

/* Hands a list of finished operations to the loop's thread. */
static void
give_back(struct db *db, struct db_op *first, struct db_op **tail)
{
	uint64_t one = 1;
	bool wake;

	pthread_mutex_lock(&db->done_mu);
	wake = db->done == NULL;
	*db->done_tail = first;
	db->done_tail = tail;
	pthread_mutex_unlock(&db->done_mu);
	/* An eventfd that is not full (2^64 - 2 wake-ups) can not fail. */
	if (wake && io_write_all(db->done_fd, &one, sizeof(one)) == -1)
		qo_bug("eventfd: errno %d", errno);
}

static void
give_back_one(struct db *db, struct db_op *op)
{
	op->queue_next = NULL;
	give_back(db, op, &op->queue_next);
}

/* On the loop's thread. */
static void
finish_all(struct db *db)
{
	struct db_op *op, *next;

	pthread_mutex_lock(&db->done_mu);
	op = db->done;
	db->done = NULL;
	db->done_tail = &db->done;
	pthread_mutex_unlock(&db->done_mu);
	for (; op != NULL; op = next) {
		next = op->queue_next;
		op->done(op);
	}
}

static void
on_done(struct loop_io *io, uint32_t events)
{
	struct db *db = io->arg;
	uint64_t n;

	(void)events;
	/* Emptied before the list is taken: what comes after wakes again. */
	if (io_read_full(db->done_fd, &n, sizeof(n)) == -1)
		qo_bug("eventfd: errno %d", errno);
	finish_all(db);
}

/* Files to remove */

void
db_drop_at_commit(struct db *db, const char *name)
{
	struct db_drop *d;

	d = xmalloc(sizeof(*d));
	memcpy(d->name, name, sizeof(d->name));
	d->next = db->group_drops;
	db->group_drops = d;
}

static void
drops_free(struct db_drop *d)
{
	struct db_drop *next;

	for (; d != NULL; d = next) {
		next = d->next;
		free(d);
	}
}

static void
drops_join(struct db_drop **to, struct db_drop *d)
{
	while (*to != NULL)
		to = &(*to)->next;
	*to = d;
}

static void
drops_hand_over(struct db *db)
{
	if (db->group_drops == NULL)
		return;
	pthread_mutex_lock(&db->files.mu);
	drops_join(&db->drops, db->group_drops);
	pthread_cond_signal(&db->files.cv);
	pthread_mutex_unlock(&db->files.mu);
	db->group_drops = NULL;
}

/*
 * A running backup holds blobs.lock shared: the files of its snapshot must
 * stay.  They then wait for the next removal, or are orphans at next start.
 */
static void
drops_unlink(struct db *db, struct db_drop *d)
{
	struct db_drop *next;

	drops_join(&db->kept_drops, d);
	if (flock(db->backup_fd, LOCK_EX | LOCK_NB) == -1)
		return;
	d = db->kept_drops;
	db->kept_drops = NULL;
	for (; d != NULL; d = next) {
		next = d->next;
		if (unlinkat(db->blobs_fd, d->name, 0) == -1)
			log_warn(
			    "%s/blobs/%s can not be removed", db->dir, d->name);
		free(d);
	}
	flock(db->backup_fd, LOCK_UN);
}

/* The transaction */

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
	drops_free(db->group_drops);
	db->group_drops = NULL;
	/* What was reserved in this transaction is not: reserve again. */
	db->vid_limit = 0;
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
	if ((rc = db_run(&db->wr, ST_COMMIT)) != DB_OK)
		goto fail;
	if (db->group_seq > atomic_load(&db->seq))
		atomic_store(&db->seq, db->group_seq);
	return DB_OK;
fail:
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
	give_back(db, first, tail);
	drops_hand_over(db);
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

static void *
commit_main(void *arg)
{
	struct db *db = arg;
	struct db_queue *q = &db->commits;
	struct db_op *first, **tail;
	bool idle = false;

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
		queue_wait(q, idle ? -1 : IDLE_MS);
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

/* The file thread */

static enum db_rc
copy_in(struct db *db, struct db_op *op)
{
	op->body = db_body_new(db);
	return db_body_add_fd(
	    op->body, op->copy_fd, op->copy_off, op->copy_len);
}

/* Prepares one operation; it goes on to the commit thread unless it is
 * finished or has failed. */
static void
file_work(struct db *db, struct db_op *op)
{
	enum db_rc rc = DB_OK;

	switch (op->kind) {
	case DB_OP_VERIFY:
		op->rc = db_file_verify(op->copy_fd, op->copy_len, op->crc);
		give_back_one(db, op);
		return;
	case DB_OP_UPLOAD_COMPLETE:
		rc = db_complete_prepare(db, op);
		break;
	case DB_OP_PUT:
	case DB_OP_PART_PUT:
		if (op->body == NULL)
			rc = copy_in(db, op);
		break;
	case DB_OP_BUCKET_CREATE:
	case DB_OP_BUCKET_DELETE:
	case DB_OP_BUCKET_SET:
	case DB_OP_DELETE:
	case DB_OP_SET_ACL:
	case DB_OP_UPLOAD_CREATE:
	case DB_OP_UPLOAD_ABORT:
	case DB_OP_LIFECYCLE:
		break;
	}
	if (rc == DB_OK && op->body != NULL)
		rc = db_body_settle(op->body);
	if (rc == DB_OK) {
		queue_push(&db->commits, op);
		return;
	}
	op->rc = rc;
	db_body_free(op->body);
	op->body = NULL;
	db_complete_free(op->private);
	op->private = NULL;
	give_back_one(db, op);
}

static void *
file_main(void *arg)
{
	struct db *db = arg;
	struct db_queue *q = &db->files;
	struct db_drop *drops;
	struct db_op *op;

	pthread_mutex_lock(&q->mu);
	for (;;) {
		if ((op = q->head) != NULL) {
			if ((q->head = op->queue_next) == NULL)
				q->tail = &q->head;
			pthread_mutex_unlock(&q->mu);
			file_work(db, op);
		} else if ((drops = db->drops) != NULL) {
			db->drops = NULL;
			pthread_mutex_unlock(&q->mu);
			drops_unlink(db, drops);
		} else if (q->stop)
			break;
		else {
			queue_wait(q, -1);
			continue;
		}
		pthread_mutex_lock(&q->mu);
	}
	pthread_mutex_unlock(&q->mu);
	return NULL;
}

static bool
needs_file_work(const struct db_op *op)
{
	switch (op->kind) {
	case DB_OP_VERIFY:
	case DB_OP_UPLOAD_COMPLETE:
		return true;
	case DB_OP_PUT:
	case DB_OP_PART_PUT:
		return op->body == NULL ? op->copy_len > 0
					: db_body_name(op->body) != NULL;
	case DB_OP_BUCKET_CREATE:
	case DB_OP_BUCKET_DELETE:
	case DB_OP_BUCKET_SET:
	case DB_OP_DELETE:
	case DB_OP_SET_ACL:
	case DB_OP_UPLOAD_CREATE:
	case DB_OP_UPLOAD_ABORT:
	case DB_OP_LIFECYCLE:
		break;
	}
	return false;
}

static void
hand_in(struct db *db)
{
	if (db->staged == NULL)
		return;
	queue_push_list(&db->commits, db->staged, db->staged_tail);
	db->staged = NULL;
	db->staged_tail = &db->staged;
}

static void
on_turn_end(struct loop_task *t)
{
	hand_in(t->arg);
}

/*
 * What comes in one turn of the loop is handed in at its end as one: woken by
 * the first of sixteen, the commit thread would sync that one alone.
 */
void
db_submit(struct db *db, struct db_op *op)
{
	op->private = NULL;
	memset(&op->bucket, 0, sizeof(op->bucket));
	op->lc.next = NULL;
	if (db->closing) { /* from the done of another */
		db_body_free(op->body);
		op->body = NULL;
		op->rc = DB_ERROR;
		give_back_one(db, op);
		return;
	}
	if (needs_file_work(op)) {
		queue_push(&db->files, op);
		return;
	}
	op->queue_next = NULL;
	*db->staged_tail = op;
	db->staged_tail = &op->queue_next;
	if (!db->turn_end.queued)
		loop_defer(db->loop, &db->turn_end, on_turn_end, db);
}

int
db_threads_start(struct db *db, struct qo_err *err)
{
	sigset_t all, old;
	int r;

	queue_init(&db->commits);
	queue_init(&db->files);
	db->done_tail = &db->done;
	db->staged_tail = &db->staged;
	if (pthread_mutex_init(&db->done_mu, NULL) != 0)
		fatalx("no mutex");
	sqlite3_wal_hook(db->wr.h, on_wal, db);
	db->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (db->done_fd == -1 ||
	    loop_io_add(db->loop, &db->done_io, db->done_fd, EPOLLIN, on_done,
		db) == -1) {
		qo_err_sys(err, errno, "eventfd");
		return -1;
	}
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&db->commit_thread, NULL, commit_main, db);
	if (r == 0 &&
	    (r = pthread_create(&db->file_thread, NULL, file_main, db)) != 0) {
		queue_stop(&db->commits);
		pthread_join(db->commit_thread, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0) {
		qo_err_sys(err, r, "pthread_create");
		return -1;
	}
	db->threads = true;
	return 0;
}

void
db_threads_stop(struct db *db)
{
	if (db->threads) {
		loop_defer_del(db->loop, &db->turn_end);
		hand_in(db);
		db->closing = true;
		/* The file thread passes its work on: it ends first. */
		queue_stop(&db->files);
		pthread_join(db->file_thread, NULL);
		queue_stop(&db->commits);
		pthread_join(db->commit_thread, NULL);
		while (db->done != NULL)
			finish_all(db);
		drops_unlink(db, db->drops);
		drops_free(db->kept_drops);
		queue_fini(&db->commits);
		queue_fini(&db->files);
		pthread_mutex_destroy(&db->done_mu);
	}
	if (db->done_fd != -1) {
		loop_io_del(db->loop, &db->done_io);
		close(db->done_fd);
	}
}
