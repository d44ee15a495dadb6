/*
 * qo-store - an S3-compatible store in one process, for one machine.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sysexits.h>

#include "io.h"
#include "options.h"
#include "sig.h"

struct app {
	struct options opts;
	struct loop *loop;
	struct server *server;
	struct loop_io signals;
	struct loop_timer deadline;
	bool public; /* reachable from other machines */
	bool draining;
};

static void
on_report(const char *line, void *arg)
{
	(void)arg;
	log_errorx("%s", line);
}

static void
print_line(const char *line, void *arg)
{
	(void)arg;
	puts(line);
}

static int
run_check(const struct options *o)
{
	struct qo_err err;
	int64_t n;

	n = db_check(o->store.data, print_line, NULL, &err);
	if (n == -1) {
		log_errorx("%s", err.msg);
		return 1;
	}
	if (n == 0)
		printf("%s: good\n", o->store.data);
	return n == 0 ? 0 : 1;
}

static int
run_backup(const struct options *o)
{
	struct qo_err err;

	if (db_backup(o->store.data, o->backup, NULL, NULL, &err) == -1) {
		log_errorx("%s", err.msg);
		return 1;
	}
	return 0;
}

/* The keys; made at the first start. */
static struct keys *
get_keys(const struct options *o, bool make)
{
	struct qo_err err;

	if (make && access(o->store.keys_file, F_OK) == -1 && errno == ENOENT) {
		if (keys_generate(o->store.keys_file, &err) == -1) {
			log_errorx("%s", err.msg);
			return NULL;
		}
		log_info("made an access key in %s", o->store.keys_file);
	}
	return keys_load(o->store.keys_file, on_report, NULL);
}

/* "127.0.0.1:9710", "[::1]:9710", "localhost:9710" */
static bool
is_loopback(const char *addr)
{
	return strncmp(addr, "127.", 4) == 0 ||
	    strncmp(addr, "[::1]:", 6) == 0 ||
	    strncmp(addr, "localhost:", 10) == 0;
}

static bool
fd_is_loopback(int fd)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_storage ss;
	} u;
	socklen_t len = sizeof(u);

	if (getsockname(fd, &u.sa, &len) == -1)
		return true; /* no socket: httpd_listen_fd will say so */
	if (u.sa.sa_family == AF_INET)
		return ntohl(u.in.sin_addr.s_addr) >> 24 == 127;
	if (u.sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&u.in6.sin6_addr);
	return true;
}

static bool
is_public(const struct options *o)
{
	size_t i;

	for (i = 0; i < o->nfds; i++)
		if (!fd_is_loopback(o->fds[i]))
			return true;
	return o->listen != NULL && !is_loopback(o->listen);
}

static bool
keys_strong_enough(const struct app *app, const struct keys *keys)
{
	const char *weak;

	if (!app->public || (weak = keys_weak(keys)) == NULL)
		return true;
	log_errorx("%s: the secret of [%s] is weak or well known: not on an "
		   "address that other machines reach",
	    app->opts.store.keys_file, weak);
	return false;
}

static void
say_ready(const struct options *o, int port)
{
	struct qo_err err;
	char text[16];
	int hostlen;

	if (port != 0) {
		hostlen = (int)(strrchr(o->listen, ':') - o->listen);
		printf("qo-store ready http://%.*s:%d\n", hostlen, o->listen,
		    port);
	} else if (o->socket != NULL) {
		printf("qo-store ready unix:%s\n", o->socket);
	} else {
		printf("qo-store ready\n");
	}
	fflush(stdout);
	if (o->portfile == NULL)
		return;
	(void)snprintf(text, sizeof(text), "%d\n", port);
	if (io_write_file(o->portfile, text, strlen(text), 0644, &err) == -1)
		log_warnx("%s", err.msg);
}

static int
listen_all(struct app *app)
{
	const struct options *o = &app->opts;
	struct httpd *h = app->server->httpd;
	struct qo_err err;
	int port = 0;
	size_t i;

	for (i = 0; i < o->nfds; i++)
		if (httpd_listen_fd(h, o->fds[i], &err) == -1)
			goto bad;
	if (o->listen != NULL &&
	    httpd_listen_tcp(h, o->listen, &port, &err) == -1)
		goto bad;
	if (o->socket != NULL && httpd_listen_unix(h, o->socket, &err) == -1)
		goto bad;
	say_ready(o, port);
	return 0;
bad:
	log_errorx("%s", err.msg);
	return -1;
}

static void
on_drained(void *arg)
{
	struct app *app = arg;

	loop_stop(app->loop);
}

