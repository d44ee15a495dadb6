/*
 * creds.h - where the S3 keys come from.
 *
 * The chain, first hit wins: the configuration, AWS_ACCESS_KEY_ID and
 * friends in the environment, the shared credentials file with its profile,
 * the container's and at last the instance's metadata service (creds_meta.h).
 * What a metadata service gave is fetched again before it expires, while
 * requests go on with the old; what the other sources gave is read again
 * when the store says that it has expired.
 *
 * Secrets are wiped when they are freed and are never part of a message.
 */
#ifndef QO_CREDS_H
#define QO_CREDS_H

#include "clock.h"
#include "err.h"
#include "http.h"

struct qo_creds {
	char *access_key; /* owned; NULL: none */
	char *secret_key;
	char *session_token;    /* NULL: a long-lived key */
	struct qo_wall expires; /* us == 0: never */
	const char *source;     /* a literal, for logs */
};

void qo_creds_fini(struct qo_creds *c); /* wipes */
void qo_creds_set(struct qo_creds *c, const char *access_key,
    const char *secret_key, const char *session_token, const char *source);

/* AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.  QO_OK,
 * QO_NOENT, or QO_ERR when only half is there. */
enum qo_rc qo_creds_from_env(struct qo_creds *out, struct qo_err *err);
/* AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, section `profile` (NULL:
 * AWS_PROFILE, else "default").  QO_NOENT when there is no file, or no such
 * profile and none was asked for by name. */
enum qo_rc qo_creds_from_file(const char *profile, struct qo_creds *out,
    struct qo_err *err);

struct qo_credchain;

struct qo_credchain_conf {
	const char *access_key, *secret_key; /* NULL: not configured */
	const char *profile;
	/* Called when a fetch that qo_credchain_get waited for has ended,
	 * well or not. */
	void (*ready)(void *arg);
	void *arg;
};

/* conf's strings are copied; http is borrowed. */
struct qo_credchain *qo_credchain_new(struct loop *l, struct http *h,
    const struct qo_credchain_conf *conf);
void qo_credchain_free(struct qo_credchain *c);

/*
 * QO_OK: *out is borrowed, good until the next call.  QO_AGAIN: being
 * fetched, conf.ready will be called.  QO_ERR: there are none, *err says
 * where was looked and what to set.
 */
enum qo_rc qo_credchain_get(struct qo_credchain *c, struct qo_wall now,
    const struct qo_creds **out, struct qo_err *err);
/* The store said that these have expired: the next get looks anew. */
void qo_credchain_expired(struct qo_credchain *c);

#endif
