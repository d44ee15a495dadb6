#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "doctor.h"
#include "xalloc.h"

static void
on_said(void *arg, enum qo_init_level level, const char *text)
{
	(void)arg;
	if (level == QO_INIT_WARN)
		exit_say("%s", text);
	else
		out_line("%s", text);
}

void
doctor_init(struct session *s, struct qo_init *init)
{
	memset(init, 0, sizeof(*init));
	init->loop = s->loop;
	init->s3 = s->s3;
	init->conf = s->conf;
	init->say = on_said;
}

enum exit_code
doctor_probe(struct session *s, struct qo_probe *p)
{
	struct qo_init init;
	struct qo_err err = { 0 };
	enum exit_code code;
	enum qo_rc rc;

	if ((code = session_store(s)) != EXIT_OK)
		return code;
	doctor_init(s, &init);
	rc = qo_init_probe(&init, p, &err);
	return rc == QO_OK ? EXIT_OK : session_fail(s, rc, &err);
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
