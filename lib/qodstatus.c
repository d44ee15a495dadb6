#include <stdlib.h>
#include <string.h>

#include "json_doc.h"
#include "qodstatus.h"
#include "rfc3339.h"
#include "xalloc.h"

static const struct qo_json_limits limits = { QODSTATUS_LEN_MAX, 16, false };

/* Members */

static const char *
text_of(yyjson_val *obj, const char *name)
{
	return yyjson_get_str(yyjson_obj_get(obj, name));
}

static int64_t
int_of(yyjson_val *obj, const char *name, int64_t otherwise)
{
	yyjson_val *v = yyjson_obj_get(obj, name);
	int64_t n;

	if (v == NULL || qo_json_get_int(v, INT64_MIN, INT64_MAX, &n) == -1)
		return otherwise;
	return n;
}

static struct qo_wall
time_of(yyjson_val *obj, const char *name)
{
	const char *s = text_of(obj, name);
	struct qo_wall t = QO_WALL_NONE;

	if (s != NULL)
		(void)qo_rfc3339_parse(s, strlen(s), &t);
	return t;
}

/* The sum of an object's numbers. */
static int64_t
sum_of(yyjson_val *obj)
{
	yyjson_val *key, *v;
	int64_t n, sum = 0;
	size_t i, max;

	yyjson_obj_foreach(obj, i, max, key, v)
	{
		(void)key;
		if (qo_json_get_int(v, 0, INT64_MAX / 2, &n) == 0 &&
		    sum < INT64_MAX / 2)
			sum += n;
	}
	return sum;
}

/* Parts */

static void
read_tasks(struct qodstatus_child *c, yyjson_val *arr)
{
	struct qodstatus_task *t;
	yyjson_val *v;
	size_t i, max;

	if (!yyjson_is_arr(arr))
		return;
	c->tasks = xcalloc(yyjson_arr_size(arr) + 1, sizeof(*c->tasks));
	yyjson_arr_foreach(arr, i, max, v)
	{
		t = &c->tasks[c->ntasks];
		t->id = text_of(v, "id");
		t->type = text_of(v, "type");
		t->attempt = int_of(v, "attempt", 0);
		t->since = time_of(v, "since");
		t->handler_pid = int_of(v, "handler_pid", 0);
		if (t->id != NULL && t->type != NULL)
			c->ntasks++;
	}
}

static void
read_numbers(struct qodstatus_child *c, yyjson_val *counters,
    yyjson_val *gauges)
{
	c->completed = int_of(counters, "completed", 0);
	c->failed = int_of(counters, "failed", 0);
	c->retried = int_of(counters, "retried", 0);
	c->cancelled = int_of(counters, "cancelled", 0);
	c->lost = int_of(counters, "lost", 0);
	c->s3_retries = int_of(counters, "s3_retries", 0);
	c->running = int_of(gauges, "running", 0);
	c->ready = int_of(gauges, "ready_tasks", -1);
	c->oldest_ready_ms = int_of(gauges, "oldest_ready_ms", -1);
	c->leases = int_of(gauges, "leases", -1);
	c->failed_tasks = int_of(gauges, "failed_tasks", -1);
}

static void
read_child(struct qodstatus_child *c, yyjson_val *v)
{
	c->role = text_of(v, "role");
	c->state = text_of(v, "state");
	c->name = text_of(v, "name");
	c->note = text_of(v, "note");
	c->last_exit = text_of(v, "last_exit");
	c->index = int_of(v, "index", 0);
	c->pid = int_of(v, "pid", 0);
	c->generation = int_of(v, "generation", 0);
	c->restarts = int_of(v, "restarts", 0);
	c->uptime_ms = int_of(v, "uptime_ms", -1);
	c->next_restart_ms = int_of(v, "next_restart_ms", -1);
	c->slots = int_of(v, "slots", 0);
	read_numbers(c, yyjson_obj_get(v, "counters"),
	    yyjson_obj_get(v, "gauges"));
	c->s3_requests = sum_of(yyjson_obj_get(v, "s3_requests"));
	read_tasks(c, yyjson_obj_get(v, "tasks"));
}

static void
read_children(struct qodstatus *st, yyjson_val *arr)
{
	yyjson_val *v;
	size_t i, max;

	if (!yyjson_is_arr(arr))
		return;
	st->children = xcalloc(yyjson_arr_size(arr) + 1, sizeof(*st->children));
	yyjson_arr_foreach(arr, i, max, v)
	{
		read_child(&st->children[st->nchildren], v);
		if (st->children[st->nchildren].role != NULL &&
		    st->children[st->nchildren].state != NULL)
			st->nchildren++;
		else
			free(st->children[st->nchildren].tasks);
	}
}

static yyjson_doc *
read_object(const char *text, size_t len, struct qo_err *err)
{
	yyjson_doc *doc;

	doc = qo_json_doc_read(text, len, &limits, QO_JSON_DOC_ALL, err);
	if (doc != NULL && !yyjson_is_obj(yyjson_doc_get_root(doc))) {
		qo_err_set(err, "the answer is not a JSON object");
		yyjson_doc_free(doc);
		doc = NULL;
	}
	return doc;
}

int
qodstatus_read(struct qodstatus *st, const char *text, size_t len,
    struct qo_err *err)
{
	yyjson_val *root, *reload;

	memset(st, 0, sizeof(*st));
	if ((st->doc = read_object(text, len, err)) == NULL)
		return -1;
	root = yyjson_doc_get_root(st->doc);
	st->version = text_of(root, "version");
	st->state = text_of(root, "state");
	st->config = text_of(root, "config");
	st->pid = int_of(root, "pid", 0);
	st->generation = int_of(root, "generation", 0);
	st->uptime_ms = int_of(root, "uptime_ms", 0);
	st->tasks_omitted = int_of(root, "tasks_omitted", 0);
	reload = yyjson_obj_get(root, "last_reload");
	st->reload_at = time_of(reload, "at");
	st->reload_ok = yyjson_is_true(yyjson_obj_get(reload, "ok"));
	st->reload_message = text_of(reload, "message");
	read_children(st, yyjson_obj_get(root, "children"));
	return 0;
}

void
qodstatus_fini(struct qodstatus *st)
{
	size_t i;

	for (i = 0; i < st->nchildren; i++)
		free(st->children[i].tasks);
	free(st->children);
	if (st->doc != NULL)
		yyjson_doc_free(st->doc);
	memset(st, 0, sizeof(*st));
}

int
qodstatus_result(const char *text, size_t len, bool *ok, char *message,
    size_t size, struct qo_err *err)
{
	yyjson_doc *doc;
	yyjson_val *root;
	const char *s;

	if ((doc = read_object(text, len, err)) == NULL)
		return -1;
	root = yyjson_doc_get_root(doc);
	*ok = yyjson_is_true(yyjson_obj_get(root, "ok"));
	s = text_of(root, "message");
	(void)strlcpy(message, s != NULL ? s : "", size);
	yyjson_doc_free(doc);
	return 0;
}
