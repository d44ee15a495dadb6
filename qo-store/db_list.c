/*
 * Listings: ranges of the keys' b-trees, read in order.  With a delimiter the
 * first key under a common prefix stands for all of them: the next one seen
 * makes the cursor seek to the prefix's successor, so a listing costs what it
 * returns, however much lies under a prefix.
 */
#include <string.h>

#include "db_int.h"
#include "xalloc.h"

/* A position in one of the two trees. */
struct cursor {
	enum db_st id;
	int key_col;
	bool row;
	const char *key; /* SQLite's, until the next step */
	size_t key_len;
};

struct scan {
	struct db *db;
	struct db_conn *c;
	int64_t bucket;
	const struct db_list *q;
	const struct db_list_cb *cb;
	size_t prefix_len, delim_len;
	size_t n;
	bool more;
	/* The last entry given out, which is where the next page begins. */
	char last[DB_KEY_MAX + 1];
	size_t last_len;
	bool last_common; /* it is a common prefix */
	char last_version[DB_VID_MAX];
};

static bool
starts_with(const char *s, size_t len, const char *prefix, size_t prefix_len)
{
	return len >= prefix_len &&
	    (prefix_len == 0 || memcmp(s, prefix, prefix_len) == 0);
}

/* The length of the common prefix that a key belongs to, or 0. */
static size_t
common_len(const struct scan *s, const char *key, size_t len)
{
	const char *p;

	if (s->delim_len == 0 ||
	    !starts_with(key, len, s->q->prefix, s->prefix_len))
		return 0;
	p = memmem(key + s->prefix_len, len - s->prefix_len, s->q->delimiter,
	    s->delim_len);
	return p == NULL ? 0 : (size_t)(p - key) + s->delim_len;
}

/* Moves to the next row. */
static enum db_rc
advance(struct scan *s, struct cursor *k)
{
	sqlite3_stmt *st = s->c->st[k->id];
	enum db_rc rc;

	k->row = false;
	if ((rc = db_step(s->c, k->id)) != DB_OK)
		return rc == DB_NO_KEY ? DB_OK : rc;
	k->key = sqlite3_column_blob(st, k->key_col);
	k->key_len = (size_t)sqlite3_column_bytes(st, k->key_col);
	if (k->key_len > DB_KEY_MAX)
		k->key_len = DB_KEY_MAX; /* only in a damaged database */
	if (starts_with(k->key, k->key_len, s->q->prefix, s->prefix_len))
		k->row = true;
	else
		sqlite3_reset(st);
	return DB_OK;
}

/* Moves to the first key at or above these bytes. */
static enum db_rc
seek(struct scan *s, struct cursor *k, const char *from, size_t len)
{
	sqlite3_stmt *st = s->c->st[k->id];

	sqlite3_reset(st);
	sqlite3_bind_int64(st, 1, s->bucket);
	sqlite3_bind_blob(st, 2, from, (int)len, SQLITE_TRANSIENT);
	return advance(s, k);
}

/* Moves to the first key that does not begin with these bytes and is above
 * them. */
static enum db_rc
seek_past(struct scan *s, struct cursor *k, const char *prefix, size_t len)
{
	unsigned char up[DB_KEY_MAX];

	memcpy(up, prefix, len);
	while (len > 0 && up[len - 1] == 0xff)
		len--;
	if (len == 0) {
		sqlite3_reset(s->c->st[k->id]);
		k->row = false;
		return DB_OK;
	}
	up[len - 1]++;
	return seek(s, k, (const char *)up, len);
}

/* Moves to where the page begins. */
static enum db_rc
start(struct scan *s, struct cursor *k)
{
	const char *after = s->q->after;
	size_t len;

	if (after == NULL || strcmp(after, s->q->prefix) < 0)
		return seek(s, k, s->q->prefix, s->prefix_len);
	len = strlen(after);
	if (len <= DB_KEY_MAX && len > 0 && common_len(s, after, len) == len)
		return seek_past(s, k, after, len);
	return seek(s, k, after, len + 1); /* with its NUL: above it */
}

