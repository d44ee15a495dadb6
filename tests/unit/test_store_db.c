/* Buckets, objects, versions, conditions and what survives a restart. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "run_suite.h"
#include "store_fixture.h"

static size_t
count_files(const char *sub)
{
	char path[256];
	FILE *p;
	size_t n = 0;
	int c;

	(void)snprintf(path, sizeof(path), "ls %s/%s", fx_dir, sub);
	p = popen(path, "re");
	ck_assert_ptr_nonnull(p);
	while ((c = getc(p)) != EOF)
		n += c == '\n';
	pclose(p);
	return n;
}

static bool
note_bucket(const struct db_bucket *b, void *arg)
{
	struct buf *out = arg;

	buf_addf(out, "%s ", b->name);
	return strcmp(b->name, "stop") != 0;
}

START_TEST(test_buckets)
{
	struct db_op op = { .kind = DB_OP_BUCKET_CREATE,
		.bucket_name = "bb",
		.owner = "other" };
	struct db_bucket b;
	struct buf names;
	int64_t id;

	ck_assert_int_eq(db_bucket_get(fx_db, "bb", &b), DB_NO_BUCKET);
	id = fx_bucket("bb", DB_UNVERSIONED);
	fx_bucket("aa", DB_VERSIONED);
	fx_bucket("stop", DB_UNVERSIONED);
	fx_bucket("zz", DB_UNVERSIONED);
	ck_assert_int_eq(fx_run(&op), DB_EXISTS);
	ck_assert_str_eq(op.bucket.owner, "me");
	ck_assert_int_eq(op.bucket.id, id);
	db_bucket_fini(&op.bucket);
	ck_assert_int_eq(db_bucket_get(fx_db, "bb", &b), DB_OK);
	ck_assert_int_eq(b.id, id);
	ck_assert_ptr_null(b.cors);
	ck_assert_int_gt(b.created_us, 0);
	db_bucket_fini(&b);
	buf_init(&names, 100);
	ck_assert_int_eq(db_bucket_each(fx_db, note_bucket, &names), DB_OK);
	ck_assert_str_eq(names.data, "aa bb stop ");
	buf_fini(&names);
}
END_TEST

START_TEST(test_bucket_set)
{
	struct db_op op = { .kind = DB_OP_BUCKET_SET,
		.set = DB_SET_ACL | DB_SET_CORS | DB_SET_LIFECYCLE,
		.acl = DB_ACL_PUBLIC_READ,
		.cors = "cors doc",
		.lifecycle = "life doc" };
	struct db_bucket b;

	op.bucket_id = fx_bucket("bb", DB_VERSIONED);
	ck_assert_int_eq(fx_run(&op), DB_OK);
	op.set = DB_SET_CORS;
	op.cors = NULL;
	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_int_eq(db_bucket_get(fx_db, "bb", &b), DB_OK);
	ck_assert_ptr_null(b.cors);
	ck_assert_str_eq(b.lifecycle, "life doc");
	ck_assert_int_eq(b.acl, DB_ACL_PUBLIC_READ);
	ck_assert_int_eq(b.versioning, DB_VERSIONED);
	db_bucket_fini(&b);
	/* A versioned bucket can not become unversioned again. */
	fx_versioning(op.bucket_id, DB_UNVERSIONED);
	ck_assert_int_eq(db_bucket_get(fx_db, "bb", &b), DB_OK);
	ck_assert_int_eq(b.versioning, DB_SUSPENDED);
	db_bucket_fini(&b);
	op.bucket_id = 4711;
	ck_assert_int_eq(fx_run(&op), DB_NO_BUCKET);
}
END_TEST

