/* Multipart uploads and lifecycle steps. */
#include "encode.h"
#include "hash.h"
#include "run_suite.h"
#include "store_fixture.h"

#define MIB ((size_t)1024 * 1024)

static char *bytes; /* 6 MiB to cut parts from */

static void
setup(void)
{
	size_t i;

	fx_setup();
	bytes = xmalloc(6 * MIB);
	for (i = 0; i < 6 * MIB; i++)
		bytes[i] = (char)(i * 31 + i / 1024);
}

static void
teardown(void)
{
	free(bytes);
	fx_teardown();
}

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

static struct db_op
start(int64_t b, const char *key)
{
	struct db_op op = {
		.kind = DB_OP_UPLOAD_CREATE, .bucket_id = b, .key = key
	};

	op.meta.owner = (char *)(uintptr_t) "me";
	op.meta.headers = (char *)(uintptr_t) "h: v";
	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_uint_eq(strlen(op.out_upload), 32);
	return op;
}

static struct db_op
part(const struct db_op *up, int number, size_t off, size_t len)
{
	struct db_op op = { .kind = DB_OP_PART_PUT,
		.bucket_id = up->bucket_id,
		.key = up->key,
		.upload_id = up->out_upload,
		.part_number = number,
		.part_checksum = "crc32:p",
		.body = fx_body(bytes + off, len) };

	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_int_eq(op.out_size, (int64_t)len);
	return op;
}

static enum db_rc
complete(const struct db_op *up, const struct db_complete_part *parts, size_t n,
    struct db_op *op)
{
	*op = (struct db_op){ .kind = DB_OP_UPLOAD_COMPLETE,
		.bucket_id = up->bucket_id,
		.key = up->key,
		.upload_id = up->out_upload,
		.parts = parts,
		.nparts = n };

	return fx_run(op);
}

static void
note_part(const struct db_part *p, void *arg)
{
	buf_addf(arg, "%d:%lld:%s ", p->number, (long long)p->size,
	    p->checksum);
}

static void
note_upload(const struct db_upload *u, void *arg)
{
	buf_addf(arg, "%s ", u->key);
}

START_TEST(test_complete)
{
	struct db_complete_part parts[3] = { { 0 } };
	struct db_op up, p[3], done, again;
	struct db_obj o;
	struct buf text;
	unsigned char md5[MD5_LEN], all[3 * MD5_LEN];
	char etag[DB_ETAG_MAX], *got;
	int64_t b;
	bool more;
	int i;

	b = fx_bucket("bb", DB_VERSIONED);
	up = start(b, "k");
	p[2] = part(&up, 9, 0, 100);
	p[0] = part(&up, 2, 0, 5 * MIB);
	part(&up, 5, 7, 1000); /* sent again below */
	p[1] = part(&up, 5, MIB, 5 * MIB);
	part(&up, 7, 0, 3); /* not named at the end */
	buf_init(&text, 1000);
	ck_assert_int_eq(db_part_each(fx_db, up.out_upload, 0, 3, &more,
			     note_part, &text),
	    DB_OK);
	ck_assert_str_eq(text.data,
	    "2:5242880:crc32:p 5:5242880:crc32:p 7:3:crc32:p ");
	ck_assert(more);
	buf_reset(&text);
	ck_assert_int_eq(db_part_each(fx_db, up.out_upload, 7, 3, &more,
			     note_part, &text),
	    DB_OK);
	ck_assert_str_eq(text.data, "9:100:crc32:p ");
	ck_assert(!more);
	buf_fini(&text);
	for (i = 0; i < 3; i++) {
		parts[i].number = p[i].part_number;
		parts[i].etag = p[i].out_etag;
		ck_assert_int_eq(hex_decode(all + i * MD5_LEN, p[i].out_etag,
				     MD5_LEN),
		    0);
	}
	hash_bytes(HASH_MD5, all, sizeof(all), md5);
	hex_encode(etag, md5, MD5_LEN);
	ck_assert_int_eq(complete(&up, parts, 3, &done), DB_OK);
	ck_assert_mem_eq(done.out_etag, etag, 32);
	ck_assert_str_eq(done.out_etag + 32, "-3");
	ck_assert_int_gt(done.out_seq, 0);
	ck_assert_int_eq(db_get(fx_db, b, "k", NULL, DB_READ_BODY, &o), DB_OK);
	ck_assert_int_eq(o.size, (int64_t)(10 * MIB + 100));
	ck_assert_int_eq(o.parts, 3);
	ck_assert_str_eq(o.part_sizes, "5242880 5242880 100");
	ck_assert_ptr_null(o.meta.checksum); /* those of the parts are none */
	ck_assert_str_eq(o.meta.headers, "h: v");
	got = xmalloc((size_t)o.size);
	ck_assert_int_eq(pread(o.file_fd, got, (size_t)o.size, 0), o.size);
	ck_assert_mem_eq(got, bytes, 5 * MIB);
	ck_assert_mem_eq(got + 5 * MIB, bytes + MIB, 5 * MIB);
	ck_assert_mem_eq(got + 10 * MIB, bytes, 100);
	free(got);
	db_obj_fini(&o);
	/* The same once more is answered as before, after a restart, too. */
	fx_reopen();
	for (i = 0; i < 2; i++) {
		again = done;
		ck_assert_int_eq(complete(&up, parts, 3, &again), DB_OK);
		ck_assert_str_eq(again.out_etag, done.out_etag);
		ck_assert_str_eq(again.out_version, done.out_version);
		ck_assert_int_eq(again.out_seq, 0);
	}
	ck_assert_int_eq(complete(&up, parts, 2, &again), DB_BAD_PART);
	up.key = "other";
	ck_assert_int_eq(complete(&up, parts, 3, &again), DB_NO_UPLOAD);
	fx_reopen(); /* the files of the parts are removed after the answer */
	ck_assert_uint_eq(count_files("blobs"), 1);
	ck_assert_uint_eq(count_files("tmp"), 0);
}
END_TEST