static void
on_deadline(struct loop_timer *t)
{
	struct app *app = t->arg;

	log_warnx("not all requests ended in time");
	loop_stop(app->loop);
}

static void
drain(struct app *app)
{
	if (app->draining) { /* asked twice: now */
		loop_stop(app->loop);
		return;
	}
	app->draining = true;
	log_info("draining connections=%zu",
	    httpd_connections(app->server->httpd));
	loop_timer_set_ms(app->loop, &app->deadline, app->opts.drain_ms,
	    on_deadline, app);
	server_drain(app->server, on_drained, app);
}

static void
reload(struct app *app)
{
	struct keys *keys;

	keys = get_keys(&app->opts, false);
	if (keys != NULL && !keys_strong_enough(app, keys)) {
		keys_free(keys);
		keys = NULL;
	}
	if (keys == NULL) {
		log_errorx("the old access keys stay in use");
		return;
	}
	server_set_keys(app->server, keys);
	log_info("read %zu access keys", keys_count(keys));
}

static void
on_signal(struct loop_io *io, uint32_t events)
{
	struct app *app = io->arg;
	int signo;

	(void)events;
	while ((signo = sig_next()) != 0) {
		switch (signo) {
		case SIGTERM:
		case SIGINT:
			drain(app);
			break;
		case SIGQUIT:
			loop_stop(app->loop);
			break;
		case SIGHUP:
			reload(app);
			break;
		case SIGUSR1:
			log_reopen();
			break;
		}
	}
}

static void
raise_files(size_t connections)
{
	struct rlimit rl;
	rlim_t want;

	want = (rlim_t)connections * 2 + 64; /* a body may need a file, too */
	if (getrlimit(RLIMIT_NOFILE, &rl) == -1 || rl.rlim_cur >= want)
		return;
	rl.rlim_cur = want < rl.rlim_max ? want : rl.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		log_warn("can not have %zu files open", (size_t)want);
}

static int
serve(struct app *app)
{
	struct options *o = &app->opts;
	struct keys *keys;
	struct qo_err err;
	struct db *db;
	int rc = 1;

	raise_files(o->store.connections);
	sig_init();
	sig_catch(SIGTERM);
	sig_catch(SIGINT);
	sig_catch(SIGQUIT);
	sig_catch(SIGHUP);
	sig_catch(SIGUSR1);
	app->loop = loop_new();
	app->public = is_public(o);
	if ((db = db_open(app->loop, o->store.data, &err)) == NULL) {
		log_errorx("%s", err.msg);
		loop_free(app->loop);
		return 1;
	}
	keys = get_keys(o, true);
	if (keys == NULL || !keys_strong_enough(app, keys)) {
		keys_free(keys);
		db_close(db);
		loop_free(app->loop);
		return EX_CONFIG;
	}
	app->server = server_new(app->loop, &o->store, db, keys);
	if (loop_io_add(app->loop, &app->signals, sig_fd(), EPOLLIN, on_signal,
		app) == -1)
		fatal("signals");
	if (listen_all(app) == 0) {
		loop_run(app->loop);
		rc = 0;
	}
	loop_timer_del(app->loop, &app->deadline);
	loop_io_del(app->loop, &app->signals);
	server_free(app->server);
	loop_free(app->loop);
	return rc;
}

static int
run_test(const struct app *app)
{
	const struct options *o = &app->opts;
	struct keys *keys;

	if (access(o->store.keys_file, F_OK) == 0) {
		if ((keys = get_keys(o, false)) == NULL)
			return EX_CONFIG;
		if (!keys_strong_enough(app, keys)) {
			keys_free(keys);
			return EX_CONFIG;
		}
		keys_free(keys);
	}
	puts("configuration OK");
	return 0;
}

int
main(int argc, char **argv)
{
	static struct app app;
	struct options *o = &app.opts;
	int rc = 1;

	if (io_sanitize_stdio() == -1)
		return 1;
	umask(077);
	options_parse(o, argc, argv);
	if (log_init("store", o->log, o->log_format, o->log_level) == -1) {
		log_error("log %s", o->log);
		options_fini(o);
		return EX_CONFIG;
	}
	app.public = is_public(o);
	switch (o->mode) {
	case MODE_SERVE:
		rc = serve(&app);
		break;
	case MODE_CHECK:
		rc = run_check(o);
		break;
	case MODE_BACKUP:
		rc = run_backup(o);
		break;
	case MODE_TEST:
		rc = run_test(&app);
		break;
	}
	options_fini(o);
	return rc;
}
