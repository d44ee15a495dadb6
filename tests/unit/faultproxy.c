#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "faultproxy.h"
#include "xalloc.h"

#define RULES_MAX   16
#define CONNS_MAX   1024
#define MESSAGE_MAX ((size_t)80 << 20)
#define STACK       ((size_t)512 << 10)

enum action {
	REFUSE = 0,
	AFTER,
	DROP,
	TWICE,
	PASS,
	ACTIONS
};

static const char *const action_names[ACTIONS] = { "refuse", "after", "drop",
	"twice", "pass" };

struct rule {
	enum action action;
	char method[8]; /* "": any */
	regex_t key;
	bool has_key, cond, hook;
	long nth, count, status, delay_ms;
	double p;
	long matched, applied;
};

struct conn {
	struct faultproxy *proxy;
	int client, store; /* -1: not open */
	struct buf in, back;
	pthread_t thread;
	bool used, ended;
};

struct faultproxy {
	struct sockaddr_in upstream;
	int listen_fd;
	char url[64];
	FILE *history;
	struct qo_mono start;
	pthread_t thread;
	pthread_mutex_t lock; /* of all that follows */
	struct rule rules[RULES_MAX];
	size_t nrules;
	unsigned hits;
	unsigned long requests;
	void (*hook)(void *arg);
	void *hook_arg;
	bool stopping;
	struct conn conns[CONNS_MAX];
};

/* What is to be done with one request. */
struct verdict {
	enum action action;
	long status, delay_ms;
	bool hook;
};

/* Rules */

static long
number(const char *s)
{
	return strtol(s, NULL, 10);
}

static int
rule_word(struct rule *r, const char *w)
{
	if (strncmp(w, "key=", 4) == 0) {
		if (r->has_key ||
		    regcomp(&r->key, w + 4, REG_EXTENDED | REG_NOSUB) != 0)
			return -1;
		r->has_key = true;
	} else if (strcmp(w, "cond") == 0)
		r->cond = true;
	else if (strcmp(w, "hook") == 0)
		r->hook = true;
	else if (strncmp(w, "nth=", 4) == 0)
		r->nth = number(w + 4);
	else if (strncmp(w, "count=", 6) == 0)
		r->count = number(w + 6);
	else if (strncmp(w, "p=", 2) == 0)
		r->p = strtod(w + 2, NULL);
	else if (strncmp(w, "status=", 7) == 0)
		r->status = number(w + 7);
	else if (strncmp(w, "delay=", 6) == 0)
		r->delay_ms = number(w + 6);
	else if (strlen(w) < sizeof(r->method) && w[0] >= 'A' && w[0] <= 'Z')
		snprintf(r->method, sizeof(r->method), "%s", w);
	else
		return -1;
	return 0;
}

static int
rule_parse(struct rule *r, const char *text)
{
	char *copy, *rest, *w;
	int a, rv = 0;

	memset(r, 0, sizeof(*r));
	r->nth = 1;
	r->p = 1;
	r->status = -1;
	rest = copy = xstrdup(text);
	w = strsep(&rest, " ");
	for (a = 0; a < ACTIONS && strcmp(w, action_names[a]) != 0; a++)
		continue;
	if (a == ACTIONS)
		rv = -1;
	r->action = (enum action)a;
	while (rv == 0 && (w = strsep(&rest, " ")) != NULL)
		if (w[0] != '\0')
			rv = rule_word(r, w);
	if (r->status == -1)
		r->status = r->action == AFTER ? 500 : 503;
	if (rv == -1 && r->has_key)
		regfree(&r->key);
	free(copy);
	return rv;
}

int
faultproxy_rule(struct faultproxy *p, const char *text)
{
	struct rule r;

	if (rule_parse(&r, text) == -1)
		return -1;
	pthread_mutex_lock(&p->lock);
	if (p->nrules == RULES_MAX)
		abort();
	p->rules[p->nrules++] = r;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

void
faultproxy_clear(struct faultproxy *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->nrules > 0)
		if (p->rules[--p->nrules].has_key)
			regfree(&p->rules[p->nrules].key);
	p->hits = 0;
	pthread_mutex_unlock(&p->lock);
}

unsigned
faultproxy_hits(struct faultproxy *p)
{
	unsigned n;

	pthread_mutex_lock(&p->lock);
	n = p->hits;
	pthread_mutex_unlock(&p->lock);
	return n;
}

