/*
 * Listings, page by page, over keys that are hard to carry.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "s3_live.h"
#include "s3body.h"
#include "xalloc.h"

#define LONG_KEY 1024
#define MANY     1000

static char long_key[LONG_KEY + 1];

static const char *const awkward[] = {
	" leading",
	"\"double\" 'single'",
	"%41%2F%zz",
	"&amp;",
	"+plus+",
	"<tag>",
	"a b",
	"a  b",
	"a%20b",
	"a+b",
	"a/b",
	"a//b",
	"a/b/",
	"a=b;c,d?e#f",
	"comma,:@!$*()",
	"dot/./dot",
	"dot/../dot",
	long_key,
	"trailing ",
	"~tilde",
	"\xc3\xa9t\xc3\xa9",
	"\xe2\x82\xac",
	"\xef\xbf\xbd",
	"\xf0\x9f\x98\x80",
};

static int
by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists to the end with pages of max, and compares. */
static void
walk(struct live *l, struct qo_s3_req *r, const char *const *want, size_t n)
{
	const struct qo_s3_list *list;
	char *token = NULL;
	size_t seen = 0, pages = 0, i;

	do {
		r->continuation = token;
		expect(l, r, QO_S3_OK);
		list = r->res.list;
		need(l, list->n <= r->max_keys && list->skipped == 0);
		for (i = 0; i < list->n; i++) {
			need(l, seen < n);
			live_need(l,
			    strcmp(list->entries[i].key, want[seen]) == 0,
			    "\"%s\" is listed where \"%s\" should be",
			    list->entries[i].key, want[seen]);
			seen++;
		}
		free(token);
		token = list->truncated ? xstrdup(list->next_token) : NULL;
		need(l, ++pages <= 2 * n + 2);
	} while (token != NULL);
	need(l, seen == n);
}

static void
delete_all(struct live *l, const char *bucket, const char *const *keys,
    size_t n)
{
	struct qo_s3_delete_key *list = xcalloc(n, sizeof(*list));
	struct qo_s3_req r;
	struct qo_err err;
	struct buf b;
	size_t i;

	for (i = 0; i < n; i++)
		list[i].key = keys[i];
	buf_init(&b, 4 << 20);
	need(l, qo_s3body_delete(&b, list, n, false, &err) == 0);
	qo_s3_req_init(&r, QO_S3_DELETE_MANY, bucket, NULL);
	r.body = b.data;
	r.body_len = b.len;
	expect(l, &r, QO_S3_OK);
	need(l, r.res.deleted->deleted == n && r.res.deleted->n == 0);
	/* Again and quietly: nothing is there, and that is no error. */
	buf_reset(&b);
	need(l, qo_s3body_delete(&b, list, n, true, &err) == 0);
	r.body = b.data;
	r.body_len = b.len;
	expect(l, &r, QO_S3_OK);
	need(l, r.res.deleted->deleted == 0 && r.res.deleted->n == 0);
	qo_s3_req_fini(&r);
	buf_fini(&b);
	free(list);
	qo_s3_req_init(&r, QO_S3_LIST, bucket, NULL);
	expect(l, &r, QO_S3_OK);
	need(l, r.res.list->n == 0 && !r.res.list->truncated);
	qo_s3_req_fini(&r);
}

static void
case_awkward_keys(struct live *l)
{
	const char *name = live_bucket(l, false), *sorted[nitems(awkward)];
	struct qo_s3_req r;
	size_t i, max;

	memset(long_key, 'k', LONG_KEY);
	memcpy(sorted, awkward, sizeof(awkward));
	qsort(sorted, nitems(sorted), sizeof(sorted[0]), by_bytes);
	for (i = 0; i < nitems(awkward); i++)
		live_put(l, name, awkward[i], awkward[i], NULL);
	for (i = 0; i < nitems(awkward); i++)
		live_same(l, name, awkward[i], awkward[i]);
	qo_s3_req_init(&r, QO_S3_LIST, name, NULL);
	for (max = 1; max <= 7; max++) {
		r.max_keys = (unsigned)max;
		walk(l, &r, sorted, nitems(sorted));
	}
	/* Each of them as start-after and as prefix. */
	r.max_keys = 5;
	for (i = 0; i < nitems(sorted); i++) {
		r.start_after = sorted[i];
		walk(l, &r, sorted + i + 1, nitems(sorted) - i - 1);
	}
	r.start_after = NULL;
	r.max_keys = 1;
	for (i = 0; i < nitems(sorted); i++) {
		r.prefix = sorted[i];
		r.continuation = NULL;
		expect(l, &r, QO_S3_OK);
		need(l, r.res.list->n == 1);
		need(l, strcmp(r.res.list->entries[0].key, sorted[i]) == 0);
	}
	qo_s3_req_fini(&r);
	delete_all(l, name, awkward, nitems(awkward));
}

