/*
 * The real qo-store as a child of qod, which is this test.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>

#include "board.h"
#include "clock.h"
#include "io.h"
#include "live_store.h"
#include "proc.h"
#include "role.h"
#include "run_suite.h"
#include "xalloc.h"

struct store {
	char dir[64];
	struct board *board;
	int64_t area;
	int listener;
	struct sockaddr_in addr;
	int ctl;
	pid_t pid;
	int status;       /* when it has ended */
	int64_t ended_ms; /* on the test's own clock; 0: it has not */
};

static int64_t
now_ms(void)
{
	return qo_mono_now().us / QO_US_PER_MS;
}

static void
make_listener(struct store *s)
{
	socklen_t len = sizeof(s->addr);

	s->addr.sin_family = AF_INET;
	s->addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(s->listener, (struct sockaddr *)&s->addr, len),
	    0);
	ck_assert_int_eq(listen(s->listener, 64), 0);
	ck_assert_int_eq(getsockname(s->listener, (struct sockaddr *)&s->addr,
			     &len),
	    0);
}

static void
store_init(struct store *s)
{
	const char *tmp = getenv("TMPDIR");
	struct qo_err err;

	memset(s, 0, sizeof(*s));
	(void)snprintf(s->dir, sizeof(s->dir), "%s/qo-role-XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(s->dir));
	s->board = board_create(&err);
	ck_assert_ptr_nonnull(s->board);
	s->ctl = -1;
	make_listener(s);
}

static void
remove_dir(const char *dir)
{
	const char *argv[] = { "rm", "-rf", dir, NULL };
	struct proc_spec s;
	pid_t pid;

	proc_spec_init(&s);
	s.path = "/bin/rm";
	s.argv = (char **)argv;
	pid = proc_spawn(&s, NULL);
	ck_assert_int_gt(pid, 0);
	waitpid(pid, NULL, 0);
}

static void
store_fini(struct store *s)
{
	if (s->ctl != -1)
		close(s->ctl);
	close(s->listener);
	board_free(s->board);
	remove_dir(s->dir);
}

static int
conf_fd(const struct store *s, const char *data, const char *more)
{
	char *text;
	int fd;

	text = xasprintf("[store]\nenabled = yes\ndata = %s/%s\n%s", s->dir,
	    data, more);
	fd = memfd_create("conf", MFD_CLOEXEC);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
	free(text);
	return fd;
}

/* more: lines of the configuration. */
static void
launch(struct store *s, const char *data, const char *more, bool pass)
{
	char role[64], six[] = "6", option[] = "--listen-fd", path[PATH_MAX];
	char *argv[] = { path, pass ? option : NULL, six, NULL };
	char *envp[] = { role, NULL };
	struct proc_spec p;
	struct qo_err err;
	int pair[2];

	live_program("qo-store", path, sizeof(path));
	s->area = board_alloc(s->board, BOARD_STORE, 0, 1, 0, 0, &err);
	ck_assert_int_gt(s->area, 0);
	(void)snprintf(role, sizeof(role), "QO_ROLE=%lld 0 1 1",
	    (long long)s->area);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			     pair),
	    0);
	proc_spec_init(&p);
	p.path = path;
	p.argv = argv;
	p.envp = envp;
	p.die_with_parent = true;
	p.fds[2] = 2;
	p.fds[ROLE_FD_CTL] = pair[1];
	p.fds[ROLE_FD_CONF] = conf_fd(s, data, more);
	p.fds[ROLE_FD_BOARD] = board_fd(s->board);
	p.fds[6] = s->listener;
	p.nfds = 7;
	s->pid = proc_spawn(&p, &err);
	ck_assert_msg(s->pid > 0, "%s: run make all first", err.msg);
	close(pair[1]);
	close(p.fds[ROLE_FD_CONF]);
	s->ctl = pair[0];
	s->ended_ms = 0;
}

static void
tell(const struct store *s, const char *text)
{
	ck_assert_int_eq(send(s->ctl, text, strlen(text), 0),
	    (ssize_t)strlen(text));
}

static void
expect_ready(const struct store *s)
{
	struct pollfd p = { s->ctl, POLLIN, 0 };
	char text[64];
	ssize_t n;

	ck_assert_int_eq(poll(&p, 1, 60000), 1);
	n = recv(s->ctl, text, sizeof(text), 0);
	ck_assert_int_eq(n, 5);
	ck_assert_mem_eq(text, "ready", 5);
}

static int
dial(const struct store *s)
{
	static const char ask[] = "GET / HTTP/1.1\r\nHost: x\r\n"
				  "Connection: close\r\n\r\n";
	int fd;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)&s->addr,
			     sizeof(s->addr)),
	    0);
	ck_assert_int_eq(io_write_all(fd, ask, sizeof(ask) - 1), 0);
	return fd;
}

