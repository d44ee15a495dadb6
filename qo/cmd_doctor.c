#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "doctor.h"
#include "xalloc.h"

static bool
keep_verdict(struct qo_control *c, void *arg)
{
	const struct buf *text = arg;

	c->probe = qo_record_dup_json(&c->rec, text->data, text->len);
	return true;
}

/* Where the client knows no server time there is no date to keep. */
static enum exit_code
keep(struct session *s, const struct qo_probe *p)
{
	const struct conf_s3 *c = &s->conf->s3;
	struct qo_control ctl;
	struct qo_err err = { 0 };
	struct qo_wall now;
	struct buf text;
	enum qo_rc rc;

	qo_s3_now(s->s3, NULL, &now, NULL);
	buf_init(&text, 65536);
	qo_probe_encode(p, now, &text);
	rc = qo_control_update(s->s3, c->bucket, c->prefix, keep_verdict, &text,
	    &ctl, &err);
	buf_fini(&text);
	if (rc == QO_OK)
		qo_control_fini(&ctl);
	else if (rc == QO_NOENT)
		exit_say("the verdict is not kept: there is no queue yet, run "
			 "qo init");
	else
		exit_say("the verdict is not kept: %s", err.msg);
	return EXIT_OK;
}

enum exit_code
doctor_probe(struct session *s, struct qo_probe *p)
{
	const struct conf_s3 *c;
	struct qo_probe_conf conf;
	struct qo_err err = { 0 };
	enum exit_code code;
	enum qo_rc rc;

	if ((code = session_store(s)) != EXIT_OK)
		return code;
	c = &s->conf->s3;
	memset(&conf, 0, sizeof(conf));
	conf.bucket = c->bucket;
	conf.index_bucket = c->index_bucket;
	conf.prefix = c->prefix;
	conf.versioning = c->versioning == CONF_VERSIONING_REQUIRED;
	conf.find_etag_form = c->etag_quotes == CONF_AUTO;
	rc = qo_probe_run(p, s->loop, s->s3, &conf, &err);
	if (rc != QO_OK)
		return session_fail(s, rc, &err);
	return keep(s, p);
}

static enum out_style
style_of(enum qo_probe_level level)
{
	switch (level) {
	case QO_PROBE_PASS:
		return OUT_GOOD;
	case QO_PROBE_WARN:
		return OUT_WARN;
	case QO_PROBE_FAIL:
		break;
	}
	return OUT_BAD;
}

void
doctor_print(const struct qo_probe *p)
{
	const struct qo_probe_check *c;
	size_t i;

	for (i = 0; i < p->n; i++) {
		c = &p->checks[i];
		out_text(style_of(c->level), "%s",
		    qo_probe_level_name(c->level));
		out_line("  %-20s %s", c->name, c->detail);
		if (c->fix != NULL)
			out_line("      %-20s fix: %s", "", c->fix);
	}
}

static void
print_json(const struct qo_probe *p)
{
	const struct qo_probe_check *c;
	struct buf b;
	size_t i;

	buf_init(&b, 1 << 20);
	out_json_open(&b, NULL, '{');
	out_json_str(&b, "verdict", qo_probe_level_name(qo_probe_verdict(p)));
	out_json_str(&b, "etag", p->etag_bare ? "bare" : "quoted");
	out_json_open(&b, "checks", '[');
	for (i = 0; i < p->n; i++) {
		c = &p->checks[i];
		out_json_open(&b, NULL, '{');
		out_json_str(&b, "name", c->name);
		out_json_str(&b, "result", qo_probe_level_name(c->level));
		out_json_str(&b, "detail", c->detail);
		out_json_str(&b, "fix", c->fix);
		out_json_close(&b, '}');
	}
	out_json_close(&b, ']');
	out_json_close(&b, '}');
	out_json(b.data, b.len);
	buf_fini(&b);
}

static enum exit_code
run(struct session *s, const struct opts *o)
{
	struct qo_probe *p = xcalloc(1, sizeof(*p));
	enum qo_probe_level verdict;
	enum exit_code code;

	if ((code = doctor_probe(s, p)) == EXIT_OK) {
		verdict = qo_probe_verdict(p);
		if (opts_has(o, "json"))
			print_json(p);
		else
			doctor_print(p);
		if (verdict == QO_PROBE_FAIL) {
			exit_say("this store must not be used for a queue");
			code = EXIT_FAILED;
		}
	}
	free(p);
	return code;
}

static const struct opt opts[] = { CMD_OPT_JSON, CMD_OPT_END };

const struct cmd cmd_doctor = {
	.name = "doctor",
	.run = run,
	.opts = opts,
	.summary = "prove that the store does what the queue needs",
	.help =
	    "Tries on the real buckets, with about 200 small requests: "
	    "conditional writes, also by 16 writers at once; the order and "
	    "freshness of lists; bulk deletes; versioning; that old "
	    "signatures are refused; the clock; the time that a request "
	    "takes.  Each check passes, warns or fails, and says what helps."
	    "  The verdict is kept in the bucket: daemons do not start on a "
	    "store that failed.",
};
