/*
 * history.h - what became of a task, version by version, oldest first.
 *
 * S3 versioning is the audit trail: the versions of the task's own key are
 * listed and read.  A store that keeps none shows the task as it is, and
 * says so.
 *
 * What changed between two versions is a pure comparison of the two records,
 * member by member.
 */
#ifndef QO_HISTORY_H
#define QO_HISTORY_H

#include "fetch.h"
#include "queue.h"
#include "task.h"

struct qo_history;

struct qo_version {
	char id[QO_S3_VERSION_MAX];
	struct qo_wall modified;
	bool is_marker; /* the object was deleted here */
};

struct qo_history {
	/* in; set between init and start */
	struct qo_queue *q;
	char id[QO_UUID_SIZE];
	/* A version; t is NULL where the object was deleted.  Borrowed. */
	bool (*version)(struct qo_history *h, const struct qo_version *v,
	    const struct qo_task *t, const char *text, size_t len);
	/* A version that is no task. */
	void (*corrupt)(struct qo_history *h, const struct qo_version *v,
	    const char *why);
	void (*done)(struct qo_history *h);
	void *arg;

	/* out; QO_NOENT: there never was such a task */
	enum qo_rc rc;
	struct qo_err err;
	bool unversioned; /* the store keeps no versions */
	size_t nversions;

	/* private */
	char key[QO_KEY_SIZE];
	struct qo_s3_req req;
	struct qo_version *versions; /* newest first */
	size_t cap;
	char key_marker[QO_KEY_SIZE], version_marker[QO_S3_VERSION_MAX];
	struct qo_fetch fetch;
	bool ended;
};

/* id is a valid one (qo_uuid_valid). */
void qo_history_init(struct qo_history *h, struct qo_queue *q, const char *id);
/* Cancels when under way. */
void qo_history_fini(struct qo_history *h);
/* Never calls back before it returns. */
void qo_history_start(struct qo_history *h);
/* Starts and runs the loop until done, which is not called. */
enum qo_rc qo_history_wait(struct qo_history *h);

/*
 * Calls change for every member that differs between two records, old and
 * new as their JSON text (p == NULL: not there), in the order of the second
 * one, members that only the first has at the end.  The texts are JSON
 * objects; -1 when one is not.
 */
int qo_history_diff(const char *old, size_t old_len, const char *new_text,
    size_t new_len,
    void (*change)(const char *member, const struct qo_json *was,
	const struct qo_json *is, void *arg),
    void *arg);

/* Does the second version differ from the first by a renewed lease or by
 * progress alone? */
bool qo_history_is_renewal(const struct qo_task *was, const struct qo_task *is);

#endif
