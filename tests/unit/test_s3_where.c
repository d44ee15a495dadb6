/* Where the requests of the S3 client go. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_suite.h"
#include "s3_fixture.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static struct fixture fx;

static void
virtual_host(struct qo_s3_conf *conf)
{
	static char url[64];

	/* A name that resolves to loopback, so that a bucket may precede. */
	snprintf(url, sizeof(url), "http://localhost:%s",
	    strrchr(conf->endpoint, ':') + 1);
	conf->endpoint = url;
	conf->path_style = false;
}

START_TEST(test_virtual_host)
{
	struct script_step step = answer("200 OK", ETAG, "");
	struct qo_s3_req r;
	struct buf url;
	struct qo_err err;
	const char *port;
	char want[128];

	fixture_start(&fx, &step, 1, virtual_host);
	port = strrchr(scripted_url(fx.server), ':') + 1;
	buf_init(&url, 4096);
	ck_assert_int_eq(qo_s3_presign(fx.s3, "GET", "qo", "a b", NULL, 60,
			     &url, &err),
	    0);
	snprintf(want, sizeof(want),
	    "http://qo.localhost:%s/a%%20b?X-Amz-Algorithm=AWS4-HMAC-SHA256&",
	    port);
	ck_assert_msg(strncmp(url.data, want, strlen(want)) == 0, "%s",
	    url.data);
	ck_assert_ptr_nonnull(strstr(url.data, "X-Amz-Expires=60"));
	buf_fini(&url);
	/* glibc resolves every name under localhost to loopback. */
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(fx.s3, &r), QO_S3_OK);
	snprintf(want, sizeof(want), "qo.localhost:%s", port);
	ck_assert_str_eq(header_of(scripted_request(fx.server, 0), "host"),
	    want);
	ck_assert_int_eq(strncmp(scripted_request(fx.server, 0),
			     "PUT /k HTTP/1.1\r\n", 17),
	    0);
	fixture_done(&fx, &r);
}
END_TEST

START_TEST(test_presign_limits)
{
	struct qo_err err;
	struct buf url;

	fixture_start(&fx, NULL, 0, NULL);
	buf_init(&url, 4096);
	qo_err_reset(&err);
	ck_assert_int_eq(qo_s3_presign(fx.s3, "GET", "qo", "k", NULL, 604801,
			     &url, &err),
	    -1);
	ck_assert_ptr_nonnull(strstr(err.msg, "604800"));
	ck_assert_int_eq(qo_s3_presign(fx.s3, "PUT", "qo", "k", "\"e\"", 900,
			     &url, &err),
	    0);
	ck_assert_ptr_nonnull(strstr(url.data,
	    "X-Amz-SignedHeaders=host%3Bif-match"));
	buf_fini(&url);
	fixture_stop(&fx);
}
END_TEST

static const struct {
	const char *endpoint;
	bool allow_http;
	const char *says; /* NULL: fine */
} endpoints[] = {
	{ "https://s3.example.org", false, NULL },
	{ "https://s3.example.org/", false, NULL },
	{ "http://127.0.0.1:9000", false, NULL },
	{ "http://localhost:9000", false, NULL },
	{ "http://[::1]:9000", false, NULL },
	{ NULL, false, NULL },
	{ "http://s3.example.org", true, NULL },
	{ "http://s3.example.org", false, "allow_http" },
	{ "http://127.evil.example.org", true, NULL },
	{ "ftp://s3.example.org", true, "https://" },
	{ "file:///etc/passwd", true, "https://" },
	{ "https://user:pw@s3.example.org", true, "nothing else" },
	{ "https://s3.example.org/path", true, "nothing else" },
	{ "https://s3.example.org?x=1", true, "nothing else" },
	{ "https://", true, "nothing else" },
	{ "https://:80", true, "nothing else" },
	{ "https://a b", true, "nothing else" },
	{ "https://a\r\nHost: b", true, "nothing else" },
};

START_TEST(test_endpoints)
{
	struct qo_s3_conf conf;
	struct loop *l = loop_new();
	struct qo_s3 *s3;
	struct qo_err err;

	memset(&conf, 0, sizeof(conf));
	conf.endpoint = endpoints[_i].endpoint;
	conf.region = "us-east-1";
	conf.allow_http = endpoints[_i].allow_http;
	conf.max_connections = 1;
	qo_err_reset(&err);
	s3 = qo_s3_new(l, &conf, &err);
	ck_assert_msg((s3 == NULL) == (endpoints[_i].says != NULL), "%s: %s",
	    endpoints[_i].endpoint, err.msg);
	if (s3 == NULL)
		ck_assert_msg(strstr(err.msg, endpoints[_i].says) != NULL, "%s",
		    err.msg);
	qo_s3_free(s3);
	loop_free(l);
}
END_TEST

START_TEST(test_loopback_is_not_a_prefix)
{
	struct qo_s3_conf conf;
	struct loop *l = loop_new();
	struct qo_err err;

	memset(&conf, 0, sizeof(conf));
	conf.region = "us-east-1";
	conf.max_connections = 1;
	conf.endpoint = "http://127.evil.example.org";
	ck_assert_ptr_null(qo_s3_new(l, &conf, &err));
	conf.endpoint = "http://localhost.example.org";
	ck_assert_ptr_null(qo_s3_new(l, &conf, &err));
	conf.endpoint = "http://[::1].example.org";
	ck_assert_ptr_null(qo_s3_new(l, &conf, &err));
	loop_free(l);
}
END_TEST

START_TEST(test_unix_socket)
{
	struct script_step step = answer("200 OK", ETAG, "");
	char dir[] = "/tmp/qo-test.XXXXXX", path[64];
	struct scripted *server;
	struct qo_s3_conf conf;
	struct qo_s3_req r;
	struct loop *l = loop_new();
	struct qo_s3 *s3;
	struct qo_err err;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s3", dir);
	server = scripted_start(&step, 1, path);
	memset(&conf, 0, sizeof(conf));
	conf.endpoint = "http://localhost";
	conf.region = "us-east-1";
	conf.path_style = true;
	conf.access_key = conf.secret_key = "k";
	conf.unix_socket = path;
	conf.max_connections = 4;
	conf.request_timeout_ms = 120000;
	s3 = qo_s3_new(l, &conf, &err);
	ck_assert_ptr_nonnull(s3);
	qo_s3_req_init(&r, QO_S3_PUT, "qo", "k");
	ck_assert_int_eq(qo_s3_wait(s3, &r), QO_S3_OK);
	qo_s3_req_fini(&r);
	qo_s3_free(s3);
	scripted_stop(server);
	loop_free(l);
	unlink(path);
	rmdir(dir);
}
END_TEST

START_TEST(test_names)
{
	int i;

	for (i = 0; i < QO_S3_OPS; i++)
		ck_assert_ptr_nonnull(qo_s3_op_name((enum qo_s3_op)i));
	for (i = 0; i < QO_S3_OUTCOMES; i++)
		ck_assert_ptr_nonnull(qo_s3_outcome_name((enum qo_s3_outcome)
			i));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("s3_where");
	TCase *tc = tcase_create("s3_where");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_virtual_host);
	tcase_add_test(tc, test_presign_limits);
	tcase_add_loop_test(tc, test_endpoints, 0, (int)nitems(endpoints));
	tcase_add_test(tc, test_loopback_is_not_a_prefix);
	tcase_add_test(tc, test_unix_socket);
	tcase_add_test(tc, test_names);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
