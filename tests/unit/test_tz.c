/* Time zones.  Files are made here; test tz of the integration tests compares
 * the system's zones with another implementation. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "io.h"
#include "run_suite.h"
#include "tz.h"
#include "tzrule.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))
#define MARCH     INT64_C(1774746000) /* 2026-03-29T01:00Z: 02:00 is 03:00 */
#define OCTOBER   INT64_C(1792890000) /* 2026-10-25T01:00Z: 03:00 is 02:00 */
#define HOUR      INT64_C(3600)

static struct buf file;

static void
setup(void)
{
	buf_init(&file, 65536);
}

static void
teardown(void)
{
	buf_fini(&file);
}

static void
put(int64_t v, int bytes)
{
	while (bytes-- > 0)
		buf_addc(&file, (char)((uint64_t)v >> (8 * bytes)));
}

static void
put_head(char version, int nchanges, int ntypes, int nchars)
{
	buf_adds(&file, "TZif");
	put(version, 1);
	put(0, 8);
	put(0, 7);
	put(0, 8);
	put(0, 4);
	put(nchanges, 4);
	put(ntypes, 4);
	put(nchars, 4);
}

/* Berlin in 2026 and, by its rule, after. */
static void
put_data(int width)
{
	put(MARCH, width);
	put(OCTOBER, width);
	put(1, 1);
	put(0, 1);
	put(3600, 4);
	put(0, 2);
	put(7200, 4);
	put(1, 1);
	put(4, 1);
	buf_add(&file, "CET\0CEST", 9);
}

static void
put_berlin(char version)
{
	buf_reset(&file);
	put_head(version, 2, 2, 9);
	put_data(4);
	if (version == '\0')
		return;
	put_head(version, 2, 2, 9);
	put_data(8);
	buf_adds(&file, "\nCET-1CEST,M3.5.0,M10.5.0/3\n");
}

static struct qo_tz *
berlin(void)
{
	struct qo_err err;
	struct qo_tz *tz;

	put_berlin('2');
	tz = qo_tz_parse(file.data, file.len, &err);
	ck_assert_msg(tz != NULL, "%s", err.msg);
	return tz;
}

START_TEST(test_versions)
{
	static const char versions[] = { '\0', '2', '3', '4' };
	struct qo_tz_time t;
	struct qo_tz *tz;
	size_t i;

	for (i = 0; i < sizeof(versions); i++) {
		put_berlin(versions[i]);
		tz = qo_tz_parse(file.data, file.len, NULL);
		ck_assert_ptr_nonnull(tz);
		qo_tz_local(tz, MARCH, &t);
		ck_assert_int_eq(t.hour, 3);
		ck_assert_int_eq(t.date.wday, 0);
		ck_assert(t.dst);
		ck_assert_str_eq(t.abbr, "CEST");
		qo_tz_local(tz, MARCH - 1, &t);
		ck_assert_int_eq(t.hour, 1);
		ck_assert_int_eq(t.offset_s, 3600);
		/* In July 2027 only those with a rule know of summer. */
		qo_tz_local(tz, MARCH + 480 * QO_DAY_SEC, &t);
		ck_assert_int_eq(t.offset_s, versions[i] == '\0' ? 3600 : 7200);
		qo_tz_free(tz);
	}
}
END_TEST

START_TEST(test_instants)
{
	struct qo_tz *tz = berlin();
	int64_t all[QO_TZ_INSTANTS_MAX], days, later;
	int64_t gap = MARCH + HOUR + 1800, overlap = OCTOBER + HOUR + 1800;

	/* This year by the table; 2037 has the same days, by the rule. */
	for (days = 0; days <= 4018; days += 4018) {
		later = days * QO_DAY_SEC;
		ck_assert_uint_eq(qo_tz_instants(tz, gap + later, all), 0);
		ck_assert_int_eq(qo_tz_reached(tz, gap + later), MARCH + later);
		ck_assert_uint_eq(qo_tz_instants(tz, overlap + later, all), 2);
		ck_assert_int_eq(all[0], OCTOBER + later - 1800);
		ck_assert_int_eq(all[1], OCTOBER + later + 1800);
		ck_assert_int_eq(qo_tz_reached(tz, overlap + later), all[0]);
	}
	ck_assert_uint_eq(qo_tz_instants(tz, MARCH, all), 1);
	ck_assert_int_eq(all[0], MARCH - HOUR);
	qo_tz_free(tz);
}
END_TEST

