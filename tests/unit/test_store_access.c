/*
 * Who may do what: access decisions, ACLs, the keys file, session tokens.
 */
#include <check.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../qo-store/access.h"
#include "../../qo-store/acl.h"
#include "../../qo-store/keys.h"
#include "../../qo-store/replay.h"
#include "../../qo-store/token.h"
#include "io.h"
#include "run_suite.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

static struct prefix_set pub = { (char *[]){ (char[]){ "ui/" } }, 1 };
static struct prefix_set mine = { (char *[]){ (char[]){ "in/" } }, 1 };

/* r: reads, w: writes, a: administers, p: has prefixes, x: anonymous,
 * o: of another owner. */
static struct access_id
who(const char *flags)
{
	struct access_id id = { .owner = "one" };

	id.may_read = strchr(flags, 'r') != NULL;
	id.may_write = strchr(flags, 'w') != NULL;
	id.may_admin = strchr(flags, 'a') != NULL;
	id.anonymous = strchr(flags, 'x') != NULL;
	if (strchr(flags, 'p') != NULL)
		id.prefixes = &mine;
	if (strchr(flags, 'o') != NULL)
		id.owner = "two";
	return id;
}

static const struct {
	const char *who;
	enum access_kind kind;
	enum db_acl acl;
	const char *name;
	bool want;
} cases[] = {
	{ "rwa", ACCESS_GET, DB_ACL_PRIVATE, "k", true },
	{ "rwa", ACCESS_BUCKET_ADMIN, DB_ACL_PRIVATE, "", true },
	{ "rwa", ACCESS_CREATE, DB_ACL_PRIVATE, "", true },
	{ "rw", ACCESS_CREATE, DB_ACL_PRIVATE, "", false },
	{ "rw", ACCESS_BUCKET_ADMIN, DB_ACL_PRIVATE, "", false },
	{ "r", ACCESS_PUT, DB_ACL_PRIVATE, "k", false },
	{ "r", ACCESS_LIST, DB_ACL_PRIVATE, "", true },
	{ "r", ACCESS_DELETE_MANY, DB_ACL_PRIVATE, "", false },
	{ "w", ACCESS_GET, DB_ACL_PRIVATE, "k", false },
	{ "w", ACCESS_LIST, DB_ACL_PRIVATE, "", false },
	{ "w", ACCESS_PUT, DB_ACL_PRIVATE, "k", true },
	{ "w", ACCESS_BUCKET_LOOK, DB_ACL_PRIVATE, "", true },
	{ "rwp", ACCESS_PUT, DB_ACL_PRIVATE, "in/k", true },
	{ "rwp", ACCESS_PUT, DB_ACL_PRIVATE, "in", false },
	{ "rwp", ACCESS_GET, DB_ACL_PRIVATE, "out", false },
	{ "rwp", ACCESS_LIST, DB_ACL_PRIVATE, "", false },
	{ "rwp", ACCESS_LIST, DB_ACL_PRIVATE, "in/sub", true },
	{ "rwp", ACCESS_BUCKET_READ, DB_ACL_PRIVATE, "", true },
	{ "rwp", ACCESS_BUCKET_READ, DB_ACL_PRIVATE, "out", false },
	{ "rwao", ACCESS_LIST, DB_ACL_PRIVATE, "", false },
	{ "rwao", ACCESS_LIST, DB_ACL_PUBLIC_READ, "", true },
	{ "rwao", ACCESS_LIST, DB_ACL_AUTHENTICATED_READ, "", true },
	{ "rwao", ACCESS_PUT, DB_ACL_PUBLIC_READ, "k", false },
	{ "rwao", ACCESS_PUT, DB_ACL_PUBLIC_READ_WRITE, "k", true },
	{ "rwao", ACCESS_BUCKET_ADMIN, DB_ACL_PUBLIC_READ_WRITE, "", false },
	{ "rwao", ACCESS_BUCKET_READ, DB_ACL_PUBLIC_READ_WRITE, "", false },
	{ "x", ACCESS_GET, DB_ACL_PRIVATE, "ui/x", true },
	{ "x", ACCESS_GET, DB_ACL_PUBLIC_READ, "k", false },
	{ "x", ACCESS_PUT, DB_ACL_PUBLIC_READ_WRITE, "ui/x", false },
	{ "x", ACCESS_LIST, DB_ACL_PUBLIC_READ, "ui/", false },
	{ "x", ACCESS_ANY, DB_ACL_PUBLIC_READ, "", false },
	{ "x", ACCESS_NONE, DB_ACL_PRIVATE, "", true },
};

