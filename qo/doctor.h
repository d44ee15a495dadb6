/*
 * doctor.h - the probe as init and doctor run it.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "exit.h"
#include "queue_init.h"
#include "session.h"

/* Ready for qo_init_queue: what it says is printed.  The session has its
 * store. */
void doctor_init(struct session *s, struct qo_init *init);
/* Runs the probe and keeps its verdict in control/queue.json (which is there
 * already).  EXIT_OK when it ran, whatever it found. */
enum exit_code doctor_probe(struct session *s, struct qo_probe *p);
/* A line for each check, with the fix under what did not pass. */
void doctor_print(const struct qo_probe *p);

#endif
