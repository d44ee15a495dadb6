/*
 * qo-monitor as a child of qod: the program itself, the real store, and this
 * test in the place of qod.
 */
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board.h"
#include "io.h"
#include "monitor_fixture.h"
#include "proc.h"
#include "role.h"
#include "run_suite.h"
#include "scenario.h"
#include "sig.h"

#define TASKS 16
#define LONG  100000 /* ms that nothing here takes */

static struct live_store st;
static struct board *board;
static int port;

struct child {
	pid_t pid;
	int ctl;
	int64_t area;
};

static int
free_port(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof(in);
	int fd;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	close(fd);
	return ntohs(in.sin_port);
}

static void
setup(void)
{
	struct qo_err err;

	sig_init();
	live_store_start(&st);
	board = board_create(&err);
	ck_assert_msg(board != NULL, "%s", err.msg);
	port = free_port();
}

static void
teardown(void)
{
	board_free(board);
	live_store_stop(&st);
}

static int
conf_fd(void)
{
	char text[512];
	int fd;

	snprintf(text, sizeof(text),
	    "[store]\nlisten = %s\ndata = %s/data\n"
	    "[monitor]\nlisten = 127.0.0.1:%d\ncheck_interval = 200ms\n"
	    "[qod]\nlog_level = error\n",
	    st.url + strlen("http://"), st.dir, port);
	fd = memfd_create("conf", MFD_CLOEXEC);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
	return fd;
}

static void
start(struct child *c, int generation)
{
	char path[PATH_MAX], role[64];
	char name[] = "qo-monitor";
	char *argv[] = { name, NULL }, *env[] = { role, NULL };
	struct proc_spec s;
	struct qo_err err = { 0 };
	int ctl[2];

	live_program("qo-monitor", path, sizeof(path));
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			     ctl),
	    0);
	c->area = board_alloc(board, BOARD_MONITOR, 0, generation, 0, 0, &err);
	ck_assert_int_ne(c->area, -1);
	snprintf(role, sizeof(role), "QO_ROLE=%lld 0 1 %d", (long long)c->area,
	    generation);
	proc_spec_init(&s);
	s.path = path;
	s.argv = argv;
	s.envp = env;
	s.die_with_parent = true;
	s.fds[1] = s.fds[2] = STDERR_FILENO;
	s.fds[ROLE_FD_CTL] = ctl[1];
	s.fds[ROLE_FD_CONF] = conf_fd();
	s.fds[ROLE_FD_BOARD] = board_fd(board);
	s.nfds = ROLE_FD_BOARD + 1;
	c->pid = proc_spawn(&s, &err);
	ck_assert_msg(c->pid > 0, "%s", err.msg);
	close(ctl[1]);
	close(s.fds[ROLE_FD_CONF]);
	c->ctl = ctl[0];
}

static void
hear(struct child *c, char *out, size_t size)
{
	struct pollfd p = { c->ctl, POLLIN, 0 };
	ssize_t n;

	ck_assert_int_eq(poll(&p, 1, LONG), 1);
	n = recv(c->ctl, out, size - 1, 0);
	ck_assert_int_ge(n, 0);
	out[n] = '\0';
}

static void
tell(struct child *c, const char *text)
{
	ck_assert_int_eq(send(c->ctl, text, strlen(text), 0),
	    (int)strlen(text));
}

static void
wait_ready(struct child *c)
{
	char text[ROLE_MSG_MAX];

	hear(c, text, sizeof(text));
	ck_assert_str_eq(text, "ready");
}

static void
check_ended(struct child *c)
{
	int status;

	ck_assert_int_eq(waitpid(c->pid, &status, 0), c->pid);
	ck_assert_int_eq(status, 0);
	close(c->ctl);
	board_release(board, c->area);
}

