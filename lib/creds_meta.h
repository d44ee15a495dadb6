/*
 * creds_meta.h - keys from the container's or the instance's metadata.
 *
 * Containers: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or ..._FULL_URI with
 * AWS_CONTAINER_AUTHORIZATION_TOKEN(_FILE); plain http only to loopback and
 * to the link-local addresses of ECS and EKS.  Instances: IMDSv2 (a session
 * token first), never the unprotected v1; AWS_EC2_METADATA_DISABLED=true
 * turns it off, AWS_EC2_METADATA_SERVICE_ENDPOINT moves it.
 */
#ifndef QO_CREDS_META_H
#define QO_CREDS_META_H

#include "creds.h"

struct qo_creds_meta;

/* Asks; one call of done on the loop, never before this returns: QO_OK with
 * creds (borrowed in the call), QO_NOENT when no service is configured or
 * answers at all, QO_ERR with *err.  The object frees itself after. */
struct qo_creds_meta *qo_creds_meta_fetch(struct loop *l, struct http *h,
    void (*done)(enum qo_rc rc, const struct qo_creds *creds,
	const struct qo_err *err, void *arg),
    void *arg);
/* Forgets the request; done is not called. */
void qo_creds_meta_cancel(struct qo_creds_meta *m);

#endif
