/*
 * s3_live.h - what the cases of s3_live share.
 *
 * Each case is a process of its own with a client of its own, and makes its
 * own buckets.  need() ends the case as failed, skip() as skipped.
 */
#ifndef S3_LIVE_H
#define S3_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "s3.h"
#include "storeproc.h"

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

/* The store that the cases run against. */
struct live_store {
	struct storeproc proc; /* ours; pid 0 when foreign */
	const char *endpoint, *access_key, *secret_key, *region;
	bool foreign; /* some other S3 */
	enum qo_s3_etag_form etag_form;
};

struct live {
	const struct live_store *store;
	const char *name;
	struct loop *loop;
	struct qo_s3 *s3;
};

struct live_case {
	const char *name;
	void (*run)(struct live *l);
};

void live_need(struct live *l, bool good, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* With the place where it failed. */
#define need(l, cond) \
	live_need((l), (cond), "%s:%d: %s", __FILE__, __LINE__, #cond)
void live_skip(struct live *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));
/* What only qo-store has. */
void live_only_ours(struct live *l, const char *what);

/* As the configuration of the store says; change it and make a client. */
struct qo_s3_conf live_conf(const struct live_store *s);
struct qo_s3 *live_client(struct live *l, const struct qo_s3_conf *conf);

/* A new bucket, versioned or not; the name is static until the next call of
 * the same kind. */
const char *live_bucket(struct live *l, bool versioned);

/* Sends and waits; need() that the outcome is this one. */
#define expect(l, r, o) live_expect((l), (r), (o), __FILE__, __LINE__)
void live_expect(struct live *l, struct qo_s3_req *r, enum qo_s3_outcome want,
    const char *file, int line);
/* Short forms of one request; each needs QO_S3_OK.  etag may be NULL. */
void live_put(struct live *l, const char *bucket, const char *key,
    const char *body, char *etag);
void live_same(struct live *l, const char *bucket, const char *key,
    const char *body);

/* One plain libcurl request; the status, and the body in out.  headers is
 * NULL or ends with NULL. */
int live_curl(struct live *l, const char *method, const char *url,
    const char *const *headers, const char *body, struct buf *out);

extern const struct live_case live_objects[], live_lists[], live_together[];

/* Added to the local clock of this process. */
extern int64_t live_clock_off_us;

#endif
