/*
 * The text of /metrics, read by the rules of the format.
 */
#include <check.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../qo-monitor/metrics.h"
#include "io.h"
#include "run_suite.h"
#include "s3.h"
#include "utf8.h"
#include "xalloc.h"

#define SERIES_MAX 4096

/* A strict reader of the format */

struct series {
	char id[512]; /* name and labels, as written */
	char family[128];
	double value;
};

struct reader {
	struct series series[SERIES_MAX];
	size_t n;
	char family[128], type[16];
	char families[256][128];
	size_t nfamilies;
	bool helped;
};

static bool
is_name(const char *s, size_t len)
{
	size_t i;

	if (len == 0 || isdigit((unsigned char)s[0]))
		return false;
	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_' && s[i] != ':')
			return false;
	return true;
}

static void
read_comment(struct reader *r, char *line)
{
	char *word[3], *rest = line + 2;
	size_t i;

	for (i = 0; i < 2; i++)
		word[i] = strsep(&rest, " ");
	ck_assert_ptr_nonnull(rest);
	ck_assert_msg(is_name(word[1], strlen(word[1])), "%s", word[1]);
	if (strcmp(word[0], "HELP") == 0) {
		for (i = 0; i < r->nfamilies; i++)
			ck_assert_msg(strcmp(r->families[i], word[1]) != 0,
			    "%s is told of twice", word[1]);
		ck_assert_uint_lt(r->nfamilies, 256);
		snprintf(r->families[r->nfamilies++], 128, "%s", word[1]);
		snprintf(r->family, sizeof(r->family), "%s", word[1]);
		ck_assert_uint_gt(strlen(rest), 0);
		ck_assert_ptr_null(strchr(rest, '\\'));
		r->type[0] = '\0';
		r->helped = true;
		return;
	}
	ck_assert_str_eq(word[0], "TYPE");
	ck_assert(r->helped);
	ck_assert_str_eq(word[1], r->family);
	ck_assert_str_eq(r->type, "");
	ck_assert(strcmp(rest, "counter") == 0 || strcmp(rest, "gauge") == 0 ||
	    strcmp(rest, "histogram") == 0);
	snprintf(r->type, sizeof(r->type), "%s", rest);
}

/* "value"; where it ends. */
static const char *
read_value(const char *p)
{
	ck_assert_int_eq(*p, '"');
	for (p++; *p != '"'; p++) {
		ck_assert_msg(*p != '\0', "no end of a value");
		if (*p == '\\') {
			p++;
			ck_assert(*p == '\\' || *p == '"' || *p == 'n');
		}
	}
	return p + 1;
}

/* name="value",...} ; where it ends. */
static const char *
read_labels(const char *p)
{
	const char *eq;

	for (;;) {
		eq = strchr(p, '=');
		ck_assert_ptr_nonnull(eq);
		ck_assert_msg(is_name(p, (size_t)(eq - p)), "%s", p);
		p = read_value(eq + 1);
		if (*p == '}')
			return p + 1;
		ck_assert_int_eq(*p, ',');
		p++;
	}
}

static void
check_family(const struct reader *r, const char *name)
{
	static const char *const ends[] = { "_bucket", "_sum", "_count" };
	size_t i, len = strlen(r->family);
	bool ok = false;

	if (strcmp(r->type, "histogram") != 0) {
		ck_assert_str_eq(name, r->family);
		ck_assert_msg((strcmp(r->type, "counter") == 0) ==
			(len > 6 && strcmp(name + len - 6, "_total") == 0),
		    "%s is a %s", name, r->type);
		return;
	}
	for (i = 0; i < 3; i++)
		ok |= strncmp(name, r->family, len) == 0 &&
		    strcmp(name + len, ends[i]) == 0;
	ck_assert_msg(ok, "%s in the family %s", name, r->family);
}

static void
read_sample(struct reader *r, const char *line)
{
	struct series *s = &r->series[r->n];
	const char *p = line + strcspn(line, "{ ");
	char name[128], *end;
	size_t i;

	ck_assert_uint_lt(r->n, SERIES_MAX);
	snprintf(name, sizeof(name), "%.*s", (int)(p - line), line);
	ck_assert_msg(is_name(name, strlen(name)), "%s", line);
	ck_assert_str_ne(r->type, "");
	check_family(r, name);
	if (*p == '{')
		p = read_labels(p + 1);
	ck_assert_int_eq(*p, ' ');
	snprintf(s->id, sizeof(s->id), "%.*s", (int)(p - line), line);
	snprintf(s->family, sizeof(s->family), "%s", r->family);
	s->value = strtod(p + 1, &end);
	ck_assert_msg(end != p + 1 && *end == '\0' && isfinite(s->value), "%s",
	    line);
	for (i = 0; i < r->n; i++)
		ck_assert_msg(strcmp(r->series[i].id, s->id) != 0,
		    "%s is there twice", s->id);
	r->n++;
}