START_TEST(test_complete_small)
{
	struct db_complete_part one = { 0 };
	struct db_op up, p, done;
	int64_t b;

	b = fx_bucket("bb", DB_UNVERSIONED);
	up = start(b, "k");
	p = part(&up, 1, 0, 3);
	one.number = 1;
	one.etag = p.out_etag;
	ck_assert_int_eq(complete(&up, &one, 1, &done), DB_OK);
	ck_assert_int_eq(done.out_size, 3);
	ck_assert_uint_eq(count_files("blobs"), 0);
}
END_TEST

START_TEST(test_complete_refused)
{
	struct db_complete_part parts[2];
	struct db_op up, p[2], done, other;
	int64_t b;

	b = fx_bucket("bb", DB_UNVERSIONED);
	up = start(b, "k");
	p[0] = part(&up, 1, 0, 5 * MIB - 1);
	p[1] = part(&up, 2, 0, 10);
	parts[0] = (struct db_complete_part){ .number = 1,
		.etag = p[0].out_etag };
	parts[1] = (struct db_complete_part){ .number = 2,
		.etag = p[1].out_etag };
	ck_assert_int_eq(complete(&up, parts, 2, &done), DB_PART_SMALL);
	ck_assert_int_eq(complete(&up, parts, 0, &done), DB_BAD_PART);
	parts[1].etag = p[0].out_etag;
	ck_assert_int_eq(complete(&up, parts, 2, &done), DB_BAD_PART);
	parts[1].number = 3;
	ck_assert_int_eq(complete(&up, parts, 2, &done), DB_BAD_PART);
	parts[1] = parts[0];
	ck_assert_int_eq(complete(&up, parts, 2, &done), DB_PART_ORDER);
	other = up;
	other.key = "another";
	ck_assert_int_eq(complete(&other, parts, 1, &done), DB_NO_UPLOAD);
	/* A condition that does not hold leaves the upload as it was. */
	fx_put(b, "k", "x");
	done = (struct db_op){ .kind = DB_OP_UPLOAD_COMPLETE,
		.bucket_id = b,
		.key = "k",
		.upload_id = up.out_upload,
		.parts = parts,
		.nparts = 1,
		.if_none_match = "*" };
	ck_assert_int_eq(fx_run(&done), DB_PRECONDITION);
	ck_assert_uint_eq(count_files("blobs"), 1);
	fx_expect(b, "k", NULL, "x");
	done.if_none_match = NULL;
	ck_assert_int_eq(fx_run(&done), DB_OK);
	p[0] = (struct db_op){ .kind = DB_OP_PART_PUT,
		.bucket_id = b,
		.key = "k",
		.upload_id = up.out_upload,
		.part_number = 1,
		.body = fx_body("x", 1) };
	ck_assert_int_eq(fx_run(&p[0]), DB_NO_UPLOAD);
}
END_TEST