/* Without a signature it is refused, which is an answer. */
static bool
answered(int fd, int timeout_ms)
{
	struct pollfd p = { fd, POLLIN, 0 };
	char text[12];
	bool ok;

	ok = poll(&p, 1, timeout_ms) == 1 && read(fd, text, 12) == 12 &&
	    memcmp(text, "HTTP/1.1 403", 12) == 0;
	close(fd);
	return ok;
}

static bool
has_ended(struct store *s)
{
	if (s->ended_ms == 0 && waitpid(s->pid, &s->status, WNOHANG) == s->pid)
		s->ended_ms = now_ms();
	return s->ended_ms != 0;
}

static void
expect_end(struct store *s, int status)
{
	ck_assert_int_eq(waitpid(s->pid, &s->status, 0), s->pid);
	ck_assert_int_eq(s->status, status);
	board_release(s->board, s->area);
}

START_TEST(test_serve)
{
	struct board_info info;
	struct store s;
	int fd;

	store_init(&s);
	/* Whoever comes before the store is there waits for it. */
	fd = dial(&s);
	launch(&s, "data", "", true);
	expect_ready(&s);
	ck_assert(answered(fd, 60000));
	board_read(board_at(s.board, s.area), &info);
	ck_assert_int_eq(info.state, BOARD_READY);
	ck_assert_int_eq(info.pid, s.pid);
	/* qod decides, not who signals all of the group. */
	proc_signal(s.pid, SIGTERM);
	proc_signal(s.pid, SIGINT);
	proc_signal(s.pid, SIGTERM);
	ck_assert(answered(dial(&s), 60000));
	tell(&s, "drain 30000");
	expect_end(&s, 0);
	/* The next one takes over what came meanwhile. */
	close(s.ctl);
	fd = dial(&s);
	launch(&s, "data", "", true);
	expect_ready(&s);
	ck_assert(answered(fd, 60000));
	tell(&s, "now");
	expect_end(&s, 0);
	store_fini(&s);
}
END_TEST

/* A client that never finishes does not hold up a drain for ever. */
START_TEST(test_drain_limit)
{
	static const char half[] = "GET / HTTP/1.1\r\nHo";
	struct store s;
	int fd;

	store_init(&s);
	launch(&s, "data", "[qod]\ndrain_timeout = 1h\n", true);
	expect_ready(&s);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&s.addr,
			     sizeof(s.addr)),
	    0);
	ck_assert_int_eq(io_write_all(fd, half, sizeof(half) - 1), 0);
	tell(&s, "drain -1");
	tell(&s, "drain 100");
	expect_end(&s, 0);
	close(fd);
	store_fini(&s);
}
END_TEST

START_TEST(test_reopen)
{
	char *more, *log, *old;
	struct store s;
	struct buf b;
	int tries;

	store_init(&s);
	log = xasprintf("%s/log", s.dir);
	old = xasprintf("%s/log.1", s.dir);
	more = xasprintf("[qod]\nlog = %s\n", log);
	launch(&s, "data", more, true);
	expect_ready(&s);
	ck_assert_int_eq(rename(log, old), 0);
	tell(&s, "reopen");
	for (tries = 0; access(log, F_OK) == -1 && tries < 6000; tries++)
		poll(NULL, 0, 10);
	tell(&s, "drain 30000");
	expect_end(&s, 0);
	buf_init(&b, 65536);
	ck_assert_int_eq(io_read_file(log, &b, NULL), 0);
	ck_assert_ptr_nonnull(strstr(b.data, "role=store"));
	ck_assert_ptr_nonnull(strstr(b.data, "draining"));
	buf_fini(&b);
	free(more);
	free(log);
	free(old);
	store_fini(&s);
}
END_TEST

/* A worker that does not miss a beat, also when we stand still. */
static struct board_area *
add_worker(struct store *s)
{
	struct board_area *worker;
	struct qo_err err;

	worker = board_at(s->board,
	    board_alloc(s->board, BOARD_WORKER, 0, 1, 1, 0, &err));
	ck_assert_ptr_nonnull(worker);
	board_gauge(worker, BOARD_HEARTBEAT_MS, now_ms() + 1000000);
	return worker;
}

/* qod is gone: one that nobody asks, one that a worker still needs, one that
 * is needed without end. */
