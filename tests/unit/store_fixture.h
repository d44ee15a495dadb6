/*
 * store_fixture.h - a database in a temporary directory, and writes that
 * wait for their answer.  For the tests of qo-store; a header because only
 * they link the database.
 */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "../../qo-store/db.h"
#include "xalloc.h"

static struct loop *fx_loop;
static struct db *fx_db;
static char fx_dir[128];

static inline int
fx_remove_one(const char *path, const struct stat *st, int flag,
    struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void
fx_remove_tree(const char *path)
{
	(void)nftw(path, fx_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void
fx_make_dir(char *out, size_t size)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(out, size, "%s/qo-store-XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(out));
}

static inline void
fx_open(void)
{
	struct qo_err err;

	qo_err_reset(&err);
	fx_db = db_open(fx_loop, fx_dir, &err);
	ck_assert_msg(fx_db != NULL, "%s", err.msg);
}

static inline void
fx_setup(void)
{
	fx_loop = loop_new();
	fx_make_dir(fx_dir, sizeof(fx_dir));
	fx_open();
}

static inline void
fx_teardown(void)
{
	db_close(fx_db);
	loop_free(fx_loop);
	fx_remove_tree(fx_dir);
}

static inline void
fx_reopen(void)
{
	db_close(fx_db);
	fx_open();
}

static inline void
fx_count_done(struct db_op *op)
{
	(*(size_t *)op->arg)++;
}

/* Submits n operations at once and waits for all. */
static inline void
fx_run_many(struct db_op *ops, size_t n)
{
	size_t i, done = 0;

	for (i = 0; i < n; i++) {
		ops[i].done = fx_count_done;
		ops[i].arg = &done;
		db_submit(fx_db, &ops[i]);
	}
	while (done < n)
		loop_once(fx_loop, -1);
}

static inline enum db_rc
fx_run(struct db_op *op)
{
	fx_run_many(op, 1);
	return op->rc;
}

static inline int64_t
fx_bucket(const char *name, enum db_versioning v)
{
	struct db_op op = { .kind = DB_OP_BUCKET_CREATE,
		.bucket_name = name,
		.owner = "me",
		.versioning = v };
	int64_t id;

	ck_assert_int_eq(fx_run(&op), DB_OK);
	id = op.bucket.id;
	db_bucket_fini(&op.bucket);
	return id;
}

static inline void
fx_versioning(int64_t bucket, enum db_versioning v)
{
	struct db_op op = { .kind = DB_OP_BUCKET_SET,
		.bucket_id = bucket,
		.set = DB_SET_VERSIONING,
		.versioning = v };

	ck_assert_int_eq(fx_run(&op), DB_OK);
}

static inline struct db_body *
fx_body(const void *p, size_t len)
{
	struct db_body *b;
	enum db_rc rc = DB_OK;

	b = db_body_new(fx_db);
	ck_assert_int_eq(db_body_add(b, p, len, &rc), 0);
	return b;
}

static inline struct db_op
fx_put_op(int64_t bucket, const char *key, const char *text)
{
	struct db_op op = { .kind = DB_OP_PUT,
		.bucket_id = bucket,
		.key = key,
		.body = fx_body(text, strlen(text)) };

	op.meta.owner = (char *)(uintptr_t) "me";
	return op;
}

/* Puts a text; the op tells the rest. */
static inline struct db_op
fx_put(int64_t bucket, const char *key, const char *text)
{
	struct db_op op = fx_put_op(bucket, key, text);

	ck_assert_int_eq(fx_run(&op), DB_OK);
	return op;
}

static inline struct db_delete
fx_delete(int64_t bucket, const char *key, const char *version_id)
{
	struct db_delete d = { .key = key, .version_id = version_id };
	struct db_op op = { .kind = DB_OP_DELETE,
		.bucket_id = bucket,
		.owner = "me",
		.deletes = &d,
		.ndeletes = 1 };

	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_int_eq(d.rc, DB_OK);
	return d;
}

/* The text of a key; "(none)", "(marker)", "(damaged)" or "(rc N)" when
 * there is none.
 * The caller frees. */
static inline char *
fx_get(int64_t bucket, const char *key, const char *version_id)
{
	struct db_obj o;
	enum db_rc rc;
	char *s;

	rc = db_get(fx_db, bucket, key, version_id, DB_READ_BODY, &o);
	if (rc == DB_NO_KEY)
		return xstrdup(o.marker ? "(marker)" : "(none)");
	if (rc == DB_CORRUPT)
		return xstrdup("(damaged)");
	if (rc != DB_OK)
		return xasprintf("(rc %d)", (int)rc);
	if (o.marker)
		s = xstrdup("(marker)");
	else {
		s = o.data;
		o.data = NULL;
	}
	db_obj_fini(&o);
	return s;
}

static inline void
fx_expect(int64_t bucket, const char *key, const char *version_id,
    const char *want)
{
	char *got = fx_get(bucket, key, version_id);

	ck_assert_str_eq(got, want);
	free(got);
}

#endif
