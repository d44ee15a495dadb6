/*
 * control.h - control/queue.json: what a whole queue agrees on.
 *
 * The shard width, the pause switches and the verdict of the probe.  It is
 * made once, by `qo init`, and changed by compare-and-swap.  Everything here
 * is synchronous (it runs the loop of the client): command lines and the
 * start of a daemon use it.
 */
#ifndef QO_CONTROL_H
#define QO_CONTROL_H

#include "layout.h"
#include "record.h"
#include "s3.h"

#define QO_CONTROL_FORMAT    1
#define QO_CONTROL_TYPES_MAX 256
#define QO_CONTROL_LEN_MAX   ((size_t)1 << 20)

struct qo_control {
	struct qo_record rec; /* first; see record.h */
	int64_t format;
	int64_t shard_width; /* 1 or 2, for the life of the bucket */
	bool paused;
	const char *paused_types[QO_CONTROL_TYPES_MAX];
	size_t npaused_types;
	struct qo_json probe; /* see probe.h; an object */
	int64_t rev;
	const char *updated_by;
	/* not part of the text */
	char etag[QO_S3_ETAG_MAX];
};

/* A record as a new queue has it. */
void qo_control_init(struct qo_control *c, int shard_width);
void qo_control_fini(struct qo_control *c); /* harmless twice */
int qo_control_decode(struct qo_control *c, const char *text, size_t len,
    struct qo_err *err);
int qo_control_encode(const struct qo_control *c, struct buf *out,
    struct qo_err *err);

/* One GET.  QO_OK: *c is the caller's to fini.  QO_NOENT: this is no queue
 * yet (err->s3_code tells a missing bucket from a missing object).  QO_ERR:
 * not such a record; also a format above ours. */
enum qo_rc qo_control_read(struct qo_s3 *s3, const char *bucket,
    const char *prefix, struct qo_control *c, struct qo_err *err);
/* The same in two steps, for a daemon that does not wait: the GET, made ready
 * in *r (bucket and key stay borrowed; fini it also after -1), and what its
 * answer says. */
int qo_control_req(struct qo_s3_req *r, const char *bucket, const char *prefix,
    char key[QO_KEY_SIZE], struct qo_err *err);
enum qo_rc qo_control_answer(const struct qo_s3_req *r, struct qo_control *c,
    struct qo_err *err);
/* QO_OK: *c, that the caller filled in, is there now.  QO_LOST: there was
 * one before; *c is left alone. */
enum qo_rc qo_control_create(struct qo_s3 *s3, const char *bucket,
    const char *prefix, struct qo_control *c, struct qo_err *err);
/*
 * Reads, lets change() look at the record and change it, and writes; again
 * from the start when somebody else was first.  change returns false when
 * there is nothing to write (it may be called more than once).  *c is what
 * is there in the end when QO_OK is returned.  QO_AGAIN: not known whether
 * it was written.
 */
enum qo_rc qo_control_update(struct qo_s3 *s3, const char *bucket,
    const char *prefix, bool (*change)(struct qo_control *c, void *arg),
    void *arg, struct qo_control *c, struct qo_err *err);

/* Is the queue, or this type of task (NULL: any), paused? */
bool qo_control_paused(const struct qo_control *c, const char *task_type);
/* For change: pauses or resumes a type (NULL: the queue).  False when it was
 * so before.  A full list leaves the record as it was and returns false with
 * *full. */
bool qo_control_set_paused(struct qo_control *c, const char *task_type,
    bool paused, bool *full);

#endif
