#include <string.h>

#include "s3_int.h"

int
qo_s3_presign(struct qo_s3 *s3, const char *method, const char *bucket,
    const char *key, const char *if_match, int64_t expires_s, struct buf *url,
    struct qo_err *err)
{
	const struct qo_creds *creds;
	struct qo_sigv4_cred cred;
	struct qo_sigv4_req s;
	struct s3_target t;
	struct qo_kv kv[2];
	struct buf query;
	struct qo_wall now;
	int rv = -1;

	s3_target_init(&t);
	buf_init(&query, 8192);
	qo_s3_now(s3, NULL, &now, NULL);
	if (qo_credchain_get(s3->chain, now, &creds, err) != QO_OK)
		goto out;
	if (s3_target_object(&t, &s3->endpoint, bucket, key) == -1) {
		qo_err_set(err, "the key is too long");
		goto out;
	}
	memset(&s, 0, sizeof(s));
	kv[s.nheaders++] = (struct qo_kv){ "host", t.host.data };
	if (if_match != NULL)
		kv[s.nheaders++] = (struct qo_kv){ "if-match", if_match };
	s.method = method;
	s.path = t.path.data;
	s.headers = kv;
	s.region = s3->region;
	s.service = "s3";
	s.time = now;
	cred = (struct qo_sigv4_cred){ creds->access_key, creds->secret_key,
		creds->session_token };
	if (qo_sigv4_presign(s3->signer, &s, &cred, expires_s, &query) == -1) {
		qo_err_set(err, "a URL may be valid for 1 to %d seconds",
		    QO_SIGV4_EXPIRES_MAX);
		goto out;
	}
	if (s3_target_join(&t, &s3->endpoint, &query) == -1 ||
	    buf_add(url, t.base.data, t.base.len) == -1 ||
	    buf_add(url, t.target.data, t.target.len) == -1) {
		qo_err_set(err, "the URL is too long");
		goto out;
	}
	rv = 0;
out:
	s3_target_fini(&t);
	buf_fini(&query);
	return rv;
}
