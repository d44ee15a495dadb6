/*
 * monitor_fixture.h - what the modules of qo-monitor are given in tests, and
 * the worker whose death they mend.
 */
#ifndef MONITOR_FIXTURE_H
#define MONITOR_FIXTURE_H

#include "../../qo-monitor/monitor.h"
#include "live_store.h"

/* Fills in *m; its area is to be freed with board_private_free.  conf and
 * health stay the caller's. */
void monitor_make(struct monitor *m, const struct conf_monitor *conf,
    struct health *health, struct loop *l, struct qo_queue *q);

/* What it has counted so far. */
uint64_t monitor_counted(const struct monitor *m, unsigned counter);
int64_t monitor_gauged(const struct monitor *m, enum board_gauge g);

/* For a module's done: arg points to an int, how many are still waited for. */
void monitor_done(void *arg);

/* What a slot of the scoreboard says. */
struct slot {
	char id[QO_UUID_SIZE];
	char lease[QO_UUID_SIZE];
};

/* Another process, which holds n tasks until it is killed; they are in slots
 * when this returns. */
pid_t holder_start(const struct live_store *s, struct slot *slots, size_t n);

#endif
