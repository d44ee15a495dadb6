/*
 * worker_record.h - workers/{worker_id}.json: the heartbeat of a worker
 * process, written by itself and read by people and the monitor.
 *
 * An index object: it may be lost, and the next heartbeat brings it back.
 */
#ifndef QO_WORKER_RECORD_H
#define QO_WORKER_RECORD_H

#include "clock.h"
#include "record.h"

#define QO_WORKER_LEN_MAX ((size_t)1 << 20)

struct qo_worker_record {
	struct qo_record rec; /* first; see record.h */
	const char *worker_id;
	const char *host;
	int64_t pid;
	const char *version;
	struct qo_wall started_at;
	struct qo_wall last_heartbeat;
	struct qo_json shards;        /* an array of strings */
	const char *current_task;     /* the oldest of current_tasks, or NULL */
	struct qo_json current_tasks; /* an array of ids */
	int64_t slots;
	int64_t tasks_completed;
	int64_t tasks_failed;
};

void qo_worker_record_init(struct qo_worker_record *w);
void qo_worker_record_fini(struct qo_worker_record *w); /* harmless twice */
/* worker_id is the one in the key: the record's own must equal it (NULL:
 * any).  0, or -1 with *err naming the member, and nothing to free. */
int qo_worker_record_decode(struct qo_worker_record *w, const char *worker_id,
    const char *text, size_t len, struct qo_err *err);
int qo_worker_record_encode(const struct qo_worker_record *w, struct buf *out,
    struct qo_err *err);
/* How many tasks it runs: the elements of current_tasks. */
size_t qo_worker_record_busy(const struct qo_worker_record *w);

#endif
