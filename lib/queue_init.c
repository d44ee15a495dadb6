#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "queue_init.h"
#include "s3body.h"
#include "xalloc.h"

#define DAYS 1 /* what is kept of index entries that are gone */

static const char *const index_prefixes[] = { "ready", "leases/", "failed/",
	"workers/", "bell/", "logs/", "workflow-active/" };
#define NPREFIXES   (sizeof(index_prefixes) / sizeof(index_prefixes[0]))
#define PREFIX_SIZE 320

static void __attribute__((format(printf, 3, 4)))
say(const struct qo_init *in, enum qo_init_level level, const char *fmt, ...)
{
	struct buf b;
	va_list ap;

	buf_init(&b, 4096);
	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	in->say(in->arg, level, b.data);
	buf_fini(&b);
}

/* Ends a request: what it came to. */
static enum qo_rc
ended(struct qo_s3_req *r, struct qo_err *err)
{
	enum qo_rc rc = qo_s3_outcome_rc(r->res.outcome);

	if (rc != QO_OK)
		*err = r->res.err;
	qo_s3_req_fini(r);
	return rc;
}

/* AWS alone wants to be told where, and not in its first region. */
static bool
needs_location(const struct conf *c)
{
	return c->s3.endpoint == NULL && !c->store.enabled &&
	    strcmp(c->s3.region, "us-east-1") != 0;
}

static enum qo_rc
create_bucket(const struct qo_init *in, const char *name, struct qo_err *err)
{
	struct qo_s3_req r;
	struct buf b;
	enum qo_rc rc = QO_ERR;

	buf_init(&b, 4096);
	if (!needs_location(in->conf) ||
	    qo_s3body_location(&b, in->conf->s3.region, err) == 0) {
		qo_s3_req_init(&r, QO_S3_BUCKET_CREATE, name, NULL);
		r.body = b.len > 0 ? b.data : NULL;
		r.body_len = b.len;
		qo_s3_wait(in->s3, &r);
		rc = ended(&r, err);
	}
	/* Sent twice, or somebody else of us was first. */
	if (rc == QO_LOST &&
	    strcmp(err->s3_code, "BucketAlreadyOwnedByYou") == 0)
		rc = QO_OK;
	if (rc == QO_OK)
		say(in, QO_INIT_DONE, "made bucket %s", name);
	buf_fini(&b);
	return rc;
}

static enum qo_rc
make_bucket(const struct qo_init *in, const char *name, struct qo_err *err)
{
	struct qo_s3_req r;
	enum qo_rc rc;

	qo_s3_req_init(&r, QO_S3_BUCKET_HEAD, name, NULL);
	qo_s3_wait(in->s3, &r);
	rc = ended(&r, err);
	if (rc == QO_OK)
		say(in, QO_INIT_DONE, "bucket %s is there", name);
	return rc == QO_NOENT ? create_bucket(in, name, err) : rc;
}

static bool
has_versioning(const struct qo_init *in, const char *name)
{
	struct qo_s3_req r;
	bool has;

	qo_s3_req_init(&r, QO_S3_VERSIONING_GET, name, NULL);
	has = qo_s3_wait(in->s3, &r) == QO_S3_OK &&
	    r.res.versioning == QO_S3_VERSIONING_ENABLED;
	qo_s3_req_fini(&r);
	return has;
}

static enum qo_rc
set_versioning(const struct qo_init *in, const char *name, struct qo_err *err)
{
	struct qo_s3_req r;
	struct buf b;
	enum qo_rc rc;

	if (in->conf->s3.versioning == CONF_VERSIONING_OFF) {
		say(in, QO_INIT_DONE,
		    "versioning is left alone: [s3] versioning = off");
		return QO_OK;
	}
	if (has_versioning(in, name)) {
		say(in, QO_INIT_DONE, "bucket %s has versioning", name);
		return QO_OK;
	}
	buf_init(&b, 4096);
	qo_s3body_versioning(&b, true, NULL);
	qo_s3_req_init(&r, QO_S3_VERSIONING_PUT, name, NULL);
	r.body = b.data;
	r.body_len = b.len;
	qo_s3_wait(in->s3, &r);
	rc = ended(&r, err);
	if (rc == QO_OK)
		say(in, QO_INIT_DONE, "turned on versioning of bucket %s",
		    name);
	buf_fini(&b);
	return rc;
}

