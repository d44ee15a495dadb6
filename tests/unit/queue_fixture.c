#include <check.h>
#include <string.h>

#include "queue_fixture.h"

struct qo_submission
queue_plain(void)
{
	static const char input[] = "{\"n\":1.50}";
	struct qo_submission sub;

	qo_submission_init(&sub);
	sub.task_type = "mail.send";
	sub.input = (struct qo_json){ input, strlen(input) };
	return sub;
}

void
queue_submit(struct live_store *s, const struct qo_submission *sub,
    char id[QO_UUID_SIZE])
{
	struct qo_submit op;
	struct qo_err err;

	ck_assert_msg(qo_submission_check(sub, &err) == 0, "%s", err.msg);
	qo_submit_init(&op, s->q, sub);
	ck_assert_msg(qo_submit_wait(&op) == QO_OK, "%s", op.change.err.msg);
	memcpy(id, op.change.id, QO_UUID_SIZE);
	qo_submit_fini(&op);
}

struct qo_entry
queue_entry(struct live_store *s, const char *prefix)
{
	char key[QO_KEY_SIZE];
	struct qo_entry e;

	ck_assert_uint_eq(live_store_count(s, prefix, key), 1);
	ck_assert_int_eq(qo_entry_parse(&s->q->layout, key, strlen(key), &e),
	    0);
	return e;
}

enum qo_rc
queue_take(struct live_store *s, struct qo_claim *cl, const char *worker)
{
	struct qo_entry e = queue_entry(s, "ready/");

	qo_claim_init(cl, s->q, &e, worker);
	return qo_claim_take_wait(cl, QUEUE_LEASE_MS);
}

void
queue_held(struct live_store *s, struct qo_claim *cl, char id[QO_UUID_SIZE])
{
	struct qo_submission sub = queue_plain();

	queue_submit(s, &sub, id);
	ck_assert_int_eq(queue_take(s, cl, "w1"), QO_OK);
	ck_assert(cl->held);
	qo_queue_flush(s->q);
}

void
queue_put_entry(struct live_store *s, enum qo_index index, const char *id,
    int64_t generation)
{
	char key[QO_KEY_SIZE];
	struct qo_s3_req r;
	struct qo_entry e;

	qo_entry_make(&e, index, qo_queue_now(s->q), id, generation);
	ck_assert_int_eq(qo_key_entry(&s->q->layout, &e, key), 0);
	qo_s3_req_init(&r, QO_S3_PUT, s->q->index_bucket, key);
	ck_assert_int_eq(qo_s3_wait(s->s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
}
