#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_doc.h"
#include "layout.h"
#include "probe_int.h"
#include "rfc3339.h"
#include "s3body.h"
#include "xalloc.h"

#define OLD_MS      (20 * 60 * 1000)
#define SAMPLES     9
#define SLOW_US     (500 * QO_US_PER_MS)
#define CLEAN_MAX   20 /* pages */
#define VERDICT_MAX 4096
#define TURNS       5

static const char *const level_names[] = { "pass", "warn", "fail", NULL };

const char *
qo_probe_level_name(enum qo_probe_level level)
{
	return level_names[level];
}

/* The worst of the checks from there on. */
static enum qo_probe_level
worst_from(const struct qo_probe *p, size_t from)
{
	enum qo_probe_level worst = QO_PROBE_PASS;
	size_t i;

	for (i = from; i < p->n; i++)
		if (p->checks[i].level > worst)
			worst = p->checks[i].level;
	return worst;
}

enum qo_probe_level
qo_probe_verdict(const struct qo_probe *p)
{
	return worst_from(p, 0);
}

/* Tools of the checks */

void
probe_note(struct probe_run *r, const char *name, enum qo_probe_level level,
    const char *fix, const char *fmt, ...)
{
	struct qo_probe_check *c;
	va_list ap;

	if (r->p->n == QO_PROBE_CHECKS_MAX)
		return;
	c = &r->p->checks[r->p->n++];
	c->name = name;
	c->level = level;
	c->fix = level == QO_PROBE_PASS ? NULL : fix;
	va_start(ap, fmt);
	vsnprintf(c->detail, sizeof(c->detail), fmt, ap);
	va_end(ap);
}

void
probe_key(const struct probe_run *r, const char *name, char out[PROBE_KEY_SIZE])
{
	snprintf(out, PROBE_KEY_SIZE, "%.400s%u/%s", r->dir, r->turn, name);
}

enum qo_s3_outcome
probe_wait(struct probe_run *r, struct qo_s3_req *q)
{
	qo_s3_wait(r->s3, q);
	switch (q->res.outcome) {
	case QO_S3_SLOW_DOWN:
	case QO_S3_AMBIGUOUS:
	case QO_S3_UNREACHABLE:
	case QO_S3_BAD_RESPONSE:
		r->vague = true;
		r->silent |= q->res.status == 0;
		break;
	default:
		/* Sent twice, it may be refused because of itself. */
		r->vague |= q->res.maybe_applied;
		break;
	}
	return q->res.outcome;
}

static bool
is_there(struct probe_run *r, const struct probe_put *put)
{
	struct qo_s3_req q;
	bool is;

	qo_s3_req_init(&q, QO_S3_GET, r->conf->bucket, put->key);
	is = probe_wait(r, &q) == QO_S3_OK &&
	    strcmp(q.res.body.data, put->text) == 0;
	qo_s3_req_fini(&q);
	return is;
}

enum qo_s3_outcome
probe_do_put(struct probe_run *r, const struct probe_put *put, char *etag)
{
	struct qo_s3_req q;
	enum qo_s3_outcome o;

	qo_s3_req_init(&q, QO_S3_PUT, r->conf->bucket, put->key);
	q.if_match = put->if_match;
	q.if_none_match = put->if_none_match;
	q.body = put->text;
	q.body_len = strlen(put->text);
	o = probe_wait(r, &q);
	if (etag != NULL && o == QO_S3_OK)
		snprintf(etag, QO_S3_ETAG_MAX, "%s", q.res.etag);
	qo_s3_req_fini(&q);
	/* R5: libcurl sends again by itself when a connection ends without an
	 * answer, and the second is refused because of the first. */
	if (o == QO_S3_PRECONDITION || o == QO_S3_CONFLICT)
		r->vague |= is_there(r, put);
	return o;
}

enum qo_s3_outcome
probe_do_delete(struct probe_run *r, const char *key)
{
	struct qo_s3_req q;
	enum qo_s3_outcome o;

	qo_s3_req_init(&q, QO_S3_DELETE, r->conf->bucket, key);
	o = probe_wait(r, &q);
	qo_s3_req_fini(&q);
	return o;
}

/* Checks that are one request each */

static enum qo_rc
check_reach(struct probe_run *r, const char *bucket, struct qo_err *err)
{
	struct qo_s3_req q;
	enum qo_rc rc;

	qo_s3_req_init(&q, QO_S3_LIST, bucket, NULL);
	q.prefix = r->dir;
	q.max_keys = 1;
	rc = qo_s3_outcome_rc(qo_s3_wait(r->s3, &q));
	if (rc != QO_OK)
		*err = q.res.err;
	qo_s3_req_fini(&q);
	return rc;
}

