#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "s3_fixture.h"

void
fixture_start(struct fixture *f, const struct script_step *steps, size_t n,
    void (*tweak)(struct qo_s3_conf *conf))
{
	struct qo_err err;

	/* Nothing of the machine's own may leak in, and no metadata service
	 * may be asked for. */
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	unsetenv("AWS_SESSION_TOKEN");
	unsetenv("AWS_PROFILE");
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	memset(f, 0, sizeof(*f));
	f->loop = loop_new();
	f->server = scripted_start(steps, n, NULL);
	f->conf.endpoint = scripted_url(f->server);
	f->conf.region = "us-east-1";
	f->conf.path_style = true;
	f->conf.access_key = "AKIDEXAMPLE";
	f->conf.secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
	f->conf.max_connections = 16;
	f->conf.request_timeout_ms = 60000;
	f->conf.max_skew_ms = 300000;
	if (tweak != NULL)
		tweak(&f->conf);
	f->s3 = qo_s3_new(f->loop, &f->conf, &err);
	ck_assert_msg(f->s3 != NULL, "%s", err.msg);
}

void
fixture_stop(struct fixture *f)
{
	qo_s3_free(f->s3);
	scripted_stop(f->server);
	loop_free(f->loop);
}

struct qo_s3_req
fixture_ask(struct fixture *f, enum qo_s3_op op, struct script_step step,
    unsigned attempts)
{
	struct script_step steps[8];
	struct qo_s3_req r;
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		steps[i] = step;
	fixture_start(f, steps, i, NULL);
	qo_s3_req_init(&r, op, "qo",
	    op <= QO_S3_DELETE ? "tasks/0/a b+c/ü.json" : NULL);
	if (op == QO_S3_PUT) {
		r.body = "{}";
		r.body_len = 2;
		r.if_none_match = "*";
	}
	r.max_attempts = attempts;
	qo_s3_wait(f->s3, &r);
	return r;
}

void
fixture_done(struct fixture *f, struct qo_s3_req *r)
{
	qo_s3_req_fini(r);
	fixture_stop(f);
}

struct script_step
answer(const char *status, const char *headers, const char *body)
{
	static char area[1 << 20];
	static size_t used;
	struct script_step step;
	int n;

	n = snprintf(area + used, sizeof(area) - used,
	    "HTTP/1.1 %s\r\n" NOW "%sContent-Length: %zu\r\n\r\n%s", status,
	    headers, strlen(body), body);
	ck_assert_uint_lt(used + (size_t)n + 1, sizeof(area));
	step = (struct script_step){ area + used, (size_t)n, 0 };
	used += (size_t)n + 1;
	return step;
}

const char *
header_of(const char *request, const char *name)
{
	static char value[4096];
	char needle[128];
	const char *p, *end;

	snprintf(needle, sizeof(needle), "\r\n%s:", name);
	p = strcasestr(request, needle);
	if (p == NULL || p > strstr(request, "\r\n\r\n"))
		return NULL;
	p += strlen(needle);
	p += strspn(p, " ");
	end = strstr(p, "\r\n");
	snprintf(value, sizeof(value), "%.*s", (int)(end - p), p);
	return value;
}
