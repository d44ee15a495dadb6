/*
 * report.h - what the monitor did with a task: counted on the board, and a
 * line in the log.
 */
#ifndef REPORT_H
#define REPORT_H

#include "monitor.h"
#include "repair.h"

/* Of a repair that has ended.  False: the store did not answer, so that
 * nothing is known of the task. */
bool report_repair(struct monitor *m, const struct qo_repair *r);

#endif
