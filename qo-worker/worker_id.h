/*
 * worker_id.h - how this process is called in tasks and in workers/.
 */
#ifndef WORKER_ID_H
#define WORKER_ID_H

#include "layout.h"

/* The configured id, with the number of the process when there are several;
 * else one of host, pid and chance.  A valid name in any case.  host is what
 * the machine is called, cut to fit. */
void worker_id_make(const char *configured, int index, int of,
    char id[QO_NAME_MAX + 1], char host[QO_NAME_MAX + 1]);

#endif