/* Is there a rule for that prefix? */
static bool
has_rule(const struct buf *rules, const char *prefix)
{
	char *text = xasprintf("<Prefix>%s</Prefix>", prefix);
	bool has = rules->len > 0 && strstr(rules->data, text) != NULL;

	free(text);
	return has;
}

static bool
has_rules(const struct buf *rules, char prefixes[NPREFIXES][PREFIX_SIZE])
{
	size_t i;

	for (i = 0; i < NPREFIXES; i++)
		if (!has_rule(rules, prefixes[i]))
			return false;
	return true;
}

static enum qo_s3_outcome
put_rules(const struct qo_init *in, const char *name,
    char prefixes[NPREFIXES][PREFIX_SIZE], struct qo_err *err)
{
	struct qo_s3_lifecycle_rule rules[NPREFIXES];
	enum qo_s3_outcome outcome;
	char ids[NPREFIXES][32];
	struct qo_s3_req r;
	struct buf b;
	size_t i;

	for (i = 0; i < NPREFIXES; i++) {
		snprintf(ids[i], sizeof(ids[i]), "qo-%.*s",
		    (int)strcspn(index_prefixes[i], "/"), index_prefixes[i]);
		memset(&rules[i], 0, sizeof(rules[i]));
		rules[i].id = ids[i];
		rules[i].prefix = prefixes[i];
		rules[i].noncurrent_days = DAYS;
		rules[i].expired_markers = true;
	}
	buf_init(&b, 65536);
	qo_s3body_lifecycle(&b, rules, NPREFIXES, NULL);
	qo_s3_req_init(&r, QO_S3_LIFECYCLE_PUT, name, NULL);
	r.body = b.data;
	r.body_len = b.len;
	outcome = qo_s3_wait(in->s3, &r);
	*err = r.res.err;
	qo_s3_req_fini(&r);
	buf_fini(&b);
	return outcome;
}

/* Index entries in a versioned bucket leave versions behind, which nobody
 * reads.  A PUT replaces all rules: where there are some, they are their
 * owner's business. */
static void
set_lifecycle(const struct qo_init *in, const char *name,
    enum qo_s3_outcome outcome, const struct buf *rules, struct qo_err *err)
{
	char prefixes[NPREFIXES][PREFIX_SIZE];
	size_t i;

	for (i = 0; i < NPREFIXES; i++)
		snprintf(prefixes[i], sizeof(prefixes[i]), "%s%s",
		    in->conf->s3.prefix, index_prefixes[i]);
	if (outcome == QO_S3_OK && has_rules(rules, prefixes)) {
		say(in, QO_INIT_DONE, "the lifecycle rules are there");
		return;
	}
	if (outcome == QO_S3_OK) {
		say(in, QO_INIT_WARN,
		    "bucket %s has lifecycle rules of its own, which are left "
		    "alone: old index versions stay, see qo-layout(7)",
		    name);
		return;
	}
	if (outcome == QO_S3_NOT_FOUND &&
	    put_rules(in, name, prefixes, err) == QO_S3_OK)
		say(in, QO_INIT_DONE,
		    "set lifecycle rules: what is gone from the indexes is "
		    "kept for %d day",
		    DAYS);
	else
		/* It costs space, not correctness. */
		say(in, QO_INIT_WARN,
		    "bucket %s: no lifecycle rules, old index versions stay: "
		    "%s",
		    name, err->msg);
}

/* What becomes of old versions.  Those of tasks are the history: how long it
 * is kept is not ours to say. */
static void
see_to_versions(const struct qo_init *in, const struct conf_s3 *c)
{
	enum qo_s3_outcome outcome;
	char tasks[PREFIX_SIZE];
	struct qo_s3_req r;

	qo_s3_req_init(&r, QO_S3_LIFECYCLE_GET, c->bucket, NULL);
	outcome = qo_s3_wait(in->s3, &r);
	if (c->index_bucket == NULL)
		set_lifecycle(in, c->bucket, outcome, &r.res.body, &r.res.err);
	snprintf(tasks, sizeof(tasks), "%stasks/", c->prefix);
	if (!has_rule(&r.res.body, tasks))
		say(in, QO_INIT_DONE,
		    "no lifecycle rule for %s: the versions of tasks, their "
		    "history, are kept for ever, also of those that retention "
		    "removes; see qo-layout(7)",
		    tasks);
	qo_s3_req_fini(&r);
}

