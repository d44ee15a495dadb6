/*
 * doctor.h - the probe as init and doctor run it.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "exit.h"
#include "probe.h"
#include "session.h"

/* Runs the probe and keeps its verdict in control/queue.json (which is there
 * already).  EXIT_OK when it ran, whatever it found. */
enum exit_code doctor_probe(struct session *s, struct qo_probe *p);
/* A line for each check, with the fix under what did not pass. */
void doctor_print(const struct qo_probe *p);

#endif
