#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "io.h"
#include "log.h"
#include "proc.h"
#include "role.h"
#include "run_suite.h"

/*
 * The child: this program again, with a role.  It writes a line on stdout for
 * all that reaches it and ends at "now".
 */

static void
child_drain(struct role *r, int64_t limit_ms)
{
	(void)r;
	printf("drain %lld\n", (long long)limit_ms);
}

static void
child_now(struct role *r)
{
	puts("now");
	loop_stop(r->loop);
}

static void
child_quiet(struct role *r, bool on)
{
	(void)r;
	puts(on ? "quiet" : "resume");
}

static void
child_hup(struct role *r)
{
	(void)r;
	puts("hup");
}

static bool
child_message(struct role *r, const char *verb, char *rest)
{
	int i;

	if (strcmp(verb, "flood") == 0) {
		for (i = 0; i < 5000; i++)
			role_tell(r, "settled %d", i);
		puts("flooded");
		return true;
	}
	if (strcmp(verb, "more") == 0) {
		role_tell(r, "settled 5000");
		puts("told");
		return true;
	}
	if (strcmp(verb, "slot") == 0) {
		struct board_task t = { .task_id = "t", .lease_id = "l" };
		board_slot_set(r->area, 1, &t);
		return true;
	}
	if (strcmp(verb, "lost") != 0)
		return false;
	printf("lost %s\n", rest);
	role_tell(r, "settled %s\nx", rest);
	return true;
}

static int
child_main(int argc, char **argv)
{
	static struct role r;
	const char *path;

	setvbuf(stdout, NULL, _IOLBF, 0);
	role_init(&r, argc, argv);
	path = argv[1];
	r.kind = BOARD_WORKER;
	r.name = "worker";
	r.loop = loop_new();
	r.drain = child_drain;
	r.now = child_now;
	r.quiet = child_quiet;
	r.hup = strcmp(argv[2], "hup") == 0 ? child_hup : NULL;
	r.message = child_message;
	if (role_conf(&r, *path == '/' ? path : NULL, 0, NULL, 0) != 0)
		return 78;
	role_start(&r, 4, 1);
	printf("start %d %d %d %d %s %s %s\n", r.supervised, r.index, r.of,
	    r.generation, r.conf->s3.bucket,
	    getenv("QO_ROLE") == NULL ? "-" : "QO_ROLE",
	    getenv("WHO") == NULL ? "-" : getenv("WHO"));
	role_title(&r, "%d running", 3);
	role_ready(&r);
	role_ready(&r);
	loop_run(r.loop);
	role_fini(&r);
	loop_free(r.loop);
	return 0;
}

/* The parent: what qod does. */

struct pair {
	struct board *board;
	int64_t offset;
	int conf, ctl, out, err;
	pid_t pid;
	char *env[8];
};

static int
conf_fd(const char *text)
{
	int fd;

	fd = memfd_create("conf", MFD_CLOEXEC);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
	return fd;
}

static void
spawn(struct pair *p, const char *path, const char *how, int ctl, int conf,
    int board)
{
	/* Longer than the title. */
	const char *argv[] = { "/usr/local/libexec/qo/somewhere/qo-worker",
		path, how, NULL };
	int out[2], errs[2];
	struct proc_spec s;
	struct qo_err err;

	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(errs, O_CLOEXEC), 0);
	proc_spec_init(&s);
	s.path = "/proc/self/exe";
	s.argv = (char **)argv;
	s.envp = p->env;
	s.fds[1] = out[1];
	s.fds[2] = errs[1];
	s.fds[3] = ctl;
	s.fds[4] = conf;
	s.fds[5] = board;
	s.nfds = 6;
	p->pid = proc_spawn(&s, &err);
	ck_assert_msg(p->pid > 0, "%s", err.msg);
	close(out[1]);
	close(errs[1]);
	p->out = out[0];
	p->err = errs[0];
}

/* A line of the child's, without its newline. */
static const char *
line(int fd)
{
	static char text[4][1024];
	static unsigned turn;
	char *p = text[turn++ % 4];
	struct pollfd pfd = { fd, POLLIN, 0 };
	size_t n = 0;

	while (n < sizeof(text[0]) - 1) {
		ck_assert_int_eq(poll(&pfd, 1, 60000), 1);
		if (read(fd, p + n, 1) != 1 || p[n] == '\n')
			break;
		n++;
	}
	p[n] = '\0';
	return p;
}

