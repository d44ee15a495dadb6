/*
 * Power loss and failing disks, through a VFS that stands between SQLite and
 * the system.
 *
 * Every write, truncation and sync of the database and its logs is recorded,
 * and so is every answer.  Afterwards crash images are built: what was synced
 * is there; of what was not, nothing, all, a torn beginning or any choice of
 * 512-byte sectors.  A database opened on an image must be sound and hold
 * exactly the state after some number of operations that is not below what
 * had been answered by then.
 *
 * QO_CRASH_IMAGES sets how many images are tried (default 300).
 */
#include "run_suite.h"
#include "store_fixture.h"
#include "../../qo-store/db_int.h"
#include "crash_vfs.h"

#define SECTOR 512
#define NOPS   140

static uint32_t seed;

static uint32_t
draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Images are many and small: in memory when there is a place for it. */
static void
pick_tmpdir(void)
{
	if (access("/dev/shm", W_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 1);
}

static void
setup(void)
{
	shim_start();
	pick_tmpdir();
	fx_setup();
}

static void
teardown(void)
{
	recording = false;
	fail_in = 0;
	fx_teardown();
	shim_stop();
}

/* The operations: the same list each time. */

struct plan {
	bool del;
	int bucket;
	char key[16];
	size_t len;
};
static struct plan plans[NOPS];
static char *states[NOPS + 1]; /* after the first n operations */
static int64_t buckets[2];

static void
make_plans(void)
{
	int i;

	seed = 4711;
	for (i = 0; i < NOPS; i++) {
		plans[i].del = draw(5) == 0;
		plans[i].bucket = (int)draw(2);
		plans[i].len = draw(4) == 0 ? draw(20000) : draw(1500);
		(void)snprintf(plans[i].key, sizeof(plans[i].key), "key/%u",
		    draw(25));
	}
}

static struct db_op
plan_op(int i, struct db_delete *d)
{
	const struct plan *p = &plans[i];
	struct db_op op = { .bucket_id = buckets[p->bucket], .owner = "me" };
	char *text;

	if (p->del) {
		memset(d, 0, sizeof(*d));
		d->key = p->key;
		op.kind = DB_OP_DELETE;
		op.deletes = d;
		op.ndeletes = 1;
		return op;
	}
	op.kind = DB_OP_PUT;
	op.key = p->key;
	text = xmalloc(p->len + 1);
	memset(text, 'a' + i % 26, p->len + 1);
	op.body = fx_body(text, p->len);
	free(text);
	return op;
}

static void
dump_object(const struct db_obj *o, void *arg)
{
	buf_addf(arg, "%s %s %lld%s%s\n", o->key, o->etag, (long long)o->size,
	    o->marker ? " marker" : "", o->latest ? " latest" : "");
}

static void
dump_body(const struct db_obj *o, void *arg)
{
	struct db_obj whole;
	int64_t bucket = *(int64_t *)arg;

	ck_assert_int_eq(db_get(fx_db, bucket, o->key, NULL, DB_READ_BODY,
			     &whole),
	    DB_OK);
	db_obj_fini(&whole);
}

/* All that the database holds, without ids and times.  A bucket that is not
 * there yet is as good as empty. */
static char *
dump(void)
{
	struct db_list q = { .prefix = "", .max = 10000 };
	struct db_list_cb cb = { dump_object, NULL, NULL };
	struct db_list_cb bodies = { dump_body, NULL, NULL };
	struct buf out;
	char *next, *next_version;
	bool more;
	int i;

	buf_init(&out, 1 << 20);
	cb.arg = &out;
	for (i = 0; i < 2; i++) {
		buf_addf(&out, "bucket %d\n", i);
		ck_assert_int_eq(db_list_versions(fx_db, buckets[i], &q, &cb,
				     &more, &next, &next_version),
		    DB_OK);
		bodies.arg = &buckets[i];
		ck_assert_int_eq(db_list(fx_db, buckets[i], &q, &bodies, &more,
				     &next),
		    DB_OK);
	}
	return buf_take(&out, NULL);
}

/* One after the other, with the state after each. */
static void
make_states(void)
{
	struct db_delete d;
	struct db_op op;
	int i;

	make_plans();
	buckets[0] = fx_bucket("plain", DB_UNVERSIONED);
	buckets[1] = fx_bucket("versions", DB_VERSIONED);
	states[0] = dump();
	for (i = 0; i < NOPS; i++) {
		op = plan_op(i, &d);
		ck_assert_int_eq(fx_run(&op), DB_OK);
		states[i + 1] = dump();
	}
}

static void
free_states(void)
{
	int i;

	for (i = 0; i <= NOPS; i++)
		free(states[i]);
}

static int answered;

static void
note_ack(struct db_op *op)
{
	(void)op;
	record(EV_ACK, FILE_DB, ++answered, NULL, 0);
}

/* Copies the WAL back, as the commit thread does now and then. */
static void
run_checkpoint(void)
{
	char path[256];
	sqlite3 *h;

	(void)snprintf(path, sizeof(path), "%s/%s", fx_dir, DB_FILE);
	ck_assert_int_eq(sqlite3_open(path, &h), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(h, "PRAGMA wal_checkpoint(PASSIVE)", NULL,
			     NULL, NULL),
	    SQLITE_OK);
	sqlite3_close(h);
}

/* The same operations in groups, recorded from the first byte. */
static void
record_run(const char *synchronous)
{
	struct db_op ops[8];
	struct db_delete d[8];
	int i = 0, j, n, round = 0;

	db_close(fx_db);
	fx_remove_tree(fx_dir);
	(void)snprintf(watched, sizeof(watched), "%s", fx_dir);
	recording = true;
	answered = 0;
	fx_open();
	if (synchronous != NULL)
		ck_assert_int_eq(sqlite3_exec(fx_db->wr.h, synchronous, NULL,
				     NULL, NULL),
		    SQLITE_OK);
	buckets[0] = fx_bucket("plain", DB_UNVERSIONED);
	buckets[1] = fx_bucket("versions", DB_VERSIONED);
	record(EV_ACK, FILE_DB, 0, NULL, 0);
	while (i < NOPS) {
		n = 1 + (int)draw(8);
		if (n > NOPS - i)
			n = NOPS - i;
		record(EV_SUBMIT, FILE_DB, i + n, NULL, 0);
		for (j = 0; j < n; j++) {
			ops[j] = plan_op(i + j, &d[j]);
			ops[j].done = note_ack;
			db_submit(fx_db, &ops[j]);
		}
		i += n;
		while (answered < i)
			loop_once(fx_loop, -1);
		if (++round % 7 == 0)
			run_checkpoint();
	}
	recording = false;
	watched[0] = '\0';
}

/* A crash */

struct image {
	char *data[NFILES];
	size_t len[NFILES];
	size_t cap[NFILES];
};

static void
image_size(struct image *m, enum file_no f, size_t len)
{
	if (len > m->cap[f]) {
		m->cap[f] = len * 2;
		m->data[f] = xreallocarray(m->data[f], m->cap[f], 1);
	}
	if (len > m->len[f])
		memset(m->data[f] + m->len[f], 0, len - m->len[f]);
	m->len[f] = len;
}

static void
image_free(struct image *m)
{
	int i;

	for (i = 0; i < NFILES; i++)
		free(m->data[i]);
}

static void
image_write(struct image *m, const struct event *e, size_t from, size_t len)
{
	size_t end = (size_t)e->off + from + len;

	if (end > m->len[e->file])
		image_size(m, e->file, end);
	memcpy(m->data[e->file] + e->off + from, e->data + from, len);
}

static void
image_apply(struct image *m, const struct event *e)
{
	switch (e->kind) {
	case EV_WRITE:
		image_write(m, e, 0, e->len);
		break;
	case EV_TRUNCATE:
		image_size(m, e->file, (size_t)e->off);
		break;
	case EV_DELETE:
		image_size(m, e->file, 0);
		break;
	case EV_SYNC:
	case EV_SUBMIT:
	case EV_ACK:
		break;
	}
}

enum loss {
	LOSE_ALL = 0, /* of what was not synced */
	LOSE_NONE,    /* the process was killed, not the machine */
	LOSE_TAIL,    /* the last that arrived is torn */
	LOSE_ANY,     /* any sectors, in no order */
	NLOSS
};

static void
apply_some(struct image *m, const struct event *e)
{
	size_t off, n;

	if (e->kind != EV_WRITE) {
		if (draw(2) == 0)
			image_apply(m, e);
		return;
	}
	for (off = 0; off < e->len; off += n) {
		n = e->len - off < SECTOR ? e->len - off : SECTOR;
		if (draw(2) == 0)
			image_write(m, e, off, n);
	}
}

/* What is on the disk when the power goes after the first n events. */
static void
image_make(struct image *m, size_t n, enum loss loss)
{
	size_t i, synced[NFILES] = { 0 }, tail;
	const struct event *e;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < n; i++)
		if (events[i].kind == EV_SYNC)
			synced[events[i].file] = i;
	tail = n == 0 ? 0 : n - draw((uint32_t)(n < 20 ? n : 20));
	for (i = 0; i < n; i++) {
		e = &events[i];
		if (i < synced[e->file] || loss == LOSE_NONE)
			image_apply(m, e);
		else if (loss == LOSE_TAIL && i < tail)
			image_apply(m, e);
		else if (loss == LOSE_TAIL && i == tail && e->kind == EV_WRITE)
			image_write(m, e, 0,
			    (size_t)draw((uint32_t)e->len) / SECTOR * SECTOR);
		else if (loss == LOSE_ANY)
			apply_some(m, e);
	}
}

