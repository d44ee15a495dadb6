/*
 * reap.h - the one place that waits for children.
 *
 * The worker is a subreaper, so what handlers leave behind ends here too and
 * is reaped although nobody asked.  A child that somebody asked for leads a
 * process group: when it has ended, what is left of the group is killed
 * before its pid is given up, while the number can not yet mean anybody else.
 */
#ifndef REAP_H
#define REAP_H

#include <stdbool.h>
#include <sys/types.h>

struct reap {
	pid_t pid;
	void (*exited)(struct reap *r, int status);
	void *arg;
	struct reap *next; /* private */
};

/* Takes SIGCHLD (after sig_init); whoever owns the loop calls sig_next.
 * adopted (NULL: nobody) is called when children have ended that nobody
 * waited for: theirs may be ours now. */
void reap_init(void (*adopted)(void *arg), void *arg);
/* In the turn of the loop that spawned it.  Borrowed until exited is called,
 * or reap_del. */
void reap_add(struct reap *r, pid_t pid,
    void (*exited)(struct reap *r, int status), void *arg);
/* Nobody waits any more; harmless when not added. */
void reap_del(struct reap *r);
bool reap_knows(pid_t pid);

#endif
