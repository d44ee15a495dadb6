#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "monitor_fixture.h"
#include "scenario.h"

static const struct conf all; /* no handlers */

void
monitor_make(struct monitor *m, const struct conf_monitor *conf,
    struct health *health, struct loop *l, struct qo_queue *q)
{
	memset(m, 0, sizeof(*m));
	m->loop = l;
	m->conf = conf;
	m->all = &all;
	m->q = q;
	m->area = board_private(BOARD_MONITOR, 0, 0);
	m->health = health;
}

uint64_t
monitor_counted(const struct monitor *m, unsigned counter)
{
	struct board_info info;

	board_read(m->area, &info);
	return info.counters[counter];
}

int64_t
monitor_gauged(const struct monitor *m, enum board_gauge g)
{
	struct board_info info;

	board_read(m->area, &info);
	return info.gauges[g];
}

void
monitor_done(void *arg)
{
	(*(int *)arg)--;
}

/* Has a client of its own, as every process. */
static void
hold(const struct live_store *s, struct slot *slots, size_t n, int out)
{
	struct live_store own = *s;
	struct scene sc;
	size_t i;

	memset(&sc, 0, sizeof(sc));
	own.loop = loop_new();
	own.s3 = live_store_client(&own, own.loop, NULL);
	sc.q = live_store_queue(&own, own.loop, own.s3);
	for (i = 0; i < n; i++) {
		scene_held(&sc);
		memcpy(slots[i].id, sc.id, QO_UUID_SIZE);
		memcpy(slots[i].lease, sc.claim.lease_id, QO_UUID_SIZE);
	}
	io_write_all(out, slots, n * sizeof(*slots));
	for (;;)
		pause();
}

pid_t
holder_start(const struct live_store *s, struct slot *slots, size_t n)
{
	int fds[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0)
		hold(s, slots, n, fds[1]);
	close(fds[1]);
	ck_assert_int_eq(io_read_full(fds[0], slots, n * sizeof(*slots)),
	    (int)(n * sizeof(*slots)));
	close(fds[0]);
	return pid;
}