START_TEST(test_high)
{
	struct qo_tz *tz = berlin();

	ck_assert_int_eq(qo_tz_high(tz, MARCH), MARCH + 2 * HOUR);
	ck_assert_int_eq(qo_tz_high(tz, OCTOBER - 1), OCTOBER - 1 + 2 * HOUR);
	/* Shown again: nothing new for an hour. */
	ck_assert_int_eq(qo_tz_high(tz, OCTOBER), OCTOBER - 1 + 2 * HOUR);
	ck_assert_int_eq(qo_tz_high(tz, OCTOBER + HOUR - 1),
	    OCTOBER - 1 + 2 * HOUR);
	ck_assert_int_eq(qo_tz_high(tz, OCTOBER + HOUR), OCTOBER + 2 * HOUR);
	qo_tz_free(tz);
}
END_TEST

/* A place in the file of version 2 that is made wrong. */
static const struct {
	size_t at;
	const char *bytes;
	size_t len;
	const char *says;
} broken[] = {
	{ 0, "TZiX", 4, "TZif" },
	{ 4, "9", 1, "version" },
	{ 32, "\xff\xff\xff\xff", 4, "cut off" },   /* v1 changes */
	{ 75, "XXXX", 4, "TZif" },                  /* the second header */
	{ 79, "\0", 1, "version" },                 /* ... of version 1 */
	{ 107, "\xff\xff\xff\xff", 4, "cut off" },  /* changes */
	{ 111, "\0\0\0\0", 4, "counts" },           /* no type */
	{ 111, "\0\0\1\1", 4, "counts" },           /* 257 */
	{ 115, "\0\0\0\0", 4, "counts" },           /* no characters */
	{ 99, "\0\0\0\1", 4, "counts" },            /* one of nstd */
	{ 103, "\0\0\0\1", 4, "leap seconds" },     /* one leap second */
	{ 119, "\x7f", 1, "order" },                /* after the next */
	{ 135, "\2", 1, "not there" },              /* type 2 of 2 */
	{ 137, "\x7f", 1, "type that can not be" }, /* offset */
	{ 141, "\2", 1, "type that can not be" },   /* dst 2 */
	{ 142, "\x9", 1, "type that can not be" },  /* abbreviation */
	{ 158, "x", 1, "footer" },
	{ 159, "?", 1, "rule" },
	{ 162, "-99", 3, "rule" },
};

START_TEST(test_broken)
{
	struct qo_err err = { 0 };

	put_berlin('2');
	ck_assert_uint_eq(file.len, 186);
	memcpy(file.data + broken[_i].at, broken[_i].bytes, broken[_i].len);
	ck_assert_ptr_null(qo_tz_parse(file.data, file.len, &err));
	ck_assert_msg(strstr(err.msg, broken[_i].says) != NULL, "%s", err.msg);
}
END_TEST

START_TEST(test_cut)
{
	struct qo_err err;
	size_t len;

	put_berlin('2');
	for (len = 0; len < file.len; len++)
		ck_assert_ptr_null(qo_tz_parse(file.data, len, &err));
}
END_TEST

static const struct {
	const char *text;
	int32_t std, dst;
	int64_t to_dst, to_std; /* in 2024 */
} rules[] = {
	{ "UTC0", 0, 0, 0, 0 },
	{ "<+0545>-5:45", 20700, 0, 0, 0 },
	{ "EST5EDT,M3.2.0,M11.1.0", -18000, -14400, 1710054000, 1730613600 },
	{ "LHST-10:30LHDT-11,M10.1.0,M4.1.0", 37800, 39600, 1728142200,
	    1712415600 },
	{ "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -7200, -3600, 1711846800,
	    1729990800 },
	{ "AAA0BBB,J60,J365/25", 0, 3600, 1709258400, 1735689600 },
	{ "AAA0BBB,59,365", 0, 3600, 1709172000, 1735606800 },
};

START_TEST(test_rule)
{
	struct qo_tzrule r;
	int64_t to_dst, to_std;

	ck_assert_int_eq(qo_tzrule_parse(rules[_i].text, strlen(rules[_i].text),
			     &r),
	    0);
	ck_assert_int_eq(r.std_offset, rules[_i].std);
	ck_assert_int_eq(r.has_dst, rules[_i].to_dst != 0);
	if (!r.has_dst)
		return;
	ck_assert_int_eq(r.dst_offset, rules[_i].dst);
	qo_tzrule_changes(&r, 2024, &to_dst, &to_std);
	ck_assert_int_eq(to_dst, rules[_i].to_dst);
	ck_assert_int_eq(to_std, rules[_i].to_std);
}
END_TEST

