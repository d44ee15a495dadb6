#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "doctor.h"
#include "s3body.h"
#include "xalloc.h"

#define DAYS 1 /* what is kept of index entries that are gone */

static const char *const index_prefixes[] = { "ready", "leases/", "failed/",
	"workers/", "bell/", "logs/", "workflow-active/" };
#define NPREFIXES (sizeof(index_prefixes) / sizeof(index_prefixes[0]))

static enum exit_code
failed(struct session *s, struct qo_s3_req *r)
{
	enum exit_code code;

	code = session_fail(s, qo_s3_outcome_rc(r->res.outcome), &r->res.err);
	qo_s3_req_fini(r);
	return code;
}

static enum exit_code
make_bucket(struct session *s, const char *name)
{
	const char *region = s->conf->s3.region;
	struct qo_s3_req r;
	struct qo_err err = { 0 };
	struct buf b;
	enum exit_code code = EXIT_OK;

	qo_s3_req_init(&r, QO_S3_BUCKET_HEAD, name, NULL);
	if (qo_s3_wait(s->s3, &r) == QO_S3_OK) {
		qo_s3_req_fini(&r);
		out_line("bucket %s is there", name);
		return EXIT_OK;
	}
	if (r.res.outcome != QO_S3_NOT_FOUND)
		return failed(s, &r);
	qo_s3_req_fini(&r);
	buf_init(&b, 4096);
	qo_s3_req_init(&r, QO_S3_BUCKET_CREATE, name, NULL);
	if (s->conf->s3.endpoint == NULL && !s->conf->store.enabled &&
	    strcmp(region, "us-east-1") != 0 &&
	    qo_s3body_location(&b, region, &err) == 0) {
		r.body = b.data;
		r.body_len = b.len;
	}
	if (qo_s3_wait(s->s3, &r) == QO_S3_OK) {
		qo_s3_req_fini(&r);
		out_line("made bucket %s", name);
	} else {
		code = failed(s, &r);
	}
	buf_fini(&b);
	return code;
}

static enum exit_code
set_versioning(struct session *s, const char *name)
{
	struct qo_s3_req r;
	struct buf b;
	enum exit_code code = EXIT_OK;

	if (s->conf->s3.versioning == CONF_VERSIONING_OFF) {
		out_line("versioning is left alone: [s3] versioning = off");
		return EXIT_OK;
	}
	qo_s3_req_init(&r, QO_S3_VERSIONING_GET, name, NULL);
	if (qo_s3_wait(s->s3, &r) == QO_S3_OK &&
	    r.res.versioning == QO_S3_VERSIONING_ENABLED) {
		qo_s3_req_fini(&r);
		out_line("bucket %s has versioning", name);
		return EXIT_OK;
	}
	qo_s3_req_fini(&r);
	buf_init(&b, 4096);
	qo_s3body_versioning(&b, true, NULL);
	qo_s3_req_init(&r, QO_S3_VERSIONING_PUT, name, NULL);
	r.body = b.data;
	r.body_len = b.len;
	if (qo_s3_wait(s->s3, &r) == QO_S3_OK) {
		qo_s3_req_fini(&r);
		out_line("turned on versioning of bucket %s", name);
	} else {
		code = failed(s, &r);
	}
	buf_fini(&b);
	return code;
}

/* Index entries in a versioned bucket leave versions behind, which nobody
 * reads. */
