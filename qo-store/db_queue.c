/*
 * The way of an operation: handed in on the loop's thread, through the file
 * thread if it needs that one, to the commit thread, and back.
 */
#include <sys/eventfd.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db_int.h"
#include "io.h"
#include "log.h"

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

void
db_queue_push(struct db_queue *q, struct db_op *op)
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
void
db_queue_wait(struct db_queue *q, int ms)
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
void
db_give_back(struct db *db, struct db_op *first, struct db_op **tail)
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

void
db_give_back_one(struct db *db, struct db_op *op)
{
	op->queue_next = NULL;
	db_give_back(db, op, &op->queue_next);
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
	/* Before anybody hears of a write, reads see it. */
	db_read_refresh(db);
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
		db_give_back_one(db, op);
		return;
	}
	if (needs_file_work(op)) {
		db_queue_push(&db->files, op);
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
	r = pthread_create(&db->commit_thread, NULL, db_commit_main, db);
	if (r == 0 &&
	    (r = pthread_create(&db->file_thread, NULL, db_file_main, db)) !=
		0) {
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
		db_drops_unlink(db, db->drops);
		db_drops_free(db->kept_drops);
		queue_fini(&db->commits);
		queue_fini(&db->files);
		pthread_mutex_destroy(&db->done_mu);
	}
	if (db->done_fd != -1) {
		loop_io_del(db->loop, &db->done_io);
		close(db->done_fd);
	}
}
