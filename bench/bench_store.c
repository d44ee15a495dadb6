/*
 * What qo-store does per second, beside what the machine allows in the same
 * run: fdatasync on the same disk, and the bare HTTP part answering the same
 * requests with a constant.
 *
 *	bench_store [seconds per measurement, 2] [directory for the data]
 *
 * The store runs as a process of its own (bin/qo-store of the same build);
 * this client signs every request, keeps one request in flight on each
 * connection, and shares the machine's cores with it.
 */
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "credfile.h"
#include "err.h"
#include "hash.h"
#include "httpd.h"
#include "loop.h"
#include "rfc3339.h"
#include "sig.h"
#include "sigv4.h"

#define BODY_LEN  1024
#define CONNS_MAX 64
#define KEYS      20000

static char dir[512];
static char body[BODY_LEN];
static char host[64];
static int port;
static double seconds = 2;
static struct credfile cred;
static struct qo_sigv4_signer *signer;
static pid_t server;
static uint64_t rounds; /* makes keys and bodies differ */

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(1);
}

static double
now(void)
{
	return (double)qo_mono_now().us / 1e6;
}

/* The requests. */

enum kind {
	KIND_PUT = 0,
	KIND_GET,
	KIND_LIST,
	KIND_BUCKET
};

static void
build(struct buf *b, enum kind kind, uint64_t n)
{
	char path[64], sha[65], date[QO_AMZDATE_SIZE];
	const char *method = kind == KIND_PUT || kind == KIND_BUCKET ? "PUT"
								     : "GET";
	struct qo_kv headers[3];
	struct qo_sigv4_req req = { .method = method,
		.path = path,
		.query = kind == KIND_LIST ? "list-type=2" : "",
		.headers = headers,
		.nheaders = 3,
		.payload_hash = sha,
		.region = "us-east-1",
		.service = "s3" };
	struct qo_sigv4_cred c = { cred.access_key, cred.secret_key, NULL };
	size_t len = kind == KIND_PUT ? BODY_LEN : 0;

	if (kind == KIND_PUT || kind == KIND_GET)
		(void)snprintf(path, sizeof(path), "/bench/tasks/%llx/%012llx",
		    (unsigned long long)n % 16, (unsigned long long)n);
	else
		(void)snprintf(path, sizeof(path), "/bench");
	memcpy(body, &n, sizeof(n));
	sha256_hex(body, len, sha);
	req.time = qo_wall_local();
	qo_amzdate_print(req.time, date);
	headers[0] = (struct qo_kv){ "host", host };
	headers[1] = (struct qo_kv){ "x-amz-content-sha256", sha };
	headers[2] = (struct qo_kv){ "x-amz-date", date };
	buf_reset(b);
	buf_addf(b,
	    "%s %s%s%s HTTP/1.1\r\nhost: %s\r\nx-amz-content-sha256: %s\r\n"
	    "x-amz-date: %s\r\ncontent-length: %zu\r\nauthorization: ",
	    method, path, *req.query != '\0' ? "?" : "", req.query, host, sha,
	    date, len);
	if (qo_sigv4_authorization(signer, &req, &c, b, NULL) == -1)
		exit(1);
	buf_adds(b, "\r\n\r\n");
	buf_add(b, body, len);
}

/* The connections. */

struct conn {
	int fd;
	struct buf out, in;
	double sent;
};

static void
conn_open(struct conn *c)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd == -1 ||
	    connect(c->fd, (struct sockaddr *)&sin, sizeof(sin)) == -1)
		die("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	buf_init(&c->out, 1 << 16);
	buf_init(&c->in, 4 << 20);
}

static void
conn_send(struct conn *c, enum kind kind, uint64_t n)
{
	build(&c->out, kind, n);
	buf_reset(&c->in);
	c->sent = now();
	if (write(c->fd, c->out.data, c->out.len) != (ssize_t)c->out.len)
		die("write");
}

