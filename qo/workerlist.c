#include <stdlib.h>
#include <string.h>

#include "records.h"
#include "workerlist.h"
#include "xalloc.h"

/* The name in workers/{worker_id}.json. */
static char *
worker_of(const char *key)
{
	const char *slash = strrchr(key, '/');
	size_t len;

	if (slash == NULL || (len = strlen(slash + 1)) < 6 ||
	    strcmp(slash + 1 + len - 5, ".json") != 0)
		return NULL;
	return xmemdup0(slash + 1, len - 5);
}

static void
on_record(struct qo_records *r, const char *key, const char *text, size_t len)
{
	struct workerlist *w = r->arg;
	struct qo_worker_record rec;
	struct qo_err err;
	char *id = worker_of(key);

	if (id == NULL) {
		w->corrupt(w, key, "this is no key of a worker");
	} else if (qo_worker_record_decode(&rec, id, text, len, &err) == -1) {
		w->corrupt(w, key, err.msg);
	} else {
		w->record(w, &rec, text, len);
		qo_worker_record_fini(&rec);
	}
	free(id);
}

static void
on_corrupt(struct qo_records *r, const char *key, const char *why)
{
	struct workerlist *w = r->arg;

	w->corrupt(w, key, why);
}

enum qo_rc
workerlist_read(struct workerlist *w, const bool *stop)
{
	struct qo_records r = {
		.q = w->q,
		.bucket = w->q->index_bucket,
		.dir = "workers/",
		.what = "a worker's record",
		.len_max = QO_WORKER_LEN_MAX,
		.record = on_record,
		.corrupt = on_corrupt,
		.arg = w,
		.stop = stop,
	};
	enum qo_rc rc;

	rc = qo_records_read(&r);
	w->err = r.err;
	return rc;
}
