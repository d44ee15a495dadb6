/*
 * Every statement that a connection keeps prepared, and the schema.
 */
#include "db_sql.h"

#define TABLES_2                                                              \
	"CREATE TABLE usage (owner TEXT PRIMARY KEY, bytes INTEGER NOT NULL)" \
	" WITHOUT ROWID;"                                                     \
	"CREATE TABLE joined (vid INTEGER PRIMARY KEY, sizes TEXT NOT NULL);" \
	"CREATE TABLE done ("                                                 \
	" upload TEXT PRIMARY KEY, bucket INTEGER NOT NULL, key BLOB NOT "    \
	"NULL,"                                                               \
	" at INTEGER NOT NULL, etag TEXT NOT NULL, version TEXT NOT NULL,"    \
	" checksum TEXT) WITHOUT ROWID;"                                      \
	"CREATE INDEX done_at ON done (at);"

const char db_to_format_2[] = "BEGIN IMMEDIATE;" TABLES_2
			      "PRAGMA user_version = 2;"
			      "COMMIT;";

const char db_schema[] =
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    /* AUTOINCREMENT: the id of a deleted bucket is never another's. */
    "CREATE TABLE bucket ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,"
    " owner TEXT NOT NULL, acl INTEGER NOT NULL, versioning INTEGER NOT NULL,"
    " created INTEGER NOT NULL, cors TEXT, lifecycle TEXT);"
    /* The body stands last: reading the other columns of a large row does
     * not touch its overflow pages. */
    "CREATE TABLE version ("
    " vid INTEGER PRIMARY KEY, bucket INTEGER NOT NULL, key BLOB NOT NULL,"
    " size INTEGER NOT NULL, mtime INTEGER NOT NULL, etag TEXT NOT NULL,"
    " crc INTEGER NOT NULL, parts INTEGER NOT NULL, acl INTEGER NOT NULL,"
    " owner TEXT, headers TEXT, checksum TEXT, blob TEXT, body BLOB);"
    "CREATE INDEX version_blob ON version (blob) WHERE blob IS NOT NULL;"
    "CREATE TABLE current ("
    " bucket INTEGER NOT NULL, key BLOB NOT NULL, vid INTEGER NOT NULL,"
    " size INTEGER NOT NULL, mtime INTEGER NOT NULL, flags INTEGER NOT NULL,"
    " etag TEXT NOT NULL, owner TEXT,"
    " PRIMARY KEY (bucket, key)) WITHOUT ROWID;"
    "CREATE TABLE old ("
    " bucket INTEGER NOT NULL, key BLOB NOT NULL, vid INTEGER NOT NULL,"
    " size INTEGER NOT NULL, mtime INTEGER NOT NULL, flags INTEGER NOT NULL,"
    " etag TEXT NOT NULL, owner TEXT, since INTEGER NOT NULL,"
    " PRIMARY KEY (bucket, key, vid DESC)) WITHOUT ROWID;"
    "CREATE INDEX old_null ON old (bucket, key) WHERE flags & 1;"
    "CREATE TABLE upload ("
    " id TEXT PRIMARY KEY, bucket INTEGER NOT NULL, key BLOB NOT NULL,"
    " initiated INTEGER NOT NULL, acl INTEGER NOT NULL, owner TEXT,"
    " headers TEXT, checksum TEXT) WITHOUT ROWID;"
    "CREATE UNIQUE INDEX upload_key ON upload (bucket, key, id);"
    "CREATE TABLE part ("
    " pid INTEGER PRIMARY KEY, upload TEXT NOT NULL, number INTEGER NOT NULL,"
    " size INTEGER NOT NULL, mtime INTEGER NOT NULL, etag TEXT NOT NULL,"
    " crc INTEGER NOT NULL, checksum TEXT, blob TEXT, body BLOB);"
    "CREATE UNIQUE INDEX part_number ON part (upload, number);"
    "CREATE INDEX part_blob ON part (blob) WHERE blob IS NOT NULL;" TABLES_2;

#define BUCKET_COLS \
	"id, name, owner, acl, versioning, created, cors, lifecycle "