static void
start(struct pair *p, const char *how)
{
	static char who[] = "WHO=child", bucket[] = "QO_S3_BUCKET=wrong";
	char role[64];
	struct qo_err err;
	int pair[2];

	memset(p, 0, sizeof(*p));
	p->board = board_create(&err);
	ck_assert_ptr_nonnull(p->board);
	p->offset = board_alloc(p->board, BOARD_WORKER, 2, 5, 4, 1, &err);
	(void)snprintf(role, sizeof(role), "QO_ROLE=%lld 2 3 5",
	    (long long)p->offset);
	p->env[0] = role;
	p->env[1] = who;
	p->env[2] = bucket; /* qod has settled that */
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			     pair),
	    0);
	p->ctl = pair[0];
	p->conf = conf_fd("[s3]\nbucket = right\naccess_key = a\n"
			  "secret_key = b\n[qod]\ndrain_timeout = 7s\n"
			  "log_level = debug\n");
	spawn(p, "-", how, pair[1], p->conf, board_fd(p->board));
	close(pair[1]);
	ck_assert_str_eq(line(p->out), "start 1 2 3 5 right - child");
}

static void
tell(struct pair *p, const char *text)
{
	ck_assert_int_eq(send(p->ctl, text, strlen(text), 0),
	    (ssize_t)strlen(text));
}

static const char *
hear(struct pair *p)
{
	static char text[2048];
	struct pollfd pfd = { p->ctl, POLLIN, 0 };
	ssize_t n;

	ck_assert_int_eq(poll(&pfd, 1, 60000), 1);
	n = recv(p->ctl, text, sizeof(text) - 1, 0);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	return text;
}

static int
ended(struct pair *p)
{
	int status;

	ck_assert_int_eq(waitpid(p->pid, &status, 0), p->pid);
	board_free(p->board);
	return status;
}

/* The next line of the log that holds this. */
static void
logged(struct pair *p, const char *what)
{
	const char *l;

	do
		l = line(p->err);
	while (strstr(l, what) == NULL && *l != '\0');
	ck_assert_msg(*l != '\0', "no log line with %s", what);
}

static void
read_board(struct pair *p, struct board_info *info)
{
	board_read(board_at(p->board, p->offset), info);
}

START_TEST(test_messages)
{
	struct board_info info;
	struct board_task t;
	struct pair p;

	start(&p, "-");
	ck_assert_str_eq(hear(&p), "ready");
	read_board(&p, &info);
	ck_assert_int_eq(info.state, BOARD_READY);
	ck_assert_int_eq(info.pid, p.pid);
	ck_assert_int_gt(info.gauges[BOARD_HEARTBEAT_MS], 0);
	tell(&p, "quiet");
	ck_assert_str_eq(line(p.out), "quiet");
	tell(&p, "resume");
	ck_assert_str_eq(line(p.out), "resume");
	tell(&p, "lost T 3 L");
	ck_assert_str_eq(line(p.out), "lost T 3 L");
	/* Ready was said once; a message is one line. */
	ck_assert_str_eq(hear(&p), "settled T 3 L x");
	tell(&p, "slot");
	tell(&p, "drain 500");
	ck_assert_str_eq(line(p.out), "drain 500");
	read_board(&p, &info);
	ck_assert_int_eq(info.state, BOARD_DRAINING);
	ck_assert_int_eq(info.gauges[BOARD_RUNNING], 1);
	ck_assert(board_slot_read(board_at(p.board, p.offset), 1, &t));
	ck_assert_str_eq(t.lease_id, "l");
	tell(&p, "drain -1");
	ck_assert_str_eq(line(p.out), "drain -1");
	tell(&p, "drain"); /* its own idea then */
	ck_assert_str_eq(line(p.out), "drain 7000");
	tell(&p, "reopen");
	tell(&p, "now");
	ck_assert_str_eq(line(p.out), "now");
	ck_assert_int_eq(ended(&p), 0);
}
END_TEST

