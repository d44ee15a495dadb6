/* What others are told: the heartbeat, the board, the title, the log. */
#include <assert.h>
#include <unistd.h>

#include "log.h"
#include "worker_int.h"

static_assert(QO_S3_OPS <= BOARD_S3_OUTCOMES - BOARD_S3_OPS &&
	QO_S3_OUTCOMES <= BOARD_COUNTERS - BOARD_S3_OUTCOMES,
    "the board has no room for all kinds of requests");

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

static void
show_counters(struct worker *w)
{
	const struct qo_s3_stats *st = qo_s3_stats(w->s3);
	struct board_area *a = w->role->area;
	unsigned i;

	for (i = 0; i < QO_S3_OPS; i++)
		board_set_counter(a, BOARD_S3_OPS + i, st->requests[i]);
	for (i = 0; i < QO_S3_OUTCOMES; i++)
		board_set_counter(a, BOARD_S3_OUTCOMES + i, st->outcomes[i]);
	board_set_counter(a, BOARD_S3_RETRIES, st->retries);
	board_gauge(a, BOARD_SKEW_MS, qo_s3_skew_ms(w->s3));
}

void
tell(struct worker *w)
{
	role_title(w->role, "%zu running, %llu done", w->held,
	    (unsigned long long)(w->completed + w->failed));
	show_counters(w);
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
