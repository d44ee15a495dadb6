/*
 * Verifies a whole database beside a running store: SQLite's own structure,
 * that the tables fit together, and every body against its checksum.  Bodies
 * are read in short transactions, so that the store's WAL does not pile up.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "db_int.h"
#include "xalloc.h"

#define BATCH 64

struct check {
	struct db_conn c;
	int blobs_fd;
	void (*report)(const char *line, void *arg);
	void *arg;
	int64_t problems;
};

/* Each row of each query is a problem: a text and a key. */
static const char *const queries[] = {
	"SELECT 'current row without its body', c.key FROM current c"
	" LEFT JOIN version v ON v.vid = c.vid WHERE v.vid IS NULL"
	" OR v.bucket <> c.bucket OR v.key <> c.key OR v.size <> c.size"
	" OR v.etag <> c.etag",
	"SELECT 'old row without its body', o.key FROM old o"
	" LEFT JOIN version v ON v.vid = o.vid WHERE o.flags & 2 = 0"
	" AND (v.vid IS NULL OR v.bucket <> o.bucket OR v.key <> o.key"
	" OR v.size <> o.size OR v.etag <> o.etag)",
	"SELECT 'body that no row names', v.key FROM version v"
	" WHERE NOT EXISTS (SELECT 1 FROM current c WHERE"
	" c.bucket = v.bucket AND c.key = v.key AND c.vid = v.vid)"
	" AND NOT EXISTS (SELECT 1 FROM old o WHERE"
	" o.bucket = v.bucket AND o.key = v.key AND o.vid = v.vid)",
	"SELECT 'current row that is not the newest', c.key FROM current c"
	" WHERE EXISTS (SELECT 1 FROM old o WHERE o.bucket = c.bucket"
	" AND o.key = c.key AND o.vid >= c.vid)",
	"SELECT 'newest old row is no marker and nothing is current', o.key"
	" FROM old o WHERE o.flags & 2 = 0 AND NOT EXISTS (SELECT 1 FROM"
	" current c WHERE c.bucket = o.bucket AND c.key = o.key)"
	" AND NOT EXISTS (SELECT 1 FROM old n WHERE n.bucket = o.bucket"
	" AND n.key = o.key AND n.vid > o.vid)",
	"SELECT 'object of a bucket that is not there', key FROM version"
	" WHERE bucket NOT IN (SELECT id FROM bucket)",
	"SELECT 'version number above the counter', key FROM version"
	" WHERE vid >= (SELECT value FROM meta WHERE name = 'vid_limit')",
	"SELECT 'part without its upload', upload FROM part"
	" WHERE upload NOT IN (SELECT id FROM upload)",
};

/* What there is only since format 2. */
static const char *const queries_2[] = {
	"SELECT 'wrong number of bytes of an owner', owner FROM"
	" (SELECT owner, sum(size) AS n FROM"
	" (SELECT coalesce(owner, '') AS owner, size FROM version"
	" UNION ALL SELECT coalesce(u.owner, ''), p.size FROM part p"
	" JOIN upload u ON u.id = p.upload"
	" UNION ALL SELECT owner, -bytes FROM usage) GROUP BY 1)"
	" WHERE n <> 0 AND EXISTS"
	" (SELECT 1 FROM meta WHERE name = 'usage' AND value = 1)",
	"SELECT 'sizes of parts that no row names', vid FROM joined"
	" WHERE vid NOT IN (SELECT vid FROM version WHERE parts > 0)",
};

static void __attribute__((format(printf, 2, 3)))
problem(struct check *k, const char *fmt, ...)
{
	struct buf line;
	va_list ap;

	buf_init(&line, 4096);
	va_start(ap, fmt);
	(void)buf_vaddf(&line, fmt, ap);
	va_end(ap);
	k->report(line.data, k->arg);
	k->problems++;
	buf_fini(&line);
}

static int
run_query(struct check *k, const char *sql, bool integrity)
{
	sqlite3_stmt *st = NULL;
	const char *text;
	int r;

	if (sqlite3_prepare_v2(k->c.h, sql, -1, &st, NULL) != SQLITE_OK)
		return -1;
	while ((r = sqlite3_step(st)) == SQLITE_ROW) {
		text = (const char *)sqlite3_column_text(st, 0);
		if (!integrity)
			problem(k, "%s: key %s", text,
			    (const char *)sqlite3_column_text(st, 1));
		else if (strcmp(text, "ok") != 0)
			problem(k, "database: %s", text);
	}
	sqlite3_finalize(st);
	return r == SQLITE_DONE ? 0 : -1;
}

/* One row: id, size, crc, blob, name, body. */
struct body_row {
	int64_t id;
	int64_t size;
	uint32_t crc;
	char blob[DB_NAME_LEN + 1];
	char name[DB_KEY_MAX + 1];
};

static bool
row_still_there(struct check *k, const char *table, const char *id_col,
    const struct body_row *row)
{
	sqlite3_stmt *st = NULL;
	char sql[128];
	bool there;

	(void)snprintf(sql, sizeof(sql),
	    "SELECT 1 FROM %s WHERE %s = ? AND blob = ?", table, id_col);
	if (sqlite3_prepare_v2(k->c.h, sql, -1, &st, NULL) != SQLITE_OK)
		return true;
	sqlite3_bind_int64(st, 1, row->id);
	db_bind_text(st, 2, row->blob);
	there = sqlite3_step(st) == SQLITE_ROW;
	sqlite3_finalize(st);
	return there;
}