START_TEST(test_bucket_delete)
{
	struct db_op del = { .kind = DB_OP_BUCKET_DELETE };
	struct db_op up = { .kind = DB_OP_UPLOAD_CREATE, .key = "k" };
	struct db_delete d;
	struct db_op put;

	del.bucket_id = up.bucket_id = fx_bucket("bb", DB_VERSIONED);
	put = fx_put(del.bucket_id, "k", "x");
	ck_assert_int_eq(fx_run(&del), DB_NOT_EMPTY);
	d = fx_delete(del.bucket_id, "k", NULL);
	ck_assert_int_eq(fx_run(&del), DB_NOT_EMPTY);
	fx_delete(del.bucket_id, "k", put.out_version);
	ck_assert_int_eq(fx_run(&del), DB_NOT_EMPTY);
	fx_delete(del.bucket_id, "k", d.out_version);
	ck_assert_int_eq(fx_run(&up), DB_OK);
	ck_assert_int_eq(fx_run(&del), DB_OK);
	ck_assert_int_eq(fx_run(&del), DB_NO_BUCKET);
	/* The id is never given to another bucket. */
	ck_assert_int_ne(fx_bucket("bb", DB_VERSIONED), del.bucket_id);
	put = fx_put_op(del.bucket_id, "k", "x");
	ck_assert_int_eq(fx_run(&put), DB_NO_BUCKET);
}
END_TEST

START_TEST(test_put_get)
{
	struct db_op op;
	struct db_obj o;
	int64_t b;

	b = fx_bucket("bb", DB_UNVERSIONED);
	fx_expect(b, "k", NULL, "(none)");
	op = fx_put_op(b, "k", "hello");
	op.meta.headers = (char *)(uintptr_t) "content-type: text/plain";
	op.meta.checksum = (char *)(uintptr_t) "crc32:xyz";
	op.meta.acl = DB_ACL_PUBLIC_READ;
	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_str_eq(op.out_etag, "5d41402abc4b2a76b9719d911017c592");
	ck_assert_str_eq(op.out_version, "");
	ck_assert_int_eq(op.out_size, 5);
	ck_assert_int_gt(op.out_seq, 0);
	ck_assert_int_eq(op.out_seq, db_seq(fx_db));
	fx_reopen();
	ck_assert_int_eq(db_get(fx_db, b, "k", NULL, DB_READ_META, &o), DB_OK);
	ck_assert_str_eq(o.key, "k");
	ck_assert_str_eq(o.etag, op.out_etag);
	ck_assert_str_eq(o.version_id, "null");
	ck_assert_int_eq(o.size, 5);
	ck_assert_int_eq(o.mtime_us, op.out_mtime_us);
	ck_assert(o.latest && !o.marker);
	ck_assert_ptr_null(o.data);
	ck_assert_str_eq(o.meta.owner, "me");
	ck_assert_str_eq(o.meta.headers, "content-type: text/plain");
	ck_assert_str_eq(o.meta.checksum, "crc32:xyz");
	ck_assert_int_eq(o.meta.acl, DB_ACL_PUBLIC_READ);
	db_obj_fini(&o);
	fx_expect(b, "k", NULL, "hello");
	fx_expect(b, "k", "null", "hello");
	fx_expect(b, "k", "0123", "(rc 3)");
	ck_assert_int_eq(DB_NO_VERSION, 3);
	op = fx_put(b, "k", "");
	ck_assert_int_eq(op.out_seq, 0);
	fx_expect(b, "k", NULL, "");
	ck_assert(fx_delete(b, "k", NULL).existed);
	fx_expect(b, "k", NULL, "(none)");
	ck_assert(!fx_delete(b, "k", NULL).existed);
	/* A put without a body is an empty one; created anew. */
	op = fx_put_op(b, "k", "");
	db_body_free(op.body);
	op.body = NULL;
	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_str_eq(op.out_etag, "d41d8cd98f00b204e9800998ecf8427e");
	ck_assert_int_gt(op.out_seq, 0);
}
END_TEST

START_TEST(test_given_etag)
{
	struct db_op op;
	int64_t b;

	b = fx_bucket("bb", DB_UNVERSIONED);
	op = fx_put_op(b, "k", "hello");
	op.etag = "given-1";
	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_str_eq(op.out_etag, "given-1");
	op = fx_put_op(b, "k", "x");
	op.if_match = "given-1";
	ck_assert_int_eq(fx_run(&op), DB_OK);
}
END_TEST

START_TEST(test_seq_rises_over_restarts)
{
	int64_t b, last = 0;
	int i;

	b = fx_bucket("bb", DB_UNVERSIONED);
	for (i = 0; i < 5; i++) {
		struct db_op op = fx_put(b, "k", "x");

		ck_assert_int_gt(op.out_seq, last);
		last = op.out_seq;
		fx_delete(b, "k", NULL);
		ck_assert_int_ge(db_seq(fx_db), last);
		fx_reopen();
		ck_assert_int_ge(db_seq(fx_db), last);
	}
}
END_TEST

