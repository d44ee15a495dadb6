/*
 * verified.h - large bodies whose checksum was found right a moment ago.
 *
 * A client that fetches a large object in many ranges would have the whole
 * file read for each; once in ten minutes is enough to find rotten bytes.
 */
#ifndef VERIFIED_H
#define VERIFIED_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

bool verified_has(const char *version_id, const char *etag, int64_t mtime_us,
    struct qo_mono now);
void verified_add(const char *version_id, const char *etag, int64_t mtime_us,
    struct qo_mono now);

#endif