static void
image_store(const struct image *m, const char *dir)
{
	static const char *const names[NFILES] = { DB_FILE, DB_FILE "-wal",
		DB_FILE "-journal" };
	char path[256];
	FILE *f;
	int i;

	for (i = 0; i < NFILES; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (m->len[i] == 0)
			continue;
		f = fopen(path, "we");
		ck_assert_ptr_nonnull(f);
		ck_assert_uint_eq(fwrite(m->data[i], 1, m->len[i], f),
		    m->len[i]);
		fclose(f);
	}
}

static void
note_problem(const char *line, void *arg)
{
	buf_addf(arg, "%s; ", line);
}

/* Opens an image; the text of what is wrong, or NULL. */
static char *
judge_image(const char *dir, int64_t acked, int64_t submitted)
{
	struct qo_err err = { .msg = "" };
	struct buf problems;
	char *got, *bad = NULL;
	int64_t i;

	fx_db = db_open(fx_loop, dir, &err);
	if (fx_db == NULL)
		return xasprintf("does not open: %s", err.msg);
	buf_init(&problems, 65536);
	if (db_check(dir, note_problem, &problems, &err) != 0)
		bad = xasprintf("not sound: %s%s", problems.data, err.msg);
	buf_fini(&problems);
	got = dump();
	for (i = acked; bad == NULL && i <= submitted; i++)
		if (strcmp(got, states[i]) == 0)
			break;
	if (bad == NULL && i > submitted)
		bad = xasprintf("no state between %lld and %lld",
		    (long long)acked, (long long)submitted);
	free(got);
	db_close(fx_db);
	return bad;
}

