/* conf.h's conf_check: what no single key can tell. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf.h"
#include "confkeys.h"
#include "confname.h"
#include "confval.h"

struct judge {
	const struct conf *c;
	conf_report *report;
	void *arg;
	unsigned errors;
};

/* Two keys that do not go together; the place is that of the first one that
 * somebody set.  A key that did not parse has had its complaint: what stands
 * in its member is not what was meant. */
struct pair {
	const struct conf_place *a;
	const struct conf_place *b; /* may be NULL */
};

static struct pair
keys(const struct judge *j, const char *section, const char *key,
    const char *section2, const char *key2)
{
	struct pair p = { conf_key_place(j->c, section, key), NULL };

	if (key2 != NULL)
		p.b = conf_key_place(j->c, section2, key2);
	return p;
}

static void say(struct judge *j, enum conf_level level, struct pair at,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void
say(struct judge *j, enum conf_level level, struct pair at, const char *fmt,
    ...)
{
	const struct conf_place *place = at.a;
	char msg[512];
	va_list ap;

	if (at.a->bad || (at.b != NULL && at.b->bad))
		return;
	if (at.a->file == NULL && at.b != NULL)
		place = at.b;
	if (level == CONF_ERROR)
		j->errors++;
	if (j->report == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	j->report(j->arg, level, place, msg);
}

static void
check_http(struct judge *j)
{
	const struct conf_s3 *s3 = &j->c->s3;
	struct confname_addr addr;

	if (s3->endpoint == NULL ||
	    confname_endpoint(s3->endpoint, &addr, NULL) == -1)
		return;
	if (!addr.tls && !addr.loopback && !s3->allow_http)
		say(j, CONF_ERROR,
		    keys(j, "s3", "endpoint", "s3", "allow_http"),
		    "[s3] endpoint: plain http to another machine shows all "
		    "data to the network: use https, or set allow_http = yes");
}

static void
check_buckets(struct judge *j)
{
	const struct conf_s3 *s3 = &j->c->s3;

	if (!j->c->store.enabled && strlen(s3->bucket) < 3)
		say(j, CONF_ERROR, keys(j, "s3", "bucket", "s3", "endpoint"),
		    "[s3] bucket: \"%s\" is too short for S3, which wants at "
		    "least 3 characters: name your bucket",
		    s3->bucket);
	if (s3->index_bucket != NULL &&
	    strcmp(s3->index_bucket, s3->bucket) == 0)
		say(j, CONF_ERROR,
		    keys(j, "s3", "index_bucket", "s3", "bucket"),
		    "[s3] index_bucket: is the same as bucket: leave it out "
		    "to use one bucket");
}

/* Written, and not read from access_key_file. */
static bool
written(const struct judge *j, const char *key, const char *value)
{
	return value != NULL && conf_key_place(j->c, "s3", key)->file != NULL;
}

static void
check_credentials(struct judge *j)
{
	const struct conf_s3 *s3 = &j->c->s3;
	bool access, secret, keyed;

	access = written(j, "access_key", s3->access_key);
	secret = written(j, "secret_key", s3->secret_key);
	keyed = access || secret;
	if (access && !secret)
		say(j, CONF_ERROR,
		    keys(j, "s3", "access_key", "s3", "secret_key"),
		    "[s3] access_key: needs secret_key beside it");
	if (secret && !access)
		say(j, CONF_ERROR,
		    keys(j, "s3", "secret_key", "s3", "access_key"),
		    "[s3] secret_key: needs access_key beside it");
	if (keyed && s3->access_key_file != NULL)
		say(j, CONF_ERROR,
		    keys(j, "s3", "access_key_file", "s3", "access_key"),
		    "[s3] access_key_file: not together with access_key and "
		    "secret_key");
	if (s3->profile != NULL && (keyed || s3->access_key_file != NULL))
		say(j, CONF_ERROR,
		    keys(j, "s3", "profile", "s3",
			keyed ? "access_key" : "access_key_file"),
		    "[s3] profile: not together with access_key or "
		    "access_key_file");
}

static void
check_store(struct judge *j)
{
	const struct conf_store *st = &j->c->store;

	if (!st->enabled)
		return;
	if (j->c->s3.endpoint != NULL)
		say(j, CONF_WARNING,
		    keys(j, "store", "enabled", "s3", "endpoint"),
		    "[store] enabled: the embedded store runs, but the queue "
		    "is at the endpoint of [s3]");
	if (st->data == NULL)
		say(j, CONF_ERROR, keys(j, "store", "data", NULL, NULL),
		    "[store] data: the embedded store needs a directory");
	/* The clients speak TCP; the socket is for others. */
	if (st->listen == NULL && j->c->s3.endpoint == NULL)
		say(j, CONF_ERROR, keys(j, "store", "listen", NULL, NULL),
		    "[store] listen: the queue needs it, or an endpoint in "
		    "[s3]");
	if (st->listen != NULL && j->c->monitor.enabled &&
	    j->c->monitor.listen != NULL &&
	    strcmp(st->listen, j->c->monitor.listen) == 0)
		say(j, CONF_ERROR,
		    keys(j, "monitor", "listen", "store", "listen"),
		    "[monitor] listen: is the address of [store]");
}

/* a <= b, or < when strict, in words. */
static void
order(struct judge *j, int64_t a, int64_t b, bool strict, struct pair at,
    const char *what)
{
	if (strict ? a >= b : a > b)
		say(j, CONF_ERROR, at, "%s", what);
}

static void
check_times(struct judge *j)
{
	const struct conf_worker *w = &j->c->worker;
	const struct conf_monitor *m = &j->c->monitor;

	order(j, w->lease_ms, w->lease_max_ms, false,
	    keys(j, "worker", "lease", "worker", "lease_max"),
	    "[worker] lease: is longer than lease_max");
	order(j, w->poll_min_ms, w->poll_max_ms, false,
	    keys(j, "worker", "poll_min", "worker", "poll_max"),
	    "[worker] poll_min: is longer than poll_max");
	order(j, w->heartbeat_ms, m->worker_stale_ms, true,
	    keys(j, "worker", "heartbeat", "monitor", "worker_stale"),
	    "[worker] heartbeat: must be shorter than [monitor] worker_stale");
	order(j, m->worker_stale_ms, m->worker_dead_ms, true,
	    keys(j, "monitor", "worker_stale", "monitor", "worker_dead"),
	    "[monitor] worker_stale: must be shorter than worker_dead");
	order(j, j->c->submit.retry_initial_interval_ms,
	    j->c->submit.retry_max_interval_ms, false,
	    keys(j, "submit", "retry_initial_interval", "submit",
		"retry_max_interval"),
	    "[submit] retry_initial_interval: is longer than "
	    "retry_max_interval");
	order(j, w->inline_max, w->output_max, false,
	    keys(j, "worker", "inline_max", "worker", "output_max"),
	    "[worker] inline_max: is larger than output_max");
	if (j->c->s3.request_timeout_ms * 2 > w->lease_ms)
		say(j, CONF_WARNING,
		    keys(j, "worker", "lease", "s3", "request_timeout"),
		    "[worker] lease: is shorter than two request_timeout of "
		    "[s3]: one slow answer loses it");
}

static const struct conf_place *
handler_place(const struct conf_handler *h, const char *key)
{
	return &h->places[conf_key_find("handler", key) - conf_handler_keys];
}

static void
check_handler(struct judge *j, const struct conf_handler *h)
{
	struct pair section = { &h->place, NULL };
	size_t i;

	if (h->type == NULL && !handler_place(h, "type")->bad)
		say(j, CONF_ERROR, section, "[handler %s] needs a type",
		    h->name);
	if (h->command.text == NULL && !handler_place(h, "command")->bad)
		say(j, CONF_ERROR, section, "[handler %s] needs a command",
		    h->name);
	for (i = 0; i < sizeof(h->retry_exit.bits); i++) {
		if ((h->retry_exit.bits[i] & h->fail_exit.bits[i]) == 0)
			continue;
		say(j, CONF_ERROR,
		    (struct pair){ handler_place(h, "fail_exit"),
			handler_place(h, "retry_exit") },
		    "[handler %s] fail_exit: has a code of retry_exit",
		    h->name);
		break;
	}
	if (h->mode == CONF_MODE_EXEC && handler_place(h, "max_tasks")->file)
		say(j, CONF_ERROR,
		    (struct pair){ handler_place(h, "max_tasks"), NULL },
		    "[handler %s] max_tasks: is for mode = serve", h->name);
	if (h->user == NULL)
		say(j, CONF_WARNING, section,
		    "[handler %s] runs under the worker's own account and "
		    "could read its credentials: set user",
		    h->name);
}

static void
check_types(struct judge *j)
{
	const struct conf_handler *h, *other;
	size_t i, k;

	for (i = 0; i < j->c->nhandlers; i++) {
		h = &j->c->handlers[i];
		for (k = 0; k < i && h->type != NULL; k++) {
			other = &j->c->handlers[k];
			if (other->type == NULL ||
			    strcmp(other->type, h->type) != 0)
				continue;
			say(j, CONF_ERROR,
			    (struct pair){ handler_place(h, "type"), NULL },
			    "[handler %s] type: \"%s\" is served by [handler "
			    "%s] at %s:%u",
			    h->name, h->type, other->name, other->place.file,
			    other->place.line);
			break;
		}
	}
}

unsigned
conf_check(const struct conf *c, conf_report *report, void *arg)
{
	struct judge j = { c, report, arg, 0 };
	size_t i;

	check_http(&j);
	check_buckets(&j);
	check_credentials(&j);
	check_store(&j);
	check_times(&j);
	for (i = 0; i < c->nhandlers; i++)
		check_handler(&j, &c->handlers[i]);
	check_types(&j);
	return j.errors;
}
