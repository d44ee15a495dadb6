/* Listings against a plain model: every page size, prefix and delimiter. */
#include "run_suite.h"
#include "store_fixture.h"

#define PAGE_TEXT 65536

/* In byte order. */
static const char *const keys[] = {
	" ",
	"a",
	"a b",
	"a+b",
	"a/",
	"a/b",
	"a/b/",
	"a/b/c",
	"a/b0",
	"a/c",
	"a0",
	"aa/x",
	"b//x",
	"b//y",
	"b/x",
	"c",
	"dir1/f1",
	"dir1/f2",
	"dir1/f3",
	"dir2/f1",
	"dir2/sub/f1",
	"dir2/sub/f2",
	"dir3",
	"zebra",
	"~",
	"\xc3\xa9/1",
	"\xc3\xa9/2",
	"\xc3\xa9t\xc3\xa9",
	"\xf0\x9f\x98\x80",
};
#define NKEYS (sizeof(keys) / sizeof(keys[0]))

static const char *const prefixes[] = { "", "a", "a/", "a/b", "b/", "dir",
	"dir2/sub/f1", "dir2/sub/f1x", "\xc3\xa9", "none", "~" };
static const char *const delimiters[] = { NULL, "", "/", "//", "b", "\xc3\xa9",
	"1" };

static void
note_object(const struct db_obj *o, void *arg)
{
	buf_addf(arg, "%s\n", o->key);
	ck_assert_str_eq(o->meta.owner, "me");
	ck_assert_int_eq(o->size, (int64_t)strlen(o->key));
	ck_assert_uint_eq(strlen(o->etag), 32);
	ck_assert(o->latest && !o->marker);
}

static void
note_prefix(const char *prefix, void *arg)
{
	buf_addf(arg, "%s ->\n", prefix);
}

/* What a listing must give: straight from the array. */
static size_t
model(const struct db_list *q, struct buf *out)
{
	const char *last = NULL, *d;
	size_t i, n = 0, len, last_len = 0;

	for (i = 0; i < NKEYS; i++) {
		if (strncmp(keys[i], q->prefix, strlen(q->prefix)) != 0)
			continue;
		if (last != NULL && strncmp(keys[i], last, last_len) == 0)
			continue;
		n++;
		d = q->delimiter == NULL || q->delimiter[0] == '\0'
		    ? NULL
		    : strstr(keys[i] + strlen(q->prefix), q->delimiter);
		if (d == NULL) {
			buf_addf(out, "%s\n", keys[i]);
			continue;
		}
		len = (size_t)(d - keys[i]) + strlen(q->delimiter);
		buf_addf(out, "%.*s ->\n", (int)len, keys[i]);
		last = keys[i];
		last_len = len;
	}
	return n;
}

static void
page_through(int64_t b, struct db_list *q, size_t total, const char *want)
{
	struct db_list_cb cb = { note_object, note_prefix, NULL };
	struct buf got;
	size_t pages = 0, lines, i;
	char *next = NULL, *after = NULL;
	bool more = true;

	buf_init(&got, PAGE_TEXT);
	cb.arg = &got;
	while (more) {
		lines = got.len;
		q->after = after;
		ck_assert_int_eq(db_list(fx_db, b, q, &cb, &more, &next),
		    DB_OK);
		free(after);
		after = next;
		for (i = 0; lines < got.len; lines++)
			i += got.data[lines] == '\n';
		ck_assert_uint_le(i, q->max);
		ck_assert(!more || i == q->max);
		ck_assert_int_eq(more, next != NULL);
		ck_assert_uint_le(++pages, total + 1);
	}
	ck_assert_str_eq(got.data, want);
	buf_fini(&got);
	q->after = NULL;
}

START_TEST(test_list_every_page)
{
	struct db_list q = { .prefix = prefixes[_i] };
	struct buf want;
	size_t d, total;
	int64_t b;

	b = fx_bucket("bb", _i % 2 == 0 ? DB_UNVERSIONED : DB_VERSIONED);
	fx_bucket("neighbour", DB_UNVERSIONED);
	for (d = 0; d < NKEYS; d++) /* in another order than they sort */
		fx_put(b, keys[d * 7 % NKEYS], keys[d * 7 % NKEYS]);
	fx_put(b + 1, "b/in the next bucket", "x");
	if (_i % 2 == 1) { /* old versions and markers change nothing */
		fx_put(b, "a", "x");
		fx_put(b, "a", "a");
		fx_put(b, "a/deleted", "x");
		fx_delete(b, "a/deleted", NULL);
		fx_delete(b, "e/deleted", NULL);
	}
	for (d = 0; d < sizeof(delimiters) / sizeof(delimiters[0]); d++) {
		q.delimiter = delimiters[d];
		buf_init(&want, PAGE_TEXT);
		total = model(&q, &want);
		for (q.max = 1; q.max <= total + 2; q.max++)
			page_through(b, &q, total, want.data);
		buf_fini(&want);
	}
}
END_TEST

