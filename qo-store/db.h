/*
 * db.h - buckets, objects and their versions in one SQLite database.
 *
 * Reads run on the HTTP thread with a connection of their own and see every
 * commit that was answered.  Writes are operations: filled in by the caller,
 * queued with db_submit, carried out in order by the commit thread, many in
 * one transaction (group commit, WAL, synchronous=FULL), and given back on
 * the HTTP thread through op->done after they are on disk.  Conditions are
 * judged inside the transaction.  An operation that fails leaves nothing.
 * Slow work on files (syncing, copying and verifying large bodies) is done
 * by a third thread before the operation joins the queue, so it holds up
 * other large bodies but never the small ones.
 *
 * Bodies up to DB_INLINE_MAX live in the database, larger ones in a file
 * under blobs/ that is complete and synced before the row that names it is
 * committed, and unlinked only after the row that named it is gone; what a
 * crash leaves over is removed at the next start.
 */
#ifndef DB_H
#define DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "loop.h"

#define DB_INLINE_MAX (1024 * 1024)
#define DB_KEY_MAX    1024
#define DB_ETAG_MAX   48 /* hex md5, "-", part count, NUL; without quotes */
#define DB_VID_MAX    33 /* version id, or "null" */
#define DB_SUM_MAX    72 /* "crc32:base64", or "crc32:base64-3" */

struct db;

enum db_acl {
	DB_ACL_PRIVATE = 0,
	DB_ACL_PUBLIC_READ,
	DB_ACL_PUBLIC_READ_WRITE,
	DB_ACL_AUTHENTICATED_READ
};

enum db_versioning {
	DB_UNVERSIONED = 0,
	DB_VERSIONED,
	DB_SUSPENDED
};

enum db_rc {
	DB_OK = 0,
	DB_NO_BUCKET,
	DB_NO_KEY, /* no object, or the current version is a marker */
	DB_NO_VERSION,
	DB_NO_UPLOAD,
	DB_BAD_PART,     /* complete: a part is missing or its etag differs */
	DB_PART_ORDER,   /* complete: numbers not rising */
	DB_PART_SMALL,   /* complete: a part but the last is below 5 MiB */
	DB_TOO_LARGE,    /* complete: larger than max_size */
	DB_QUOTA,        /* the owner would have more than max_bytes */
	DB_EXISTS,       /* bucket create: somebody has it (see op->bucket) */
	DB_NOT_EMPTY,    /* bucket delete */
	DB_PRECONDITION, /* If-Match or If-None-Match does not hold */
	DB_FULL,         /* no space left: nothing was written */
	DB_READONLY,     /* the disk has become read-only */
	DB_CORRUPT,      /* a checksum does not fit what was stored */
	DB_ERROR         /* anything else; logged */
};

struct db_bucket {
	int64_t id;
	char name[64];
	char owner[65];
	enum db_acl acl;
	enum db_versioning versioning;
	int64_t created_us;
	/* Configuration documents as the API layer encoded them; NULL when not
	 * set.  Owned by the struct. */
	char *cors;
	char *lifecycle;
};

/* What a version is, apart from its body.  Strings are owned by the struct
 * when it came from a read, borrowed from the caller in an operation. */
struct db_meta {
	char *owner;
	enum db_acl acl;
	char *headers;  /* opaque to the db: content type, x-amz-meta-... */
	char *checksum; /* "crc32:base64" as the API layer writes it, or NULL */
};

struct db_obj {
	char *key;
	char version_id[DB_VID_MAX];
	char etag[DB_ETAG_MAX];
	int64_t size;
	int64_t mtime_us;
	bool marker; /* a delete marker: no etag, size, meta, body */
	bool latest;
	int64_t parts; /* 0 unless made by a multipart upload */
	/* Their sizes as "5242880 5242880 17", or NULL when not known. */
	char *part_sizes;
	struct db_meta meta;
	/* The body, when asked for: inline in data (owned), or, when
	 * file_fd is not -1, size bytes of that file from offset 0 (multipart
	 * objects are one file too). */
	char *data;
	int file_fd;
	uint32_t crc; /* what DB_OP_VERIFY compares the file with */
};

void db_bucket_fini(struct db_bucket *b);
void db_obj_fini(struct db_obj *o); /* closes file_fd unless taken (-1) */

/* A body on its way in.  Small ones stay in memory; beyond DB_INLINE_MAX the
 * bytes go to a temporary file as they come.  MD5 is computed on the way. */
