/*
 * layout.h - the names in the bucket: every key is made and read here.
 *
 * Pure.  A key is made of checked parts only: a part that is no valid id or
 * name, and a key above S3's 1024 bytes, is refused (-1, out is ""), so that
 * no text of a user's can reach outside its place.
 */
#ifndef QO_LAYOUT_H
#define QO_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "uuid.h"

#define QO_KEY_SIZE      1025 /* with NUL */
#define QO_NAME_MAX      128
#define QO_TASK_TYPE_MAX 300 /* workflow.step:{type}:{step} of our own */
/* A task is created with this generation; the bare entry form means it. */
#define QO_GENERATION_FIRST 1
/* Generations and revisions stay exact in every reader's numbers. */
#define QO_COUNT_MAX ((INT64_C(1) << 53) - 1)

/* What one queue has in front of and in its keys. */
struct qo_layout {
	const char *prefix; /* [s3] prefix, "" for none; borrowed */
	int shard_width;    /* 1 or 2 digits */
};

/* In the order in which one LIST of `ready` sees the first three. */
enum qo_index {
	QO_INDEX_READY_HIGH = 0,
	QO_INDEX_READY,
	QO_INDEX_READY_LOW,
	QO_INDEX_LEASES,
	QO_INDEX_FAILED
};

/* An index entry: its key says all, its body is empty. */
struct qo_entry {
	enum qo_index index;
	int64_t minute; /* of due time, lease end or failure */
	char id[QO_UUID_SIZE];
	int64_t generation;
	char nonce[QO_NONCE_SIZE]; /* "": the bare form */
};

/* Workflow ids, step and signal names, worker and schedule ids: 1 to 128 of
 * [A-Za-z0-9._-], neither "." nor "..". */
bool qo_name_valid(const char *s, size_t len);
/* Any task's type: [A-Za-z0-9._:/-], 1 to 128, longer only for our own. */
bool qo_type_valid(const char *s, size_t len);
/* A type that a user may submit: at most 128, not `workflow.`. */
bool qo_type_valid_user(const char *s, size_t len);

/* The minute that names a bucket: floor(unix seconds / 60), not below 0. */
int64_t qo_minute(struct qo_wall t);

int qo_key_task(const struct qo_layout *l, const char *id,
    char out[QO_KEY_SIZE]);
int qo_key_worker(const struct qo_layout *l, const char *worker_id,
    char out[QO_KEY_SIZE]);
int qo_key_bell(const struct qo_layout *l, const char *worker_id,
    const char *id, char out[QO_KEY_SIZE]);
int qo_key_schedule(const struct qo_layout *l, const char *id,
    char out[QO_KEY_SIZE]);
int qo_key_control(const struct qo_layout *l, char out[QO_KEY_SIZE]);
/* sha256: the input's, in hex; the first 16 digits are used. */
int qo_key_input(const struct qo_layout *l, const char *id, const char *sha256,
    char out[QO_KEY_SIZE]);
int qo_key_output(const struct qo_layout *l, const char *id, int64_t attempt,
    char out[QO_KEY_SIZE]);
int qo_key_log(const struct qo_layout *l, const char *id, int64_t attempt,
    char out[QO_KEY_SIZE]);

/* An entry of this task with a fresh nonce. */
void qo_entry_make(struct qo_entry *e, enum qo_index index, struct qo_wall t,
    const char *id, int64_t generation);
int qo_key_entry(const struct qo_layout *l, const struct qo_entry *e,
    char out[QO_KEY_SIZE]);
/* Back into its parts; -1 when it is not exactly what qo_key_entry makes. */
int qo_entry_parse(const struct qo_layout *l, const char *key, size_t len,
    struct qo_entry *e);
/* What an index is listed by: `ready/`, with a shard `ready/7/`; NULL for
 * all shards. */
int qo_key_index(const struct qo_layout *l, enum qo_index index,
    const char *shard, char out[QO_KEY_SIZE]);

#endif
