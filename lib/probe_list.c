/* The probe: LIST shows what was written, in order, and nothing else. */
#include <stdio.h>
#include <string.h>

#include "probe_int.h"
#include "s3body.h"

static const char fix_list[] =
    "use a store whose LIST is strongly consistent and sorted by bytes "
    "(directory buckets of S3 Express are not)";

/* In the order of their bytes: what the indexes rely on, and some that
 * stores have encoded wrongly. */
static const char *const names[] = { "list/a", "list/a b", "list/a+b",
	"list/ready-high/0", "list/ready/0", "list/ready_low/0", "list/~",
	"list/\xc3\xa9" };
#define NNAMES (sizeof(names) / sizeof(names[0]))

static int
put_all(struct probe_run *r)
{
	struct qo_s3_req q;
	char key[PROBE_KEY_SIZE];
	enum qo_s3_outcome o;
	size_t i;

	for (i = 0; i < NNAMES; i++) {
		/* Last first, so that the order is not that of writing. */
		probe_key(r, names[NNAMES - 1 - i], key);
		qo_s3_req_init(&q, QO_S3_PUT, r->index, key);
		o = probe_wait(r, &q);
		if (o != QO_S3_OK)
			probe_note(r, "list", QO_PROBE_FAIL,
			    "allow s3:PutObject on the index bucket", "%.150s",
			    q.res.err.msg);
		qo_s3_req_fini(&q);
		if (o != QO_S3_OK)
			return -1;
	}
	return 0;
}

static bool
is_name(const struct probe_run *r, const char *key, size_t i)
{
	char want[PROBE_KEY_SIZE];

	probe_key(r, names[i], want);
	return strcmp(key, want) == 0;
}

/* Pages of three, from behind the first `from` names on. */
static void
check_listed(struct probe_run *r, const char *check, size_t from)
{
	char prefix[PROBE_KEY_SIZE], after[PROBE_KEY_SIZE];
	struct qo_s3_req q;
	size_t i = from, k;
	bool ok = true;

	probe_key(r, "list/", prefix);
	if (from > 0)
		probe_key(r, names[from - 1], after);
	while (ok && i < NNAMES) {
		qo_s3_req_init(&q, QO_S3_LIST, r->index, NULL);
		q.prefix = prefix;
		q.start_after = i > 0 ? after : NULL;
		q.max_keys = 3;
		ok = probe_wait(r, &q) == QO_S3_OK && q.res.list->n > 0;
		for (k = 0; ok && k < q.res.list->n; k++, i++)
			ok = i < NNAMES &&
			    is_name(r, q.res.list->entries[k].key, i);
		/* The last page must say that it is the last. */
		ok = ok && (i < NNAMES) == q.res.list->truncated;
		qo_s3_req_fini(&q);
		if (i > 0 && i <= NNAMES)
			probe_key(r, names[i - 1], after);
	}
	if (ok)
		probe_note(r, check, QO_PROBE_PASS, NULL,
		    from == 0 ? "what was written is listed at once, in order"
			      : "start-after begins where it should");
	else
		probe_note(r, check, QO_PROBE_FAIL, fix_list,
		    "LIST is not what was written: wrong from key %zu on", i);
}

static void
check_delete_many(struct probe_run *r)
{
	struct qo_s3_delete_key keys[NNAMES];
	char text[NNAMES][PROBE_KEY_SIZE], prefix[PROBE_KEY_SIZE];
	struct qo_s3_req del, list;
	struct buf body;
	size_t i;

	for (i = 0; i < NNAMES; i++) {
		probe_key(r, names[i], text[i]);
		keys[i].key = text[i];
		keys[i].version_id = NULL;
	}
	buf_init(&body, 65536);
	qo_s3body_delete(&body, keys, NNAMES, true, NULL);
	qo_s3_req_init(&del, QO_S3_DELETE_MANY, r->index, NULL);
	del.body = body.data;
	del.body_len = body.len;
	probe_key(r, "list/", prefix);
	qo_s3_req_init(&list, QO_S3_LIST, r->index, NULL);
	list.prefix = prefix;
	if (probe_wait(r, &del) != QO_S3_OK)
		probe_note(r, "delete-objects", QO_PROBE_FAIL,
		    "allow s3:DeleteObject, or use a store with DeleteObjects",
		    "%.150s", del.res.err.msg);
	else if (del.res.deleted->n > 0)
		probe_note(r, "delete-objects", QO_PROBE_FAIL,
		    "allow s3:DeleteObject on the index bucket",
		    "%zu of %zu keys were not deleted", del.res.deleted->n,
		    NNAMES);
	else if (probe_wait(r, &list) != QO_S3_OK || list.res.list->n > 0)
		probe_note(r, "delete-objects", QO_PROBE_FAIL, fix_list,
		    "deleted keys are still listed");
	else
		probe_note(r, "delete-objects", QO_PROBE_PASS, NULL,
		    "%zu keys at once, gone from LIST at once", NNAMES);
	qo_s3_req_fini(&list);
	qo_s3_req_fini(&del);
	buf_fini(&body);
}

void
probe_lists(struct probe_run *r)
{
	if (put_all(r) == -1)
		return;
	check_listed(r, "list", 0);
	check_listed(r, "start-after", 2);
	check_delete_many(r);
}
