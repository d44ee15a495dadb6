/*
 * How many bytes each owner has stored: bodies of all versions and of parts.
 * Counted by the commit thread as it writes, and stored in the same
 * transaction, once for each owner and not for each write.  That is one more
 * page in every commit, so nothing is counted before somebody asks: then all
 * that is there is, once, and from then on what is added and removed.
 */
#include <stdlib.h>
#include <string.h>

#include "db_int.h"
#include "log.h"
#include "xalloc.h"

struct db_usage {
	struct db_usage *next;
	char owner[65];
	int64_t bytes;
	int64_t saved; /* as of the last commit */
};

/* In the transaction that asks for it. */
static enum db_rc
start(struct db *db)
{
	struct db_conn *c = &db->wr;
	enum db_rc rc;

	log_info("counting what each owner has stored");
	db_bind_text(c->st[ST_META_SET], 1, "usage");
	sqlite3_bind_int(c->st[ST_META_SET], 2, 1);
	if ((rc = db_run(c, ST_USAGE_CLEAR)) == DB_OK &&
	    (rc = db_run(c, ST_USAGE_COUNT)) == DB_OK)
		rc = db_run(c, ST_META_SET);
	if (rc == DB_OK)
		db->counting = true;
	return rc;
}

/* As many as there are owners: few. */
static enum db_rc
find(struct db *db, const char *owner, struct db_usage **out)
{
	sqlite3_stmt *st = db->wr.st[ST_USAGE_GET];
	struct db_usage *u;
	enum db_rc rc;

	if (owner == NULL)
		owner = "";
	for (u = db->usage; u != NULL; u = u->next)
		if (strcmp(u->owner, owner) == 0) {
			*out = u;
			return DB_OK;
		}
	db_bind_text(st, 1, owner);
	rc = db_step(&db->wr, ST_USAGE_GET);
	if (rc != DB_OK && rc != DB_NO_KEY)
		return rc;
	u = xcalloc(1, sizeof(*u));
	(void)strlcpy(u->owner, owner, sizeof(u->owner));
	if (rc == DB_OK) {
		u->bytes = u->saved = sqlite3_column_int64(st, 0);
		sqlite3_reset(st);
	}
	u->next = db->usage;
	*out = db->usage = u;
	return DB_OK;
}

enum db_rc
db_usage_add(struct db *db, const char *owner, int64_t bytes)
{
	struct db_usage *u;
	enum db_rc rc;

	if (!db->counting || bytes == 0)
		return DB_OK;
	if ((rc = find(db, owner, &u)) == DB_OK)
		u->bytes += bytes;
	return rc;
}

enum db_rc
db_usage_fits(struct db *db, const char *owner, int64_t more, int64_t max)
{
	struct db_usage *u;
	enum db_rc rc;

	if (max == 0 || more <= 0)
		return DB_OK;
	if (!db->counting && (rc = start(db)) != DB_OK)
		return rc;
	if ((rc = find(db, owner, &u)) != DB_OK)
		return rc;
	return u->bytes > max || more > max - u->bytes ? DB_QUOTA : DB_OK;
}

enum db_rc
db_usage_write(struct db *db)
{
	sqlite3_stmt *st = db->wr.st[ST_USAGE_SET];
	struct db_usage *u;
	enum db_rc rc = DB_OK;

	for (u = db->usage; u != NULL && rc == DB_OK; u = u->next) {
		if (u->bytes == u->saved)
			continue;
		db_bind_text(st, 1, u->owner);
		sqlite3_bind_int64(st, 2, u->bytes);
		rc = db_run(&db->wr, ST_USAGE_SET);
	}
	return rc;
}

void
db_usage_settle(struct db *db, bool committed)
{
	struct db_usage *u;

	if (!committed && db->counting != db->counted) {
		db->counting = db->counted;
		db_usage_free(db);
	}
	db->counted = db->counting;
	for (u = db->usage; u != NULL; u = u->next)
		if (committed)
			u->saved = u->bytes;
		else
			u->bytes = u->saved;
}

void
db_usage_free(struct db *db)
{
	struct db_usage *u;

	while ((u = db->usage) != NULL) {
		db->usage = u->next;
		free(u);
	}
}
