/*
 * attach.h - from a configuration to the store and the queue in it.
 *
 * The same for the command line and the daemons: which endpoint, whose keys
 * (those of the embedded store are in its keys_file), what the probe found
 * out about ETags.
 */
#ifndef QO_ATTACH_H
#define QO_ATTACH_H

#include "conf.h"
#include "control.h"
#include "queue.h"

/* The store is ours: no endpoint is configured. */
bool qo_attach_embedded(const struct conf *c);

/* A client; no request is made.  QO_NOENT: the embedded store has no
 * keys_file yet; QO_DENIED: its keys can not be read; QO_ERR: an endpoint
 * that can not be used. */
enum qo_rc qo_attach_store(struct loop *l, const struct conf *c,
    struct qo_s3 **s3, struct qo_err *err);

/* One request, the control record, which is the caller's to fini.  QO_NOENT:
 * no queue there (err->s3_code "NoSuchBucket": not even a bucket). */
enum qo_rc qo_attach_queue(struct loop *l, struct qo_s3 *s3,
    const struct conf *c, struct qo_control *control, struct qo_queue **q,
    struct qo_err *err);

/*
 * For a daemon: both, tried again with back-off for as long as the store is
 * not reached (a line in the log when that begins and when it ends), and with
 * the embedded store also until there is a queue; with make, one that is not
 * there is made as `qo init` does.
 *
 * QO_OK: s3, control and q are the caller's.  Else nothing is: QO_AGAIN:
 * *stop, looked at in each turn of the loop, has become true.  QO_NOENT:
 * another's store without a queue.  QO_DENIED, QO_ERR: a store that can not
 * be used (no permission, the probe's verdict).  A daemon ends with 78 then.
 */
enum qo_rc qo_attach_wait(struct loop *l, const struct conf *c, bool make,
    const bool *stop, struct qo_s3 **s3, struct qo_control *control,
    struct qo_queue **q, struct qo_err *err);

#endif