/* Conditions: state of the key x condition. */
static const struct cond {
	bool exists;
	const char *if_match, *if_none_match;
	enum db_rc want;
} conds[] = {
	{ false, NULL, "*", DB_OK },
	{ false, NULL, "5d41402abc4b2a76b9719d911017c592", DB_OK },
	{ false, "*", NULL, DB_NO_KEY },
	{ false, "5d41402abc4b2a76b9719d911017c592", NULL, DB_NO_KEY },
	{ true, NULL, "*", DB_PRECONDITION },
	{ true, NULL, "5d41402abc4b2a76b9719d911017c592", DB_PRECONDITION },
	{ true, NULL, "other", DB_OK },
	{ true, "*", NULL, DB_OK },
	{ true, "5d41402abc4b2a76b9719d911017c592", NULL, DB_OK },
	{ true, "other", NULL, DB_PRECONDITION },
};
static const enum db_versioning states[] = { DB_UNVERSIONED, DB_VERSIONED,
	DB_SUSPENDED };

START_TEST(test_conditions)
{
	const struct cond *c = &conds[_i];
	struct db_delete d = { .key = "k" };
	struct db_op op, del = { .kind = DB_OP_DELETE };
	size_t i;
	int64_t b;

	for (i = 0; i < 3; i++) {
		b = fx_bucket(i == 0 ? "b0" : i == 1 ? "b1" : "b2", states[i]);
		if (c->exists)
			fx_put(b, "k", "hello");
		else if (i > 0) /* a marker is as good as nothing */
			fx_delete(b, "k", NULL);
		op = fx_put_op(b, "k", "new");
		op.if_match = c->if_match;
		op.if_none_match = c->if_none_match;
		ck_assert_int_eq(fx_run(&op), c->want);
		fx_expect(b, "k", NULL,
		    c->want == DB_OK ? "new"
			: c->exists  ? "hello"
			: i > 0      ? "(marker)"
				     : "(none)");
		if (c->if_match == NULL)
			continue;
		if (c->exists)
			fx_put(b, "k", "hello");
		d.if_match = c->if_match;
		del.bucket_id = b;
		del.deletes = &d;
		del.ndeletes = 1;
		ck_assert_int_eq(fx_run(&del), DB_OK);
		ck_assert_int_eq(d.rc, c->want);
		fx_expect(b, "k", NULL,
		    c->exists && c->want != DB_OK ? "hello"
			: i > 0                   ? "(marker)"
						  : "(none)");
	}
}
END_TEST

START_TEST(test_race_has_one_winner)
{
	struct db_op ops[20];
	char text[32];
	size_t i, j, won;
	int64_t b;

	for (j = 0; j < 2; j++) {
		b = fx_bucket(j == 0 ? "b0" : "b1", states[j]);
		for (i = 0; i < 20; i++) {
			(void)snprintf(text, sizeof(text), "writer %zu", i);
			ops[i] = fx_put_op(b, "k", text);
			ops[i].if_none_match = "*";
		}
		fx_run_many(ops, 20);
		for (won = i = 0; i < 20; i++)
			if (ops[i].rc == DB_OK)
				won++;
			else
				ck_assert_int_eq(ops[i].rc, DB_PRECONDITION);
		ck_assert_uint_eq(won, 1);
		fx_put(b, "k", "start");
		for (i = 0; i < 20; i++) {
			(void)snprintf(text, sizeof(text), "writer %zu", i);
			ops[i] = fx_put_op(b, "k", text);
			ops[i].if_match = "ea2b2676c28c0db26d39331a336c6b92";
		}
		fx_run_many(ops, 20);
		for (won = i = 0; i < 20; i++)
			won += ops[i].rc == DB_OK;
		ck_assert_uint_eq(won, 1);
	}
}
END_TEST