/* A worker dies: what qod does, and what the monitor does at its word. */
START_TEST(test_lost)
{
	static struct slot slots[TASKS];
	char text[ROLE_MSG_MAX];
	struct child c;
	struct qo_mono from;
	pid_t pid;
	int i, k, status, settled = 0;

	start(&c, 1);
	wait_ready(&c);
	pid = holder_start(&st, slots, TASKS);
	kill(pid, SIGKILL);
	from = qo_mono_now();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	for (i = 0; i < TASKS; i++) {
		snprintf(text, sizeof(text), "lost %.36s 1 %.36s", slots[i].id,
		    slots[i].lease);
		tell(&c, text);
	}
	while (settled < TASKS) {
		hear(&c, text, sizeof(text));
		ck_assert_int_eq(strncmp(text, "settled ", 8), 0);
		for (k = 0; k < TASKS; k++)
			if (strcmp(text + 8, slots[k].lease) == 0)
				break;
		ck_assert_int_lt(k, TASKS);
		settled++;
	}
	fprintf(stderr, "%d tasks given back %lld ms after the death\n", TASKS,
	    (long long)(qo_mono_diff_us(from, qo_mono_now()) / QO_US_PER_MS));
	for (i = 0; i < TASKS; i++)
		ck_assert_int_eq(live_store_status(&st, slots[i].id),
		    QO_STATUS_PENDING);
	tell(&c, "lost nonsense");
	tell(&c, "drain 5000");
	check_ended(&c);
}
END_TEST

/* Told to drain with leases to settle: those first. */
START_TEST(test_lost_then_drain)
{
	struct scene sc;
	struct child c;
	char text[ROLE_MSG_MAX];

	memset(&sc, 0, sizeof(sc));
	sc.q = st.q;
	scene_held(&sc);
	start(&c, 1);
	wait_ready(&c);
	snprintf(text, sizeof(text), "lost %.36s 1 %.36s", sc.id,
	    sc.claim.lease_id);
	tell(&c, text);
	tell(&c, "drain 100000");
	hear(&c, text, sizeof(text));
	ck_assert_int_eq(strncmp(text, "settled ", 8), 0);
	check_ended(&c);
	ck_assert_int_eq(live_store_status(&st, sc.id), QO_STATUS_PENDING);
	scene_fini(&sc);
}
END_TEST

/* qod is gone: nobody is told of that but by the end of the socket. */
START_TEST(test_orphan)
{
	struct child c;

	start(&c, 1);
	wait_ready(&c);
	kill(c.pid, SIGTERM); /* not for it */
	shutdown(c.ctl, SHUT_RDWR);
	check_ended(&c);
}
END_TEST

/* The endpoint's answer; false: nobody is there. */
static bool
ask(const char *path, char *out, size_t size)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	char line[128];
	size_t len = 0;
	ssize_t n;
	int fd;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in.sin_port = htons((uint16_t)port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) == -1) {
		close(fd);
		return false;
	}
	snprintf(line, sizeof(line),
	    "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
	(void)io_write_all(fd, line, strlen(line));
	while (len < size - 1 && (n = read(fd, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(fd);
	return len > 0;
}

/* The process that answers has this generation's port. */
static bool
has_port(const char *want)
{
	static char text[1 << 20];

	return ask("/metrics", text, sizeof(text)) &&
	    strstr(text, want) != NULL;
}

/* A reload: the new one is ready while the old one has the port, and has it
 * when that is gone.  No counter falls. */
START_TEST(test_replaced)
{
	struct child old, new;
	int tries;

	start(&old, 1);
	wait_ready(&old);
	ck_assert(has_port("state=\"ready\"} 1\n"));
	board_add(board_at(board, old.area), BOARD_RECLAIMED, 7);
	start(&new, 2);
	wait_ready(&new);
	ck_assert(has_port("qo_leases_reclaimed_total 7\n"));
	tell(&old, "drain 5000");
	check_ended(&old);
	for (tries = 0; !has_port("qo_leases_reclaimed_total 7\n"); tries++) {
		ck_assert_int_lt(tries, LONG / 20);
		usleep(20000);
	}
	tell(&new, "now");
	check_ended(&new);
}
END_TEST

/* Somebody else has the port at the first start: nothing to wait for. */
START_TEST(test_port_taken)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct child c;
	int fd, status;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in.sin_port = htons((uint16_t)port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	start(&c, 1);
	ck_assert_int_eq(waitpid(c.pid, &status, 0), c.pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 78);
	close(c.ctl);
	close(fd);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("monitor_supervised");
	TCase *tc = tcase_create("supervised");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_lost);
	tcase_add_test(tc, test_lost_then_drain);
	tcase_add_test(tc, test_orphan);
	tcase_add_test(tc, test_replaced);
	tcase_add_test(tc, test_port_taken);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
