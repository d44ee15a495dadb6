/*
 * bench_json - how fast a task of 1 KiB is decoded and encoded, beside bare
 * yyjson reading and writing the same bytes in the same run.
 *
 *	bench_json [seconds]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "log.h"
#include "task.h"

#define ROUNDS 1000
#define PASSES 20

/* As a running task of a small job looks. */
static const char text[] =
    "{\"id\":\"f47ac10b-58cc-4372-a567-0e02b2c3d479\",\"shard\":\"f\","
    "\"task_type\":\"email.send\",\"status\":\"running\",\"input\":{\"to\":"
    "\"somebody@example.org\",\"subject\":\"Your order 4711\",\"items\":["
    "{\"sku\":\"A-17\",\"n\":2,\"price\":19.95},{\"sku\":\"B-4\",\"n\":1,"
    "\"price\":5}],\"urgent\":false},\"output\":null,\"timeout_seconds\":300,"
    "\"max_retries\":3,\"retry_count\":0,\"retry_policy\":{\"kind\":"
    "\"exponential\",\"initial_interval_ms\":1000,\"max_interval_ms\":60000,"
    "\"multiplier\":2.0,\"jitter_percent\":0.25},\"available_at\":"
    "\"2026-01-28T12:00:00.000000Z\",\"lease_expires_at\":"
    "\"2026-01-28T12:01:00.250000Z\",\"lease_id\":"
    "\"0b0c7b4a-2f0e-4d6f-9d0c-3b1f8f1f6a55\",\"worker_id\":\"host-a.1\","
    "\"attempt\":1,\"generation\":1,\"rev\":2,\"updated_by\":"
    "\"6b1e5f0c-8d1f-4a5e-8b6f-5a7d9f0c1e22\",\"created_at\":"
    "\"2026-01-28T12:00:00.000000Z\",\"updated_at\":"
    "\"2026-01-28T12:00:00.250000Z\",\"completed_at\":null,\"last_error\":"
    "null,\"errors\":[],\"cancel_requested\":false,\"reschedule_count\":0,"
    "\"submitted_by\":\"shop\",\"format\":1}";

static void
round_ours(struct buf *out)
{
	struct qo_task t;
	struct qo_err e;

	if (qo_task_decode(&t, NULL, text, sizeof(text) - 1, &e) == -1)
		fatalx("%s", e.msg);
	buf_reset(out);
	if (qo_task_encode(&t, out, &e) == -1)
		fatalx("%s", e.msg);
	qo_task_fini(&t);
}

static void
round_decode(struct buf *out)
{
	struct qo_task t;
	struct qo_err e;

	(void)out;
	if (qo_task_decode(&t, NULL, text, sizeof(text) - 1, &e) == -1)
		fatalx("%s", e.msg);
	qo_task_fini(&t);
}

static void
round_bare(struct buf *out)
{
	yyjson_doc *doc;
	char *s;
	size_t len;

	(void)out;
	doc = yyjson_read(text, sizeof(text) - 1, YYJSON_READ_NUMBER_AS_RAW);
	if (doc == NULL)
		fatalx("yyjson_read");
	s = yyjson_write(doc, 0, &len);
	if (s == NULL)
		fatalx("yyjson_write");
	free(s);
	yyjson_doc_free(doc);
}

static double
cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* Microseconds of CPU per round: of PASSES passes the best, which is the one that
 * other work on the machine disturbed least. */
static double
run(void (*round)(struct buf *out), struct buf *out, double seconds)
{
	double start, us, best = 1e9;
	int i, pass;
	long n;

	for (pass = 0; pass < PASSES; pass++) {
		n = 0;
		start = cpu_us();
		do {
			for (i = 0; i < ROUNDS; i++)
				round(out);
			n += ROUNDS;
			us = cpu_us() - start;
		} while (us < seconds * 1e6 / PASSES);
		best = us / (double)n < best ? us / (double)n : best;
	}
	return best;
}

static void
report(const char *what, double us)
{
	printf("%-32s %8.3f us  %7.1f MB/s\n", what, us,
	    (double)(sizeof(text) - 1) / us);
}

int
main(int argc, char *argv[])
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1.0;
	struct buf out;

	buf_init(&out, 1 << 20);
	round_ours(&out);
	if (out.len != sizeof(text) - 1 || memcmp(out.data, text, out.len) != 0)
		fatalx("the task changed on its way");
	printf("task of %zu bytes\n", sizeof(text) - 1);
	report("yyjson_read + yyjson_write", run(round_bare, &out, seconds));
	report("qo_task_decode", run(round_decode, &out, seconds));
	report("qo_task_decode + qo_task_encode",
	    run(round_ours, &out, seconds));
	buf_fini(&out);
	return 0;
}
