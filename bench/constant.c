#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "constant.h"
#include "httpd.h"
#include "io.h"
#include "log.h"
#include "sig.h"

static const void *get_body;
static size_t get_len;

static void
on_head(struct httpd_req *r, void *arg)
{
	(void)arg;
	httpd_body_take(r, 1 << 20);
}

static void
on_body(struct httpd_req *r, const char *p, size_t len, void *arg)
{
	(void)r;
	(void)p;
	(void)len;
	(void)arg;
}

static void
on_end(struct httpd_req *r, void *arg)
{
	(void)arg;
	httpd_header_add(r, "ETag", "\"9b2cf535f27731c974343645a3985328\"");
	httpd_send(r, 200, get_body, r->method[0] == 'G' ? get_len : 0);
}

static void
on_gone(struct httpd_req *r, void *arg)
{
	(void)r;
	(void)arg;
}

static const struct httpd_ops ops = { on_head, on_body, on_end, on_gone, NULL };

static void
serve(int report)
{
	struct httpd_conf conf;
	struct httpd *h;
	struct loop *l;
	struct qo_err err;
	int port;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sig_init();
	l = loop_new();
	httpd_conf_defaults(&conf);
	h = httpd_new(l, &conf, &ops, NULL);
	if (httpd_listen_tcp(h, "127.0.0.1:0", &port, &err) == -1)
		fatalx("%s", err.msg);
	if (io_write_all(report, &port, sizeof(port)) == -1)
		fatal("pipe");
	loop_run(l);
}

pid_t
constant_start(const void *body, size_t len, int *port)
{
	int fds[2];
	pid_t pid;

	get_body = body;
	get_len = len;
	if (pipe2(fds, O_CLOEXEC) == -1)
		fatal("pipe");
	pid = fork();
	if (pid == -1)
		fatal("fork");
	if (pid == 0)
		serve(fds[1]);
	close(fds[1]);
	if (io_read_full(fds[0], port, sizeof(*port)) != sizeof(*port))
		fatalx("the constant server did not start");
	close(fds[0]);
	return pid;
}