/* Writing, reading and deleting. */
static bool
permitted(struct probe_run *r, const char *bucket)
{
	static const enum qo_s3_op ops[] = { QO_S3_PUT, QO_S3_GET,
		QO_S3_DELETE };
	char key[PROBE_KEY_SIZE];
	struct qo_s3_req q;
	bool ok = true;
	size_t i;

	probe_key(r, "permissions", key);
	for (i = 0; ok && i < sizeof(ops) / sizeof(ops[0]); i++) {
		qo_s3_req_init(&q, ops[i], bucket, key);
		ok = probe_wait(r, &q) == QO_S3_OK;
		if (!ok)
			probe_note(r, "permissions", QO_PROBE_FAIL,
			    "allow s3:PutObject, s3:GetObject, "
			    "s3:DeleteObject and s3:ListBucket",
			    "%.180s", q.res.err.msg);
		qo_s3_req_fini(&q);
	}
	return ok;
}

static void
check_permissions(struct probe_run *r)
{
	if (strcmp(r->index, r->conf->bucket) != 0 &&
	    !permitted(r, r->conf->bucket))
		return;
	if (permitted(r, r->index))
		probe_note(r, "permissions", QO_PROBE_PASS, NULL,
		    "objects can be written, read, listed and deleted");
}

/* -1: not known. */
static int
versioning_of(struct probe_run *r, const char *bucket)
{
	struct qo_s3_req q;
	int v = -1;

	qo_s3_req_init(&q, QO_S3_VERSIONING_GET, bucket, NULL);
	if (probe_wait(r, &q) == QO_S3_OK)
		v = (int)q.res.versioning;
	qo_s3_req_fini(&q);
	return v;
}

static void
check_versioning(struct probe_run *r)
{
	int v = versioning_of(r, r->conf->bucket);

	if (!r->conf->versioning)
		probe_note(r, "versioning", QO_PROBE_PASS, NULL,
		    "not asked for: versioning = off");
	else if (v == QO_S3_VERSIONING_ENABLED)
		probe_note(r, "versioning", QO_PROBE_PASS, NULL,
		    "bucket %s is versioned", r->conf->bucket);
	else if (v == -1)
		probe_note(r, "versioning", QO_PROBE_WARN,
		    "allow s3:GetBucketVersioning",
		    "bucket %s does not tell whether it is versioned",
		    r->conf->bucket);
	else
		probe_note(r, "versioning", QO_PROBE_FAIL,
		    "run qo init, or set [s3] versioning = off and do without "
		    "history",
		    "bucket %s is not versioned", r->conf->bucket);
	if (strcmp(r->index, r->conf->bucket) != 0 &&
	    versioning_of(r, r->index) == QO_S3_VERSIONING_ENABLED)
		probe_note(r, "index-versioning", QO_PROBE_WARN,
		    "suspend its versioning: old index entries are kept and "
		    "paid for",
		    "index bucket %s is versioned", r->index);
}

static void
check_old_signature(struct probe_run *r)
{
	struct qo_s3_req q;
	char key[PROBE_KEY_SIZE];
	enum qo_s3_outcome o;

	probe_key(r, "old", key);
	qo_s3_req_init(&q, QO_S3_PUT, r->conf->bucket, key);
	q.body = "old";
	q.body_len = 3;
	q.signed_ago_ms = OLD_MS;
	o = probe_wait(r, &q);
	qo_s3_req_fini(&q);
	if (o == QO_S3_DENIED)
		probe_note(r, "old-signature", QO_PROBE_PASS, NULL,
		    "a request signed 20 minutes ago is refused");
	else
		probe_note(r, "old-signature", QO_PROBE_FAIL,
		    "use a store that limits the age of signatures to 15 "
		    "minutes, as S3 does",
		    "a request signed 20 minutes ago was answered: %s",
		    qo_s3_outcome_name(o));
}

static void
check_clock(struct probe_run *r)
{
	int64_t ms = qo_s3_skew_ms(r->s3);

	if (!qo_s3_now(r->s3, NULL, NULL, NULL))
		probe_note(r, "clock", QO_PROBE_FAIL,
		    "let the store, or the proxy before it, send Date",
		    "answers carry no Date");
	else if (ms != 0)
		probe_note(r, "clock", QO_PROBE_WARN,
		    "set the clock of this machine (NTP)",
		    "this machine is %lld s %s the store",
		    (long long)(ms < 0 ? -ms : ms) / 1000,
		    ms < 0 ? "behind" : "ahead of");
	else
		probe_note(r, "clock", QO_PROBE_PASS, NULL,
		    "this machine and the store agree");
}