static struct reader *
read_text(const char *text, size_t len)
{
	struct reader *r = xcalloc(1, sizeof(*r));
	char *copy = xstrdup(text), *rest = copy, *line;

	ck_assert_uint_eq(strlen(text), len);
	ck_assert(utf8_valid(text, len));
	ck_assert_int_eq(text[len - 1], '\n');
	copy[len - 1] = '\0';
	while ((line = strsep(&rest, "\n")) != NULL) {
		ck_assert_str_ne(line, "");
		if (strncmp(line, "# ", 2) == 0)
			read_comment(r, line);
		else
			read_sample(r, line);
	}
	free(copy);
	return r;
}

static double
value(const struct reader *r, const char *id)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (strcmp(r->series[i].id, id) == 0)
			return r->series[i].value;
	ck_abort_msg("there is no %s", id);
	return 0;
}

static bool
has(const struct reader *r, const char *id)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (strcmp(r->series[i].id, id) == 0)
			return true;
	return false;
}

/* The text */

static struct reader *
metrics_of(const struct board_area *a, bool up)
{
	struct board_sum sum;
	struct board_info self;
	struct metrics m = { &sum, &self, up };
	struct reader *r;
	struct buf b;

	board_sum(NULL, a, &sum);
	board_read(a, &self);
	buf_init(&b, (size_t)16 << 20);
	metrics_add(&b, &m);
	ck_assert(!b.failed);
	r = read_text(b.data, b.len);
	buf_fini(&b);
	board_sum_fini(&sum);
	return r;
}

#define POST       "handler=\"post\",type=\"mail.*\""
#define BUCKET(le) "qo_handler_seconds_bucket{" POST ",le=\"" le "\"}"
#define ENDED(op, outcome) \
	"qo_s3_outcomes_total{op=\"" op "\",outcome=\"" outcome "\"}"

START_TEST(test_values)
{
	struct board_area *a = board_private(BOARD_MONITOR, 3, 2);
	struct reader *r;

	board_add(a, BOARD_CLAIM_CONFLICTS, 7);
	board_add(a, BOARD_S3_OPS + QO_S3_GET, 2500);
	board_add(a, BOARD_S3_OPS + QO_S3_PUT, 200);
	board_add(a, BOARD_S3_ENDED(QO_S3_PUT, QO_S3_PRECONDITION), 5);
	board_add(a, BOARD_S3_ENDED(QO_S3_GET, QO_S3_NOT_FOUND), 6);
	board_gauge(a, BOARD_READY_TASKS, 12);
	board_gauge(a, BOARD_OLDEST_READY_MS, 1500);
	board_gauge(a, BOARD_SKEW_MS, -2500);
	board_handler_name(a, 0, "post", "mail.*");
	board_handler_ran(a, 0, 7);
	board_handler_ran(a, 0, 80);
	board_handler_ran(a, 0, 99999999);
	board_task_ended(a, 0, BOARD_COMPLETED);
	board_task_ended(a, 0, BOARD_COMPLETED);
	board_task_ended(a, 0, BOARD_FAILED);
	r = metrics_of(a, true);
	ck_assert(value(r, "qo_tasks_total{" POST ",outcome=\"completed\"}") ==
	    2);
	ck_assert(value(r, "qo_tasks_total{" POST ",outcome=\"failed\"}") == 1);
	ck_assert(value(r, "qo_tasks_total{" POST ",outcome=\"lost\"}") == 0);
	ck_assert(value(r, "qo_claim_conflicts_total") == 7);
	ck_assert(value(r, "qo_s3_requests_total{op=\"get\"}") == 2500);
	ck_assert(value(r, ENDED("put", "precondition_failed")) == 5);
	ck_assert(value(r, ENDED("get", "not_found")) == 6);
	ck_assert(value(r, ENDED("get", "ok")) == 0);
	ck_assert(!has(r, ENDED("put", "not_found")));
	ck_assert(fabs(value(r, "qo_s3_cost_dollars_total") - 0.002) < 1e-9);
	ck_assert(value(r, "qo_ready_tasks") == 12);
	ck_assert(value(r, "qo_oldest_ready_seconds") == 1.5);
	ck_assert(value(r, "qo_clock_skew_seconds") == -2.5);
	ck_assert(value(r, "qo_store_up") == 1);
	ck_assert(value(r, "qo_slots") == 3);
	ck_assert(value(r, BUCKET("0.01")) == 1);
	ck_assert(value(r, BUCKET("0.1")) == 2);
	ck_assert(value(r, BUCKET("600")) == 2);
	ck_assert(value(r, BUCKET("+Inf")) == 3);
	ck_assert(value(r, "qo_handler_seconds_count{" POST "}") == 3);
	ck_assert(value(r, "qo_handler_seconds_sum{" POST "}") == 100000.086);
	free(r);
	board_private_free(a);
}
END_TEST

