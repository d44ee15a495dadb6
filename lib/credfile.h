/*
 * credfile.h - an access key and its secret from a file.
 *
 * Two forms: two lines, the access key and the secret key; or ini text, of
 * which the first section (or the part before any) that has access_key and
 * secret_key counts, so that the keys file of qo-store is one as well.
 */
#ifndef CREDFILE_H
#define CREDFILE_H

#include "err.h"

struct credfile {
	char *access_key;
	char *secret_key;
};

/* Reads by io_read_secret's rules.  0, or -1 with *err that names the path
 * (and no secret); *out is then empty.  Free with credfile_fini. */
int credfile_read(const char *path, struct credfile *out, struct qo_err *err);
/* The key file of the store whose data are in dir: it may also belong to the
 * account that keeps the data, so that root can talk to a store that runs as
 * another. */
int credfile_read_store(const char *path, const char *dir, struct credfile *out,
    struct qo_err *err);
/* The same from text; name is for the messages. */
int credfile_parse(const char *text, size_t len, const char *name,
    struct credfile *out, struct qo_err *err);
void credfile_fini(struct credfile *c); /* wipes */

#endif