START_TEST(test_orphans)
{
	struct store quiet, needed, busy;
	struct board_area *worker;
	int64_t began, left = 0, first;
	int asked = 0;

	store_init(&quiet);
	store_init(&needed);
	store_init(&busy);
	launch(&quiet, "data", "", true);
	launch(&needed, "data", "", true);
	launch(&busy, "data", "[qod]\ndrain_timeout = 1s\n", true);
	expect_ready(&quiet);
	expect_ready(&needed);
	expect_ready(&busy);
	worker = add_worker(&needed);
	add_worker(&busy);
	began = now_ms();
	close(quiet.ctl);
	close(needed.ctl);
	close(busy.ctl);
	quiet.ctl = needed.ctl = busy.ctl = -1;
	first = now_ms() - began;
	while (!has_ended(&busy) || !has_ended(&needed) || !has_ended(&quiet)) {
		ck_assert_int_lt(now_ms() - began, 100000);
		if (!has_ended(&busy) &&
		    answered(dial(&busy), asked == 0 ? 60000 : 500))
			asked++;
		if (left == 0 && has_ended(&quiet) && now_ms() - began > 6000) {
			ck_assert(!has_ended(&needed));
			left = now_ms();
			board_gauge(worker, BOARD_HEARTBEAT_MS, 0);
		}
		poll(NULL, 0, 100);
	}
	ck_assert_int_eq(quiet.status, 0);
	ck_assert_int_eq(needed.status, 0);
	ck_assert_int_eq(busy.status, 0);
	ck_assert_int_ge(quiet.ended_ms - began, 3000);
	ck_assert_int_ge(needed.ended_ms, left);
	/* Its limit is 16 s, the last of them for what is under way. */
	ck_assert_int_ge(busy.ended_ms - began, 14900);
	ck_assert(asked > 0 || first > 5000);
	store_fini(&quiet);
	store_fini(&needed);
	store_fini(&busy);
}
END_TEST

/* Asks it for 5 s; the longest time in which it was not asked. */
static int64_t
keep_asking(struct store *s)
{
	int64_t began = now_ms(), asked = began, longest = 0;

	while (!has_ended(s) && now_ms() - began < 5000) {
		if (answered(dial(s), 500)) {
			if (now_ms() - asked > longest)
				longest = now_ms() - asked;
			asked = now_ms();
		}
		poll(NULL, 0, 100);
	}
	return now_ms() - asked > longest ? now_ms() - asked : longest;
}

/* One that is asked is needed, whoever it is that asks. */
START_TEST(test_orphan_that_is_asked)
{
	int64_t closed, pause;
	struct store s;

	/* Where a busy machine keeps us from asking in time: again. */
	for (;;) {
		store_init(&s);
		launch(&s, "data", "", true);
		expect_ready(&s);
		closed = now_ms();
		close(s.ctl);
		s.ctl = -1;
		pause = keep_asking(&s);
		if (pause < 1400)
			break;
		if (!has_ended(&s)) {
			proc_signal(s.pid, SIGKILL);
			waitpid(s.pid, NULL, 0);
		}
		store_fini(&s);
	}
	ck_assert_msg(!has_ended(&s), "after %lld ms",
	    (long long)(s.ended_ms - closed));
	while (!has_ended(&s))
		poll(NULL, 0, 20);
	ck_assert_int_eq(s.status, 0);
	store_fini(&s);
}
END_TEST

/* A machine that stands still is no reason to end: those who need it stood
 * still, too. */
START_TEST(test_orphan_that_stood_still)
{
	struct store s;
	int64_t closed, woken;

	/* It learns that qod is gone, then stands still for longer than it
	 * waits for somebody to ask.  Where we are too slow: again. */
	for (;;) {
		store_init(&s);
		launch(&s, "data", "", true);
		expect_ready(&s);
		closed = now_ms();
		close(s.ctl);
		s.ctl = -1;
		poll(NULL, 0, 500);
		proc_signal(s.pid, SIGSTOP);
		if (now_ms() - closed < 2500)
			break;
		proc_signal(s.pid, SIGKILL);
		waitpid(s.pid, NULL, 0);
		store_fini(&s);
	}
	poll(NULL, 0, 3000);
	ck_assert(!has_ended(&s));
	woken = now_ms();
	proc_signal(s.pid, SIGCONT);
	while (!has_ended(&s))
		poll(NULL, 0, 20);
	ck_assert_int_eq(s.status, 0);
	ck_assert_int_ge(s.ended_ms - woken, 2900);
	store_fini(&s);
}
END_TEST

/* What a restart would not mend has status 78. */
START_TEST(test_refused)
{
	struct store s;
	char *file;

	store_init(&s);
	launch(&s, "data", "", false); /* no socket */
	expect_end(&s, 78 << 8);
	close(s.ctl);
	file = xasprintf("%s/file", s.dir);
	ck_assert_int_eq(io_write_file(file, "", 0, 0600, NULL), 0);
	launch(&s, "file/data", "", true);
	expect_end(&s, 78 << 8);
	close(s.ctl);
	launch(&s, "data", "listen = 5\n", true);
	expect_end(&s, 78 << 8);
	free(file);
	store_fini(&s);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("role_store");
	TCase *tc = tcase_create("role_store");

	tcase_set_timeout(tc, 240);
	tcase_add_test(tc, test_serve);
	tcase_add_test(tc, test_drain_limit);
	tcase_add_test(tc, test_reopen);
	tcase_add_test(tc, test_orphans);
	tcase_add_test(tc, test_orphan_that_is_asked);
	tcase_add_test(tc, test_orphan_that_stood_still);
	tcase_add_test(tc, test_refused);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