START_TEST(test_access)
{
	struct access_id id = who(cases[_i].who);
	struct db_bucket b = { .owner = "one", .acl = cases[_i].acl };

	ck_assert_int_eq(access_bucket(&id, cases[_i].kind, &b, cases[_i].name,
			     &pub),
	    cases[_i].want);
}
END_TEST

START_TEST(test_objects)
{
	struct access_id one = who("rw"), two = who("rwo"), nobody = who("x");
	struct db_bucket b = { .owner = "one" };
	char owner[] = "two";
	struct db_meta m = { .acl = DB_ACL_PRIVATE };

	ck_assert(access_object(&one, &b, &m));
	ck_assert(!access_object(&two, &b, &m));
	ck_assert(access_object(&nobody, &b, &m));
	m.acl = DB_ACL_PUBLIC_READ;
	ck_assert(access_object(&two, &b, &m));
	m.acl = DB_ACL_PRIVATE;
	m.owner = owner;
	ck_assert(access_object(&two, &b, &m));
	ck_assert(access_object(&one, &b, &m));
	ck_assert(access_may_know(&one, &b));
	ck_assert(!access_may_know(&two, &b));
}
END_TEST

START_TEST(test_acl_words)
{
	enum db_acl acl;

	ck_assert_int_eq(acl_parse_canned(NULL, &acl), S3_OK);
	ck_assert_int_eq(acl, DB_ACL_PRIVATE);
	ck_assert_int_eq(acl_parse_canned("public-read-write", &acl), S3_OK);
	ck_assert_int_eq(acl, DB_ACL_PUBLIC_READ_WRITE);
	ck_assert_int_eq(acl_parse_canned("aws-exec-read", &acl),
	    S3_NOT_IMPLEMENTED);
	ck_assert_int_eq(acl_parse_canned("", &acl), S3_INVALID_ARGUMENT);
}
END_TEST

static const enum db_acl acls[] = { DB_ACL_PRIVATE, DB_ACL_PUBLIC_READ,
	DB_ACL_PUBLIC_READ_WRITE, DB_ACL_AUTHENTICATED_READ };

START_TEST(test_acl_round_trip)
{
	enum db_acl got;
	struct buf b;

	buf_init(&b, 10000);
	acl_encode(&b, "a&<b", acls[_i]);
	ck_assert(!buf_failed(&b));
	ck_assert_int_eq(acl_parse_xml(b.data, b.len, "a&<b", &got), S3_OK);
	ck_assert_int_eq(got, acls[_i]);
	/* The owner's grant is somebody else's now: more than we can keep. */
	ck_assert_int_eq(acl_parse_xml(b.data, b.len, "c", &got),
	    S3_NOT_IMPLEMENTED);
	ck_assert_int_eq(acl_parse_xml(b.data, b.len - 1, "a&<b", &got),
	    S3_MALFORMED_ACL);
	buf_fini(&b);
}
END_TEST

static char dir[] = "/tmp/qo-test-keys.XXXXXX";
static char path[64];
static int complaints;
static char last[512];

static void
on_line(const char *line, void *arg)
{
	(void)arg;
	complaints++;
	strlcpy(last, line, sizeof(last));
}

static struct keys *
load(const char *text)
{
	struct keys *k;

	complaints = 0;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/keys", dir);
	ck_assert_int_eq(io_write_file(path, text, strlen(text), 0600, NULL),
	    0);
	k = keys_load(path, on_line, NULL);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	return k;
}

#define SECRET "secret_key = 0123456789abcdef\n"

