/*
 * ops.h - the operations, one function each, by the module that has it.
 *
 * Called when the asker is known and allowed and the body, if any, is
 * complete and verified; ends in an answer, now or from the database's
 * callback.  A _start function is called before the body is read: 0, or -1
 * when it has answered.
 */
#ifndef OPS_H
#define OPS_H

#include "request.h"

/* service.c */
void op_list_buckets(struct request *r);
void op_preflight(struct request *r);
/* session.c */
void op_session_token(struct request *r);
/* bucket.c */
void op_bucket_create(struct request *r);
void op_bucket_delete(struct request *r);
void op_bucket_head(struct request *r);
void op_bucket_location(struct request *r);
void op_bucket_static(struct request *r);
/* bucket_conf.c */
void op_versioning_get(struct request *r);
void op_versioning_put(struct request *r);
void op_cors_get(struct request *r);
void op_cors_put(struct request *r);
void op_cors_delete(struct request *r);
void op_lifecycle_get(struct request *r);
void op_lifecycle_put(struct request *r);
void op_lifecycle_delete(struct request *r);
/* acl_ops.c */
void op_bucket_acl_get(struct request *r);
void op_bucket_acl_put(struct request *r);
void op_object_acl_get(struct request *r);
void op_object_acl_put(struct request *r);
/* list.c */
void op_list_v1(struct request *r);
void op_list_v2(struct request *r);
/* versions.c */
void op_list_versions(struct request *r);
/* multi_delete.c */
void op_multi_delete(struct request *r);
/* object_get.c: GET and HEAD */
void op_object_get(struct request *r);
void op_object_tagging(struct request *r);
/* object_put.c */
int op_object_put_start(struct request *r);
void op_object_put(struct request *r);
void op_object_delete(struct request *r);
/* copy.c */
void op_object_copy(struct request *r);
void op_part_copy(struct request *r);
/* multipart.c */
void op_upload_create(struct request *r);
int op_part_put_start(struct request *r);
void op_part_put(struct request *r);
void op_upload_complete(struct request *r);
void op_upload_abort(struct request *r);
/* multipart_list.c */
void op_list_parts(struct request *r);
void op_list_uploads(struct request *r);

#endif