START_TEST(test_list_bounds)
{
	struct db_list_cb cb = { note_object, note_prefix, NULL };
	struct db_list q = { .prefix = "", .max = 0 };
	char *long_text = xmalloc(5001), *next;
	struct buf got;
	int64_t b;
	bool more;

	memset(long_text, 'a', 5000);
	long_text[5000] = '\0';
	buf_init(&got, PAGE_TEXT);
	cb.arg = &got;
	b = fx_bucket("bb", DB_UNVERSIONED);
	fx_put(b, "a", "a");
	fx_put(b, "b", "b");
	ck_assert_int_eq(db_list(fx_db, b, &q, &cb, &more, &next), DB_OK);
	ck_assert(!more && got.len == 0);
	q.max = 10;
	q.prefix = long_text;
	ck_assert_int_eq(db_list(fx_db, b, &q, &cb, &more, &next), DB_OK);
	ck_assert(!more && got.len == 0);
	q.prefix = "";
	q.delimiter = "a";
	q.after = long_text;
	ck_assert_int_eq(db_list(fx_db, b, &q, &cb, &more, &next), DB_OK);
	ck_assert_str_eq(got.data, "b\n");
	buf_reset(&got);
	q.delimiter = NULL;
	q.after = "a"; /* exclusive */
	ck_assert_int_eq(db_list(fx_db, b, &q, &cb, &more, &next), DB_OK);
	ck_assert_str_eq(got.data, "b\n");
	buf_reset(&got);
	q.after = "A";
	ck_assert_int_eq(db_list(fx_db, b, &q, &cb, &more, &next), DB_OK);
	ck_assert_str_eq(got.data, "a\nb\n");
	ck_assert_int_eq(db_list(fx_db, 99, &q, &cb, &more, &next), DB_OK);
	ck_assert_str_eq(got.data, "a\nb\n");
	buf_fini(&got);
	free(long_text);
}
END_TEST

/*
 * Random writes against a model of every version of a few keys; after each
 * the whole history is read back, in pages of several sizes.
 */
#define MAX_VERSIONS 400
static const char *const vkeys[] = { "a", "a/x", "a/y", "b", "c/z" };
#define NVKEYS (sizeof(vkeys) / sizeof(vkeys[0]))

struct mversion {
	char id[DB_VID_MAX];
	bool marker;
	char text[16];
};
static struct mkey {
	struct mversion v[MAX_VERSIONS]; /* oldest first */
	size_t n;
} history[NVKEYS];

static uint32_t seed;

static uint32_t
draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void
m_remove(struct mkey *k, const char *id)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		if (strcmp(k->v[i].id, id) == 0) {
			memmove(&k->v[i], &k->v[i + 1],
			    (k->n - i - 1) * sizeof(k->v[0]));
			k->n--;
			return;
		}
}

static void
m_add(struct mkey *k, const char *id, bool marker, const char *text)
{
	struct mversion *v;

	if (strcmp(id, "null") == 0)
		m_remove(k, "null");
	ck_assert_uint_lt(k->n, MAX_VERSIONS);
	v = &k->v[k->n++];
	(void)snprintf(v->id, sizeof(v->id), "%s", id);
	(void)snprintf(v->text, sizeof(v->text), "%s", text);
	v->marker = marker;
}

static void
random_write(int64_t b, enum db_versioning *state, int step)
{
	size_t which = draw(NVKEYS);
	struct mkey *k = &history[which];
	struct db_delete d;
	struct db_op op;
	char text[16], id[DB_VID_MAX];

	switch (draw(10)) {
	case 0:
		*state = draw(2) == 0 ? DB_VERSIONED : DB_SUSPENDED;
		if (step > 30)
			fx_versioning(b, *state);
		else
			*state = DB_UNVERSIONED;
		break;
	case 1:
	case 2:
		d = fx_delete(b, vkeys[which], NULL);
		if (*state == DB_UNVERSIONED)
			m_remove(k, "null");
		else
			m_add(k, d.out_version, true, "");
		break;
	case 3:
	case 4:
		if (k->n == 0)
			break;
		memcpy(id, k->v[draw((uint32_t)k->n)].id, sizeof(id));
		d = fx_delete(b, vkeys[which], id);
		ck_assert(d.existed);
		m_remove(k, id);
		break;
	default:
		(void)snprintf(text, sizeof(text), "step %d", step);
		op = fx_put(b, vkeys[which], text);
		m_add(k, *state == DB_UNVERSIONED ? "null" : op.out_version,
		    false, text);
		break;
	}
}

static void
note_version(const struct db_obj *o, void *arg)
{
	buf_addf(arg, "%s %s%s%s\n", o->key, o->version_id,
	    o->marker ? " marker" : "", o->latest ? " latest" : "");
}

static size_t
versions_model(bool rolled, struct buf *out)
{
	size_t i, j, n = 0;
	const struct mkey *k;
	bool common = false;

	for (i = 0; i < NVKEYS; i++) {
		k = &history[i];
		if (rolled && strchr(vkeys[i], '/') != NULL) {
			/* "a/x" and "a/y" are one. */
			if (k->n > 0 && !(common && i == 2)) {
				buf_addf(out, "%.2s ->\n", vkeys[i]);
				n++;
				common = true;
			}
			continue;
		}
		for (j = k->n; j > 0; j--, n++)
			buf_addf(out, "%s %s%s%s\n", vkeys[i], k->v[j - 1].id,
			    k->v[j - 1].marker ? " marker" : "",
			    j == k->n ? " latest" : "");
	}
	return n;
}

