/*
 * The file thread: what may be slow (sync, copy, verify, unlink) is done here
 * before an operation joins the queue of the commit thread, or after it.
 */
#include <sys/file.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db_int.h"
#include "log.h"
#include "xalloc.h"

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

void
db_drops_free(struct db_drop *d)
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

void
db_drops_hand_over(struct db *db)
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
void
db_drops_unlink(struct db *db, struct db_drop *d)
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
			log_warn("%s/blobs/%s can not be removed", db->dir,
			    d->name);
		free(d);
	}
	flock(db->backup_fd, LOCK_UN);
}

/* Operations */

static enum db_rc
copy_in(struct db *db, struct db_op *op)
{
	op->body = db_body_new(db);
	return db_body_add_fd(op->body, op->copy_fd, op->copy_off,
	    op->copy_len);
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
		db_give_back_one(db, op);
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
		db_queue_push(&db->commits, op);
		return;
	}
	op->rc = rc;
	db_body_free(op->body);
	op->body = NULL;
	db_complete_free(op->private);
	op->private = NULL;
	db_give_back_one(db, op);
}

void *
db_file_main(void *arg)
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
			db_drops_unlink(db, drops);
		} else if (q->stop)
			break;
		else {
			db_queue_wait(q, -1);
			continue;
		}
		pthread_mutex_lock(&q->mu);
	}
	pthread_mutex_unlock(&q->mu);
	return NULL;
}
