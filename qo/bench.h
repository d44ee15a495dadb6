/*
 * bench.h - measure the queue: submit tasks, and take and complete them with
 * a handler that does nothing.
 *
 * It works on tasks of type qo.bench that it has made itself, in the
 * configured queue, beside whatever else is there, and removes them after.
 */
#ifndef BENCH_H
#define BENCH_H

#include "exit.h"
#include "session.h"

#define BENCH_TYPE "qo.bench"

enum bench_mode {
	BENCH_SUBMIT = 0,
	BENCH_DRAIN, /* the submits before are not measured */
	BENCH_MIXED  /* both at once */
};

/* What S3 counts and charges by. */
enum bench_class {
	BENCH_PUT = 0,
	BENCH_GET,
	BENCH_LIST,
	BENCH_DELETE,
	BENCH_CLASSES
};

struct bench_times {
	int64_t *us; /* owned */
	size_t n;
};

struct bench {
	/* in */
	struct session *session;
	enum bench_mode mode;
	size_t tasks, inflight, payload;
	bool keep; /* do not remove the tasks */
	/* out: of what was measured */
	size_t done; /* tasks */
	size_t lost; /* to others, or failed */
	int64_t us;
	struct bench_times submit, run; /* submit; claim to completed */
	uint64_t requests[BENCH_CLASSES];
};

/* EXIT_OK, or an exit code after its line. */
enum exit_code bench_run(struct bench *b);
void bench_fini(struct bench *b);
/* Sorts; the time that p of the tasks (0 to 1) did not exceed, in us. */
int64_t bench_percentile(struct bench_times *t, double p);

#endif
