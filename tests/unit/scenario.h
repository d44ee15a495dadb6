/*
 * scenario.h - every operation on a task as a scene that can be played again
 * and again: what has to be there before, and the operation itself.
 *
 * Times lie in the past where that spares waiting: a lease that is over, a
 * task that has expired.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "commit.h"
#include "queue.h"

struct scene {
	struct qo_queue *q;    /* the caller's */
	char id[QO_UUID_SIZE]; /* of its task, as soon as it is known */
	struct qo_entry entry; /* that leads to it, or that is the orphan */
	struct qo_claim claim;
	bool claimed;
	enum qo_rc rc; /* of the operation */
};

struct scenario {
	const char *name;
	void (*prepare)(struct scene *sc); /* NULL: nothing has to be there */
	enum qo_rc (*run)(struct scene *sc);
	/* Without the operation's success there need be no task. */
	bool creates;
};

extern const struct scenario scenarios[];
extern const size_t nscenarios;

/* Plays the operation, its deletes included; sc->rc is set at the end. */
void scenario_run(const struct scenario *s, struct scene *sc);
/* Frees what the scene holds. */
void scene_fini(struct scene *sc);

/* For scenes of one's own: a task that waits, one that is held, and one that
 * has failed.  They set id, entry and claim. */
void scene_pending(struct scene *sc);
void scene_held(struct scene *sc);
void scene_failed(struct scene *sc);
/* A result with an output, an error and no delay. */
extern const struct qo_result scene_result;

#endif
