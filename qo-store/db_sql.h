/*
 * db_sql.h - the schema and the statements that every connection prepares.
 *
 * Columns are read by position: the order is that of the *_COLS lists in
 * db_sql.c.
 */
#ifndef DB_SQL_H
#define DB_SQL_H

enum db_st {
	ST_BEGIN_READ = 0,
	ST_BEGIN_WRITE,
	ST_COMMIT,
	ST_ROLLBACK,
	ST_META_GET,
	ST_META_SET,
	ST_BUCKET_NAME,
	ST_BUCKET_ID,
	ST_BUCKET_EACH,
	ST_BUCKET_NEW,
	ST_BUCKET_DROP,
	ST_BUCKET_USED,
	ST_BUCKET_VERSIONING,
	ST_BUCKET_ACL,
	ST_BUCKET_CORS,
	ST_BUCKET_LIFECYCLE,
	ST_CUR_GET,
	ST_CUR_META,
	ST_CUR_BODY,
	ST_CUR_PUT,
	ST_CUR_DROP,
	ST_CUR_LIST,
	ST_OLD_TOP,
	ST_OLD_GET,
	ST_OLD_NULL,
	ST_OLD_PUT,
	ST_OLD_DROP,
	ST_OLD_LIST,
	ST_OLD_REST,
	ST_OLD_FIRST,
	ST_VER_META,
	ST_VER_BODY,
	ST_VER_PUT,
	ST_VER_LOOK,
	ST_VER_DROP,
	ST_VER_ACL,
	ST_BLOB_USED,
	ST_JOINED_GET,
	ST_JOINED_PUT,
	ST_JOINED_DROP,
	ST_USAGE_GET,
	ST_USAGE_SET,
	ST_USAGE_CLEAR,
	ST_USAGE_COUNT,
	ST_UP_GET,
	ST_UP_NEW,
	ST_UP_DROP,
	ST_UP_LIST,
	ST_UP_OLD,
	ST_UP_BUCKET,
	ST_DONE_GET,
	ST_DONE_PUT,
	ST_DONE_FORGET,
	ST_PART_GET,
	ST_PART_BODY,
	ST_PART_PUT,
	ST_PART_LIST,
	ST_PART_DROP,
	ST_PART_DROP_ALL,
	ST_COUNT
};

extern const char db_schema[];
/* Makes a database of format 1 one of format 2. */
extern const char db_to_format_2[];
extern const char *const db_sql[ST_COUNT];

#endif
