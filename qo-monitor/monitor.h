/*
 * monitor.h - what the parts of the monitor share: the queue, the settings
 * and where to count.
 *
 * Each part is a module with a struct of its own; none knows of another.
 * main.c puts them together.
 */
#ifndef MONITOR_H
#define MONITOR_H

#include "board.h"
#include "conf.h"
#include "health.h"
#include "loop.h"
#include "queue.h"

struct monitor {
	struct loop *loop;
	const struct conf_monitor *conf;
	const struct conf *all; /* whose handlers tasks are counted by */
	struct qo_queue *q;
	struct board_area *area; /* never NULL */
	struct health *health;   /* never NULL */
	/* For retention: must the task of this run of a schedule stay, however
	 * old it is?  NULL: nobody knows of such. */
	bool (*holds)(void *arg, const char *task_id);
	void *holds_arg;
};

/* The lower bound of server time; QO_WALL_NONE when it is not known. */
struct qo_wall monitor_lo(const struct monitor *m);

#endif
