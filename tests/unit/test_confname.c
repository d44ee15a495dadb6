#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "confname.h"
#include "run_suite.h"

#define NITEMS(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define X64       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

struct addr_case {
	const char *text;
	const char *host; /* NULL: refused */
	int port;
	bool tls;
	bool loopback;
};

static const struct addr_case endpoints[] = {
	{ "https://s3.example.org", "s3.example.org", 443, true, false },
	{ "http://127.0.0.1:9000", "127.0.0.1", 9000, false, true },
	{ "http://127.255.0.9", "127.255.0.9", 80, false, true },
	{ "http://localhost:1", "localhost", 1, false, true },
	{ "http://[::1]:9710", "::1", 9710, false, true },
	{ "https://[2001:db8::1]", "2001:db8::1", 443, true, false },
	{ "http://128.0.0.1", "128.0.0.1", 80, false, false },
	{ "http://127.0.0.1.evil.org", "127.0.0.1.evil.org", 80, false, false },
	{ "http://localhost.evil.org", "localhost.evil.org", 80, false, false },
	{ "http://[::ffff:127.0.0.1]", "::ffff:127.0.0.1", 80, false, false },
	{ "file:///etc/passwd", NULL, 0, false, false },
	{ "HTTP://x", NULL, 0, false, false },
	{ "s3.example.org", NULL, 0, false, false },
	{ "https://", NULL, 0, false, false },
	{ "https://user:pw@host", NULL, 0, false, false },
	{ "https://host/", NULL, 0, false, false },
	{ "https://host/path", NULL, 0, false, false },
	{ "https://host?x", NULL, 0, false, false },
	{ "https://host#x", NULL, 0, false, false },
	{ "https://host:", NULL, 0, false, false },
	{ "https://host:0", NULL, 0, false, false },
	{ "https://host:65536", NULL, 0, false, false },
	{ "https://host:8x", NULL, 0, false, false },
	{ "https://host:1:2", NULL, 0, false, false },
	{ "https://ho st", NULL, 0, false, false },
	{ "https://[::1", NULL, 0, false, false },
	{ "https://[::1]x", NULL, 0, false, false },
	{ "https://[host]", NULL, 0, false, false },
	{ "https://:80", NULL, 0, false, false },
	{ "https://" X64 X64 X64 X64, NULL, 0, false, false },
	{ "", NULL, 0, false, false },
};

static void
check_addr(int rc, const struct confname_addr *a, const struct addr_case *c,
    const struct qo_err *err)
{
	if (c->host == NULL) {
		ck_assert_msg(rc == -1, "%s", c->text);
		ck_assert_ptr_null(strstr(err->msg, "pw"));
		ck_assert_str_ne(err->msg, "");
		return;
	}
	ck_assert_msg(rc == 0, "%s: %s", c->text, err->msg);
	ck_assert_str_eq(a->host, c->host);
	ck_assert_int_eq(a->port, c->port);
	ck_assert_int_eq(a->tls, c->tls);
	ck_assert_int_eq(a->loopback, c->loopback);
}

START_TEST(endpoint)
{
	struct confname_addr a;
	struct qo_err err = { 0 };
	int rc;

	rc = confname_endpoint(endpoints[_i].text, &a, &err);
	check_addr(rc, &a, &endpoints[_i], &err);
}
END_TEST

static const struct addr_case listens[] = {
	{ "127.0.0.1:9710", "127.0.0.1", 9710, false, true },
	{ "0.0.0.0:80", "0.0.0.0", 80, false, false },
	{ "[::]:0", "::", 0, false, false },
	{ "[::1]:65535", "::1", 65535, false, true },
	{ "localhost:1", "localhost", 1, false, true },
	{ "127.0.0.1", NULL, 0, false, false },
	{ ":9710", NULL, 0, false, false },
	{ "*:9710", NULL, 0, false, false },
	{ "host.example:9710", NULL, 0, false, false },
	{ "::1:9710", NULL, 0, false, false },
	{ "127.0.0.1:65536", NULL, 0, false, false },
	{ "127.0.0.1:x", NULL, 0, false, false },
	{ "127.1:80", NULL, 0, false, false },
	{ "", NULL, 0, false, false },
};

