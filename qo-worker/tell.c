/* What others are told: the heartbeat, the board, the title, the log. */
#include <unistd.h>

#include "board_s3.h"
#include "log.h"
#include "worker_int.h"

static void
add_tasks(struct worker *w, struct qo_worker_record *r)
{
	const struct job *oldest = NULL, *j;
	size_t i;

	buf_reset(&w->tasks_text);
	buf_addc(&w->tasks_text, '[');
	for (i = 0; i < w->nslots; i++) {
		if ((j = w->slots[i]) == NULL || !job_held(j))
			continue;
		buf_addf(&w->tasks_text, "%s\"%s\"",
		    w->tasks_text.len > 1 ? "," : "", job_entry(j)->id);
		if (oldest == NULL || job_since(j).us < job_since(oldest).us)
			oldest = j;
	}
	buf_addc(&w->tasks_text, ']');
	r->current_tasks = (struct qo_json){ w->tasks_text.data,
		w->tasks_text.len };
	r->current_task = oldest != NULL ? job_entry(oldest)->id : NULL;
}

void
tell_heartbeat(struct qo_worker_record *r, void *arg)
{
	struct worker *w = arg;

	r->host = w->host;
	r->pid = getpid();
	r->version = QO_VERSION;
	r->started_at = w->started_at;
	r->shards = (struct qo_json){ w->shards_text.data, w->shards_text.len };
	r->slots = (int64_t)w->nslots;
	r->tasks_completed = (int64_t)w->completed;
	r->tasks_failed = (int64_t)w->failed;
	add_tasks(w, r);
}

void
tell(struct worker *w)
{
	role_title(w->role, "%zu running, %llu done", w->held,
	    (unsigned long long)(w->completed + w->failed));
	board_s3_show(w->role->area, w->s3);
}

/* What it did and what that cost. */
void
tell_end(const struct worker *w)
{
	const struct qo_s3_stats *st = qo_s3_stats(w->s3);

	log_info("ended: %llu completed, %llu failed, with %llu PUT, %llu GET, "
		 "%llu LIST, %llu DELETE",
	    (unsigned long long)w->completed, (unsigned long long)w->failed,
	    (unsigned long long)st->requests[QO_S3_PUT],
	    (unsigned long long)st->requests[QO_S3_GET],
	    (unsigned long long)st->requests[QO_S3_LIST],
	    (unsigned long long)(st->requests[QO_S3_DELETE] +
		st->requests[QO_S3_DELETE_MANY]));
}