/* The number of images that are wrong; the first is printed. */
static int
try_images(int count, size_t first)
{
	struct image m;
	char dir[128], *bad;
	int64_t acked, submitted;
	size_t n, i;
	int k, wrong = 0;
	enum loss loss;

	for (k = 0; k < count; k++) {
		n = first + draw((uint32_t)(nevents - first) + 1);
		/* Mostly right behind a sync or an answer. */
		while (draw(4) != 0 && n < nevents && n > 0 &&
		    events[n - 1].kind != EV_SYNC &&
		    events[n - 1].kind != EV_ACK)
			n++;
		loss = (enum loss)draw(NLOSS);
		for (acked = submitted = 0, i = 0; i < n; i++) {
			if (events[i].kind == EV_ACK)
				acked = events[i].off;
			if (events[i].kind == EV_SUBMIT)
				submitted = events[i].off;
		}
		image_make(&m, n, loss);
		fx_make_dir(dir, sizeof(dir));
		image_store(&m, dir);
		bad = judge_image(dir, acked, submitted);
		if (bad != NULL && wrong++ == 0)
			printf("image after %zu of %zu events, loss %d: %s\n",
			    n, nevents, (int)loss, bad);
		free(bad);
		fx_remove_tree(dir);
		image_free(&m);
	}
	return wrong;
}

static int
image_count(void)
{
	const char *s = getenv("QO_CRASH_IMAGES");

	return s != NULL ? (int)strtol(s, NULL, 10) : 300;
}

/* Where the first answer was given: before it there may be no database. */
static size_t
first_ack(void)
{
	size_t i;

	for (i = 0; i < nevents && events[i].kind != EV_ACK; i++)
		continue;
	return i + 1;
}

