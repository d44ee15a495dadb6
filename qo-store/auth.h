/*
 * auth.h - who sent this request?
 *
 * Fills r->who from a signature in the header or in the query, by one of the
 * keys or by temporary credentials; without one the asker is anonymous.
 * What he may do is access.h's question.
 */
#ifndef AUTH_H
#define AUTH_H

#include "request.h"

/* 0; -1 when the request was answered (and is gone).  A request for a
 * session token may be signed over its body: auth_body must then be called
 * before anything is done (r->auth.payload is QO_PAYLOAD_BODY). */
int auth_head(struct request *r);
int auth_body(struct request *r);

/* For r->payload: the chain of an aws-chunked body; -1 when it has none. */
int auth_chain(struct request *r, struct qo_sigv4_chain *chain);

#endif