START_TEST(test_versions)
{
	struct db_op v1, v2;
	struct db_delete m;
	struct db_obj o;
	int64_t b;

	b = fx_bucket("bb", DB_VERSIONED);
	v1 = fx_put(b, "k", "one");
	v2 = fx_put(b, "k", "two");
	ck_assert_uint_eq(strlen(v1.out_version), 32);
	ck_assert_str_ne(v1.out_version, v2.out_version);
	ck_assert_int_gt(v1.out_seq, 0);
	ck_assert_int_eq(v2.out_seq, 0);
	ck_assert_int_ge(v2.out_mtime_us, v1.out_mtime_us);
	fx_expect(b, "k", NULL, "two");
	fx_expect(b, "k", v1.out_version, "one");
	fx_expect(b, "other", v1.out_version, "(rc 3)");
	fx_expect(b, "k", "null", "(rc 3)");
	m = fx_delete(b, "k", NULL);
	ck_assert(m.marker && m.existed);
	fx_expect(b, "k", NULL, "(marker)");
	fx_expect(b, "k", m.out_version, "(marker)");
	fx_expect(b, "k", v2.out_version, "two");
	ck_assert_int_eq(db_get(fx_db, b, "k", NULL, DB_READ_META, &o),
	    DB_NO_KEY);
	ck_assert(o.marker);
	ck_assert_str_eq(o.version_id, m.out_version);
	/* Removing the marker brings the newest version back. */
	m = fx_delete(b, "k", m.out_version);
	ck_assert(m.marker && m.existed);
	fx_expect(b, "k", NULL, "two");
	m = fx_delete(b, "k", v2.out_version);
	ck_assert(!m.marker && m.existed);
	fx_expect(b, "k", NULL, "one");
	m = fx_delete(b, "k", v2.out_version);
	ck_assert(!m.existed);
	/* A put over a marker creates the key. */
	fx_delete(b, "k", NULL);
	ck_assert_int_gt(fx_put(b, "k", "three").out_seq, 0);
	/* Removing a version below leaves the top. */
	fx_delete(b, "k", v1.out_version);
	fx_expect(b, "k", NULL, "three");
	fx_reopen();
	fx_expect(b, "k", NULL, "three");
	fx_expect(b, "k", v1.out_version, "(rc 3)");
}
END_TEST

START_TEST(test_suspended)
{
	struct db_op v1;
	struct db_delete d;
	int64_t b;

	b = fx_bucket("bb", DB_UNVERSIONED);
	fx_put(b, "k", "null one");
	fx_versioning(b, DB_VERSIONED);
	v1 = fx_put(b, "k", "one");
	fx_expect(b, "k", "null", "null one");
	fx_versioning(b, DB_SUSPENDED);
	ck_assert_str_eq(fx_put(b, "k", "null two").out_version, "null");
	fx_expect(b, "k", NULL, "null two");
	fx_expect(b, "k", "null", "null two");
	fx_expect(b, "k", v1.out_version, "one");
	ck_assert_str_eq(fx_put(b, "k", "null three").out_version, "null");
	fx_expect(b, "k", "null", "null three");
	d = fx_delete(b, "k", NULL);
	ck_assert(d.marker);
	ck_assert_str_eq(d.out_version, "null");
	fx_expect(b, "k", "null", "(marker)");
	fx_expect(b, "k", NULL, "(marker)");
	d = fx_delete(b, "k", NULL);
	fx_expect(b, "k", "null", "(marker)");
	d = fx_delete(b, "k", "null");
	ck_assert(d.marker);
	fx_expect(b, "k", NULL, "one");
	fx_expect(b, "k", "null", "(rc 3)");
	fx_delete(b, "k", v1.out_version);
	fx_expect(b, "k", NULL, "(none)");
}
END_TEST

START_TEST(test_many_deletes)
{
	struct db_delete d[4] = {
		{ .key = "a" },
		{ .key = "b", .if_match = "nope" },
		{ .key = "c" },
		{ .key = "missing" },
	};
	struct db_op op = { .kind = DB_OP_DELETE, .deletes = d, .ndeletes = 4 };

	op.bucket_id = fx_bucket("bb", DB_UNVERSIONED);
	fx_put(op.bucket_id, "a", "x");
	fx_put(op.bucket_id, "b", "x");
	fx_put(op.bucket_id, "c", "x");
	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_int_eq(d[0].rc, DB_OK);
	ck_assert_int_eq(d[1].rc, DB_PRECONDITION);
	ck_assert_int_eq(d[2].rc, DB_OK);
	ck_assert_int_eq(d[3].rc, DB_OK);
	ck_assert(!d[3].existed);
	fx_expect(op.bucket_id, "a", NULL, "(none)");
	fx_expect(op.bucket_id, "b", NULL, "x");
	op.bucket_id = 4711;
	ck_assert_int_eq(fx_run(&op), DB_NO_BUCKET);
}
END_TEST

