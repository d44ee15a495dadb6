/*
 * repair.h - what the monitor and fsck do with an index entry: give back a
 * task whose lease is over, and remove what crashes left behind (R3).
 *
 * One object per entry; any number of repairers may run at once.
 */
#ifndef QO_REPAIR_H
#define QO_REPAIR_H

#include "change.h"

#define QO_ORPHAN_GRACE_MIN_MS (17 * 60 * 1000)

enum qo_repair_did {
	QO_REPAIR_NOTHING = 0, /* the entry is as it should be, or too young */
	QO_REPAIR_DELETED,     /* dead: it will be deleted */
	QO_REPAIR_RECLAIMED,   /* the lease was over: pending or ended now */
	QO_REPAIR_EXPIRED,     /* pending past its expires_at */
	QO_REPAIR_BUMPED,      /* the task was bumped, the entry deleted */
	QO_REPAIR_UNDECIDED    /* of a lease: its claim may still arrive */
};

struct qo_repair {
	struct qo_change change; /* first; its task is what was found or made */
	struct qo_entry entry;   /* of a lease: id and generation only */
	char entry_key[QO_KEY_SIZE];   /* "": of a lease */
	struct qo_wall entry_modified; /* LastModified of the LIST */
	int64_t orphan_grace_ms;
	/* The process that held the lease is known to be dead: do not wait for
	 * the lease to end (only when the task has this lease_id). */
	const char *dead_lease; /* NULL: not known; borrowed */
	enum qo_repair_did did;
	void (*done)(struct qo_repair *r);
	void *arg;
};

void qo_repair_init(struct qo_repair *r, struct qo_queue *q,
    const struct qo_entry *entry, struct qo_wall entry_modified,
    int64_t orphan_grace_ms);
/*
 * The same without an entry: a process died that held this lease, or had just
 * asked for it, in this generation of the task.  A task that runs under it is
 * reclaimed.  QO_REPAIR_UNDECIDED: it waits in that generation; a claim that
 * was on its way when the process died may still take it: look again a little
 * later.  QO_REPAIR_NOTHING: the lease is over or can not come to be any
 * more.  lease_id is borrowed.
 */
void qo_repair_init_lease(struct qo_repair *r, struct qo_queue *q,
    const char *id, int64_t generation, const char *lease_id);
void qo_repair_fini(struct qo_repair *r);
/* change.rc: QO_OK with `did`; QO_NOENT with QO_REPAIR_DELETED or _NOTHING
 * when there is no task; QO_AGAIN, QO_DENIED, QO_ERR (a corrupt object). */
void qo_repair_start(struct qo_repair *r);
enum qo_rc qo_repair_wait(struct qo_repair *r);

#endif