/* Skips what the last common prefix stands for. */
static enum db_rc
skip_common(struct scan *s, struct cursor *k)
{
	if (!k->row || !s->last_common ||
	    !starts_with(k->key, k->key_len, s->last, s->last_len))
		return DB_OK;
	return seek_past(s, k, s->last, s->last_len);
}

static void
emit_object(struct scan *s, const struct cursor *k, bool latest)
{
	struct db_obj o;
	struct db_row r;

	db_row_read(s->c->st[k->id], 0, &r);
	memset(&o, 0, sizeof(o));
	o.file_fd = -1;
	s->last_len = k->key_len;
	memcpy(s->last, k->key, s->last_len);
	s->last[s->last_len] = '\0';
	s->last_common = false;
	o.key = s->last;
	db_vid_encode(s->c, r.vid, r.flags, o.version_id);
	memcpy(s->last_version, o.version_id, sizeof(s->last_version));
	memcpy(o.etag, r.etag, sizeof(o.etag));
	o.size = r.size;
	o.mtime_us = r.mtime_us;
	o.marker = (r.flags & DB_F_MARKER) != 0;
	o.latest = latest;
	o.meta.owner = r.owner;
	s->cb->object(&o, s->cb->arg);
}

/* Gives out the cursor's row, or the common prefix it belongs to; sets more
 * instead when the page is full. */
static void
emit(struct scan *s, const struct cursor *k, bool latest)
{
	size_t common;

	if (s->n == s->q->max) {
		s->more = true;
		return;
	}
	s->n++;
	common = common_len(s, k->key, k->key_len);
	if (common == 0) {
		emit_object(s, k, latest);
		return;
	}
	s->last_common = true;
	s->last_len = common;
	memcpy(s->last, k->key, common);
	s->last[common] = '\0';
	s->last_version[0] = '\0';
	s->cb->prefix(s->last, s->cb->arg);
}

static enum db_rc
list_current(struct scan *s)
{
	struct cursor k = { .id = ST_CUR_LIST, .key_col = 6 };
	enum db_rc rc;

	rc = start(s, &k);
	while (rc == DB_OK && !s->more) {
		if ((rc = skip_common(s, &k)) != DB_OK || !k.row)
			break;
		emit(s, &k, true);
		rc = s->more ? DB_OK : advance(s, &k);
	}
	sqlite3_reset(s->c->st[k.id]);
	return rc;
}

static bool
scan_init(struct scan *s, struct db *db, int64_t bucket,
    const struct db_list *q, const struct db_list_cb *cb)
{
	memset(s, 0, sizeof(*s));
	s->db = db;
	s->c = &db->rd;
	s->bucket = bucket;
	s->q = q;
	s->cb = cb;
	s->prefix_len = strlen(q->prefix);
	s->delim_len = q->delimiter == NULL ? 0 : strlen(q->delimiter);
	/* Nothing can be longer than a key. */
	return q->max > 0 && s->prefix_len <= DB_KEY_MAX;
}

static enum db_rc
run_scan(struct scan *s, enum db_rc (*list)(struct scan *s), bool *more,
    char **next)
{
	enum db_rc rc;

	if ((rc = db_read_begin(s->db)) == DB_OK) {
		rc = list(s);
		db_read_end(s->db);
	}
	if (rc != DB_OK)
		return db_read_logged(s->db, rc);
	*more = s->more;
	if (s->more)
		*next = xstrdup(s->last);
	return DB_OK;
}

enum db_rc
db_list(struct db *db, int64_t bucket, const struct db_list *q,
    const struct db_list_cb *cb, bool *more, char **next)
{
	struct scan s;

	*more = false;
	*next = NULL;
	if (!scan_init(&s, db, bucket, q, cb))
		return DB_OK;
	return run_scan(&s, list_current, more, next);
}

/* Versions */