#define CUR_COLS "vid, size, mtime, flags, etag, owner "
#define OLD_COLS CUR_COLS ", since "
#define VER_COLS                                                              \
	"v.size, v.mtime, v.etag, v.crc, v.parts, v.acl, v.owner, v.headers," \
	" v.checksum, v.blob "
/* A current row and its body at once. */
#define CUR_VERSION                                             \
	" FROM current c CROSS JOIN version v ON v.vid = c.vid" \
	" WHERE c.bucket = ? AND c.key = ?"
#define UP_COLS   "id, key, initiated, acl, owner, headers, checksum "
#define PART_COLS "pid, number, size, mtime, etag, crc, checksum, blob "

const char *const db_sql[ST_COUNT] = {
	[ST_BEGIN_READ] = "BEGIN",
	[ST_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	[ST_COMMIT] = "COMMIT",
	[ST_ROLLBACK] = "ROLLBACK",
	[ST_META_GET] = "SELECT value FROM meta WHERE name = ?",
	[ST_META_SET] = "REPLACE INTO meta (name, value) VALUES (?, ?)",

	[ST_BUCKET_NAME] = "SELECT " BUCKET_COLS "FROM bucket WHERE name = ?",
	[ST_BUCKET_ID] = "SELECT versioning FROM bucket WHERE id = ?",
	[ST_BUCKET_EACH] = "SELECT " BUCKET_COLS "FROM bucket ORDER BY name",
	[ST_BUCKET_NEW] =
	    "INSERT INTO bucket (name, owner, acl, versioning, created)"
	    " VALUES (?, ?, ?, ?, ?)",
	[ST_BUCKET_DROP] = "DELETE FROM bucket WHERE id = ?",
	[ST_BUCKET_USED] =
	    "SELECT 1 WHERE EXISTS (SELECT 1 FROM current WHERE bucket = ?1)"
	    " OR EXISTS (SELECT 1 FROM old WHERE bucket = ?1)",
	[ST_BUCKET_VERSIONING] =
	    "UPDATE bucket SET versioning = ?2 WHERE id = ?1",
	[ST_BUCKET_ACL] = "UPDATE bucket SET acl = ?2 WHERE id = ?1",
	[ST_BUCKET_CORS] = "UPDATE bucket SET cors = ?2 WHERE id = ?1",
	[ST_BUCKET_LIFECYCLE] =
	    "UPDATE bucket SET lifecycle = ?2 WHERE id = ?1",

	[ST_CUR_GET] = "SELECT " CUR_COLS
		       "FROM current WHERE bucket = ? AND key = ?",
	[ST_CUR_META] = "SELECT " VER_COLS
			", c.vid, c.mtime, c.flags" CUR_VERSION,
	[ST_CUR_BODY] = "SELECT " VER_COLS
			", c.vid, c.mtime, c.flags, v.body" CUR_VERSION,
	[ST_CUR_PUT] =
	    "REPLACE INTO current (bucket, key, vid, size, mtime, flags,"
	    " etag, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	[ST_CUR_DROP] = "DELETE FROM current WHERE bucket = ? AND key = ?",
	[ST_CUR_LIST] = "SELECT " CUR_COLS ", key FROM current"
			" WHERE bucket = ? AND key >= ? ORDER BY key",

	[ST_OLD_TOP] = "SELECT " OLD_COLS "FROM old WHERE bucket = ?"
		       " AND key = ? ORDER BY vid DESC LIMIT 1",
	[ST_OLD_GET] = "SELECT " OLD_COLS "FROM old WHERE bucket = ?"
		       " AND key = ? AND vid = ?",
	[ST_OLD_NULL] = "SELECT " OLD_COLS "FROM old INDEXED BY old_null"
			" WHERE bucket = ? AND key = ? AND flags & 1",
	[ST_OLD_PUT] =
	    "INSERT INTO old (bucket, key, vid, size, mtime, flags, etag,"
	    " owner, since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[ST_OLD_DROP] =
	    "DELETE FROM old WHERE bucket = ? AND key = ? AND vid = ?",
	[ST_OLD_LIST] = "SELECT " OLD_COLS ", key FROM old WHERE bucket = ?"
			" AND key >= ? ORDER BY key, vid DESC",
	[ST_OLD_REST] = "SELECT " OLD_COLS ", key FROM old WHERE bucket = ?"
			" AND key = ? AND vid < ? ORDER BY vid DESC",
	[ST_OLD_FIRST] = "SELECT " OLD_COLS "FROM old WHERE bucket = ?"
			 " AND key = ? ORDER BY vid ASC LIMIT 1",

	[ST_VER_META] = "SELECT " VER_COLS "FROM version v WHERE vid = ?",
	[ST_VER_BODY] = "SELECT " VER_COLS
			", body FROM version v WHERE vid = ?",
	[ST_VER_PUT] =
	    "INSERT INTO version (vid, bucket, key, size, mtime, etag, crc,"
	    " parts, acl, owner, headers, checksum, blob, body)"
	    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[ST_VER_LOOK] =
	    "SELECT blob, size, owner, parts FROM version WHERE vid = ?",
	[ST_VER_DROP] = "DELETE FROM version WHERE vid = ?",
	[ST_VER_ACL] = "UPDATE version SET acl = ?2 WHERE vid = ?1",
	[ST_BLOB_USED] =
	    "SELECT 1 WHERE EXISTS (SELECT 1 FROM version WHERE blob = ?1)"
	    " OR EXISTS (SELECT 1 FROM part WHERE blob = ?1)",

	[ST_JOINED_GET] = "SELECT sizes FROM joined WHERE vid = ?",
	[ST_JOINED_PUT] = "INSERT INTO joined (vid, sizes) VALUES (?, ?)",
	[ST_JOINED_DROP] = "DELETE FROM joined WHERE vid = ?",
	[ST_USAGE_GET] = "SELECT bytes FROM usage WHERE owner = ?",
	[ST_USAGE_SET] = "REPLACE INTO usage (owner, bytes) VALUES (?, ?)",

	[ST_USAGE_CLEAR] = "DELETE FROM usage",
	[ST_USAGE_COUNT] =
	    "INSERT INTO usage SELECT coalesce(owner, ''), sum(size) FROM"
	    " (SELECT owner, size FROM version UNION ALL SELECT u.owner, p.size"
	    " FROM part p JOIN upload u ON u.id = p.upload) GROUP BY 1",

	[ST_UP_GET] = "SELECT " UP_COLS "FROM upload WHERE id = ?"
		      " AND bucket = ? AND key = ?",
	[ST_UP_NEW] =
	    "INSERT INTO upload (id, bucket, key, initiated, acl, owner,"
	    " headers, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	[ST_UP_DROP] = "DELETE FROM upload WHERE id = ?",
	[ST_UP_LIST] = "SELECT " UP_COLS "FROM upload INDEXED BY upload_key"
		       " WHERE bucket = ?1 AND (key, id) > (?2, ?3)"
		       " ORDER BY key, id",
	[ST_UP_OLD] = "SELECT " UP_COLS "FROM upload INDEXED BY upload_key"
		      " WHERE bucket = ? AND key >= ? AND initiated < ?"
		      " ORDER BY key LIMIT 1",
	[ST_UP_BUCKET] = "SELECT " UP_COLS "FROM upload INDEXED BY upload_key"
			 " WHERE bucket = ? LIMIT 1",

	[ST_DONE_GET] = "SELECT etag, version, checksum FROM done"
			" WHERE upload = ? AND bucket = ? AND key = ?",
	[ST_DONE_PUT] =
	    "INSERT INTO done (upload, bucket, key, at, etag, version,"
	    " checksum) VALUES (?, ?, ?, ?, ?, ?, ?)",
	[ST_DONE_FORGET] = "DELETE FROM done WHERE at < ?",

	[ST_PART_GET] = "SELECT " PART_COLS
			"FROM part WHERE upload = ? AND number = ?",
	[ST_PART_BODY] = "SELECT body FROM part WHERE pid = ?",
	[ST_PART_PUT] =
	    "INSERT INTO part (pid, upload, number, size, mtime, etag, crc,"
	    " checksum, blob, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[ST_PART_LIST] = "SELECT " PART_COLS "FROM part WHERE upload = ?"
			 " AND number > ? ORDER BY number",
	[ST_PART_DROP] = "DELETE FROM part WHERE pid = ?",
	[ST_PART_DROP_ALL] = "DELETE FROM part WHERE upload = ?",
};