START_TEST(test_unknown)
{
	char text[3000];
	struct pair p;

	start(&p, "-");
	tell(&p, "dance now");
	logged(&p, "unknown message of qod: dance");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	tell(&p, text);
	logged(&p, "2999 bytes is too long");
	tell(&p, "quiet");
	ck_assert_str_eq(line(p.out), "quiet");
	close(p.ctl);
	ck_assert_str_eq(line(p.out), "drain 7000");
	proc_signal(p.pid, SIGKILL);
	ended(&p);
}
END_TEST

/* The master is gone: its children drain by themselves. */
START_TEST(test_eof)
{
	struct board_info info;
	struct pair p;

	start(&p, "-");
	ck_assert_str_eq(hear(&p), "ready");
	close(p.ctl);
	ck_assert_str_eq(line(p.out), "drain 7000");
	logged(&p, "qod is gone");
	read_board(&p, &info);
	ck_assert_int_eq(info.state, BOARD_DRAINING);
	proc_signal(p.pid, SIGKILL);
	ended(&p);
}
END_TEST

/* Ctrl-C and systemd reach all of the group; qod decides. */
START_TEST(test_signals_supervised)
{
	struct pair p;

	start(&p, "hup");
	ck_assert_str_eq(hear(&p), "ready");
	proc_signal(p.pid, SIGTERM);
	proc_signal(p.pid, SIGINT);
	proc_signal(p.pid, SIGTERM);
	proc_signal(p.pid, SIGQUIT);
	proc_signal(p.pid, SIGUSR2);
	proc_signal(p.pid, SIGUSR1);
	proc_signal(p.pid, SIGHUP);
	ck_assert_str_eq(line(p.out), "hup");
	tell(&p, "now");
	ck_assert_str_eq(line(p.out), "now");
	ck_assert_int_eq(ended(&p), 0);
}
END_TEST

static void
start_alone(struct pair *p, const char *conf, const char *how)
{
	static char bucket[] = "QO_S3_BUCKET=mine";

	memset(p, 0, sizeof(*p));
	p->env[0] = bucket;
	spawn(p, conf, how, -1, -1, -1);
}

START_TEST(test_signals_alone)
{
	struct pair p;

	start_alone(&p, "-", "-");
	ck_assert_str_eq(line(p.out), "start 0 0 1 0 mine - -");
	logged(&p, "ready");
	proc_signal(p.pid, SIGHUP); /* ignored */
	if (_i == 0) {
		proc_signal(p.pid, SIGTERM);
		ck_assert_str_eq(line(p.out), "drain 30000");
		proc_signal(p.pid, SIGINT);
	} else {
		proc_signal(p.pid, SIGQUIT);
	}
	ck_assert_str_eq(line(p.out), "now");
	ck_assert_int_eq(ended(&p), 0);
}
END_TEST

START_TEST(test_bad_conf)
{
	struct pair p;

	start_alone(&p, "/nonexistent/qod.conf", "-");
	logged(&p, "/nonexistent/qod.conf: No such file or directory");
	ck_assert_int_eq(ended(&p), 78 << 8);
}
END_TEST

/* QO_ROLE without what belongs to it. */
START_TEST(test_not_from_qod)
{
	static const struct {
		const char *role, *msg;
		bool ctl, conf, board;
	} table[] = {
		{ "QO_ROLE=4096 0 1 1",
		    "descriptor 3 (control socket) is not open: start qod "
		    "instead, or unset QO_ROLE",
		    false, false, false },
		{ "QO_ROLE=4096 0 1 1",
		    "descriptor 4 (configuration) is not open", true, false,
		    true },
		{ "QO_ROLE=4096 0 1 1", "descriptor 5 (scoreboard) is not open",
		    true, true, false },
		{ "QO_ROLE=1 0 1 1", "no area at 1 of the scoreboard", true,
		    true, true },
		{ "QO_ROLE=4096 0 1",
		    "QO_ROLE=4096 0 1 is not what qod sets: unset it", true,
		    true, true },
		{ "QO_ROLE=4096 0 1 1 1", "is not what qod sets", true, true,
		    true },
		{ "QO_ROLE=4096 0 1 x", "is not what qod sets", true, true,
		    true },
		{ "QO_ROLE=", "is not what qod sets", true, true, true },
	};
	struct qo_err err;
	char role[64];
	struct pair p;
	int pair[2];

	memset(&p, 0, sizeof(p));
	strlcpy(role, table[_i].role, sizeof(role));
	p.env[0] = role;
	p.board = board_create(&err);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			     pair),
	    0);
	spawn(&p, "-", "-", table[_i].ctl ? pair[1] : -1,
	    table[_i].conf ? conf_fd("") : -1,
	    table[_i].board ? board_fd(p.board) : -1);
	if (strstr(table[_i].msg, "no area") != NULL)
		logged(&p, table[_i].msg);
	else
		ck_assert_ptr_nonnull(strstr(line(p.err), table[_i].msg));
	ck_assert_int_eq(ended(&p), 78 << 8);
}
END_TEST