/* Whether an old row is the newest of its key, with no current one above. */
static bool
is_latest(struct scan *s, const char *key, int64_t vid)
{
	struct db_row top;

	if (db_row_current(s->c, s->bucket, key, &top) == DB_OK)
		return false;
	return db_row_newest_old(s->c, s->bucket, key, &top) == DB_OK &&
	    top.vid == vid;
}

/* The versions of q->after that are older than q->after_version. */
static enum db_rc
list_rest(struct scan *s)
{
	struct cursor k = { .id = ST_OLD_REST, .key_col = 7 };
	sqlite3_stmt *st = s->c->st[ST_OLD_REST];
	const char *key = s->q->after;
	struct db_row r;
	int64_t vid;
	bool current;
	enum db_rc rc;

	/* An id tells its place even when that version is gone. */
	if ((vid = db_vid_decode(s->c, s->q->after_version)) == 0) {
		rc = db_row_version(s->c, s->bucket, key, s->q->after_version,
		    &r, &current);
		if (rc != DB_OK)
			return rc == DB_NO_VERSION ? DB_OK : rc;
		vid = r.vid;
	}
	sqlite3_bind_int64(st, 1, s->bucket);
	db_bind_key(st, 2, key);
	sqlite3_bind_int64(st, 3, vid);
	rc = advance(s, &k);
	while (rc == DB_OK && k.row && !s->more) {
		emit(s, &k, is_latest(s, key, sqlite3_column_int64(st, 0)));
		rc = s->more ? DB_OK : advance(s, &k);
	}
	sqlite3_reset(st);
	return rc;
}

static int
compare(const struct cursor *a, const struct cursor *b)
{
	size_t len = a->key_len < b->key_len ? a->key_len : b->key_len;
	int c;

	if ((c = memcmp(a->key, b->key, len)) != 0)
		return c;
	return a->key_len < b->key_len ? -1 : a->key_len > b->key_len;
}

/* Merges both trees: of one key the current row comes first, it is newest. */
static enum db_rc
list_merged(struct scan *s)
{
	struct cursor cur = { .id = ST_CUR_LIST, .key_col = 6 };
	struct cursor old = { .id = ST_OLD_LIST, .key_col = 7 };
	struct cursor *k;
	bool again;
	enum db_rc rc;

	if ((rc = start(s, &cur)) == DB_OK)
		rc = start(s, &old);
	while (rc == DB_OK && !s->more) {
		if ((rc = skip_common(s, &cur)) != DB_OK ||
		    (rc = skip_common(s, &old)) != DB_OK ||
		    (!cur.row && !old.row))
			break;
		k = !old.row || (cur.row && compare(&cur, &old) <= 0) ? &cur
								      : &old;
		again = s->n > 0 && !s->last_common &&
		    s->last_len == k->key_len &&
		    memcmp(s->last, k->key, k->key_len) == 0;
		emit(s, k, !again);
		rc = s->more ? DB_OK : advance(s, k);
	}
	sqlite3_reset(s->c->st[cur.id]);
	sqlite3_reset(s->c->st[old.id]);
	return rc;
}

static enum db_rc
list_versions(struct scan *s)
{
	const struct db_list *q = s->q;
	size_t len;
	enum db_rc rc;

	if (q->after != NULL && q->after_version != NULL &&
	    q->after_version[0] != '\0') {
		len = strlen(q->after);
		if (len <= DB_KEY_MAX && common_len(s, q->after, len) == 0 &&
		    (rc = list_rest(s)) != DB_OK)
			return rc;
	}
	return s->more ? DB_OK : list_merged(s);
}

enum db_rc
db_list_versions(struct db *db, int64_t bucket, const struct db_list *q,
    const struct db_list_cb *cb, bool *more, char **next, char **next_version)
{
	struct scan s;
	enum db_rc rc;

	*more = false;
	*next = *next_version = NULL;
	if (!scan_init(&s, db, bucket, q, cb))
		return DB_OK;
	rc = run_scan(&s, list_versions, more, next);
	if (*next != NULL && s.last_version[0] != '\0')
		*next_version = xstrdup(s.last_version);
	return rc;
}