START_TEST(test_power_loss)
{
	struct db *live;
	int wrong;

	make_states();
	record_run(NULL);
	ck_assert_uint_gt(nevents, 200);
	live = fx_db;
	wrong = try_images(image_count(), first_ack());
	fx_db = live;
	free_states();
	ck_assert_int_eq(wrong, 0);
}
END_TEST

/* The test can fail: without the sync at commit answered writes are lost. */
START_TEST(test_normal_is_not_enough)
{
	struct db *live;
	int wrong;

	make_states();
	record_run("PRAGMA synchronous = NORMAL");
	live = fx_db;
	wrong = try_images(60, first_ack());
	fx_db = live;
	free_states();
	ck_assert_int_gt(wrong, 0);
}
END_TEST

/* Power loss while the database is made: it opens again, empty or whole. */
START_TEST(test_power_loss_at_creation)
{
	struct qo_err err;
	struct image m;
	struct db *live;
	char dir[128];
	size_t n;
	int loss;

	make_states();
	record_run(NULL);
	live = fx_db;
	for (n = 0; n < first_ack(); n++)
		for (loss = 0; loss < NLOSS; loss++) {
			image_make(&m, n, (enum loss)loss);
			fx_make_dir(dir, sizeof(dir));
			image_store(&m, dir);
			fx_db = db_open(fx_loop, dir, &err);
			ck_assert_msg(fx_db != NULL, "%zu events, loss %d: %s",
			    n, loss, err.msg);
			db_close(fx_db);
			fx_remove_tree(dir);
			image_free(&m);
		}
	fx_db = live;
	free_states();
}
END_TEST

/* Failing disks */

static const struct fault {
	int code;
	bool on;
	enum db_rc want;
} faults[] = {
	{ SQLITE_FULL, false, DB_FULL },
	{ SQLITE_FULL, true, DB_FULL },
	{ SQLITE_IOERR_WRITE, false, DB_ERROR },
	{ SQLITE_IOERR_WRITE, true, DB_ERROR },
	{ SQLITE_READONLY, false, DB_READONLY },
	{ SQLITE_READONLY, true, DB_READONLY },
};

static void
set_fault(int n, const struct fault *f)
{
	pthread_mutex_lock(&mu);
	fail_code = f->code;
	fail_on = f->on;
	fail_in = n;
	pthread_mutex_unlock(&mu);
}

START_TEST(test_40_failing_disk)
{
	const struct fault *f = &faults[_i];
	struct db_op ops[4];
	struct buf problems;
	struct qo_err err;
	char keys[4][24];
	int64_t b;
	int n, i, failed = 0;

	b = fx_bucket("bb", DB_VERSIONED);
	(void)snprintf(watched, sizeof(watched), "%s", fx_dir);
	fx_reopen(); /* from now on its files are watched */
	for (n = 1; n < 40; n++) {
		set_fault(n, f);
		for (i = 0; i < 4; i++) {
			(void)snprintf(keys[i], sizeof(keys[i]), "%d/%d", n, i);
			ops[i] = fx_put_op(b, keys[i], "a body");
		}
		fx_run_many(ops, 4);
		for (i = 0; i < 4; i++) {
			if (ops[i].rc != DB_OK) {
				/* A sync that fails is an I/O error. */
				ck_assert(ops[i].rc == f->want ||
				    ops[i].rc == DB_ERROR);
				failed++;
			}
			fx_expect(b, keys[i], NULL,
			    ops[i].rc == DB_OK ? "a body" : "(none)");
		}
		/* It goes on by itself. */
		set_fault(0, f);
		fx_put(b, "good", "again");
		fx_expect(b, "good", NULL, "again");
	}
	ck_assert_int_gt(failed, 0);
	buf_init(&problems, 65536);
	ck_assert_msg(db_check(fx_dir, note_problem, &problems, &err) == 0,
	    "%s", problems.data);
	fx_reopen();
	ck_assert_msg(db_check(fx_dir, note_problem, &problems, &err) == 0,
	    "%s", problems.data);
	buf_fini(&problems);
}
END_TEST

int
main(void)
{
	Suite *s;
	TCase *tc;

	s = suite_create("store_crash");
	tc = tcase_create("store_crash");
	tcase_set_timeout(tc, 3600);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_power_loss);
	tcase_add_test(tc, test_normal_is_not_enough);
	tcase_add_test(tc, test_power_loss_at_creation);
	tcase_add_loop_test(tc, test_40_failing_disk, 0,
	    (int)(sizeof(faults) / sizeof(faults[0])));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