/* True when a whole answer is there. */
static bool
conn_read(struct conn *c)
{
	const char *end, *len;
	size_t need;
	ssize_t n;
	char *p;

	p = buf_reserve(&c->in, 65536);
	if (p == NULL || (n = read(c->fd, p, 65536)) <= 0)
		die("read");
	buf_advance(&c->in, (size_t)n);
	if ((end = strstr(c->in.data, "\r\n\r\n")) == NULL)
		return false;
	if (strncmp(c->in.data, "HTTP/1.1 200 ", 13) != 0) {
		fprintf(stderr, "%.400s\n", c->in.data);
		exit(1);
	}
	len = strcasestr(c->in.data, "\r\ncontent-length: ");
	need = (size_t)(end + 4 - c->in.data) +
	    (len != NULL ? strtoul(len + 18, NULL, 10) : 0);
	return c->in.len >= need;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct result {
	double rate, p50, p99;
	double count;
};

#define SAMPLES 400000
static double samples[SAMPLES];

static uint64_t
next_key(enum kind kind)
{
	rounds++;
	return kind == KIND_GET ? rounds % KEYS + 1 : rounds;
}

static struct result
measure(enum kind kind, int conns, double how_long)
{
	struct conn c[CONNS_MAX];
	struct epoll_event ev[CONNS_MAX];
	struct result res;
	double start, end;
	size_t n = 0;
	int i, got, ep;

	ep = epoll_create1(EPOLL_CLOEXEC);
	for (i = 0; i < conns; i++) {
		conn_open(&c[i]);
		ev[0] = (struct epoll_event){ EPOLLIN, { .ptr = &c[i] } };
		if (epoll_ctl(ep, EPOLL_CTL_ADD, c[i].fd, &ev[0]) == -1)
			die("epoll");
	}
	start = now();
	for (i = 0; i < conns; i++)
		conn_send(&c[i], kind, next_key(kind));
	do {
		got = epoll_wait(ep, ev, CONNS_MAX, -1);
		end = now();
		for (i = 0; i < got; i++) {
			struct conn *k = ev[i].data.ptr;

			if (!conn_read(k))
				continue;
			samples[n++ % SAMPLES] = now() - k->sent;
			conn_send(k, kind, next_key(kind));
		}
	} while (end - start < how_long);
	for (i = 0; i < conns; i++) {
		close(c[i].fd);
		buf_fini(&c[i].in);
		buf_fini(&c[i].out);
	}
	close(ep);
	res.count = (double)n;
	res.rate = (double)n / (end - start);
	if (n > SAMPLES)
		n = SAMPLES;
	qsort(samples, n, sizeof(samples[0]), compare);
	res.p50 = samples[n / 2] * 1e6;
	res.p99 = samples[n * 99 / 100] * 1e6;
	return res;
}

/* Processor time of the server so far, all its threads. */
static double
server_cpu(void)
{
	struct timespec ts;
	clockid_t id;

	if (clock_getcpuclockid(server, &id) != 0 ||
	    clock_gettime(id, &ts) == -1)
		return 0;
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static struct result
report(const char *name, enum kind kind, int conns)
{
	struct result r;
	double cpu;

	cpu = server_cpu();
	r = measure(kind, conns, seconds);
	cpu = server_cpu() - cpu;
	printf("%-36s %7.0f/s  p50 %6.0f us  p99 %6.0f us  CPU %5.1f us\n",
	    name, r.rate, r.p50, r.p99, cpu * 1e6 / r.count);
	fflush(stdout);
	return r;
}

/* The bare HTTP part. */

static void
bare_head(struct httpd_req *r, void *arg)
{
	(void)arg;
	if (r->content_length == 0)
		httpd_send(r, 200, body, BODY_LEN);
	else
		httpd_body_take(r, 1 << 20);
}

static void
bare_body(struct httpd_req *r, const char *p, size_t len, void *arg)
{
	(void)r;
	(void)p;
	(void)len;
	(void)arg;
}

static void
bare_end(struct httpd_req *r, void *arg)
{
	(void)arg;
	httpd_send(r, 200, "", 0);
}

static void
bare_gone(struct httpd_req *r, void *arg)
{
	(void)r;
	(void)arg;
}

static pid_t
bare_start(void)
{
	static const struct httpd_ops ops = { bare_head, bare_body, bare_end,
		bare_gone, NULL };
	struct httpd_conf conf;
	struct loop *l;
	struct httpd *h;
	pid_t pid;
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) == -1 || (pid = fork()) == -1)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sig_init();
		l = loop_new();
		httpd_conf_defaults(&conf);
		h = httpd_new(l, &conf, &ops, NULL);
		if (httpd_listen_tcp(h, "127.0.0.1:0", &port, NULL) == -1 ||
		    write(fd[1], &port, sizeof(port)) != sizeof(port))
			_exit(1);
		loop_run(l);
		_exit(0);
	}
	if (read(fd[0], &port, sizeof(port)) != sizeof(port))
		die("bare httpd");
	close(fd[0]);
	close(fd[1]);
	return pid;
}

/* The store. */

