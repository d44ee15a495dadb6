/*
 * control_bind.h - the file of the control socket.
 */
#ifndef CONTROL_BIND_H
#define CONTROL_BIND_H

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"

struct control_at {
	const char *path;
	uid_t uid;  /* of the file; (uid_t)-1: as it comes */
	gid_t gid;  /* the same */
	bool group; /* mode 0660, not 0600 */
};

/* A listening socket; its directory is made when it is missing, for the same
 * people.  A file of a qod that is gone is replaced, of one that answers is
 * refused (errnum EADDRINUSE).  -1 with *err. */
int control_bind(const struct control_at *at, struct qo_err *err);

#endif
