/*
 * notify.h - tell systemd, or whoever started us, how we are (sd_notify(3)).
 *
 * NOTIFY_SOCKET and WATCHDOG_* stay in the environment, so that a program
 * that execs itself goes on; whoever starts children leaves them out of
 * theirs.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdint.h>

/*
 * One message of lines NAME=VALUE: "READY=1\nSTATUS=%s", "STOPPING=1",
 * "WATCHDOG=1".  What is formatted in has no newline.  Nothing when nobody
 * wants to know; a failure is logged.  Waits a second at most.
 */
void notify_send(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* RELOADING=1 with the time that belongs to it.  A READY=1 must follow, also
 * when the reload has failed. */
void notify_reloading(void);
/* How often to send WATCHDOG=1: half of what is asked for; 0: not at all. */
int64_t notify_watchdog_ms(void);

#endif
