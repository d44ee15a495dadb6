#include <string.h>

#include "history.h"
#include "json_doc.h"

struct side {
	yyjson_doc *doc;
	const char *text;
	size_t len;
};

static int
side_read(struct side *s, const char *text, size_t len)
{
	struct qo_json_limits limits = { len + 1, QO_JSON_DEPTH_MAX, false };

	s->text = text;
	s->len = len;
	s->doc = qo_json_doc_read(text, len, &limits, QO_JSON_DOC_NOT_ROOT,
	    NULL);
	if (s->doc == NULL)
		return -1;
	return unsafe_yyjson_is_obj(yyjson_doc_get_root(s->doc)) ? 0 : -1;
}

/* The value of the key that an iterator has just passed. */
static struct qo_json
value_of(const struct side *s, const yyjson_obj_iter *it, yyjson_val *key)
{
	return qo_json_doc_member(s->doc, s->text, s->len, key,
	    it->idx < it->max ? it->cur : NULL);
}

/* The member of that name on this side; p == NULL: it has none. */
static struct qo_json
find(const struct side *s, yyjson_obj_iter *it, yyjson_val *key)
{
	yyjson_val *v;

	v = yyjson_obj_iter_getn(it, unsafe_yyjson_get_str(key),
	    unsafe_yyjson_get_len(key));
	if (v == NULL)
		return (struct qo_json){ NULL, 0 };
	return value_of(s, it, v - 1);
}

static bool
same(const struct qo_json *a, const struct qo_json *b)
{
	return (a->p == NULL) == (b->p == NULL) && a->len == b->len &&
	    (a->len == 0 || memcmp(a->p, b->p, a->len) == 0);
}

/* Goes through the members of a; all: those that b has too. */
static void
compare(const struct side *a, const struct side *b, bool all,
    void (*found)(const char *member, const struct qo_json *in_a,
	const struct qo_json *in_b, void *arg),
    void *arg)
{
	yyjson_obj_iter ia, ib;
	struct qo_json ta, tb;
	yyjson_val *key;

	yyjson_obj_iter_init(yyjson_doc_get_root(a->doc), &ia);
	yyjson_obj_iter_init(yyjson_doc_get_root(b->doc), &ib);
	while ((key = yyjson_obj_iter_next(&ia)) != NULL) {
		ta = value_of(a, &ia, key);
		tb = find(b, &ib, key);
		if (same(&ta, &tb) || (!all && tb.p != NULL))
			continue;
		found(unsafe_yyjson_get_str(key), &ta, &tb, arg);
	}
}

struct turned {
	void (*change)(const char *member, const struct qo_json *was,
	    const struct qo_json *is, void *arg);
	void *arg;
};

static void
on_new(const char *member, const struct qo_json *is, const struct qo_json *was,
    void *arg)
{
	const struct turned *t = arg;

	t->change(member, was, is, t->arg);
}

static void
on_gone(const char *member, const struct qo_json *was, const struct qo_json *is,
    void *arg)
{
	const struct turned *t = arg;

	t->change(member, was, is, t->arg);
}

int
qo_history_diff(const char *old, size_t old_len, const char *new_text,
    size_t new_len,
    void (*change)(const char *member, const struct qo_json *was,
	const struct qo_json *is, void *arg),
    void *arg)
{
	struct turned t = { change, arg };
	struct side was = { NULL, NULL, 0 }, is = { NULL, NULL, 0 };
	int rv = -1;

	if (side_read(&was, old, old_len) == -1 ||
	    side_read(&is, new_text, new_len) == -1)
		goto out;
	compare(&is, &was, true, on_new, &t);
	compare(&was, &is, false, on_gone, &t);
	rv = 0;
out:
	yyjson_doc_free(was.doc);
	yyjson_doc_free(is.doc);
	return rv;
}

static bool
same_str(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

bool
qo_history_is_renewal(const struct qo_task *was, const struct qo_task *is)
{
	return was->status == QO_STATUS_RUNNING &&
	    is->status == QO_STATUS_RUNNING &&
	    was->generation == is->generation && was->attempt == is->attempt &&
	    same_str(was->lease_id, is->lease_id) &&
	    was->cancel_requested == is->cancel_requested &&
	    was->give_up == is->give_up;
}