START_TEST(test_set_acl)
{
	struct db_op op = {
		.kind = DB_OP_SET_ACL, .key = "k", .acl = DB_ACL_PUBLIC_READ
	};
	struct db_op v1;
	struct db_obj o;

	op.bucket_id = fx_bucket("bb", DB_VERSIONED);
	ck_assert_int_eq(fx_run(&op), DB_NO_KEY);
	v1 = fx_put(op.bucket_id, "k", "one");
	fx_put(op.bucket_id, "k", "two");
	op.version_id = v1.out_version;
	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_int_eq(db_get(fx_db, op.bucket_id, "k", v1.out_version,
			     DB_READ_BODY, &o),
	    DB_OK);
	ck_assert_int_eq(o.meta.acl, DB_ACL_PUBLIC_READ);
	ck_assert_str_eq(o.data, "one");
	ck_assert(!o.latest);
	db_obj_fini(&o);
	ck_assert_int_eq(db_get(fx_db, op.bucket_id, "k", NULL, DB_READ_META,
			     &o),
	    DB_OK);
	ck_assert_int_eq(o.meta.acl, DB_ACL_PRIVATE);
	db_obj_fini(&o);
	op.version_id = "0123";
	ck_assert_int_eq(fx_run(&op), DB_NO_VERSION);
}
END_TEST

/* Bodies in files */

static char *
large_text(size_t len, int seed)
{
	char *p = xmalloc(len);
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = (char)(i * 31 + i / 4096 + (size_t)seed);
	return p;
}

static void
put_large(int64_t b, const char *key, size_t len, int seed)
{
	struct db_op op = { .kind = DB_OP_PUT, .bucket_id = b, .key = key };
	enum db_rc rc = DB_OK;
	char *p = large_text(len, seed);
	size_t off, n;

	op.body = db_body_new(fx_db);
	for (off = 0; off < len; off += n) {
		n = len - off < 65536 ? len - off : 65536;
		ck_assert_int_eq(db_body_add(op.body, p + off, n, &rc), 0);
	}
	ck_assert_int_eq(db_body_size(op.body), (int64_t)len);
	ck_assert_int_eq(fx_run(&op), DB_OK);
	free(p);
}

static void
expect_large(int64_t b, const char *key, size_t len, int seed)
{
	struct db_obj o;
	char *want = large_text(len, seed), *got = xmalloc(len);
	struct db_op verify = { .kind = DB_OP_VERIFY };

	ck_assert_int_eq(db_get(fx_db, b, key, NULL, DB_READ_BODY, &o), DB_OK);
	ck_assert_int_eq(o.size, (int64_t)len);
	ck_assert_int_ne(o.file_fd, -1);
	ck_assert_int_eq(pread(o.file_fd, got, len, 0), (ssize_t)len);
	ck_assert_mem_eq(got, want, len);
	verify.copy_fd = o.file_fd;
	verify.copy_len = o.size;
	verify.crc = o.crc;
	ck_assert_int_eq(fx_run(&verify), DB_OK);
	verify.crc ^= 1;
	ck_assert_int_eq(fx_run(&verify), DB_CORRUPT);
	db_obj_fini(&o);
	free(want);
	free(got);
}

#define LARGE (DB_INLINE_MAX + 12345)

START_TEST(test_large_bodies)
{
	int64_t b;
	char *p;
	struct db_obj o;

	b = fx_bucket("bb", DB_UNVERSIONED);
	put_large(b, "k", LARGE, 1);
	expect_large(b, "k", LARGE, 1);
	ck_assert_uint_eq(count_files("blobs"), 1);
	ck_assert_uint_eq(count_files("tmp"), 0);
	put_large(b, "k", LARGE, 2);
	fx_reopen();
	expect_large(b, "k", LARGE, 2);
	ck_assert_uint_eq(count_files("blobs"), 1);
	/* Exactly the limit stays inside. */
	put_large(b, "k", DB_INLINE_MAX, 3);
	p = large_text(DB_INLINE_MAX, 3);
	ck_assert_int_eq(db_get(fx_db, b, "k", NULL, DB_READ_BODY, &o), DB_OK);
	ck_assert_int_eq(o.file_fd, -1);
	ck_assert_mem_eq(o.data, p, DB_INLINE_MAX);
	db_obj_fini(&o);
	free(p);
	fx_reopen();
	ck_assert_uint_eq(count_files("blobs"), 0);
}
END_TEST

