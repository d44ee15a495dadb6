#include <stdlib.h>
#include <string.h>

#include "credfile.h"
#include "env.h"
#include "envkeys.h"
#include "rfc3339.h"
#include "xalloc.h"

/* The base */

static void
put(struct env *e, char *text)
{
	size_t i, len = (size_t)(strchr(text, '=') - text) + 1;

	for (i = 0; i < e->n; i++) {
		if (strncmp(e->v[i], text, len) != 0)
			continue;
		free(e->v[i]);
		e->v[i] = text;
		return;
	}
	if (e->n + 1 >= e->cap) {
		e->cap = e->cap == 0 ? 16 : e->cap * 2;
		e->v = xreallocarray(e->v, e->cap, sizeof(*e->v));
	}
	e->v[e->n++] = text;
	e->v[e->n] = NULL;
}

static void
set(struct env *e, const char *name, const char *value)
{
	if (value != NULL)
		put(e, xasprintf("%s=%s", name, value));
}

static void
set_account(struct env *e, const struct env_opts *o)
{
	const struct handler_account *a = o->account;
	const char *home = getenv("HOME");

	/* A service's own HOME need not be that of its account. */
	if (o->handler->user != NULL || home == NULL)
		home = a->home;
	set(e, "HOME", home);
	set(e, "USER", a->name);
	set(e, "LOGNAME", a->name);
	set(e, "SHELL", a->shell);
}

/* Those that the worker itself would use: of the configuration, of the
 * embedded store, else what its own environment has. */
static void
set_credentials(struct env *e, const struct conf *c)
{
	static const char *const names[] = { "AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN" };
	struct credfile f = { NULL, NULL };
	size_t i;

	set(e, "AWS_REGION", c->s3.region);
	set(e, "AWS_ENDPOINT_URL", c->s3.url);
	if (c->s3.access_key != NULL) {
		set(e, names[0], c->s3.access_key);
		set(e, names[1], c->s3.secret_key);
		return;
	}
	if (c->store.enabled && c->s3.endpoint == NULL &&
	    c->store.keys_file != NULL &&
	    credfile_read_store(c->store.keys_file, c->store.data, &f, NULL) ==
		0) {
		set(e, names[0], f.access_key);
		set(e, names[1], f.secret_key);
		credfile_fini(&f);
		return;
	}
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		set(e, names[i], envkeys_get(names[i]));
}

void
env_init(struct env *e, const struct env_opts *o)
{
	static const char *const kept[] = { "LANG", "LC_ALL", "TZ", "TMPDIR" };
	const struct conf_handler *c = o->handler;
	size_t i;

	memset(e, 0, sizeof(*e));
	set(e, "PATH", handler_path(c));
	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		set(e, kept[i], getenv(kept[i]));
	set_account(e, o);
	if (c->pass_credentials)
		set_credentials(e, o->conf);
	for (i = 0; i < c->env.n; i++)
		set(e, c->env.vars[i].name, c->env.vars[i].value);
	set(e, "QO_HANDLER", c->name);
	set(e, "QO_MODE", c->mode == CONF_MODE_SERVE ? "serve" : "exec");
	set(e, "QO_CONFIG", o->config_path);
}

void
env_fini(struct env *e)
{
	size_t i;

	for (i = 0; i < e->n; i++) {
		explicit_bzero(e->v[i], strlen(e->v[i]));
		free(e->v[i]);
	}
	free(e->v);
	memset(e, 0, sizeof(*e));
}

/* One attempt */

void
env_task_init(struct env_task *t)
{
	memset(t, 0, sizeof(*t));
	/* Names and ids, all of them limited where they are read. */
	buf_init(&t->text, (size_t)1 << 20);
}

void
env_task_fini(struct env_task *t)
{
	buf_fini(&t->text);
	free(t->v);
}

static void
add(struct env_task *t, size_t *n, const char *name, const char *value)
{
	if (value == NULL)
		return;
	buf_adds(&t->text, name);
	buf_addc(&t->text, '=');
	buf_adds(&t->text, value);
	buf_addc(&t->text, '\0');
	(*n)++;
}

static size_t
add_task(struct env_task *t, const struct run *r)
{
	const struct qo_task *task = r->task;
	char attempt[24], deadline[QO_RFC3339_SIZE];
	size_t n = 0;

	snprintf(attempt, sizeof(attempt), "%jd", (intmax_t)task->attempt);
	add(t, &n, "QO_TASK_ID", task->id);
	add(t, &n, "QO_TASK_TYPE", task->task_type);
	add(t, &n, "QO_ATTEMPT", attempt);
	add(t, &n, "QO_LEASE_ID", task->lease_id);
	add(t, &n, "QO_IDEMPOTENCY_KEY",
	    task->idempotency_key != NULL ? task->idempotency_key : task->id);
	add(t, &n, "QO_WORKFLOW_ID", task->workflow_id);
	add(t, &n, "QO_STEP", task->step);
	add(t, &n, "TRACEPARENT", task->traceparent);
	if (qo_wall_is_set(r->deadline)) {
		qo_rfc3339_print(r->deadline, deadline);
		add(t, &n, "QO_DEADLINE", deadline);
	}
	add(t, &n, "QO_RESULT_FD", "3");
	return n;
}

char **
env_task_fill(struct env_task *t, const struct env *base, const struct run *r)
{
	size_t i, n;
	char *p;

	buf_reset(&t->text);
	n = add_task(t, r);
	if (base->n + n + 1 > t->cap) {
		t->cap = base->n + n + 1;
		t->v = xreallocarray(t->v, t->cap, sizeof(*t->v));
	}
	memcpy(t->v, base->v, base->n * sizeof(*t->v));
	for (p = t->text.data, i = 0; i < n; i++, p += strlen(p) + 1)
		t->v[base->n + i] = p;
	t->v[base->n + n] = NULL;
	return t->v;
}