static void
check_file(struct check *k, const char *table, const char *id_col,
    const struct body_row *row)
{
	int fd;

	fd = openat(k->blobs_fd, row->blob, O_RDONLY | O_CLOEXEC);
	if (fd == -1) {
		/* Deleted since its row was read, or really missing. */
		if (row_still_there(k, table, id_col, row))
			problem(k, "blobs/%s of %s %s: %s", row->blob, table,
			    row->name, strerror(errno));
		return;
	}
	if (db_file_verify(fd, row->size, row->crc) != DB_OK)
		problem(k, "blobs/%s of %s %s: its checksum does not fit",
		    row->blob, table, row->name);
	close(fd);
}

/* Reads up to BATCH rows above *last; files are looked at after the
 * transaction.  The number of rows, or -1. */
static int
check_batch(struct check *k, sqlite3_stmt *st, const char *table,
    const char *id_col, int64_t *last)
{
	struct body_row files[BATCH], row;
	const void *body;
	size_t len;
	int i, n = 0, nfiles = 0, r;

	sqlite3_bind_int64(st, 1, *last);
	while ((r = sqlite3_step(st)) == SQLITE_ROW) {
		n++;
		row.id = *last = sqlite3_column_int64(st, 0);
		row.size = sqlite3_column_int64(st, 1);
		row.crc = (uint32_t)sqlite3_column_int64(st, 2);
		db_col_copy(st, 3, row.blob, sizeof(row.blob));
		db_col_copy(st, 4, row.name, sizeof(row.name));
		if (row.blob[0] != '\0') {
			files[nfiles++] = row;
			continue;
		}
		body = sqlite3_column_blob(st, 5);
		len = (size_t)sqlite3_column_bytes(st, 5);
		if ((int64_t)len != row.size || crc32c(0, body, len) != row.crc)
			problem(k, "body of %s %s: its checksum does not fit",
			    table, row.name);
	}
	sqlite3_reset(st);
	for (i = 0; i < nfiles; i++)
		check_file(k, table, id_col, &files[i]);
	return r == SQLITE_DONE ? n : -1;
}

static int
check_bodies(struct check *k, const char *table, const char *id_col,
    const char *name_col)
{
	sqlite3_stmt *st = NULL;
	char sql[256];
	int64_t last = -1;
	int n;

	(void)snprintf(sql, sizeof(sql),
	    "SELECT %s, size, crc, blob, %s, body FROM %s WHERE %s > ?"
	    " ORDER BY %s LIMIT %d",
	    id_col, name_col, table, id_col, id_col, BATCH);
	if (sqlite3_prepare_v2(k->c.h, sql, -1, &st, NULL) != SQLITE_OK)
		return -1;
	do
		n = check_batch(k, st, table, id_col, &last);
	while (n == BATCH);
	sqlite3_finalize(st);
	return n == -1 ? -1 : 0;
}

int
db_open_beside(struct db_conn *c, const char *dir, struct qo_err *err)
{
	char *path;
	int rv = -1;

	path = xasprintf("%s/%s", dir, DB_FILE);
	if (sqlite3_open_v2(path, &c->h,
		SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		qo_err_set(err, "%s: %s", path, sqlite3_errmsg(c->h));
	else {
		sqlite3_busy_timeout(c->h, DB_BUSY_MS);
		rv = db_format_check(c, dir, err);
	}
	free(path);
	return rv;
}

static int
run_queries(struct check *k)
{
	size_t i;

	for (i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		if (run_query(k, queries[i], false) == -1)
			return -1;
	for (i = 0; i < sizeof(queries_2) / sizeof(queries_2[0]) &&
	     db_format(&k->c) >= 2;
	     i++)
		if (run_query(k, queries_2[i], false) == -1)
			return -1;
	return 0;
}

int64_t
db_check(const char *dir, void (*report)(const char *line, void *arg),
    void *arg, struct qo_err *err)
{
	struct check k = { .blobs_fd = -1, .report = report, .arg = arg };
	int64_t rv = -1;
	char *path;

	path = xasprintf("%s/blobs", dir);
	k.blobs_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k.blobs_fd == -1) {
		qo_err_sys(err, errno, "%s", path);
		goto out;
	}
	if (db_open_beside(&k.c, dir, err) == -1)
		goto out;
	if (run_query(&k, "PRAGMA integrity_check", true) == -1)
		goto fail;
	if (run_queries(&k) == -1)
		goto fail;
	if (check_bodies(&k, "version", "vid", "key") == -1 ||
	    check_bodies(&k, "part", "pid", "upload") == -1)
		goto fail;
	rv = k.problems;
	goto out;
fail:
	/* Too damaged to read on is a finding, not a failure to look. */
	if (db_conn_rc(&k.c) == DB_CORRUPT) {
		problem(&k, "database: %s", sqlite3_errmsg(k.c.h));
		rv = k.problems;
	} else
		qo_err_set(err, "%s/%s: %s", dir, DB_FILE,
		    sqlite3_errmsg(k.c.h));
out:
	db_conn_close(&k.c);
	if (k.blobs_fd != -1)
		close(k.blobs_fd);
	free(path);
	return rv;
}