static void
versions_page_through(int64_t b, const char *delimiter, size_t max,
    size_t total, const char *want)
{
	struct db_list q = { .prefix = "", .delimiter = delimiter, .max = max };
	struct db_list_cb cb = { note_version, note_prefix, NULL };
	char *next = NULL, *next_version = NULL, *after = NULL, *av = NULL;
	struct buf got;
	size_t pages = 0;
	bool more = true;

	buf_init(&got, PAGE_TEXT);
	cb.arg = &got;
	while (more) {
		q.after = after;
		q.after_version = av;
		ck_assert_int_eq(db_list_versions(fx_db, b, &q, &cb, &more,
				     &next, &next_version),
		    DB_OK);
		free(after);
		free(av);
		after = next;
		av = next_version;
		ck_assert_uint_le(++pages, total + 1);
	}
	ck_assert_str_eq(got.data, want);
	buf_fini(&got);
}

static void
compare_all(int64_t b, size_t max)
{
	struct buf want;
	size_t i, total;
	char *got;

	buf_init(&want, PAGE_TEXT);
	total = versions_model(false, &want);
	versions_page_through(b, NULL, max, total, want.data);
	versions_page_through(b, NULL, 1000, total, want.data);
	buf_reset(&want);
	total = versions_model(true, &want);
	versions_page_through(b, "/", max, total, want.data);
	buf_fini(&want);
	for (i = 0; i < NVKEYS; i++) {
		const struct mkey *k = &history[i];

		fx_expect(b, vkeys[i], NULL,
		    k->n == 0                   ? "(none)"
			: k->v[k->n - 1].marker ? "(marker)"
						: k->v[k->n - 1].text);
		if (k->n > 1) {
			got = fx_get(b, vkeys[i], k->v[0].id);
			ck_assert_str_eq(got,
			    k->v[0].marker ? "(marker)" : k->v[0].text);
			free(got);
		}
	}
}

static void
print_problem(const char *line, void *arg)
{
	(void)arg;
	(void)puts(line);
}

START_TEST(test_versions_against_model)
{
	enum db_versioning state = DB_UNVERSIONED;
	struct qo_err err;
	int64_t b;
	int step;

	memset(history, 0, sizeof(history));
	seed = (uint32_t)_i * 2654435761u + 1;
	b = fx_bucket("bb", DB_UNVERSIONED);
	for (step = 0; step < 200; step++) {
		random_write(b, &state, step);
		compare_all(b, 1 + (size_t)step % 5);
	}
	fx_reopen();
	compare_all(b, 3);
	ck_assert_int_eq(db_check(fx_dir, print_problem, NULL, &err), 0);
}
END_TEST

/* A version-id-marker whose version is gone still tells where to go on. */
START_TEST(test_versions_after_removed)
{
	struct db_list q = { .prefix = "", .after = "k", .max = 10 };
	struct db_list_cb cb = { note_version, note_prefix, NULL };
	struct db_op v[4];
	struct buf got, want;
	char *next, *next_version;
	int64_t b;
	bool more;
	int i;

	b = fx_bucket("bb", DB_VERSIONED);
	for (i = 0; i < 4; i++)
		v[i] = fx_put(b, "k", "x");
	fx_delete(b, "k", v[2].out_version);
	buf_init(&got, PAGE_TEXT);
	buf_init(&want, PAGE_TEXT);
	cb.arg = &got;
	q.after_version = v[2].out_version;
	ck_assert_int_eq(db_list_versions(fx_db, b, &q, &cb, &more, &next,
			     &next_version),
	    DB_OK);
	buf_addf(&want, "k %s\nk %s\n", v[1].out_version, v[0].out_version);
	ck_assert_str_eq(got.data, want.data);
	/* The one behind the marker can be the latest meanwhile. */
	fx_delete(b, "k", v[3].out_version);
	fx_delete(b, "k", v[1].out_version);
	buf_reset(&got);
	q.after = "j";
	q.after_version = NULL;
	ck_assert_int_eq(db_list_versions(fx_db, b, &q, &cb, &more, &next,
			     &next_version),
	    DB_OK);
	buf_reset(&want);
	buf_addf(&want, "k %s latest\n", v[0].out_version);
	ck_assert_str_eq(got.data, want.data);
	buf_fini(&got);
	buf_fini(&want);
}
END_TEST

int
main(void)
{
	Suite *s;
	TCase *tc;

	s = suite_create("store_list");
	tc = tcase_create("store_list");
	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, fx_setup, fx_teardown);
	tcase_add_loop_test(tc, test_list_every_page, 0,
	    (int)(sizeof(prefixes) / sizeof(prefixes[0])));
	tcase_add_test(tc, test_list_bounds);
	tcase_add_loop_test(tc, test_versions_against_model, 0, 4);
	tcase_add_test(tc, test_versions_after_removed);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