/* What is not known is not told. */
START_TEST(test_unknown)
{
	struct board_area *a = board_private(BOARD_MONITOR, 0, 0);
	struct reader *r;

	board_gauge(a, BOARD_READY_TASKS, -1);
	board_gauge(a, BOARD_OLDEST_READY_MS, -1);
	board_gauge(a, BOARD_FAILED_TASKS, -1);
	r = metrics_of(a, false);
	ck_assert(!has(r, "qo_ready_tasks"));
	ck_assert(!has(r, "qo_oldest_ready_seconds"));
	ck_assert(!has(r, "qo_failed_tasks"));
	ck_assert(value(r, "qo_store_up") == 0);
	free(r);
	board_private_free(a);
}
END_TEST

/* The manual page has an item for each family, ".It Va name" and, in brackets,
 * its labels: those that are told, all of them and no others.  Run from the
 * top of the tree. */

/* The labels of the family's series as the page would name them:
 * " Pq a , b", or "". */
static void
add_labels(const struct reader *r, const char *family, struct buf *out)
{
	const char *p = NULL, *end;
	size_t i;

	/* The longest has all; a histogram's sum has no le. */
	for (i = 0; i < r->n; i++)
		if (strcmp(r->series[i].family, family) == 0 &&
		    (p == NULL || strstr(r->series[i].id, "le=") != NULL))
			p = strchr(r->series[i].id, '{');
	for (i = 0; p != NULL && *p != '}'; i++) {
		end = strchr(p, '=');
		buf_addf(out, "%s%.*s", i == 0 ? " Pq " : " , ",
		    (int)(end - p - 1), p + 1);
		p = read_value(end + 1);
	}
}

START_TEST(test_manual)
{
	struct board_area *a = board_private(BOARD_MONITOR, 0, 1);
	struct buf page, item;
	struct qo_err err;
	struct reader *r;
	const char *p;
	size_t i, items = 0;

	board_handler_name(a, 0, "h", "t");
	r = metrics_of(a, true);
	buf_init(&page, 1 << 20);
	buf_init(&item, 1024);
	ck_assert_msg(io_read_file("man/qo-monitor.8", &page, &err) == 0, "%s",
	    err.msg);
	for (i = 0; i < r->nfamilies; i++) {
		buf_reset(&item);
		buf_addf(&item, "\n.It Va %s", r->families[i]);
		add_labels(r, r->families[i], &item);
		buf_adds(&item, "\n");
		p = strstr(page.data, item.data);
		ck_assert_msg(p != NULL, "not in the manual:%s", item.data);
		ck_assert_msg(strstr(p + 1, item.data) == NULL, "twice:%s",
		    item.data);
	}
	for (p = page.data; (p = strstr(p, "\n.It Va qo_")) != NULL; p++)
		items++;
	ck_assert_uint_eq(items, r->nfamilies);
	buf_fini(&page);
	buf_fini(&item);
	free(r);
	board_private_free(a);
}
END_TEST

static const char *const hostile[] = { "a\"b", "back\\slash\\", "new\nline",
	"x\"} 1\nqo_evil_total{a=\"b", "\xff\xfe\x80", "\xc3\xa9t\xc3\xa9",
	"{}", "a,b=\"c\"", "tab\tbell\a", " ", "'", "\\n" };
#define NHOSTILE (sizeof(hostile) / sizeof(hostile[0]))

#define COUNT(handler, type) \
	"qo_handler_seconds_count{handler=\"" handler "\",type=\"" type "\"}"

START_TEST(test_hostile)
{
	struct board_area *a = board_private(BOARD_WORKER, 0, NHOSTILE);
	struct reader *r;
	size_t i;

	for (i = 0; i < NHOSTILE; i++) {
		board_handler_name(a, i, hostile[i], hostile[NHOSTILE - 1 - i]);
		board_handler_ran(a, i, 1);
	}
	r = metrics_of(a, true);
	ck_assert(!has(r, "qo_evil_total{a=\"b\"}"));
	ck_assert(value(r, COUNT("a\\\"b", "\\\\n")) == 1);
	ck_assert(value(r, COUNT("\\\\n", "a\\\"b")) == 1);
	ck_assert(value(r, COUNT("new\\nline", " ")) == 1);
	ck_assert(value(r, COUNT("\\\\xff\\\\xfe\\\\x80", "a,b=\\\"c\\\"")) ==
	    1);
	free(r);
	board_private_free(a);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("monitor_metrics");
	TCase *tc = tcase_create("metrics");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_values);
	tcase_add_test(tc, test_unknown);
	tcase_add_test(tc, test_manual);
	tcase_add_test(tc, test_hostile);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
