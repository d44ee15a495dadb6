/*
 * s3_answer.h - what an answer means: from HTTP to a named outcome.
 *
 * Looks at one attempt only; whether to try again is s3.c's business.
 */
#ifndef QO_S3_ANSWER_H
#define QO_S3_ANSWER_H

#include "http.h"
#include "s3.h"

/* Fills r->res (outcome, status, headers, body, parsed document, err) from
 * the ended attempt h; err_xml is scratch for error bodies.  Takes the body
 * of a GET out of h. */
void s3_answer_read(struct qo_s3_req *r, struct http_req *h,
    struct qo_s3xml *err_xml);
/* Empties a result; what it holds is freed but for xml's memory. */
void s3_res_reset(struct qo_s3_res *res);
void s3_res_fini(struct qo_s3_res *res);

/* Does the request change something, so that its fate matters? */
bool s3_op_writes(enum qo_s3_op op);

#endif