static pid_t
store_start(const char *self)
{
	char bin[700], data[600], line[256];
	struct qo_err err;
	FILE *f;
	char *p;
	pid_t pid;
	int fd[2];

	(void)snprintf(bin, sizeof(bin), "%s", self);
	if ((p = strrchr(bin, '/')) == NULL)
		p = bin;
	(void)snprintf(p, sizeof(bin) - (size_t)(p - bin), "/../bin/qo-store");
	(void)snprintf(data, sizeof(data), "%s/data", dir);
	if (pipe2(fd, O_CLOEXEC) == -1 || (pid = fork()) == -1)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fd[1], 1);
		execl(bin, bin, "-d", data, "-l", "127.0.0.1:0", (char *)NULL);
		die(bin);
	}
	close(fd[1]);
	f = fdopen(fd[0], "r");
	if (fgets(line, sizeof(line), f) == NULL ||
	    (p = strrchr(line, ':')) == NULL)
		die("qo-store");
	fclose(f);
	port = (int)strtol(p + 1, NULL, 10);
	(void)snprintf(host, sizeof(host), "127.0.0.1:%d", port);
	(void)snprintf(bin, sizeof(bin), "%s/keys", data);
	if (credfile_read(bin, &cred, &err) == -1) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	return pid;
}

static void
end_child(pid_t pid)
{
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

static double
disk_syncs(void)
{
	char path[600], block[4096] = { 0 };
	double start;
	long n = 0;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/sync", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd == -1)
		die(path);
	start = now();
	while (now() - start < seconds) {
		if (write(fd, block, sizeof(block)) != sizeof(block) ||
		    fdatasync(fd) == -1)
			die("fdatasync");
		n++;
	}
	close(fd);
	unlink(path);
	return (double)n / (now() - start);
}

static long
rss_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if ((f = fopen(path, "re")) == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	fclose(f);
	return kib;
}

static void
make_keys(void)
{
	struct conn c;
	uint64_t i;

	conn_open(&c);
	conn_send(&c, KIND_BUCKET, 0);
	while (!conn_read(&c))
		continue;
	close(c.fd);
	buf_fini(&c.in);
	buf_fini(&c.out);
	/* Keys 1 to KEYS and more, for the GETs. */
	for (i = 0; rounds < KEYS + 1; i++)
		(void)measure(KIND_PUT, 16, 0.2);
}

int
main(int argc, char **argv)
{
	const char *base = argc > 2 ? argv[2] : getenv("TMPDIR");
	struct result r1, b1;
	double syncs;
	char cmd[600];
	pid_t pid;

	if (argc > 1)
		seconds = strtod(argv[1], NULL);
	(void)snprintf(dir, sizeof(dir), "%s/qo-bench.XXXXXX",
	    base != NULL ? base : "/tmp");
	if (mkdtemp(dir) == NULL)
		die(dir);
	sig_init();
	signer = qo_sigv4_new();
	syncs = disk_syncs();
	printf("%-36s %7.0f/s\n", "fdatasync of 4 KiB", syncs);
	cred.access_key = strdup("bench");
	cred.secret_key = strdup("bench");
	pid = server = bare_start();
	(void)snprintf(host, sizeof(host), "127.0.0.1:%d", port);
	(void)report("constant answer, PUT, 16 connections", KIND_PUT, 16);
	(void)report("constant answer, GET, 16 connections", KIND_GET, 16);
	b1 = report("constant answer, PUT, 1 connection", KIND_PUT, 1);
	end_child(pid);
	credfile_fini(&cred);
	rounds = 0;
	pid = server = store_start(argv[0]);
	make_keys();
	(void)report("store, PUT 1 KiB, 16 connections", KIND_PUT, 16);
	(void)report("store, GET 1 KiB, 16 connections", KIND_GET, 16);
	r1 = report("store, PUT 1 KiB, 1 connection", KIND_PUT, 1);
	(void)report("store, GET 1 KiB, 1 connection", KIND_GET, 1);
	(void)report("store, LIST of 1000, 1 connection", KIND_LIST, 1);
	printf("a PUT alone costs %.0f us; allowed: one fdatasync (%.0f us) "
	       "and 1.5 round trips (%.0f us)\n",
	    r1.p50, 1e6 / syncs, 1.5 * b1.p50);
	printf("RSS of the store %ld KiB, keys %llu\n", rss_kib(pid),
	    (unsigned long long)rounds);
	end_child(pid);
	credfile_fini(&cred);
	qo_sigv4_free(signer);
	(void)snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd) == 0 ? 0 : 1;
}