static enum qo_rc
create_control(const struct qo_init *in, struct qo_err *err)
{
	const struct conf_s3 *c = &in->conf->s3;
	struct qo_control ctl;
	enum qo_rc rc;

	qo_control_init(&ctl, in->shard_width != 0 ? in->shard_width : 1);
	rc = qo_control_create(in->s3, c->bucket, c->prefix, &ctl, err);
	if (rc == QO_OK)
		say(in, QO_INIT_DONE, "made the queue, shard width %d",
		    (int)ctl.shard_width);
	qo_control_fini(&ctl);
	return rc;
}

static enum qo_rc
make_control(const struct qo_init *in, struct qo_err *err)
{
	const struct conf_s3 *c = &in->conf->s3;
	struct qo_control ctl;
	enum qo_rc rc;

	rc = qo_control_read(in->s3, c->bucket, c->prefix, &ctl, err);
	if (rc == QO_NOENT)
		return create_control(in, err);
	if (rc != QO_OK)
		return rc;
	say(in, QO_INIT_DONE, "the queue is there, shard width %d",
	    (int)ctl.shard_width);
	if (in->shard_width != 0 && in->shard_width != ctl.shard_width) {
		qo_err_set(err, "shard width %d: this queue has %d, for ever",
		    in->shard_width, (int)ctl.shard_width);
		rc = QO_LOST;
	}
	qo_control_fini(&ctl);
	return rc;
}

enum qo_rc
qo_init_queue(const struct qo_init *in, struct qo_err *err)
{
	const struct conf_s3 *c = &in->conf->s3;
	enum qo_rc rc;

	if ((rc = make_bucket(in, c->bucket, err)) != QO_OK ||
	    (rc = set_versioning(in, c->bucket, err)) != QO_OK)
		return rc;
	if (c->index_bucket != NULL &&
	    (rc = make_bucket(in, c->index_bucket, err)) != QO_OK)
		return rc;
	if (c->versioning != CONF_VERSIONING_OFF)
		see_to_versions(in, c);
	return make_control(in, err);
}

/* The probe */

static bool
keep_verdict(struct qo_control *c, void *arg)
{
	const struct buf *text = arg;

	c->probe = qo_record_dup_json(&c->rec, text->data, text->len);
	return true;
}

/* Where the client knows no server time there is no date to keep. */
static void
keep(const struct qo_init *in, const struct qo_probe *p)
{
	const struct conf_s3 *c = &in->conf->s3;
	struct qo_control ctl;
	struct qo_err err = { 0 };
	struct qo_wall now;
	struct buf text;
	enum qo_rc rc;

	qo_s3_now(in->s3, NULL, &now, NULL);
	buf_init(&text, 65536);
	qo_probe_encode(p, now, &text);
	rc = qo_control_update(in->s3, c->bucket, c->prefix, keep_verdict,
	    &text, &ctl, &err);
	buf_fini(&text);
	if (rc == QO_OK)
		qo_control_fini(&ctl);
	else if (rc == QO_NOENT)
		say(in, QO_INIT_WARN,
		    "the verdict is not kept: there is no queue yet, run qo "
		    "init");
	else
		say(in, QO_INIT_WARN, "the verdict is not kept: %s", err.msg);
}

enum qo_rc
qo_init_probe(const struct qo_init *in, struct qo_probe *p, struct qo_err *err)
{
	const struct conf_s3 *c = &in->conf->s3;
	struct qo_probe_conf conf;
	enum qo_rc rc;

	memset(&conf, 0, sizeof(conf));
	conf.bucket = c->bucket;
	conf.index_bucket = c->index_bucket;
	conf.prefix = c->prefix;
	conf.versioning = c->versioning == CONF_VERSIONING_REQUIRED;
	conf.find_etag_form = c->etag_quotes == CONF_AUTO;
	rc = qo_probe_run(p, in->loop, in->s3, &conf, err);
	if (rc == QO_OK)
		keep(in, p);
	return rc;
}