START_TEST(test_keys)
{
	struct keys *ks;
	struct key *k;

	ks = load("[b]\naccess_key = bbb\n" SECRET "owner = me\n"
		  "policy = read\nprefixes = x/, y/ z\n"
		  "rate = 20\nmax_object = 2KiB\nmax_bytes = 5\n"
		  "[key a]\naccess_key = aaa\n" SECRET);
	ck_assert_ptr_nonnull(ks);
	ck_assert_uint_eq(keys_count(ks), 2);
	k = keys_find(ks, "bbb");
	ck_assert_ptr_nonnull(k);
	ck_assert_str_eq(k->owner, "me");
	ck_assert(k->read && !k->write);
	ck_assert_uint_eq(k->prefixes.n, 3);
	ck_assert_str_eq(k->prefixes.list[2], "z");
	ck_assert_int_eq(k->rate.per_s, 20);
	ck_assert_int_eq(k->max_object, 2048);
	ck_assert_int_eq(k->max_bytes, 5);
	ck_assert_ptr_null(keys_find(ks, "bb"));
	ck_assert_ptr_null(keys_weak(ks));
	keys_free(ks);
	/* It was held. */
	ck_assert_str_eq(k->name, "b");
	key_release(k);
}
END_TEST

static const char *const bad_keys[] = {
	"",
	"access_key = aaa\n",
	"[a]\naccess_key = aaa\n",
	"[a]\n" SECRET,
	"[a]\naccess_key = a/b\n" SECRET,
	"[a]\naccess_key = aa\n" SECRET,
	"[a]\naccess_key = aaa\nsecret_key = short\n",
	"[a]\naccess_key = aaa\n" SECRET SECRET,
	"[a]\naccess_key = aaa\n" SECRET "policy = all\n",
	"[a]\naccess_key = aaa\n" SECRET "prefixes = ,\n",
	"[a]\naccess_key = aaa\n" SECRET "colour = red\n",
	"[a]\naccess_key = aaa\n" SECRET "rate = 0\n",
	"[a]\naccess_key = aaa\n" SECRET "rate = 5\nrate = 5\n",
	"[a]\naccess_key = aaa\n" SECRET "rate = 1000001\n",
	"[a]\naccess_key = aaa\n" SECRET "max_object = 5MB\n",
	"[a]\naccess_key = aaa\n" SECRET "max_object = 1\nmax_object = 1\n",
	"[a]\naccess_key = aaa\n" SECRET "[b]\naccess_key = aaa\n" SECRET,
	"[a\naccess_key = aaa\n" SECRET,
};

START_TEST(test_bad_keys)
{
	ck_assert_ptr_null(load(bad_keys[_i]));
	ck_assert_int_gt(complaints, 0);
	ck_assert_ptr_nonnull(strstr(last, path));
	ck_assert_ptr_null(strstr(last, "0123456789abcdef"));
}
END_TEST