static void
check_history(struct probe_run *r)
{
	struct qo_s3_req q;
	enum qo_s3_outcome o;

	if (!r->conf->versioning)
		return;
	qo_s3_req_init(&q, QO_S3_LIST_VERSIONS, r->conf->bucket, NULL);
	q.prefix = r->dir;
	o = probe_wait(r, &q);
	if (o == QO_S3_OK && q.res.list->n > 0)
		probe_note(r, "history", QO_PROBE_PASS, NULL,
		    "old versions can be listed");
	else
		probe_note(r, "history", QO_PROBE_WARN,
		    "allow s3:ListBucketVersions; qo history and the web "
		    "page's time line need it",
		    "old versions can not be listed: %s",
		    o == QO_S3_OK ? "none shown" : q.res.err.msg);
	qo_s3_req_fini(&q);
}

static int
by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The median of some requests, in us. */
static int64_t
measure(struct probe_run *r, enum qo_s3_op op, const char *key)
{
	int64_t us[SAMPLES];
	struct qo_s3_req q;
	struct qo_mono start;
	size_t i;

	for (i = 0; i < SAMPLES; i++) {
		qo_s3_req_init(&q, op, r->conf->bucket, key);
		if (op == QO_S3_PUT) {
			q.body = "latency";
			q.body_len = 7;
		}
		start = qo_mono_now();
		qo_s3_wait(r->s3, &q);
		us[i] = qo_mono_diff_us(start, qo_mono_now());
		qo_s3_req_fini(&q);
	}
	qsort(us, SAMPLES, sizeof(us[0]), by_value);
	return us[SAMPLES / 2];
}

static void
check_latency(struct probe_run *r)
{
	char key[PROBE_KEY_SIZE];
	int64_t put, get;

	probe_key(r, "latency", key);
	put = measure(r, QO_S3_PUT, key);
	get = measure(r, QO_S3_GET, key);
	probe_note(r, "latency",
	    put > SLOW_US || get > SLOW_US ? QO_PROBE_WARN : QO_PROBE_PASS,
	    "use a store nearer by: each change of a task waits for it",
	    "PUT %.1f ms, GET %.1f ms (median of %d)", (double)put / 1000,
	    (double)get / 1000, SAMPLES);
}

/* The end: nothing stays behind */

/* One page of versions (or objects); false when there was none. */
static bool
clean_page(struct probe_run *r, const char *bucket, enum qo_s3_op op)
{
	struct qo_s3_delete_key *keys;
	struct qo_s3_req list, del;
	struct buf body;
	bool more = false;
	size_t i;

	qo_s3_req_init(&list, op, bucket, NULL);
	list.prefix = r->dir;
	if (qo_s3_wait(r->s3, &list) == QO_S3_OK && list.res.list->n > 0) {
		keys = xcalloc(list.res.list->n, sizeof(*keys));
		for (i = 0; i < list.res.list->n && i < QO_S3_DELETE_MAX; i++) {
			keys[i].key = list.res.list->entries[i].key;
			if (op == QO_S3_LIST_VERSIONS)
				keys[i].version_id =
				    list.res.list->entries[i].version_id;
		}
		buf_init(&body, (size_t)4 << 20);
		qo_s3body_delete(&body, keys, i, true, NULL);
		qo_s3_req_init(&del, QO_S3_DELETE_MANY, bucket, NULL);
		del.body = body.data;
		del.body_len = body.len;
		more = qo_s3_wait(r->s3, &del) == QO_S3_OK &&
		    del.res.deleted->n == 0;
		qo_s3_req_fini(&del);
		buf_fini(&body);
		free(keys);
	}
	qo_s3_req_fini(&list);
	return more;
}

static void
clean(struct probe_run *r, const char *bucket)
{
	int i;

	for (i = 0; i < CLEAN_MAX; i++)
		if (!clean_page(r, bucket, QO_S3_LIST_VERSIONS))
			break;
	/* A store that does not know versions. */
	for (i = 0; i < CLEAN_MAX; i++)
		if (!clean_page(r, bucket, QO_S3_LIST))
			break;
}

/* The whole */

/* A store that stands still for a while is slow, not unfit: what was seen
 * then is not judged but looked at again.  QO_AGAIN: it does not answer. */
