/*
 * session.h - what a command works with: the configuration, the store, the
 * queue.  Each is made when a command first asks for it.
 *
 * The functions that make something return EXIT_OK, or the exit code of the
 * command after its line has been printed:
 *
 *	if ((code = session_open(s)) != EXIT_OK)
 *		return code;
 *
 * A command checks its arguments before, so that a mistake in them is said
 * without a store.
 */
#ifndef SESSION_H
#define SESSION_H

#include "conf.h"
#include "control.h"
#include "exit.h"
#include "queue.h"

struct session {
	/* of the command line */
	const char *config;  /* -c; NULL: the usual places */
	const char *profile; /* --profile */
	/* session_conf */
	struct conf *conf;
	char *path; /* of the configuration; NULL: there is no file */
	/* session_store */
	struct loop *loop;
	struct qo_s3 *s3;
	/* session_open */
	struct qo_control control;
	struct qo_queue *q;
};

/* Its file, borrowed; NULL: there is none. */
const char *session_path(struct session *s);
/* The configuration, as qod has it. */
enum exit_code session_conf(struct session *s);
/* The same for a command that does not talk to the store: who may not read
 * its keys may still use it. */
enum exit_code session_conf_no_keys(struct session *s);
/* A client of the store; no request is made. */
enum exit_code session_store(struct session *s);
/* The queue; one request, the control record.  Server time is known after. */
enum exit_code session_open(struct session *s);
/* The same for a command that puts work into the queue: refused where the
 * probe has failed.  To look and to repair stays allowed there. */
enum exit_code session_open_writer(struct session *s);
/* Sends the deletes that wait; frees all. */
void session_fini(struct session *s);

/* As exit_fail, for what the store answered; adds what helps when the bucket
 * is not there. */
enum exit_code session_fail(struct session *s, enum qo_rc rc,
    const struct qo_err *err);
/* Requests sent so far. */
uint64_t session_requests(const struct session *s);
/* user@host, for cancelled_by and submitted_by; borrowed, for ever. */
const char *session_who(void);

#endif