static enum exit_code
set_lifecycle(struct session *s, const char *name)
{
	struct qo_s3_lifecycle_rule rules[NPREFIXES];
	char ids[NPREFIXES][32], prefixes[NPREFIXES][320];
	struct qo_s3_req r;
	struct buf b;
	size_t i;

	for (i = 0; i < NPREFIXES; i++) {
		snprintf(ids[i], sizeof(ids[i]), "qo-%.*s",
		    (int)strcspn(index_prefixes[i], "/"), index_prefixes[i]);
		snprintf(prefixes[i], sizeof(prefixes[i]), "%s%s",
		    s->conf->s3.prefix, index_prefixes[i]);
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
	if (qo_s3_wait(s->s3, &r) == QO_S3_OK)
		out_line("set lifecycle rules: what is gone from the indexes "
			 "is kept for %d day",
		    DAYS);
	else
		/* It costs space, not correctness. */
		exit_say("bucket %s: no lifecycle rules, old index versions "
			 "stay: %s",
		    name, r.res.err.msg);
	qo_s3_req_fini(&r);
	buf_fini(&b);
	return EXIT_OK;
}

static enum exit_code
make_control(struct session *s, int width)
{
	const struct conf_s3 *c = &s->conf->s3;
	struct qo_control ctl;
	struct qo_err err = { 0 };
	enum exit_code code = EXIT_OK;
	enum qo_rc rc;

	rc = qo_control_read(s->s3, c->bucket, c->prefix, &ctl, &err);
	if (rc == QO_NOENT) {
		qo_control_init(&ctl, width != 0 ? width : 1);
		rc = qo_control_create(s->s3, c->bucket, c->prefix, &ctl, &err);
		if (rc == QO_OK)
			out_line("made the queue, shard width %d",
			    (int)ctl.shard_width);
		qo_control_fini(&ctl);
		return rc == QO_OK ? EXIT_OK : session_fail(s, rc, &err);
	}
	if (rc != QO_OK)
		return session_fail(s, rc, &err);
	out_line("the queue is there, shard width %d", (int)ctl.shard_width);
	if (width != 0 && width != ctl.shard_width) {
		exit_say("--shard-width %d: this queue has %d, for ever", width,
		    (int)ctl.shard_width);
		code = EXIT_CONFLICT;
	}
	qo_control_fini(&ctl);
	return code;
}

/* Says nothing of what passed: that is qo doctor's. */
static enum exit_code
probe(struct session *s)
{
	struct qo_probe *p = xcalloc(1, sizeof(*p));
	enum exit_code code;

	code = doctor_probe(s, p);
	if (code == EXIT_OK) {
		switch (qo_probe_verdict(p)) {
		case QO_PROBE_PASS:
			out_line("the store does what the queue needs");
			break;
		case QO_PROBE_WARN:
			doctor_print(p);
			break;
		case QO_PROBE_FAIL:
			doctor_print(p);
			exit_say("this store must not be used for a queue");
			code = EXIT_FAILED;
			break;
		}
	}
	free(p);
	return code;
}

static enum exit_code
run(struct session *s, const struct opts *o)
{
	const char *text = opts_get(o, "shard-width");
	const struct conf_s3 *c;
	enum exit_code code;
	int width = 0;

	if (text != NULL && strcmp(text, "1") != 0 && strcmp(text, "2") != 0)
		return exit_usage("--shard-width: 1 or 2, not %s", text);
	if (text != NULL)
		width = text[0] - '0';
	if ((code = session_store(s)) != EXIT_OK)
		return code;
	c = &s->conf->s3;
	if ((code = make_bucket(s, c->bucket)) != EXIT_OK ||
	    (code = set_versioning(s, c->bucket)) != EXIT_OK)
		return code;
	if (c->index_bucket != NULL)
		code = make_bucket(s, c->index_bucket);
	else if (c->versioning != CONF_VERSIONING_OFF)
		code = set_lifecycle(s, c->bucket);
	if (code != EXIT_OK || (code = make_control(s, width)) != EXIT_OK)
		return code;
	return probe(s);
}

static const struct opt opts[] = {
	{ "shard-width", 0, "1|2",
	    "How many digits of a task's id name its shard: 16 shards or 256.  "
	    "Fixed for ever.  Default: 1.",
	    false },
	CMD_OPT_END,
};

const struct cmd cmd_init = {
	.name = "init",
	.run = run,
	.opts = opts,
	.summary = "make the buckets and the queue in them",
	.help = "Makes what is missing and leaves alone what is there: it can "
		"be run at any time, also twice.",
};
