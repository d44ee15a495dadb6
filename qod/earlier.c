#include <inttypes.h>

#include "datalock.h"
#include "earlier.h"
#include "log.h"
#include "notify.h"
#include "sig.h"

#define LOOK_MS   100
#define NOTICE_MS 5000  /* for a store that may see that its qod is gone */
#define MORE_MS   30000 /* than drain_timeout; the store takes 15 s */
#define START_MS  60000 /* that systemd gives us after it */

static void
say_waiting(const struct datalock_holder *who, int64_t limit_ms)
{
	log_warnx("waiting for the qo-store of an earlier qod (pid %ld) to end",
	    who->pid);
	notify_send("STATUS=waiting for the qo-store of an earlier qod (pid "
		    "%ld) to end\nEXTEND_TIMEOUT_USEC=%" PRId64,
	    who->pid, (limit_ms + START_MS) * QO_US_PER_MS);
}

int
earlier_wait(struct qod *q, const struct conf *conf, struct qo_err *err)
{
	const char *dir = conf->store.data;
	int64_t limit_ms = conf->qod.drain_timeout_ms + MORE_MS;
	struct datalock_holder who;
	int64_t waited_ms = 0; /* when we stand still, others may as well */
	bool said = false;

	if (!conf->store.enabled || !datalock_is_held(dir, &who))
		return 0;
	sig_hold(true);
	do {
		if (who.orphan && !said)
			say_waiting(&who, limit_ms);
		said = said || who.orphan;
		if (waited_ms >= (said ? limit_ms : NOTICE_MS)) {
			qo_err_set(err,
			    "[store] data: %s is in use by process %ld", dir,
			    who.pid);
			return -1;
		}
		q->stopping = sig_wait_end(LOOK_MS) != 0;
		waited_ms += LOOK_MS;
		if (q->stopping)
			return -1;
	} while (datalock_is_held(dir, &who));
	return 0;
}