START_TEST(test_abort_and_list)
{
	struct db_op up[4], op;
	struct db_upload u;
	struct buf text;
	int64_t b;
	bool more;
	int i;
	static const char *const ks[] = { "a/1", "a/1", "a/2", "b" };

	b = fx_bucket("bb", DB_UNVERSIONED);
	for (i = 0; i < 4; i++)
		up[i] = start(b, ks[i]);
	part(&up[0], 1, 0, 2 * MIB);
	ck_assert_uint_eq(count_files("blobs"), 1);
	ck_assert_int_eq(db_upload_get(fx_db, b, "a/1", up[0].out_upload, &u),
	    DB_OK);
	ck_assert_str_eq(u.meta.owner, "me");
	ck_assert_str_eq(u.id, up[0].out_upload);
	db_upload_fini(&u);
	ck_assert_int_eq(db_upload_get(fx_db, b, "b", up[0].out_upload, &u),
	    DB_NO_UPLOAD);
	buf_init(&text, 1000);
	ck_assert_int_eq(db_upload_each(fx_db, b, "", NULL, NULL, 10, &more,
			     note_upload, &text),
	    DB_OK);
	ck_assert_str_eq(text.data, "a/1 a/1 a/2 b ");
	ck_assert(!more);
	buf_reset(&text);
	ck_assert_int_eq(db_upload_each(fx_db, b, "a/", NULL, NULL, 2, &more,
			     note_upload, &text),
	    DB_OK);
	ck_assert_str_eq(text.data, "a/1 a/1 ");
	ck_assert(more);
	buf_reset(&text);
	ck_assert_int_eq(db_upload_each(fx_db, b, "a/", "a/1", NULL, 2, &more,
			     note_upload, &text),
	    DB_OK);
	ck_assert_str_eq(text.data, "a/2 ");
	ck_assert(!more);
	buf_reset(&text);
	i = strcmp(up[0].out_upload, up[1].out_upload) < 0 ? 0 : 1;
	ck_assert_int_eq(db_upload_each(fx_db, b, "", "a/1", up[i].out_upload,
			     9, &more, note_upload, &text),
	    DB_OK);
	ck_assert_str_eq(text.data, "a/1 a/2 b ");
	buf_fini(&text);
	op = (struct db_op){ .kind = DB_OP_UPLOAD_ABORT,
		.bucket_id = b,
		.key = "a/1",
		.upload_id = up[0].out_upload };
	ck_assert_int_eq(fx_run(&op), DB_OK);
	ck_assert_int_eq(fx_run(&op), DB_NO_UPLOAD);
	fx_reopen();
	ck_assert_uint_eq(count_files("blobs"), 0);
}
END_TEST

/* Lifecycle */

static void
note_version(const struct db_obj *o, void *arg)
{
	buf_addf(arg, "%s%s%s ", o->key, o->marker ? "-" : "",
	    o->latest ? "*" : "");
}

static void
expect_versions(int64_t b, const char *want)
{
	struct db_list q = { .prefix = "", .max = 1000 };
	struct db_list_cb cb = { note_version, NULL, NULL };
	struct buf got;
	char *next, *next_version;
	bool more;

	buf_init(&got, 65536);
	cb.arg = &got;
	ck_assert_int_eq(db_list_versions(fx_db, b, &q, &cb, &more, &next,
			     &next_version),
	    DB_OK);
	ck_assert_str_eq(got.data, want);
	buf_fini(&got);
}

/* Runs a rule to the end in steps of max rows; the number removed. */
static int64_t
apply(int64_t b, struct db_lifecycle lc)
{
	struct db_op op = { .kind = DB_OP_LIFECYCLE, .bucket_id = b, .lc = lc };
	char *after = NULL;
	int64_t removed = 0;
	int steps = 0;

	do {
		op.lc.after = after;
		ck_assert_int_eq(fx_run(&op), DB_OK);
		ck_assert_uint_le((size_t)op.lc.removed, lc.max + 1);
		removed += op.lc.removed;
		free(after);
		after = op.lc.next;
		ck_assert_int_lt(++steps, 1000);
	} while (after != NULL);
	return removed;
}

