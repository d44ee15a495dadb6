/*
 * kill -9 at every crash point of every operation (lib/fault.h): n = 1, 2, 3
 * and so on until the operation ends unharmed, so that a request that is new
 * is covered without a change here.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"
#include "live_store.h"
#include "rules.h"
#include "run_suite.h"
#include "scenario.h"

#define SHARED     (MAP_SHARED | MAP_ANONYMOUS)
#define POINTS_MAX 100 /* of one operation */
#define RUNS_MAX   5000

static struct live_store st;

/* What was played, to be looked at again in the end. */
static struct {
	char id[QO_UUID_SIZE];
	const struct scenario *scenario;
	unsigned point;
	bool acked;
} runs[RUNS_MAX];
static size_t nruns;

static void
setup(void)
{
	live_store_start(&st);
}

static void
teardown(void)
{
	live_store_stop(&st);
}

/* In a process of its own, with its own client. */
static void
play(const struct scenario *s, struct scene *sc, unsigned n)
{
	struct loop *l = loop_new();

	sc->q = live_store_queue(&st, l, live_store_client(&st, l, NULL));
	if (s->prepare != NULL)
		s->prepare(sc);
	fault_arm(n);
	scenario_run(s, sc);
	_exit(0);
}

/* True when the process was killed before it had ended. */
static bool
play_to_point(const struct scenario *s, struct scene *sc, unsigned n)
{
	pid_t pid;
	int status;

	memset(sc, 0, sizeof(*sc));
	sc->rc = QO_AGAIN;
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0)
		play(s, sc, n);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	ck_assert_msg(status == 0, "%s, point %u: status %d", s->name, n,
	    status);
	ck_assert_msg(sc->rc == QO_OK, "%s: %d", s->name, (int)sc->rc);
	return false;
}

static void
look_after(const struct scenario *s, const struct scene *sc, unsigned n)
{
	char what[128];

	snprintf(what, sizeof(what), "%s, killed at point %u", s->name, n);
	/* Before the operation knew its id there is nothing to look at. */
	if (sc->id[0] == '\0')
		return;
	rules_check(&st, sc->id, what);
	ck_assert_uint_lt(nruns, RUNS_MAX);
	memcpy(runs[nruns].id, sc->id, sizeof(sc->id));
	runs[nruns].scenario = s;
	runs[nruns].point = n;
	runs[nruns].acked = sc->rc == QO_OK;
	nruns++;
}

static void
check_ended(size_t i)
{
	char what[128];
	struct rules_view v;

	snprintf(what, sizeof(what), "%s, killed at point %u, recovered",
	    runs[i].scenario->name, runs[i].point);
	rules_look(&st, runs[i].id, &v);
	ck_assert_msg(v.exists || runs[i].scenario->creates, "%s: lost", what);
	if (v.exists)
		ck_assert_msg(qo_status_terminal(v.task.status), "%s: %s", what,
		    qo_status_name(v.task.status));
	ck_assert_msg(v.n == rules_count(&v, QO_INDEX_FAILED),
	    "%s: entries are left", what);
	rules_view_fini(&v);
	rules_check(&st, runs[i].id, what);
}

START_TEST(test_every_point)
{
	struct scene *sc;
	unsigned n, points = 0;
	size_t i;

	/* cppcheck-suppress invalidFunctionArg */
	sc = mmap(NULL, sizeof(*sc), PROT_READ | PROT_WRITE, SHARED, -1, 0);
	ck_assert_ptr_ne(sc, MAP_FAILED);
	for (i = 0; i < nscenarios; i++) {
		for (n = 1; play_to_point(&scenarios[i], sc, n); n++) {
			ck_assert_uint_lt(n, POINTS_MAX);
			look_after(&scenarios[i], sc, n);
		}
		look_after(&scenarios[i], sc, n);
		/* Two requests at least, or nothing was armed. */
		ck_assert_msg(n > 6 || scenarios[i].creates, "%s: %u points",
		    scenarios[i].name, n - 1);
		points += n - 1;
	}
	rules_recover(&st);
	for (i = 0; i < nruns; i++)
		check_ended(i);
	printf("crash points: %zu operations, %u points\n", nscenarios, points);
	fflush(stdout);
	munmap(sc, sizeof(*sc));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("crashpoints");
	TCase *tc = tcase_create("crashpoints");

	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_every_point);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