START_TEST(test_wrong_socket)
{
	static char role[] = "QO_ROLE=4096 0 1 1";
	struct pair p;
	int fds[2];

	memset(&p, 0, sizeof(p));
	p.env[0] = role;
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	spawn(&p, "-", "-", fds[0], fds[0], fds[0]);
	ck_assert_ptr_nonnull(strstr(line(p.err), "not the control socket"));
	ck_assert_int_eq(ended(&p), 78 << 8);
}
END_TEST

START_TEST(test_wrong_kind)
{
	struct qo_err err;
	char role[64];
	struct pair p;
	int pair[2];

	memset(&p, 0, sizeof(p));
	p.board = board_create(&err);
	(void)snprintf(role, sizeof(role), "QO_ROLE=%lld 0 1 1",
	    (long long)board_alloc(p.board, BOARD_STORE, 0, 1, 0, 0, &err));
	p.env[0] = role;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			     pair),
	    0);
	spawn(&p, "-", "-", pair[1], conf_fd(""), board_fd(p.board));
	logged(&p, "qod has an area for a store, this is a worker");
	ck_assert_int_eq(ended(&p), 78 << 8);
}
END_TEST

/* More than the socket holds, while qod is busy: nothing is lost, nothing
 * changes its order, the child goes on. */
START_TEST(test_flood)
{
	char want[32];
	struct pair p;
	int i;

	start(&p, "-");
	ck_assert_str_eq(hear(&p), "ready");
	tell(&p, "flood");
	ck_assert_str_eq(line(p.out), "flooded");
	for (i = 0; i <= 5000; i++) {
		if (i == 10) { /* now there is some room */
			tell(&p, "more");
			ck_assert_str_eq(line(p.out), "told");
		}
		(void)snprintf(want, sizeof(want), "settled %d", i);
		ck_assert_str_eq(hear(&p), want);
	}
	tell(&p, "now");
	ck_assert_int_eq(ended(&p), 0);
}
END_TEST

START_TEST(test_title)
{
	char path[64], text[4096];
	const char *title;
	struct pair p;
	ssize_t n;
	int fd;

	start(&p, "-");
	ck_assert_str_eq(hear(&p), "ready");
	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)p.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = io_read_full(fd, text, sizeof(text) - 1);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	title = strstr(text, ": 3 running");
	ck_assert_ptr_nonnull(title);
	/* Nothing shows behind it: no arguments, no environment, no blanks. */
	ck_assert_str_eq(title, ": 3 running");
	ck_assert_int_eq(text + n - title, (int)strlen(title) + 1);
	tell(&p, "now");
	ck_assert_int_eq(ended(&p), 0);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *s;
	TCase *tc;

	if (argc > 1)
		return child_main(argc, argv);
	s = suite_create("role");
	tc = tcase_create("role");
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, test_messages);
	tcase_add_test(tc, test_unknown);
	tcase_add_test(tc, test_eof);
	tcase_add_test(tc, test_signals_supervised);
	tcase_add_loop_test(tc, test_signals_alone, 0, 2);
	tcase_add_test(tc, test_bad_conf);
	tcase_add_loop_test(tc, test_not_from_qod, 0, 8);
	tcase_add_test(tc, test_wrong_socket);
	tcase_add_test(tc, test_wrong_kind);
	tcase_add_test(tc, test_flood);
	tcase_add_test(tc, test_title);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