void
faultproxy_hook(struct faultproxy *p, void (*hook)(void *arg), void *arg)
{
	pthread_mutex_lock(&p->lock);
	p->hook = hook;
	p->hook_arg = arg;
	pthread_mutex_unlock(&p->lock);
}

/* HTTP, as much of it as is needed */

/* A header's value in a head, or NULL; name with its colon. */
static const char *
header(const struct buf *b, size_t head, const char *name)
{
	const char *p, *end = b->data + head;
	size_t len = strlen(name);

	for (p = b->data; (p = memchr(p, '\n', (size_t)(end - p))) != NULL;) {
		p++;
		if ((size_t)(end - p) > len && strncasecmp(p, name, len) == 0)
			return p + len + strspn(p + len, " ");
	}
	return NULL;
}

/* More bytes; false at the end. */
static bool
more(int fd, struct buf *b)
{
	ssize_t n;
	char *p;

	p = buf_reserve(b, 65536);
	if (p == NULL)
		return false;
	do
		n = recv(fd, p, 65536, 0);
	while (n == -1 && errno == EINTR);
	if (n <= 0)
		return false;
	buf_advance(b, (size_t)n);
	return true;
}

/* The head's length with its empty line; 0 when the peer is gone. */
static size_t
read_head(int fd, struct buf *b)
{
	const char *end;

	while ((end = strstr(b->data, "\r\n\r\n")) == NULL)
		if (!more(fd, b))
			return 0;
	return (size_t)(end + 4 - b->data);
}

static bool
read_upto(int fd, struct buf *b, size_t len)
{
	while (b->len < len)
		if (!more(fd, b))
			return false;
	return true;
}

/* Where a chunked body that begins at `at' ends; 0 when it does not. */
static size_t
read_chunks(int fd, struct buf *b, size_t at)
{
	const char *eol;
	size_t len;

	do {
		while ((eol = strstr(b->data + at, "\r\n")) == NULL)
			if (!more(fd, b))
				return 0;
		len = strtoul(b->data + at, NULL, 16);
		at = (size_t)(eol + 2 - b->data) + len + 2;
		if (!read_upto(fd, b, at))
			return 0;
	} while (len > 0);
	return at;
}

/* A whole request; its length, or 0. */
static size_t
read_request(struct conn *c, size_t *head)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const char *v;
	size_t len;

	if ((*head = read_head(c->client, &c->in)) == 0)
		return 0;
	v = header(&c->in, *head, "content-length:");
	len = *head + (v != NULL ? strtoul(v, NULL, 10) : 0);
	if (header(&c->in, *head, "expect:") != NULL)
		send(c->client, go_on, sizeof(go_on) - 1, MSG_NOSIGNAL);
	return read_upto(c->client, &c->in, len) ? len : 0;
}

static int
status_of(const struct buf *b)
{
	return b->len > 12 ? (int)number(b->data + 9) : 0;
}

/* A whole answer into c->back; its length, or 0. */
static size_t
read_answer(struct conn *c, bool bodyless)
{
	const char *v;
	size_t head, len;
	int status;

	for (;;) {
		if ((head = read_head(c->store, &c->back)) == 0)
			return 0;
		status = status_of(&c->back);
		if (status >= 200)
			break;
		buf_consume(&c->back, head);
	}
	if (bodyless || status == 204 || status == 304)
		return head;
	if (header(&c->back, head, "transfer-encoding:") != NULL)
		return read_chunks(c->store, &c->back, head);
	v = header(&c->back, head, "content-length:");
	if (v == NULL) {
		while (more(c->store, &c->back))
			continue;
		return c->back.len;
	}
	len = head + strtoul(v, NULL, 10);
	return read_upto(c->store, &c->back, len) ? len : 0;
}

