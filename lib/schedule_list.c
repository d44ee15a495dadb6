#include "records.h"
#include "schedule_change.h"
#include "schedule_list.h"

static void
on_record(struct qo_records *r, const char *key, const char *text, size_t len)
{
	struct qo_schedule_list *l = r->arg;
	char id[QO_NAME_MAX + 1];
	struct qo_schedule s;
	struct qo_err err = { 0 };

	if (qo_schedule_id_of_key(&l->q->layout, key, id) == -1)
		l->corrupt(l, key, "not the key of a schedule");
	else if (qo_schedule_decode(&s, id, text, len, &err) == -1)
		l->corrupt(l, key, err.msg);
	else {
		l->record(l, &s, text, len);
		qo_schedule_fini(&s);
	}
}

static void
on_corrupt(struct qo_records *r, const char *key, const char *why)
{
	struct qo_schedule_list *l = r->arg;

	l->corrupt(l, key, why);
}

enum qo_rc
qo_schedule_list_read(struct qo_schedule_list *l)
{
	struct qo_records r = {
		.q = l->q,
		.bucket = l->q->bucket,
		.dir = "schedules/",
		.what = "a schedule",
		.len_max = QO_SCHEDULE_LEN_MAX,
		.record = on_record,
		.corrupt = on_corrupt,
		.arg = l,
	};
	enum qo_rc rc;

	rc = qo_records_read(&r);
	l->err = r.err;
	return rc;
}
