#include <stdlib.h>
#include <string.h>

#include "confval.h"
#include "layout.h"
#include "tags.h"
#include "where.h"
#include "xalloc.h"

#define AGE_MAX_MS (3650 * CONFVAL_DAY)

static const char clauses[] = "status=, type=, error~=, older=, newer=, "
			      "worker=, tag.NAME=";

/* Cuts the clause at *p off at its comma, takes the backslashes away, and
 * moves *p behind it; *p becomes NULL at the end. */
static char *
next_clause(char **p)
{
	char *start = *p, *in = *p, *out = *p;

	for (; *in != '\0' && *in != ','; in++) {
		if (in[0] == '\\' && (in[1] == ',' || in[1] == '\\'))
			in++;
		*out++ = *in;
	}
	*p = *in == ',' ? in + 1 : NULL;
	*out = '\0';
	return start;
}

static int
twice(const char *name, struct qo_err *err)
{
	qo_err_set(err, "%s is given twice", name);
	return -1;
}

static int
set_status(struct qo_where *w, const char *value, struct qo_err *err)
{
	char shown[CONFVAL_SHOWN];

	if (w->status != QO_STATUS_NONE)
		return twice("status=", err);
	if (qo_status_parse(value, &w->status) == 0 &&
	    w->status != QO_STATUS_NONE)
		return 0;
	qo_err_set(err,
	    "status=%s: one of pending, running, completed, failed, "
	    "cancelled, expired, archived",
	    confval_shown(value, shown, sizeof(shown)));
	return -1;
}

static int
set_type(struct qo_where *w, const char *value, struct qo_err *err)
{
	size_t len = strlen(value);

	if (w->type != NULL)
		return twice("type=", err);
	w->type = value;
	if (len > 0 && value[len - 1] == '*')
		len--;
	if (len < strlen(value) ? len == 0 || qo_type_valid(value, len)
				: qo_type_valid(value, len))
		return 0;
	qo_err_set(err,
	    "type=: 1 to 128 of A-Z a-z 0-9 . _ : / - and perhaps * at its "
	    "end");
	return -1;
}

static int
set_text(const char **out, const char *name, const char *value,
    struct qo_err *err)
{
	if (*out != NULL)
		return twice(name, err);
	*out = value;
	if (value[0] != '\0')
		return 0;
	qo_err_set(err, "%s needs a text behind it", name);
	return -1;
}

static int
set_age(int64_t *out, const char *name, const char *value, struct qo_err *err)
{
	struct qo_err why;

	if (*out != -1)
		return twice(name, err);
	if (confval_duration(value, 0, AGE_MAX_MS, out, &why) == 0)
		return 0;
	qo_err_set(err, "%s%s", name, why.msg);
	return -1;
}

static int
set_tag(struct qo_where *w, char *name, char *value, struct qo_err *err)
{
	if (w->ntags == QO_WHERE_TAGS) {
		qo_err_set(err, "at most %d tags", QO_WHERE_TAGS);
		return -1;
	}
	if (name[0] == '\0') {
		qo_err_set(err, "tag.NAME= needs a name");
		return -1;
	}
	w->tags[w->ntags].name = name;
	w->tags[w->ntags++].value = value;
	return 0;
}

static int
parse_clause(struct qo_where *w, char *clause, struct qo_err *err)
{
	char *eq = strchr(clause, '='), shown[CONFVAL_SHOWN];

	if (eq == NULL)
		goto unknown;
	*eq++ = '\0';
	if (strcmp(clause, "status") == 0)
		return set_status(w, eq, err);
	if (strcmp(clause, "type") == 0)
		return set_type(w, eq, err);
	if (strcmp(clause, "error~") == 0)
		return set_text(&w->error, "error~=", eq, err);
	if (strcmp(clause, "worker") == 0)
		return set_text(&w->worker, "worker=", eq, err);
	if (strcmp(clause, "older") == 0)
		return set_age(&w->older_ms, "older=", eq, err);
	if (strcmp(clause, "newer") == 0)
		return set_age(&w->newer_ms, "newer=", eq, err);
	if (strncmp(clause, "tag.", 4) == 0)
		return set_tag(w, clause + 4, eq, err);
unknown:
	qo_err_set(err, "%s: no such clause, only %s",
	    confval_shown(clause, shown, sizeof(shown)), clauses);
	return -1;
}

int
qo_where_parse(struct qo_where *w, const char *text, struct qo_err *err)
{
	char *p;

	memset(w, 0, sizeof(*w));
	w->older_ms = w->newer_ms = -1;
	p = w->text = xstrdup(text);
	do {
		if (parse_clause(w, next_clause(&p), err) == -1) {
			qo_where_fini(w);
			return -1;
		}
	} while (p != NULL);
	return 0;
}

void
qo_where_fini(struct qo_where *w)
{
	free(w->text);
	w->text = NULL;
}

static bool
match_type(const char *pattern, const char *type)
{
	size_t len = strlen(pattern);

	if (len > 0 && pattern[len - 1] == '*')
		return strncmp(pattern, type, len - 1) == 0;
	return strcmp(pattern, type) == 0;
}

bool
qo_where_match(const struct qo_where *w, const struct qo_task *t,
    struct qo_wall now)
{
	int64_t age_ms = (now.us - t->updated_at.us) / QO_US_PER_MS;
	size_t i;

	if (w->status != QO_STATUS_NONE && t->status != w->status)
		return false;
	if (w->type != NULL && !match_type(w->type, t->task_type))
		return false;
	if (w->error != NULL &&
	    (t->last_error == NULL || strstr(t->last_error, w->error) == NULL))
		return false;
	if (w->worker != NULL &&
	    (t->worker_id == NULL || strcmp(t->worker_id, w->worker) != 0))
		return false;
	if (w->older_ms != -1 && age_ms < w->older_ms)
		return false;
	if (w->newer_ms != -1 && age_ms >= w->newer_ms)
		return false;
	for (i = 0; i < w->ntags; i++)
		if (!qo_tags_match(&t->tags, w->tags[i].name, w->tags[i].value))
			return false;
	return true;
}