static enum qo_rc
look(struct probe_run *r, void (*check)(struct probe_run *), struct qo_err *err)
{
	size_t before = r->p->n;

	for (r->turn = 0; r->turn < TURNS; r->turn++) {
		r->p->n = before;
		r->vague = r->silent = false;
		check(r);
		if (!r->vague || worst_from(r->p, before) == QO_PROBE_PASS)
			return QO_OK;
		if (r->silent) {
			qo_err_set(err, "%s: the store does not answer",
			    r->p->checks[before].name);
			return QO_AGAIN;
		}
	}
	return QO_OK; /* as it always is, then */
}

enum qo_rc
qo_probe_run(struct qo_probe *p, struct loop *l, struct qo_s3 *s3,
    const struct qo_probe_conf *conf, struct qo_err *err)
{
	static void (*const checks[])(struct probe_run *) = { check_versioning,
		probe_conditions, probe_races, probe_lists, check_history,
		check_old_signature, check_clock, check_latency };
	struct probe_run r = {
		.p = p, .loop = l, .s3 = s3, .conf = conf, .index = conf->bucket
	};
	char id[QO_UUID_SIZE];
	enum qo_rc rc;
	size_t i;

	memset(p, 0, sizeof(*p));
	if (conf->index_bucket != NULL)
		r.index = conf->index_bucket;
	qo_uuid_v4(id);
	snprintf(r.dir, sizeof(r.dir), "%.300sqo-probe/%s/", conf->prefix, id);
	if ((rc = check_reach(&r, conf->bucket, err)) != QO_OK ||
	    (rc = check_reach(&r, r.index, err)) != QO_OK)
		return rc;
	/* Without these nothing else can be tried. */
	rc = look(&r, check_permissions, err);
	if (rc != QO_OK || qo_probe_verdict(p) == QO_PROBE_FAIL)
		return rc;
	for (i = 0; rc == QO_OK && i < sizeof(checks) / sizeof(checks[0]); i++)
		rc = look(&r, checks[i], err);
	clean(&r, conf->bucket);
	if (strcmp(r.index, conf->bucket) != 0)
		clean(&r, r.index);
	return rc;
}

/* The verdict in the control record */

void
qo_probe_encode(const struct qo_probe *p, struct qo_wall at, struct buf *out)
{
	char when[QO_RFC3339_SIZE];
	bool first = true;
	size_t i;

	qo_rfc3339_print(at, when);
	buf_addf(out,
	    "{\"verdict\":\"%s\",\"at\":\"%s\",\"version\":\"%s\","
	    "\"etag\":\"%s\",\"failed\":[",
	    level_names[qo_probe_verdict(p)], when, QO_VERSION,
	    p->etag_bare ? "bare" : "quoted");
	for (i = 0; i < p->n; i++) {
		if (p->checks[i].level != QO_PROBE_FAIL)
			continue;
		buf_addf(out, "%s\"%s\"", first ? "" : ",", p->checks[i].name);
		first = false;
	}
	buf_adds(out, "]}");
}

static bool
says(yyjson_val *root, const char *member, const char *word)
{
	const char *s = yyjson_get_str(yyjson_obj_get(root, member));

	return s != NULL && strcmp(s, word) == 0;
}

int
qo_probe_judge(const struct qo_control *c, bool *bare, struct qo_err *err)
{
	struct qo_json_limits limits = { QO_CONTROL_LEN_MAX, QO_JSON_DEPTH,
		false };
	yyjson_val *root, *item;
	yyjson_doc *doc;
	struct buf list;
	size_t i, max;
	int rv = 0;

	*bare = false;
	if (c->probe.p == NULL ||
	    (doc = qo_json_doc_read(c->probe.p, c->probe.len, &limits,
		 QO_JSON_DOC_ALL, NULL)) == NULL)
		return 0;
	root = yyjson_doc_get_root(doc);
	*bare = says(root, "etag", "bare");
	if (says(root, "verdict", "fail")) {
		buf_init(&list, VERDICT_MAX);
		yyjson_arr_foreach(yyjson_obj_get(root, "failed"), i, max, item)
		{
			if (yyjson_is_str(item))
				buf_addf(&list, "%s%s", i > 0 ? ", " : "",
				    yyjson_get_str(item));
		}
		qo_err_set(err,
		    "the store failed the probe (%s): tasks could be lost; "
		    "see qo doctor",
		    list.data);
		buf_fini(&list);
		rv = -1;
	}
	yyjson_doc_free(doc);
	return rv;
}
