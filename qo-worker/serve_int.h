/*
 * serve_int.h - what serve.c (the pool of long-lived processes: their start,
 * their end, who is idle) and serve_talk.c (the lines that go to one and come
 * from it) share.
 */
#ifndef SERVE_INT_H
#define SERVE_INT_H

#include "run_int.h"

/* A long-lived process.  It is idle, busy with a run, or ending: then its
 * stdin is closed, it gets no other task, and a timer sees to its end. */
struct instance {
	TAILQ_ENTRY(instance) link;
	struct instances *list;
	struct section *sec;
	struct reap child;
	struct loop_io in, out, err; /* fd -1: closed */
	struct buf send, got;
	size_t sent;
	size_t scanned; /* of got: has no newline */
	struct run *run;
	int served;
	bool ours; /* it ends because we want it to */
	bool deaf; /* it closed its stdin */
	bool dead;
	struct loop_timer end;
	struct qo_mono started;
	char *dir;
	char name[40]; /* of no other one */
};

static inline struct loop *
loop_of(const struct instance *in)
{
	return in->sec->all->loop;
}

/* serve.c */
/* Stops watching one of its descriptors, and closes it. */
void serve_close(struct instance *in, struct loop_io *io);
/* Ends it without a word; it gets no other task. */
void serve_kill(struct instance *in);
/* Its run is over, which may be gone afterwards; the instance is not. */
void serve_finish(struct instance *in);
/* The next process of the section waits; see there. */
void serve_back_off(struct section *sec, int64_t uptime_ms, const char *why);
void serve_went_well(const struct instance *in);

/* serve_talk.c */
/* Its buffers. */
void talk_init(struct instance *in);
void talk_fini(struct instance *in);
/* Listens to its stdout and stderr; -1 with errno. */
int talk_watch(struct instance *in);
/* Sends the task of its run. */
void talk_send(struct instance *in);
/* It is dead: what it had still written. */
void talk_rest(struct instance *in);

#endif