START_TEST(test_refused_body_leaves_nothing)
{
	struct db_op op = { .kind = DB_OP_PUT, .key = "k" };
	struct db_body *body;
	enum db_rc rc = DB_OK;
	char *p = large_text(LARGE, 1);

	op.bucket_id = fx_bucket("bb", DB_UNVERSIONED);
	fx_put(op.bucket_id, "k", "x");
	op.body = fx_body(p, LARGE);
	op.if_none_match = "*";
	ck_assert_int_eq(fx_run(&op), DB_PRECONDITION);
	ck_assert_uint_eq(count_files("blobs"), 0);
	body = fx_body(p, LARGE);
	ck_assert_int_eq(db_body_add(body, p, 1, &rc), 0);
	ck_assert_uint_eq(count_files("tmp"), 1);
	db_body_free(body);
	ck_assert_uint_eq(count_files("tmp"), 0);
	db_body_free(NULL);
	free(p);
}
END_TEST

/* A limit on the size of files stands for a full disk. */
START_TEST(test_body_without_space)
{
	struct rlimit old, low;
	struct db_body *body;
	enum db_rc rc = DB_OK;
	char *p = large_text(LARGE, 1);
	int64_t b;

	b = fx_bucket("bb", DB_UNVERSIONED);
	ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = old;
	low.rlim_cur = LARGE + 1000;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
	body = fx_body(p, LARGE);
	ck_assert_int_eq(db_body_add(body, p, LARGE, &rc), -1);
	ck_assert_int_eq(rc, DB_FULL);
	db_body_free(body);
	ck_assert_uint_eq(count_files("tmp"), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
	put_large(b, "k", LARGE, 1);
	expect_large(b, "k", LARGE, 1);
	free(p);
}
END_TEST

START_TEST(test_copy)
{
	struct db_op op = { .kind = DB_OP_PUT, .key = "copy" };
	struct db_obj o;
	int64_t b;

	b = op.bucket_id = fx_bucket("bb", DB_UNVERSIONED);
	put_large(b, "k", LARGE, 1);
	ck_assert_int_eq(db_get(fx_db, b, "k", NULL, DB_READ_BODY, &o), DB_OK);
	op.copy_fd = o.file_fd;
	op.copy_len = o.size;
	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_str_eq(op.out_etag, o.etag);
	expect_large(b, "copy", LARGE, 1);
	op.copy_off = 100;
	op.copy_len = 5;
	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_int_eq(op.out_size, 5);
	db_obj_fini(&o);
}
END_TEST

static void
make_file(const char *sub)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", fx_dir, sub);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ne(fd, -1);
	close(fd);
}

START_TEST(test_orphans)
{
	int64_t b;

	b = fx_bucket("bb", DB_UNVERSIONED);
	put_large(b, "k", LARGE, 1);
	db_close(fx_db);
	make_file("blobs/0123456789abcdef0123456789abcdef");
	make_file("tmp/0123456789abcdef0123456789abcdef");
	fx_open();
	ck_assert_uint_eq(count_files("blobs"), 1);
	ck_assert_uint_eq(count_files("tmp"), 0);
	expect_large(b, "k", LARGE, 1);
}
END_TEST

static void
sql(const char *text)
{
	sqlite3 *h;
	char path[256];
	char *msg = NULL;

	(void)snprintf(path, sizeof(path), "%s/store.db", fx_dir);
	ck_assert_int_eq(sqlite3_open(path, &h), SQLITE_OK);
	sqlite3_exec(h, text, NULL, NULL, &msg);
	ck_assert_msg(msg == NULL, "%s", msg);
	sqlite3_close(h);
}