START_TEST(test_lifecycle_noncurrent)
{
	static const size_t maxes[] = { 1, 2, 3, 100 };
	struct db_lifecycle lc = { .prefix = "p/", .max = maxes[_i] };
	int64_t b, before;
	int i;

	b = fx_bucket("bb", DB_VERSIONED);
	for (i = 0; i < 4; i++) {
		fx_put(b, "o", "x");
		fx_put(b, "p/a", "x");
		fx_put(b, "p/b", "x");
	}
	fx_delete(b, "p/b", NULL);
	fx_delete(b, "p/c", NULL);
	fx_put(b, "p/d", "x");
	fx_put(b, "q", "x");
	fx_put(b, "q", "x");
	lc.noncurrent_before_us = 1; /* nothing is that old */
	ck_assert_int_eq(apply(b, lc), 0);
	before = fx_put(b, "p/a", "x").out_mtime_us;
	lc.noncurrent_before_us = before;
	/* The one that became noncurrent just then is not before it. */
	ck_assert_int_eq(apply(b, lc), 3 + 4);
	expect_versions(b, "o* o o o p/a* p/a p/b-* p/c-* p/d* q* q ");
	lc.noncurrent_before_us = INT64_MAX;
	lc.expired_markers = true;
	ck_assert_int_eq(apply(b, lc), 1 + 2);
	expect_versions(b, "o* o o o p/a* p/d* q* q ");
	lc.prefix = "";
	ck_assert_int_eq(apply(b, lc), 4);
	expect_versions(b, "o* p/a* p/d* q* ");
}
END_TEST

START_TEST(test_lifecycle_marker_stepping_back)
{
	struct db_lifecycle lc = { .prefix = "", .max = 10 };
	int64_t b;

	b = fx_bucket("bb", DB_VERSIONED);
	fx_delete(b, "k", NULL);
	lc.noncurrent_before_us = fx_put(b, "k", "x").out_mtime_us;
	/* The marker is older, but it became noncurrent only now. */
	ck_assert_int_eq(apply(b, lc), 0);
	expect_versions(b, "k* k- ");
	lc.noncurrent_before_us++;
	ck_assert_int_eq(apply(b, lc), 1);
	expect_versions(b, "k* ");
}
END_TEST

START_TEST(test_lifecycle_current)
{
	struct db_lifecycle lc = { .prefix = "p", .max = 2 };
	int64_t b, v;

	b = fx_bucket("bb", DB_UNVERSIONED);
	v = fx_bucket("vv", DB_VERSIONED);
	fx_put(b, "o", "x");
	fx_put(b, "p1", "x");
	fx_put(b, "p2", "x");
	fx_put(v, "p1", "x");
	lc.current_before_us = fx_put(b, "p3", "x").out_mtime_us;
	ck_assert_int_eq(apply(b, lc), 2);
	ck_assert_int_eq(apply(v, lc), 1);
	expect_versions(b, "o* p3* ");
	expect_versions(v, "p1-* p1 ");
	ck_assert_int_eq(apply(v, lc), 0);
}
END_TEST

START_TEST(test_lifecycle_uploads)
{
	struct db_lifecycle lc = { .prefix = "p", .max = 10 };
	struct db_upload u;
	struct db_op up[3];
	int64_t b;

	b = fx_bucket("bb", DB_UNVERSIONED);
	up[0] = start(b, "p1");
	part(&up[0], 1, 0, 10);
	up[1] = start(b, "q");
	up[2] = start(b, "p2");
	ck_assert_int_eq(db_upload_get(fx_db, b, "p2", up[2].out_upload, &u),
	    DB_OK);
	lc.uploads_before_us = u.initiated_us;
	db_upload_fini(&u);
	ck_assert_int_eq(apply(b, lc), 1);
	ck_assert_int_eq(db_upload_get(fx_db, b, "p1", up[0].out_upload, &u),
	    DB_NO_UPLOAD);
	ck_assert_int_eq(db_upload_get(fx_db, b, "q", up[1].out_upload, &u),
	    DB_OK);
	db_upload_fini(&u);
}
END_TEST

int
main(void)
{
	Suite *s;
	TCase *tc;

	s = suite_create("store_upload");
	tc = tcase_create("store_upload");
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_complete);
	tcase_add_test(tc, test_complete_small);
	tcase_add_test(tc, test_complete_refused);
	tcase_add_test(tc, test_abort_and_list);
	tcase_add_loop_test(tc, test_lifecycle_noncurrent, 0, 4);
	tcase_add_test(tc, test_lifecycle_marker_stepping_back);
	tcase_add_test(tc, test_lifecycle_current);
	tcase_add_test(tc, test_lifecycle_uploads);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