static bool
send_all(int fd, const char *p, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = send(fd, p, len, MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

/* One request */

static bool
reach_store(struct conn *c)
{
	int fd, one = 1;
	bool stopping;

	if (c->store != -1)
		return true;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return false;
	if (connect(fd, (struct sockaddr *)&c->proxy->upstream,
		sizeof(c->proxy->upstream)) == -1) {
		close(fd);
		return false;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	/* Who stops the proxy has to see it, or it is not waited for. */
	pthread_mutex_lock(&c->proxy->lock);
	c->store = fd;
	stopping = c->proxy->stopping;
	pthread_mutex_unlock(&c->proxy->lock);
	return !stopping;
}

/* Has the store do it; the length of its answer, or 0. */
static size_t
perform(struct conn *c, size_t len)
{
	buf_reset(&c->back);
	if (!reach_store(c) || !send_all(c->store, c->in.data, len))
		return 0;
	return read_answer(c, strncmp(c->in.data, "HEAD ", 5) == 0);
}

static bool
applies(struct rule *r, const char *method, const char *path, bool cond)
{
	if (r->method[0] != '\0' && strcmp(r->method, method) != 0)
		return false;
	if (r->cond && !cond)
		return false;
	if (r->has_key && regexec(&r->key, path, 0, NULL, 0) != 0)
		return false;
	if (++r->matched < r->nth || (r->count > 0 && r->applied >= r->count))
		return false;
	if (r->p < 1 && arc4random() >= r->p * 4294967296.0)
		return false;
	r->applied++;
	return true;
}

static struct verdict
judge(struct faultproxy *p, const char *method, const char *path, bool cond)
{
	struct verdict v = { PASS, 0, 0, false };
	struct rule *r;
	size_t i;

	pthread_mutex_lock(&p->lock);
	for (i = 0; i < p->nrules; i++) {
		r = &p->rules[i];
		if (!applies(r, method, path, cond))
			continue;
		p->hits++;
		v = (struct verdict){ r->action, r->status, r->delay_ms,
			r->hook };
		break;
	}
	pthread_mutex_unlock(&p->lock);
	return v;
}

static void
call_hook(struct faultproxy *p)
{
	void (*hook)(void *arg);
	void *arg;

	pthread_mutex_lock(&p->lock);
	hook = p->hook;
	arg = p->hook_arg;
	pthread_mutex_unlock(&p->lock);
	if (hook != NULL)
		hook(arg);
}

static void
note(struct faultproxy *p, const char *method, const char *path, bool cond,
    const struct verdict *v, int store, long told)
{
	int64_t us = qo_mono_diff_us(p->start, qo_mono_now());

	pthread_mutex_lock(&p->lock);
	p->requests++;
	if (p->history != NULL) {
		fprintf(p->history, "%lu %lld %s %s %s %s %d %ld\n",
		    p->requests, (long long)us, method, path,
		    cond ? "cond" : "-", action_names[v->action], store, told);
		fflush(p->history);
	}
	pthread_mutex_unlock(&p->lock);
}

static void
reset(struct conn *c)
{
	struct linger hard = { 1, 0 };

	setsockopt(c->client, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
}

static bool
tell(struct conn *c, long status)
{
	char text[128];

	if (status == 0)
		return false;
	snprintf(text, sizeof(text),
	    "HTTP/1.1 %ld Injected\r\nContent-Length: 0\r\n\r\n", status);
	return send_all(c->client, text, strlen(text));
}

/* The first word of a request, and its path without the query. */
static void
split(const struct buf *in, char method[8], char *path, size_t size)
{
	const char *p = in->data;
	size_t n;

	n = strcspn(p, " ");
	snprintf(method, 8, "%.*s", (int)n, p);
	p += n + (p[n] == ' ');
	n = strcspn(p, " ?");
	snprintf(path, size, "%.*s", (int)n, p);
}

/* Deals with one request; false: the connection is to be closed. */
static bool
serve_one(struct conn *c)
{
	char method[8], path[2048];
	struct verdict v;
	size_t len, head, back = 0;
	bool cond, ok = false;
	long told = 0;

	if ((len = read_request(c, &head)) == 0)
		return false;
	split(&c->in, method, path, sizeof(path));
	cond = header(&c->in, head, "if-match:") != NULL ||
	    header(&c->in, head, "if-none-match:") != NULL;
	v = judge(c->proxy, method, path, cond);
	if (v.delay_ms > 0)
		usleep((useconds_t)v.delay_ms * 1000);
	if (v.hook && (v.action == REFUSE || v.action == PASS))
		call_hook(c->proxy);
	if (v.action != REFUSE)
		back = perform(c, len);
	if (v.action == TWICE && back > 0)
		back = perform(c, len);
	if (v.hook && v.action != REFUSE && v.action != PASS)
		call_hook(c->proxy);
	if (v.action == REFUSE || v.action == AFTER)
		told = v.status;
	else if (v.action != DROP)
		told = status_of(&c->back);
	/* Before the client is told: it may look then. */
	note(c->proxy, method, path, cond, &v,
	    back > 0 ? status_of(&c->back) : 0, told);
	switch (v.action) {
	case REFUSE:
	case AFTER:
		ok = tell(c, v.status);
		break;
	case DROP:
		reset(c);
		break;
	case TWICE:
	case PASS:
	case ACTIONS:
		ok = back > 0 && send_all(c->client, c->back.data, back);
		break;
	}
	buf_consume(&c->in, len);
	return ok;
}

/* Threads */

static void *
conn_run(void *arg)
{
	struct conn *c = arg;

	buf_init(&c->in, MESSAGE_MAX);
	buf_init(&c->back, MESSAGE_MAX);
	while (serve_one(c))
		continue;
	buf_fini(&c->in);
	buf_fini(&c->back);
	pthread_mutex_lock(&c->proxy->lock);
	close(c->client);
	if (c->store != -1)
		close(c->store);
	c->client = c->store = -1;
	c->ended = true;
	pthread_mutex_unlock(&c->proxy->lock);
	return NULL;
}

static struct conn *
free_conn(struct faultproxy *p)
{
	size_t i;

	for (i = 0; i < CONNS_MAX; i++) {
		if (p->conns[i].used && p->conns[i].ended) {
			pthread_join(p->conns[i].thread, NULL);
			p->conns[i].used = false;
		}
		if (!p->conns[i].used)
			return &p->conns[i];
	}
	return NULL;
}

static void
conn_start(struct faultproxy *p, int fd)
{
	pthread_attr_t attr;
	struct conn *c;
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_mutex_lock(&p->lock);
	c = p->stopping ? NULL : free_conn(p);
	if (c != NULL) {
		memset(c, 0, sizeof(*c));
		c->proxy = p;
		c->client = fd;
		c->store = -1;
		c->used = pthread_create(&c->thread, &attr, conn_run, c) == 0;
	}
	if (c == NULL || !c->used)
		close(fd);
	pthread_mutex_unlock(&p->lock);
	pthread_attr_destroy(&attr);
}

static void *
accept_run(void *arg)
{
	struct faultproxy *p = arg;
	int fd;

	while ((fd = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC)) != -1)
		conn_start(p, fd);
	return NULL;
}

static int
listen_on(struct faultproxy *p, int port)
{
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	int one = 1;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sin.sin_port = htons((uint16_t)port);
	p->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (p->listen_fd == -1)
		return -1;
	setsockopt(p->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(p->listen_fd, (struct sockaddr *)&sin, len) == -1 ||
	    listen(p->listen_fd, 512) == -1 ||
	    getsockname(p->listen_fd, (struct sockaddr *)&sin, &len) == -1) {
		close(p->listen_fd);
		return -1;
	}
	snprintf(p->url, sizeof(p->url), "http://127.0.0.1:%d",
	    ntohs(sin.sin_port));
	return 0;
}

static int
parse_upstream(struct faultproxy *p, const char *url)
{
	char host[64];
	unsigned port;

	if (sscanf(url, "http://%63[0-9.]:%u", host, &port) != 2 ||
	    port > 65535) {
		errno = EINVAL;
		return -1;
	}
	p->upstream.sin_family = AF_INET;
	p->upstream.sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, host, &p->upstream.sin_addr) == 1 ? 0 : -1;
}

struct faultproxy *
faultproxy_start(const char *upstream, int port, FILE *history)
{
	struct faultproxy *p;

	p = xcalloc(1, sizeof(*p));
	p->history = history;
	p->start = qo_mono_now();
	pthread_mutex_init(&p->lock, NULL);
	if (parse_upstream(p, upstream) == -1 || listen_on(p, port) == -1) {
		free(p);
		return NULL;
	}
	if (pthread_create(&p->thread, NULL, accept_run, p) != 0) {
		close(p->listen_fd);
		free(p);
		return NULL;
	}
	return p;
}

const char *
faultproxy_url(const struct faultproxy *p)
{
	return p->url;
}

void
faultproxy_stop(struct faultproxy *p)
{
	size_t i;

	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	for (i = 0; i < CONNS_MAX; i++) {
		if (!p->conns[i].used || p->conns[i].ended)
			continue;
		shutdown(p->conns[i].client, SHUT_RDWR);
		if (p->conns[i].store != -1)
			shutdown(p->conns[i].store, SHUT_RDWR);
	}
	pthread_mutex_unlock(&p->lock);
	shutdown(p->listen_fd, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->listen_fd);
	for (i = 0; i < CONNS_MAX; i++)
		if (p->conns[i].used)
			pthread_join(p->conns[i].thread, NULL);
	faultproxy_clear(p);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