struct db_body;
struct db_body *db_body_new(struct db *db);
/* 0, or -1: no space or an I/O error (the rc to answer with in *rc). */
int db_body_add(struct db_body *b, const void *p, size_t len, enum db_rc *rc);
int64_t db_body_size(const struct db_body *b);
/* Ends the body: after this its MD5 is known (16 bytes, borrowed). */
const unsigned char *db_body_md5(struct db_body *b);
void db_body_free(struct db_body *b); /* NULL is fine; removes the file */

/* dir is created with mode 0700 when missing.  Takes an exclusive lock: two
 * processes can not open one database.  NULL with *err. */
struct db *db_open(struct loop *l, const char *dir, struct qo_err *err);
/* Carries out what is queued, then closes.  What a done callback submits in
 * the course of it is given back with DB_ERROR. */
void db_close(struct db *db);
/* Say beside the lock that this process ends with its qod, and that it does so
 * now; see datalock.h. */
void db_set_child(struct db *db);
void db_set_orphan(struct db *db);

/* Reads.  DB_OK fills *out, which the caller then _fini's. */
enum db_rc db_bucket_get(struct db *db, const char *name,
    struct db_bucket *out);
/* Every bucket in the order of names; stops when cb returns false. */
enum db_rc db_bucket_each(struct db *db,
    bool (*cb)(const struct db_bucket *b, void *arg), void *arg);

enum db_read {
	DB_READ_META = 0,
	DB_READ_BODY
};
/* version_id NULL: the current one; DB_NO_KEY with out->marker set (and
 * version_id) when that is a marker.  A body read verifies its stored
 * checksum when it is inline; a file's is verified by DB_OP_VERIFY. */
enum db_rc db_get(struct db *db, int64_t bucket, const char *key,
    const char *version_id, enum db_read what, struct db_obj *out);

struct db_list {
	const char *prefix;        /* "" for all */
	const char *delimiter;     /* NULL or "" for none */
	const char *after;         /* exclusive; NULL from the beginning */
	const char *after_version; /* versions only: with after, continue
				      behind this version of that key */
	size_t max;                /* keys and common prefixes together */
};
/* The callbacks may db_get, but not list. */
struct db_list_cb {
	void (*object)(const struct db_obj *o, void *arg); /* no body, and of
							      meta only owner */
	void (*prefix)(const char *prefix, void *arg);
	void *arg;
};
/* In UTF-8 byte order.  *more: there is at least one further entry; *next
 * (owned by the caller, NULL unless more) is the `after` to go on with (for
 * a common prefix: that prefix; db_list skips all keys under it).  Cost
 * is proportional to what is returned, also with a delimiter. */
enum db_rc db_list(struct db *db, int64_t bucket, const struct db_list *q,
    const struct db_list_cb *cb, bool *more, char **next);
/* All versions, newest first within a key. next_version like next. */
enum db_rc db_list_versions(struct db *db, int64_t bucket,
    const struct db_list *q, const struct db_list_cb *cb, bool *more,
    char **next, char **next_version);

/* Multipart uploads. */
struct db_upload {
	char id[DB_VID_MAX];
	char *key;
	int64_t initiated_us;
	struct db_meta meta;
};
struct db_part {
	int number;
	char etag[DB_ETAG_MAX];
	int64_t size;
	int64_t mtime_us;
	char *checksum;
};
enum db_rc db_upload_get(struct db *db, int64_t bucket, const char *key,
    const char *upload_id, struct db_upload *out);
void db_upload_fini(struct db_upload *u);
/* Parts with a number above `after`, rising; at most max; *more as above. */
enum db_rc db_part_each(struct db *db, const char *upload_id, int after,
    size_t max, bool *more, void (*cb)(const struct db_part *p, void *arg),
    void *arg);
enum db_rc db_upload_each(struct db *db, int64_t bucket, const char *prefix,
    const char *after_key, const char *after_id, size_t max, bool *more,
    void (*cb)(const struct db_upload *u, void *arg), void *arg);

/* Writes. */
enum db_op_kind {
	DB_OP_BUCKET_CREATE = 1,
	DB_OP_BUCKET_DELETE,
	DB_OP_BUCKET_SET, /* versioning, acl, cors, lifecycle: those in `set` */
	DB_OP_PUT,
	DB_OP_DELETE, /* the keys in `deletes`, one or many */
	DB_OP_SET_ACL,
	DB_OP_UPLOAD_CREATE,
	DB_OP_PART_PUT,
	DB_OP_UPLOAD_COMPLETE, /* within a day also again */
	DB_OP_UPLOAD_ABORT,
	DB_OP_LIFECYCLE, /* one bounded step of one rule */
	DB_OP_VERIFY     /* a body file against its checksum: DB_CORRUPT */
};

