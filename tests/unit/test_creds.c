#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "creds.h"
#include "io.h"
#include "rfc3339.h"
#include "run_suite.h"
#include "s3_fixture.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))
#define KEYS(ak, expires)                                                 \
	"{\"Code\":\"Success\",\"AccessKeyId\":\"" ak                     \
	"\",\"SecretAccessKey\":\"sk\",\"Token\":\"tok\",\"Expiration\":" \
	"\"" expires "\"}"
#define FAR "2096-01-28T18:00:00Z"

static struct fixture fx;
static char dir[64], path[96];

/* The linker puts this in the place of qo_mono_now: it does not see that the
 * machine stood still.  A metadata service has 2 s, and it is a thread of
 * ours. */
struct qo_mono __real_qo_mono_now(void);
struct qo_mono __wrap_qo_mono_now(void);

struct qo_mono
__wrap_qo_mono_now(void)
{
	static struct qo_mono shown, seen;
	struct qo_mono t = __real_qo_mono_now();
	int64_t us = qo_mono_diff_us(seen, t);

	shown.us += us < 20 * QO_US_PER_MS ? us : 20 * QO_US_PER_MS;
	seen = t;
	return shown;
}

static void
setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/qo-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/credentials", dir);
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	unsetenv("AWS_SESSION_TOKEN");
	unsetenv("AWS_PROFILE");
	unsetenv("AWS_SHARED_CREDENTIALS_FILE");
	setenv("HOME", dir, 1);
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
}

static void
teardown(void)
{
	unlink(path);
	rmdir(dir);
}

static void
write_file(const char *text, mode_t mode)
{
	struct qo_err err;

	ck_assert_int_eq(io_write_file(path, text, strlen(text), 0600, &err),
	    0);
	ck_assert_int_eq(chmod(path, mode), 0);
	setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
}

START_TEST(test_env)
{
	struct qo_creds c = { 0 };
	struct qo_err err;

	ck_assert_int_eq(qo_creds_from_env(&c, &err), QO_NOENT);
	setenv("AWS_ACCESS_KEY_ID", "ak", 1);
	ck_assert_int_eq(qo_creds_from_env(&c, &err), QO_ERR);
	ck_assert_ptr_nonnull(strstr(err.msg, "AWS_SECRET_ACCESS_KEY is not"));
	setenv("AWS_SECRET_ACCESS_KEY", "sk", 1);
	setenv("AWS_SESSION_TOKEN", "tok", 1);
	ck_assert_int_eq(qo_creds_from_env(&c, &err), QO_OK);
	ck_assert_str_eq(c.access_key, "ak");
	ck_assert_str_eq(c.secret_key, "sk");
	ck_assert_str_eq(c.session_token, "tok");
	qo_creds_fini(&c);
}
END_TEST

static const char shared[] = "[default]\n"
			     "aws_access_key_id = ak1\n"
			     "aws_secret_access_key = sk1 # of the first\n"
			     "s3 =\n"
			     "    aws_access_key_id = nested\n"
			     "[other]\n"
			     "aws_access_key_id=ak2\r\n"
			     "aws_secret_access_key=sk/2+\r\n"
			     "aws_session_token=t2\n"
			     "[half]\n"
			     "aws_access_key_id=ak3\n";

START_TEST(test_file)
{
	struct qo_creds c = { 0 };
	struct qo_err err;

	ck_assert_int_eq(qo_creds_from_file(NULL, &c, &err), QO_NOENT);
	write_file(shared, 0600);
	ck_assert_int_eq(qo_creds_from_file(NULL, &c, &err), QO_OK);
	ck_assert_str_eq(c.access_key, "ak1");
	ck_assert_str_eq(c.secret_key, "sk1");
	ck_assert_ptr_null(c.session_token);
	ck_assert_int_eq(qo_creds_from_file("other", &c, &err), QO_OK);
	ck_assert_str_eq(c.secret_key, "sk/2+");
	ck_assert_str_eq(c.session_token, "t2");
	setenv("AWS_PROFILE", "other", 1);
	ck_assert_int_eq(qo_creds_from_file(NULL, &c, &err), QO_OK);
	ck_assert_str_eq(c.access_key, "ak2");
	ck_assert_int_eq(qo_creds_from_file("half", &c, &err), QO_ERR);
	ck_assert_ptr_nonnull(strstr(err.msg, "[half] has no aws_secret"));
	ck_assert_int_eq(qo_creds_from_file("nobody", &c, &err), QO_ERR);
	ck_assert_ptr_nonnull(strstr(err.msg, "no profile [nobody]"));
	qo_creds_fini(&c);
}
END_TEST

START_TEST(test_file_others_can_read)
{
	struct qo_creds c = { 0 };
	struct qo_err err;

	write_file(shared, 0644);
	ck_assert_int_eq(qo_creds_from_file(NULL, &c, &err), QO_ERR);
	ck_assert_ptr_nonnull(strstr(err.msg, "chmod 0600"));
	ck_assert_ptr_null(strstr(err.msg, "sk1"));
}
END_TEST