START_TEST(test_damage_is_seen)
{
	int64_t b;

	b = fx_bucket("bb", DB_UNVERSIONED);
	fx_put(b, "k", "hello");
	db_close(fx_db);
	sql("UPDATE version SET body = CAST('hellO' AS BLOB)");
	fx_open();
	fx_expect(b, "k", NULL, "(damaged)");
}
END_TEST

/* Opening */

START_TEST(test_one_process)
{
	struct qo_err err;
	char pid[32];

	ck_assert_ptr_null(db_open(fx_loop, fx_dir, &err));
	(void)snprintf(pid, sizeof(pid), "process %ld:", (long)getpid());
	ck_assert_ptr_nonnull(strstr(err.msg, pid));
	ck_assert_ptr_nonnull(strstr(err.msg, fx_dir));
}
END_TEST

START_TEST(test_newer_format)
{
	struct qo_err err;

	db_close(fx_db);
	sql("PRAGMA user_version = 3");
	ck_assert_ptr_null(db_open(fx_loop, fx_dir, &err));
	ck_assert_ptr_nonnull(strstr(err.msg, "format 3"));
	sql("PRAGMA user_version = 2; PRAGMA application_id = 5");
	ck_assert_ptr_null(db_open(fx_loop, fx_dir, &err));
	ck_assert_ptr_nonnull(strstr(err.msg, "not a database of qo-store"));
	sql("PRAGMA application_id = 1903129460");
	fx_open();
}
END_TEST

START_TEST(test_unusable_directory)
{
	struct qo_err err;

	ck_assert_ptr_null(db_open(fx_loop, "/dev/null/x", &err));
	ck_assert_ptr_nonnull(strstr(err.msg, "/dev/null/x"));
}
END_TEST

START_TEST(test_close_finishes)
{
	struct db_op ops[50];
	size_t i, done = 0;
	int64_t b;

	b = fx_bucket("bb", DB_UNVERSIONED);
	for (i = 0; i < 50; i++) {
		ops[i] = fx_put_op(b, "k", "x");
		ops[i].done = fx_count_done;
		ops[i].arg = &done;
		db_submit(fx_db, &ops[i]);
	}
	db_close(fx_db);
	ck_assert_uint_eq(done, 50);
	fx_open();
	fx_expect(b, "k", NULL, "x");
}
END_TEST

static void
submit_again(struct db_op *op)
{
	int *left = op->arg;

	ck_assert_int_eq(op->rc, *left == 2 ? DB_OK : DB_ERROR);
	if (--*left > 0)
		db_submit(fx_db, op);
}

START_TEST(test_submit_while_closing)
{
	struct db_op op = fx_put_op(fx_bucket("bb", DB_UNVERSIONED), "k", "x");
	int left = 2;

	op.done = submit_again;
	op.arg = &left;
	db_submit(fx_db, &op);
	db_close(fx_db);
	ck_assert_int_eq(left, 0);
	fx_open();
}
END_TEST

int
main(void)
{
	Suite *s;
	TCase *tc;

	s = suite_create("store_db");
	tc = tcase_create("store_db");
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, fx_setup, fx_teardown);
	tcase_add_test(tc, test_buckets);
	tcase_add_test(tc, test_bucket_set);
	tcase_add_test(tc, test_bucket_delete);
	tcase_add_test(tc, test_put_get);
	tcase_add_test(tc, test_given_etag);
	tcase_add_test(tc, test_seq_rises_over_restarts);
	tcase_add_loop_test(tc, test_conditions, 0,
	    (int)(sizeof(conds) / sizeof(conds[0])));
	tcase_add_test(tc, test_race_has_one_winner);
	tcase_add_test(tc, test_versions);
	tcase_add_test(tc, test_suspended);
	tcase_add_test(tc, test_many_deletes);
	tcase_add_test(tc, test_set_acl);
	tcase_add_test(tc, test_large_bodies);
	tcase_add_test(tc, test_refused_body_leaves_nothing);
	tcase_add_test(tc, test_body_without_space);
	tcase_add_test(tc, test_copy);
	tcase_add_test(tc, test_orphans);
	tcase_add_test(tc, test_damage_is_seen);
	tcase_add_test(tc, test_one_process);
	tcase_add_test(tc, test_newer_format);
	tcase_add_test(tc, test_unusable_directory);
	tcase_add_test(tc, test_close_finishes);
	tcase_add_test(tc, test_submit_while_closing);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