enum db_set {
	DB_SET_VERSIONING = 1 << 0,
	DB_SET_ACL = 1 << 1,
	DB_SET_CORS = 1 << 2,
	DB_SET_LIFECYCLE = 1 << 3
};

struct db_delete {
	const char *key;
	const char
	    *version_id;      /* NULL: a marker, or the object if unversioned */
	const char *if_match; /* NULL, "*" or an etag without quotes */
	/* out */
	enum db_rc rc; /* DB_OK also when there was nothing */
	bool marker;   /* a marker was made or removed */
	bool existed;
	char out_version[DB_VID_MAX]; /* of the marker made or version removed;
					 "" in an unversioned bucket */
};

struct db_complete_part {
	int number;
	const char *etag;     /* without quotes */
	const char *checksum; /* what the part must have; NULL: any */
};

struct db_lifecycle {
	const char *prefix;
	int64_t noncurrent_before_us; /* expire noncurrent versions that became
					 noncurrent before this; 0: none */
	int64_t current_before_us; /* expire current objects older; 0: none */
	bool expired_markers;      /* remove markers without other versions */
	int64_t uploads_before_us; /* abort uploads older; 0: none */
	size_t max;                /* rows to look at in this step */
	const char *after;         /* key to continue behind; NULL: start */
	/* out */
	int64_t removed;
	char *next; /* owned by the op's owner; NULL: the pass is complete */
};

struct db_op {
	struct db_op *queue_next;    /* the db's */
	struct db_complete *private; /* the db's */
	enum db_op_kind kind;
	/* Called on the loop's thread; the op is the caller's again. */
	void (*done)(struct db_op *op);
	void *arg; /* the caller's */

	/* in: strings are borrowed until done */
	int64_t bucket_id;
	const char *bucket_name; /* create */
	const char *owner;       /* create; delete: of the marker */
	unsigned set;
	enum db_acl acl;
	enum db_versioning versioning;
	const char *cors, *lifecycle;
	const char *key;
	const char *version_id; /* SET_ACL */
	/* put, upload create; complete takes the upload's, and makes the
	 * checksum of those of the parts. */
	struct db_meta meta;
	const char *etag;     /* put: NULL = hex MD5 of the body */
	struct db_body *body; /* put, part: moved to the db by submit */
	/* put, part without a body and copy_len above 0: the body is copy_len
	 * bytes of this file (borrowed until done) from copy_off, read by the
	 * file thread.  For copies of large objects.  verify: the file. */
	int copy_fd;
	int64_t copy_off, copy_len;
	uint32_t crc;              /* verify */
	const char *if_match;      /* NULL, "*" or etag, no quotes */
	const char *if_none_match; /* NULL, "*" or etag, no quotes */
	const char *upload_id;
	int part_number;
	const char *part_checksum;
	const struct db_complete_part *parts;
	size_t nparts;
	int64_t max_size;          /* complete; 0: any */
	int64_t max_bytes;         /* put, part: of the owner's; 0: any */
	struct db_delete *deletes; /* DB_OP_DELETE */
	size_t ndeletes;
	struct db_lifecycle lc;

	/* out */
	enum db_rc rc;
	struct db_bucket bucket; /* create: who has it, on DB_EXISTS too */
	char out_etag[DB_ETAG_MAX];
	char out_version[DB_VID_MAX]; /* "" in an unversioned bucket */
	char out_upload[DB_VID_MAX];
	char out_checksum[DB_SUM_MAX]; /* complete; "" when it has none */
	int64_t out_mtime_us;
	int64_t out_size;
	int64_t out_seq; /* put, complete: > 0 when the key was created (was
			    absent or a marker before), else 0 */
};

void db_submit(struct db *db, struct db_op *op);

/* The number of the last created key: rises, survives a restart. */
int64_t db_seq(struct db *db);

/* Runs in the calling process, not through the loop.  Both open the database
 * read-only beside a running store. */
/* Integrity of the database, and every body against its checksum; problems
 * go to report() a line each.  The number of problems, or -1 with *err. */
int64_t db_check(const char *dir, void (*report)(const char *line, void *arg),
    void *arg, struct qo_err *err);
/* An online copy that is one consistent state: DEST is a new directory with
 * the database and its blobs, usable as a data directory. */
int db_backup(const char *dir, const char *dest,
    void (*progress)(int64_t done, int64_t total, void *arg), void *arg,
    struct qo_err *err);

#endif