/* Through the client: which key is a request signed with? */

static const char *
signed_by(size_t i)
{
	static char ak[64];
	const char *auth;

	auth = header_of(scripted_request(fx.server, i), "authorization");
	ck_assert_ptr_nonnull(auth);
	sscanf(auth, "AWS4-HMAC-SHA256 Credential=%60[^/]", ak);
	return ak;
}

static void
no_keys(struct qo_s3_conf *conf)
{
	conf->access_key = conf->secret_key = NULL;
}

START_TEST(test_none_at_all)
{
	struct qo_s3_req r;

	fixture_start(&fx, NULL, 0, no_keys);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_DENIED);
	ck_assert_ptr_nonnull(strstr(r.res.err.msg, "AWS_ACCESS_KEY_ID"));
	ck_assert_uint_eq(r.res.attempts, 0);
	qo_s3_req_fini(&r);
	fixture_stop(&fx);
}
END_TEST

/* One scripted server plays the metadata service and the store. */
static void
metadata_here(struct qo_s3_conf *conf)
{
	no_keys(conf);
	unsetenv("AWS_EC2_METADATA_DISABLED");
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", conf->endpoint, 1);
}

START_TEST(test_instance)
{
	struct script_step steps[] = {
		answer("200 OK", "", "TOKEN=="),
		answer("200 OK", "", "my-role\n"),
		answer("200 OK", "", KEYS("ASIA1", FAR)),
		answer("200 OK", ETAG, ""),
		answer("200 OK", ETAG, ""),
	};
	struct qo_s3_req r;

	fixture_start(&fx, steps, nitems(steps), metadata_here);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_msg(qo_s3_wait(fx.s3, &r) == QO_S3_OK, "%s", r.res.err.msg);
	ck_assert_ptr_eq(strstr(scripted_request(fx.server, 0),
			     "PUT /latest/api/token HTTP/1.1\r\n"),
	    scripted_request(fx.server, 0));
	ck_assert_str_eq(header_of(scripted_request(fx.server, 0),
			     "x-aws-ec2-metadata-token-ttl-seconds"),
	    "21600");
	ck_assert_str_eq(header_of(scripted_request(fx.server, 2),
			     "x-aws-ec2-metadata-token"),
	    "TOKEN==");
	ck_assert_ptr_nonnull(strstr(scripted_request(fx.server, 2),
	    "GET /latest/meta-data/iam/security-credentials/my-role "));
	ck_assert_str_eq(signed_by(3), "ASIA1");
	ck_assert_str_eq(header_of(scripted_request(fx.server, 3),
			     "x-amz-security-token"),
	    "tok");
	/* Kept: no second round. */
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert_uint_eq(scripted_count(fx.server), 5);
	qo_s3_req_fini(&r);
	fixture_stop(&fx);
}
END_TEST

static void
on_ready(void *arg)
{
	(*(int *)arg)++;
}

/* The access key that the chain gives at that time; NULL: not yet. */
static const char *
key_at(struct qo_credchain *c, const char *time)
{
	const struct qo_creds *creds;
	struct qo_wall now;
	struct qo_err err;

	ck_assert_int_eq(qo_rfc3339_parse(time, strlen(time), &now), 0);
	qo_err_reset(&err);
	switch (qo_credchain_get(c, now, &creds, &err)) {
	case QO_OK:
		return creds->access_key;
	case QO_AGAIN:
		return NULL;
	default:
		ck_abort_msg("%s", err.msg);
	}
}

/* Keys that end soon are fetched anew while the old ones still serve. */
START_TEST(test_instance_refresh)
{
	struct script_step steps[] = {
		answer("200 OK", "", "T"),
		answer("200 OK", "", "role"),
		answer("200 OK", "", KEYS("OLD", "2026-01-28T12:00:00Z")),
		answer("200 OK", "", "T"),
		answer("200 OK", "", "role"),
		answer("200 OK", "", KEYS("NEW", "2026-01-28T18:00:00Z")),
	};
	struct http_conf hc = { 4, 2000, NULL, NULL };
	struct qo_credchain_conf cc = { 0 };
	struct qo_credchain *chain;
	struct http *http;
	int ready = 0;

	fixture_start(&fx, steps, nitems(steps), metadata_here);
	http = http_new(fx.loop, &hc);
	cc.ready = on_ready;
	cc.arg = &ready;
	chain = qo_credchain_new(fx.loop, http, &cc);
	ck_assert_ptr_null(key_at(chain, "2026-01-28T10:00:00Z"));
	while (ready == 0)
		loop_once(fx.loop, -1);
	ck_assert_str_eq(key_at(chain, "2026-01-28T11:54:00Z"), "OLD");
	ck_assert_uint_eq(scripted_count(fx.server), 3);
	/* Five minutes before the end the fetch begins, unheard. */
	ck_assert_str_eq(key_at(chain, "2026-01-28T11:56:00Z"), "OLD");
	while (strcmp(key_at(chain, "2026-01-28T11:56:01Z"), "OLD") == 0)
		loop_once(fx.loop, -1);
	ck_assert_str_eq(key_at(chain, "2026-01-28T12:01:00Z"), "NEW");
	ck_assert_int_eq(ready, 1);
	qo_credchain_free(chain);
	http_free(http);
	fixture_stop(&fx);
}
END_TEST