START_TEST(listen_address)
{
	struct confname_addr a;
	struct qo_err err = { 0 };
	int rc;

	rc = confname_listen(listens[_i].text, &a, &err);
	check_addr(rc, &a, &listens[_i], &err);
}
END_TEST

typedef int check_fn(const char *, struct qo_err *);

struct name_case {
	check_fn *fn;
	const char *text;
	int want;
};

static const struct name_case names[] = {
	{ confname_bucket, "q", -1 },
	{ confname_bucket, "qo", 0 },
	{ confname_bucket, "qoo", 0 },
	{ confname_bucket, "my.bucket-1", 0 },
	{ confname_bucket, "My-bucket", -1 },
	{ confname_bucket, "my_bucket", -1 },
	{ confname_bucket, "-ab", -1 },
	{ confname_bucket, "ab.", -1 },
	{ confname_bucket, "a..b", -1 },
	{ confname_bucket, "192.168.5.4", -1 },
	{ confname_bucket, "xn--abc", -1 },
	{ confname_bucket, "abc-s3alias", -1 },
	{ confname_bucket, X64, -1 },
	{ confname_bucket, &X64[1], 0 },
	{ confname_prefix, "", 0 },
	{ confname_prefix, "team/a/", 0 },
	{ confname_prefix, "team", -1 },
	{ confname_prefix, "/", -1 },
	{ confname_prefix, "/a/", -1 },
	{ confname_prefix, "a//b/", -1 },
	{ confname_prefix, "a/../b/", -1 },
	{ confname_prefix, "./", -1 },
	{ confname_prefix, "a b/", -1 },
	{ confname_prefix, "tasks/", -1 },
	{ confname_prefix, "ui/x/", -1 },
	{ confname_prefix, "tasks2/", 0 },
	{ confname_prefix, X64 X64 X64 X64 "/", -1 },
	{ confname_name, "resize-image_2.x", 0 },
	{ confname_name, "", -1 },
	{ confname_name, ".", -1 },
	{ confname_name, "..", -1 },
	{ confname_name, "a/b", -1 },
	{ confname_name, "a b", -1 },
	{ confname_name, X64 X64, 0 },
	{ confname_name, X64 X64 "x", -1 },
	{ confname_type, "image/resize:v2", 0 },
	{ confname_type, "image*", 0 },
	{ confname_type, "*", 0 },
	{ confname_type, "a*b", -1 },
	{ confname_type, "a**", -1 },
	{ confname_type, "", -1 },
	{ confname_type, "workflow.step", -1 },
	{ confname_type, "workflows.x", 0 },
	{ confname_type, X64 X64, 0 },
	{ confname_type, X64 X64 "x", -1 },
	{ confname_user, "qo", 0 },
	{ confname_user, "www-data", 0 },
	{ confname_user, "-qo", -1 },
	{ confname_user, "qo # the user", -1 },
	{ confname_user, "", -1 },
	{ confname_region, "us-east-1", 0 },
	{ confname_region, "auto", 0 },
	{ confname_region, "us east", -1 },
	{ confname_region, "us/east", -1 },
};

START_TEST(name)
{
	const struct name_case *c = &names[_i];
	struct qo_err err = { 0 };

	ck_assert_msg(c->fn(c->text, &err) == c->want, "%s: %s", c->text,
	    err.msg);
	ck_assert_int_eq(err.msg[0] != '\0', c->want == -1);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("confname");
	TCase *tc = tcase_create("confname");

	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, endpoint, 0, NITEMS(endpoints));
	tcase_add_loop_test(tc, listen_address, 0, NITEMS(listens));
	tcase_add_loop_test(tc, name, 0, NITEMS(names));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
