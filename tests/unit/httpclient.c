#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <check.h>

#include "httpclient.h"
#include "rfc3339.h"

#define IN_MAX (64 * 1024 * 1024)

void
client_turn(struct loop *l)
{
	loop_once(l, 2);
}

static int
connect_unix(const char *path)
{
	struct sockaddr_un un;
	int fd;

	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	strlcpy(un.sun_path, path, sizeof(un.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	return fd;
}

static int
connect_tcp(int port)
{
	struct sockaddr_in in;
	int fd;

	memset(&in, 0, sizeof(in));
	in.sin_family = AF_INET;
	in.sin_port = htons((uint16_t)port);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	return fd;
}

void
client_open(struct client *k, struct loop *l, const char *path, int port)
{
	memset(k, 0, sizeof(*k));
	k->loop = l;
	k->fd = path != NULL ? connect_unix(path) : connect_tcp(port);
	buf_init(&k->in, IN_MAX);
	buf_init(&k->head, IN_MAX);
	buf_init(&k->body, IN_MAX);
}

void
client_close(struct client *k)
{
	close(k->fd);
	buf_fini(&k->in);
	buf_fini(&k->head);
	buf_fini(&k->body);
}

void
client_abort(struct client *k)
{
	struct linger hard = { 1, 0 };

	setsockopt(k->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	client_close(k);
}

void
client_send(struct client *k, const void *p, size_t len)
{
	const char *s = p;
	ssize_t n;

	while (len > 0) {
		n = send(k->fd, s, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0) {
			s += n;
			len -= (size_t)n;
		} else if (errno != EAGAIN) {
			k->reset = true;
			return;
		}
		loop_once(k->loop, n > 0 ? 0 : 2);
	}
}

void
client_sends(struct client *k, const char *s)
{
	client_send(k, s, strlen(s));
}

void
client_settle(struct client *k)
{
	int left = 1;

	while (left > 0) {
		client_turn(k->loop);
		ck_assert_int_eq(ioctl(k->fd, SIOCOUTQ, &left), 0);
	}
	client_turn(k->loop);
}

bool
client_silent(struct client *k)
{
	char c;

	client_settle(k);
	return k->in.len == 0 &&
	    recv(k->fd, &c, 1, MSG_DONTWAIT | MSG_PEEK) == -1 &&
	    errno == EAGAIN;
}

/* Reads what there is; turns the loop when there is nothing. */
static void
more(struct client *k)
{
	char piece[65536];
	ssize_t n;

	n = recv(k->fd, piece, sizeof(piece), MSG_DONTWAIT);
	if (n > 0) {
		buf_add(&k->in, piece, (size_t)n);
		return;
	}
	if (n == 0)
		k->eof = true;
	else if (errno != EAGAIN)
		k->eof = k->reset = true;
	client_turn(k->loop);
}

const char *
client_header(struct client *k, const char *name)
{
	static char value[4096];
	const char *p = k->head.data, *end;
	size_t n = strlen(name);

	while ((p = strstr(p, "\r\n")) != NULL) {
		p += 2;
		if (strncasecmp(p, name, n) != 0 || p[n] != ':')
			continue;
		p += n + 1;
		p += strspn(p, " ");
		end = strstr(p, "\r\n");
		ck_assert_uint_lt((size_t)(end - p), sizeof(value));
		memcpy(value, p, (size_t)(end - p));
		value[end - p] = '\0';
		return value;
	}
	return NULL;
}

static size_t
check_head(struct client *k, bool head)
{
	struct qo_wall t;
	const char *v, *wrong = NULL;
	size_t len = 0;

	ck_assert_msg(strncmp(k->head.data, "HTTP/1.1 ", 9) == 0, "%s",
	    k->head.data);
	k->status = (int)strtol(k->head.data + 9, NULL, 10);
	if (k->status == 100)
		return 0;
	v = client_header(k, "Date");
	ck_assert_msg(v != NULL && qo_httpdate_parse(v, strlen(v), &t) == 0,
	    "no Date: %s", k->head.data);
	v = client_header(k, "Content-Length");
	if (v != NULL) {
		len = (size_t)strtonum(v, 0, IN_MAX, &wrong);
		ck_assert_ptr_null(wrong);
	} else
		ck_assert(k->status == 204 || k->status == 304);
	return head || k->status == 204 || k->status == 304 ? 0 : len;
}

int
client_answer(struct client *k, bool head)
{
	const char *end;
	size_t n;

	buf_reset(&k->head);
	buf_reset(&k->body);
	while ((end = strstr(k->in.data, "\r\n\r\n")) == NULL) {
		if (k->eof)
			return k->status = -1;
		more(k);
	}
	n = (size_t)(end - k->in.data) + 4;
	buf_add(&k->head, k->in.data, n);
	buf_consume(&k->in, n);
	n = check_head(k, head);
	while (k->in.len < n) {
		if (k->eof)
			return k->status = -1;
		more(k);
	}
	buf_add(&k->body, k->in.data, n);
	buf_consume(&k->in, n);
	return k->status;
}

int
client_ask(struct client *k, const char *request)
{
	client_sends(k, request);
	return client_answer(k, strncmp(request, "HEAD ", 5) == 0);
}

bool
client_closed(struct client *k)
{
	while (!k->eof && k->in.len == 0)
		more(k);
	return k->eof && !k->reset && k->in.len == 0;
}
