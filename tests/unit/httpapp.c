#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "httpapp.h"
#include "io.h"
#include "sig.h"
#include "xalloc.h"

struct httpapp httpapp;

static bool
begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static void
answer_echo(struct httpd_req *r)
{
	struct buf *b = r->user;
	const char *id = httpd_header_get(r, "x-id");

	if (id != NULL)
		httpd_header_addf(r, "X-Id", "%s", id);
	httpd_header_add(r, "X-Method", r->method);
	r->user = NULL;
	httpd_send_buf(r, 200, b);
	free(b);
}

static void
app_file(struct httpd_req *r, int64_t len)
{
	char name[160];
	int fd;

	snprintf(name, sizeof(name), "%s/file", httpapp.dir);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ne(fd, -1);
	httpd_send_file(r, 200, fd, 1000, len);
}

static void
app_head(struct httpd_req *r, void *arg)
{
	static char big[BIG];
	const char *id = httpd_header_get(r, "x-id");

	(void)arg;
	httpapp.heads++;
	if (begins(r->path, "/early")) {
		if (id != NULL)
			httpd_header_add(r, "X-Id", id);
		httpd_send(r, 403, "early\n", 6);
	} else if (begins(r->path, "/missing")) {
		if (id != NULL)
			httpd_header_add(r, "X-Id", id);
		httpd_send(r, 404, "missing\n", 8);
	} else if (begins(r->path, "/big"))
		httpd_send(r, 200, big, sizeof(big));
	else if (begins(r->path, "/file"))
		app_file(r, BIG - 1000);
	else if (begins(r->path, "/short"))
		app_file(r, BIG);
	else if (begins(r->path, "/length"))
		httpd_send_head(r, 200, 12345);
	else if (begins(r->path, "/nothing"))
		httpd_send(r, 204, NULL, 0);
	else if (begins(r->path, "/same"))
		httpd_send(r, 304, "x", 1);
	else if (begins(r->path, "/later"))
		httpapp.waiting = r;
	else if (begins(r->path, "/hold")) {
		httpapp.waiting = r;
		httpd_hold(r);
	} else {
		r->user = xmalloc(sizeof(struct buf));
		buf_init(r->user, TAKE_MAX);
		httpd_body_take(r, begins(r->path, "/limited") ? 10 : TAKE_MAX);
	}
}

static void
app_body(struct httpd_req *r, const char *p, size_t len, void *arg)
{
	struct buf *b = r->user;

	(void)arg;
	ck_assert_uint_gt(len, 0);
	ck_assert_int_eq(buf_add(b, p, len), 0);
	if (!begins(r->path, "/stop"))
		return;
	buf_fini(b);
	free(b);
	httpd_send(r, 409, "stop\n", 5);
}

static void
app_end(struct httpd_req *r, void *arg)
{
	(void)arg;
	httpapp.ends++;
	if (begins(r->path, "/wait"))
		httpapp.waiting = r;
	else
		answer_echo(r);
}

static void
app_gone(struct httpd_req *r, void *arg)
{
	struct buf *b = r->user;

	(void)arg;
	/* All of it is still there. */
	ck_assert_ptr_nonnull(httpd_header_get(r, "host"));
	ck_assert(r->path[0] == '/');
	httpapp.gone++;
	if (httpapp.waiting == r)
		httpapp.waiting = NULL;
	if (b != NULL)
		buf_fini(b);
	free(b);
}

static void
app_error(int status, const char *reason, struct buf *body, const char **type,
    struct buf *headers, void *arg)
{
	(void)arg;
	httpapp.errors++;
	*type = "application/xml";
	buf_addf(body, "<Error>%d %s</Error>", status, reason);
	buf_adds(headers, "x-amz-request-id: 1\r\n");
}

void
httpapp_drained(void *arg)
{
	(void)arg;
	httpapp.drained++;
}

const struct httpd_ops httpapp_ops = { app_head, app_body, app_end, app_gone,
	app_error };

void
httpapp_serve(void)
{
	struct qo_err err;

	httpapp.httpd = httpd_new(httpapp.loop, &httpapp.conf, &httpapp_ops,
	    NULL);
	ck_assert_msg(httpd_listen_tcp(httpapp.httpd, "127.0.0.1:0",
			  &httpapp.port, &err) == 0,
	    "%s", err.msg);
	ck_assert_msg(httpd_listen_unix(httpapp.httpd, httpapp.path, &err) == 0,
	    "%s", err.msg);
}

void
httpapp_setup(void)
{
	struct buf b;
	char name[160];
	size_t i;

	sig_init();
	memset(&httpapp, 0, sizeof(httpapp));
	strlcpy(httpapp.dir, "/tmp/qo-httpd.XXXXXX", sizeof(httpapp.dir));
	ck_assert_ptr_nonnull(mkdtemp(httpapp.dir));
	snprintf(httpapp.path, sizeof(httpapp.path), "%s/sock", httpapp.dir);
	buf_init(&b, BIG);
	for (i = 0; i < BIG; i++)
		buf_addc(&b, (char)('a' + i % 26));
	snprintf(name, sizeof(name), "%s/file", httpapp.dir);
	ck_assert_int_eq(io_write_file(name, b.data, b.len, 0600, NULL), 0);
	buf_fini(&b);
	httpapp.loop = loop_new();
	httpd_conf_defaults(&httpapp.conf);
}

void
httpapp_teardown(void)
{
	char name[160];

	httpd_free(httpapp.httpd);
	httpapp.httpd = NULL;
	loop_free(httpapp.loop);
	snprintf(name, sizeof(name), "%s/file", httpapp.dir);
	unlink(name);
	unlink(httpapp.path);
	ck_assert_int_eq(rmdir(httpapp.dir), 0);
}

void
httpapp_tcp(struct client *k)
{
	client_open(k, httpapp.loop, NULL, httpapp.port);
}

void
httpapp_unix(struct client *k)
{
	client_open(k, httpapp.loop, httpapp.path, 0);
}
