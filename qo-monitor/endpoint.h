/*
 * endpoint.h - /metrics, /healthz and /readyz over HTTP.
 *
 * While one qod replaces its monitor the old one still has the port: with
 * patient set the new one tries again until it is free.
 */
#ifndef ENDPOINT_H
#define ENDPOINT_H

#include "monitor.h"

struct endpoint;

/* board NULL: this process alone is told of.  NULL with *err: the port can not
 * be had (and patient is not set).  m->conf->listen is set. */
struct endpoint *endpoint_new(struct monitor *m, struct board *board,
    bool patient, struct qo_err *err);
void endpoint_free(struct endpoint *e); /* NULL is fine */
/* Lets go of the port; connections end with their answer. */
void endpoint_drain(struct endpoint *e);

#endif
