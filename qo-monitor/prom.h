/*
 * prom.h - the text format of Prometheus (0.0.4), written.
 *
 * A family is begun once and its samples follow; each sample's labels are
 * given as name, value, ..., NULL.  Label values may hold anything: quotes,
 * newlines and backslashes are escaped, a byte that is not UTF-8 is told in
 * digits (\\xff).
 */
#ifndef PROM_H
#define PROM_H

#include <stdint.h>

#include "buf.h"

/* type: "counter", "gauge" or "histogram"; help is a literal. */
void prom_family(struct buf *b, const char *name, const char *type,
    const char *help);
void prom_count(struct buf *b, const char *name, uint64_t value, ...)
    __attribute__((sentinel));
void prom_number(struct buf *b, const char *name, double value, ...)
    __attribute__((sentinel));

#endif