START_TEST(test_generated_keys)
{
	struct keys *a, *b;
	struct stat st;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/keys", dir);
	ck_assert_int_eq(keys_generate(path, NULL), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	a = keys_load(path, on_line, NULL);
	ck_assert_int_eq(keys_generate(path, NULL), 0);
	b = keys_load(path, on_line, NULL);
	ck_assert_ptr_nonnull(a);
	ck_assert_ptr_nonnull(b);
	ck_assert_ptr_null(keys_weak(a));
	/* Readable by others: refused. */
	ck_assert_int_eq(chmod(path, 0644), 0);
	ck_assert_ptr_null(keys_load(path, on_line, NULL));
	keys_free(a);
	keys_free(b);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* A second's worth at once, then one by one as they come back. */
START_TEST(test_40_rate)
{
	static const int64_t rates[] = { 1, 3, 7, 1000, 999999, 1000000 };
	struct rate r = { .per_s = rates[_i] }, none = { 0 };
	struct qo_mono now = { 5 * QO_US_PER_SEC };
	int64_t i, n = 0;

	for (i = 0; i < r.per_s; i++)
		ck_assert(rate_take(&r, now));
	ck_assert(!rate_take(&r, now));
	now.us += QO_US_PER_SEC / r.per_s - 1;
	ck_assert(!rate_take(&r, now));
	now.us += 2;
	ck_assert(rate_take(&r, now));
	/* Asked for without pause it gives its rate over ten seconds. */
	for (i = 0; i < 10000; i++) {
		now.us += 1000;
		while (rate_take(&r, now))
			n++;
	}
	ck_assert_int_ge(n, 10 * r.per_s - 1);
	ck_assert_int_le(n, 10 * r.per_s + r.per_s / 1000 + 1);
	/* A long rest gives no more than one second's worth. */
	now.us += 3600 * QO_US_PER_SEC;
	for (n = 0; rate_take(&r, now); n++)
		;
	ck_assert_int_eq(n, r.per_s);
	for (i = 0; i < 1000; i++)
		ck_assert(rate_take(&none, now));
}
END_TEST

START_TEST(test_33_replay)
{
	struct qo_sigv4_auth a = { .time = { 1000 * QO_US_PER_SEC } };
	struct qo_wall now = a.time;
	struct replay *p;
	int i, n = 0;

	p = replay_new();
	strlcpy(a.signature, QO_SHA256_EMPTY, sizeof(a.signature));
	ck_assert_int_eq(replay_take(p, &a, now), REPLAY_NEW);
	ck_assert_int_eq(replay_take(p, &a, now), REPLAY_SEEN);
	now.us += QO_SIGV4_SKEW_US;
	ck_assert_int_eq(replay_take(p, &a, now), REPLAY_SEEN);
	now.us += 1; /* the signature itself is not good any more */
	ck_assert_int_eq(replay_take(p, &a, now), REPLAY_NEW);
	a.presigned = true;
	a.expires_s = 3600;
	a.signature[0] ^= 1;
	ck_assert_int_eq(replay_take(p, &a, now), REPLAY_NEW);
	now.us = a.time.us + 3600 * QO_US_PER_SEC;
	ck_assert_int_eq(replay_take(p, &a, now), REPLAY_SEEN);
	/* Without a place left it is refused, not forgotten. */
	for (i = 0; i < 1000 && n == 0; i++) {
		(void)snprintf(a.signature + 32 - 5, 6, "%05x", i);
		if (replay_take(p, &a, now) == REPLAY_FULL)
			n = i;
	}
	ck_assert_int_ge(n, 10);
	ck_assert_int_eq(replay_take(p, &a, now), REPLAY_FULL);
	replay_free(p);
}
END_TEST

#define NOW 1800000000

START_TEST(test_tokens)
{
	struct token t, got;
	struct keys *ks;
	struct key *k, *by;
	size_t i;

	ks = load("[a]\naccess_key = a.b\n" SECRET
		  "[c]\naccess_key = ccc\n" SECRET);
	ck_assert_ptr_nonnull(ks);
	k = keys_find(ks, "a.b");
	token_mint(k, TOKEN_OPERATOR, NOW + 60, &t);
	ck_assert_int_eq(token_check(ks, t.text, NOW, &got, &by), TOKEN_OK);
	ck_assert_ptr_eq(by, k);
	ck_assert_int_eq(got.scope, TOKEN_OPERATOR);
	ck_assert_str_eq(got.access_key, t.access_key);
	ck_assert_str_eq(got.secret, t.secret);
	ck_assert_ptr_null(strstr(t.text, t.secret));
	key_release(by);
	ck_assert_int_eq(token_check(ks, t.text, NOW + 60, &got, &by),
	    TOKEN_EXPIRED);
	ck_assert_ptr_null(by);
	/* No character can be changed. */
	for (i = 0; t.text[i] != '\0'; i++) {
		t.text[i] ^= 1;
		ck_assert_int_eq(token_check(ks, t.text, NOW, &got, &by),
		    TOKEN_BAD);
		t.text[i] ^= 1;
	}
	ck_assert_int_eq(token_check(ks, "", NOW, &got, &by), TOKEN_BAD);
	ck_assert_int_eq(token_check(ks, "1.r.x", NOW, &got, &by), TOKEN_BAD);
	key_release(k);
	keys_free(ks);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("access");
	TCase *tc = tcase_create("access");

	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, test_access, 0, (int)nitems(cases));
	tcase_add_test(tc, test_objects);
	tcase_add_test(tc, test_acl_words);
	tcase_add_loop_test(tc, test_acl_round_trip, 0, (int)nitems(acls));
	tcase_add_test(tc, test_keys);
	tcase_add_loop_test(tc, test_bad_keys, 0, (int)nitems(bad_keys));
	tcase_add_test(tc, test_generated_keys);
	tcase_add_loop_test(tc, test_40_rate, 0, 6);
	tcase_add_test(tc, test_33_replay);
	tcase_add_test(tc, test_tokens);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
