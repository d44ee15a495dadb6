/*
 * qo-store - an S3-compatible store in one process, for one machine.
 */
#include <sys/resource.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sysexits.h>

#include "io.h"
#include "options.h"
#include "role.h"
#include "stop.h"

struct app {
	struct role role;
	struct options opts;
	struct server *server;
	struct stop stop;
	bool public; /* reachable from other machines */
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

/* Alone, ps shows the command line. */
static void
on_beat(struct role *r)
{
	struct app *app = r->arg;

	if (app->server != NULL)
		role_title(r, "%zu connections, %llu requests",
		    httpd_connections(app->server->httpd),
		    (unsigned long long)app->server->requests);
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
	if (!app->role.supervised) {
		say_ready(o, port);
		return 0;
	}
	on_beat(&app->role);
	role_ready(&app->role);
	return 0;
bad:
	log_errorx("%s", err.msg);
	return -1;
}

static void
on_hup(struct role *r)
{
	struct app *app = r->arg;
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
on_drain(struct role *r, int64_t limit_ms)
{
	struct app *app = r->arg;

	stop_drain(&app->stop, r->supervised ? limit_ms : app->opts.drain_ms);
}

static void
on_now(struct role *r)
{
	loop_stop(r->loop);
}

static void
on_orphaned(struct role *r)
{
	struct app *app = r->arg;

	stop_orphaned(&app->stop);
}

static void
start_role(struct app *app)
{
	struct role *r = &app->role;

	r->kind = BOARD_STORE;
	r->name = "store";
	r->loop = loop_new();
	r->drain = on_drain;
	r->now = on_now;
	r->hup = on_hup;
	r->orphaned = on_orphaned;
	r->beaten = r->supervised ? on_beat : NULL;
	r->arg = app;
	role_start(r, 0, 0);
	stop_init(&app->stop, r, app->opts.drain_ms);
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

/* What only the operator can mend is not tried again by qod. */
static int
start_failed(const struct app *app, int errnum)
{
	switch (errnum) {
	case EACCES:
	case EPERM:
	case EROFS:
	case ENOTDIR:
	case ELOOP:
	case ENAMETOOLONG:
		return app->role.supervised ? EX_CONFIG : 1;
	default:
		return 1;
	}
}

/* The store, without its sockets; 0 or the exit code. */
static int
open_store(struct app *app)
{
	struct options *o = &app->opts;
	struct keys *keys;
	struct qo_err err;
	struct db *db;

	qo_err_reset(&err);
	if ((db = db_open(app->role.loop, o->store.data, &err)) == NULL) {
		log_errorx("%s", err.msg);
		return start_failed(app, err.errnum);
	}
	if (app->role.supervised)
		db_set_child(db);
	keys = get_keys(o, true);
	if (keys == NULL || !keys_strong_enough(app, keys)) {
		keys_free(keys);
		db_close(db);
		return EX_CONFIG;
	}
	app->server = server_new(app->role.loop, &o->store, db, keys);
	app->stop.server = app->server;
	return 0;
}

static int
serve(struct app *app)
{
	int rc;

	raise_files(app->opts.store.connections);
	start_role(app);
	rc = open_store(app);
	if (rc == 0 && (rc = listen_all(app) == 0 ? 0 : 1) == 0)
		loop_run(app->role.loop);
	stop_fini(&app->stop);
	server_free(app->server);
	role_fini(&app->role);
	loop_free(app->role.loop);
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

	role_init(&app.role, argc, argv);
	if (app.role.supervised &&
	    (rc = role_conf(&app.role, NULL, 0, NULL, 0)) != 0)
		return rc;
	options_parse(o, argc, argv, app.role.conf);
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