START_TEST(test_bad_rule)
{
	static const char *const bad[] = { "", "UT", "UTC", "UTC25", "UTC0 ",
		"UTC0x", "<UTC0", "<UT>0", "EST5EDT", "EST5EDT,M3.2.0",
		"EST5EDT,M13.2.0,M11.1.0", "EST5EDT,M3.6.0,M11.1.0",
		"EST5EDT,M3.2.7,M11.1.0", "EST5EDT,J0,J1", "EST5EDT,1,366",
		"EST5EDT,M3.2.0/168,M11.1.0", "EST5:60", "EST5EDT4,,",
		"ABCDEFGHIJKLMNOP0", "EST0005" };
	struct qo_tzrule r;
	size_t i;

	for (i = 0; i < nitems(bad); i++)
		ck_assert_msg(qo_tzrule_parse(bad[i], strlen(bad[i]), &r) == -1,
		    "%s", bad[i]);
}
END_TEST

/* Summer time all year, as RFC 9636 writes it. */
START_TEST(test_always_summer)
{
	struct qo_err err;
	struct qo_tz *tz;
	struct qo_tz_time t;
	int64_t at;

	put_head('3', 0, 1, 4);
	put(0, 6);
	buf_add(&file, "EST", 4);
	put_head('3', 0, 1, 4);
	put(-18000, 4);
	put(0, 2);
	buf_add(&file, "EST", 4);
	buf_adds(&file, "\nEST5EDT,0/0,J365/25\n");
	tz = qo_tz_parse(file.data, file.len, &err);
	ck_assert_msg(tz != NULL, "%s", err.msg);
	for (at = MARCH; at < MARCH + 1000 * QO_DAY_SEC; at += 1800) {
		qo_tz_local(tz, at, &t);
		ck_assert_int_eq(t.offset_s, -14400);
	}
	qo_tz_free(tz);
}
END_TEST

START_TEST(test_names)
{
	static const char *const good[] = { "UTC", "Europe/Berlin",
		"America/Argentina/Buenos_Aires", "Etc/GMT+12", "GB-Eire" };
	static const char *const bad[] = { "", "/etc/passwd", "..", "../x",
		"Europe/../x", "Europe//x", "Europe/", ".hidden", "a/.b",
		"Europe/Berlin\n", ":UTC", "a b", "\xc3\xa4" };
	size_t i;

	for (i = 0; i < nitems(good); i++)
		ck_assert_msg(qo_tz_name_valid(good[i], strlen(good[i])), "%s",
		    good[i]);
	for (i = 0; i < nitems(bad); i++)
		ck_assert_msg(!qo_tz_name_valid(bad[i], strlen(bad[i])), "%s",
		    bad[i]);
}
END_TEST

START_TEST(test_open)
{
	char dir[] = "/tmp/qo-tz.XXXXXX", path[64];
	struct qo_err err;
	struct qo_tz *tz;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("TZDIR", dir, 1);
	ck_assert_ptr_null(qo_tz_open("Home", &err));
	ck_assert_msg(strstr(err.msg, "tzdata") != NULL, "%s", err.msg);
	/* UTC needs no database. */
	tz = qo_tz_open("UTC", &err);
	ck_assert_ptr_nonnull(tz);
	qo_tz_free(tz);
	put_berlin('2');
	snprintf(path, sizeof(path), "%s/Home", dir);
	ck_assert_int_eq(io_write_file(path, file.data, file.len, 0600, &err),
	    0);
	tz = qo_tz_open("Home", &err);
	ck_assert_msg(tz != NULL, "%s", err.msg);
	qo_tz_free(tz);
	ck_assert_int_eq(io_write_file(path, "x", 1, 0600, &err), 0);
	ck_assert_ptr_null(qo_tz_open("Home", &err));
	ck_assert_msg(strstr(err.msg, "not a time zone") != NULL, "%s",
	    err.msg);
	unlink(path);
	rmdir(dir);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("tz");
	TCase *tc = tcase_create("tz");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_versions);
	tcase_add_test(tc, test_instants);
	tcase_add_test(tc, test_high);
	tcase_add_loop_test(tc, test_broken, 0, nitems(broken));
	tcase_add_test(tc, test_cut);
	tcase_add_loop_test(tc, test_rule, 0, nitems(rules));
	tcase_add_test(tc, test_bad_rule);
	tcase_add_test(tc, test_always_summer);
	tcase_add_test(tc, test_names);
	tcase_add_test(tc, test_open);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
