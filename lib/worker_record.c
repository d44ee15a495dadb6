#include <string.h>

#include "json_doc.h"
#include "layout.h"
#include "worker_record.h"

static bool
is_array(const char *s, size_t len)
{
	return len > 0 && s[0] == '[';
}

#define MEMBER(member, k)                                 \
	.name = #member, .name_len = sizeof(#member) - 1, \
	.kind = QO_MEMBER_##k,                            \
	.offset = offsetof(struct qo_worker_record, member)
#define COUNT(member)                                    \
	{                                                \
		MEMBER(member, INT), .max = QO_COUNT_MAX \
	}

static const struct qo_member members[] = {
	{ MEMBER(worker_id, STR), .rule = QO_MEMBER_REQUIRED,
	    .check = qo_name_valid },
	{ MEMBER(host, STR), .max = 1024 },
	COUNT(pid),
	{ MEMBER(version, STR), .max = QO_NAME_MAX },
	{ MEMBER(started_at, TIME), .rule = QO_MEMBER_REQUIRED },
	{ MEMBER(last_heartbeat, TIME), .rule = QO_MEMBER_REQUIRED },
	{ MEMBER(shards, JSON), .check = is_array },
	{ MEMBER(current_task, STR), .check = qo_uuid_valid },
	{ MEMBER(current_tasks, JSON), .check = is_array },
	COUNT(slots),
	COUNT(tasks_completed),
	COUNT(tasks_failed),
};

static const struct qo_record_type worker_type = { "worker", members,
	sizeof(members) / sizeof(members[0]), QO_WORKER_LEN_MAX,
	QO_JSON_DEPTH };

void
qo_worker_record_init(struct qo_worker_record *w)
{
	qo_record_init(&worker_type, w);
}

void
qo_worker_record_fini(struct qo_worker_record *w)
{
	qo_record_fini(&w->rec);
}

int
qo_worker_record_decode(struct qo_worker_record *w, const char *worker_id,
    const char *text, size_t len, struct qo_err *err)
{
	if (qo_record_decode(&worker_type, w, text, len, err) == -1)
		return -1;
	if (worker_id == NULL || strcmp(w->worker_id, worker_id) == 0)
		return 0;
	qo_err_set(err, "worker: worker_id: is %s in the object %.128s",
	    w->worker_id, worker_id);
	qo_worker_record_fini(w);
	return -1;
}

int
qo_worker_record_encode(const struct qo_worker_record *w, struct buf *out,
    struct qo_err *err)
{
	return qo_record_encode(&worker_type, w, out, err);
}

size_t
qo_worker_record_busy(const struct qo_worker_record *w)
{
	struct qo_json_limits limits = { QO_WORKER_LEN_MAX, QO_JSON_DEPTH,
		false };
	yyjson_doc *doc;
	size_t n;

	if (w->current_tasks.p == NULL)
		return 0;
	doc = qo_json_doc_read(w->current_tasks.p, w->current_tasks.len,
	    &limits, QO_JSON_DOC_ALL, NULL);
	if (doc == NULL)
		return 0;
	n = yyjson_arr_size(yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	return n;
}