START_TEST(test_instance_broken)
{
	struct script_step steps[] = {
		answer("200 OK", "", "T"),
		answer("404 Not Found", "", "no role"),
	};
	struct qo_s3_req r;

	fixture_start(&fx, steps, nitems(steps), metadata_here);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_DENIED);
	ck_assert_str_eq(r.res.err.msg,
	    "instance role: the service answered 404");
	qo_s3_req_fini(&r);
	fixture_stop(&fx);
}
END_TEST

static void
container_here(struct qo_s3_conf *conf)
{
	char url[128];

	no_keys(conf);
	snprintf(url, sizeof(url), "%s/creds?x=1", conf->endpoint);
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer me", 1);
}

START_TEST(test_container)
{
	struct script_step steps[] = {
		answer("200 OK", "", KEYS("ECS1", FAR)),
		answer("200 OK", ETAG, ""),
	};
	struct qo_s3_req r;

	fixture_start(&fx, steps, nitems(steps), container_here);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert_str_eq(header_of(scripted_request(fx.server, 0),
			     "authorization"),
	    "Bearer me");
	ck_assert_str_eq(signed_by(1), "ECS1");
	qo_s3_req_fini(&r);
	fixture_stop(&fx);
}
END_TEST

/* What asked the store before asks for keys again. */
START_TEST(test_container_again)
{
	struct script_step steps[] = {
		answer("200 OK", "", KEYS("ECS1", FAR)),
		answer("400 Bad Request", "",
		    "<Error><Code>ExpiredToken</Code><Message>m</Message>"
		    "</Error>"),
		answer("200 OK", "", KEYS("ECS2", FAR)),
		answer("200 OK", ETAG, ""),
	};
	static const char *const lines[] = { "GET /creds?x=1 ", "PUT /qo/k ",
		"GET /creds?x=1 ", "PUT /qo/k " };
	struct qo_s3_req r;
	size_t i;

	fixture_start(&fx, steps, nitems(steps), container_here);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	for (i = 0; i < nitems(lines); i++)
		ck_assert_int_eq(strncmp(scripted_request(fx.server, i),
				     lines[i], strlen(lines[i])),
		    0);
	ck_assert_str_eq(signed_by(3), "ECS2");
	qo_s3_req_fini(&r);
	fixture_stop(&fx);
}
END_TEST

static void
container_elsewhere(struct qo_s3_conf *conf)
{
	no_keys(conf);
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://keys.example/", 1);
}

START_TEST(test_container_in_clear)
{
	struct qo_s3_req r;

	fixture_start(&fx, NULL, 0, container_elsewhere);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_DENIED);
	ck_assert_ptr_nonnull(strstr(r.res.err.msg, "must be https"));
	qo_s3_req_fini(&r);
	fixture_stop(&fx);
}
END_TEST

/* A token that the store calls expired is looked for anew, once. */
START_TEST(test_expired_token)
{
	struct script_step steps[] = {
		answer("400 Bad Request", "",
		    "<Error><Code>ExpiredToken</Code><Message>m</Message>"
		    "</Error>"),
		answer("200 OK", ETAG, ""),
		answer("400 Bad Request", "",
		    "<Error><Code>ExpiredToken</Code><Message>m</Message>"
		    "</Error>"),
		answer("400 Bad Request", "",
		    "<Error><Code>ExpiredToken</Code><Message>m</Message>"
		    "</Error>"),
	};
	struct qo_s3_req r;

	fixture_start(&fx, steps, nitems(steps), no_keys);
	setenv("AWS_ACCESS_KEY_ID", "first", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "sk", 1);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	ck_assert_uint_eq(r.res.attempts, 2);
	setenv("AWS_ACCESS_KEY_ID", "second", 1);
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_DENIED);
	ck_assert_uint_eq(r.res.attempts, 2);
	ck_assert_str_eq(signed_by(2), "first");
	ck_assert_str_eq(signed_by(3), "second");
	qo_s3_req_fini(&r);
	fixture_stop(&fx);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("creds");
	TCase *tc = tcase_create("creds");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_env);
	tcase_add_test(tc, test_file);
	tcase_add_test(tc, test_file_others_can_read);
	tcase_add_test(tc, test_none_at_all);
	tcase_add_test(tc, test_instance);
	tcase_add_test(tc, test_instance_refresh);
	tcase_add_test(tc, test_instance_broken);
	tcase_add_test(tc, test_container);
	tcase_add_test(tc, test_container_again);
	tcase_add_test(tc, test_container_in_clear);
	tcase_add_test(tc, test_expired_token);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
