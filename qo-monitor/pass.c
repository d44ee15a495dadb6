#include <stdio.h>
#include <string.h>

#include "pass.h"

#define REMEMBERED 65536 /* entries that need no look for a while */
#define PAGE       1000
#define SHARD_PAGE 50 /* a shard is asked for its first few */

static void read_page(struct pass *p);

static void
finish(struct pass *p, enum qo_rc rc)
{
	p->rc = rc;
	p->done(p);
}

static void
end_round(struct pass *p)
{
	p->round_over = true;
	p->entries = p->count;
	p->seen = p->keys;
	p->oldest = p->first;
	p->count = p->keys = 0;
	p->first = QO_WALL_NONE;
	p->cursor[0] = '\0';
	later_clean(p->later, monitor_lo(p->m));
	finish(p, QO_OK);
}

void
pass_jump(const char *key, char out[QO_KEY_SIZE])
{
	const char *slash = strrchr(key, '/');
	size_t len;

	/* {index}/{shard}/{bucket}/{entry}: the shard ends at the second
	 * slash from the right.  ':' sorts behind every digit. */
	do
		slash--;
	while (*slash != '/');
	len = (size_t)(slash - key) + 1;
	memcpy(out, key, len);
	memcpy(out + len, ":", 2);
}

/* Since when it is due, at least: entries know the minute, and are not older
 * than they are. */
static struct qo_wall
due_since(const struct qo_entry *e, struct qo_wall modified)
{
	struct qo_wall t = { e->minute * 60 * QO_US_PER_SEC };

	return t.us > modified.us ? t : modified;
}

static bool
wants_look(const struct pass *p, const struct qo_s3_entry *e, struct qo_wall lo)
{
	if (!qo_wall_is_set(lo) ||
	    lo.us - e->last_modified.us < p->min_age_ms * QO_US_PER_MS)
		return false;
	return !later_is(p->later, e->key, lo);
}

static bool
looks_full(const struct pass *p)
{
	return p->looks_max != 0 &&
	    p->looks + look_count(&p->look) >= p->looks_max;
}

/* One entry; false: this turn has no room for it, and ends before it. */
static bool
take(struct pass *p, const struct qo_s3_entry *e, struct qo_wall lo)
{
	struct qo_entry entry;
	struct qo_wall since;

	p->jumped = false;
	if (qo_entry_parse(&p->m->q->layout, e->key, strlen(e->key), &entry) ==
	    -1) {
		/* No name of ours; fsck tells of it. */
		snprintf(p->cursor, sizeof(p->cursor), "%s", e->key);
		return true;
	}
	if (entry.minute > p->minute) {
		pass_jump(e->key, p->cursor);
		p->jumped = true;
		return true;
	}
	if (wants_look(p, e, lo)) {
		if (looks_full(p))
			return false;
		look_add(&p->look, &entry, e->last_modified);
	}
	snprintf(p->cursor, sizeof(p->cursor), "%s", e->key);
	p->count++;
	since = due_since(&entry, e->last_modified);
	if (!qo_wall_is_set(p->first) || since.us < p->first.us)
		p->first = since;
	return true;
}

static void
take_page(struct pass *p, const struct qo_s3_list *list)
{
	struct qo_wall lo = monitor_lo(p->m);
	size_t i;

	p->minute = qo_minute(qo_queue_now(p->m->q));
	for (i = 0; i < list->n; i++) {
		/* What a jump has passed. */
		p->keys++;
		if (strcmp(list->entries[i].key, p->cursor) <= 0)
			continue;
		if (!take(p, &list->entries[i], lo)) {
			p->keys--;
			break;
		}
	}
	p->last_page = i == list->n && !list->truncated;
}

static void
next_page(struct pass *p)
{
	if (p->last_page && !p->stopping)
		end_round(p);
	else if (p->stopping ||
	    (p->pages_max != 0 && p->pages >= p->pages_max) || looks_full(p))
		finish(p, QO_OK);
	else
		read_page(p);
}

static void
on_looked(struct look *l)
{
	next_page(l->arg);
}

static void
on_page(struct qo_s3_req *r)
{
	struct pass *p = r->arg;

	if (r->res.outcome != QO_S3_OK) {
		p->err = r->res.err;
		finish(p, qo_s3_outcome_rc(r->res.outcome));
		return;
	}
	p->pages++;
	take_page(p, r->res.list);
	p->looks += look_count(&p->look);
	if (look_count(&p->look) > 0)
		look_start(&p->look);
	else
		next_page(p);
}

static void
read_page(struct pass *p)
{
	struct qo_queue *q = p->m->q;

	qo_s3_req_fini(&p->list);
	qo_s3_req_init(&p->list, QO_S3_LIST, q->index_bucket, NULL);
	p->list.prefix = p->prefix;
	if (p->cursor[0] != '\0')
		p->list.start_after = p->cursor;
	p->list.max_keys = p->jumped ? SHARD_PAGE : PAGE;
	p->list.done = on_page;
	p->list.arg = p;
	qo_s3_send(q->s3, &p->list);
}

void
pass_init(struct pass *p, struct monitor *m, const char *index, size_t window)
{
	memset(p, 0, sizeof(*p));
	p->m = m;
	p->index = index;
	snprintf(p->prefix, sizeof(p->prefix), "%s%s", m->q->prefix, index);
	p->later = later_new(REMEMBERED);
	look_init(&p->look, m, window);
	p->look.later = p->later;
	p->look.done = on_looked;
	p->look.arg = p;
	p->oldest = p->first = QO_WALL_NONE;
	qo_s3_req_init(&p->list, QO_S3_LIST, NULL, NULL);
}

void
pass_fini(struct pass *p)
{
	qo_s3_req_fini(&p->list);
	look_fini(&p->look);
	later_free(p->later);
}

void
pass_stop(struct pass *p)
{
	p->stopping = true;
	look_stop(&p->look);
}

void
pass_start(struct pass *p)
{
	p->round_over = false;
	p->pages = p->looks = 0;
	read_page(p);
}