/* Keys and common prefixes come merged, whatever the size of a page. */
static void
case_delimiter(struct live *l)
{
	static const char *const keys[] = { "a", "b/1", "b/2", "b/c/1", "c+d/x",
		"c d/x", "e", "f//", "f/g" };
	static const char *const want_keys[] = { "a", "e" };
	static const char *const want_prefixes[] = { "b/", "c d/", "c+d/",
		"f/" };
	const char *name = live_bucket(l, false);
	char *token;
	size_t max, i, nk, np;
	struct qo_s3_req r;

	for (i = 0; i < nitems(keys); i++)
		live_put(l, name, keys[i], "", NULL);
	qo_s3_req_init(&r, QO_S3_LIST, name, NULL);
	r.delimiter = "/";
	for (max = 1; max <= 7; max++) {
		token = NULL;
		nk = np = 0;
		do {
			r.max_keys = (unsigned)max;
			r.continuation = token;
			expect(l, &r, QO_S3_OK);
			need(l, r.res.list->n + r.res.list->nprefixes <= max);
			for (i = 0; i < r.res.list->n; i++, nk++)
				need(l,
				    nk < nitems(want_keys) &&
					strcmp(r.res.list->entries[i].key,
					    want_keys[nk]) == 0);
			for (i = 0; i < r.res.list->nprefixes; i++, np++)
				need(l,
				    np < nitems(want_prefixes) &&
					strcmp(r.res.list->prefixes[i],
					    want_prefixes[np]) == 0);
			free(token);
			token = r.res.list->truncated
			    ? xstrdup(r.res.list->next_token)
			    : NULL;
		} while (token != NULL);
		need(l, nk == nitems(want_keys) && np == nitems(want_prefixes));
	}
	r.max_keys = 0;
	r.continuation = NULL;
	r.prefix = "b/";
	expect(l, &r, QO_S3_OK);
	need(l, r.res.list->n == 2 && r.res.list->nprefixes == 1);
	need(l, strcmp(r.res.list->prefixes[0], "b/c/") == 0);
	r.start_after = "b/1";
	expect(l, &r, QO_S3_OK);
	need(l, r.res.list->n == 1 && r.res.list->nprefixes == 1);
	qo_s3_req_fini(&r);
}

/* Three keys with three versions each and a delete marker on one. */
static void
case_list_versions(struct live *l)
{
	static const char *const keys[] = { "a b", "a+b", "\xc3\xa9" };
	const char *name = live_bucket(l, true), *last;
	struct qo_s3_req r;
	char *key, *version, seen[64];
	size_t max, i, total, markers, latest;

	for (i = 0; i < 9; i++)
		live_put(l, name, keys[i / 3], "v", NULL);
	qo_s3_req_init(&r, QO_S3_DELETE, name, keys[1]);
	expect(l, &r, QO_S3_OK);
	qo_s3_req_fini(&r);
	qo_s3_req_init(&r, QO_S3_LIST_VERSIONS, name, NULL);
	for (max = 1; max <= 11; max++) {
		key = version = NULL;
		total = markers = latest = 0;
		seen[0] = '\0';
		do {
			r.max_keys = (unsigned)max;
			r.key_marker = key;
			r.version_marker = version;
			expect(l, &r, QO_S3_OK);
			need(l, r.res.list->n <= max);
			for (i = 0; i < r.res.list->n; i++) {
				last = r.res.list->entries[i].key;
				/* The newest of a key comes first. */
				need(l, strcmp(seen, last) <= 0);
				need(l,
				    r.res.list->entries[i].is_latest ==
					(strcmp(seen, last) != 0));
				strlcpy(seen, last, sizeof(seen));
				markers += r.res.list->entries[i].is_marker;
				latest += r.res.list->entries[i].is_latest;
			}
			total += r.res.list->n;
			need(l, total <= 10);
			free(key);
			free(version);
			key = version = NULL;
			if (r.res.list->truncated) {
				key = xstrdup(r.res.list->next_marker);
				version = xstrdup(r.res.list->next_version);
			}
		} while (key != NULL);
		need(l, total == 10 && markers == 1 && latest == 3);
	}
	qo_s3_req_fini(&r);
}

/* 1,000 keys in a session of 64 at a time, and gone in one request. */

struct many {
	struct live *live;
	const char *bucket;
	struct qo_s3_req reqs[64];
	char *keys[MANY];
	size_t sent, done;
};

static void
many_next(struct many *m, struct qo_s3_req *r)
{
	if (m->sent == MANY)
		return;
	r->key = m->keys[m->sent++];
	qo_s3_send(m->live->s3, r);
}

static void
many_done(struct qo_s3_req *r)
{
	struct many *m = r->arg;

	live_need(m->live, r->res.outcome == QO_S3_OK, "%s", r->res.err.msg);
	m->done++;
	many_next(m, r);
}

static void
case_many_keys(struct live *l)
{
	static struct many m;
	size_t i;

	m.live = l;
	m.bucket = live_bucket(l, false);
	for (i = 0; i < MANY; i++)
		m.keys[i] = xasprintf("many/%04zu %s", i, i % 2 ? "é" : "&<");
	for (i = 0; i < nitems(m.reqs); i++) {
		qo_s3_req_init(&m.reqs[i], QO_S3_PUT, m.bucket, NULL);
		m.reqs[i].done = many_done;
		m.reqs[i].arg = &m;
		many_next(&m, &m.reqs[i]);
	}
	while (m.done < MANY)
		loop_once(l->loop, -1);
	for (i = 0; i < nitems(m.reqs); i++)
		qo_s3_req_fini(&m.reqs[i]);
	qo_s3_req_init(&m.reqs[0], QO_S3_LIST, m.bucket, NULL);
	expect(l, &m.reqs[0], QO_S3_OK);
	need(l, m.reqs[0].res.list->n == MANY);
	qo_s3_req_fini(&m.reqs[0]);
	delete_all(l, m.bucket, (const char *const *)m.keys, MANY);
	for (i = 0; i < MANY; i++)
		free(m.keys[i]);
}

const struct live_case live_lists[] = {
	{ "awkward_keys", case_awkward_keys },
	{ "delimiter", case_delimiter },
	{ "list_versions", case_list_versions },
	{ "many_keys", case_many_keys },
	{ NULL, NULL },
};
